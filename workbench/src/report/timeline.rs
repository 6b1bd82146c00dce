//! The newest builds in the log.

use crate::error::WorkbenchError;
use engine::build::engine::EngineError;
use engine::build::session::Session;
use engine::store::builds::BuildRecord;

/// Limit of builds.
pub const BUILDS: usize = 60;

pub fn used_models(build: &BuildRecord) -> bool {
    build.spent.as_ref().is_some_and(|spent| spent.calls > 0) || build.answers.sum() > 0
}

/// Returns the newest builds, the oldest of them first.
pub fn timeline(session: &Session) -> Result<Vec<BuildRecord>, WorkbenchError> {
    let mut log = crate::build_log::read_build_log(&*session.engine.store, session.engine.view).map_err(EngineError::from)?;
    Ok(log.split_off(log.len().saturating_sub(BUILDS)))
}
