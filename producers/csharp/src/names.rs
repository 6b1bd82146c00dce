//! Producer `csharp/names`: the part of a file's syntax that indexes need. Edits of bodies, members, comments and lines stop at this node.

use super::model::{Syntax, TypeDecl, TypeKind, Using};
use super::syntax;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId, Registry};
use engine::values::cbor;
use minicbor::{Decode, Encode};
use std::collections::{BTreeSet, HashSet};

/// Increase whenever the same syntax may give other [`Names`].
pub const VERSION: u32 = 7;

/// One type declaration as an index sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct NamedType {
    /// Namespace, dotted; `""` for the global namespace.
    #[n(0)]
    pub namespace: String,
    /// Symbol path without namespace: ``Outer`1+Nested``.
    #[n(1)]
    pub path: String,
    #[n(2)]
    pub name: String,
    #[n(3)]
    pub kind: TypeKind,
    /// Number of its own type parameters.
    #[n(4)]
    pub arity: u32,
    /// `public`, `internal`, `protected`, `private`, `protected internal`, `private protected` or `file`; as written, otherwise the language's
    /// default for its position.
    #[n(5)]
    pub accessibility: String,
    /// Whether it is declared `partial`.
    #[n(6)]
    pub is_partial: bool,
    /// Whether it is declared `static`: extension methods live in such classes.
    #[n(7)]
    pub is_static: bool,
    /// Base list as written, canonical, in source order.
    #[n(8)]
    pub bases: Vec<String>,
    /// Sorted paths of the projects that compile it, if the file's owner does not.
    #[n(9)]
    pub of: Vec<String>,
    /// Sorted paths of the projects that compile its file without it, if the file's owner compiles it.
    #[n(10)]
    pub not_of: Vec<String>,
}

/// The facts of one file that indexes need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Names {
    /// Type declarations, sorted and unique.
    #[n(0)]
    pub types: Vec<NamedType>,
    /// `global using` directives, sorted.
    #[n(1)]
    pub global_usings: Vec<Using>,
    /// Namespaces with a type or a using, each with its outer namespaces, sorted; without the global one.
    #[n(2)]
    pub namespaces: Vec<String>,
    /// Whether the file has top-level statements (an implicit `Program`, listed in the types).
    #[n(3)]
    pub top_level: bool,
    /// Whether the file is compiled alone unless a project compiles it.
    #[n(4)]
    pub is_app: bool,
    /// Whether the file is marked as generated code.
    #[n(5)]
    pub is_generated: bool,
    /// Assemblies that see internal types of the compiling assembly.
    #[n(6)]
    pub friends: Vec<String>,
}

/// Projects a file's syntax to [`Names`].
pub fn names_of_file(syntax: &Syntax) -> Names {
    let interfaces: HashSet<(&str, &str)> = syntax
        .types
        .iter()
        .filter(|decl| decl.kind == TypeKind::Interface)
        .map(|decl| (decl.namespace.as_str(), decl.path.as_str()))
        .collect();
    let mut types: Vec<NamedType> = syntax
        .types
        .iter()
        .map(|decl| NamedType {
            namespace: decl.namespace.clone(),
            path: decl.path.clone(),
            name: decl.name.clone(),
            kind: decl.kind,
            arity: decl.type_parameters.len() as u32,
            accessibility: accessibility(&decl.modifiers, default_accessibility(&interfaces, decl)).to_owned(),
            is_partial: decl.modifiers.iter().any(|modifier| modifier == "partial"),
            is_static: decl.modifiers.iter().any(|modifier| modifier == "static"),
            bases: decl.bases.clone(),
            of: decl.of.clone(),
            not_of: decl.not_of.clone(),
        })
        .collect();
    types.sort();
    types.dedup();
    let mut global_usings: Vec<Using> = syntax.usings.iter().filter(|using| using.is_global).cloned().collect();
    global_usings.sort();
    global_usings.dedup();
    let mut namespaces = BTreeSet::new();
    for written in syntax
        .types
        .iter()
        .map(|decl| &decl.namespace)
        .chain(syntax.usings.iter().map(|using| &using.namespace))
    {
        if !written.is_empty() && !namespaces.contains(written) {
            namespaces.extend(written.match_indices('.').map(|(dot, _)| written[..dot].to_owned()));
            namespaces.insert(written.clone());
        }
    }
    Names {
        types,
        global_usings,
        namespaces: namespaces.into_iter().collect(),
        top_level: syntax.top_level,
        is_app: syntax.is_app,
        is_generated: syntax.is_generated,
        friends: syntax.friends.clone(),
    }
}

