//! The catalog of methods. Each method has one name, one set of arguments and one answer by command line, JSON-RPC and MCP.
//!
//! A method is a struct of arguments. Its doc comments are the help of the command, the description of the tool and the reference page; its answer is
//! a value, which `text` formats for people and models.

mod access;
mod arguments;
mod call_graph;
mod check;
mod clean;
mod context_build;
mod context_build_report;
mod context_live;
mod context_live_arguments;
mod context_live_document;
mod conversations;
mod cost;
pub mod diff;
mod doctor;
mod duplicates;
mod edit;
mod edit_by_symbol;
mod edit_check;
mod edit_counted;
mod edit_of_files;
mod edit_of_interfaces;
mod edit_of_structure;
pub mod edit_operations;
pub mod explain;
pub mod explain_answer;
mod explanation;
mod fmt;
mod gc;
mod grep;
pub mod guarded_pattern;
mod hierarchy;
pub mod history;
mod impact;
mod implementations;
mod init;
mod invalidate;
pub mod investigate;
mod log;
mod ls;
mod named_sources;
mod node;
mod node_near;
mod operation;
mod other_languages;
mod outline;
mod overlay;
mod overlay_argument;
mod overlay_build;
mod overlay_documents;
mod overlay_merge;
mod pack;
mod paging;
mod pin;
mod prompt;
pub mod query;
pub mod query_answer;
pub mod reference;
mod relations;
mod rename;
mod report;
mod resolve;
pub mod resolved;
mod result_files;
mod rewriting;
mod rulesets;
pub mod schema;
mod scip_export;
mod search;
mod search_by_file;
mod semantic;
pub mod since;
mod source;
pub mod status;
mod status_answer;
mod store;
mod store_verify;
pub mod symbols;
mod trust;
mod uncompiled;
mod usages;
mod vectors;
pub mod viewed_types;
mod window;
mod work;
mod work_list;
mod work_next;
mod work_submit;

use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::Style;
use engine::values::diagnostic::Diagnostic;
use query_answer::Drawing;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Effect of a method, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Reads, and stores results. Equal questions about equal sources have equal answers.
    Looks,
    /// Reads state that changes by itself: time, other processes, models.
    Reads,
    /// Changes stored state of this checkout; idempotent.
    Sets,
    Acts,
    /// Changes files of the workspace.
    Writes,
}

/// How MCP offers a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsTool {
    Own,
    /// As an operation of the tool of its group.
    Operation,
    /// As an operation of the tool of this name.
    Under(&'static str),
    /// Not at all.
    None,
}

/// A method; the implementing type has its arguments.
pub trait Method: clap::Args + Serialize + DeserializeOwned + JsonSchema {
    /// The words of the command; with `_` for spaces the name of the tool, with `.` that of the JSON-RPC method.
    const NAME: &'static str;
    /// The JSON-RPC names of seed 000 §6.
    const ALSO: &'static [&'static str] = &[];
    const EFFECT: Effect;
    /// Whether programs may call it. False if it concerns more than a checkout: the store, the person's trust, files at paths of the command line.
    const SERVED: bool = true;
    /// Whether it may call a model, which is outside of the workspace and may cost money.
    const ASKS: bool = false;
    /// How MCP offers it.
    const TOOL: AsTool = AsTool::None;
    /// Whether it can use an overlay (`--overlay`, or the argument `overlay` of programs): then it changes nothing in the checkout.
    const WITHIN: bool = false;
    /// The paginated lists of the answer: `limit` is their total number of items, `cursor` or `offset` the beginning.
    const PAGES: &'static [&'static str] = &[];
    /// For [`Effect::Reads`]: the files of the checkout that the answer depends on besides the sources and the store. A
    /// service caches the answer while none of them changes; `None` if it depends on more than files.
    const DEPENDS_ON: Option<&'static [&'static str]> = None;
    /// The argument that a command line may also take from a file.
    const FROM_FILE: Option<&'static str> = None;
    /// How a command line names that file.
    const FILE: FileForm = FileForm::Instead;
    /// Draws the answer, if it can be drawn.
    const DRAWN: Option<fn(&Self::Answer, Drawing) -> String> = None;
    type Answer: Serialize + DeserializeOwned + JsonSchema;

    /// Adds its arguments and help to a command.
    fn arguments(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }

    /// Whether it writes nothing in the checkout: then it does not wait for a build of the checkout.
    fn reads(&self) -> bool {
        Self::EFFECT <= Effect::Reads
    }

    /// Returns the answer. Fails when there is no answer; diagnostics already reported are not repeated.
    fn answer(&self, desk: &mut Desk<'_>) -> Result<Self::Answer, Failed>;

    /// Formats the answer for people and models.
    fn text(answer: &Self::Answer) -> String;

    /// Formats the answer for a terminal.
    fn styled(answer: &Self::Answer, _: Style) -> String {
        Self::text(answer)
    }
}

