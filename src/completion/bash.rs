//! Bash ends a word at a colon, so this joins the parts of a label, and prints only the text after its last colon.

use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::EnvCompleter;
use std::ffi::{OsStr, OsString};
use std::io::{Error, Write};
use std::path::Path;

/// Completion for bash.
pub struct Bash;

/// Variable with the index of the typed word.
const INDEX: &str = "_CORTEX_INDEX";

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(&self, variable: &str, name: &str, program: &str, completer: &str, to: &mut dyn Write) -> Result<(), Error> {
        write!(
            to,
            r#"_{name}_complete() {{
    local IFS=$'\n'
    local words=("${{COMP_WORDS[@]}}")
    words[COMP_CWORD]="$2"
    COMPREPLY=( $({INDEX}="$COMP_CWORD" {variable}=bash {completer} -- "${{words[@]}}") )
    [[ "${{COMPREPLY-}}" =~ [=/:]$ ]] && compopt -o nospace
}}
complete -o bashdefault -o nosort -F _{name}_complete {program}
"#
        )
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        directory: Option<&Path>,
        to: &mut dyn Write,
    ) -> Result<(), Error> {
        let index = std::env::var(INDEX).ok().and_then(|index| index.parse().ok()).unwrap_or_default();
        let (words, index) = join_at_colons(words, index);
        let word = words.get(index).cloned().unwrap_or_default();
        // Bash replaces only the part that it takes for the word: the text after the last colon.
        let kept = word.to_str().and_then(|word| word.rfind(':')).map_or(0, |colon| colon + 1);
        for candidate in complete(command, words, index, directory)? {
            let value = candidate.get_value().to_string_lossy();
            writeln!(to, "{}", value.get(kept..).unwrap_or(&value))?;
        }
        Ok(())
    }
}

/// Joins the words around a colon; returns them with the new index of the word at `index`.
fn join_at_colons(words: Vec<OsString>, index: usize) -> (Vec<OsString>, usize) {
    let mut whole: Vec<OsString> = Vec::with_capacity(words.len());
    let (mut at, mut is_open) = (index, false);
    for (place, word) in words.into_iter().enumerate() {
        let is_colon = word == OsStr::new(":");
        match whole.last_mut().filter(|_| is_colon || is_open) {
            Some(last) if place > 1 => last.push(&word),
            _ => whole.push(word),
        }
        is_open = is_colon;
        if place == index {
            at = whole.len() - 1;
        }
    }
    (whole, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os_strings(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn words_around_a_colon_are_one() {
        let label = os_strings(&["cortex", "show", "//types/A", ":", "se"]);
        assert_eq!(join_at_colons(label, 4), (os_strings(&["cortex", "show", "//types/A:se"]), 2));
        let colon_last = os_strings(&["cortex", "show", "A", ":"]);
        assert_eq!(join_at_colons(colon_last, 3), (os_strings(&["cortex", "show", "A:"]), 2));
        let none = os_strings(&["cortex", "show", "A", "B"]);
        assert_eq!(join_at_colons(none.clone(), 3), (none, 3));
        let before = os_strings(&["cortex", "build", "A", ":", "x", "B"]);
        assert_eq!(join_at_colons(before, 5), (os_strings(&["cortex", "build", "A:x", "B"]), 3));
    }
}
