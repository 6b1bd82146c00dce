//! Hand-built declarations for tests of the layers above the parser.

use csharp::model::{Member, MemberKind, NamePlace, NameUse, Span, Syntax, Tier, TypeDecl, TypeKind, Using};
use engine::seams::producer::{Cancel, Failure, Input, Inputs, Output, Params, Producer, RowSource};
use engine::values::digest::Digest;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

fn lines(first: u32, last: u32) -> Span {
    Span {
        first,
        last,
        ..Span::default()
    }
}

pub(crate) fn decl(namespace: &str, path: &str) -> TypeDecl {
    let last = path.rsplit('+').next().expect("a path has a last segment");
    let (name, arity) = last.split_once('`').unwrap_or((last, "0"));
    let arity: usize = arity.parse().expect("a number");
    TypeDecl {
        of: Vec::new(),
        not_of: Vec::new(),
        namespace: namespace.into(),
        path: path.into(),
        name: name.into(),
        kind: TypeKind::Class,
        type_parameters: (0..arity).map(|at| format!("T{at}")).collect(),
        modifiers: vec!["public".into()],
        attributes: vec![],
        signature: format!("public class {name}"),
        bases: vec![],
        constraints: vec![],
        body: String::new(),
        doc: String::new(),
        span: lines(1, 9),
        names: vec![],
        members: vec![],
        condition: String::new(),
        attributed: String::new(),
    }
}

pub(crate) fn member(kind: MemberKind, name: &str, signature: &str, body: &str) -> Member {
    let modifiers = signature
        .split(' ')
        .take_while(|word| ["public", "private", "internal", "protected", "static", "partial", "async"].contains(word));
    let mut modifiers: Vec<String> = modifiers.map(str::to_owned).collect();
    modifiers.sort();
    Member {
        kind,
        name: name.into(),
        arity: 0,
        parameters: vec![],
        modifiers,
        attributes: vec![],
        signature: signature.into(),
        body: body.into(),
        doc: String::new(),
        span: lines(2, 3),
        names: vec![],
        type_parameters: vec![],
        has_value: false,
        condition: String::new(),
        attributed: String::new(),
    }
}

pub(crate) fn file(types: Vec<TypeDecl>) -> Syntax {
    Syntax {
        tier: Tier::Whole,
        usings: vec![],
        types,
        top_level: false,
        is_app: false,
        is_generated: false,
        friends: vec![],
        excluded: vec![],
    }
}

pub(crate) fn using(target: &str) -> Using {
    Using {
        alias: None,
        target: target.into(),
        is_static: false,
        is_global: false,
        namespace: String::new(),
    }
}

pub(crate) fn name(path: &str, place: NamePlace) -> NameUse {
    NameUse {
        path: path.into(),
        arity: 0,
        place,
        certain: true,
    }
}

pub(crate) fn input(item: &str, syntax: &Syntax) -> Input {
    blob(item, csharp::syntax::encode_syntax(syntax))
}

pub(crate) fn blob(item: &str, bytes: impl Into<Vec<u8>>) -> Input {
    Input::of(item, bytes.into())
}

/// Runs a producer for the type `key`.
pub(crate) fn run(producer: &dyn Producer, key: &str, params: &str, roles: Vec<(&str, Vec<Input>)>) -> Result<Output, Failure> {
    run_with(producer, &[("type", key)], params, roles)
}

/// Runs a producer with variables of its rule.
pub(crate) fn run_with(
    producer: &dyn Producer,
    vars: &[(&str, &str)],
    params: &str,
    roles: Vec<(&str, Vec<Input>)>,
) -> Result<Output, Failure> {
    let params: Params = serde_json::from_str(params).expect("an object");
    let mut by_role: BTreeMap<Arc<str>, Vec<Input>> = BTreeMap::new();
    for (role, mut inputs) in roles {
        inputs.sort_by(|a, b| a.item.cmp(&b.item));
        by_role.insert(role.into(), inputs);
    }
    let vars = vars.iter().map(|(name, value)| (Arc::from(*name), Arc::from(*value))).collect();
    let cancel = Cancel::default();
    producer.produce(&Inputs::bare("//t:t", &params, &by_role, &vars, &cancel))
}

