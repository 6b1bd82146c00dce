//! Edits of symbols in a file whose `#if` symbols are unknown. An edit is applied only if it is the same under all of them; otherwise it could change
//! text that is not compiled.

use super::directives::{deciding, directives};
use super::meaning::find_declaration;
use super::symbol::{Refused, SymbolEdit};
use crate::code_text::declared::{list_declarations, parse_code as syntax};
use producers::csharp::preprocess::{blank, mentioned};
use std::collections::{BTreeMap, BTreeSet};

/// Above this number of symbols, not all sets are tried.
const MOST_SYMBOLS: usize = 8;

/// Most readings of a file that are tried.
const MOST_READINGS: usize = 128;

/// Returns the edit if it is the same under all symbols, or changes nothing where it can be applied. Fails when it differs, cannot be
/// decided, or is refused under all of them.
pub(super) fn edit_same_under_all_symbols<T: PartialEq + AsRef<str>>(
    text: &str,
    request: &SymbolEdit,
    edit: impl Fn(&BTreeSet<String>) -> Result<T, Refused>,
) -> Result<T, Refused> {
    let none = BTreeSet::new();
    let usual = edit(&none);
    let hangs = |what: &str, are: &str| {
        Refused::new(
            format!("{what} depends on the preprocessor symbols of the file, which are {are}unknown here; nothing was changed"),
            "name it without path and session, so that the symbols of its project apply; or edit the text with `replace`",
        )
    };
    let Some(readings) = readings(text, &request.new, &none) else {
        return Err(hangs("how the file is read", "too many to be tried and "));
    };
    let stands =
        |symbols| find_declaration(&list_declarations(text, &syntax(text, symbols)), &request.symbol).map(|found| found.range.clone());
    let mut idle = None;
    for symbols in &readings {
        let other = edit(symbols);
        let (at_odds, refused) = match (&usual, &other) {
            (Ok(one), Ok(other)) if one == other => continue,
            (Err(_), Err(_)) => continue,
            (Ok(one), Err(_)) if one.as_ref() == text => continue,
            (Err(_), Ok(one)) if one.as_ref() == text => {
                idle = other.ok();
                continue;
            }
            (Ok(_), Err(refused)) => (symbols, Some(refused)),
            (Err(refused), Ok(_)) => (&none, Some(refused)),
            (Ok(_), Ok(_)) => (symbols, None),
        };
        if let (Ok(one), Ok(other)) = (stands(&none), stands(symbols))
            && one.start == other.start
            && one.end != other.end
        {
            return Err(hangs(&format!("where {} ends", request.symbol), ""));
        }
        // Report the refusal only for a clear name; candidates mean that the name itself depends on the symbols.
        return Err(match refused.filter(|refused| refused.candidates.is_empty()) {
            Some(refused) => Refused {
                why: format!("where {}: {}", defined_sentence(at_odds), refused.why),
                ..refused.clone()
            },
            None => hangs(&format!("which declaration {} is", request.symbol), ""),
        });
    }
    idle.map_or(usual, Ok)
}

fn defined_sentence(symbols: &BTreeSet<String>) -> String {
    let names: Vec<&str> = symbols.iter().map(String::as_str).collect();
    match names.len() {
        0 => "no symbol is defined".to_owned(),
        1 => format!("{} is defined", names[0]),
        _ => format!("{} are defined", names.join(", ")),
    }
}

/// Returns sets of symbols that cover all readings of the texts, with the other symbols as in `defines`; `None` above the limit. With many symbols,
/// those that decide one branch are tried together.
pub(super) fn readings(text: &str, new: &str, defines: &BTreeSet<String>) -> Option<Vec<BTreeSet<String>>> {
    let symbols: BTreeSet<&str> = mentioned(text).into_iter().chain(mentioned(new)).collect();
    let others: BTreeSet<String> = defines.iter().filter(|one| !symbols.contains(one.as_str())).cloned().collect();
    let every = match symbols.len() <= MOST_SYMBOLS {
        true => explore_readings(text, new, &others, &|_, _| BTreeSet::from([symbols.clone()])),
        false => None,
    };
    every.or_else(|| {
        explore_readings(text, new, &others, &|was, is| {
            let of = |text, compiled: &str| deciding(&directives(text, compiled));
            of(text, was).union(&of(new, is)).cloned().collect()
        })
    })
}

/// Whether a text declares this whole name under any `#if` symbols; above the limit, without symbols only.
pub fn declares(text: &str, name: &str) -> bool {
    let none = BTreeSet::new();
    let readings = readings(text, "", &none).unwrap_or_else(|| vec![none]);
    let declares = |symbols: &BTreeSet<String>| {
        list_declarations(text, &syntax(text, symbols))
            .iter()
            .any(|one| one.is.name == name)
    };
    readings.iter().any(declares)
}

