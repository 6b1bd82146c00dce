//! Edits of symbols in a file of which it is not known under which symbols for `#if` it is compiled: only what is the same edit under all of them is
//! made. Else an edit could change what is not compiled, and say that it was done.

use super::symbol::{Asked, Refused};
use producers::csharp::preprocess::{blank, mentioned};
use std::collections::{BTreeMap, BTreeSet};

/// Of more symbols not all sets are tried.
const MOST_SYMBOLS: usize = 8;

/// Most readings of a file that are tried.
const MOST_READINGS: usize = 64;

/// An edit, if it is the same one whatever symbols are defined.
///
/// # Errors
/// When it is not, cannot be known to be, or is refused under all of them.
pub(super) fn whatever<T: PartialEq>(
    text: &str,
    asked: &Asked,
    edit: impl Fn(&BTreeSet<String>) -> Result<T, Refused>,
) -> Result<T, Refused> {
    let usual = edit(&BTreeSet::new());
    let is_usual = |symbols: &BTreeSet<String>| match (edit(symbols), &usual) {
        (Ok(one), Ok(other)) => one == *other,
        (Err(_), Err(_)) => true,
        _ => false,
    };
    match readings(text, &asked.new) {
        Some(readings) if readings.iter().all(is_usual) => usual,
        _ => Err(Refused::new(
            format!(
                "which declaration {} is hangs on the symbols for `#if` that the file is compiled under, which are not known here; nothing was changed",
                asked.symbol
            ),
            "name it without path and session, then they are those of its project; or edit what stands there with `replace`",
        )),
    }
}

/// Sets of symbols under which texts are read in all ways that there are; `None` where these are too many.
fn readings(text: &str, new: &str) -> Option<Vec<BTreeSet<String>>> {
    let symbols: BTreeSet<&str> = mentioned(text).into_iter().chain(mentioned(new)).collect();
    if symbols.len() > MOST_SYMBOLS {
        return None;
    }
    let mut readings = BTreeMap::new();
    for mask in 1..1_u32 << symbols.len() {
        let set = symbols.iter().enumerate().filter(|(at, _)| mask & 1 << at != 0);
        let set: BTreeSet<String> = set.map(|(_, symbol)| (*symbol).to_owned()).collect();
        readings.insert((blank(text, &set), blank(new, &set)), set);
        if readings.len() > MOST_READINGS {
            return None;
        }
    }
    Some(readings.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::super::symbol::{Where, edited};
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "public class Cond {\n#if NET9\n    public int M() => 9;\n    public int OnlyNew() => 1;\n#else\n    public int M() => 8;\n#endif\n#if !OLD\n    int N;\n#endif\n    int P;\n    int Q() {\n#if DEBUG\n        return P;\n#endif\n        return 1;\n    }\n}\n";

    fn edit(symbol: &str, at: Where, new: &str, defines: Option<&[&str]>) -> Result<String, Refused> {
        let asked = Asked {
            symbol: symbol.to_owned(),
            at,
            new: new.to_owned(),
            bare: false,
            defines: defines.map(|symbols| symbols.iter().map(|one| (*one).to_owned()).collect()),
        };
        edited(TEXT, &asked).map(|(made, _)| made)
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
        assert_eq!(none, "nothing in the file is called Cond#R");
    }

    proptest! {
        #[test]
        fn an_edit_without_symbols_is_that_of_every_reading(
            lines in proptest::collection::vec(proptest::sample::select(vec!["#if A", "#if !B", "#elif B", "#else", "#endif", "int M;", "int N;"]), 0..10),
            a: bool,
            b: bool
        ) {
            let text = format!("class C {{\n{}\n}}\n", lines.join("\n"));
            let asked = |defines| Asked { symbol: "C#M".to_owned(), at: Where::Replace, new: "long M;".to_owned(), bare: false, defines };
            let some = [("A", a), ("B", b)].into_iter().filter(|(_, is)| *is).map(|(symbol, _)| symbol.to_owned()).collect();
            if let Ok(made) = edited(&text, &asked(None)) {
                prop_assert_eq!(edited(&text, &asked(Some(some))), Ok(made));
            }
        }
    }
}
