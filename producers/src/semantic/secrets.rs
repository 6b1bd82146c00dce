//! Secrets that no model sees: files that are known by name to contain keys, and literals that look like keys.
//!
//! Two filters. The first checks the files of a type: one in a file of [`FILES`] or of the user's `never_send` is neither shown to nor summarised by
//! a model. The second checks every text of a prompt: PEM blocks, keys of well-known services, values of names such as `password` and `apiKey`, and
//! long random-looking tokens become [`REDACTED`]. It prefers redacting a harmless token to leaking a key.

use msbuild::glob::Glob;
use msbuild::path::ROOT;

/// Globs of files that usually contain secrets.
const FILES: [&str; 16] = [
    "**/.env", "**/.env.*", "**/*.pem", "**/*.key", "**/*.pfx", "**/*.p12", "**/*.crt", "**/*.cer", "**/*.der", "**/*.jks",
    "**/*.keystore", "**/*.ppk", "**/id_rsa*", "**/id_ed25519*", "**/secrets.*", "**/.secrets/**",
];

/// The replacement of a key.
pub(super) const REDACTED: &str = "«redacted»";

/// Prefixes of keys of well-known services, each with the least number of further letters.
const PREFIXES: [(&str, usize); 18] = [
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("sk-", 16),
    ("sk_live_", 12),
    ("sk_test_", 12),
    ("rk_live_", 12),
    ("pk_live_", 12),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("npm_", 30),
    ("hf_", 20),
    ("eyJ", 40),
];

/// Parts of names whose values are keys.
const NAMES: [&str; 12] = [
    "password", "passwd", "pwd", "secret", "apikey", "api_key", "accesskey", "access_key", "privatekey", "private_key", "token",
    "connectionstring",
];

/// Least length of a key that no name announces.
const SHORTEST: usize = 32;

/// The globs of withheld files, each compiled once, for callers that check many files.
#[derive(Debug)]
pub struct Withheld(Vec<(String, Glob)>);

impl Withheld {
    /// Compiles the built-in globs and those of `never_send`.
    pub fn new(never_send: &[String]) -> Self {
        let globs = FILES.iter().copied().chain(never_send.iter().map(String::as_str));
        Self(globs.filter_map(|glob| Some((glob.to_owned(), Glob::new(ROOT, glob)?))).collect())
    }

    /// Returns the glob that withholds a file, if any.
    pub fn by(&self, file: &str) -> Option<&str> {
        let found = self.0.iter().find(|(_, glob)| glob.matches(file));
        found.map(|(text, _)| text.as_str())
    }
}

/// Returns the glob that withholds a file, if any.
pub fn withholding_glob<'g>(file: &str, never_send: &'g [String]) -> Option<&'g str> {
    let globs = FILES.iter().copied().chain(never_send.iter().map(String::as_str));
    globs
        .into_iter()
        .find(|glob| Glob::new(ROOT, glob).is_some_and(|glob| glob.matches(file)))
}

pub(super) fn matches_any(file: &str, globs: &[String]) -> bool {
    globs
        .iter()
        .any(|glob| Glob::new(ROOT, glob).is_some_and(|glob| glob.matches(file)))
}

/// Whether a text is a glob that can match.
pub(super) fn is_glob(text: &str) -> bool {
    Glob::new(ROOT, text).is_some()
}

/// Redacts texts that look like keys. Returns the text and the number of redactions.
pub(crate) fn redact(text: &str) -> (String, usize) {
    let (mut out, mut count) = (String::with_capacity(text.len()), 0);
    let mut in_block = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        let end = &line[bare.len()..];
        if in_block {
            // Inside a PEM block; code may follow on its last line.
            let Some(at) = bare.find("-----END") else { continue };
            in_block = false;
            out.push_str(after_block(&bare[at..]));
            out.push_str(end);
            continue;
        }
        if let Some(at) = bare.find("-----BEGIN ") {
            out.push_str(&bare[..at]);
            out.push_str(REDACTED);
            count += 1;
            match bare[at..].find("-----END") {
                Some(close) => out.push_str(after_block(&bare[at + close..])),
                None => in_block = true,
            }
            out.push_str(end);
            continue;
        }
        count += line_of(bare, &mut out);
        out.push_str(end);
    }
    (out, count)
}

/// Returns the text after the dashes that close a block.
fn after_block(text: &str) -> &str {
    let rest = text.trim_start_matches("-----END");
    rest.find("-----").map_or("", |at| &rest[at + 5..])
}

