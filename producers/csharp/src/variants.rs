//! `csharp/variants`: the parts of a file that belong to no type under the symbols in effect, as JSON. These are declarations that compile
//! only under other symbols, each with its condition, the words in inactive parts, and the names outside of every type.
//!
//! For every inactive branch, the producer searches for the smallest change of symbols that compiles it, and parses the file once per set. Files
//! without inactive branches cost one scan. The producer sees one file and does not know whether any project can set a symbol.

use super::ids::{kind_word, member_key, member_kind_word};
use super::model::{Syntax, TypeDecl};
use super::outside_types::names_outside_types;
use super::preprocess::{self, Active};
use super::render::doc;
use super::{defines, parse};
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::json;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of symbol sets under which a file is parsed.
const MOST_SETS: usize = 16;

/// Maximum number of branches examined.
const MOST_BRANCHES: usize = 256;

/// Maximum number of symbols tried in one branch's conditions.
const MOST_SYMBOLS: usize = 8;

/// A type or member not compiled under the symbols in effect. Fields are in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Variant {
    /// Namespace and path of the type or of the member's declaring type.
    #[serde(rename = "type")]
    pub symbol: String,
    /// Key of the member; empty for the type itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    pub kind: String,
    /// One-line declaration.
    pub signature: String,
    /// Condition under which it is compiled.
    pub condition: String,
    /// First sentence of the documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

/// Contents of a file that belong to no type under the symbols in effect. Fields are in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncompiled {
    /// Declarations in inactive branches, sorted.
    pub declared: Vec<Variant>,
    /// Names outside of every type that may mean a type or a member, sorted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub outside: BTreeSet<String>,
    /// Names and keywords in inactive branches, sorted, including those in comments and strings.
    pub words: BTreeSet<String>,
}

/// The producer `csharp/variants`.
#[derive(Debug)]
pub struct Variants;

impl Producer for Variants {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/variants", 4)
    }

    fn reads_at_most(&self) -> usize {
        text::LARGEST
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        defines::check_defines(params)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let defines = defines::read_defines(inputs)?;
        let (text, _) = text::decode(&inputs.single("bytes")?.bytes, "");
        let (variants, complete) = variants(&text, &defines);
        let active = preprocess::active(&text, &defines);
        let outside = names_outside_types(&active.text).into_iter();
        let uncompiled = Uncompiled {
            declared: variants,
            outside: outside.map(|bytes| active.text[bytes].trim_start_matches('@').to_owned()).collect(),
            words: active.unused_words(),
        };
        let mut output = Output::new(json::encode(&uncompiled));
        if !complete {
            let message = format!("the file was read under {MOST_SETS} sets of symbols only; it has more");
            output
                .diagnostics
                .push(Diagnostic::new(Severity::Note, ErrorCode::CS_VARIANTS, message));
        }
        Ok(output)
    }
}

/// Returns the sorted declarations under other symbols, and whether the limit of symbol sets sufficed.
pub fn variants(text: &str, defines: &BTreeSet<String>) -> (Vec<Variant>, bool) {
    let active = preprocess::active(text, defines);
    let (sets, complete) = sets(&active, defines);
    let mut found = BTreeSet::new();
    if !sets.is_empty() {
        let known = declared_variants(&parse::read(text, defines, "").0, "");
        for (flipped, symbols) in &sets {
            let (syntax, _) = parse::read(text, symbols, "");
            let described: Vec<String> = flipped
                .iter()
                .map(|symbol| {
                    if defines.contains(symbol) {
                        format!("!{symbol}")
                    } else {
                        symbol.clone()
                    }
                })
                .collect();
            for (place, variant) in declared_variants(&syntax, &described.join(" && ")) {
                if !known.contains_key(&place) {
                    found.insert(variant);
                }
            }
        }
    }
    // Several sets may contain the same declaration, with its own condition or with that of a whole branch.
    let mut variants: Vec<Variant> = found.into_iter().collect();
    variants.dedup_by(|next, last| (&next.symbol, &next.key, &next.signature) == (&last.symbol, &last.key, &last.signature));
    (variants, complete)
}

type Sets = BTreeMap<BTreeSet<String>, BTreeSet<String>>;

