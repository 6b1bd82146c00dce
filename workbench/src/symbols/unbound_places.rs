//! Finds names that are not bound: in code that `#if` excludes, in attributes of assemblies and in using directives. The number of arguments excludes
//! some calls of a method; all other places are possible uses.

use super::excluded_code::ExcludedCode;
use super::outputs::{Outputs, file_label};
use super::usages::{Usages, UseDoubt};
use super::word_index::WordSource;
use crate::code_text::lines::line_and_column;
use crate::code_text::lists::{ListKind, list_at};
use producers::csharp::defines;
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::members::ParameterRow;
use producers::csharp::outside_types::names_outside_types;
use producers::csharp::preprocess::blank;
use producers::csharp::usages::{Place, display_line};
use std::collections::{BTreeMap, BTreeSet};

/// The subject of a search by name.
pub(super) struct SearchedName<'s> {
    pub(super) word: &'s str,
    /// Parameters of the wanted overload; `None` for all overloads, and for a subject that is not a method.
    pub(super) method: Option<&'s [ParameterRow]>,
    /// Whether the subject is a type, or its constructors, which are written with the type's name.
    pub(super) is_type: bool,
    /// Whether the subject is a constructor.
    pub(super) is_constructor: bool,
    /// Whether a type of this simple name may have the subject: as its own member, of a base or of an heir.
    pub(super) may_have: Box<dyn Fn(&str) -> bool + 's>,
    /// Whether the workspace declares extension members of the name.
    pub(super) is_extension: bool,
}

impl SearchedName<'_> {
    /// Whether a name may refer to the subject; an attribute may omit the ending `Attribute`.
    fn is_named(&self, name: &str) -> bool {
        let name = name.trim_start_matches('@');
        let is_short = || self.is_type && self.word.strip_suffix("Attribute") == Some(name);
        name == self.word || is_short()
    }
}

