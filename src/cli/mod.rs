//! Flags: one argument struct per command. Its doc comments are the help.

mod call;
mod chat;
mod edit_line;
mod file_argument;
mod http;
mod mcp;
mod models;
mod pages;
mod settings;
mod sharing;

pub use call::Call;
pub use chat::ChatArgs;
use engine::values::codes::ErrorCode;
pub use http::HttpArgs;
pub use mcp::{InstallArgs, McpArgs, McpCommand};
pub use models::{EditOutputArgs, PromptArgs, RegenerateArgs};
pub use pages::{CheckArgs, CompletionsArgs, DevArgs, DevCommand, FmtArgs, HelpArgs, LsArgs, ManArgs, RulesArgs, RulesCommand, Shell};
pub use sharing::{ProduceShardArgs, RemoteArgs, RemoteCommand, WarmArgs};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::values::diagnostic::Diagnostic;
use methods::desk::asking::AskingArgs;
use methods::table::guarded_pattern::{GUARD, unguarded};
use methods::table::query_drawing::Drawing;
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
    /// Run as if started in DIR; other relative paths, also that of CORTEX_STORE, are meant from there.
    #[arg(short = 'C', value_name = "DIR", global = true, default_value = ".")]
    pub directory: PathBuf,
    /// Keep the store in DIR instead of the user's cache folder [env: CORTEX_STORE].
    #[arg(long, value_name = "DIR", global = true)]
    pub store: Option<PathBuf>,
    /// Use no store: everything works, nothing is remembered.
    #[arg(long, global = true)]
    pub no_store: bool,
    /// Look at, or build in, this overlay or edit session instead of the workspace itself; for commands that only read, and build.
    #[arg(long, value_name = "NAME", global = true)]
    pub overlay: Option<String>,
    /// How to print.
    #[arg(long, value_name = "FORM", global = true, default_value = "text")]
    pub output: OutputForm,
    /// The same as --output json.
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours (NO_COLOR is honoured).
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub color: When,
    /// Send nothing over the network: what would ask a model fails instead.
    #[arg(long, global = true, env = "CORTEX_OFFLINE", value_parser = clap::builder::FalseyValueParser::new())]
    pub offline: bool,
    /// Seconds to wait for a store, or a checkout, that another process holds.
    #[arg(long, value_name = "SECONDS", global = true, default_value_t = USUAL_TIMEOUT)]
    pub lock_timeout: u64,
    /// Do not wait for a store or a checkout that another process holds: the same as --lock-timeout 0.
    #[arg(long, global = true, conflicts_with = "lock_timeout")]
    pub no_wait: bool,
}

/// `trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Only show them, and whether they may run.
    #[arg(long, conflicts_with = "revoke")]
    pub list: bool,
    /// Let them run no more.
    #[arg(long)]
    pub revoke: bool,
    /// Let them run although the workspace belongs to another user.
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    pub foreign: bool,
}

/// How to print.
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

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    Init(InitArgs),
    Build(BuildArgs),
    Show(ShowArgs),
    #[command(flatten)]
    Method(Call),
    Log(LogArgs),
    Prompt(PromptArgs),
    Regenerate(RegenerateArgs),
    EditOutput(EditOutputArgs),
    Watch(WatchArgs),
    Serve(ServeArgs),
    Mcp(McpArgs),
    Chat(ChatArgs),
    Gc(GcArgs),
    Report(ReportArgs),
    Export(ExportArgs),
    Store(StoreArgs),
    Warm(WarmArgs),
    Remote(RemoteArgs),
    PinVersion(PinVersionArgs),
    /// Let this workspace run programs and send keys, after a look (`--list`).
    ///
    /// A program that `cortex.toml` names is not run, no key is sent where it says, and its remote cache is not used, before someone has allowed
    /// it; it is asked about anew when its definition changes: arguments, environment, bounds, address, headers. CORTEX_TRUST=all allows
    /// everything, for machines that build whatever is checked out.
    Trust(TrustArgs),
    UnpinVersion(UnpinVersionArgs),
    Rules(RulesArgs),
    Ls(LsArgs),
    Check(CheckArgs),
    Fmt(FmtArgs),
    /// Delete the files below `.cortex/out`. Their results stay in the store: the next build writes the files again.
    Clean,
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

/// Write a manifest for this folder.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Replace a manifest that is there, or make a workspace inside another one.
    #[arg(long)]
    pub force: bool,
}

