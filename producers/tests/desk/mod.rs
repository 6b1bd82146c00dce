//! Test desk: a C# workspace in memory, built by the real engine and rules, with a scripted model.

pub mod samples;

use engine::build::Options;
use engine::build::correct::Last;
use engine::build::engine::{Definition, Engine, EngineError};
use engine::build::finish::Plain;
use engine::build::request::{Report, Request};
use engine::build::session::Session;
use engine::files::memory::MemoryWorld;
use engine::manifest::model::Manifest;
use engine::manifest::read::{ManifestSource, load};
use engine::seams::lineage::{Lineage, Present};
use engine::seams::paid::{FormerName, FormerNames, Spent};
use engine::seams::producer::{Cancel, Failure, Params, Registry};
use engine::store::ledger::LedgerEntry;
use engine::store::memory::MemoryStore;
use engine::store::records::{ActionRecord, NewResult};
use engine::store::{Commit, Part, Store, ViewId};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::{Event, Observer};
use engine::values::pattern::PatternSet;
use producers::llm::{Ask, Count, ModelReply, Question, Role};
use producers::rulesets;
use std::sync::{Arc, Mutex};

/// Sections of the seed.
pub const SECTIONS: [&str; 5] = ["ROLE", "LIFECYCLE", "EDGE_CASES", "LIMITATIONS", "RECOMMENDATIONS"];

/// A question as the model received it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The system prompt.
    pub system: String,
    /// The last turn.
    pub user: String,
    /// All turns.
    pub whole: String,
    /// Number of the question in its node.
    pub attempt: u32,
}

impl Asked {
    /// Returns the keys of the types in the question.
    pub fn types(&self) -> Vec<String> {
        let Some(from) = self.whole.find("Summarise:\n") else {
            let (mut types, mut heading) = (Vec::new(), "");
            for line in self.whole.lines() {
                // In a joint question, a heading names the type.
                let title = line.strip_prefix("# QUESTION ").and_then(|title| title.split_once(": "));
                heading = title.map_or(heading, |(_, name)| name);
                match line.strip_prefix("Earlier answer about ") {
                    Some(rest) => types.push(rest.split([' ', ',', ':']).next().unwrap_or_default().to_owned()),
                    None if line.starts_with("Earlier answer") => types.push(format!("N.{heading}")),
                    None => {}
                }
            }
            return types;
        };
        let lines = self.whole[from..].lines().skip(1);
        lines
            .take_while(|line| line.starts_with("- "))
            .map(|line| line[2..].rsplit_once(" (").expect("an id").0.to_owned())
            .collect()
    }

    /// Whether it requests a patch.
    pub fn is_patch(&self) -> bool {
        self.whole.contains("\nEarlier answer")
    }
}

type Answerer = Box<dyn FnMut(&Asked) -> Result<String, Failure> + Send>;

/// A model with scripted answers that records its questions. A token is four bytes; one in costs 1, one out 2.
pub struct Model {
    asked: Mutex<Vec<Asked>>,
    answerer: Mutex<Answerer>,
}

/// Returns a complete answer about every requested type.
pub fn whole(asked: &Asked) -> String {
    let types = asked.types();
    let mut text = String::new();
    for key in &types {
        if types.len() > 1 {
            text.push_str(&format!("# TYPE: {key}\n"));
        }
        for name in SECTIONS {
            text.push_str(&format!("{name}:\n- The {} of {key} in few words.\n\n", name.to_lowercase()));
        }
    }
    text
}

