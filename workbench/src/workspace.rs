//! A workspace: its root, its manifest, its store and the engine over them.

use crate::agent_questions::References;
use crate::edit::disk::Disk as Files;
use crate::error::WorkbenchError;
use crate::exported_states::States;
use crate::former_types::FormerTypes;
use crate::git::Notes;
use crate::location::{MANIFEST, StoreChoice, find_root, view, watch_socket};
use crate::locks::{Access, Hold, turn_of};
use crate::open_store::{OpenStore, StoreUse, open_disk, open_memory};
use crate::overlay;
use crate::packs_file;
use crate::trust::{self, Trusted, Trusting};
use engine::build::checkout_turn::CheckoutTurn;
use engine::build::engine::{Definition, Engine, EngineError};
use engine::build::graph_memory::GraphMemory;
use engine::build::session::Session;
use engine::build::sharing::Sharing;
use engine::files::disk::Disk;
use engine::files::overlaid::Documents;
use engine::manifest::compiled;
use engine::manifest::model::{Manifest, StoreLimits};
use engine::manifest::read::{Loaded, MAX_BYTES, ManifestSource, load, too_large};
use engine::manifest::remote::RemoteDef;
use engine::seams::producer::Registry;
use engine::seams::remote::{RemoteCache, RemoteSummary};
use engine::seams::world::World;
use engine::store::disk::{DiskOptions, DiskStore};
use engine::store::exchange::{self, Exchanged};
use engine::store::{Part, RowChange};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::watch::ask::WatcherAnswer;
use producers::command::{Nothing, Trust};
use producers::llm::{Ask, Hear, Limits, Runtime};
use std::cell::OnceCell;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Arguments for opening a workspace.
pub struct Opening<'a> {
    /// A folder in the workspace.
    pub from: &'a Path,
    pub store: StoreChoice,
    /// Options for locking the store, with callbacks that report a wait.
    pub options: DiskOptions,
    /// Limits of the questions to models.
    pub limits: Limits,
    /// The programs that may run.
    pub trust: Trusting,
    /// Callback for a sentence about the event that all questions wait for.
    pub on_wait: Arc<dyn Fn(&str) + Send + Sync>,
    /// Callback for the text that model servers stream, as it grows.
    pub hear: Option<Hear>,
    pub access: Access,
    /// Whether a watch's build ahead stops for this command.
    pub interrupts: bool,
    /// Connects to the cache that the manifest names; `None` opens the workspace without one.
    pub connect: Option<Connect>,
    /// The overlay whose documents replace files, if any.
    pub overlay: Option<&'a str>,
    /// The last graph that this process loaded, if it opens the workspace several times.
    pub graphs: Option<GraphMemory>,
    /// Released while a build waits for a model, together with the checkout if it is locked: the turn among the requests of a service.
    pub turn: Option<Arc<dyn CheckoutTurn>>,
}

/// Creates a client of the cache that the manifest at a root names, and of its workers, if they are to be used. Connects on first use.
pub type Connect = Arc<dyn Fn(&RemoteDef, &Path) -> Option<Sharing> + Send + Sync>;

/// An open workspace.
pub struct Workspace {
    /// Root of the workspace, canonical.
    pub root: PathBuf,
    /// Engine over the workspace, and over the documents of an overlay if it was opened in one.
    pub engine: Engine,
    /// The engine without the documents, if there are any.
    beneath: Option<Engine>,
    /// Whether another process builds the workspace itself: this one writes no rows of the checkout.
    pub is_beside: bool,
    /// The store's folder, if there is one.
    pub store_folder: Option<PathBuf>,
    /// The store on disk, for its statistics.
    pub disk: Option<Arc<DiskStore>>,
    /// The locks on store and checkout, if there is a store on disk.
    pub hold: Option<Arc<Hold>>,
    /// Diagnostics from opening the store.
    pub notices: Vec<Diagnostic>,
    /// Asks models for the producers.
    pub asking: Arc<Runtime>,
    /// Digest of the manifest, all rulesets and the packs made at run time.
    pub digest: Digest,
    text: String,
    /// Rows of data tables next to the manifest; see [`crate::packs_file`].
    packs: String,
    manifest: OnceCell<ParsedManifest>,
    trust: Arc<Trusted>,
    connect: Option<Connect>,
    remote: OnceCell<Option<Sharing>>,
}