/// Build targets: those of the patterns, or the default set of the workspace.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Labels, patterns such as //types/...:outline, or names of types; a leading - takes away [default: `default` of `[workspace]`, otherwise
    /// outlines and the index].
    #[arg(value_name = "PATTERN", value_parser = unguarded)]
    pub patterns: Vec<String>,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = default_jobs(), value_parser = clap::value_parser!(u16).range(1..=512))]
    pub jobs: u16,
    /// Say what would run, and what models would be asked and would cost. Nothing is asked; to know the prompts, what is free is made.
    #[arg(long)]
    pub dry_run: bool,
    /// Have `index.json` say when its output was made (`generatedAt`), until a later build writes the file without it.
    #[arg(long)]
    pub with_times: bool,
    #[command(flatten)]
    pub asking: AskingArgs,
    /// Go on with other targets after a failure (the default for patterns).
    #[arg(long, overrides_with = "fail_fast")]
    pub keep_going: bool,
    /// Stop at the first failure (the default for a single label).
    #[arg(long, overrides_with = "keep_going")]
    pub fail_fast: bool,
    /// Make the targets again, once they are up to date, and compare: the exit code is 8 when one comes out different. Nothing is filed, and no
    /// model is asked.
    #[arg(long, conflicts_with = "dry_run")]
    pub rebuild: bool,
    /// Name every node that ran, was found or failed, and why it was looked at.
    #[arg(short, long)]
    pub verbose: bool,
    /// Write what happens to FILE, one JSON object a line: {"event": "ran", "label": …, "output": …, "took": microseconds, …}.
    #[arg(long, value_name = "FILE", value_parser = a_file)]
    pub events: Option<PathBuf>,
    /// Write a profile to FILE: a Chrome trace for ui.perfetto.dev, with a lane for each worker and the critical path.
    #[arg(long, value_name = "FILE", value_parser = a_file)]
    pub profile: Option<PathBuf>,
}

/// Print the output of a target, building it first.
///
/// A summary that a model makes is shown as it is, with its state; --refresh has it made anew.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// A label, or the name of a type or member: NodeStore is its outline, NodeStore:semantic its summary.
    pub label: String,
    /// The bytes as they are, even to a terminal. When a model's answer could not become an output and there is no other: that answer.
    #[arg(long)]
    pub raw: bool,
    /// Where the output is a tree: write its files below this folder, which is made.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["raw", "rejected"])]
    pub into: Option<PathBuf>,
    /// For targets of types and members: the newest version that was made while all files it is made of parsed.
    #[arg(long)]
    pub last_good: bool,
    /// The output as it is, however old; its state is told. Nothing is built.
    #[arg(long, conflicts_with_all = ["last_good", "refresh"])]
    pub allow_stale: bool,
    /// Build the target first, also if a model has to be asked.
    #[arg(long, conflicts_with = "last_good")]
    pub refresh: bool,
    /// The answer of the last try, which could not become an output.
    #[arg(long, conflicts_with_all = ["last_good", "refresh", "allow_stale"])]
    pub rejected: bool,
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// List the builds of this checkout: what each did, took and cost.
///
/// With the commit that was checked out, and whether files differed from it.
/// A build in which nothing ran, failed or was found under its key leaves no line. The newest 1,000 are kept.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// How many, the newest ones.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
}

/// Say what moves in the sources as it happens, and build after each batch.
///
/// No model is asked. While it runs, other commands of this checkout ask it what moved instead of looking at every file. With --output json: JSON lines
/// {"event": "watching" | "moved" | "built" | "ahead", …}. Ctrl-C ends it.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// What to build at the beginning and after each batch.
    #[arg(value_name = "PATTERN", value_parser = unguarded)]
    pub patterns: Vec<String>,
    /// When nothing moves, build ahead what was asked for lately and the outlines of the window's types, as far as it is free; stops for
    /// any other command that builds.
    #[arg(long)]
    pub ahead: bool,
}

/// Answer methods by JSON-RPC 2.0, and keep what was answered at hand.
///
/// At a Unix socket of this user (its path is printed), for as long as it runs; the same commands on the command line are answered by it,
/// and look the same. It watches the sources as `cortex watch` does. Messages are one a line, or behind Content-Length headers: the client
/// is answered as it asks. With --http it also serves a page for browsers, which shows the workspace and follows its builds; the address that
/// it prints has the token that the page needs. Ctrl-C or --stop ends it.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Serve one client on standard input and output instead; ends with its input.
    #[arg(long, conflicts_with = "http")]
    pub stdio: bool,
    /// When nothing moves, build ahead what was asked for lately and the outlines of the window's types, as far as it is free; stops for
    /// every request.
    #[arg(long)]
    pub ahead: bool,
    /// Say whether a service runs for this checkout, and how it does. Exit code 1 when none does.
    #[arg(long, conflicts_with_all = ["stdio", "http"])]
    pub status: bool,
    /// End the service of this checkout.
    #[arg(long, conflicts_with_all = ["stdio", "status", "http"])]
    pub stop: bool,
    #[command(flatten)]
    pub http: HttpArgs,
}

