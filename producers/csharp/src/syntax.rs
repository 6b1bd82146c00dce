//! Producer `csharp/syntax`: the declarations and mentions of one file ([`Syntax`](super::model::Syntax), as a table: see
//! [`super::syntax_table`]), in one parse per file.
//!
//! Symbols for `#if` come from the parameter `defines` and from the input of that name, usually `//files/P:defines`, which contains only
//! those that matter to the file.

use super::ids::member_key;
use super::model::{Member, Span, Syntax, Tier, TypeDecl};
use super::{defines, parse};
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Registry};
use std::collections::BTreeSet;

/// Increment whenever the same text may give another [`Syntax`]: after a change of the rules of reading, the canonical text or the grammar.
pub const VERSION: u32 = 19;

pub fn register_syntax(registry: &mut Registry) {
    registry.add(SyntaxProducer);
}

pub use super::syntax_table::{decode, encode_syntax};

/// Maximum number of further symbol sets under which a file is read.
const MOST_SETS: usize = 8;

/// Adds what only other projects compile: types that the file does not declare under its own symbols, members that its types do not have,
/// and using directives. Adds such a member to its type with its condition, because several projects that compile a file share one type. Of the lines
/// that the file's own symbols exclude, only those of added declarations count as compiled: all other code is read under its own symbols.
fn add_declarations(syntax: &mut Syntax, other: Syntax, projects: &[String]) {
    for using in other.usings {
        if !syntax.usings.contains(&using) {
            syntax.usings.push(using);
        }
    }
    let known: BTreeSet<String> = syntax.types.iter().map(TypeDecl::symbol).collect();
    let theirs: BTreeSet<String> = other.types.iter().map(TypeDecl::symbol).collect();
    for decl in &mut syntax.types {
        if decl.of.is_empty() && !theirs.contains(&decl.symbol()) {
            decl.not_of.extend_from_slice(projects);
            decl.not_of.sort();
        }
    }
    let (shared, foreign): (Vec<TypeDecl>, Vec<TypeDecl>) = other.types.into_iter().partition(|decl| known.contains(&decl.symbol()));
    let mut added: Vec<Span> = Vec::new();
    for decl in shared {
        for known in syntax
            .types
            .iter_mut()
            .filter(|known| !known.of.is_empty() && known.symbol() == decl.symbol())
        {
            known.of.extend(
                projects
                    .iter()
                    .filter(|project| !known.of.contains(project))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
            known.of.sort();
        }
        added.extend(add_members(&mut syntax.types, decl));
    }
    added.extend(foreign.iter().map(|decl| decl.span));
    let is_added = |line: u32| added.iter().any(|span| (span.first..=span.last).contains(&line));
    syntax
        .excluded
        .retain(|line| !is_added(*line) || other.excluded.binary_search(line).is_ok());
    syntax.types.extend(foreign.into_iter().map(|decl| TypeDecl {
        of: projects.to_vec(),
        ..decl
    }));
}

/// Adds the members of a declaration that no declaration of its type has. Adds them to the overlapping declaration under the file's own
/// symbols or, without one, as a further part of a partial type. Returns the spans of what it adds.
fn add_members(types: &mut Vec<TypeDecl>, mut other: TypeDecl) -> Vec<Span> {
    let is_same = |decl: &TypeDecl| decl.namespace == other.namespace && decl.path == other.path;
    let known: BTreeSet<String> = types.iter().filter(|decl| is_same(decl)).flat_map(member_keys).collect();
    let added = |member: &Member| !known.contains(&member_key(member));
    let overlaps = |decl: &TypeDecl| decl.span.first <= other.span.last && other.span.first <= decl.span.last;
    match types.iter().position(|decl| is_same(decl) && overlaps(decl)) {
        Some(at) => {
            let part = &mut types[at];
            let is_inside = |member: &Member| part.span.first <= member.span.first && member.span.last <= part.span.last;
            let added: Vec<Member> = other
                .members
                .into_iter()
                .filter(|member| added(member) && is_inside(member))
                .collect();
            let spans = added.iter().map(|member| member.span).collect();
            part.members.extend(added);
            // Declarators of one declaration have the same span; the stable sort keeps their order.
            part.members.sort_by_key(|member| (member.span.first, member.span.from));
            spans
        }
        None if other.modifiers.iter().any(|modifier| modifier == "partial") => {
            other.members.retain(added);
            let span = other.span;
            types.push(other);
            vec![span]
        }
        None => Vec::new(),
    }
}

fn member_keys(decl: &TypeDecl) -> impl Iterator<Item = String> + '_ {
    decl.members.iter().map(member_key)
}

struct SyntaxProducer;

