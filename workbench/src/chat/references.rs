//! `@path` and `#Name` in a person's text: references to files and symbols. Contexts take them as names in backquotes.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A file: `@src/A.cs`, `@src/A.cs:10-40`.
    File,
    /// A type or a member: `#NodeStore`, `#NodeStore#Get`.
    Symbol,
}

/// A reference in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'t> {
    pub kind: ReferenceKind,
    /// Byte offset of the reference's sign.
    pub start: usize,
    /// The text after the sign.
    pub name: &'t str,
}

impl Reference<'_> {
    /// Returns the byte offset after the reference.
    pub fn end(&self) -> usize {
        self.start + 1 + self.name.len()
    }
}

/// Returns the references of a text, in order. A sign counts only at the beginning of a word, which excludes mail addresses.
pub fn references_in_text(text: &str) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let begins = text[..at]
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || "([{\"'“‘（「".contains(c));
        let kind = match text.as_bytes()[at] {
            b'@' => Some(ReferenceKind::File),
            b'#' => Some(ReferenceKind::Symbol),
            _ => None,
        };
        if let Some(kind) = kind.filter(|_| begins) {
            let name = name_after_sign(kind, &text[at + 1..]);
            // `# Heading` and `## Heading` of a pasted text are not references.
            if name.chars().any(char::is_alphanumeric) && !name.starts_with('#') {
                found.push(Reference { kind, start: at, name });
                at += 1 + name.len();
                continue;
            }
        }
        at += text[at..].chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// Returns the name after a sign. Punctuation at its end belongs to the sentence.
fn name_after_sign(kind: ReferenceKind, rest: &str) -> &str {
    let mut depth = 0_i32;
    let is_in = |c: char| {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            _ => {}
        }
        let stands = match kind {
            ReferenceKind::File => !c.is_whitespace(),
            ReferenceKind::Symbol => c.is_alphanumeric() || "_#.+<>(),`~".contains(c) || (c == ' ' && depth > 0),
        };
        !(stands && depth >= 0)
    };
    let end = rest.find(is_in).unwrap_or(rest.len());
    let closes = |c: char| ".,;:!?\"'”’、。，；：！？)]}".contains(c);
    let mut name = &rest[..end];
    while let Some(last) = name.chars().next_back().filter(|c| closes(*c)) {
        // The arguments of a member end with a bracket of their own.
        if last == ')' && name.contains('(') {
            break;
        }
        name = &name[..name.len() - last.len_utf8()];
    }
    name
}

/// Returns the text as a query for a context: each reference becomes a name in backquotes.
pub fn as_query(text: &str) -> String {
    let (mut query, mut at) = (String::with_capacity(text.len() + 8), 0);
    for reference in references_in_text(text) {
        query.push_str(&text[at..reference.start]);
        query.push('`');
        query.push_str(reference.name);
        query.push('`');
        at = reference.end();
    }
    query.push_str(&text[at..]);
    query
}

/// Returns the unfinished reference at the cursor: its sign, and the text up to the cursor.
pub fn at_cursor(text: &str, cursor: usize) -> Option<Reference<'_>> {
    let before = &text[..cursor];
    let start = before
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let word = &before[start..];
    let sign = word.find(['@', '#'])?;
    let kind = if word.as_bytes()[sign] == b'@' {
        ReferenceKind::File
    } else {
        ReferenceKind::Symbol
    };
    let opens = word[..sign].chars().all(|c| "([{\"'“‘（「".contains(c));
    opens.then_some(Reference {
        kind,
        start: start + sign,
        name: &word[sign + 1..],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn references_become_names_in_backquotes() {
        for (text, query) in [
            ("what does #NodeStore do?", "what does `NodeStore` do?"),
            ("(see @src/A.cs:10-40).", "(see `src/A.cs:10-40`)."),
            (
                "#NodeStore#Get(NodeId, int) and #List<T>.",
                "`NodeStore#Get(NodeId, int)` and `List<T>`.",
            ),
            (
                "mail a@b.example, # heading, ## more, C# code",
                "mail a@b.example, # heading, ## more, C# code",
            ),
            ("比较 #NodeStore。", "比较 `NodeStore`。"),
            ("@", "@"),
        ] {
            assert_eq!(as_query(text), query);
        }
    }

    #[test]
    fn the_reference_at_the_cursor_is_completed() {
        let at = |text: &str| at_cursor(text, text.len()).map(|found| (found.kind, found.start, found.name.to_owned()));
        assert_eq!(at("see @src/No"), Some((ReferenceKind::File, 4, "src/No".to_owned())));
        assert_eq!(at("(#NodeStore#Ge"), Some((ReferenceKind::Symbol, 1, "NodeStore#Ge".to_owned())));
        assert_eq!(at("#"), Some((ReferenceKind::Symbol, 0, String::new())));
        assert_eq!(at("a@b"), None);
        assert_eq!(at("#Node "), None);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "([@#a-z .()<>\n]|中|👩‍👧|`){0,24}") {
            let query = as_query(&text);
            let bare = |text: &str| text.replace(['@', '#', '`'], "");
            prop_assert_eq!(bare(&query), bare(&text));
            for (at, _) in text.char_indices() {
                at_cursor(&text, at);
            }
        }
    }
}
