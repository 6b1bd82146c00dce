//! The desk that a method works at: one request's view of the workspace, opened when it is first needed and brought up to date first.

use crate::cli::AskingArgs;
use crate::commands::build::build_free;
use crate::commands::outputs::outputs;
use crate::commands::show::{self, LabelledOutput};
use crate::context::{Context, Failed};
use crate::exit::Code;
use crate::methods::Method;
use crate::methods::investigate::never_send;
use crate::methods::symbols::Names;
use crate::service::figures::Service;
use crate::service::turn::Held;
use crate::sharing;
use engine::build::request::Report;
use engine::build::session::Session;
use engine::build::watched::Moment;
use engine::manifest::model::Rule;
use engine::manifest::template::Piece;
use engine::values::table::write_table;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use workbench::context::index::Index;
use workbench::context::secret::WithheldFiles;
use workbench::context::shelf::IndexWithSources;
use workbench::health::Health;
use workbench::other_languages::names::OtherNames;
use workbench::symbols::index::Symbols;
use workbench::symbols::outputs::{Output, Outputs};
use workbench::symbols::state::{Flaws, flaws};
use workbench::workspace::Workspace;

/// What a request works with.
pub struct Desk<'c> {
    /// Whom it speaks to.
    pub context: &'c Context,
    method: &'static str,
    asking: AskingArgs,
    host: Option<&'c dyn Serving>,
    /// Whether who builds the checkout is not waited for.
    reads: bool,
    /// Whether it may build the checkout in its turn.
    may_build: bool,
    open: Option<(Workspace, Session)>,
    /// A workspace that was redefined, until it is read again.
    closed: Option<Workspace>,
    /// Given back after what is open is closed.
    held: Option<Held<'c>>,
    /// The moment of names that were known already.
    known: Option<Moment>,
    flaws: Option<Arc<Flaws>>,
    /// What was read of the workspace that is open, by label or pattern.
    read: HashMap<String, Vec<Output>>,
    worst: Code,
}

