//! `rename`: another name for a type or a member, everywhere.

use super::symbols::{Names, resolve_one};
use super::window::root;
use super::{AsTool, Effect, Method};
use crate::commands::gc::now;
use crate::context::{Context, Failed};
use crate::desk::Desk;
use crate::exit::Code;
use crate::render::printable;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::edit::order::{EditRequest, Order};
use workbench::edit::perform::perform;
use workbench::edit::place::Guard;
use workbench::edit::response::Response;
use workbench::edit::state::{Mode, Status};
use workbench::live::edits;
use workbench::rename::{self, InTheWay, Plan};

/// Rename a type or a member everywhere: declarations, overrides, implementations, uses, using directives and references in documentation.
///
/// Files are saved all or none, and `edit undo` takes the rename back. It is refused, with the list, where anything is in the way: a possible use, a
/// name that clashes, a symbol or a base outside of the workspace, a file that could not be read, is generated or read-only. Before it is saved the
/// workspace is looked at with the new texts: what used the symbol must use it still, and nothing else may.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rename {
    /// A type or member, by any unambiguous name; of several overloads the one that is meant with its parameters.
    #[serde(alias = "path", alias = "id")]
    #[schemars(extend("x-tool" = "rename: a type or member"))]
    symbol: String,
    /// Its new name.
    #[schemars(extend("x-tool" = "rename: its new name"))]
    new: String,
    /// Show what would change, and change nothing.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = "rename: show the diff, change nothing"))]
    dry_run: bool,
    /// Leave possible uses as they are, and say where they stand, instead of refusing.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    leave_possible: bool,
}

/// What was renamed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Renamed {
    /// What has a new name: paths before and after.
    renamed: Vec<(String, String)>,
    /// The files that change.
    files: Vec<String>,
    /// How many places change.
    places: usize,
    /// Places that may mean it and stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
    /// What would change, as a unified diff; of a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The session that takes it back, by `edit undo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// What is named of what is in the way.
const MOST_NAMED: usize = 50;

impl Method for Rename {
    const NAME: &'static str = "rename";
    const EFFECT: Effect = Effect::Writes;
    const TOOL: AsTool = AsTool::Own;
    type Answer = Renamed;

    /// It writes files and nothing else of the checkout.
    fn reads(&self) -> bool {
        true
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Renamed, Failed> {
        let root = root(desk)?;
        let plan = self.planned(desk)?;
        let guard = Guard {
            store: desk.context.store_folder(),
            manifest: false,
        };
        let disk = Disk::new(&root).guarded(guard).logging(desk.context.logs());
        // Nobody may write them.
        let is_read_only = |path: &str| {
            disk.read(path)
                .is_ok_and(|found| found.is_some_and(|found| found.mode & 0o222 == 0))
        };
        let locked = plan.files.iter().filter(|file| is_read_only(&file.path));
        let locked: BTreeSet<String> = locked.map(|file| format!("{}: it is read-only", file.path)).collect();
        if !locked.is_empty() {
            return Err(rename_blocked(self, &InTheWay(locked)));
        }
        // The files are not kept from others while they are edited.
        desk.context.let_go();
        let texts = plan
            .files
            .iter()
            .map(|file| (file.path.clone(), file.before.clone(), file.after.clone()));
        let rewrite = Order::Rewrite {
            operation: "rename",
            texts: texts.collect(),
        };
        // The new texts are looked at in a session of their own, which holds them beside the files.
        let tried = order(&disk, rewrite.clone(), None, Some(Mode::Manual))?;
        let tried = tried.session.ok_or_else(|| Failed::bug(&"an edit has no session"))?;
        let verified = self.verified(desk, &plan, &tried);
        for end in [Order::Discard, Order::Close] {
            drop(order(&disk, end, Some(&tried), None));
        }
        verified?;
        let session = match self.dry_run {
            true => None,
            false => order(&disk, rewrite, None, None)?.session,
        };
        if let Some(session) = &session {
            drop(edits::hand_over(&Disk::new(&root), &root, session, now()));
        }
        Ok(Renamed {
            diff: self.dry_run.then(|| plan.diff()),
            files: plan.files.iter().map(|file| file.path.clone()).collect(),
            renamed: plan.renamed.into_iter().collect(),
            places: plan.places,
            left: plan.left,
            session,
        })
    }

    fn text(answer: &Renamed) -> String {
        let mut text = answer.diff.clone().unwrap_or_default();
        for (old, new) in &answer.renamed {
            text.push_str(&format!("{old} → {new}\n"));
        }
        let (done, count) = (if answer.diff.is_some() { "would change" } else { "changed" }, answer.files.len());
        let plural = if count == 1 { "" } else { "s" };
        let places = if answer.places == 1 { "place" } else { "places" };
        text.push_str(&format!(
            "{} {places} {done} in {count} file{plural}: {}\n",
            answer.places,
            answer.files.join(", ")
        ));
        for left in &answer.left {
            text.push_str(&format!("left as it is: {left}\n"));
        }
        printable(&text)
    }
}

impl Rename {
    fn planned(&self, desk: &mut Desk<'_>) -> Result<Plan, Failed> {
        let names = desk.names()?;
        let (candidate, _) = resolve_one(desk, &names, &self.symbol)?;
        let health = desk.health()?;
        let gaps = health.gaps();
        let flawed: BTreeSet<String> = names.flaws.keys().cloned().collect();
        let (workspace, session) = desk.open()?;
        let world = workspace.engine.world.clone();
        let sources: Vec<String> = session.sources.files().into_iter().map(|(path, _)| path).collect();
        let asked = rename::RenameRequest {
            candidate: &candidate,
            new: &self.new,
            leave_possible: self.leave_possible,
            gaps: &gaps,
            flawed: &flawed,
            sources: &sources,
        };
        rename::plan(desk, &names.symbols, &*world, asked)?.map_err(|way| rename_blocked(self, &way))
    }