/// Returns symbol sets that compile inactive branches, by the symbols that differ, and whether their limit sufficed.
fn sets(active: &Active<'_>, defines: &BTreeSet<String>) -> (Sets, bool) {
    let mut sets = Sets::new();
    let mut complete = true;
    for section in active.unused() {
        if sets.values().any(|symbols| active.is_compiled_under(section, symbols)) {
            continue;
        }
        let mentioned: Vec<&str> = active.symbols_of_section(section).into_iter().take(MOST_SYMBOLS).collect();
        let mut masks: Vec<u32> = (1..1_u32 << mentioned.len()).collect();
        masks.sort_by_key(|mask| mask.count_ones());
        let set = masks.into_iter().find_map(|mask| {
            let flipped = mentioned.iter().enumerate().filter(|(at, _)| mask & 1 << at != 0);
            let flipped: BTreeSet<String> = flipped.map(|(_, symbol)| (*symbol).to_owned()).collect();
            let symbols: BTreeSet<String> = defines.symmetric_difference(&flipped).cloned().collect();
            active.is_compiled_under(section, &symbols).then_some((flipped, symbols))
        });
        if let Some((flipped, symbols)) = set {
            if sets.len() == MOST_SETS {
                complete = false;
                break;
            }
            sets.insert(flipped, symbols);
        }
    }
    (sets, complete)
}

/// Returns all declarations of a file; `otherwise` is the condition of declarations without one.
fn declared_variants(syntax: &Syntax, otherwise: &str) -> BTreeMap<(String, String, String), Variant> {
    let mut all = BTreeMap::new();
    let mut add = |variant: Variant| {
        all.insert((variant.symbol.clone(), variant.key.clone(), variant.signature.clone()), variant);
    };
    let or = |conditions: [&String; 2]| {
        let written = conditions.into_iter().find(|condition| !condition.is_empty());
        written.map_or_else(|| otherwise.to_owned(), Clone::clone)
    };
    for decl in &syntax.types {
        add(Variant {
            symbol: decl.symbol(),
            key: String::new(),
            kind: kind_word(decl.kind).to_owned(),
            signature: header_text(decl),
            condition: or([&decl.condition, &decl.condition]),
            summary: doc::parse_doc_comment(&decl.doc).first_sentence(),
        });
        for member in &decl.members {
            add(Variant {
                symbol: decl.symbol(),
                key: member_key(member),
                kind: member_kind_word(member.kind).to_owned(),
                signature: member.signature.clone(),
                condition: or([&member.condition, &decl.condition]),
                summary: doc::parse_doc_comment(&member.doc).first_sentence(),
            });
        }
    }
    all
}

fn header_text(decl: &TypeDecl) -> String {
    if decl.bases.is_empty() {
        decl.signature.clone()
    } else {
        format!("{} : {}", decl.signature, decl.bases.join(", "))
    }
}

impl Active<'_> {
    /// Returns the inactive branches, in order.
    fn unused(&self) -> impl Iterator<Item = usize> {
        self.unused_sections().take(MOST_BRANCHES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant_texts(text: &str, defines: &[&str]) -> Vec<String> {
        let defines = defines.iter().map(|symbol| (*symbol).to_owned()).collect();
        let (variants, complete) = variants(text, &defines);
        assert!(complete);
        let line = |variant: &Variant| format!("{} {} {} [{}]", variant.symbol, variant.key, variant.signature, variant.condition);
        variants.iter().map(line).collect()
    }

    #[test]
    fn types_and_members_of_other_symbols() {
        let text = "#if NET\nclass A {\n#if DEBUG\nint a;\n#else\nint b;\n#endif\n}\n#elif OLD && !NEW\nclass B { void M() { } }\n#endif\nclass C\n#if OLD\n: D\n#endif\n{ }";
        assert_eq!(
            variant_texts(text, &["NET"]),
            [
                "A a int a [NET && DEBUG]",
                "B  class B [!NET && (OLD && !NEW)]",
                "B M() void M() [!NET && (OLD && !NEW)]",
                "C  class C : D [!NET && OLD]"
            ]
        );
        assert_eq!(variant_texts("class A { }\n#if true\n#else\nclass B { }\n#endif", &[]), [""; 0]);
        assert_eq!(variant_texts("class A { }", &[]), [""; 0]);
    }

    #[test]
    fn words_of_parts_that_are_not_compiled() {
        let words = |text: &str, defines: &[&str]| -> Vec<String> {
            let defines = defines.iter().map(|symbol| (*symbol).to_owned()).collect();
            preprocess::active(text, &defines).unused_words().into_iter().collect()
        };
        let text = "class A {\n#if NET\nint one = @two;\n#elif OLD\nvoid Dreißig_3() { }\n#if DEEP\nint deep;\n#endif\n#else\nvar x;\n#endif\nint all; }";
        assert_eq!(words(text, &["NET"]), ["Dreißig_3", "deep", "int", "var", "void", "x"]);
        assert_eq!(words(text, &["OLD"]), ["deep", "int", "one", "two", "var", "x"]);
        assert_eq!(words("class A { }", &[]), [""; 0]);
    }

    #[test]
    fn many_branches_end() {
        let mut text = String::new();
        for number in 0..2_000 {
            text.push_str(&format!("#if S{number}\nclass C{number} {{ }}\n#endif\n"));
        }
        let (found, complete) = variants(&text, &BTreeSet::new());
        assert_eq!((found.len(), complete), (MOST_SETS, false));
    }
}