fn line_of(line: &str, out: &mut String) -> usize {
    let (mut count, mut at) = (0, 0);
    let values = announced_values(line);
    let mut values = values.iter().peekable();
    while at < line.len() {
        if let Some((start, end)) = values.next_if(|(start, _)| *start == at) {
            out.push_str(REDACTED);
            count += 1;
            at = *end.max(start);
            continue;
        }
        while values.next_if(|(start, _)| *start < at).is_some() {}
        let rest = &line[at..];
        let word = word_len(rest);
        let limit = values.peek().map_or(word, |(start, _)| word.min(start - at));
        let word = if limit == 0 { 0 } else { limit };
        if word == 0 {
            let c = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[..c]);
            at += c;
        } else if is_key(&rest[..word]) {
            out.push_str(REDACTED);
            count += 1;
            at += word;
        } else {
            out.push_str(&rest[..word]);
            at += word;
        }
    }
    count
}

/// Returns the ranges of values that the text before them announces as keys, sorted and without overlaps.
fn announced_values(line: &str) -> Vec<(usize, usize)> {
    let mut found = named_values(line);
    found.extend(in_addresses(line));
    found.extend(web_tokens(line));
    found.sort_unstable();
    let mut apart: Vec<(usize, usize)> = Vec::with_capacity(found.len());
    for (start, end) in found {
        match apart.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => apart.push((start, end)),
        }
    }
    apart
}

/// Returns the ranges of passwords in addresses: `https://user:PASSWORD@host`.
fn in_addresses(line: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices("://") {
        let start = at + 3;
        let rest = &line[start..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '<' | '>' | '\\' | ',' | ';');
        let host = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let Some(end) = host.rfind('@') else { continue };
        let Some(colon) = host[..end].find(':') else { continue };
        // A placeholder that is filled in at run time is not a key.
        let password = &host[colon + 1..end];
        let is_hole = password.starts_with('{') && password.ends_with('}');
        if !password.is_empty() && !is_hole {
            found.push((start + colon + 1, start + end));
        }
    }
    found
}

/// Returns the ranges of whole JSON web tokens: `eyJ….eyJ….signature`.
fn web_tokens(line: &str) -> Vec<(usize, usize)> {
    let (mut found, mut seen) = (Vec::new(), 0);
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=');
    for (at, _) in line.match_indices("eyJ") {
        if at < seen || !starts(line, at) {
            continue;
        }
        let len = line.as_bytes()[at..]
            .iter()
            .take_while(|byte| letter(byte) || **byte == b'.')
            .count();
        seen = at + len;
        let token = line[at..seen].trim_end_matches('.');
        let mut parts = token.split('.');
        let long = |part: Option<&str>| part.is_some_and(|part| part.len() >= 8);
        if long(parts.next()) && long(parts.next()) {
            found.push((at, at + token.len()));
        }
    }
    found
}

/// Returns the length of the leading run of letters that keys consist of.
fn word_len(text: &str) -> usize {
    text.bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'/' | b'='))
        .count()
}

fn is_key(word: &str) -> bool {
    let known = PREFIXES.iter().any(|(prefix, more)| {
        word.match_indices(prefix)
            .any(|(at, _)| starts(word, at) && word.len() - at - prefix.len() >= *more)
    });
    known || looks_random(word)
}

fn starts(word: &str, at: usize) -> bool {
    at == 0 || !word.as_bytes()[at - 1].is_ascii_alphanumeric()
}

/// Whether a word is long, of several kinds of letters, and of high entropy.
fn looks_random(word: &str) -> bool {
    let word = word.trim_end_matches('=');
    if word.len() < SHORTEST || word.contains("//") {
        return false;
    }
    let has = |kind: fn(&u8) -> bool| word.bytes().filter(kind).count();
    let (digits, upper, lower) = (has(u8::is_ascii_digit), has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase));
    let hex = word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') && digits >= 4 && digits < word.len();
    let mixed = digits >= 3 && upper >= 3 && lower >= 3 && !word.contains('/');
    hex || (mixed && entropy(word) >= 4.2) || (word.contains('/') && digits >= 3 && upper >= 6 && lower >= 6 && entropy(word) >= 4.6)
}

/// Returns the entropy in bits per letter.
fn entropy(word: &str) -> f64 {
    let mut counts = [0_u32; 256];
    word.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let len = word.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / len)
        .map(|share| -share * share.log2())
        .sum()
}

/// Whether an unquoted text is a value: in code it may be a name or a call.
fn is_password(value: &str) -> bool {
    let has = |kind: fn(char) -> bool| value.chars().any(kind);
    value.len() >= 6 && has(|c| c.is_ascii_digit()) && has(char::is_alphabetic) && !has(|c| "()[]{}<>.".contains(c))
}

