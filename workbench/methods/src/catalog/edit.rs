//! `edit`: edits text files of the workspace in sessions. It is one method with an operation as argument, so that one MCP tool covers all operations.

use super::edit_by_symbol::SymbolEdit;
use super::edit_check::{compile_commit, take_back_lost, try_strictly, with_compiled, with_compiler, with_lost_names};
use super::edit_counted::count_operation;
use super::edit_operations::{self, OperationKind, PATH};
use super::investigate::as_failed;
use super::rewriting::Destination;
use super::symbols::{resolve_for_edit, resolve_one};
use super::{AsTool, Effect, Method, window};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::printable;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::str::FromStr;
use workbench::code_text::encoding::decode;
use workbench::edit::answer_settings;
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::edit::order::{BatchEdit, EditRequest, Order};
use workbench::edit::perform::perform;
use workbench::edit::response::{Level, Response};
use workbench::edit::state::{Mode, Status};
use workbench::edit::symbol::{self, HeadPolicy, Where};
use workbench::edit::{brief_answer, markdown};
use workbench::editable_paths::Guard;
use workbench::live::edits;
use workbench::symbols::meaning::Candidate;
use workbench::symbols::outputs::file_label;

/// Edit a text file of the workspace: exactly, as a whole or not at all, with undo.
///
/// `open` begins a session and returns its handle; `commit` saves its edits, unless `mode` says otherwise. An edit without a handle is saved at once,
/// in a session of its own, so that it can be undone. `replace` replaces oldText by newText. If oldText occurs in several places, `replace_selection`
/// takes the number of one of the candidates, and `candidates` lists more of them. `all` replaces every occurrence. `append` inserts newText after
/// the anchor. With `selector`, a tree-sitter query, `replace` replaces syntax nodes (C#, TypeScript, JavaScript, Python). New texts get the line
/// ends of the file unless `exactEnds` is given. `create` creates a file that does not exist; `write` replaces the whole text of a file, or creates
/// the file, and reports which. `replace_symbol`, `insert_before` and `insert_after` find a type or a member by name, and refuse a text that would
/// remove or change other symbols; `safe_delete` deletes a type or a member that nothing uses, or lists its uses; `add_using` adds a using directive
/// in its place, `add_member` a member to a type. `change_signature` takes the new list of parameters as newText (`kept, old -> new, bool deep =
/// false, int depth := 0`; callers pass the value after `:=`), `move_type` moves a type to a file of its own (newText, or named after the type),
/// `extract_interface` extracts an interface (newText: `NAME`, or `NAME: MEMBER, MEMBER`) from public members of a type, `implement_members` adds
/// stubs for members that its bases require, `organize_usings` sorts using directives. `delete` deletes a file, `move` moves it to the file or folder
/// of newText, `rename_file` renames it to newText. `patch` applies a unified diff or `*** Begin Patch`, `batch` several replacements; each is one
/// edit with one undo. `commit`, `discard`, `diff`, `refresh`, `persist_as` (saves to the path in newText), `undo`, `redo` (with a path: only the
/// part of that file) and `close` act on the session, `list` lists all sessions; `undo` and `redo` without a session act on the last edit of this
/// checkout, and show it. A session ends seven days after its last use. A successful edit returns one line with the place of its new text, unless
/// `full` is given; as data also status, workflow_state, summary, guidance, metrics, flags and the allowed operations.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Edit {
    /// The operation.
    #[arg(skip = Op::List)]
    pub op: Op,
    /// Handle of the session [default: a new one].
    #[schemars(extend("x-tool" = ""))]
    #[arg(long, value_name = "HANDLE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The file, from the workspace's root.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = ""))]
    pub path: Option<String>,
    /// The present text, exactly; line ends may differ.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, alias = "old_text", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = "Exact text, found once"))]
    pub old_text: Option<String>,
    /// Syntax nodes to replace, as a tree-sitter query; only those equal to oldText, if given.
    #[arg(long, value_name = "QUERY")]
    #[serde(default, alias = "match_selector", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = ""))]
    pub selector: Option<String>,
    /// The new text; for `patch` the patch, for `persist_as` the path.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(
        default,
        alias = "new_text",
        alias = "patch",
        alias = "text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("x-tool" = "New text, patch, parameters or path"))]
    pub new_text: Option<String>,
    /// Number of the candidate to replace.
    #[arg(long, value_name = "N")]
    #[serde(default, alias = "selection_id", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = ""))]
    pub selection_id: Option<usize>,
    /// The text to append after; ^ is the beginning of the file, $ its end.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = ""))]
    pub anchor: Option<String>,
    /// A type or a member.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = "Type or Type#Member"))]
    pub symbol: Option<String>,
    /// Replace documentation and attributes of a symbol, too, even if the text has none.
    #[arg(long)]
    #[serde(default)]
    pub whole: bool,
    /// Replace all occurrences of oldText, and report their number.
    #[arg(long)]
    #[serde(default)]
    pub all: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub dry_run: bool,
    /// When edits are saved: `manual` by commit, `immediate` at once, `disabled` never.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub mode: Option<When>,
    /// The replacements of `batch`, applied in this order; on the command line each is a JSON object.
    #[arg(long, value_name = "JSON")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-tool" = ""))]
    pub edits: Vec<Replacement>,
    /// The first candidate to show.
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub from: Option<usize>,
    /// Use the line ends of the given texts, not those of the file.
    #[arg(long)]
    #[serde(default, alias = "exact_ends")]
    #[schemars(extend("x-tool" = false))]
    pub exact_ends: bool,
    /// Refuse an edit that leaves names undefined, instead of listing them; `[edit] on_lost = "refuse"` in cortex.toml always does.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub strict: bool,
    /// Omit details: differences, places of candidates.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub basic: bool,
    /// Answer in full form, with the diff of an edit; `[edit] replies = "full"` in cortex.toml always does.
    #[arg(long, conflicts_with = "basic")]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub full: bool,
    /// Allow edits of cortex.toml.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub manifest: bool,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Op {
    Open,
    Replace,
    ReplaceSelection,
    Candidates,
    Append,
    Create,
    Write,
    ReplaceSymbol,
    InsertBefore,
    InsertAfter,
    SafeDelete,
    AddUsing,
    AddMember,
    ChangeSignature,
    MoveType,
    ExtractInterface,
    ImplementMembers,
    OrganizeUsings,
    Delete,
    Move,
    RenameFile,
    Patch,
    Batch,
    Commit,
    Discard,
    Diff,
    Refresh,
    PersistAs,
    Undo,
    Redo,
    Close,
    List,
}