/// Returns the symbols to try together, from two texts as compiled.
type Together<'f, 't> = dyn Fn(&str, &str) -> BTreeSet<BTreeSet<&'t str>> + 'f;

/// Explores readings from the first one; returns one set of symbols for each.
fn explore_readings<'t>(
    text: &'t str,
    new: &'t str,
    others: &BTreeSet<String>,
    together: &Together<'_, 't>,
) -> Option<Vec<BTreeSet<String>>> {
    let mut readings = BTreeMap::new();
    let mut waiting = vec![others.clone()];
    let mut met: BTreeSet<BTreeSet<String>> = waiting.iter().cloned().collect();
    while let Some(set) = waiting.pop() {
        let (was, is) = (blank(text, &set), blank(new, &set));
        for symbols in together(&was, &is) {
            if symbols.len() > MOST_SYMBOLS {
                return None;
            }
            for mask in 0..1_u32 << symbols.len() {
                let some = symbols.iter().enumerate().filter(|(at, _)| mask & 1 << at != 0);
                let set: BTreeSet<String> = some.map(|(_, symbol)| (*symbol).to_owned()).chain(others.iter().cloned()).collect();
                if met.insert(set.clone()) {
                    waiting.push(set);
                }
            }
        }
        readings.entry((was, is)).or_insert(set);
        if readings.len() > MOST_READINGS {
            return None;
        }
    }
    Some(readings.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::super::symbol::{HeadPolicy, Where, edit_symbol};
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "public class Cond {\n#if NET9\n    public int M() => 9;\n    public int OnlyNew() => 1;\n#else\n    public int M() => 8;\n#endif\n#if !OLD\n    int N;\n#endif\n    int P;\n    int Q() {\n#if DEBUG\n        return P;\n#endif\n        return 1;\n    }\n}\n";

    fn edit(symbol: &str, at: Where, new: &str, defines: Option<&[&str]>) -> Result<String, Refused> {
        edit_of(TEXT, symbol, at, new, defines)
    }

    fn edit_of(text: &str, symbol: &str, at: Where, new: &str, defines: Option<&[&str]>) -> Result<String, Refused> {
        let request = SymbolEdit {
            symbol: symbol.to_owned(),
            at,
            new: new.to_owned(),
            head: HeadPolicy::Replaced,
            defines: defines.map(|symbols| symbols.iter().map(|one| (*one).to_owned()).collect()),
        };
        edit_symbol(text, &request).map(|(made, _)| made)
    }

    #[test]
    fn the_branch_that_is_compiled_is_edited_and_no_other() {
        let new = "    public int M() => 7;";
        let with = |defines: &[&str]| edit("Cond#M", Where::Replace, new, Some(defines));
        assert_eq!(with(&["NET9"]), Ok(TEXT.replace("=> 9", "=> 7")));
        assert_eq!(with(&[]), Ok(TEXT.replace("=> 8", "=> 7")));
        let only = "    public int OnlyNew() => 2;";
        assert_eq!(
            edit("Cond#OnlyNew", Where::Replace, only, Some(&["NET9"])),
            Ok(TEXT.replace("=> 1;", "=> 2;"))
        );
        assert!(edit("Cond#OnlyNew", Where::Replace, only, Some(&[])).is_err());
    }

    #[test]
    fn a_body_that_one_branch_has_alone_is_edited_in_it() {
        let open = "    /// <summary>M.</summary>\n    int M(int a)\n#if BODY\n    {\n        return a;\n    }";
        let text = format!("interface I {{\n    int A();\n{open}\n#else\n    ;\n#endif\n    int B();\n}}\n");
        let replace =
            |new: &str, defines: Option<&[&str]>| edit_of(&text, "I#M", Where::Replace, new, defines).map_err(|refused| refused.why);
        assert_eq!(replace(open, Some(&["BODY"])), Ok(text.clone()));
        let other = open.replace("return a", "return a + 1");
        assert_eq!(replace(&other, Some(&["BODY"])), Ok(text.replace("return a", "return a + 1")));
        let whole = format!("{open}\n#else\n    ;");
        assert_eq!(replace(&whole, Some(&[])), Ok(text.clone()));
        for new in [format!("{open}\n    int C;"), open.replace("int M", "int X; int M")] {
            assert!(replace(&new, Some(&["BODY"])).is_err(), "{new}");
        }
        // If the other branch has another member, the intended content of that branch is unknown.
        let split = open.replace("#if", " => 1; int N()\n#if");
        assert!(replace(&split, Some(&["BODY"])).is_err());
        for new in [open, &whole] {
            assert_eq!(replace(new, None), Ok(text.clone()));
        }
        let why = replace(&other, None).expect_err("which branch it is for is not known");
        assert!(
            why.starts_with("where I#M ends depends on the preprocessor symbols of the file"),
            "{why}"
        );
    }

    #[test]
    fn where_symbols_are_not_known_only_what_stands_under_none_is_edited() {
        for (symbol, new) in [("M", "int M() => 7;"), ("OnlyNew", "int OnlyNew() => 2;"), ("N", "long N;")] {
            for at in [Where::Replace, Where::Before, Where::After] {
                let new = if at == Where::Replace { new } else { "int Z;" };
                let refused = edit(&format!("Cond#{symbol}"), at, new, None).expect_err(symbol);
                assert!(refused.why.starts_with("which declaration Cond#"), "{}", refused.why);
            }
        }
        assert_eq!(
            edit("Cond#P", Where::After, "    int Z;", None),
            Ok(TEXT.replace("    int P;\n", "    int P;\n    int Z;\n"))
        );
        let body = edit("Cond#Q", Where::Replace, "int Q() => 1;", None).expect("a body may have branches");
        assert!(!body.contains("DEBUG"), "{body}");
        let none = edit("Cond#R", Where::Replace, "int R;", None).expect_err("not there").why;
        assert_eq!(none, "nothing in the file is named Cond#R");
    }

    #[test]
    fn of_many_symbols_only_what_stands_under_one_is_refused() {
        let fields: String = (0..12).map(|n| format!("#if S{n}\n    int F{n};\n#endif\n")).collect();
        let text = format!(
            "class C {{\n{fields}    int P;\n#if !S3 && !S5\n    int N;\n#endif\n    int Q() {{\n#if S1 || S2\n        return 1;\n#endif\n        return 2;\n    }}\n}}\n"
        );
        let edit = |symbol: &str, at: Where, new: &str| edit_of(&text, symbol, at, new, None).map_err(|refused| refused.why);
        assert_eq!(edit("C#P", Where::Replace, "long P;"), Ok(text.replace("int P;", "long P;")));
        for at in [Where::Before, Where::After] {
            assert!(edit("C#P", at, "    int Z;").is_ok_and(|made| made.contains("    int Z;\n")));
            assert!(edit("C#Q", at, "    int Z;\n#if S1\n    int Y;\n#endif").is_ok());
            for symbol in ["C#F7", "C#N"] {
                let why = edit(symbol, at, "int Z;").expect_err(symbol);
                assert!(why.starts_with(&format!("which declaration {symbol} is depends")), "{why}");
            }
            for (new, message) in [
                ("    int F7;", "where S7 is defined: there is a C#F7 already; nothing was changed"),
                (
                    "    int N;",
                    "where no symbol is defined: there is a C#N already; nothing was changed",
                ),
            ] {
                assert_eq!(edit("C#P", at, new).expect_err(new), message);
            }
        }
        assert!(edit("C#Q", Where::Replace, "int Q() => 1;").is_ok_and(|made| !made.contains("return")));
        assert_eq!(edit("C", Where::Replace, "class C { }"), Ok("class C { }\n".to_owned()));
        let symbols: Vec<String> = (0..9).map(|n| format!("S{n}")).collect();
        let text = format!("class C {{\n#if {}\n    int M;\n#endif\n    int P;\n}}\n", symbols.join(" || "));
        let why = edit_of(&text, "C#P", Where::Replace, "long P;", None).expect_err("too many").why;
        assert!(why.starts_with("how the file is read depends"), "{why}");
    }

    proptest! {
        #[test]
        fn an_edit_without_symbols_is_that_of_every_reading(
            lines in proptest::collection::vec(proptest::sample::select(vec!["#if A", "#if !B", "#elif B", "#else", "#endif", "int M;", "int N;", "}", "class C {"]), 0..10),
            a: bool,
            b: bool,
            has_many: bool
        ) {
            // Enough symbols that not all sets are tried.
            let others: String = (0..9).filter(|_| has_many).map(|n| format!("#if S{n}\nint S{n};\n#endif\n")).collect();
            let text = format!("class C {{\n{others}{}\n}}\n", lines.join("\n"));
            let request = |defines| SymbolEdit { symbol: "C#M".to_owned(), at: Where::Replace, new: "long M;".to_owned(), head: HeadPolicy::Replaced, defines };
            let some = [("A", a), ("B", b)].into_iter().filter(|(_, is)| *is).map(|(symbol, _)| symbol.to_owned()).collect();
            if let Ok(made) = edit_symbol(&text, &request(None)) {
                prop_assert_eq!(edit_symbol(&text, &request(Some(some))), Ok(made));
            }
        }
    }
}
