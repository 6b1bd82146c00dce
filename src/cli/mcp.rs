//! Flags of `cortex mcp`.

use super::HttpArgs;
use clap::{Args, Subcommand, ValueEnum};
use workbench::mcp_clients::Client;

/// Serve the methods to language models by the Model Context Protocol.
///
/// As tools, resources and prompts; to the parent process on standard input and output, or with --http to others on this machine. Answers are text;
/// with --structured they are structured content instead, never both. It watches the sources as `cortex watch` does. Over HTTP each request needs the
/// token of a file that only this user reads (its path is printed on standard error), in a header `Authorization: Bearer TOKEN`; `/mcp` is the
/// endpoint, and `/metrics` tells figures for Prometheus.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    /// Answer with structured content in place of text.
    #[arg(long)]
    pub structured: bool,
    /// When nothing moves, build ahead what was asked for lately and the outlines of the window's types, as far as it is free; stops for
    /// every request.
    #[arg(long)]
    pub ahead: bool,
    #[command(flatten)]
    pub http: HttpArgs,
}

/// What `cortex mcp` does besides serving.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    Install(InstallArgs),
}

/// Write the server into the configuration that a client keeps in this workspace.
///
/// Shows the change, and makes it once it is confirmed: on a terminal, or by --yes. Everything else of the file stays as it is; `cortex edit undo` takes
/// the change back.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// The client: claude (.mcp.json), codex (.codex/config.toml), vscode (.vscode/mcp.json), cursor (.cursor/mcp.json), gemini
    /// (.gemini/settings.json).
    #[arg(value_enum)]
    pub client: ClientName,
    /// Add a paragraph to AGENTS.md that says when the tools beat grep.
    #[arg(long)]
    pub agents_md: bool,
    /// Make the change without asking.
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
