//! One request's view of the workspace, as its method uses it: opened and updated on first use.

pub mod automatic_gc;
pub mod build;
pub mod clock;
pub mod damage;
pub mod figures;
pub mod last_good;
pub mod model_limits;
pub mod names;
pub mod one_output;
pub mod output_file;
pub mod outputs;
pub mod person;
pub mod request_context;
mod saving_thread;
pub mod settings;
pub mod turn;
pub mod workspace_names;

use crate::code::Code;
use crate::failed::Failed;
use build::build_free;
use engine::build::request::Report;
use engine::build::session::Session;
use engine::build::watch_state::Moment;
use engine::manifest::model::Rule;
use engine::manifest::template::Piece;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::table::write_table;
use figures::Service;
use model_limits::AskingArgs;
use one_output::{LabelledOutput, make_output};
use outputs::{build_outputs, list_outputs};
use request_context::RequestContext;
use saving_thread::SavingThread;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use turn::AcquiredTurn;
use workbench::context::index::Index;
use workbench::context::saved_documents::SavedDocuments;
use workbench::context::source_cache::IndexWithSources;
use workbench::context::withheld_files::{WithheldFiles, never_send};
use workbench::health::Health;
use workbench::other_languages::names::OtherNames;
use workbench::rename::ReferenceTexts;
use workbench::symbols::answer_state::{Flaws, flaws};
use workbench::symbols::index::Symbols;
use workbench::symbols::outputs::{ListedOutputs, Output, Outputs};
use workbench::symbols::word_index::{WordIndex, WordSource};
use workbench::workspace::Workspace;
use workspace_names::WorkspaceNames;

/// The tables that [`Symbols`] reads.
const SYMBOL_TABLES: [&str; 3] = ["//index:declarations", "//index:members", "//index:types"];

/// View of the workspace for one request.
pub struct Desk<'c> {
    /// Flags, diagnostics and locks of the request.
    pub context: &'c RequestContext,
    method: &'static str,
    asking: AskingArgs,
    host: Option<&'c dyn Serving>,
    /// Host that lends its word indexes and references, also to a part of a request that runs outside of it.
    indexes: Option<&'c dyn Serving>,
    /// Whether the request does not wait for another build of the checkout.
    reads: bool,
    /// Whether the request may build the checkout in its turn.
    may_build: bool,
    open: Option<(Workspace, Session)>,
    /// Workspace whose declarations changed, until it is opened again.
    closed: Option<Workspace>,
    /// Declared after `open`, so that the workspace closes before the turn is released.
    turn: Option<AcquiredTurn<'c>>,
    /// Moment as of which the cached names are true.
    known: Option<Moment>,
    flaws: Option<Arc<Flaws>>,
    /// Outputs already read from the open workspace, by label or pattern.
    read: HashMap<String, Vec<Output>>,
    /// Word indexes already built for the open workspace.
    words: HashMap<WordSource, Arc<WordIndex>>,
    /// Word indexes of the request that this one is a part of, in a workspace with other texts.
    lent_words: HashMap<WordSource, Arc<WordIndex>>,
    saving: SavingThread,
    worst: Code,
    /// Diagnostics to report after the answer.
    remarks: Vec<Diagnostic>,
}