/// Returns the ranges of values of telling names: `Password = "…"`, `"apiKey": "…"`, `Password=…;` inside of literals, and `password=…` in prose.
fn named_values(line: &str) -> Vec<(usize, usize)> {
    let lower = line.to_ascii_lowercase();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, mark) in lower.char_indices().filter(|(_, c)| matches!(c, '=' | ':' | '(' | ',')) {
        let before = lower[..at].trim_end_matches([' ', '"', '\'', ':', '\\']);
        let word = before
            .rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .next()
            .unwrap_or_default();
        if !NAMES.iter().any(|name| word.ends_with(name)) {
            continue;
        }
        let rest = &line[at + 1..];
        let gap = rest.len() - rest.trim_start_matches([' ', '>', '@', '$', '=', '\\']).len();
        let value = &rest[gap..];
        let start = at + 1 + gap;
        let len = if let Some(inner) = value.strip_prefix('"') {
            inner.find('"').filter(|len| *len >= 4).map(|len| (start + 1, len))
        } else if mark == '=' && gap == 0 && line[..at].contains('"') {
            let len = value.find(['"', ';', '\\', ' ']).unwrap_or(value.len());
            (len >= 4).then_some((start, len))
        } else if mark == '=' && gap == 0 {
            let len = value.find([' ', '\t', ',', ';', '"', '\'', '`']).unwrap_or(value.len());
            is_password(&value[..len]).then_some((start, len))
        } else {
            None
        };
        if let Some((start, len)) = len.filter(|(start, _)| found.last().is_none_or(|(_, end)| end <= start)) {
            found.push((start, start + len));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_that_hold_keys_are_withheld() {
        for file in ["src/.env", ".env.local", "certs/a.pem", "deep/er/id_rsa.cs", "src/Secrets.cs"] {
            assert!(withholding_glob(file, &[]).is_some(), "{file}");
        }
        assert_eq!(withholding_glob("src/Store.cs", &[]), None);
        let own = ["src/Licensing/**".to_owned()];
        assert_eq!(withholding_glob("src/Licensing/Keys.cs", &own), Some("src/Licensing/**"));
    }

    #[test]
    fn keys_are_redacted_and_code_is_not() {
        for (text, expected) in [
            ("var k = \"AKIAIOSFODNN7EXAMPLE\";", "var k = \"«redacted»\";"),
            ("x(\"sk-abcdefghijklmnopqrst\")", "x(\"«redacted»\")"),
            (
                "private const string ApiKey = \"hunter22\"",
                "private const string ApiKey = \"«redacted»\"",
            ),
            ("\"Server=db;Password=hunter2;Port=1\"", "\"Server=db;Password=«redacted»;Port=1\""),
            (
                "a = \"-----BEGIN PRIVATE KEY-----\nMIIE\nabc\n-----END PRIVATE KEY-----\"; b();",
                "a = \"«redacted»\n\"; b();",
            ),
            ("why does password=Sup3rSecretXX fail", "why does password=«redacted» fail"),
            ("x(\"https://admin:p4ssw0rd@host/a\")", "x(\"https://admin:«redacted»@host/a\")"),
            ("\"postgres://u:s3cr3tdb@h/db\"", "\"postgres://u:«redacted»@h/db\""),
            (
                "t = \"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.c2lnbmF0dXJl\";",
                "t = \"Bearer «redacted»\";",
            ),
            ("h = \"d41d8cd98f00b204e9800998ecf8427e\"", "h = \"«redacted»\""),
            ("t = \"Zk3pQ9xW7vLr2TbN8mYc5HdJ1sGf6KaE\"", "t = \"«redacted»\""),
        ] {
            let (redacted, count) = redact(text);
            assert_eq!((redacted.as_str(), count), (expected, 1), "{text}");
        }
        for code in [
            "public Task<CancellationTokenSource> CreateLinkedTokenSourceAsync(CancellationToken token)",
            "if (password == null) throw new ArgumentNullException(nameof(password));",
            "var theLongestNameOfAnythingInThisWholeCodeBase2 = GetTheOtherVeryLongNamedThing(token, 1);",
            "_token = token; Password = options.Password;",
            "token=token; password=Options2.Password; secret=Read2(path)",
            "https://example.org/a/b/c",
            "$\"https://{user}:{password}@{host}/\"",
            "http://localhost:8080/@scope/name",
            "mailto:someone@example.org",
        ] {
            assert_eq!(redact(code), (code.to_owned(), 0));
        }
    }

    proptest! {
        #[test]
        fn any_text_goes_through(text in any::<String>()) {
            let (redacted, count) = redact(&text);
            prop_assert!(count > 0 || redacted == text);
        }

        #[test]
        fn a_key_is_found_wherever_it_stands(before in "[a-z (=\".]{0,9}[ (=\"]", after in "([ ;)\"][a-z ;]{0,9})?") {
            let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
            let (redacted, _) = redact(&format!("{before}{key}{after}"));
            prop_assert!(!redacted.contains(&key[4..]), "{}", redacted);
        }
    }
}