struct ParsedManifest {
    manifest: Arc<Manifest>,
    warnings: Vec<Diagnostic>,
    /// Rows that cache the manifest; empty if it was read from them.
    rows: Vec<RowChange>,
}

fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> WorkbenchError {
    let path = path.to_path_buf();
    move |error| WorkbenchError::Path {
        path,
        reason: error.to_string(),
    }
}

/// Returns the canonical root of the workspace that a folder is in.
fn root_above(folder: &Path) -> Result<PathBuf, WorkbenchError> {
    let folder = folder.canonicalize().map_err(unreadable(folder))?;
    find_root(&folder).ok_or(WorkbenchError::NoManifest(folder))
}

/// Reads the manifest below a root; checks its size and encoding.
fn checked_manifest_text(root: &Path) -> Result<String, WorkbenchError> {
    let manifest = root.join(MANIFEST);
    let text = manifest_text(&manifest).map_err(unreadable(&manifest))?;
    if text.len() > MAX_BYTES {
        return Err(WorkbenchError::Manifest(vec![too_large(MANIFEST)]));
    }
    String::from_utf8(text).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        let why =
            Diagnostic::error(ErrorCode::E_ENCODING, "the manifest is not UTF-8 text").at(MANIFEST, u32::try_from(line).unwrap_or(0), 0);
        WorkbenchError::Manifest(vec![why.hint("save it as UTF-8")])
    })
}

/// Lays the documents of an overlay over an engine, if there are any. Returns it with the engine beneath.
fn with_documents(engine: Engine, documents: Option<(&str, Documents)>, root: &Path, is_beside: bool) -> (Engine, Option<Engine>) {
    match documents {
        None if is_beside => (overlay::build::reading(engine), None),
        None => (engine, None),
        Some((name, documents)) => (
            overlay::build::engine_over_documents(engine.clone(), documents, root, name),
            Some(engine),
        ),
    }
}

/// Returns the registry of all producers of this program; `ask` answers questions to models, `trust` decides which programs may run.
pub fn registry(ask: Arc<dyn Ask>, trust: Arc<dyn Trust>) -> Registry {
    let mut registry = Registry::default();
    producers::register(&mut registry, ask, trust);
    registry
}

impl Workspace {
    /// Finds the workspace and opens its store. Does not read the manifest yet: a build with nothing to do does not need it. Fails when
    /// there is no manifest or the store cannot be used.
    pub fn open(opening: Opening<'_>) -> Result<Self, WorkbenchError> {
        let root = root_above(opening.from)?;
        let text = checked_manifest_text(&root)?;
        let packs = packs_file::read_packs(&root)?;
        let now = Disk::new(root.clone()).now_secs();
        let documents = |name| overlay::build::documents(&Files::new(&root), name, now);
        let documents = opening.overlay.map(documents).transpose()?;
        let purpose = &opening.options.purpose;
        let command = purpose.strip_prefix("cortex ").unwrap_or(purpose).to_owned();
        let store_folder = opening.store.store_folder(&root);
        let view = view(&root);
        let use_of_store = StoreUse {
            access: opening.access,
            in_overlay: opening.overlay.is_some(),
            interrupts: opening.interrupts,
        };
        let OpenStore {
            store,
            disk,
            hold,
            notices,
            is_beside,
        } = match &store_folder {
            Some(folder) => open_disk(&root, folder, view, use_of_store, opening.options)?,
            None => open_memory(use_of_store),
        };
        let store = match is_beside {
            true => overlay::build::store_beside(store, view),
            false => store,
        };
        let mut world = Disk::new(root.clone());
        if let Some(folder) = &store_folder {
            world = world.watched_by(Arc::new(WatcherAnswer::new(watch_socket(folder, view))));
        }
        let on_wait = opening.on_wait;
        let trust = Arc::new(Trusted::in_repository(opening.trust, &root));
        let asking = Runtime::new(opening.limits, &root)
            .telling(move |words| on_wait(words))
            .heard_by(opening.hear);
        let asking = Arc::new(asking.trusting(trust.clone()));
        let engine = Engine {
            world: Arc::new(world),
            store,
            registry: Arc::new(registry(asking.clone(), trust.clone())),
            view,
            finish: Arc::new(States::default()),
            priority: Arc::new(References),
            lineage: Arc::new(FormerTypes { root: root.clone() }),
            annotate: Arc::new(Notes {
                root: root.clone(),
                command,
            }),
            sharing: None,
            graphs: opening.graphs,
            turn: turn_of(
                hold.as_ref().filter(|_| use_of_store.builds() && !is_beside),
                opening.turn.filter(|_| use_of_store.builds()),
            ),
        };
        let (engine, beneath) = with_documents(engine, opening.overlay.zip(documents), &root, is_beside);
        Ok(Self {
            engine,
            beneath,
            is_beside: is_beside && opening.overlay.is_none(),
            store_folder,
            disk,
            hold,
            notices,
            asking,
            digest: digest_of_texts(&text, &packs),
            text,
            packs,
            manifest: OnceCell::new(),
            trust,
            // Unsaved edits are not shared, and a reader during a build does not wait for a remote cache.
            connect: opening.connect.filter(|_| !is_beside),
            remote: OnceCell::new(),
            root,
        })
    }