/// A store with a field, a property, methods and a constructor.
pub(crate) fn store() -> Syntax {
    let mut store = decl("Tree", "Store");
    store.doc = "<summary>Keeps nodes. Thread-safe.</summary>".into();
    store.bases = vec!["IDisposable".into()];
    store.members = vec![
        member(MemberKind::Field, "count", "private int count", "= 1;"),
        member(MemberKind::Field, "gate", "private object gate", "= new();"),
        member(MemberKind::Property, "Count", "public int Count { get; }", ""),
        member(
            MemberKind::Constructor,
            ".ctor",
            "public Store(string path)",
            "{ this.path = path ?? throw new ArgumentNullException(nameof(path)); }",
        ),
        member(
            MemberKind::Method,
            "Get",
            "public Node Get(string key)",
            "{ if (key == null) throw new ArgumentNullException(nameof(key)); return null; }",
        ),
        member(MemberKind::Method, "Dispose", "public void Dispose()", "{ }"),
        member(MemberKind::Method, "Load", "private async Task Load()", "{ lock (gate) { } }"),
    ];
    store.members[3].parameters = vec!["string".into()];
    store.members[4].parameters = vec!["string".into()];
    store.members[4].names = vec![name("Node", NamePlace::Signature)];
    store.members[4].doc = "<summary>Finds a node.</summary>".into();
    file(vec![store, decl("Tree", "Node"), colours()])
}

fn colours() -> TypeDecl {
    let mut colours = decl("Tree", "Colour");
    colours.kind = TypeKind::Enum;
    colours.signature = "public enum Colour".into();
    colours.members = ["Red", "Green", "Blue"]
        .iter()
        .map(|name| member(MemberKind::EnumMember, name, name, ""))
        .collect();
    colours
}

/// A file with a class that stores nodes, and the types that it names.
pub(crate) const NODE_STORE: &str = r#"
using System;
using System.Collections.Generic;
namespace Memo.Core;
/// <summary>Stores <see cref="Node"/>s by key. Not thread-safe.</summary>
public sealed class NodeStore : IDisposable, INodeStore
{
    private readonly Dictionary<string, Node> _nodes = new();
    public event EventHandler<NodeId>? Changed;
    public int Count { get; private set; } = 0;
    public string Name { get => _name; set { _name = value ?? throw new ArgumentNullException(nameof(value)); } }
    private string _name = "x";
    /// <summary>Makes a store.</summary>
    public NodeStore(INodeSource source, int capacity = 16) { if (capacity < 0) { throw new ArgumentOutOfRangeException(nameof(capacity), "negative"); } }
    public static NodeStore Open(string path) => new(new FileSource(path));
    public Node? Find(NodeId id) { if (!_nodes.TryGetValue(id.Text, out var node)) return null; return node; }
    [Obsolete("Use Find instead")] public Node Get(NodeId id) => throw new NotSupportedException("gone");
    public void Dispose() { lock (_nodes) { _nodes.Clear(); } }
}
public class Node { }
public record struct NodeId(string Text);
public interface INodeStore { Node? Find(NodeId id); }
public interface INodeSource { }
internal class FileSource : INodeSource { public FileSource(string path) { } }
"#;

/// A workspace run through the producers, wired as in the ruleset.
pub(crate) struct World {
    syntax: Vec<Input>,
    sources: Vec<Input>,
    projects: Vec<Input>,
    pub(crate) types: Vec<u8>,
    pub(crate) symbols: Vec<u8>,
}

impl World {
    pub(crate) fn new(files: &[(&str, Syntax)], projects: &[(&str, &str)]) -> Self {
        let syntax: Vec<Input> = files.iter().map(|(path, syntax)| input(path, syntax)).collect();
        let project_names = |syntax| engine::values::cbor::encode(&csharp::names::names_of_file(syntax));
        let names: Vec<Input> = files.iter().map(|(path, syntax)| blob(path, project_names(syntax))).collect();
        let projects: Vec<Input> = projects.iter().map(|(path, facts)| blob(path, *facts)).collect();
        let types = run(
            &csharp::types::Types,
            "",
            "{}",
            vec![("names", names.clone()), ("projects", projects.clone())],
        )
        .expect("types")
        .bytes;
        let roles = vec![
            ("names", names.clone()),
            ("projects", projects.clone()),
            ("types", vec![blob("", types.clone())]),
        ];
        let symbols = run(&csharp::symbols::Symbols, "", "{}", roles).expect("symbols").bytes;
        Self {
            syntax,
            sources: Vec::new(),
            projects,
            types,
            symbols,
        }
    }

    /// Parses a workspace from these texts.
    pub(crate) fn of_texts(files: &[(&str, &str)]) -> Self {
        Self::of_projects(files, &[])
    }

    /// Parses the texts of projects, whose facts are JSON.
    pub(crate) fn of_projects(files: &[(&str, &str)], projects: &[(&str, &str)]) -> Self {
        let read = |text: &str, path: &str| csharp::parse::read(text, &Default::default(), path).0;
        let syntax: Vec<(&str, Syntax)> = files.iter().map(|(path, text)| (*path, read(text, path))).collect();
        Self {
            sources: files.iter().map(|(path, text)| blob(path, *text)).collect(),
            ..Self::new(&syntax, projects)
        }
    }

