//! The desk that a method works at: one request's view of the workspace, opened when it is first needed and brought up to date first.

use crate::cli::AskingArgs;
use crate::commands::outputs::outputs;
use crate::commands::show::{self, Shown};
use crate::context::{Context, Failed};
use crate::exit::Code;
use crate::service::turn::Held;
use engine::build::request::Report;
use engine::build::session::Session;
use engine::build::watched::Moment;
use engine::values::diagnostic::Diagnostic;
use workbench::workspace::Workspace;

/// What a request works with.
pub struct Desk<'c> {
    /// Whom it speaks to.
    pub context: &'c Context,
    method: &'static str,
    asking: AskingArgs,
    turn: Option<TakeTurn<'c>>,
    open: Option<(Workspace, Session)>,
    /// Given back after what is open is closed.
    held: Option<Held<'c>>,
    worst: Code,
}

/// Waits for the right to build, where several requests are answered at once.
pub type TakeTurn<'c> = Box<dyn Fn() -> Result<Held<'c>, Failed> + 'c>;

impl<'c> Desk<'c> {
    /// For a request of the method of that name.
    pub fn new(context: &'c Context, method: &'static str) -> Self {
        Self {
            context,
            method,
            asking: AskingArgs::default(),
            turn: None,
            held: None,
            open: None,
            worst: Code::Ok,
        }
    }

    /// Has it wait for its turn before it opens the workspace.
    pub fn in_turn(self, turn: TakeTurn<'c>) -> Self {
        Self { turn: Some(turn), ..self }
    }

    /// What may be asked of models, told before the workspace is opened.
    pub fn ask(&mut self, asking: AskingArgs) {
        self.asking = asking;
    }

    /// The workspace and its sources as they are now; opened to build.
    pub fn open(&mut self) -> Result<(&Workspace, &mut Session), Failed> {
        if self.open.is_none() {
            self.held = self.turn.as_ref().map(|turn| turn()).transpose()?;
            let workspace = self.context.asking(self.method, &self.asking)?;
            let session = workspace.session()?;
            self.context.say(workspace.warnings());
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
        self.worst = self.worst.max(code);
        Ok(report)
    }

    /// The output of one label, made if need be.
    pub fn output(&mut self, label: &str) -> Result<Shown, Failed> {
        let context = self.context;
        let (_, session) = self.open()?;
        show::output(context, session, label)
    }

    /// Tells something besides the answer.
    pub fn say(&self, diagnostics: &[Diagnostic]) {
        self.context.say(diagnostics);
    }

    /// How the request went, apart from its answer.
    pub fn code(&self) -> Code {
        self.worst
    }

    /// Up to when the answer is true, if somebody watches.
    pub fn moment(&self) -> Option<Moment> {
        self.open.as_ref()?.1.moment()
    }
}
