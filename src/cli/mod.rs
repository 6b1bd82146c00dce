//! Flags: one argument struct per command. Its doc comments are the help.

mod built_in_pages;
mod call;
mod chat;
mod edit_line;
mod file_argument;
mod http;
mod mcp;
mod settings;
mod sharing;

pub use self::chat::ChatArgs;
pub use built_in_pages::{CompletionsArgs, DevArgs, DevCommand, HelpArgs, ManArgs, Shell};
pub use call::Call;
use engine::values::codes::ErrorCode;
pub use http::HttpArgs;
pub use mcp::{InstallArgs, McpArgs, McpCommand};
pub use sharing::{ProduceShardArgs, RemoteArgs, RemoteCommand};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::values::diagnostic::Diagnostic;
use methods::catalog::guarded_pattern::GUARD;
use methods::catalog::query_answer::Drawing;
use methods::catalog::{FileForm, METHODS, MethodEntry};
use methods::commands::{build, edit_output, regenerate, show, warm};
use serve::watching;
use std::ffi::OsString;
use std::path::PathBuf;

/// Builds code knowledge: outlines, hashes, type graphs and summaries as cached build targets.
///
/// Exit codes: 0 ok, 1 a target failed, 2 usage, manifest or label, 3 store damaged, 4 busy, 5 I/O or no space, 6 no sandbox,
/// 7 no remote cache, 8 not reproducible, 9 a limit was reached, 10 internal error, 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "cortex", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Default time-out for the store, in seconds.
pub const USUAL_TIMEOUT: u64 = 600;

/// Flags of every command.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Run as if started in DIR; all relative paths, including CORTEX_STORE, are resolved against it.
    #[arg(short = 'C', value_name = "DIR", global = true, default_value = ".")]
    pub directory: PathBuf,
    /// Keep the store in DIR instead of the user's cache folder [env: CORTEX_STORE].
    #[arg(long, value_name = "DIR", global = true)]
    pub store: Option<PathBuf>,
    /// Use no store: everything works, but no result is kept.
    #[arg(long, global = true)]
    pub no_store: bool,
    /// Read, or build in, this overlay or edit session instead of the workspace; for `build` and commands that only read.
    #[arg(long, value_name = "NAME", global = true)]
    pub overlay: Option<String>,
    /// Output format.
    #[arg(long, value_name = "FORM", global = true, default_value = "text")]
    pub output: OutputForm,
    /// The same as --output json.
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours; NO_COLOR is honoured.
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub color: When,
    /// Do not use the network: targets that need a model fail.
    #[arg(long, global = true, env = "CORTEX_OFFLINE", value_parser = clap::builder::FalseyValueParser::new())]
    pub offline: bool,
    /// Seconds to wait for the lock of a store or a checkout.
    #[arg(long, value_name = "SECONDS", global = true, default_value_t = USUAL_TIMEOUT)]
    pub lock_timeout: u64,
    /// Do not wait for the lock of a store or a checkout: the same as --lock-timeout 0.
    #[arg(long, global = true, conflicts_with = "lock_timeout")]
    pub no_wait: bool,
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputForm {
    /// For people.
    Text,
    /// For machines: one JSON document on standard output.
    Json,
    /// Answers of `query` for Graphviz.
    Dot,
    /// Answers of `query` as a Mermaid flowchart.
    Mermaid,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    Build(build::BuildArgs),
    Show(show::ShowArgs),
    #[command(flatten)]
    Method(Call),
    Regenerate(regenerate::RegenerateArgs),
    EditOutput(edit_output::EditOutputArgs),
    Watch(watching::WatchArgs),
    Serve(ServeArgs),
    Mcp(McpArgs),
    Chat(ChatArgs),
    Warm(warm::WarmArgs),
    Remote(RemoteArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    Help(HelpArgs),
    #[command(hide = true)]
    ProduceShard(ProduceShardArgs),
    #[command(hide = true)]
    Dev(DevArgs),
}

impl OutputForm {
    /// Returns the graph format, if the output is a drawing.
    pub fn drawing(self) -> Option<Drawing> {
        match self {
            Self::Dot => Some(Drawing::Dot),
            Self::Mermaid => Some(Drawing::Mermaid),
            Self::Text | Self::Json => None,
        }
    }
}

/// Answer methods by JSON-RPC 2.0, and cache the answers in memory.
///
/// The service listens at a Unix socket of this user and prints its path. While it runs, it also answers the methods of the command line; their
/// output is the same. It watches the sources like `cortex watch`. Messages are one per line, or follow Content-Length headers; answers use the
/// client's form. With --http it also serves a page for browsers, which shows the workspace and follows its builds; the printed address contains
/// the token of the page. Ctrl-C or --stop ends it.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Serve one client on standard input and output instead; ends with its input.
    #[arg(long, conflicts_with = "http")]
    pub stdio: bool,
    /// While nothing changes, build recently requested targets and the outlines of the window's types, if they are free; yields to
    /// every request.
    #[arg(long)]
    pub ahead: bool,
    /// Print figures of this checkout's service. Exit code 1 if none runs.
    #[arg(long, conflicts_with_all = ["stdio", "http"])]
    pub status: bool,
    /// End the service of this checkout.
    #[arg(long, conflicts_with_all = ["stdio", "status", "http"])]
    pub stop: bool,
    #[command(flatten)]
    pub http: HttpArgs,
}