/// How a command line names the file that an argument is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// `--file FILE` in place of the argument: a text, with LF line ends.
    Instead,
    /// FILE in the position of the argument: a text, with LF line ends.
    InPlace,
    /// `--from FILE`: the unchanged text, with its encoding in the argument `encoding`.
    AsItIs,
}

/// Result of a request.
#[derive(Debug)]
pub struct Answered {
    pub answer: Value,
    /// Exit code of the request; a request can have an answer although a part of it failed.
    pub code: Code,
    /// Diagnostics to report after the answer.
    pub remarks: Vec<Diagnostic>,
}

/// Draws an answer: its JSON, the form; the text.
type DrawAnswer = fn(&Value, Drawing) -> Result<String, serde_json::Error>;

/// A line of the table.
pub struct MethodEntry {
    /// Words of the command.
    pub name: &'static str,
    /// The JSON-RPC names of seed 000 §6.
    pub also: &'static [&'static str],
    pub effect: Effect,
    /// Whether programs may call it.
    pub served: bool,
    /// Whether it may call a model.
    pub asks: bool,
    /// How MCP offers it.
    pub tool: AsTool,
    /// The paginated lists of the answer.
    pub pages: &'static [&'static str],
    /// Whether it accepts an overlay.
    pub within: bool,
    /// The files of the checkout that the answer for these arguments depends on, besides the sources and the store; `None` if it depends on more.
    pub depends_on: fn(&Value) -> Option<&'static [&'static str]>,
    /// The argument that a command line may also take from a file, and how.
    pub from_file: Option<(&'static str, FileForm)>,
    /// Adds its arguments and help to a command.
    pub arguments_of: fn(clap::Command) -> clap::Command,
    /// Converts the arguments of a command line to a value.
    pub parse: fn(&clap::ArgMatches) -> Result<Value, clap::Error>,
    /// JSON Schema of the arguments.
    pub arguments: fn() -> schemars::Schema,
    /// JSON Schema of the answer.
    pub answers: fn() -> schemars::Schema,
    pub call: fn(&mut Desk<'_>, Value) -> Result<Answered, Failed>,
    /// Draws an answer, if it can be drawn.
    pub drawn: Option<DrawAnswer>,
    /// Formats an answer as text.
    pub text: fn(&Value, Style) -> Result<String, serde_json::Error>,
}

/// All methods, in the order of the help.
pub static METHODS: &[MethodEntry] = &[
    entry::<init::Init>(),
    entry::<resolve::Resolve>(),
    entry::<search::Search>(),
    entry::<grep::Grep>(),
    entry::<duplicates::Duplicates>(),
    entry::<outline::Outline>(),
    entry::<source::SourceOf>(),
    entry::<usages::UsagesOf>(),
    entry::<implementations::ImplementationsOf>(),
    entry::<hierarchy::HierarchyOf>(),
    entry::<impact::ImpactOf>(),
    entry::<call_graph::Callers>(),
    entry::<call_graph::Callees>(),
    entry::<relations::Deps>(),
    entry::<relations::Rdeps>(),
    entry::<semantic::SemanticOf>(),
    entry::<investigate::Investigate>(),
    entry::<operation::OperationOf>(),
    entry::<context_build::Build>(),
    entry::<context_live_arguments::Show>(),
    entry::<conversations::End>(),
    entry::<conversations::List>(),
    entry::<pack::Build>(),
    entry::<pack::List>(),
    entry::<pack::Remove>(),
    entry::<window::Show>(),
    entry::<window::Pin>(),
    entry::<window::Unpin>(),
    entry::<window::Dismiss>(),
    entry::<window::Set>(),
    entry::<edit::Edit>(),
    entry::<rename::Rename>(),
    entry::<overlay::Open>(),
    entry::<overlay_documents::Put>(),
    entry::<overlay_documents::Apply>(),
    entry::<overlay_build::Build>(),
    entry::<overlay_build::Diff>(),
    entry::<overlay_merge::Merge>(),
    entry::<overlay::List>(),
    entry::<overlay::Discard>(),
    entry::<node::Get>(),
    entry::<explain::Explain>(),
    entry::<query::Query>(),
    entry::<ls::Ls>(),
    entry::<history::HistoryOf>(),
    entry::<diff::Diff>(),
    entry::<cost::CostOf>(),
    entry::<prompt::Prompt>(),
    entry::<invalidate::Invalidate>(),
    entry::<pin::Pin>(),
    entry::<pin::Unpin>(),
    entry::<log::Log>(),
    entry::<node_near::Near>(),
    entry::<status::Status>(),
    entry::<doctor::Doctor>(),
    entry::<check::Check>(),
    entry::<fmt::Fmt>(),
    entry::<trust::Trust>(),
    entry::<rulesets::List>(),
    entry::<rulesets::Show>(),
    entry::<report::WriteReport>(),
    entry::<scip_export::ExportScip>(),
    entry::<clean::Clean>(),
    entry::<gc::Gc>(),
    entry::<store_verify::Verify>(),
    entry::<store::Stats>(),
    entry::<result_files::Export>(),
    entry::<result_files::Import>(),
    entry::<store::Migrate>(),
    entry::<work_next::Next>(),
    entry::<work_submit::Submit>(),
    entry::<work_list::List>(),
];

pub const fn entry<M: Method>() -> MethodEntry {
    MethodEntry {
        name: M::NAME,
        also: M::ALSO,
        effect: M::EFFECT,
        served: M::SERVED,
        asks: M::ASKS,
        tool: M::TOOL,
        pages: M::PAGES,
        within: M::WITHIN,
        depends_on: |arguments| match M::EFFECT {
            Effect::Looks => Some(&[]),
            _ if arguments.get("overlay").is_some() => None,
            _ => M::DEPENDS_ON.filter(|_| arguments::read_arguments(arguments.clone()).is_ok_and(|method: M| method.reads())),
        },
        from_file: match M::FROM_FILE {
            Some(argument) => Some((argument, M::FILE)),
            None => None,
        },
        arguments_of: <M as Method>::arguments,
        parse: |matches| {
            let arguments = M::from_arg_matches(matches)?;
            Ok(serde_json::to_value(arguments).expect("invariant: arguments are plain values"))
        },
        arguments: match M::WITHIN {
            true => overlay_argument::schema::<M> as fn() -> schemars::Schema,
            false => schema::schema_of::<M>,
        },
        answers: schema::schema_of::<M::Answer>,
        call: |desk, mut arguments| {
            if M::WITHIN {
                overlay_argument::take_overlay_argument(desk, &mut arguments)?;
            }
            let method: M = arguments::read_arguments(arguments)?;
            if method.reads() {
                desk.read_only();
            }
            let answer = method.answer(desk).map_err(|failed| access::as_access_denied(failed, desk));
            let answer = answer.map_err(|failed| other_languages::explain_unknown_name(desk, failed))?;
            Ok(Answered {
                answer: serde_json::to_value(answer).expect("invariant: answers are plain values"),
                code: desk.code(),
                remarks: desk.take_remarks(),
            })
        },
        drawn: match M::DRAWN {
            Some(_) => Some(|answer, drawing| {
                let answer = M::Answer::deserialize(answer)?;
                Ok(M::DRAWN.map(|drawn| drawn(&answer, drawing)).unwrap_or_default())
            }),
            None => None,
        },
        text: |answer, style| Ok(M::styled(&M::Answer::deserialize(answer)?, style)),
    }
}

impl MethodEntry {
    /// Returns the group of the method, if it is in one, and its name in the group.
    pub fn group_and_word(&self) -> (Option<&'static str>, &'static str) {
        match self.name.split_once(' ') {
            Some((group, own)) => (Some(group), own),
            None => (None, self.name),
        }
    }

    /// Returns the tool that has the method as an operation.
    pub fn operation_of(&self) -> Option<&'static str> {
        match self.tool {
            AsTool::Operation => self.group_and_word().0,
            AsTool::Under(tool) => Some(tool),
            AsTool::Own | AsTool::None => None,
        }
    }

    /// Whether a request that failed because a source changed may be tried again: until then it has read, stored results, and paid for nothing. A context records what it
    /// shows last.
    pub fn may_be_tried_again(&self) -> bool {
        self.is_read_only() || self.name == "context build"
    }

    /// Whether the method only reads: it changes nothing visible, and costs nothing.
    pub fn is_read_only(&self) -> bool {
        matches!(self.effect, Effect::Looks | Effect::Reads) && !self.asks
    }
}

