//! The library: targets of a workspace for programs that do not start `cortex`. `examples/library.rs` shows its use.
//!
//! A [`Library`] is cheap: each call opens the workspace as a command would, reads the present sources, and releases the store and the checkout when
//! it returns. By default it runs no programs of the manifest and asks no models.

use crate::error::WorkbenchError;
use crate::location::{StoreChoice, find_root};
use crate::locks::Access;
use crate::query::{answer, parse};
use crate::status::target_status;
use crate::trust::Trusting;
use crate::workspace::{Opening, Workspace};
use engine::build::Options;
use engine::build::explain::Explanation;
use engine::build::query::NodeState;
use engine::build::request::Request;
use engine::build::session::Session;
use engine::seams::producer::Cancel;
use engine::store::disk::DiskOptions;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::Silent;
use engine::values::pattern::PatternSet;
use engine::watch::{Watch, WatchError, Watcher};
use producers::llm::Limits;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A workspace, for programs.
pub struct Library {
    root: PathBuf,
    store: StoreChoice,
    /// The programs that may run: none by default.
    pub trust: Trusting,
    /// Limits of questions to models: none may be asked by default.
    pub limits: Limits,
}

/// The output of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub label: String,
    /// Digest of the bytes.
    pub digest: Digest,
    /// The bytes; a table as one page.
    pub bytes: Arc<[u8]>,
}

/// The reason why a call fails.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The workspace cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkbenchError),
    /// The sources cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The label or query matches nothing, or the target cannot be built: at least one reason.
    #[error("{}", .0.iter().map(|why| why.message.as_str()).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Diagnostic>),
}

impl From<engine::build::engine::EngineError> for LibraryError {
    fn from(error: engine::build::engine::EngineError) -> Self {
        Self::Workspace(error.into())
    }
}

type Result<T> = std::result::Result<T, LibraryError>;

impl Library {
    /// Opens the workspace at or above a folder, with the store for its results. Fails when there is no manifest.
    pub fn open(folder: &Path, store: StoreChoice) -> Result<Self> {
        let root = folder.canonicalize().ok().and_then(|folder| find_root(&folder));
        Ok(Self {
            root: root.ok_or_else(|| WorkbenchError::NoManifest(folder.to_owned()))?,
            store,
            trust: Trusting::Nothing,
            limits: Limits {
                max_calls: Some(0),
                ..Limits::default()
            },
        })
    }

    /// Returns the present output of the one target that a label refers to; builds everything that is not current. Fails when the label
    /// matches no or several targets, or the target cannot be built.
    pub fn build_output(&self, label: &str) -> Result<Output> {
        let (_workspace, mut session) = self.session(Access::Build)?;
        let request = Request {
            patterns: patterns(label)?,
            digest: Digest::of(format!("library\0{label}").as_bytes()),
            options: Options {
                jobs: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
                ..Options::default()
            },
            list: true,
            outputs: true,
        };
        let report = session.build(&request, &Silent, &Cancel::default())?;
        if !report.refused.is_empty() {
            return Err(LibraryError::Refused(report.refused));
        }
        let [root] = report.roots.as_slice() else {
            let message = format!("{} targets match; only one can be given", report.roots.len());
            return Err(library_error(Diagnostic::error(ErrorCode::E_SEVERAL, message)));
        };
        let output = root.output.zip(report.outputs.into_iter().next().flatten());
        let (digest, bytes) = output.ok_or(LibraryError::Refused(report.failures))?;
        Ok(Output {
            label: root.label.to_string(),
            digest,
            bytes,
        })
    }

    /// Returns the last output of the one target that a label refers to, current or not; `None` when it was never built. Fails when the
    /// label matches no or several targets.
    pub fn last(&self, label: &str) -> Result<Option<Output>> {
        let patterns = patterns(label)?;
        let (_workspace, mut session) = self.session(Access::Look)?;
        let label = session.resolve_single_target(&patterns, "given")?.map_err(LibraryError::Refused)?;
        let Some(last) = session.last(&label)? else { return Ok(None) };
        let bytes = session.engine.store.output(&last.result.output).map_err(WorkbenchError::from)?;
        Ok(bytes.map(|bytes| Output {
            label,
            digest: last.result.output,
            bytes,
        }))
    }