/// Who answers several requests at once.
pub trait Serving {
    /// Waits for the right to build.
    fn turn(&self) -> Result<Held<'_>, Failed>;
    /// Waits a moment for that right, or for the right to read beside who has it. Whether it is the right to build comes with it.
    fn turn_to_read(&self) -> Result<(Held<'_>, bool), Failed>;
    /// How long another process is waited for that builds the checkout.
    fn patience(&self) -> Duration;
    /// Answers another request when this one is answered.
    fn later(&self, method: &'static str, arguments: Value);
    /// What it can tell of itself.
    fn figures(&self) -> Service;
    /// The names of the workspace, if they are known and nothing moved since.
    fn names(&self) -> Option<(Names, Moment)>;
    /// Keeps them, true as of a moment.
    fn remember_names(&self, names: &Names, moment: Moment);
    /// The last index of what types say, with the moment as of which it is true; things may have moved since.
    fn index(&self) -> Option<(Arc<IndexWithSources>, Moment)>;
    /// Keeps it, true as of a moment.
    fn keep_index(&self, index: &Arc<IndexWithSources>, moment: Moment);
}

impl<'c> Desk<'c> {
    /// For a request of the method of that name.
    pub fn new(context: &'c Context, method: &'static str) -> Self {
        Self {
            context,
            method,
            asking: AskingArgs::default(),
            host: None,
            reads: false,
            may_build: true,
            held: None,
            known: None,
            flaws: None,
            read: HashMap::new(),
            open: None,
            closed: None,
            worst: Code::Ok,
        }
    }

    /// As one of several requests: it waits for its turn before it opens the workspace.
    pub fn served_by(self, host: &'c dyn Serving) -> Self {
        Self { host: Some(host), ..self }
    }

    /// Whether a service answers.
    pub fn is_served(&self) -> bool {
        self.host.is_some()
    }

    /// Has the service answer another request when this one is answered.
    pub fn later<M: Method>(&self, method: &'static str, arguments: &M) {
        let arguments = serde_json::to_value(arguments).expect("invariant: arguments are plain values");
        if let Some(host) = self.host {
            host.later(method, arguments);
        }
    }

    /// What the service tells of itself, if one answers.
    pub fn service(&self) -> Option<Service> {
        self.host.map(Serving::figures)
    }

    /// Whether it has the right to build.
    pub fn has_turn(&self) -> bool {
        self.held.is_some() && !self.context.is_beside()
    }

    /// Who builds the checkout is not waited for: what is asked needs nothing written in it.
    pub fn read_only(&mut self) {
        self.reads = true;
    }

    /// What may be asked of models, told before the workspace is opened.
    pub fn ask(&mut self, asking: AskingArgs) {
        self.asking = asking;
    }

    /// The workspace, opened when it is this request's turn.
    fn workspace(&mut self) -> Result<Workspace, Failed> {
        let (context, method) = (self.context, self.method);
        if self.reads {
            if let (None, Some(host)) = (&self.held, self.host) {
                let (held, may_build) = host.turn_to_read()?;
                (self.held, self.may_build) = (Some(held), may_build);
                context.wait_for(host.patience());
            }
            return context.reading(method, &self.asking, self.may_build);
        }
        if self.held.is_none() {
            self.held = self.host.map(Serving::turn).transpose()?;
            if let Some(host) = self.host {
                context.wait_for(host.patience());
            }
        }
        match self.closed.take() {
            Some(workspace) => Ok(workspace),
            None => context.asking(method, &self.asking),
        }
    }

    /// The workspace and its sources as they are now; opened to build.
    pub fn open(&mut self) -> Result<(&Workspace, &mut Session), Failed> {
        if self.open.is_none() {
            let opened = self.workspace();
            let opened = opened.and_then(|workspace| {
                let session = workspace.session()?;
                Ok((workspace, session))
            });
            // Who fails keeps nothing from anybody, himself included.
            let (workspace, session) = opened.inspect_err(|_| self.context.close())?;
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

    /// The workspace, to change what is declared of it. What follows reads it anew.
    pub fn redefine(&mut self) -> Result<&mut Workspace, Failed> {
        self.open()?;
        let (workspace, session) = self.open.take().expect("invariant: it was just opened");
        drop(session);
        self.read.clear();
        Ok(self.closed.insert(workspace))
    }

    /// The workspace and its sources as they are now, to look at: nothing is built, and who builds is not waited for.
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

    /// The outputs of labels or patterns, made if need be. What could not be made is said, and makes the request's code worse.
    pub fn outputs(&mut self, labels: &[String], keep_going: bool) -> Result<Report, Failed> {
        let (context, method) = (self.context, self.method);
        let (_, session) = self.open()?;
        let (report, code) = outputs(context, session, method, labels, keep_going)?;
        self.worsen(code);
        Ok(report)
    }

    /// Makes what costs nothing of what a label is made of, so that its state is known.
    pub fn settle_free(&mut self, label: &str) -> Result<(), Failed> {
        let context = self.context;
        let (_, session) = self.open()?;
        build_free(context, session, &[label.to_owned()]).map(drop)
    }

    /// What labels or patterns mean is made and read.
    fn read_anew(&mut self, labels: &[String]) -> Result<Vec<Output>, Failed> {
        // Without an index there is nothing to look in.
        if let [label] = labels
            && label.starts_with("//index:")
        {
            let shown = self.output(label)?;
            return Ok(vec![Output {
                label: shown.label,
                bytes: Some(shown.bytes),
            }]);
        }
        let report = self.outputs(labels, true)?;
        let labels = report.roots.iter().map(|root| root.label.to_string());
        Ok(labels.zip(report.outputs).map(|(label, bytes)| Output { label, bytes }).collect())
    }

    /// The output of one label, made if need be. That it cannot be laid out is said, and makes the request's code worse.
    pub fn output(&mut self, label: &str) -> Result<LabelledOutput, Failed> {
        let context = self.context;
        let (_, session) = self.open()?;
        let (shown, code) = show::make_output(context, session, label)?;
        self.worsen(code);
        Ok(shown)
    }

    /// The files whose declarations could not all be read, as far as they were built.
    pub fn flaws(&mut self) -> Result<Arc<Flaws>, Failed> {
        if self.flaws.is_none() {
            let found = flaws(self.open()?.1)?;
            self.flaws = Some(Arc::new(found));
        }
        Ok(self.flaws.clone().expect("invariant: they were just found"))
    }

    /// How the projects of the workspace stand, as far as they were built.
    pub fn health(&mut self) -> Result<Health, Failed> {
        Ok(Health::read(self.open()?.1)?)
    }

    /// Who remembers what is known of the workspace, if that is asked about: of an overlay nothing is remembered.
    fn memory(&self) -> Option<&'c dyn Serving> {
        self.host.filter(|_| self.context.overlay().is_none())
    }

    /// The names of the workspace as they are now.
    pub fn names(&mut self) -> Result<Names, Failed> {
        if let Some((names, moment)) = self.memory().and_then(Serving::names) {
            self.known = Some(moment);
            return Ok(names);
        }
        let [types, members, declarations] = match self.reads_csharp()? {
            true => {
                let mut table = |label: &str| self.output(label).map(|shown| shown.bytes);
                [table("//index:types")?, table("//index:members")?, table("//index:declarations")?]
            }
            false => [(); 3].map(|()| write_table(&BTreeMap::<&str, &[u8]>::new()).into()),
        };
        let host = self.memory();
        let (_, session) = self.open()?;
        let names = Names {
            symbols: Arc::new(Symbols::open(types, members, declarations)?),
            flaws: Arc::new(flaws(session)?),
        };
        if let (Some(host), Some(moment)) = (host, session.moment()) {
            host.remember_names(&names, moment);
        }
        Ok(names)
    }

    /// Whether the manifest knows C#.
    pub fn reads_csharp(&mut self) -> Result<bool, Failed> {
        self.declares("//index:types", "")
    }

    /// The definitions of files of other languages as they are now.
    pub fn other_names(&mut self) -> Result<OtherNames, Failed> {
        match self.declares("//index/", ":names")? {
            true => OtherNames::read(self),
            false => Ok(OtherNames::default()),
        }
    }

    /// Whether the manifest has a single target whose label begins and ends so.
    fn declares(&mut self, start: &str, end: &str) -> Result<bool, Failed> {
        let (_, session) = self.open()?;
        let is_such =
            |rule: &Rule| matches!(rule.target.pieces.as_slice(), [Piece::Text(label)] if label.starts_with(start) && label.ends_with(end));
        Ok(session.rules.manifest().rules.iter().any(is_such))
    }

    /// What the types of the workspace say, as it is now. What did not move since it was last made is not made again.
    pub fn index(&mut self, names: &Names) -> Result<Arc<IndexWithSources>, Failed> {
        let before = self.memory().and_then(Serving::index);
        if let Some((index, moment)) = &before
            && moment.stands()
        {
            return Ok(index.clone());
        }
        let before = before.as_ref().map(|(known, _)| &known.index);
        let others = self.other_names()?;
        let index = Index::read(self, &names.symbols, &others, before)?;
        let host = self.memory();
        let (workspace, session) = self.open()?;
        let withheld = WithheldFiles::new(&workspace.root, &never_send(session));
        let index = Arc::new(IndexWithSources::new(index, withheld));
        if let (Some(host), Some(moment)) = (host, session.moment()) {
            host.keep_index(&index, moment);
        }
        Ok(index)
    }

    /// An answer is there, but the request did not come to what was asked for.
    pub fn worsen(&mut self, code: Code) {
        self.worst = self.worst.max(code);
    }

    /// Counts what was had of the remote cache. What waits to be sent there is not waited for.
    pub fn part(&self) {
        if let Some((workspace, _)) = &self.open {
            // The answer stands: these are figures.
            let _ = sharing::finish(workspace, Some(Duration::ZERO));
        }
    }

    /// How the request went, apart from its answer.
    pub fn code(&self) -> Code {
        self.worst
    }

    /// Up to when the answer is true, if somebody watches.
    pub fn moment(&self) -> Option<Moment> {
        // Names that were known are true as of a moment that lies before everything else.
        self.known.clone().or_else(|| self.open.as_ref()?.1.moment())
    }
}

impl Outputs for Desk<'_> {
    type Error = Failed;

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
                _ if outputs.iter().map(|output| &output.label).ne(&unread) => return self.read_anew(labels),
                _ => self
                    .read
                    .extend(unread.into_iter().zip(outputs.into_iter().map(|output| vec![output]))),
            }
        }
        Ok(labels.iter().filter_map(|label| self.read.get(label)).flatten().cloned().collect())
    }
}