/// When edits are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum When {
    Manual,
    Immediate,
    Disabled,
}

/// A replacement of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replacement {
    /// Path of its file [default: the path of the batch].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The text to replace, which occurs once.
    #[serde(alias = "old_text")]
    pub old_text: String,
    /// The new text.
    #[serde(alias = "new_text")]
    pub new_text: String,
}

impl FromStr for Replacement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hint = "write {\"path\": \"…\", \"oldText\": \"…\", \"newText\": \"…\"}";
        serde_json::from_str(text).map_err(|error| format!("{error}; {hint}"))
    }
}

impl Method for Edit {
    const NAME: &'static str = "edit";
    const EFFECT: Effect = Effect::Writes;
    const TOOL: AsTool = AsTool::Own;
    const FROM_FILE: Option<&'static str> = Some("new_text");

    fn arguments(command: clap::Command) -> clap::Command {
        <Self as clap::Args>::augment_args(command.arg(clap::Arg::new("op")))
    }

    type Answer = Response;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        edit_operations::refuse_unused(self)?;
        let outcome = self.answer_edit(desk);
        count_operation(desk, self.op, self.dry_run, &outcome);
        outcome
    }

    fn text(answer: &Response) -> String {
        let form = if answer.full { markdown::format } else { brief_answer::format };
        printable(&format!("{}\n", form(answer)))
    }
}