/// Host that answers several requests at once.
pub trait Serving {
    /// Waits for the right to build.
    fn turn(&self) -> Result<AcquiredTurn<'_>, Failed>;
    /// Waits briefly for the right to build, else for the right to read while a build runs. Returns whether it is the right to build.
    fn turn_to_read(&self) -> Result<(AcquiredTurn<'_>, bool), Failed>;
    /// Returns how long to wait for another process that builds the checkout.
    fn patience(&self) -> Duration;
    /// Runs another request after this one is answered.
    fn later(&self, method: &'static str, arguments: Value);
    fn figures(&self) -> Service;
    /// Returns the last names of the workspace and their moment; sources may have changed since.
    fn names(&self) -> Option<(WorkspaceNames, Option<Moment>)>;
    /// Caches the names, true as of `moment`; those of an overlay have none.
    fn remember_names(&self, names: &WorkspaceNames, moment: Option<Moment>);
    /// Returns the last search index of types and its moment; sources may have changed since.
    fn index(&self) -> Option<(Arc<IndexWithSources>, Moment)>;
    /// Caches the index, true as of `moment`.
    fn keep_index(&self, index: &Arc<IndexWithSources>, moment: Moment);
    /// Returns the last word index of a source and its moment; sources may have changed since.
    fn word_index(&self, source: WordSource) -> Option<(Arc<WordIndex>, Option<Moment>)>;
    /// Caches a word index, true as of `moment`.
    fn keep_words(&self, source: WordSource, index: &Arc<WordIndex>, moment: Option<Moment>);
    /// Returns the cache of references in documentation.
    fn references(&self) -> ReferenceTexts;
}

impl<'c> Desk<'c> {
    /// Creates the desk of a request for `method`.
    pub fn new(context: &'c RequestContext, method: &'static str) -> Self {
        Self {
            context,
            method,
            asking: AskingArgs::default(),
            host: None,
            indexes: None,
            reads: false,
            may_build: true,
            turn: None,
            known: None,
            flaws: None,
            read: HashMap::new(),
            words: HashMap::new(),
            lent_words: HashMap::new(),
            saving: SavingThread::default(),
            open: None,
            closed: None,
            worst: Code::Ok,
            remarks: Vec::new(),
        }
    }

    /// Makes this request one of several: it waits for its turn before it opens the workspace.
    pub fn served_by(self, host: &'c dyn Serving) -> Self {
        Self {
            host: Some(host),
            indexes: Some(host),
            ..self
        }
    }

    /// Makes this a part of a request: it reads an overlay, and uses the facts about files that the request read or that its service caches.
    pub fn part_of(self, whole: &Desk<'c>) -> Self {
        Self {
            indexes: whole.indexes,
            lent_words: whole.words.clone(),
            ..self
        }
    }

    /// Returns whether a service runs this request.
    pub fn is_served(&self) -> bool {
        self.host.is_some()
    }

    /// Lets the service run another request after this one is answered.
    pub fn later(&self, method: &'static str, arguments: &impl Serialize) {
        let arguments = serde_json::to_value(arguments).expect("invariant: arguments are plain values");
        if let Some(host) = self.host {
            host.later(method, arguments);
        }
    }

    /// Returns the figures of the service, if a service runs this request.
    pub fn service(&self) -> Option<Service> {
        self.host.map(Serving::figures)
    }

    /// Returns whether the request has the right to build.
    pub fn has_turn(&self) -> bool {
        self.turn.is_some() && !self.context.is_beside()
    }

    /// Does not wait for another build of the checkout, because the request writes nothing into it.
    pub fn read_only(&mut self) {
        self.reads = true;
    }

    /// Sets the limits for models; call before the workspace is opened.
    pub fn limit_models(&mut self, asking: AskingArgs) {
        self.asking = asking;
    }

    /// Opens the workspace in this request's turn.
    fn workspace(&mut self) -> Result<Workspace, Failed> {
        let (context, method) = (self.context, self.method);
        if self.reads {
            if let (None, Some(host)) = (&self.turn, self.host) {
                let (held, may_build) = host.turn_to_read()?;
                (self.turn, self.may_build) = (Some(held), may_build);
                context.wait_for(host.patience());
            }
            return context.reading(method, &self.asking, self.may_build);
        }
        if self.turn.is_none() {
            self.turn = self.host.map(Serving::turn).transpose()?;
            if let Some(host) = self.host {
                context.wait_for(host.patience());
            }
        }
        match self.closed.take() {
            Some(workspace) => Ok(workspace),
            None => context.asking(method, &self.asking),
        }
    }

    /// Returns the workspace and its sources as they are now, opened to build.
    pub fn open_to_build(&mut self) -> Result<(&Workspace, &mut Session), Failed> {
        if self.open.is_none() {
            let opened = self.workspace();
            let opened = opened.and_then(|workspace| {
                let session = workspace.session()?;
                Ok((workspace, session))
            });
            // A failed request must not keep locks from other processes, nor from its own next attempt.
            let (workspace, session) = opened.inspect_err(|_| self.context.release_locks_to_reopen())?;
            self.say_of_manifest(&workspace);
            self.open = Some((workspace, session));
        }
        let (workspace, session) = self.open.as_mut().expect("invariant: it was just opened");
        Ok((workspace, session))
    }

    fn say_of_manifest(&self, workspace: &Workspace) {
        match self.method {
            "doctor" => self.context.say(workspace.warnings()),
            _ => self.context.say_of_manifest(workspace),
        }
    }

    /// Returns the workspace, to change its declarations. The next access reads it again.
    pub fn redefine(&mut self) -> Result<&mut Workspace, Failed> {
        self.open_to_build()?;
        let (workspace, session) = self.open.take().expect("invariant: it was just opened");
        drop(session);
        self.read.clear();
        self.words.clear();
        Ok(self.closed.insert(workspace))
    }

    /// Returns the workspace and its sources as they are now, to read: builds nothing and does not wait for another build.
    pub fn open_to_read(&mut self) -> Result<(&Workspace, &mut Session), Failed> {
        if self.open.is_none() {
            let workspace = self.context.workspace(self.method)?;
            let session = workspace.session()?;
            self.say_of_manifest(&workspace);
            self.open = Some((workspace, session));
        }
        let (workspace, session) = self.open.as_mut().expect("invariant: it was just opened");
        Ok((workspace, session))
    }

    /// Returns the outputs of labels or patterns; builds them if they are not current. Reports failures, which worsen the request's code.
    pub fn outputs_of_labels(&mut self, labels: &[String], keep_going: bool) -> Result<Report, Failed> {
        let (context, method) = (self.context, self.method);
        let (_, session) = self.open_to_build()?;
        let (report, code) = build_outputs(context, session, method, labels, keep_going)?;
        self.worsen(code);
        Ok(report)
    }

    /// Builds the unpaid part of a label's inputs, so that its state is known.
    pub fn settle_free(&mut self, label: &str) -> Result<(), Failed> {
        let context = self.context;
        let (_, session) = self.open_to_build()?;
        build_free(context, session, &[label.to_owned()]).map(drop)
    }

    /// Builds and reads the targets of labels or patterns.
    fn read_anew(&mut self, labels: &[String]) -> Result<Vec<Output>, Failed> {
        // A manifest without an index reports that; there is nothing to search.
        if let [label] = labels
            && label.starts_with("//index:")
        {
            let shown = self.output_of_label(label)?;
            return Ok(vec![Output {
                label: shown.label,
                bytes: Some(shown.bytes),
            }]);
        }
        let report = self.outputs_of_labels(labels, true)?;
        let labels = report.roots.iter().map(|root| root.label.to_string());
        Ok(labels.zip(report.outputs).map(|(label, bytes)| Output { label, bytes }).collect())
    }

    /// Returns the output of one label; builds it if it is not current. Reports a failure to lay it out, which worsens the request's code.
    pub fn output_of_label(&mut self, label: &str) -> Result<LabelledOutput, Failed> {
        let context = self.context;
        let (_, session) = self.open_to_build()?;
        let (shown, code) = make_output(context, session, label)?;
        self.worsen(code);
        Ok(shown)
    }

    /// Returns the files with declarations that could not all be read, among the files already built.
    pub fn flaws(&mut self) -> Result<Arc<Flaws>, Failed> {
        if self.flaws.is_none() {
            let found = flaws(self.open_to_build()?.1)?;
            self.flaws = Some(Arc::new(found));
        }
        Ok(self.flaws.clone().expect("invariant: they were just found"))
    }

    /// Returns the health of the workspace's projects, as far as they were built.
    pub fn health(&mut self) -> Result<Health, Failed> {
        Ok(Health::from_session(self.open_to_build()?.1)?)
    }

    /// Returns the cache of references in documentation; an empty one outside of a service.
    pub fn references(&self) -> ReferenceTexts {
        self.indexes.map(Serving::references).unwrap_or_default()
    }

    /// Returns the host that caches facts about the workspace; `None` for an overlay, which is never cached.
    fn memory(&self) -> Option<&'c dyn Serving> {
        self.host.filter(|_| self.context.overlay().is_none())
    }

    /// Returns the names of the workspace as they are now.
    pub fn workspace_names(&mut self) -> Result<WorkspaceNames, Failed> {
        if let Some((names, Some(moment))) = self.memory().and_then(Serving::names)
            && moment.is_current()
        {
            self.known = Some(moment);
            return Ok(names);
        }
        let (symbols, tables) = self.read_symbols()?;
        let (host, is_of_files) = (self.indexes, self.memory().is_some());
        let (_, session) = self.open_to_build()?;
        let names = WorkspaceNames {
            symbols,
            tables,
            flaws: Arc::new(flaws(session)?),
        };
        if let Some(host) = host.filter(|host| is_of_files || host.names().is_none()) {
            host.remember_names(&names, session.moment().filter(|_| is_of_files));
        }
        Ok(names)
    }

    /// Reads the tables of all types and members, with their digests if a service keeps them. Tables with the digests of its last names are not read
    /// again, so that an overlay without another declaration costs nothing here.
    fn read_symbols(&mut self) -> Result<(Arc<Symbols>, Vec<Option<Digest>>), Failed> {
        if !self.reads_csharp()? {
            let [types, members, declarations] = [(); 3].map(|()| write_table(&BTreeMap::<&str, &[u8]>::new()).into());
            return Ok((Arc::new(Symbols::open(types, members, declarations)?), Vec::new()));
        }
        let mut tables = Vec::new();
        let labels = SYMBOL_TABLES.map(str::to_owned);
        if let Some(host) = self.indexes {
            tables = self.list_digests(&labels)?.into_iter().map(|(_, digest)| digest).collect();
            let same = |names: &WorkspaceNames| names.tables == tables && !tables.contains(&None);
            if let Some((names, _)) = host.names().filter(|(names, _)| same(names)) {
                return Ok((names.symbols, tables));
            }
        }
        let mut outputs = Vec::new();
        for output in self.read(&labels)? {
            // A failure gives the reason.
            outputs.push(
                output
                    .bytes
                    .map_or_else(|| self.output_of_label(&output.label).map(|made| made.bytes), Ok)?,
            );
        }
        // A cancelled build returns no tables.
        let Ok([declarations, members, types]) = <[_; 3]>::try_from(outputs) else {
            let why = Diagnostic::error(
                ErrorCode::E_CANCELLED,
                "the request was cancelled before the tables of names were read",
            );
            return Err(Failed::new(Code::Interrupted, why));
        };
        let symbols = Symbols::open(types, members, declarations)?;
        Ok((Arc::new(symbols), tables))
    }

    /// Returns whether the manifest declares the C# index.
    pub fn reads_csharp(&mut self) -> Result<bool, Failed> {
        self.has_rule("//index:types", "")
    }

    /// Returns whether the workspace has C# files: without one, the patterns of their targets match nothing.
    fn has_csharp_files(&mut self) -> Result<bool, Failed> {
        let (_, session) = self.open_to_build()?;
        let has_files = session.sources.files().iter().any(|(path, _)| path.ends_with(".cs"));
        Ok(has_files && self.reads_csharp()?)
    }

    /// Returns the definitions in files of other languages as they are now.
    pub fn other_names(&mut self) -> Result<OtherNames, Failed> {
        match self.has_rule("//index/", ":names")? {
            true => OtherNames::from_outputs(self),
            false => Ok(OtherNames::default()),
        }
    }

    /// Returns whether the manifest has a rule for one target whose label has this start and end.
    fn has_rule(&mut self, start: &str, end: &str) -> Result<bool, Failed> {
        let (_, session) = self.open_to_build()?;
        let is_such =
            |rule: &Rule| matches!(rule.target.pieces.as_slice(), [Piece::Text(label)] if label.starts_with(start) && label.ends_with(end));
        Ok(session.rules.manifest().rules.iter().any(is_such))
    }

    /// Returns the search index of the workspace's types as it is now. Reads again only the types that changed since the last index.
    pub fn index(&mut self, names: &WorkspaceNames) -> Result<Arc<IndexWithSources>, Failed> {
        let before = self.memory().and_then(Serving::index);
        if let Some((index, moment)) = &before
            && moment.is_current()
        {
            return Ok(index.clone());
        }
        let others = self.other_names()?;
        let root = self.open_to_build()?.0.root.clone();
        let saved = match &before {
            Some(_) => SavedDocuments::default(),
            None => SavedDocuments::from_file(&root),
        };
        let known = |key: &str| match &before {
            Some((before, _)) => before.index.document(before.index.find(key)?).cloned(),
            None => saved.document(key),
        };
        let vocabulary = match &before {
            Some((before, _)) => before.index.vocabulary().clone(),
            None => saved.vocabulary().clone(),
        };
        let index = Index::from_outputs(self, &names.symbols, &others, known, vocabulary)?;
        let host = self.memory();
        let (workspace, session) = self.open_to_build()?;
        let withheld = WithheldFiles::new(&workspace.root, &never_send(session));
        let index = Arc::new(IndexWithSources::new(index, withheld));
        if let (Some(host), Some(moment)) = (host, session.moment()) {
            host.keep_index(&index, moment);
        }
        if self.context.overlay().is_none() && index.index.is_worth_saving() {
            self.saving = SavingThread::start_saving(root, index.clone());
        }
        Ok(index)
    }

    /// Worsens the exit code of a request that has an answer but did only a part of its work.
    pub fn worsen(&mut self, code: Code) {
        self.worst = self.worst.max(code);
    }

    /// Reports a diagnostic after the answer.
    pub fn remark(&mut self, diagnostic: Diagnostic) {
        self.remarks.push(diagnostic);
    }

    /// Reports diagnostics after the answer, and worsens the exit code.
    pub fn conclude(&mut self, failed: Failed) {
        self.worsen(failed.code);
        self.remarks.extend(failed.diagnostics);
    }

    /// Takes the diagnostics to report after the answer.
    pub fn take_remarks(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.remarks)
    }