/// Returns C#'s default accessibility: `internal` at the top level, `public` in an interface, `private` in other types.
fn default_accessibility(interfaces: &HashSet<(&str, &str)>, decl: &TypeDecl) -> &'static str {
    let Some((outer, _)) = decl.path.rsplit_once('+') else {
        return "internal";
    };
    if interfaces.contains(&(decl.namespace.as_str(), outer)) {
        "public"
    } else {
        "private"
    }
}

fn accessibility(modifiers: &[String], default: &'static str) -> &'static str {
    let has = |word: &str| modifiers.iter().any(|modifier| modifier == word);
    match (has("public"), has("protected"), has("internal"), has("private"), has("file")) {
        (true, ..) => "public",
        (_, true, true, ..) => "protected internal",
        (_, true, _, true, _) => "private protected",
        (_, true, ..) => "protected",
        (_, _, true, ..) => "internal",
        (_, _, _, true, _) => "private",
        (_, _, _, _, true) => "file",
        _ => default,
    }
}

pub fn register_names(registry: &mut Registry) {
    registry.add(NamesProducer);
}

/// Decodes the output of `csharp/names`. Errors: a permanent failure if the bytes are no such output.
pub fn decode_names(bytes: &[u8]) -> Result<Names, Failure> {
    minicbor::decode(bytes).map_err(|error| Failure::permanent(format!("the input is no output of csharp/names: {error}")))
}

struct NamesProducer;

impl Producer for NamesProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/names", VERSION)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let syntax = syntax::decode(&inputs.single("syntax")?.bytes)?;
        Ok(Output::new(cbor::encode(&names_of_file(&syntax))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::read;

    fn of(text: &str) -> Names {
        names_of_file(&read(text, &BTreeSet::new(), "f.cs").0)
    }

    #[test]
    fn bodies_docs_and_lines_do_not_matter_but_headers_do() {
        let first = of(
            "global using A.B; namespace N.M { public static partial class C<T> : D<T> { class E { } interface I { enum F { } } int x; } }",
        );
        let edited = of(
            "global using A.B;\n\n/* c */ namespace N.M {\n/// <summary/>\n [X] public static partial class C<T> : D<T> { void Go() { x(); } class E { } interface I { enum F { G } } } }",
        );
        assert_eq!(first, edited);
        let shown: Vec<String> = first
            .types
            .iter()
            .map(|found| format!("{} {} {} {:?}", found.accessibility, found.path, found.arity, found.bases))
            .collect();
        assert_eq!(
            shown,
            [
                "public C`1 1 [\"D<T>\"]", "private C`1+E 0 []", "private C`1+I 0 []", "public C`1+I+F 0 []"
            ]
        );
        assert_eq!(
            (
                first.namespaces.join(" "),
                first.global_usings.len(),
                first.types[0].is_partial,
                first.types[0].is_static
            ),
            ("N N.M".to_owned(), 1, true, true)
        );
        assert_ne!(
            first,
            of("global using A.B; namespace N.M { public static class C<T> : D<T> { class E { } interface I { enum F { } } } }")
        );
        let bytes = minicbor::to_vec(&first).expect("in memory");
        assert_eq!(decode_names(&bytes), Ok(first));
    }
}
