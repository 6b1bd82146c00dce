//! Labels: `//package:target`, the names of nodes.
//!
//! A package is one or more segments separated by `/`; its first segment names a family (`files`, `types`, `index` …). A target is
//! `[A-Za-z0-9_.-]+`. Package segments may contain any character except control characters. The reserved `* ? : %`, which file names may
//! contain, are written `%2A %3F %3A %25`. The segments `.`, `..`, `...` and empty ones are invalid. A rule of two variables joins them by
//! `#` in the last segment, `types/NodeStore#Get(string)`; a slash after the `#` is `%2F`.

use std::fmt;
use std::sync::Arc;

/// A well-formed label. Cheap to clone; ordered by its text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    text: Arc<str>,
    colon: u32,
}

/// Reason why a text is not a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LabelError {
    pub message: String,
    /// Byte offset into the text.
    pub at: usize,
    /// A correction, if known.
    pub hint: Option<String>,
}

impl LabelError {
    fn new(at: usize, message: impl Into<String>, hint: Option<&str>) -> Self {
        Self {
            message: message.into(),
            at,
            hint: hint.map(str::to_owned),
        }
    }
}

impl Label {
    /// Parses `//package:target`.
    pub fn parse(text: &str) -> Result<Self, LabelError> {
        let Some(rest) = text.strip_prefix("//") else {
            return Err(LabelError::new(
                0,
                "a label begins with '//'",
                Some("write //package:target, such as //types/NodeStore:outline"),
            ));
        };
        let Some(colon) = rest.rfind(':') else {
            return Err(LabelError::new(
                text.len(),
                "a label names a target after ':'",
                Some("write //package:target, such as //types/NodeStore:outline"),
            ));
        };
        check_package(&rest[..colon]).map_err(|error| LabelError { at: error.at + 2, ..error })?;
        check_target(&rest[colon + 1..]).map_err(|error| LabelError {
            at: error.at + colon + 3,
            ..error
        })?;
        Ok(Self {
            text: text.into(),
            colon: u32::try_from(colon + 2).map_err(|_| LabelError::new(0, "a label is shorter than 4 GiB", None))?,
        })
    }