impl Edit {
    fn answer_edit(&self, desk: &mut Desk<'_>) -> Result<Response, Failed> {
        if let Some(done) = self.by_symbol(desk)? {
            return Ok(done.at(self.level(desk)?));
        }
        let root = window::root_of_workspace(desk)?;
        let Meant { path, symbol, defines } = self.resolve_place(desk)?;
        // Other processes may write these files while one of them is edited.
        desk.context.release_locks();
        let guard = Guard {
            store: desk.context.store_folder(),
            manifest: self.manifest,
        };
        let disk = Disk::new(&root).with_guard(guard).logging(desk.context.settings().logs.clone());
        let request = EditRequest {
            order: self.order(symbol, defines)?,
            session: self.session.clone(),
            path,
            mode: self.mode.map(|when| match when {
                When::Manual => Mode::Manual,
                When::Immediate => Mode::Immediate,
                When::Disabled => Mode::Disabled,
            }),
            fit: !self.exact_ends,
        };
        let live = Disk::new(&root);
        if let Some(handle) = self.session.as_ref().filter(|_| self.op == Op::Close) {
            // Results that cannot be kept are rebuilt when a request needs them.
            let _ = workbench::overlay::build::leave_results(&root, handle, current_seconds());
        }
        let is_strict = self.writes_text() && self.is_strict(&live);
        let compiled = match (&self.session, self.op) {
            (Some(session), Op::Commit) => compile_commit(desk, session, self.path.as_deref(), self.is_strict(&live))?,
            _ => None,
        };
        if is_strict && self.session.is_none() {
            try_strictly(desk, &disk, &request)?;
        }
        let response = perform(&disk, &request, current_seconds());
        let came_to_nothing = !matches!(response.status, Status::Success | Status::NoOp | Status::MultiMatch);
        if let (None, Some(path), true) = (&response.session, &response.path, came_to_nothing) {
            let _ = edits::record_failed_try(&live, path, (request.order.name(), &response.summary), current_seconds());
        }
        desk.worsen(match response.status {
            Status::Success | Status::NoOp => Code::Ok,
            Status::NoMatch | Status::MultiMatch | Status::ExternalConflict => Code::TargetFailed,
            Status::Exception => Code::Usage,
            Status::PersistFailure => Code::Io,
        });
        let response = match self.writes_text() {
            true => with_compiler(desk, with_lost_names(desk, response, is_strict, current_seconds()), false),
            false => match compiled.filter(|_| response.status == Status::Success) {
                Some(found) => with_compiled(response, found),
                None => response,
            },
        };
        if is_strict {
            take_back_lost(&disk, &request, &response)?;
        }
        Ok(response.at(self.level(desk)?))
    }
}

/// The resolved file and symbol of an edit.
struct Meant {
    path: Option<String>,
    /// Full name of the symbol.
    symbol: Option<String>,
    /// The `#if` symbols under which its file is compiled, if they are known.
    defines: Option<BTreeSet<String>>,
}

/// Whether a file may contain an `#if`, in any encoding.
fn is_conditional(disk: &Disk, file: &str) -> bool {
    disk.read(file)
        .is_ok_and(|found| found.is_some_and(|found| found.bytes.contains(&b'#')))
}

/// Returns the files that declare a symbol. The index lists the files that declare a member in compiled code; other files of its type are searched,
/// because they may declare it under another `#if`.
fn declaring_files(desk: &mut Desk<'_>, names: &WorkspaceNames, disk: &Disk, found: &Candidate) -> Vec<String> {
    let owner = found.member().and_then(|_| resolve_one(desk, names, found.key()).ok());
    let others = owner
        .map(|(owner, _)| owner.files)
        .filter(|files| files.len() > 1)
        .unwrap_or_default();
    let declares = |file: &String| {
        let read = disk.read(file).ok().flatten();
        let text = read.and_then(|read| decode(&read.bytes).ok());
        found.files.contains(file) || text.is_some_and(|(text, _)| symbol::declares(&text, &found.path))
    };
    let files: Vec<String> = others.into_iter().filter(declares).collect();
    if files.is_empty() { found.files.clone() } else { files }
}

