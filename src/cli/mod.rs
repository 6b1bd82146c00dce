//! Flags: one argument struct per command. Its doc comments are the help.

mod built_in_pages;
mod call;
mod chat;
mod edit_line;
mod file_argument;
mod http;
mod mcp;
mod models;
mod settings;
mod sharing;

pub use built_in_pages::{
    CheckArgs, CompletionsArgs, DevArgs, DevCommand, FmtArgs, HelpArgs, LsArgs, ManArgs, RulesArgs, RulesCommand, Shell,
};
pub use call::Call;
pub use chat::ChatArgs;
use engine::values::codes::ErrorCode;
pub use http::HttpArgs;
pub use mcp::{InstallArgs, McpArgs, McpCommand};
pub use models::{EditOutputArgs, PromptArgs, RegenerateArgs};
pub use sharing::{ProduceShardArgs, RemoteArgs, RemoteCommand, WarmArgs};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::values::diagnostic::Diagnostic;
use methods::catalog::guarded_pattern::{GUARD, unguard_label};
use methods::catalog::query_answer::Drawing;
use methods::desk::model_limits::AskingArgs;
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

/// `trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Only list the programs, keys and caches, and whether they are trusted.
    #[arg(long, conflicts_with = "revoke")]
    pub list: bool,
    /// Revoke the trust.
    #[arg(long)]
    pub revoke: bool,
    /// Trust them although the workspace belongs to another user.
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    pub foreign: bool,
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
    /// Trust the programs, key addresses and remote cache of this workspace. Review them first (`--list`).
    ///
    /// Without trust, cortex runs no program of `cortex.toml`, sends no key to its addresses, and does not use its remote cache. A changed definition
    /// (arguments, environment, limits, address, headers) needs trust again. CORTEX_TRUST=all trusts everything, for machines that build whatever is
    /// checked out.
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
    /// Replace an existing manifest, or create a workspace inside another one.
    #[arg(long)]
    pub force: bool,
}

/// Build targets: those of the patterns, or the default set of the workspace.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Labels, patterns such as //types/...:outline, or names of types; a leading - excludes [default: `default` of `[workspace]`, otherwise
    /// outlines and the index].
    #[arg(value_name = "PATTERN", value_parser = unguard_label)]
    pub patterns: Vec<String>,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = default_jobs(), value_parser = clap::value_parser!(u16).range(1..=512))]
    pub jobs: u16,
    /// List targets that would run, with questions to models and their cost. Asks no model, but builds free inputs of prompts.
    #[arg(long)]
    pub dry_run: bool,
    /// Add to `index.json` the time at which its contents were built (`generatedAt`), until a later build writes the file without it.
    #[arg(long)]
    pub with_times: bool,
    #[command(flatten)]
    pub asking: AskingArgs,
    /// Continue with other targets after a failure (the default for patterns).
    #[arg(long, overrides_with = "fail_fast")]
    pub keep_going: bool,
    /// Stop at the first failure (the default for a single label).
    #[arg(long, overrides_with = "keep_going")]
    pub fail_fast: bool,
    /// Bring the targets up to date, rebuild them and compare: the exit code is 8 if an output differs. Stores no result of the rebuild, and
    /// asks no model.
    #[arg(long, conflicts_with = "dry_run")]
    pub rebuild: bool,
    /// List every node that ran, was cached or failed, with the reason.
    #[arg(short, long)]
    pub verbose: bool,
    /// Write events to FILE, one JSON object per line: {"event": "ran", "label": …, "output": …, "took": microseconds, …}.
    #[arg(long, value_name = "FILE", value_parser = a_file)]
    pub events: Option<PathBuf>,
    /// Write a profile to FILE: a Chrome trace for ui.perfetto.dev, with a lane per worker and the critical path.
    #[arg(long, value_name = "FILE", value_parser = a_file)]
    pub profile: Option<PathBuf>,
}

/// Print the output of a target, building it first.
///
/// A summary by a model is printed as it is, with its state; --refresh updates it first.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// A label, or the name of a type or member: NodeStore is its outline, NodeStore:semantic its summary.
    pub label: String,
    /// Print the bytes unchanged, even to a terminal. If there is no output, print a model's rejected answer.
    #[arg(long)]
    pub raw: bool,
    /// Write the files of an output that is a tree to this folder, which must not exist.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["raw", "rejected"])]
    pub into: Option<PathBuf>,
    /// For targets of types and members: print the newest version from files that all parsed.
    #[arg(long)]
    pub last_good: bool,
    /// Print the present output, however old, with its state. Builds nothing.
    #[arg(long, conflicts_with_all = ["last_good", "refresh"])]
    pub allow_stale: bool,
    /// Build the target first, even if a model must be asked.
    #[arg(long, conflicts_with = "last_good")]
    pub refresh: bool,
    /// Print the rejected answer of the last attempt.
    #[arg(long, conflicts_with_all = ["last_good", "refresh", "allow_stale"])]
    pub rejected: bool,
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// List the builds of this checkout, with their work, time and cost.
///
/// Each line has the commit, and whether files differed from it. A build in which no target ran, failed or was cached has no line. The log keeps the
/// newest 1,000 builds.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Number of builds to list, from the newest.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
}