impl Producer for SyntaxProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/syntax", VERSION)
    }

    fn reads_at_most(&self) -> usize {
        text::LARGEST
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        defines::check_defines(params)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let file = inputs.var("file").unwrap_or_default();
        let defines = defines::read_defines(inputs)?;
        let (text, unread) = text::decode(&inputs.single("bytes")?.bytes, file);
        let refused = text.is_empty() && unread.is_some();
        let (syntax, diagnostics) = match refused {
            true => (parse::empty_syntax(Tier::Nothing), Vec::new()),
            false => parse::read(&text, &defines, file),
        };
        let (mut syntax, mut diagnostics) = (syntax, diagnostics);
        for other in defines::others(inputs)?.iter().filter(|_| !refused).take(MOST_SETS) {
            add_declarations(&mut syntax, parse::read(&text, &other.symbols, file).0, &other.projects);
        }
        diagnostics.splice(0..0, unread);
        Ok(Output {
            bytes: encode_syntax(&syntax),
            diagnostics,
            ..Output::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{blob, run};
    use super::*;

    #[test]
    fn types_that_only_another_project_compiles_are_there() {
        let text = "class A { }\n#if OTHER\nclass B { class C { } }\n#else\nclass D { }\n#endif\n";
        let of = |defines: &str| {
            let roles = vec![("bytes", vec![blob("", text)]), ("defines", vec![blob("", defines)])];
            let output = run(&SyntaxProducer, "", "{}", roles).expect("a syntax");
            let syntax = decode(&output.bytes).expect("a syntax");
            let types = syntax.types.iter();
            let types = types.map(|decl| {
                let of = if decl.of.is_empty() { "own".to_owned() } else { decl.of.join("+") };
                let not_of: String = decl.not_of.iter().map(|path| format!(" not {path}")).collect();
                format!("{} {of}{not_of}", decl.symbol())
            });
            (types.collect::<Vec<_>>().join(", "), syntax.excluded)
        };
        assert_eq!(of("[]"), ("A own, D own".to_owned(), vec![2, 3, 4, 6]));
        // Some project compiles each line that is no directive.
        assert_eq!(
            of(r#"[["Q/Q.csproj",null,"OTHER"]]"#),
            (
                "A own, D own not Q/Q.csproj, B Q/Q.csproj, B+C Q/Q.csproj".to_owned(),
                vec![2, 4, 6]
            )
        );
        assert_eq!(
            of(r#"["OTHER",["Q/Q.csproj",null]]"#),
            (
                "A own, B own not Q/Q.csproj, B+C own not Q/Q.csproj, D Q/Q.csproj".to_owned(),
                vec![2, 4, 6]
            )
        );
    }

    #[test]
    fn a_shared_body_is_read_under_the_symbols_of_its_own_project() {
        let text = "class A { int M() {\n#if OTHER\n return 1;\n#else\n return 2;\n#endif\n}\n#if OTHER\n int N;\n#endif\n}\n";
        let roles = vec![
            ("bytes", vec![blob("", text)]),
            ("defines", vec![blob("", r#"[["Q/Q.csproj",null,"OTHER"]]"#)]),
        ];
        let output = run(&SyntaxProducer, "", "{}", roles).expect("a syntax");
        assert_eq!(decode(&output.bytes).expect("a syntax").excluded, [2, 3, 4, 6, 8, 10]);
    }

    #[test]
    fn members_that_only_another_project_compiles_are_there() {
        let text = "partial class A {\n  void Go() { }\n#if OTHER\n  int x, y;\n  void Go(int a) { }\n#else\n  long x;\n#endif\n  void Last() { }\n}\n\
                    #if OTHER\npartial class A { void More() { } }\n#endif\n";
        let roles = vec![
            ("bytes", vec![blob("", text)]),
            ("defines", vec![blob("", r#"[["Q/Q.csproj",null,"OTHER"]]"#)]),
        ];
        let output = run(&SyntaxProducer, "", "{}", roles).expect("a syntax");
        let types = decode(&output.bytes).expect("a syntax").types;
        let members: Vec<String> = types
            .iter()
            .flat_map(|decl| &decl.members)
            .map(|one| format!("{} {}", one.signature, one.condition))
            .collect();
        let expected = [
            "void Go() ", "int y OTHER", "void Go(int a) OTHER", "long x !OTHER", "void Last() ", "void More() ",
        ];
        assert_eq!((types.len(), members), (2, expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_binary_file_has_no_syntax_and_a_diagnostic() {
        let tier = |bytes: &[u8]| {
            let roles = vec![("bytes", vec![blob("", bytes)]), ("defines", vec![blob("", "[]")])];
            let output = run(&SyntaxProducer, "", "{}", roles).expect("a syntax");
            (decode(&output.bytes).expect("a syntax").tier, output.diagnostics.len())
        };
        assert_eq!(tier(b"\0\x01class A { }"), (Tier::Nothing, 1));
        assert_eq!(tier(b""), (Tier::Whole, 0));
        assert_eq!(tier(b"class A { }"), (Tier::Whole, 0));
        assert_eq!(tier(b"class A { } // \xe9"), (Tier::Whole, 1));
    }
}
