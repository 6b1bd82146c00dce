//! Ignore rules in force in a directory: `.gitignore` and `.ignore` files from the workspace root down, and `.git/info/exclude`.
//!
//! As in git, the deepest file with a matching line decides, by its last match. `.ignore` files take precedence over all `.gitignore` files, and
//! these over `.git/info/exclude`. Nothing outside the workspace is read. Line syntax is the `ignore` crate's, except that braces are literal, as
//! in git.

use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::sync::Arc;

/// Names of the rule files, strongest first.
pub(crate) const RULE_FILES: [&str; 2] = [".ignore", ".gitignore"];

/// Rules of one clone.
pub(crate) const EXCLUDE_FILE: &str = ".git/info/exclude";

/// Maximum length in bytes of a rule file; longer files and lines are left out with a warning.
pub(crate) const MAX_RULES_LEN: usize = 1 << 20;
const MAX_LINE_LEN: usize = 4096;

/// Rules of one directory in addition to those of its parents.
pub(crate) struct Ignores {
    parent: Option<Arc<Ignores>>,
    /// Length of the directory's path and its slash.
    base: usize,
    /// `.ignore`, `.gitignore`, `.git/info/exclude`.
    layers: [Option<Gitignore>; 3],
}

/// Contents of the rule files of one directory: `.ignore`, `.gitignore`, `.git/info/exclude`.
pub(crate) type RuleTexts = [Option<Vec<u8>>; 3];

impl Ignores {
    /// Returns the rules in `directory` (empty for the root), and adds their errors. Without any text, the parent's rules stay in force.
    pub(crate) fn extend(
        parent: Option<Arc<Self>>,
        directory: &str,
        texts: &RuleTexts,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Arc<Self>> {
        if texts.iter().all(Option::is_none) {
            return parent;
        }
        let prefix = if directory.is_empty() {
            String::new()
        } else {
            format!("{directory}/")
        };
        let mut layers = [None, None, None];
        for ((layer, text), name) in layers.iter_mut().zip(texts).zip([RULE_FILES[0], RULE_FILES[1], EXCLUDE_FILE]) {
            *layer = text
                .as_ref()
                .map(|text| parse_ignore_file(text, &format!("{prefix}{name}"), diagnostics));
        }
        Some(Arc::new(Self {
            parent,
            base: prefix.len(),
            layers,
        }))
    }

    /// Whether a path below this directory is ignored. Assumes that its parents are not.
    pub(crate) fn ignored(&self, path: &str, is_dir: bool) -> bool {
        (0..self.layers.len())
            .find_map(|layer| self.verdict(layer, path, is_dir))
            .unwrap_or(false)
    }

    fn verdict(&self, layer: usize, path: &str, is_dir: bool) -> Option<bool> {
        let mut at = Some(self);
        while let Some(ignores) = at {
            if let Some(rules) = &ignores.layers[layer] {
                match rules.matched(path.get(ignores.base..)?, is_dir) {
                    Match::Ignore(_) => return Some(true),
                    Match::Whitelist(_) => return Some(false),
                    Match::None => {}
                }
            }
            at = ignores.parent.as_deref();
        }
        None
    }
}

// Directories nest as deep as the file system allows: drop the chain in a loop, not by recursion.
impl Drop for Ignores {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut ignores) = next.and_then(Arc::into_inner) {
            next = ignores.parent.take();
        }
    }
}

fn parse_ignore_file(text: &[u8], file: &str, diagnostics: &mut Vec<Diagnostic>) -> Gitignore {
    let mut warn = |line: usize, what: String| {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        diagnostics.push(
            Diagnostic::warning(ErrorCode::W_IGNORE_RULE, what)
                .at(file, line, 0)
                .hint("correct the line, or remove it"),
        );
    };
    // Paths are relative to the directory of the rules, hence the root ".".
    let mut builder = GitignoreBuilder::new(".");
    let text = String::from_utf8_lossy(text);
    for (index, line) in text.strip_prefix('\u{feff}').unwrap_or(&text).split('\n').enumerate() {
        if line.len() > MAX_LINE_LEN {
            warn(
                index + 1,
                format!("a line of an ignore file is longer than {MAX_LINE_LEN} bytes and is skipped"),
            );
        } else if builder.add_line(None, &literal_braces(line)).is_err() {
            warn(index + 1, "a line of an ignore file is not a pattern and is skipped".to_owned());
        }
    }
    builder.build().unwrap_or_else(|_| {
        warn(0, "this ignore file cannot be used and is skipped".to_owned());
        Gitignore::empty()
    })
}

/// Escapes unescaped braces outside brackets.
fn literal_braces(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut out = String::with_capacity(line.len());
    let (mut escaped, mut bracket) = (false, false);
    for c in line.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => bracket = true,
            ']' => bracket = false,
            '{' | '}' if !bracket => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(parent: Option<Arc<Ignores>>, directory: &str, git: &str) -> Option<Arc<Ignores>> {
        Ignores::extend(parent, directory, &[None, Some(git.into()), None], &mut Vec::new())
    }

    #[test]
    fn the_deepest_rule_decides() {
        let root = rules(None, "", "*.log\n/obj/\nbin/\n").unwrap();
        assert!(root.ignored("a.log", false) && root.ignored("x/a.log", false) && root.ignored("obj", true) && root.ignored("x/bin", true));
        assert!(!root.ignored("x/obj", true) && !root.ignored("obj", false));
        let below = rules(Some(root), "x", "!a.log\n/b.cs\n").unwrap();
        assert!(!below.ignored("x/a.log", false) && below.ignored("x/c.log", false));
        assert!(below.ignored("x/b.cs", false) && !below.ignored("x/y/b.cs", false));
    }

    #[test]
    fn ignore_files_override_gitignore_and_gitignore_overrides_exclude() {
        let texts = [Some(b"!a\nb\n".to_vec()), Some(b"a\n!b\n!c\n".to_vec()), Some(b"c\nd\n".to_vec())];
        let rules = Ignores::extend(None, "", &texts, &mut Vec::new()).unwrap();
        assert!(!rules.ignored("a", false) && rules.ignored("b", false) && !rules.ignored("c", false) && rules.ignored("d", false));
    }

    #[test]
    fn braces_are_literal_and_bad_lines_are_reported() {
        let mut diagnostics = Vec::new();
        let text = format!("{{a,b}}\r\n{}\n[z-a]\nc\n", "{".repeat(9000));
        let rules = Ignores::extend(None, "d", &[None, Some(text.into()), None], &mut diagnostics).unwrap();
        assert!(rules.ignored("d/{a,b}", false) && !rules.ignored("d/a", false) && rules.ignored("d/c", false));
        let lines: Vec<u32> = diagnostics
            .iter()
            .filter_map(|d| d.place.as_ref().map(|place| place.line))
            .collect();
        assert_eq!(lines, [2, 3]);
    }

    #[test]
    fn a_very_long_chain_is_dropped_without_recursion() {
        let mut chain = None;
        for _ in 0..20_000 {
            chain = rules(chain, "", "");
        }
        drop(chain);
    }
}