/// Returns the `#if` symbols under which a C# file is compiled.
pub(super) fn defines_of(desk: &mut Desk<'_>, file: &str) -> Result<BTreeSet<String>, Failed> {
    let shown = desk.output_of_label(&file_label(file, "defines"))?;
    let read = producers::csharp::defines::read(&shown.bytes);
    let read = read.map_err(|failure| Failed::new(Code::TargetFailed, as_failed(failure, &shown.label).1))?;
    Ok(read.own.into_iter().collect())
}

impl Edit {
    /// Performs the operations that are checked against the whole workspace before they are saved; `None` for all others.
    fn by_symbol(&self, desk: &mut Desk<'_>) -> Result<Option<Response>, Failed> {
        let operation = self.op.operation();
        if operation.kind != OperationKind::Workspace {
            return Ok(None);
        }
        for (id, name, argument) in [
            (PATH, "path", &self.path),
            ("symbol", "symbol", &self.symbol),
            ("new_text", "newText", &self.new_text),
        ] {
            if operation.needs.contains(&id) {
                self.required_argument(name, argument.as_ref())?;
            }
        }
        let edit = SymbolEdit {
            symbol: self.symbol.as_deref().unwrap_or_default(),
            path: self.path.as_deref(),
            new: self.new_text.as_deref().unwrap_or_default(),
            to: Destination {
                session: self.session.as_deref(),
                is_dry: self.dry_run,
            },
        };
        Ok(Some(match self.op {
            Op::SafeDelete => edit.safe_delete(desk)?,
            Op::AddUsing => edit.add_using(desk)?,
            Op::AddMember => edit.add_member(desk)?,
            Op::ChangeSignature => edit.change_signature(desk)?,
            Op::MoveType => edit.move_type(desk)?,
            Op::ExtractInterface => edit.extract_interface(desk)?,
            Op::ImplementMembers => edit.implement_members(desk)?,
            Op::OrganizeUsings => edit.organize_usings(desk)?,
            Op::Delete => {
                let is_strict = self.is_strict_here(desk)?;
                edit.delete_file(desk, is_strict)?
            }
            Op::Move | Op::RenameFile => {
                let is_strict = self.is_strict_here(desk)?;
                edit.move_file(desk, self.op == Op::RenameFile, is_strict)?
            }
            _ => return Ok(None),
        }))
    }

    /// Whether the operation writes new text, which may contain undefined names.
    fn writes_text(&self) -> bool {
        self.op.operation().kind == OperationKind::Text
    }

    /// Whether an edit that loses names is refused.
    fn is_strict(&self, disk: &Disk) -> bool {
        let manifest = || disk.read("cortex.toml").ok().flatten();
        self.strict || manifest().is_some_and(|manifest| answer_settings::refuses_lost_names(&manifest.bytes))
    }

    fn is_strict_here(&self, desk: &mut Desk<'_>) -> Result<bool, Failed> {
        Ok(self.is_strict(&Disk::new(&window::root_of_workspace(desk)?)))
    }

    /// Returns the level of detail of the answer.
    fn level(&self, desk: &mut Desk<'_>) -> Result<Level, Failed> {
        Ok(match (self.basic, self.full) {
            (true, _) => Level::Basic,
            (false, true) => Level::Full,
            (false, false) => {
                let manifest = Disk::new(&window::root_of_workspace(desk)?).read("cortex.toml").ok().flatten();
                manifest.map_or_else(Level::default, |manifest| answer_settings::level_of_manifest(&manifest.bytes))
            }
        })
    }

    /// Resolves the file of the edit. Without a path, it is the file that declares the symbol, if there is only one.
    fn resolve_place(&self, desk: &mut Desk<'_>) -> Result<Meant, Failed> {
        let by_name =
            matches!(self.op, Op::ReplaceSymbol | Op::InsertBefore | Op::InsertAfter) && self.session.is_none() && self.path.is_none();
        let Some(symbol) = self.symbol.as_ref().filter(|_| by_name) else {
            return Ok(Meant {
                path: self.path.clone(),
                symbol: self.symbol.clone(),
                defines: None,
            });
        };
        let names = desk.workspace_names()?;
        let (found, _) = resolve_for_edit(desk, &names, symbol)?;
        let disk = Disk::new(&window::root_of_workspace(desk)?);
        let files = declaring_files(desk, &names, &disk, &found);
        let defines = match files.as_slice() {
            [file] if is_conditional(&disk, file) => defines_of(desk, file).ok(),
            _ => None,
        };
        match files.as_slice() {
            [file] => Ok(Meant {
                path: Some(file.clone()),
                symbol: Some(found.path),
                defines,
            }),
            several => {
                let mut why = Diagnostic::error(ErrorCode::E_PARAM, format!("{} is declared in {} files", found.path, several.len()));
                why.candidates = several.to_vec();
                Err(Failed::new(Code::Usage, why.hint("select one with path")))
            }
        }
    }