    /// Stores the figures of the remote cache. Does not wait for pending uploads.
    pub fn part(&self) {
        if let Some((workspace, _)) = &self.open
            && let Ok(Some(cache)) = workspace.remote()
        {
            // These are only figures; a failure does not change the answer.
            let _ = workspace.finish_transfers(&*cache, Some(Duration::ZERO));
        }
    }

    /// Returns the exit code of the request, apart from its answer.
    pub fn code(&self) -> Code {
        self.worst
    }

    /// Returns the moment as of which the answer is true, if a watch runs.
    pub fn moment(&self) -> Option<Moment> {
        // The moment of cached names is earlier than every other one.
        self.known.clone().or_else(|| self.open.as_ref()?.1.moment())
    }
}

impl Desk<'_> {
    /// Builds a word index; reuses the unchanged parts of the last one.
    fn read_words(&mut self, source: WordSource) -> Result<Arc<WordIndex>, Failed> {
        let pattern = [source.pattern()];
        // Indexes are compared by the digests of outputs, so that of the files serves an overlay, too.
        let cached = self.indexes.and_then(|host| host.word_index(source));
        let before = cached.or_else(|| Some((self.lent_words.get(&source)?.clone(), None)));
        // The session read its sources before this moment of the watch. If nothing changed up to now, the index is current for the session, too.
        if let Some((before, moment)) = &before
            && self.memory().is_some()
            && moment.as_ref().is_some_and(Moment::is_current)
            && before.unread().next().is_none()
        {
            return Ok(before.clone());
        }
        if !self.has_csharp_files()? {
            return Ok(Arc::new(WordIndex::from_outputs(source, Vec::new())?));
        }
        let Some((before, _)) = before else {
            let report = self.outputs_of_labels(&pattern, true)?;
            let listed = report.roots.iter().map(|root| (root.label.clone(), root.output)).collect();
            let labels = report.roots.iter().map(|root| root.label.to_string());
            let outputs = labels.zip(report.outputs).map(|(label, bytes)| Output { label, bytes }).collect();
            return Ok(Arc::new(WordIndex::update(source, listed, None, |_| Ok::<_, Failed>(outputs))?));
        };
        let listed = self.list_digests(&pattern)?;
        let read = |labels: &[String]| self.read_anew(labels);
        Ok(Arc::new(WordIndex::update(source, listed, Some(&before), read)?))
    }
}

