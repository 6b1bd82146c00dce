//! Flags of `cortex mcp`.

use super::HttpArgs;
use clap::{Args, Subcommand, ValueEnum};
use workbench::mcp_clients::Client;

/// Serve the methods to language models by the Model Context Protocol.
///
/// It serves tools, resources and prompts to the parent process on standard input and output, or with --http to other clients on this machine.
/// Answers are text; with --structured they are structured content instead, never both. It watches the sources like `cortex watch`. Over HTTP each
/// request needs the header `Authorization: Bearer TOKEN`, with the token of a file that only this user can read (its path is printed on standard
/// error); `/mcp` is the endpoint, and `/metrics` has metrics for Prometheus.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    /// Answer with structured content instead of text.
    #[arg(long)]
    pub structured: bool,
    /// While nothing changes, build recently requested targets and the outlines of the window's types, if they are free; yields to
    /// every request.
    #[arg(long)]
    pub ahead: bool,
    #[command(flatten)]
    pub http: HttpArgs,
}

/// Commands of `cortex mcp` besides serving.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    Install(InstallArgs),
}

/// Add the server to a client's configuration in this workspace.
///
/// Shows the change, and writes it after confirmation: on a terminal, or by --yes. The rest of the file does not change; `cortex edit undo` reverts
/// the change.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// The client: claude (.mcp.json), codex (.codex/config.toml), vscode (.vscode/mcp.json), cursor (.cursor/mcp.json), gemini
    /// (.gemini/settings.json).
    #[arg(value_enum)]
    pub client: ClientName,
    /// Add a paragraph to AGENTS.md about when to use the tools instead of grep.
    #[arg(long)]
    pub agents_md: bool,
    /// Write the change without confirmation.
    #[arg(long)]
    pub yes: bool,
}

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClientName {
    Claude,
    Codex,
    #[value(name = "vscode")]
    VsCode,
    Cursor,
    Gemini,
}

impl From<ClientName> for Client {
    fn from(name: ClientName) -> Self {
        match name {
            ClientName::Claude => Self::Claude,
            ClientName::Codex => Self::Codex,
            ClientName::VsCode => Self::VsCode,
            ClientName::Cursor => Self::Cursor,
            ClientName::Gemini => Self::Gemini,
        }
    }
}