    fn order(&self, symbol: Option<String>, defines: Option<BTreeSet<String>>) -> Result<Order, Failed> {
        let new = || self.required_argument("newText", self.new_text.as_ref());
        let at = |at: Where| {
            Ok::<_, Failed>(Order::Symbol(symbol::SymbolEdit {
                symbol: self.required_argument("symbol", symbol.as_ref())?,
                at,
                new: new()?,
                head: if self.whole {
                    HeadPolicy::Replaced
                } else {
                    HeadPolicy::UnlessBrought
                },
                defines: defines.clone(),
            }))
        };
        Ok(match self.op {
            Op::Open => Order::Open,
            Op::Replace if self.selector.is_some() => Order::ReplaceNodes {
                selector: self.required_argument("selector", self.selector.as_ref())?,
                old: self.old_text.clone(),
                new: new()?,
                all: self.all,
            },
            Op::Replace => {
                let (old, new) = (self.required_argument("oldText", self.old_text.as_ref())?, new()?);
                match self.all {
                    true => Order::ReplaceAll { old, new },
                    false => Order::Replace { old, new },
                }
            }
            Op::ReplaceSelection => Order::Select {
                id: self.required_argument("selectionId", self.selection_id.as_ref())?,
                new: self.new_text.clone(),
            },
            Op::Candidates => Order::Candidates {
                from: self.from.unwrap_or(1),
            },
            Op::Append => Order::Append {
                anchor: self.required_argument("anchor", self.anchor.as_ref())?,
                new: new()?,
            },
            Op::Create => Order::Create(new()?),
            Op::Write => Order::Write(new()?),
            Op::ReplaceSymbol => at(Where::Replace)?,
            Op::InsertBefore => at(Where::Before)?,
            Op::InsertAfter => at(Where::After)?,
            Op::SafeDelete
            | Op::AddUsing
            | Op::AddMember
            | Op::ChangeSignature
            | Op::MoveType
            | Op::ExtractInterface
            | Op::ImplementMembers
            | Op::OrganizeUsings
            | Op::Delete
            | Op::Move
            | Op::RenameFile => {
                return Err(Failed::bug(&"it is not an operation on a session"));
            }
            Op::Patch => Order::Patch(new()?),
            Op::Batch => {
                let parts = self.edits.iter().map(|edit| BatchEdit {
                    path: edit.path.clone(),
                    old: edit.old_text.clone(),
                    new: edit.new_text.clone(),
                });
                Order::Batch(self.required_argument("edits", Some(parts.collect::<Vec<_>>()).filter(|parts| !parts.is_empty()).as_ref())?)
            }
            Op::Commit => Order::Commit,
            Op::Discard => Order::Discard,
            Op::Diff => Order::Diff,
            Op::Refresh => Order::Refresh,
            Op::PersistAs => Order::PersistAs(new()?),
            Op::Undo => Order::Undo,
            Op::Redo => Order::Redo,
            Op::Close => Order::Close,
            Op::List => Order::List,
        })
    }

    /// Returns an argument that the operation requires.
    fn required_argument<T: Clone>(&self, name: &str, argument: Option<&T>) -> Result<T, Failed> {
        argument.cloned().ok_or_else(|| {
            let why = Diagnostic::error(ErrorCode::E_PARAM, format!("the argument '{name}' is missing"));
            Failed::new(Code::Usage, why.hint(format!("give {}", self.op.operation().json)))
        })
    }
}