impl Ask for Model {
    fn ask(&self, question: &Question<'_>, _: &Cancel) -> Result<ModelReply, Failure> {
        let texts: Vec<String> = question
            .turns
            .iter()
            .map(|turn| turn.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n"))
            .collect();
        assert_eq!(question.turns[0].role, Role::System);
        let asked = Asked {
            system: texts[0].clone(),
            user: texts[texts.len() - 1].clone(),
            whole: texts.join("\n\n"),
            attempt: question.attempt,
        };
        self.asked.lock().expect("whole").push(asked.clone());
        let text = (self.answerer.lock().expect("whole"))(&asked)?;
        let most = question.max_tokens as usize * 4;
        let cut = text.len() > most;
        let text = if cut { text[..most].to_owned() } else { text };
        let (input, output) = (asked.whole.len() as u64 / 4, text.len() as u64 / 4);
        let spent = Spent {
            model: "m".to_owned(),
            calls: 1,
            input_tokens: input,
            output_tokens: output,
            micros: Some(input + 2 * output),
            ..Spent::default()
        };
        Ok(ModelReply {
            text,
            cut,
            spent,
            ..ModelReply::default()
        })
    }

    fn count(&self, _: &Params, text: &str) -> Count {
        Count {
            tokens: text.len() as u64 / 4,
            exact: true,
        }
    }

    fn price(&self, _: &Params, input: u64, _: u64, output: u64) -> Option<u64> {
        Some(input + 2 * output)
    }

    fn joins(&self, _: &Params, _: &Params) -> bool {
        true
    }

    fn flush(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Records which producers ran.
#[derive(Default)]
struct Ran(Mutex<Vec<String>>);

impl Observer for Ran {
    fn event(&self, event: &Event<'_>) {
        if let Event::Ran { label, .. } = event {
            self.0.lock().expect("whole").push((*label).to_owned());
        }
    }
}

/// Former names given by a test.
struct Told(FormerNames);

impl Lineage for Told {
    fn source(&self) -> &str {
        "//index:types"
    }

    fn former(&self, _: &Present<'_>) -> FormerNames {
        self.0.clone()
    }
}

/// A workspace.
pub struct Desk {
    world: MemoryWorld,
    store: Arc<MemoryStore>,
    registry: Registry,
    manifest: Arc<Manifest>,
    digest: Digest,
    view: u64,
    former: Mutex<FormerNames>,
    /// The model.
    pub model: Arc<Model>,
}

/// Result of a build.
pub struct Built {
    /// The engine's report.
    pub report: Report,
    /// Labels whose producer ran.
    pub ran: Vec<String>,
    /// Questions to the model.
    pub asked: Vec<Asked>,
}

impl Built {
    /// Returns the codes of failures.
    pub fn failures(&self) -> Vec<&str> {
        self.report.failures.iter().map(|why| why.code.as_str()).collect()
    }
}

/// Returns the manifest of a workspace with the model `m` and further parameters of `semantic`, one per line.
pub fn manifest(params: &str, model: &str) -> String {
    format!(
        "[workspace]\nrulesets = [\"csharp\"]\n[model.m]\napi = \"replay\"\nname = \"oracle-1\"\nrecording = \"r.jsonl\"\n{model}\n[producer.semantic]\nparams.model = \"m\"\n{params}\n"
    )
}

impl Desk {
    /// Returns a workspace whose model answers everything in full.
    pub fn new(params: &str, files: &[(&str, &str)]) -> Self {
        Self::with(&manifest(params, ""), files)
    }

    /// Returns a workspace with this manifest.
    pub fn with(manifest: &str, files: &[(&str, &str)]) -> Self {
        let model = Arc::new(Model {
            asked: Mutex::default(),
            answerer: Mutex::new(Box::new(|asked| Ok(whole(asked)))),
        });
        let mut registry = Registry::default();
        producers::register(&mut registry, model.clone(), Arc::new(producers::command::All));
        let mut desk = Self {
            world: MemoryWorld::new(),
            store: Arc::new(MemoryStore::new()),
            registry,
            manifest: Arc::default(),
            digest: Digest([0; 32]),
            view: 1,
            former: Mutex::default(),
            model,
        };
        desk.redefine(manifest);
        files.iter().for_each(|(path, text)| desk.put(path, text));
        desk
    }

    /// Returns another checkout of the same store, with these files.
    pub fn checkout(&self, view: u64, files: &[(&str, &str)]) -> Self {
        let other = Self {
            world: MemoryWorld::new(),
            store: self.store.clone(),
            registry: self.registry.clone(),
            manifest: self.manifest.clone(),
            digest: self.digest,
            view,
            former: Mutex::default(),
            model: self.model.clone(),
        };
        files.iter().for_each(|(path, text)| other.put(path, text));
        other
    }

    /// Returns another machine that has the last answers of these labels from a cache, but none of their inputs.
    pub fn machine(&self, labels: &[&str], files: &[(&str, &str)]) -> Self {
        let other = Self {
            store: Arc::new(MemoryStore::new()),
            ..self.checkout(self.view, files)
        };
        let result = |label: &&str| {
            let last = self.last(label);
            NewResult {
                key: last.result.key,
                blob: self.store.blob(&last.result.output).expect("a store"),
                record: ActionRecord {
                    inputs: Vec::new(),
                    ..last.record
                },
                parts: Vec::new(),
            }
        };
        let commit = Commit {
            results: labels.iter().map(result).collect(),
            ..Commit::default()
        };
        other.store.commit(ViewId(self.view), commit).expect("a store");
        other
    }

    /// Replaces the manifest.
    pub fn redefine(&mut self, text: &str) {
        let source = ManifestSource {
            name: "cortex.toml".to_owned(),
            text,
        };
        let loaded = load(&source, None, &rulesets::text, rulesets::NAMES, &self.registry);
        self.manifest = Arc::new(loaded.unwrap_or_else(|errors| panic!("{errors:#?}")).manifest);
        self.digest = Digest::of(text.as_bytes());
    }

    /// Writes a file.
    pub fn put(&self, path: &str, text: &str) {
        self.world.write_source(path, text);
    }

    /// Renames a type that has a summary.
    pub fn rename(&self, old: &str, new: &str) {
        let last = self.last(&format!("//types/{old}:semantic"));
        let bytes = self.store.output(&last.result.output).expect("a store").expect("an output");
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let name = FormerName {
            item: old.to_owned(),
            id: text
                .lines()
                .next()
                .and_then(|line| line.rsplit(' ').next())
                .expect("an id")
                .to_owned(),
            is_origin: false,
        };
        self.former.lock().expect("whole").entry(new.to_owned()).or_default().push(name);
    }

    /// Splits a new type off from another one.
    pub fn split_off(&self, origin: &str, new: &str) {
        let name = FormerName {
            item: origin.to_owned(),
            id: String::new(),
            is_origin: true,
        };
        self.former.lock().expect("whole").insert(new.to_owned(), vec![name]);
    }

    /// Sets the model's answers from now on.
    pub fn answers(&self, answerer: impl FnMut(&Asked) -> Result<String, Failure> + Send + 'static) {
        *self.model.answerer.lock().expect("whole") = Box::new(answerer);
    }

    /// Opens a session.
    pub fn session(&self) -> Session {
        let engine = Engine {
            world: Arc::new(self.world.clone()),
            store: self.store.clone(),
            registry: Arc::new(self.registry.clone()),
            view: ViewId(self.view),
            finish: Arc::new(Plain),
            priority: Arc::new(engine::seams::priority::Unweighted),
            lineage: Arc::new(Told(self.former.lock().expect("whole").clone())),
            annotate: Arc::new(engine::seams::annotate::Unannotated),
            sharing: None,
            graphs: None,
            turn: None,
        };
        let manifest = self.manifest.clone();
        let look = engine.read_sources::<EngineError>(&self.digest, || Ok(manifest)).expect("a look");
        let definition = Definition {
            rows: Vec::new(),
            digest: self.digest,
            manifest: self.manifest.clone(),
        };
        Session::open(engine, &definition, look).expect("a session")
    }

    /// Builds with changed options.
    pub fn build_as(&self, pattern: &str, change: impl FnOnce(&mut Options)) -> Built {
        let mut options = Options {
            jobs: 2,
            keep_going: true,
            ..Options::default()
        };
        change(&mut options);
        let request = Request {
            patterns: PatternSet::parse(&[pattern.to_owned()]).expect("a pattern"),
            list: true,
            digest: Digest::of(pattern.as_bytes()),
            options,
            outputs: true,
        };
        let ran = Ran::default();
        let report = self.session().build(&request, &ran, &Cancel::default()).expect("a report");
        Built {
            report,
            ran: ran.0.into_inner().expect("whole"),
            asked: std::mem::take(&mut *self.model.asked.lock().expect("whole")),
        }
    }

    /// Builds.
    pub fn build(&self, pattern: &str) -> Built {
        self.build_as(pattern, |_| {})
    }

    /// Builds one target; returns its text and the questions to the model.
    pub fn text(&self, label: &str) -> (String, Vec<Asked>) {
        let built = self.build(label);
        let bytes = built.report.outputs.first().cloned().flatten();
        let bytes = bytes.unwrap_or_else(|| panic!("no output: {:#?}", built.report.failures));
        (String::from_utf8(bytes.to_vec()).expect("text"), built.asked)
    }

    /// Returns the last result of a node with its record.
    pub fn last(&self, label: &str) -> Last {
        self.session().last(label).expect("a store").expect("a result")
    }

    /// Returns the ledger of spending and savings.
    pub fn ledger(&self) -> Vec<LedgerEntry> {
        let session = self.session();
        let rows = session.engine.store.rows(session.engine.view, Part::Ledger).expect("a store");
        rows.iter().filter_map(LedgerEntry::from_row).collect()
    }

    /// Returns a note of the last result of a node.
    pub fn note(&self, label: &str, name: &str) -> String {
        self.last(label).record.notes.get(name).cloned().unwrap_or_default()
    }

    /// Returns the codes of diagnostics of the last result of a node.
    pub fn codes(&self, label: &str) -> Vec<String> {
        let diagnostics: Vec<Diagnostic> = self.last(label).record.diagnostics;
        diagnostics.into_iter().map(|diagnostic| diagnostic.code).collect()
    }
}

/// Returns the types of each question: keys joined with `+`.
pub fn types(built: &Built) -> Vec<String> {
    built.asked.iter().map(|asked| asked.types().join("+")).collect()
}