    /// Returns the manifest; the first call reads it. Errors: all errors of the manifest.
    pub fn manifest(&self) -> Result<Arc<Manifest>, WorkbenchError> {
        Ok(self.read_manifest_once()?.manifest.clone())
    }

    fn read_manifest_once(&self) -> Result<&ParsedManifest, WorkbenchError> {
        if let Some(read) = self.manifest.get() {
            return Ok(read);
        }
        let Engine { store, view, registry, .. } = &self.engine;
        let key = compiled::key(&self.digest, &registry.digest());
        let kept = store
            .row(*view, Part::Manifests, &key)?
            .and_then(|row| compiled::decode_manifest(&row));
        let (loaded, rows) = match kept {
            Some(loaded) => (loaded, Vec::new()),
            None => {
                let loaded = self.load_manifest_with(&self.packs)?;
                // Keep only the present manifest and, for `explain`, the one that it replaced.
                let stays = |row: &[u8]| row == key || row == compiled::BEFORE;
                let others = store.rows(*view, Part::Manifests)?.into_iter().filter(|(other, _)| !stays(other));
                let mut rows: Vec<RowChange> = others.map(|(other, _)| (Part::Manifests, other, None)).collect();
                rows.push((Part::Manifests, key, Some(compiled::encode_manifest(&loaded))));
                (loaded, rows)
            }
        };
        Ok(self.manifest.get_or_init(|| ParsedManifest {
            manifest: Arc::new(loaded.manifest),
            warnings: loaded.warnings,
            rows,
        }))
    }

    fn load_manifest_with(&self, packs: &str) -> Result<Loaded, WorkbenchError> {
        load_texts(&self.text, packs, &self.engine.registry)
    }

    /// Loads and checks the manifest with another text of packs; stores nothing. Fails when either text has errors: all of them.
    pub(crate) fn manifest_with(&self, packs: &str) -> Result<Manifest, WorkbenchError> {
        Ok(self.load_manifest_with(packs)?.manifest)
    }

    /// Replaces the text of the packs file, which the caller has checked and written.
    pub(crate) fn hold_packs(&mut self, packs: String) {
        self.digest = digest_of_texts(&self.text, &packs);
        self.packs = packs;
        self.manifest = OnceCell::new();
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the warnings about the manifest, if it was read.
    pub fn warnings(&self) -> &[Diagnostic] {
        self.manifest.get().map_or(&[], |read| &read.warnings)
    }

    /// Returns the manifest with its digest. Errors: all errors of the manifest.
    pub fn manifest_definition(&self) -> Result<Definition, WorkbenchError> {
        let read = self.read_manifest_once()?;
        Ok(Definition {
            digest: self.digest,
            manifest: read.manifest.clone(),
            rows: read.rows.clone(),
        })
    }

    /// Returns the digest of the text of `cortex.toml` alone.
    pub fn text_digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }

    /// Returns the cache that the manifest names, if it may be used. Errors: all errors of the manifest.
    pub fn remote(&self) -> Result<Option<Arc<dyn RemoteCache>>, WorkbenchError> {
        Ok(self.sharing()?.map(|sharing| sharing.cache))
    }

    fn sharing(&self) -> Result<Option<Sharing>, WorkbenchError> {
        let Some(connect) = self.connect.as_ref() else { return Ok(None) };
        if self.remote_waits()? {
            return Ok(None);
        }
        let manifest = self.manifest()?;
        let execute = !self.execution_waits()?;
        let client = || {
            let def = manifest.remote.clone()?;
            let execute = def.execute && execute;
            connect(&RemoteDef { execute, ..def }, &self.root)
        };
        Ok(self.remote.get_or_init(client).clone())
    }

    /// Waits at most `wait` for uploads to the cache, and records what was exchanged with it.
    pub fn finish_transfers(&self, cache: &dyn RemoteCache, wait: Option<Duration>) -> Result<RemoteSummary, WorkbenchError> {
        let summary = cache.finish(wait);
        let engine = &self.engine;
        let exchanged = Exchanged::from_summary(&summary);
        exchange::record_day(&*engine.store, engine.view, engine.world.now_secs(), &exchanged)?;
        Ok(summary)
    }

    /// Whether this workspace may connect to a cache at all.
    pub fn may_connect(&self) -> bool {
        self.connect.is_some()
    }

    /// Whether the user must first approve the cache's address, the programs run for it and the data sent to it. Errors: all errors of the
    /// manifest.
    pub fn remote_waits(&self) -> Result<bool, WorkbenchError> {
        let manifest = self.manifest()?;
        let waits = manifest.remote.as_ref().map(trust::remote);
        Ok(waits.is_some_and(|waits| !self.trust.trusts(&waits.definition)))
    }

    /// Whether the user must first approve what workers are sent. Errors: all errors of the manifest.
    pub fn execution_waits(&self) -> Result<bool, WorkbenchError> {
        let manifest = self.manifest()?;
        let waits = manifest.remote.as_ref().and_then(trust::execution);
        Ok(waits.is_some_and(|waits| !self.trust.trusts(&waits.definition)))
    }

    /// Returns the engine with the shared cache. Errors: all errors of the manifest.
    pub fn sharing_engine(&self) -> Result<Engine, WorkbenchError> {
        Ok(match self.sharing()? {
            Some(sharing) => self.engine.with_sharing(sharing),
            None => self.engine.clone(),
        })
    }

    /// Reads the sources and loads the graph. Fails when the manifest is wrong, or the store or the sources cannot be read.
    pub fn session(&self) -> Result<Session, WorkbenchError> {
        let look = self.engine.read_sources(&self.digest, || self.manifest())?;
        Ok(Session::open(self.sharing_engine()?, &self.manifest_definition()?, look)?)
    }

    /// Opens a session in which the producer of a target has other parameters. Rows of the checkout stay; results are stored under their
    /// keys. Errors: as [`Self::session`]. The inner error lists the faults of the parameters.
    pub fn session_with(
        &self,
        session: &Session,
        label: &str,
        params: Vec<(String, serde_json::Value)>,
    ) -> Result<Result<Session, Vec<Diagnostic>>, WorkbenchError> {
        let Some(found) = session.rules.find(label) else {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "it has no producer, so it has no parameters").label(label);
            return Ok(Err(vec![why.hint("name a target that a rule declares")]));
        };
        let producer = session.rules.rule(found.rule).producer;
        let producer = &session.rules.manifest().producers[producer as usize];
        // Trust covers only the programs that the manifest names.
        if producer.uses == "command" {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "parameters of a program are set in cortex.toml only").label(label);
            return Ok(Err(vec![why.hint("set them in cortex.toml, and trust it")]));
        }
        let text = match with_params(&self.text, &producer.name, params) {
            Ok(text) => text,
            Err(why) => return Ok(Err(vec![why.label(label)])),
        };
        let manifest = match load_texts(&text, &self.packs, &self.engine.registry) {
            Ok(loaded) => Arc::new(loaded.manifest),
            Err(WorkbenchError::Manifest(wrong)) => {
                return Ok(Err(wrong.into_iter().map(|why| Diagnostic { place: None, ..why }).collect()));
            }
            Err(error) => return Err(error),
        };
        let engine = overlay::build::reading(self.engine.clone());
        let definition = Definition {
            digest: digest_of_texts(&text, &self.packs),
            manifest: manifest.clone(),
            rows: Vec::new(),
        };
        let look = engine.read_sources(&definition.digest, || Ok::<_, EngineError>(manifest))?;
        Ok(Ok(Session::open(engine, &definition, look)?))
    }

    /// As [`Self::session`], without the documents of the overlay that the workspace was opened in. Fails as [`Self::session`] does.
    pub fn session_beneath(&self) -> Result<Session, WorkbenchError> {
        let engine = self.beneath.as_ref().unwrap_or(&self.engine);
        let look = engine.read_sources(&self.digest, || self.manifest())?;
        Ok(Session::open(engine.clone(), &self.manifest_definition()?, look)?)
    }
}