/// Adds the places of unbound names that may refer to the subjects to their possible uses, in files where `sees` is true.
pub(super) fn add_unbound<O: Outputs>(
    outputs: &mut O,
    wanted: &[SearchedName<'_>],
    sees: impl Fn(usize, &str) -> bool,
    found: &mut [Usages],
) -> Result<(), O::Error> {
    let mut naming: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    let words = outputs.word_index(WordSource::Variants)?;
    for (at, wanted) in wanted.iter().enumerate() {
        found[at].unread.extend(words.unread().map(str::to_owned));
        let short = wanted.word.strip_suffix("Attribute").filter(|_| wanted.is_type);
        for word in std::iter::once(wanted.word).chain(short) {
            for (file, _) in words.holders(word, "") {
                let file = file.name();
                if sees(at, &file) {
                    naming.entry(file).or_default().insert(at);
                }
            }
        }
    }
    let labels = |target| naming.keys().map(|file| file_label(file, target)).collect::<Vec<String>>();
    if naming.is_empty() {
        return Ok(());
    }
    let (sources, defines) = (outputs.read(&labels("source"))?, outputs.read(&labels("defines"))?);
    for (((file, of), source), known) in naming.iter().zip(sources).zip(defines) {
        let read = source.bytes.zip(known.bytes.and_then(|bytes| defines::read(&bytes).ok()));
        let Some((source, known)) = read else {
            of.iter().for_each(|at| found[*at].unread.push(source.label.clone()));
            continue;
        };
        let text = String::from_utf8_lossy(&source);
        let compiled = blank(&text, &known.own.into_iter().collect());
        for at in of {
            for (byte, why) in unbound_places(&text, &compiled, &wanted[*at]) {
                found[*at].possible.entry(place_at(file, &text, byte)).or_insert(why);
            }
        }
    }
    Ok(())
}

pub(super) fn place_at(file: &str, text: &str, byte: usize) -> Place {
    let (line, column) = line_and_column(text, byte);
    let start = text[..byte].rfind('\n').map_or(0, |end| end + 1);
    let end = text[byte..].find('\n').map_or(text.len(), |length| byte + length);
    Place {
        file: file.to_owned(),
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
        text: display_line(&text[start..end], byte - start, false),
        ..Place::default()
    }
}

/// Returns the places of a text where unbound names may refer to the subject.
fn unbound_places(text: &str, compiled: &str, wanted: &SearchedName<'_>) -> Vec<(usize, UseDoubt)> {
    let outside = names_outside_types(compiled).into_iter();
    let is_constructed = |end: usize| !wanted.is_constructor || compiled[end..].trim_start().starts_with(['(', ']', ',']);
    let outside = outside.filter(|bytes| wanted.is_named(&compiled[bytes.clone()]) && is_constructed(bytes.end));
    let excluded = excluded_places(text, compiled, wanted).into_iter();
    let mut found: Vec<(usize, UseDoubt)> = excluded.map(|byte| (byte, UseDoubt::Excluded)).collect();
    found.extend(outside.map(|bytes| (bytes.start, UseDoubt::OutsideTypes)));
    found
}

/// Returns the places where excluded code may refer to the subject.
fn excluded_places(text: &str, compiled: &str, wanted: &SearchedName<'_>) -> Vec<usize> {
    let tokens = lex(text).tokens;
    let code = ExcludedCode::of_tokens(text, compiled, &tokens);
    let own = wanted.method.unwrap_or_default();
    let required = own.iter().filter(|one| !one.optional && !one.params).count();
    let receiver = usize::from(own.first().is_some_and(|one| one.this));
    let most = if own.iter().any(|one| one.params) { usize::MAX } else { own.len() };
    // What another compiled type declares, or has as its own member.
    let is_of_other = |at: usize| {
        let is_own = code.is_declared(at) || code.is_of_this(at) && !wanted.is_extension;
        !wanted.is_type && is_own && code.type_around(at).is_some_and(|around| !(wanted.may_have)(around))
    };
    let may_be = |at: usize| {
        let is_declared = || at > 0 && matches!(tokens[at - 1].text(text), "class" | "struct" | "record" | "~");
        if wanted.is_constructor && is_declared() || code.is_of_directive(at) || is_of_other(at) {
            return false;
        }
        let next = tokens.get(at + 1).filter(|next| next.text(text) == "(");
        match next.and_then(|next| list_at(text, next.start as usize, ListKind::Arguments)) {
            Some(_) if wanted.method.is_none() => true,
            Some(list) => (required.saturating_sub(receiver)..=most).contains(&list.pieces.len()),
            None => true,
        }
    };
    (0..tokens.len())
        .filter(|at| tokens[*at].kind == Kind::Word && wanted.is_named(tokens[*at].text(text)) && code.is_excluded(*at) && may_be(*at))
        .map(|at| tokens[at].start as usize)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::super::usages_tests::find_usages;
    use super::*;

    #[test]
    fn excluded_calls_are_told_by_their_arguments() {
        let row = |name: &str, optional: bool| ParameterRow {
            kind: "int".to_owned(),
            name: name.to_owned(),
            optional,
            params: false,
            this: false,
        };
        let own = [row("a", false), row("b", true)];
        let wanted = |method| SearchedName {
            word: "M",
            method,
            is_type: false,
            is_constructor: false,
            may_have: Box::new(|_| true),
            is_extension: false,
        };
        let text = "class C {\n#if X\n int A => M(1, 2, 3) + N(1);\n int B => M() + M(1);\n#else\n int D => M(1);\n#endif\n}\n";
        let compiled = blank(text, &BTreeSet::new());
        let found = excluded_places(text, &compiled, &wanted(Some(&own)));
        assert_eq!(excluded_places(text, &compiled, &wanted(None)).len(), 3);
        assert_eq!(found, [text.find("M(1);\n#else").expect("a call")]);
        assert_eq!(
            excluded_places(text, &blank(text, &BTreeSet::from(["X".to_owned()])), &wanted(Some(&own))).len(),
            1
        );
    }

    #[test]
    fn members_of_other_types_in_excluded_code_are_no_uses() {
        let text = "class A { public void Go(int a) { } public int On; }\nclass B : A { }\nclass C { }\n";
        let other = "class D {\n#if On\nvoid Go(int a) { }\nvoid M() { this.Go(1); Go(2); }\nint On;\n#endif\n}
partial class B2 : B {\n#if OLD\nvoid N() { this.Go(3); }\n#endif\n}\n#if OLD\nclass E : A { void O() { base.Go(4); } }\nclass D : A { void P() { this.Go(5); } }\n#endif\n";
        let mut sample = Sample::from_files(&[("a.cs", text), ("b.cs", other)]);
        let mut lines = |symbol: &str| -> Vec<u32> { find_usages(&mut sample, symbol).1.possible.keys().map(|place| place.line).collect() };
        assert_eq!(lines("A.Go"), [4, 10, 14, 15]);
        assert_eq!(lines("A.On"), [0_u32; 0]);
    }

    #[test]
    fn names_that_nothing_binds_are_possible() {
        let text = "[assembly: Marked(typeof(A))]\n[module: MarkedAttribute(null)]\nclass A { public void Go() { } }\nclass MarkedAttribute : System.Attribute { public MarkedAttribute(object of) { } }\n";
        let other = "using X = A;\nclass B {\n#if OLD\nvoid M(A a) { a.Go(); Go(1); }\n// Go\n#endif\n}\n";
        let mut sample = Sample::from_files(&[("a.cs", text), ("b.cs", other)]);
        let mut places = |symbol: &str| {
            let found = find_usages(&mut sample, symbol).1;
            assert_eq!((found.certain.len(), found.unseen), (0, Vec::new()), "{symbol}");
            let shown = found
                .possible
                .iter()
                .map(|(place, why)| format!("{}:{}:{} {why}", place.file, place.line, place.column));
            shown.collect::<Vec<_>>()
        };
        let (outside, excluded) = (
            "the name is the same; cortex does not bind names outside of types",
            "in code that #if excludes, which cortex does not bind",
        );
        assert_eq!(places("A.Go"), [format!("b.cs:4:17 {excluded}")]);
        assert_eq!(
            places("A"),
            [
                format!("a.cs:1:26 {outside}"),
                format!("b.cs:1:11 {outside}"),
                format!("b.cs:4:8 {excluded}")
            ]
        );
        assert_eq!(
            places("MarkedAttribute"),
            [format!("a.cs:1:12 {outside}"), format!("a.cs:2:10 {outside}")]
        );
    }
}
