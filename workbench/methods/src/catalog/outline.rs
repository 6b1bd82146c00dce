//! `outline`: outlines of types and members, and contents of files, folders, namespaces and projects.

use super::access::as_access_denied;
use super::paging::default_number;
use super::resolved::{Resolved, resolve_target};
use super::source::{failure_of, failure_text};
use super::symbols::{found_by_name, lines_of_notes, resolution, state_of_page};
use super::uncompiled::note_of_file;
use super::{AsTool, Effect, Method, arguments, other_languages};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::build;
use crate::desk::last_good;
use crate::desk::names::{no_file, unread_file};
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::{plural, printable};
use engine::build::query::Reach;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::table::to_json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Component, Path};
use workbench::symbols::answer_state::{AnswerState, Freshness};
use workbench::symbols::contents::{Container, FEW, Layout, Listed, contents};
use workbench::symbols::resolve::{How, NAMESPACE, SHOWN};
use workbench::symbols::unread_files::EXTENSIONS;

/// Outline types, members, files, folders, namespaces or projects: their members or contents.
///
/// A name is resolved as a type or member, then as a namespace, a folder, a project. A name with a `/`, or with the ending `.cs` or `.csproj`, is a
/// path, and `.` is the whole workspace.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Outline {
    /// Types, by name (NodeStore, Core.NodeStore; NodeStore@Project where several projects have one, @loose where none compiles it), up to five of
    /// one name together; their members (NodeStore#Get, 'NodeStore#*'), or labels; a path (src/Core/, src/Core/NodeStore.cs), a namespace, or a project by its
    /// name or path.
    #[arg(required = true, value_name = "SYMBOL")]
    #[serde(
        alias = "symbol",
        alias = "path",
        alias = "typeId",
        alias = "memberPath",
        alias = "memberId",
        alias = "id",
        deserialize_with = "arguments::symbols_argument"
    )]
    #[schemars(extend("x-tool" = "Names or paths"))]
    pub symbols: Vec<String>,
    /// Also return the outline as data, as in //types/SYMBOL:outline-info.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub data: bool,
    /// Outline the newest version in which all files of the type parsed. The program reports what the present version may lack.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub last_good: bool,
    /// Limit of lines about a file, folder, namespace or project; all are counted.
    #[arg(long, value_name = "N", default_value_t = FEW)]
    #[serde(default = "default_number::<FEW>")]
    #[schemars(extend("x-tool" = false))]
    pub limit: usize,
    /// Lines to skip: those on earlier pages.
    #[arg(long, value_name = "N", default_value_t)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub offset: usize,
}

/// The outlines.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Outlines {
    #[serde(flatten)]
    first: OneOutline,
    /// Outlines of further symbols.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    more: Vec<OneOutline>,
    /// Requested symbols that cannot be shown, as errors with `asked`; only if others can be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Value>,
}

/// One outline.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OneOutline {
    resolved: Resolved,
    /// The outline as Markdown; of a file, folder, namespace or project, its heading.
    outline_text: String,
    /// The contents, one line each; with more than 100 types, the parts one level down, each with its number of types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    entries: Vec<Listed>,
    /// Number of lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// The outline as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    state: AnswerState,
}

impl Method for Outline {
    const NAME: &'static str = "outline";
    const ALSO: &'static [&'static str] = &["GetOutline", "GetMemberOutline"];
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Own;
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = &["entries"];
    type Answer = Outlines;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Outlines, Failed> {
        let mut shown: Vec<(String, Vec<u8>)> = Vec::new();
        let mut meant = Meant::default();
        let context = desk.context;
        if self.last_good {
            let labels: Vec<String> = self.symbols.iter().map(|symbol| outline_label(symbol)).collect();
            let (_, session) = desk.open_to_build()?;
            for label in &labels {
                let found = last_good::last_good_output(context, session, Self::NAME, label)?;
                shown.push((found.label, found.bytes.to_vec()));
            }
        } else {
            meant = self.resolve_symbols(desk)?;
            if !meant.labels.is_empty() {
                let report = desk.outputs_of_labels(&meant.labels, true)?;
                let made = report.roots.iter().zip(&report.outputs);
                shown.extend(made.filter_map(|(root, bytes)| Some((root.label.to_string(), bytes.as_deref()?.to_vec()))));
            }
            let (_, session) = desk.open_to_build()?;
            last_good::remark(context, session, Self::NAME, shown.iter().map(|(label, _)| label.as_str()))?;
        }
        let mut outlines = Vec::with_capacity(shown.len());
        for (label, bytes) in shown {
            let binary = || {
                let why = Diagnostic::error(ErrorCode::E_BINARY, "the output is not text").label(&label);
                Failed::new(Code::Usage, why.hint("use `cortex show --raw`"))
            };
            let (resolved, files) = resolve_target(desk, &label)?;
            let state = AnswerState::default().of_files(&*desk.flaws()?, files.iter());
            outlines.push(OneOutline {
                state: if self.last_good {
                    state.as_of(Freshness::LastGood, "its files may have changed since")
                } else {
                    state
                },
                resolved,
                data: if self.data { Some(data(desk, &label)?) } else { None },
                entries: Vec::new(),
                total: None,
                outline_text: String::from_utf8(bytes).map_err(|_| binary())?,
            });
        }
        for (container, also) in &meant.containers {
            outlines.push(self.list_container(desk, container, also)?);
        }
        outlines.extend(meant.others);
        let shown = outlines.len();
        let mut outlines = outlines.into_iter();
        let Some(mut first) = outlines.next() else {
            // The reason was reported before.
            return Err(Failed {
                code: desk.code(),
                diagnostics: Vec::new(),
            });
        };
        if !meant.failed.is_empty() {
            first.state = first.state.cut(shown, shown + meant.failed.len(), "see failed");
        }
        Ok(Outlines {
            first,
            more: outlines.collect(),
            failed: meant.failed,
        })
    }

    fn text(answer: &Outlines) -> String {
        let all = std::iter::once(&answer.first).chain(&answer.more);
        let failed = answer.failed.iter().map(failure_text);
        printable(&all.map(OneOutline::outline_text).chain(failed).collect::<Vec<_>>().join("\n"))
    }
}