    /// Looks at the workspace with the new texts.
    fn verified(&self, desk: &Desk<'_>, plan: &Plan, session: &str) -> Result<(), Failed> {
        let global = desk.context.global.clone();
        let context = Context::of_request(global, desk.context.cancel(), Arc::new(Silent));
        context.use_overlay(session);
        let mut inside = Desk::new(&context, Self::NAME);
        inside.read_only();
        let names: Names = inside.names()?;
        let gaps = inside.health()?.gaps();
        let found = rename::verify(&mut inside, &names.symbols, plan, &gaps)?;
        context.close();
        found.map_err(|way| rename_blocked(self, &way))
    }
}

/// Nobody follows the look at the new texts.
struct Silent;

impl engine::values::event::Observer for Silent {
    fn event(&self, _: &engine::values::event::Event<'_>) {}
}

/// Performs one operation of the session.
fn order(disk: &Disk, order: Order, session: Option<&str>, mode: Option<Mode>) -> Result<Response, Failed> {
    let asked = EditRequest {
        order,
        session: session.map(str::to_owned),
        path: None,
        mode,
        fit: false,
    };
    let response = perform(disk, &asked, now());
    let code = match response.status {
        Status::Success | Status::NoOp => return Ok(response),
        Status::PersistFailure => Code::Io,
        Status::NoMatch | Status::MultiMatch | Status::ExternalConflict => Code::TargetFailed,
        Status::Exception => Code::Usage,
    };
    let why = Diagnostic::error(ErrorCode::E_RENAME, response.summary);
    Err(Failed::new(
        code,
        why.hint(response.guidance.unwrap_or_else(|| "nothing was changed".to_owned())),
    ))
}

fn rename_blocked(rename: &Rename, way: &InTheWay) -> Failed {
    let count = way.0.len();
    let message = match count {
        1 => format!("{} is not renamed to {}: something is in the way", rename.symbol, rename.new),
        count => format!("{} is not renamed to {}: {count} things are in the way", rename.symbol, rename.new),
    };
    let named = way.0.iter().take(MOST_NAMED);
    let named = named.map(|what| Diagnostic::new(Severity::Note, ErrorCode::N_IN_THE_WAY, what.as_str()));
    let hint = match way.0.iter().any(|what| what.contains(": possible use")) {
        true => "nothing was changed; mend what is named, or leave possible uses as they are with leavePossible",
        false => "nothing was changed; mend what is named, or choose another name",
    };
    let why = Diagnostic::error(ErrorCode::E_RENAME, message).hint(hint);
    Failed {
        code: Code::Usage,
        diagnostics: std::iter::once(why).chain(named).collect(),
    }
}