impl Outputs for Desk<'_> {
    type Error = Failed;

    fn list_digests(&mut self, patterns: &[String]) -> Result<ListedOutputs, Failed> {
        let (context, method) = (self.context, self.method);
        let (_, session) = self.open_to_build()?;
        let (report, code) = list_outputs(context, session, method, patterns)?;
        self.worsen(code);
        Ok(report.roots.into_iter().map(|root| (root.label, root.output)).collect())
    }

    fn word_index(&mut self, source: WordSource) -> Result<Arc<WordIndex>, Failed> {
        if let Some(known) = self.words.get(&source) {
            return Ok(known.clone());
        }
        self.open_to_build()?;
        let index = self.read_words(source)?;
        if let (Some(host), Some((_, session))) = (self.memory(), &self.open) {
            host.keep_words(source, &index, session.moment());
        }
        self.words.insert(source, index.clone());
        Ok(index)
    }

    fn read(&mut self, labels: &[String]) -> Result<Vec<Output>, Failed> {
        let mut unread: Vec<String> = Vec::new();
        for label in labels {
            if !self.read.contains_key(label) && !unread.contains(label) {
                unread.push(label.clone());
            }
        }
        if !unread.is_empty() {
            let outputs = self.read_anew(&unread)?;
            match unread.as_slice() {
                [one] => _ = self.read.insert(one.clone(), outputs),
                // Patterns, or labels in another order.
                _ if outputs.iter().map(|output| &output.label).ne(&unread) => {
                    return if unread.len() == labels.len() {
                        Ok(outputs)
                    } else {
                        self.read_anew(labels)
                    };
                }
                _ => self
                    .read
                    .extend(unread.into_iter().zip(outputs.into_iter().map(|output| vec![output]))),
            }
        }
        Ok(labels.iter().filter_map(|label| self.read.get(label)).flatten().cloned().collect())
    }
}