/// Resolved symbols.
#[derive(Default)]
struct Meant {
    labels: Vec<String>,
    /// Files, folders, namespaces and projects, each with alternative meanings of the name.
    containers: Vec<(Container, Vec<String>)>,
    /// Outlines of other languages.
    others: Vec<OneOutline>,
    /// Symbols that cannot be shown.
    failed: Vec<Value>,
}

impl OneOutline {
    fn outline_text(&self) -> String {
        if self.total.is_none() {
            return self.outline_text.clone();
        }
        let mut text = self.outline_text.clone();
        for entry in &self.entries {
            let place = entry.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
            let words = format!("{} {}", entry.accessibility, entry.kind);
            let types = entry
                .types
                .map_or_else(String::new, |count| format!(", {}", plural(count as u64, "type")));
            text.push_str(&format!("{place}{} {}{types}\n", words.trim(), entry.path));
        }
        text + &lines_of_notes(&self.state)
    }
}

impl Outline {
    /// Resolves the symbols. An unknown one of several is listed as failed, unless all are unknown.
    fn resolve_symbols(&self, desk: &mut Desk<'_>) -> Result<Meant, Failed> {
        // Names are looked up in the index of types.
        if desk.reads_csharp()? {
            desk.output_of_label("//index:types")?;
        }
        let mut meant = Meant::default();
        let mut last = None;
        for symbol in &self.symbols {
            match Self::resolve_symbol(desk, symbol, &mut meant) {
                Ok(()) => {}
                Err(why) if why.code == Code::Usage && self.symbols.len() > 1 => {
                    let why = as_access_denied(why, desk);
                    meant.failed.extend(failure_of(&why, symbol));
                    last = Some(why);
                }
                Err(why) => return Err(why),
            }
        }
        match last {
            Some(why) if meant.failed.len() == self.symbols.len() => Err(why),
            Some(why) => {
                desk.worsen(why.code);
                Ok(meant)
            }
            None => Ok(meant),
        }
    }

    /// Resolves one symbol. A name that the engine does not know as a label is looked up in the symbol index.
    fn resolve_symbol(desk: &mut Desk<'_>, symbol: &str, meant: &mut Meant) -> Result<(), Failed> {
        if let Some(outline) = other_languages::outline(desk, symbol)? {
            meant.others.push(OneOutline::of_other(outline));
            return Ok(());
        }
        if is_path(symbol) {
            if let Some(container) = read_layout(desk)?.path(symbol) {
                meant.containers.push((container, Vec::new()));
                return Ok(());
            }
            if let Some(outline) = other_languages::folder_outline(desk, symbol)? {
                meant.others.push(OneOutline::of_other(outline));
                return Ok(());
            }
            if let Some(why) = unread_file(desk.open_to_build()?.1, symbol) {
                return Err(why);
            }
            if let Some(folder) = folder_on_disk(desk, symbol)? {
                meant.containers.push((folder, Vec::new()));
                return Ok(());
            }
        }
        let label = outline_label(symbol);
        let known = match build::patterns(std::slice::from_ref(&label)) {
            Ok(patterns) => desk
                .open_to_build()?
                .1
                .survey(patterns.patterns(), Reach::Named)?
                .refused
                .is_empty(),
            Err(failed) if symbol.starts_with("//") => return Err(failed),
            Err(_) => false,
        };
        if !known && symbol.starts_with("//") {
            let context = desk.context;
            let (workspace, session) = desk.open_to_build()?;
            last_good::remark_missing(context, workspace, session, Some(Self::NAME), &label)?;
        }
        if known || symbol.starts_with("//") {
            meant.labels.push(label);
            return Ok(());
        }
        let names = desk.workspace_names()?;
        match container(desk, &names, symbol)? {
            Some(found) => meant.containers.push(found),
            None if is_path(symbol) && !symbol.contains(['(', '*', '?']) => return Err(no_file(desk.open_to_build()?.1, symbol)),
            None => {
                // A file at the root, such as `package.json`, has no separator that shows a path.
                if symbol.contains('.')
                    && let Some(why) = unread_file(desk.open_to_build()?.1, symbol)
                {
                    return Err(why);
                }
                meant.labels.extend(found_by_name(desk, Self::NAME, symbol, "outline")?);
            }
        }
        Ok(())
    }