    /// Returns the state of the one target that a label refers to. Builds nothing. Fails when the label matches no or several targets.
    pub fn state_of_label(&self, label: &str) -> Result<NodeState> {
        let patterns = patterns(label)?;
        let (workspace, mut session) = self.session(Access::Look)?;
        let label = session.resolve_single_target(&patterns, "given")?.map_err(LibraryError::Refused)?;
        Ok(target_status(&workspace.root, &mut session, &label)?.state)
    }

    /// Explains the state of the one target that a label refers to. Builds nothing. Fails when the label matches no or several targets.
    pub fn why(&self, label: &str) -> Result<Explanation> {
        let patterns = patterns(label)?;
        let (_workspace, mut session) = self.session(Access::Look)?;
        session.explain(&patterns)?.map_err(LibraryError::Refused)
    }

    /// Returns the labels that match a query, as in `cortex query`. Builds nothing. Fails when the query is wrong.
    pub fn query(&self, expr: &str) -> Result<Vec<String>> {
        let query = parse(expr).map_err(|why| library_error(Diagnostic::error(ErrorCode::E_QUERY, why.message)))?;
        let (_workspace, mut session) = self.session(Access::Look)?;
        let answer = answer(&mut session, &query, false)?;
        if !answer.refused.is_empty() {
            return Err(LibraryError::Refused(answer.refused));
        }
        Ok(answer.nodes.iter().map(|node| node.label.to_string()).collect())
    }

    /// Watches the sources for changes from now on. Fails when the folders cannot be watched.
    pub fn watch(&self) -> Result<Changes> {
        let workspace = self.workspace(Access::Look)?;
        let look = workspace.engine.read_sources(&workspace.digest, || workspace.manifest())?;
        let watcher = Watcher::new(&workspace.root, &look.state.set_defs()).map_err(WatchError::from)?;
        let watch = Watch::start(watcher, None, Box::new(|| {})).map_err(|error| WorkbenchError::Path {
            path: workspace.root.clone(),
            reason: format!("it cannot be watched: {error}"),
        })?;
        Ok(Changes { watch })
    }

    fn session(&self, access: Access) -> Result<(Workspace, Session)> {
        let workspace = self.workspace(access)?;
        let session = workspace.session()?;
        Ok((workspace, session))
    }

    fn workspace(&self, access: Access) -> Result<Workspace> {
        Ok(Workspace::open(Opening {
            from: &self.root,
            store: self.store.clone(),
            options: DiskOptions {
                purpose: "a program".to_owned(),
                ..DiskOptions::default()
            },
            limits: self.limits,
            trust: self.trust.clone(),
            on_wait: Arc::new(|_: &str| {}),
            hear: None,
            access,
            interrupts: true,
            connect: None,
            overlay: None,
            graphs: None,
            turn: None,
        })?)
    }
}

/// Changes of the sources; the iterator ends when the workspace disappears.
pub struct Changes {
    watch: Watch,
}

impl Iterator for Changes {
    type Item = Vec<String>;

    /// Waits for the next batch and returns its paths; empty if more changed than the watcher reported.
    fn next(&mut self) -> Option<Vec<String>> {
        let batch = self.watch.batches().recv().ok()?;
        Some(batch.paths.into_iter().collect())
    }
}

fn patterns(label: &str) -> Result<PatternSet> {
    PatternSet::parse(&[label.to_owned()]).map_err(|wrong| {
        let wrong = wrong.into_iter();
        LibraryError::Refused(
            wrong
                .map(|(_, why)| Diagnostic::error(ErrorCode::E_LABEL, why.message).found(label))
                .collect(),
        )
    })
}

fn library_error(why: Diagnostic) -> LibraryError {
    LibraryError::Refused(vec![why])
}