    /// Returns the parts of a type, as the ruleset provides them.
    fn parts(&self, key: &str) -> Vec<Input> {
        let files = self.row(key).files;
        let is_part = |input: &&Input| files.iter().any(|file| **file == *input.item);
        self.syntax.iter().filter(is_part).cloned().collect()
    }

    /// Returns the lines of a type, as the ruleset provides them.
    fn lines(&self, key: &str) -> Vec<Input> {
        let lines = |part: Input| {
            let source = self
                .sources
                .iter()
                .find(|source| source.item == part.item)
                .expect("a text")
                .bytes
                .to_vec();
            let item = part.item.clone();
            let roles = vec![("syntax", vec![part]), ("source", vec![blob("", source)])];
            blob(&item, run(&csharp::lines::LinesOf, "", "{}", roles).expect("lines").bytes)
        };
        self.parts(key).into_iter().map(lines).collect()
    }

    pub(crate) fn projects(&self) -> Vec<Input> {
        self.projects.clone()
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        engine::values::table::Table::open(&self.types)
            .expect("a table")
            .keys()
            .map(str::to_owned)
            .collect()
    }

    pub(crate) fn row(&self, key: &str) -> csharp::types::TypeRow {
        let table = engine::values::table::Table::open(&self.types).expect("a table");
        serde_json::from_slice(table.get(key).unwrap_or_else(|| panic!("no row {key}"))).expect("a row")
    }

    /// Returns the table `//index:declarations`.
    fn declarations(&self) -> Vec<u8> {
        let roles = vec![("members", self.each("signatures"))];
        let made = run(&csharp::deps::declarations::Declarations, "", "{}", roles);
        made.expect("declarations").bytes.to_vec()
    }

    /// Returns the documentation of the types from which a type may inherit.
    pub(crate) fn inherited(&self, deps: &Input) -> Vec<Input> {
        let deps = csharp::deps::decode_dependencies(deps).expect("dependencies");
        let docs = |base: &String| blob(base, self.output("xmldoc", base).bytes);
        deps.doc_bases.iter().map(docs).collect()
    }