    /// Creates a label from a package in label form (already escaped) and a target. Fails as [`Label::parse`] does.
    pub fn new(package: &str, target: &str) -> Result<Self, LabelError> {
        Self::parse(&format!("//{package}:{target}"))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the package, without `//`.
    pub fn package(&self) -> &str {
        &self.text[2..self.colon as usize]
    }

    /// Returns the target, without `:`.
    pub fn target(&self) -> &str {
        &self.text[self.colon as usize + 1..]
    }

    /// Returns the first segment of the package.
    pub fn family(&self) -> &str {
        self.package().split('/').next().unwrap_or_default()
    }
}

fn check_package(package: &str) -> Result<(), LabelError> {
    let mut at = 0;
    for segment in package.split('/') {
        if segment.is_empty() {
            return Err(LabelError::new(
                at,
                "a package has an empty segment",
                Some("write //family/name:target with single slashes"),
            ));
        }
        if matches!(segment, "." | ".." | "...") {
            return Err(LabelError::new(
                at,
                format!("a package must not contain the segment '{segment}'"),
                Some("'...' belongs to patterns; paths never leave the workspace"),
            ));
        }
        for (offset, c) in segment.char_indices() {
            let escaped = match c {
                '%' if is_escape(&segment[offset..]) => continue,
                // The text after a '#' is one name, even with a slash in it.
                '%' if segment[offset..].starts_with("%2F") && segment[..offset].contains(JOIN) => continue,
                '*' | '?' | ':' | '%' => true,
                c if c.is_control() => true,
                _ => continue,
            };
            if escaped {
                let hint = if c.is_ascii() {
                    format!("write it as %{:02X}", c as u32)
                } else {
                    "leave it out".to_owned()
                };
                return Err(LabelError::new(
                    at + offset,
                    format!("a package must not contain {c:?}"),
                    Some(&hint),
                ));
            }
        }
        at += segment.len() + 1;
    }
    Ok(())
}

fn is_escape(text: &str) -> bool {
    text.get(..3)
        .is_some_and(|code| ["%2A", "%3F", "%3A", "%25", "%23"].contains(&code) || is_control_escape(code))
}

fn is_control_escape(code: &str) -> bool {
    u8::from_str_radix(&code[1..], 16).is_ok_and(|byte| (byte < 0x20 || byte == 0x7f) && code == format!("%{byte:02X}"))
}

fn check_target(target: &str) -> Result<(), LabelError> {
    if target.is_empty() {
        return Err(LabelError::new(
            0,
            "a target is empty",
            Some("write //package:target, such as //types/NodeStore:outline"),
        ));
    }
    match target
        .char_indices()
        .find(|(_, c)| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')))
    {
        Some((at, c)) => Err(LabelError::new(
            at,
            format!("a target must not contain {c:?}"),
            Some("targets are letters, digits, '_', '.' and '-'"),
        )),
        None => Ok(()),
    }
}

/// Separator of two names in the last segment of a package: `types/NodeStore#Get(string)`.
pub const JOIN: &str = "#";

/// Splits joined names in a package, or in the part that a rule fills. A `#` of a name itself is written as `%23` ([`escape`]).
pub fn halves(value: &str) -> Option<(&str, &str)> {
    let (first, second) = value.rsplit_once(JOIN)?;
    (!first.is_empty() && !second.is_empty() && !second.contains('/')).then_some((first, second))
}

/// Escapes a path or a name for use in a package: reserved and control characters as `%XX`.
pub fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '*' | '?' | ':' | '%' | '#' => escaped.push_str(&format!("%{:02X}", c as u32)),
            c if c.is_ascii_control() => escaped.push_str(&format!("%{:02X}", c as u32)),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Like [`escape`], for the second of two joined names: it is one segment, so its slashes become `%2F`.
pub fn escape_joined(name: &str) -> String {
    escape(name).replace('/', "%2F")
}

/// Undoes [`escape`] and [`escape_joined`].
pub fn unescape(name: &str) -> String {
    if !name.contains('%') {
        return name.to_owned();
    }
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let code = rest
            .get(at + 1..at + 3)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            .filter(u8::is_ascii);
        if let Some(byte) = code {
            plain.push(byte as char);
            rest = &rest[at + 3..];
        } else {
            plain.push('%');
            rest = &rest[at + 1..];
        }
    }
    plain.push_str(rest);
    plain
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts() {
        let label = Label::parse("//types/MemoTree.Core.NodeStore#Get(string):outline").expect("well-formed");
        assert_eq!(
            (label.family(), label.package(), label.target()),
            ("types", "types/MemoTree.Core.NodeStore#Get(string)", "outline")
        );
    }

    #[test]
    fn refusals_name_the_place() {
        for (text, at) in [
            ("types:x", 0),
            ("//types", 7),
            ("//a//b:x", 4),
            ("//a/../b:x", 4),
            ("//a/b*:x", 5),
            ("//a:b c", 5),
            ("//a:", 4),
            ("//:x", 2),
            ("//a/...:x", 4),
        ] {
            assert_eq!(Label::parse(text).map_err(|error| error.at), Err(at), "{text}");
        }
    }

    proptest! {
        #[test]
        fn parse_and_print_round_trip(text in "//[a-z]{1,4}(/[A-Za-z0-9.+`# ()<>,é-]{1,9}){0,3}:[a-z.-]{1,8}") {
            if let Ok(label) = Label::parse(&text) {
                prop_assert_eq!(label.as_str(), &text);
                prop_assert_eq!(Label::new(label.package(), label.target()), Ok(label));
            }
        }

        #[test]
        fn any_file_name_can_be_a_package(name in "[^/\u{80}-\u{9f}]{1,20}") {
            prop_assume!(!matches!(name.as_str(), "." | ".." | "..."));
            let label = Label::new(&format!("files/{}", escape(&name)), "source").expect("escaped");
            prop_assert_eq!(unescape(label.package().strip_prefix("files/").expect("prefix")), name);
        }

        #[test]
        fn parsing_never_panics(text: String) {
            let _ = Label::parse(&text);
        }
    }

    #[test]
    fn errors_suggest_the_escape_of_the_character() {
        for (label, hint) in [
            ("//a\u{1b}b:c", "write it as %1B"),
            ("//a*b:c", "write it as %2A"),
            ("//a\u{85}b:c", "leave it out"),
        ] {
            assert_eq!(Label::parse(label).expect_err(label).hint.as_deref(), Some(hint));
        }
    }
}