    fn list_container(&self, desk: &mut Desk<'_>, container: &Container, also: &[String]) -> Result<OneOutline, Failed> {
        let names = desk.workspace_names()?;
        let layout = read_layout(desk)?;
        let found = contents(desk, &names.symbols, &layout, container, (self.offset, self.limit))?;
        let mut state = AnswerState::default().of_workspace(&names.flaws);
        if !also.is_empty() {
            state.notes.push(format!("of this name there is also {}", also.join(", ")));
        }
        if let Container::File(file) = container {
            state.notes.extend(note_of_file(desk, file)?);
        }
        if let (Container::Folder(_), 0) = (container, found.total) {
            let why = match desk.reads_csharp()? {
                true => "the workspace reads no C# file in this folder",
                false => "the workspace reads no C#: cortex.toml names no ruleset for it",
            };
            state.notes.push(why.to_owned());
        }
        Ok(OneOutline {
            resolved: Resolved::gone(&container.name()),
            outline_text: format!(
                "# {} {}: {}\n",
                container.as_str(),
                container.name(),
                plural(found.types as u64, "type")
            ),
            data: None,
            state: state_of_page(state, (self.offset, found.listed.len()), found.total),
            entries: found.listed,
            total: Some(found.total),
        })
    }
}

impl OneOutline {
    /// Returns the outline from another language.
    fn of_other((resolved, outline_text, state): (Resolved, String, AnswerState)) -> Self {
        Self {
            resolved,
            outline_text,
            entries: Vec::new(),
            total: None,
            data: None,
            state,
        }
    }
}

/// Whether a text is always a path, even if a symbol has that name.
fn is_path(symbol: &str) -> bool {
    let is_label = symbol.starts_with("//");
    !is_label
        && (symbol == "." || symbol.contains(['/', '\\']) || symbol.ends_with(".cs") || symbol.ends_with(".csproj") || is_page(symbol))
        && !symbol.contains(['#', '@'])
}

/// Whether a text has the extension of a file that cortex does not parse.
fn is_page(symbol: &str) -> bool {
    let end = symbol.rsplit_once('.').map(|(_, end)| end);
    end.is_some_and(|end| EXTENSIONS.contains(&end))
}

/// Returns the files and projects of the workspace; none if it has no rules for C#.
fn read_layout(desk: &mut Desk<'_>) -> Result<Layout, Failed> {
    match desk.reads_csharp()? {
        true => Layout::from_outputs(desk),
        false => Ok(Layout::default()),
    }
}

/// Finds a folder of the workspace that exists, whatever it contains.
fn folder_on_disk(desk: &mut Desk<'_>, symbol: &str) -> Result<Option<Container>, Failed> {
    let path = symbol.replace('\\', "/");
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let root = &desk.open_to_build()?.0.root;
    let is_folder = !path.is_empty() && is_inside && root.join(path).is_dir();
    Ok(is_folder.then(|| Container::Folder(path.to_owned())))
}

/// Finds the container of a name that no type or member has; returns it with the alternative meanings as further requests.
fn container(desk: &mut Desk<'_>, names: &WorkspaceNames, symbol: &str) -> Result<Option<(Container, Vec<String>)>, Failed> {
    let found = resolution(desk, names, symbol, SHOWN)?;
    let namespace = found.candidates.first().filter(|one| one.kind == NAMESPACE);
    if namespace.is_none() && !matches!(found.how, None | Some(How::Fuzzy)) || namespace.is_some() && found.total > 1 {
        return Ok(None);
    }
    let layout = read_layout(desk)?;
    let (folder, project) = (layout.path(symbol), layout.project(symbol));
    let Some(namespace) = namespace else {
        return Ok(match folder {
            Some(folder) => Some((folder, Vec::new())),
            None => match project? {
                Some(project) => Some((project, Vec::new())),
                None => folder_on_disk(desk, symbol)?.map(|folder| (folder, Vec::new())),
            },
        });
    };
    let others = [folder, project.ok().flatten()].into_iter().flatten();
    let also = others.map(|other| format!("the {} {}", other.as_str(), other.name()));
    Ok(Some((Container::Namespace(namespace.path.clone()), also.collect())))
}

fn outline_label(symbol: &str) -> String {
    if symbol.starts_with("//") {
        symbol.to_owned()
    } else {
        format!("//types/{symbol}:outline")
    }
}

fn data(desk: &mut Desk<'_>, label: &str) -> Result<Value, Failed> {
    let package = label.rsplit_once(':').map_or(label, |(package, _)| package);
    Ok(to_json(&desk.output_of_label(&format!("{package}:outline-info"))?.bytes))
}
