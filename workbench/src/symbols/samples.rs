//! Small workspaces in memory for the tests of symbols, built by the real producers.

use super::index::Symbols;
use super::outputs::{Output, Outputs, SymbolError};
use crate::workspace::registry;
use engine::build::Options;
use engine::build::engine::{Definition, Engine, EngineError};
use engine::build::finish::Plain;
use engine::build::request::Request;
use engine::build::session::Session;
use engine::files::memory::MemoryWorld;
use engine::manifest::read::{ManifestSource, load};
use engine::seams::producer::Cancel;
use engine::store::ViewId;
use engine::store::memory::MemoryStore;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::Silent;
use engine::values::pattern::PatternSet;
use std::sync::Arc;

const MANIFEST: &str = "[workspace]\nname = \"sample\"\nrulesets = [\"csharp\"]\n";

const STORE: &str = r#"namespace Box;

/// <summary>Keeps things.</summary>
public partial class Store : IStore
{
    /// <summary>A thing.</summary>
    /// <param name="id">Which.</param>
    [System.Obsolete]
    public string Get(int id)
    {
        return Cache[id];
    }

    public string Get(string? name, int most = 3) => Get(1) + name;

    public static Store operator +(Store one, Store other) => one;
    void System.IDisposable.Dispose() { }
    private readonly System.Collections.Generic.Dictionary<int, string> Cache = new();

    public class Entry<T>
    {
        public T Value;
        public enum Kind { Old, New }
    }
}
"#;

const STORES: &str = r#"namespace Box
{
    public interface IStore : IBase { string Get(int id); }
    public interface IBase { int Count { get; } }
    public partial class Store
    {
        public Store(int size) { Count = size; }
        public int Count { get; }
    }
    public class BigStore : Store { public BigStore() : base(9) { } void Twice() { Get(1); Get(2); } }
    internal class Cache { }
    public class Cache<K, V> { public int Hits; class Line { } }
}
namespace Box.Deep.Down { internal class Store { public BigStore Twin; } public class Reader { Box.Store Make() => null; } }
"#;

/// A workspace in memory.
pub struct Sample {
    session: Session,
    world: Arc<MemoryWorld>,
    definition: Definition,
    /// Labels and patterns read so far.
    pub asked: Vec<String>,
}

impl Default for Sample {
    fn default() -> Self {
        Self::from_files(&[("src/Store.cs", STORE), ("src/Stores.cs", STORES)])
    }
}

impl Sample {
    /// Returns a workspace of these files.
    pub fn from_files(files: &[(&str, &str)]) -> Self {
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
        Self::of_bytes(&files)
    }

    /// Returns a workspace of these files.
    pub fn of_bytes(files: &[(&str, &[u8])]) -> Self {
        let world = Arc::new(MemoryWorld::new());
        world.set_now(1_000_000_000_000_000);
        for (path, text) in files {
            world.write_source(path, *text);
        }
        let registry = registry(Arc::new(producers::llm::Refusing), Arc::new(producers::command::Nothing));
        let source = ManifestSource {
            name: "cortex.toml".to_owned(),
            text: MANIFEST,
        };
        let loaded = load(&source, None, &producers::rulesets::text, producers::rulesets::NAMES, &registry).expect("a good manifest");
        let manifest = Arc::new(loaded.manifest);
        let engine = Engine {
            world: world.clone(),
            store: Arc::new(MemoryStore::default()),
            registry: Arc::new(registry),
            view: ViewId(0),
            finish: Arc::new(Plain),
            priority: Arc::new(engine::seams::priority::Unweighted),
            lineage: Arc::new(engine::seams::lineage::Unnamed),
            annotate: Arc::new(engine::seams::annotate::Unannotated),
            sharing: None,
            graphs: None,
            turn: None,
        };
        let digest = Digest::of(MANIFEST.as_bytes());
        let given = manifest.clone();
        let look = engine.read_sources::<EngineError>(&digest, || Ok(given)).expect("a look");
        let definition = Definition {
            rows: Vec::new(),
            digest,
            manifest,
        };
        Self {
            session: Session::open(engine, &definition, look).expect("a session"),
            world,
            definition,
            asked: Vec::new(),
        }
    }

    /// Returns the workspace without a file, opened again.
    pub fn without(mut self, path: &str) -> Self {
        assert!(self.world.delete(path), "{path} is there");
        let engine = self.session.engine.clone();
        let manifest = self.definition.manifest.clone();
        let look = engine
            .read_sources::<EngineError>(&self.definition.digest, || Ok(manifest))
            .expect("a look");
        self.session = Session::open(engine, &self.definition, look).expect("a session");
        self
    }

    /// Returns its symbol index.
    pub fn symbols(mut self) -> Symbols {
        self.names()
    }

    /// Returns its symbol index.
    pub fn names(&mut self) -> Symbols {
        let labels = ["//index:types", "//index:members", "//index:declarations"].map(str::to_owned);
        let read = self.read(&labels).expect("all");
        let tables: Vec<Arc<[u8]>> = read.into_iter().map(|made| made.bytes.expect("an output")).collect();
        let [types, members, declarations] = tables.try_into().expect("three");
        Symbols::open(types, members, declarations).expect("tables")
    }

    /// Returns its files.
    pub fn world(&self) -> Arc<MemoryWorld> {
        self.world.clone()
    }

    /// Returns its session as the last read left it.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Builds a pattern; returns the labels that it matches, or the code of the error and its candidates.
    pub fn built(&mut self, pattern: &str) -> Result<Vec<String>, (String, Vec<String>)> {
        match self.report(&[pattern.to_owned()]) {
            Ok(found) => Ok(found.into_iter().map(|output| output.label).collect()),
            Err(error) => Err((error.diagnostic.code, error.diagnostic.candidates)),
        }
    }

    fn report(&mut self, labels: &[String]) -> Result<Vec<Output>, SymbolError> {
        let refused = |why: Diagnostic| SymbolError::new(super::outputs::Trouble::NotFound, why);
        let request = Request {
            patterns: PatternSet::parse(labels).map_err(|_| refused(Diagnostic::error(ErrorCode::E_PATTERN, "no pattern")))?,
            list: true,
            digest: Digest::of(labels.join("\0").as_bytes()),
            options: Options {
                jobs: 1,
                keep_going: true,
                ..Options::default()
            },
            outputs: true,
        };
        let report = self.session.build(&request, &Silent, &Cancel::default()).expect("a report");
        if let Some(why) = report.refused.into_iter().next() {
            return Err(refused(why));
        }
        let labels = report.roots.iter().map(|root| root.label.to_string());
        Ok(labels.zip(report.outputs).map(|(label, bytes)| Output { label, bytes }).collect())
    }
}

impl Outputs for Sample {
    type Error = SymbolError;

    fn read(&mut self, labels: &[String]) -> Result<Vec<Output>, SymbolError> {
        self.asked.extend_from_slice(labels);
        self.report(labels)
    }
}