/// Reads the manifest at a root; `None` if it cannot be read.
pub(crate) fn manifest_bytes(root: &Path) -> Option<Vec<u8>> {
    manifest_text(&root.join(MANIFEST)).ok()
}

/// Reads the bytes of a manifest; of one that is too large, only enough to detect it.
fn manifest_text(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the `[store]` limits of the manifest at a root, without opening the store. Fails when it cannot be read, or has errors: all of
/// them.
pub fn store_limits(root: &Path) -> Result<StoreLimits, WorkbenchError> {
    let path = root.join(MANIFEST);
    let unreadable = |error: std::io::Error| WorkbenchError::Path {
        path: path.clone(),
        reason: error.to_string(),
    };
    let bytes = manifest_text(&path).map_err(unreadable)?;
    if bytes.len() > MAX_BYTES {
        return Err(WorkbenchError::Manifest(vec![too_large(MANIFEST)]));
    }
    let text = String::from_utf8(bytes).map_err(|error| unreadable(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))?;
    let registry = registry(Arc::new(producers::llm::Refusing), Arc::new(Nothing));
    Ok(load_texts(&text, "", &registry)?.manifest.store)
}

/// Parses the text of a manifest and that of its packs.
fn load_texts(text: &str, packs: &str, registry: &Registry) -> Result<Loaded, WorkbenchError> {
    let source = |name: &str, text| ManifestSource {
        name: name.to_owned(),
        text,
    };
    let (manifest, packs) = (source(MANIFEST, text), source(packs_file::FILE, packs));
    let loaded = load(
        &manifest,
        Some(&packs),
        &producers::rulesets::text,
        producers::rulesets::NAMES,
        registry,
    );
    loaded.map_err(WorkbenchError::Manifest)
}

/// Returns the manifest's text with the parameters of a producer replaced.
fn with_params(text: &str, producer: &str, params: Vec<(String, serde_json::Value)>) -> Result<String, Box<Diagnostic>> {
    let wrong = |what: String| Box::new(Diagnostic::error(ErrorCode::E_PARAM, what));
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
    let mut at = &mut table;
    for name in ["producer", producer, "params"] {
        let next = at.entry(name).or_insert_with(|| toml::Table::new().into());
        at = next.as_table_mut().ok_or_else(|| wrong(format!("{name} is not a table")))?;
    }
    for (name, value) in params {
        let value = toml::Value::try_from(value).map_err(|error| wrong(format!("the parameter {name}: {error}")))?;
        at.insert(name, value);
    }
    toml::to_string(&table).map_err(|error| wrong(error.to_string()))
}

/// Returns the digest of a manifest's text, of every ruleset that it could name and of the packs, if there are any.
fn digest_of_texts(text: &str, packs: &str) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 manifest texts 1");
    let rulesets = producers::rulesets::NAMES.iter().filter_map(|name| producers::rulesets::text(name));
    let packs = (!packs.is_empty()).then_some(packs);
    for text in std::iter::once(text).chain(rulesets).chain(packs) {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    Digest(*hasher.finalize().as_bytes())
}
