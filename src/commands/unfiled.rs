//! What stands although the store cannot be written: nothing has to be made, and what was found out on the way is found out again.

use crate::context::{Context, Failed};
use engine::build::query::Reach;
use engine::store::Part;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::pattern::PatternSet;

/// Whether a command failed because the store could not be read or written.
pub fn is_why(failed: &Failed) -> bool {
    failed.diagnostics.iter().any(|one| one.code == "E_STORE_IO")
}

/// How many targets some patterns mean, if every one of them is current and its file in place; says that nothing could be filed.
pub fn standing(context: &Context, patterns: &PatternSet) -> Result<Option<u64>, Failed> {
    context.close();
    let workspace = context.workspace("build")?;
    let mut session = workspace.session()?;
    let survey = session.survey(patterns.patterns(), Reach::Named)?;
    if !survey.refused.is_empty() || !survey.unknown.is_empty() {
        return Ok(None);
    }
    let mut meant = survey.meant.concat();
    meant.sort_unstable();
    meant.dedup();
    if !session.outdated(&meant)?.is_empty() {
        return Ok(None);
    }
    let rows = session.engine.store.rows(session.engine.view, Part::Exports)?;
    let exports = session.engine.world.exports(rows);
    let laid_out: Vec<u32> = meant.iter().map(|id| id.0).filter(|id| exports.path(*id).is_some()).collect();
    if !exports.verify(&laid_out).is_empty() {
        return Ok(None);
    }
    let why = Diagnostic::new(Severity::Note, "N_NOT_FILED", "the store cannot be written, and nothing had to be");
    context.say(&[why.hint("what was found out of the sources is found out again by the next command")]);
    Ok(Some(meant.len() as u64))
}
