//! `[assembly: InternalsVisibleTo("…")]`: the assemblies that see the internal types of the assembly that compiles a file.

use super::tokens::Tokens;

/// Stands for all assemblies, if a name is not a literal text.
pub(crate) const ANY: &str = "*";

/// Returns the names of the assemblies in the order of the text, without public keys.
pub(super) fn friends(tokens: &Tokens<'_>) -> Vec<String> {
    const NAME: &str = "InternalsVisibleTo";
    if memchr::memmem::find(tokens.source.as_bytes(), NAME.as_bytes()).is_none() {
        return Vec::new();
    }
    let is_name = |at: usize| matches!(tokens.text(at), NAME | "InternalsVisibleToAttribute");
    let named = (0..tokens.all.len()).filter(|at| is_name(*at) && tokens.is(at + 1, "("));
    let is_of_assembly = |at: &usize| {
        let opener = (0..*at).rev().find(|before| matches!(tokens.text(*before), "[" | "]" | "{" | ";"));
        opener.is_some_and(|open| tokens.is(open, "[") && tokens.is(open + 1, "assembly") && tokens.is(open + 2, ":"))
    };
    let assemblies = named.filter(is_of_assembly).filter_map(|at| {
        let Some(text) = tokens.text(at + 2).trim_start_matches('@').strip_prefix('"') else {
            return Some(ANY.to_owned());
        };
        let has_key = text.contains(',');
        if !has_key && tokens.is(at + 3, "+") {
            // The rest may be a key or the end of the name.
            return Some(ANY.to_owned());
        }
        let name = text.split(['"', ',']).next()?.trim();
        (!name.is_empty()).then(|| name.to_owned())
    });
    assemblies.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;

    #[test]
    fn assemblies_are_named_with_and_without_a_key() {
        let text = "using System; [assembly: InternalsVisibleTo(\"Lib.Tests\")] [assembly: A, System.Runtime.CompilerServices.InternalsVisibleToAttribute(\"Other, PublicKey=00\")]\n\
            [module: InternalsVisibleTo(\"No\")] [InternalsVisibleTo(\"No\")] class A { string s = \"InternalsVisibleTo\"; void InternalsVisibleTo(string s) { } }";
        assert_eq!(friends(&Tokens::new(text, lex(text))), ["Lib.Tests", "Other"]);
    }

    #[test]
    fn a_name_that_is_not_text_may_be_any() {
        for argument in ["\"A\" + Key", "Names.Tests", "$\"{Own}.Tests\""] {
            let text = format!("[assembly: InternalsVisibleTo({argument})]");
            assert_eq!(friends(&Tokens::new(&text, lex(&text))), [ANY], "{argument}");
        }
        let text = "[assembly: InternalsVisibleTo(\"A, PublicKey=\" + Key)]";
        assert_eq!(friends(&Tokens::new(text, lex(text))), ["A"]);
    }
}