/// Returns the operations of a tool, in the order of the help.
pub fn operations(tool: &str) -> impl Iterator<Item = &'static MethodEntry> {
    METHODS.iter().filter(move |entry| entry.operation_of() == Some(tool))
}

/// Finds a method that programs may call, by its name, with words joined by a space, `.` or `_`, or by a name of seed 000.
pub fn find_method(name: &str) -> Option<&'static MethodEntry> {
    let same = |entry: &&MethodEntry| entry.name.replace(' ', "_") == name.replace(['.', ' '], "_") || entry.also.contains(&name);
    METHODS.iter().filter(|entry| entry.served).find(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Methods whose answers have no `state`; the preface of the reference names them.
    const WITHOUT: [&str; 47] = [
        "context live", "context end", "context conversations", "edit", "rename", "node get", "explain", "query", "history", "diff",
        "cost", "prompt", "invalidate", "log", "ls", "init", "check", "fmt", "trust", "report", "export scip", "clean", "gc",
        "store verify", "store stats", "store export", "store import", "store migrate", "rules list", "rules show", "pin-version",
        "unpin-version", "node near", "operation", "overlay open", "overlay put", "overlay apply", "overlay build", "overlay diff",
        "overlay merge", "overlay list", "overlay discard", "pack remove", "status", "doctor", "window set", "work submit",
    ];

    #[test]
    fn answers_about_the_code_say_how_fresh_and_how_complete_they_are() {
        for entry in METHODS {
            let schema = (entry.answers)();
            let state = &schema.as_value()["properties"]["state"]["properties"];
            let has = ["freshness", "complete", "notes"].iter().all(|field| state[field].is_object());
            assert_eq!(has, !WITHOUT.contains(&entry.name), "{}", entry.name);
        }
        let page = reference::methods_page();
        let is_named = |name: &&str| {
            page.contains(&format!("`{name}`"))
                || name
                    .split_once(' ')
                    .is_some_and(|(group, _)| page.contains(&format!("`{group} …`")))
        };
        assert!(WITHOUT.iter().all(is_named));
    }

    #[test]
    fn programs_cannot_call_methods_of_the_command_line() {
        let listed = reference::listing()["methods"].as_array().map_or(0, Vec::len);
        assert_eq!(listed, METHODS.iter().filter(|entry| entry.served).count());
        for entry in METHODS {
            assert_eq!(find_method(entry.name).is_some(), entry.served, "{}", entry.name);
            assert!(entry.served || entry.tool == AsTool::None, "{}", entry.name);
        }
        assert!(
            ["trust", "gc", "init", "store.import", "report"]
                .iter()
                .all(|name| find_method(name).is_none())
        );
    }
}