/// Prefixes arguments that begin with `-//` with the guard, so that clap does not read a pattern as a flag.
pub fn guard_labels(args: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    args.map(|arg| {
        if !arg.as_encoded_bytes().starts_with(b"-//") {
            return arg;
        }
        let mut guarded = OsString::from(GUARD.to_string());
        guarded.push(arg);
        guarded
    })
}

/// Returns whether the arguments ask for JSON, without parsing them, because they may not parse.
pub fn wants_json(args: &[OsString]) -> bool {
    let flags = || args.iter().take_while(|arg| *arg != "--");
    flags().any(|arg| arg == "--json" || arg == "--output=json")
        || flags()
            .zip(flags().skip(1))
            .any(|(flag, form)| flag == "--output" && form == "json")
}

/// Converts a parse error to a diagnostic. The first paragraph becomes the message; clap's tip, or else the usage of the command, becomes
/// the hint.
pub fn mistake(error: &clap::Error) -> Diagnostic {
    let text = error.render().to_string().replace(GUARD, "");
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let first = paragraphs.first().map_or("", String::as_str);
    // Messages of the standard library's number parsers.
    let first = first
        .replace("invalid digit found in string", "a whole number is expected")
        .replace("cannot parse integer from empty string", "a whole number is expected");
    let unexpected = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(arg))) if !arg.starts_with('-') => Some(arg),
        _ => None,
    };
    // Clap's tip on how to pass a value that looks like a flag is dropped: the user meant a flag.
    let mut tips = paragraphs.iter().filter_map(|paragraph| paragraph.strip_prefix("tip: "));
    let tip = tips.find(|tip| !tip.starts_with("to pass ")).map(str::to_owned);
    let form = paragraphs.iter().find_map(|paragraph| paragraph.strip_prefix("Usage: "));
    let words = form.and_then(|form| form.split_once(' ')).map_or("", |(_, words)| words);
    let is_of_text =
        |entry: &MethodEntry| entry.from_file.is_some_and(|(_, form)| form == FileForm::AsItIs) && words.starts_with(entry.name);
    let advice = match METHODS.iter().any(is_of_text) {
        true => "give the text with --from FILE, or --from - for standard input",
        false => "quote an argument of several words",
    };
    let form = form.filter(|form| !form.ends_with("<COMMAND>")).map(|form| format!("write {form}"));
    let quotes = unexpected.map(|_| advice.to_owned());
    let form = form.into_iter().chain(quotes).collect::<Vec<_>>().join("; ");
    let suggestion = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => command_elsewhere(name).map(str::to_owned),
        _ => None,
    };
    let tip = suggestion.or(tip);
    let hint = tip.or(Some(form).filter(|form| !form.is_empty()));
    let hint = hint.unwrap_or_else(|| "`cortex help` lists the commands, `cortex help COMMAND` their flags".to_owned());
    Diagnostic::error(ErrorCode::E_USAGE, first.strip_prefix("error: ").unwrap_or(&first)).hint(hint)
}

/// Returns the command of cortex for a command name of other tools.
fn command_elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "page" => "`cortex serve --http` shows the page",
        "subclasses" | "subtypes" | "derived" | "overrides" => {
            "`cortex implementations SYMBOL` lists derived types, and implementations and overrides of a member"
        }
        "supertypes" | "bases" | "ancestors" => "`cortex hierarchy SYMBOL` lists the bases and interfaces of a type or member",
        "references" | "refs" | "uses" => "`cortex usages SYMBOL` lists the places that use a symbol",
        "definition" | "define" => "`cortex source SYMBOL` prints the code of a symbol",
        "rename" => "`cortex rename SYMBOL NEW` renames a symbol everywhere",
        "add_using" | "add_member" | "safe_delete" | "change_signature" | "move_type" | "extract_interface" | "implement_members"
        | "organize_usings" => "it is an operation of `cortex edit`; `cortex edit --help` lists all",
        _ => return None,
    })
}