    /// Returns the declarations that a type reaches, and the output of [`csharp::deps::Reach`], as the ruleset provides them.
    fn reached(&self, key: &str) -> (Input, Input) {
        /// A table, and the rows read from it.
        struct RecordedRows<'a>(engine::values::table::Table<'a>, RefCell<BTreeMap<String, Vec<u8>>>);
        impl RowSource for RecordedRows<'_> {
            fn get(&self, key: &str) -> Option<Arc<[u8]>> {
                let row = self.0.get(key)?;
                self.1.borrow_mut().insert(key.to_owned(), row.to_vec());
                Some(row.into())
            }
        }
        let table = self.declarations();
        let rows = RecordedRows(engine::values::table::Table::open(&table).expect("a table"), RefCell::default());
        let mentions = self.output("mentions", key).bytes;
        let keys: csharp::mention_model::Mentions = serde_json::from_slice(&mentions).expect("mentions");
        let roles = BTreeMap::from([
            (Arc::from("symbols"), vec![Self::slice(&self.symbols, &keys.keys)]),
            (Arc::from("facts"), vec![blob("", self.output("facts", key).bytes)]),
            (Arc::from("mentions"), vec![blob("", mentions)]),
        ]);
        let (params, vars) = (Params::new(), BTreeMap::from([(Arc::from("type"), Arc::from(key))]));
        let cancel = Cancel::default();
        let inputs = Inputs::bare("//t:t", &params, &roles, &vars, &cancel);
        let answer = csharp::deps::Reach
            .ask(&inputs, "declarations", &rows)
            .expect("its rows")
            .expect("its output");
        let slice = blob("", engine::values::table::write_table(&rows.1.take()));
        let roles = roles
            .iter()
            .map(|(role, all)| (role.as_ref(), all.clone()))
            .chain([("declarations", vec![slice.clone()])]);
        let made = run(&csharp::deps::Reach, key, "{}", roles.collect()).expect("the reach");
        assert_eq!(made, answer, "what asking told is what its rows give");
        (slice, blob("", made.bytes))
    }

    pub(crate) fn slice(table: &[u8], keys: &[String]) -> Input {
        let table = engine::values::table::Table::open(table).expect("a table");
        let rows: BTreeMap<&str, &[u8]> = keys.iter().filter_map(|key| Some((key.as_str(), table.get(key)?))).collect();
        blob("", engine::values::table::write_table(&rows))
    }

    /// Returns the output of the chain's producer `name` for the type `key`.
    pub(crate) fn output(&self, name: &str, key: &str) -> Output {
        let one = |name: &str| vec![blob("", self.output(name, key).bytes)];
        let row = || vec![Self::slice(&self.types, &[key.to_owned()])];
        let (producer, roles): (&dyn Producer, _) = match name {
            "complete" => (
                &csharp::complete::CompleteType,
                vec![("parts", self.parts(key)), ("usings", self.parts(key))],
            ),
            "usages" => {
                let mentions = one("mentions");
                let keys: csharp::mention_model::Mentions = serde_json::from_slice(&mentions[0].bytes).expect("mentions");
                (
                    &csharp::usages::Usages,
                    vec![
                        ("symbols", vec![Self::slice(&self.symbols, &keys.keys)]),
                        ("declarations", vec![self.reached(key).0]),
                        ("parts", self.parts(key)),
                        ("usings", self.parts(key)),
                        ("lines", self.lines(key)),
                        ("mentions", mentions),
                    ],
                )
            }
            "members" => (&csharp::members::Members, vec![("complete", one("complete"))]),
            "structure" => (&csharp::structure::Structure, vec![("complete", one("complete"))]),
            "impl" => (&csharp::implementation::Implementation, vec![("complete", one("complete"))]),
            "xmldoc" => (&csharp::xmldoc::XmlDoc, vec![("complete", one("complete"))]),
            "mentions" | "api-mentions" => (&csharp::mentions::MentionsOf, vec![("complete", one("complete"))]),
            "api-deps" => {
                let mut roles = self.api_names(key);
                let mentions: csharp::mention_model::Mentions = serde_json::from_slice(&roles[1].1[0].bytes).expect("mentions");
                let rows = match mentions.inherits_docs {
                    true => self.declarations(),
                    false => engine::values::table::write_table(&BTreeMap::<&str, &[u8]>::new()),
                };
                roles.push(("declarations", vec![blob("", rows)]));
                (&csharp::deps::api::ApiDeps, roles)
            }
            "deps" => {
                let mentions = one("mentions");
                let keys: csharp::mention_model::Mentions = serde_json::from_slice(&mentions[0].bytes).expect("mentions");
                (
                    &csharp::deps::Deps,
                    vec![
                        ("symbols", vec![Self::slice(&self.symbols, &keys.keys)]),
                        ("reach", vec![self.reached(key).1]),
                        ("mentions", mentions),
                    ],
                )
            }
            "facts" => (&csharp::code::facts::FactsOf, vec![("complete", one("complete"))]),
            "signatures" => (&csharp::deps::signatures::Signatures, self.api_names(key)),
            "outline-info" => {
                let deps = one("api-deps");
                let inherited = self.inherited(&deps[0]);
                (
                    &csharp::outline_info::OutlineInfo,
                    vec![
                        ("complete", one("complete")),
                        ("deps", deps),
                        ("inherited", inherited),
                        ("type", row()),
                    ],
                )
            }
            "outline" => {
                let deps = one("api-deps");
                let inherited = self.inherited(&deps[0]);
                (
                    &csharp::outline::Outline,
                    vec![
                        ("complete", one("complete")),
                        ("deps", deps),
                        ("inherited", inherited),
                        ("type", row()),
                    ],
                )
            }
            other => panic!("no producer {other}"),
        };
        let params = if name == "api-mentions" { r#"{"bodies":false}"# } else { "{}" };
        run(producer, key, params, roles).unwrap_or_else(|failure| panic!("{name} of {key}: {failure:?}"))
    }

    /// Returns the mentions of a type's declarations, and the symbol rows that decide their meaning.
    fn api_names(&self, key: &str) -> Vec<(&'static str, Vec<Input>)> {
        let mentions = self.output("api-mentions", key).bytes;
        let keys: csharp::mention_model::Mentions = serde_json::from_slice(&mentions).expect("mentions");
        vec![
            ("symbols", vec![Self::slice(&self.symbols, &keys.keys)]),
            ("mentions", vec![blob("", mentions)]),
        ]
    }

    pub(crate) fn digest(&self, name: &str, key: &str) -> Digest {
        Digest::of(&self.output(name, key).bytes)
    }

    /// Returns the table `//index:dependencies`.
    pub(crate) fn dependencies(&self) -> Input {
        let roles = vec![("deps", self.each("deps"))];
        blob(
            "",
            run(&csharp::dependencies::DependencyTable, "", "{}", roles)
                .expect("dependencies")
                .bytes,
        )
    }

    /// Returns one input per type, as list roles receive them.
    pub(crate) fn each(&self, name: &str) -> Vec<Input> {
        self.keys().iter().map(|key| blob(key, self.output(name, key).bytes)).collect()
    }
}