/// Collect what no checkout of the store needs any more, and make its file shorter.
///
/// Kept are the results of all checkouts that share the store, pinned versions, the last versions of each target, what was corrected by
/// hand and whatever was used lately. What was paid for goes only with --paid. Builds may go on meanwhile. Exit codes: 0 done, 1 the size
/// was not reached, 3 the store is damaged, 4 another collection runs, 5 I/O.
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Only say what would be removed, and what would cost money to make again.
    #[arg(long)]
    pub dry_run: bool,
    /// Collect only until the store's file is no longer than SIZE (500 MB, 2 GB), what was used longest ago first; if need be also versions
    /// that cost nothing.
    #[arg(long, value_name = "SIZE", value_parser = engine::values::quantity::parse_bytes)]
    pub max_size: Option<u64>,
    /// How many versions of each target to keep [default: 3].
    #[arg(long, value_name = "N")]
    pub keep_versions: Option<usize>,
    /// Keep what was used within SPAN (12h, 7d, 4w; 0 for nothing) [default: 7d].
    #[arg(long, value_name = "SPAN", value_parser = engine::values::quantity::seconds)]
    pub older_than: Option<u64>,
    /// Take also what was paid for.
    #[arg(long)]
    pub paid: bool,
    /// Forget checkouts whose folder is not there now, and not only those that were last used 30 days ago.
    #[arg(long)]
    pub forget_checkouts: bool,
}

/// Verify, count, hand on and migrate the store.
#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    pub command: StoreCommand,
}

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Open every row, hash every output, follow every reference. Exit codes: 0 sound, or mended; 3 damaged.
    Verify {
        /// Drop what is damaged; the next build makes it again.
        #[arg(long)]
        repair: bool,
    },
    /// Count what is in it: by producer, by family of labels, by checkout.
    Stats,
    /// Write results, and all they are made of, to a file for another store. The file names no path and no moment of this machine.
    Export {
        /// Which targets.
        #[arg(required = true, value_name = "PATTERN", value_parser = unguarded)]
        patterns: Vec<String>,
        /// The file.
        #[arg(short, long, value_name = "FILE", value_parser = a_file)]
        out: PathBuf,
    },
    /// Import the results of a file that `store export` wrote. Outputs are checked by their digests; that a result belongs to its key is
    /// believed.
    Import {
        /// The file.
        file: PathBuf,
        /// Take also results that were paid for.
        #[arg(long)]
        paid: bool,
    },
    /// Bring it to the newest format.
    Migrate,
}

/// Keep a version of a target: History does not trim it, gc does not take it.
#[derive(Debug, Args)]
pub struct PinVersionArgs {
    /// Which target.
    pub label: String,
    /// Its number in `cortex history` [default: the newest].
    pub version: Option<u32>,
    /// Why, for `cortex history`.
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// Keep a version no longer.
#[derive(Debug, Args)]
pub struct UnpinVersionArgs {
    /// Which target.
    pub label: String,
    /// Its number in `cortex history` [default: all that are pinned].
    pub version: Option<u32>,
}

/// Write one page of HTML about this checkout: builds, graph, versions, targets. Runs nothing.
///
/// The page needs no network and no other file. It holds labels, paths, and lines of outputs and sources.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Where to write it; a file that is there is replaced.
    #[arg(value_name = "OUT.html", value_parser = a_file)]
    pub out: PathBuf,
    /// Draw the graph near this target [default: the one whose output moved most often].
    #[arg(long, value_name = "LABEL")]
    pub near: Option<String>,
}

/// Write what is known of the code as an index that other programs read.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(subcommand)]
    pub command: ExportCommand,
}

/// The formats of an index.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// A SCIP index: definitions, references, documentation, and what implements or overrides what.
    ///
    /// The same sources give the same bytes. Paths count from the root of the workspace; no path of this machine is in it.
    Scip {
        /// Where to write it; an index that is there is replaced.
        #[arg(short, long, value_name = "FILE", default_value = "index.scip", value_parser = a_file)]
        out: PathBuf,
        /// The URI that paths count from, for readers that need one: file:///src/memotree.
        #[arg(long, value_name = "URI", default_value = "file:///")]
        project_root: String,
    },
}

/// Prefixes arguments that begin with `-//` with the guard, so that clap does not read a pattern as a flag.
pub fn guarded(args: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
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
    let form = form.filter(|form| !form.ends_with("<COMMAND>")).map(|form| format!("write {form}"));
    let quotes = unexpected.map(|_| "words that belong together stand in quotes".to_owned());
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

/// What does here what other tools have a command of this name for.
fn command_elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "page" => "`cortex serve --http` shows the page",
        "subclasses" | "subtypes" | "derived" | "overrides" => {
            "`cortex implementations SYMBOL` lists what derives from a type, and what implements or overrides a member"
        }
        "supertypes" | "bases" | "ancestors" => "`cortex hierarchy SYMBOL` lists what a type or member derives from and implements",
        "references" | "refs" | "uses" => "`cortex usages SYMBOL` lists the places that use a symbol",
        "definition" | "define" => "`cortex source SYMBOL` prints the code of a symbol",
        _ => return None,
    })
}

/// Parses a path to write to. Refuses `-`: elsewhere it is standard output, where the command's own output would mix with the file.
fn a_file(text: &str) -> Result<PathBuf, &'static str> {
    match text {
        "-" => Err("this is written to files only; ./- is one of that name"),
        path => Ok(path.into()),
    }
}

fn default_jobs() -> u16 {
    std::thread::available_parallelism().map_or(1, |threads| u16::try_from(threads.get()).unwrap_or(512).min(512))
}
