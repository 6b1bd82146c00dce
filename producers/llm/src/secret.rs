//! Keys of services: read when needed, sent in a header, never shown.

use super::call_environment::CallEnvironment;
use std::sync::Arc;

/// Shorter secrets are not replaced in texts: they would match everywhere.
const SHORTEST: usize = 6;
/// The replacement of a secret.
const HIDDEN: &str = "[key]";

/// A text that is never shown: it has neither `Debug` nor `Display`.
#[derive(Clone)]
pub(super) struct Secret(Arc<str>);

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the text itself, for a header.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

/// The secrets of one call, to be removed from every received text.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<Secret>);

impl Secrets {
    pub(super) fn add_secret(&mut self, secret: Secret) {
        self.0.push(secret);
        // Replace a secret that contains another one first, so that no part of it is left.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
    }

    /// Returns the text with all secrets replaced.
    pub(super) fn scrub(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if secret.0.len() >= SHORTEST && text.contains(&*secret.0) {
                text = text.replace(&*secret.0, HIDDEN);
            }
        }
        text
    }

    /// Prepares a foreign text for a message: without secrets and control characters, on one line, cut.
    pub(super) fn redacted_line(&self, text: &str) -> String {
        const LONGEST: usize = 400;
        let text = self.scrub(text);
        let mut shown = String::new();
        let words = text
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty());
        for word in words {
            if !shown.is_empty() {
                shown.push(' ');
            }
            shown.extend(
                word.chars()
                    .filter(|c| !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
                    .take(LONGEST),
            );
            if shown.chars().count() >= LONGEST {
                shown = shown.chars().take(LONGEST).collect();
                shown.push('…');
                break;
            }
        }
        shown
    }
}

/// Replaces `$NAME` and `${NAME}` in a header's value by variables of the environment. Errors: the name of a variable that is not set.
pub(super) fn expand(value: &str, world: &dyn CallEnvironment) -> Result<(String, Vec<Secret>), String> {
    let mut text = String::new();
    let mut secrets = Vec::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let (name, left) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(found) => found,
            None => {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
                after.split_at(end)
            }
        };
        if name.is_empty() {
            text.push('$');
        } else {
            let found = world.variable(name).filter(|found| !found.trim().is_empty()).ok_or(name)?;
            text.push_str(found.trim());
            secrets.push(Secret::new(found.trim()));
        }
        rest = left;
    }
    text.push_str(rest);
    Ok((text, secrets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Stage;

    #[test]
    fn secrets_are_taken_out_of_texts() {
        let mut secrets = Secrets::default();
        secrets.add_secret(Secret::new("hunter2"));
        secrets.add_secret(Secret::new("sk-hunter2-long"));
        secrets.add_secret(Secret::new("a"));
        assert_eq!(secrets.scrub("a sk-hunter2-long hunter2"), "a [key] [key]");
        assert_eq!(secrets.redacted_line("x\u{1b}[31m\n\n hunter2\u{202e}y\t"), "x [31m [key]y");
        assert!(secrets.redacted_line(&"é".repeat(9_000)).chars().count() <= 401);
    }

    #[test]
    fn headers_take_variables() {
        let stage = Stage::new();
        stage.set("TEAM_TOKEN", "hunter2hunter2\n");
        let good = |value: &str| expand(value, &stage).map(|(text, _)| text);
        assert_eq!(good("Bearer $TEAM_TOKEN"), Ok("Bearer hunter2hunter2".to_owned()));
        assert_eq!(good("${TEAM_TOKEN}x, 5$"), Ok("hunter2hunter2x, 5$".to_owned()));
        assert_eq!(good("$NOT_SET"), Err("NOT_SET".to_owned()));
    }
}