/// Report changes of the sources as they happen, and build after each batch.
///
/// Asks no model. While it runs, other commands of this checkout get changes from it instead of checking every file. With --output json: JSON lines
/// {"event": "watching" | "moved" | "built" | "ahead", …}. Ctrl-C ends it.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Targets to build at the beginning and after each batch.
    #[arg(value_name = "PATTERN", value_parser = unguard_label)]
    pub patterns: Vec<String>,
    /// While nothing changes, build recently requested targets and the outlines of the window's types, if they are free; yields to
    /// any other command that builds.
    #[arg(long)]
    pub ahead: bool,
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

/// Evict results that no checkout of the store needs, and shorten its file.
///
/// Keeps results of all checkouts that share the store, pinned versions, the last versions of each target, corrections by hand and recently
/// used results. Evicts paid results only with --paid. Builds can run at the same time. Exit codes: 0 done, 1 the size
/// was not reached, 3 the store is damaged, 4 another collection runs, 5 I/O.
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Only list results that would be evicted, and the cost of rebuilding paid ones.
    #[arg(long)]
    pub dry_run: bool,
    /// Evict only until the store's file is no longer than SIZE (500 MB, 2 GB), least recently used results first; if necessary also versions that
    /// cost nothing.
    #[arg(long, value_name = "SIZE", value_parser = engine::values::quantity::parse_bytes)]
    pub max_size: Option<u64>,
    /// Number of versions to keep of each target [default: 3].
    #[arg(long, value_name = "N")]
    pub keep_versions: Option<usize>,
    /// Keep results that were used within SPAN (12h, 7d, 4w; 0 for none) [default: 7d].
    #[arg(long, value_name = "SPAN", value_parser = engine::values::quantity::seconds)]
    pub older_than: Option<u64>,
    /// Also evict paid results.
    #[arg(long)]
    pub paid: bool,
    /// Forget all checkouts whose folder is missing, not only those last used 30 days ago.
    #[arg(long)]
    pub forget_checkouts: bool,
}

/// Verify, count, export and migrate the store.
#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    pub command: StoreCommand,
}

/// Commands about the store.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Read every row, hash every output, follow every reference. Exit codes: 0 sound, or repaired; 3 damaged.
    Verify {
        /// Drop damaged parts; the next build rebuilds them.
        #[arg(long)]
        repair: bool,
    },
    /// Count the results: by producer, by family of labels, by checkout.
    Stats,
    /// Write results, with all their inputs, to a file for another store. The file contains no path and no time of this machine.
    Export {
        /// Targets to export.
        #[arg(required = true, value_name = "PATTERN", value_parser = unguard_label)]
        patterns: Vec<String>,
        /// The file.
        #[arg(short, long, value_name = "FILE", value_parser = a_file)]
        out: PathBuf,
    },
    /// Import the results of a file from `store export`. Checks outputs by their digests; cannot check that a result belongs to its
    /// key.
    Import {
        /// The file.
        file: PathBuf,
        /// Also import paid results.
        #[arg(long)]
        paid: bool,
    },
    /// Convert the store to the newest format.
    Migrate,
}

/// Keep a version of a target: neither History nor gc removes it.
#[derive(Debug, Args)]
pub struct PinVersionArgs {
    /// The target.
    pub label: String,
    /// Number of the version in `cortex history` [default: the newest].
    pub version: Option<u32>,
    /// A note for `cortex history`.
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// Remove the pin of a version.
#[derive(Debug, Args)]
pub struct UnpinVersionArgs {
    /// The target.
    pub label: String,
    /// Number of the version in `cortex history` [default: all pinned ones].
    pub version: Option<u32>,
}

/// Write one page of HTML about this checkout: builds, graph, versions, targets. Runs nothing.
///
/// The page needs no network and no other file. It contains labels, paths, and lines of outputs and sources.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The file to write; an existing file is replaced.
    #[arg(value_name = "OUT.html", value_parser = a_file)]
    pub out: PathBuf,
    /// Draw the graph near this target [default: the one whose output changed most often].
    #[arg(long, value_name = "LABEL")]
    pub near: Option<String>,
}

/// Write an index of the code for other programs.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(subcommand)]
    pub command: ExportCommand,
}

/// The formats of an index.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Write a SCIP index: definitions, references, documentation, implementations and overrides.
    ///
    /// The same sources give the same bytes. Paths are relative to the root of the workspace; the index contains no path of this machine.
    Scip {
        /// The file to write; an existing index is replaced.
        #[arg(short, long, value_name = "FILE", default_value = "index.scip", value_parser = a_file)]
        out: PathBuf,
        /// The base URI of paths, for readers that need one: file:///src/memotree.
        #[arg(long, value_name = "URI", default_value = "file:///")]
        project_root: String,
    },
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
    let form = form.filter(|form| !form.ends_with("<COMMAND>")).map(|form| format!("write {form}"));
    let quotes = unexpected.map(|_| "quote an argument of several words".to_owned());
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

/// Parses a path to write to. Refuses `-`: elsewhere it is standard output, where the command's own output would mix with the file.
fn a_file(text: &str) -> Result<PathBuf, &'static str> {
    match text {
        "-" => Err("standard output is not supported here; write ./- for a file of that name"),
        path => Ok(path.into()),
    }
}

fn default_jobs() -> u16 {
    std::thread::available_parallelism().map_or(1, |threads| u16::try_from(threads.get()).unwrap_or(512).min(512))
}
