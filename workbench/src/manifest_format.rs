//! Formats `cortex.toml`: spaces and blank lines. Words, comments and their order stay unchanged.

use toml_edit::{Array, Decor, DocumentMut, InlineTable, Item, RawString, Table, Value};

/// Formats a text: `key = value` with one space on each side, no indentation of keys and table heads, at most one blank line between two lines and
/// one before each table of the manifest itself (`[a]`, `[[b]]`), no trailing spaces, one line end at the end of the file. Errors: the
/// parser's error if the text is not TOML.
pub fn format_manifest(text: &str) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    format_table(document.as_table_mut(), 0);
    let trailing = format_comments(document.trailing().as_str().unwrap_or_default());
    document.set_trailing(trailing.trim_end_matches('\n').to_owned());
    let text = document.to_string();
    let text = text.trim_start_matches('\n').trim_end();
    Ok(if text.is_empty() { String::new() } else { format!("{text}\n") })
}

/// Formats a table with its contents. The root, at depth 0, has no head; tables below depth 1 belong to the table before.
fn format_table(table: &mut Table, depth: usize) {
    if depth > 0 {
        let before = format_comments(prefix(table.decor()));
        let gap = if depth > 1 || before.starts_with('\n') { "" } else { "\n" };
        let after = suffix(table.decor()).trim_end().to_owned();
        *table.decor_mut() = Decor::new(format!("{gap}{before}"), after);
    }
    for (mut key, item) in table.iter_mut() {
        if item.is_value() {
            let before = format_comments(prefix(key.leaf_decor()));
            *key.leaf_decor_mut() = Decor::new(before, " ");
        }
        match item {
            Item::Value(of) => format_value(of, " "),
            Item::Table(inner) => self::format_table(inner, depth + 1),
            Item::ArrayOfTables(all) => all.iter_mut().for_each(|inner| self::format_table(inner, depth + 1)),
            Item::None => {}
        }
    }
}

/// Formats a value, with `before` in front of it; the rest of its line stays.
fn format_value(value: &mut Value, before: &str) {
    let after = suffix(value.decor()).trim_end().to_owned();
    *value.decor_mut() = Decor::new(before, after);
    match value {
        Value::Array(array) => elements(array),
        Value::InlineTable(table) => inline(table),
        _ => {}
    }
}

/// Formats an array on one line; leaves one with several lines or comments unchanged.
fn elements(array: &mut Array) {
    let is_broken = |text: &str| text.contains(['\n', '#']);
    let decorated = |decor: &Decor| is_broken(prefix(decor)) || is_broken(suffix(decor));
    if is_broken(array.trailing().as_str().unwrap_or_default()) || array.iter().any(|one| decorated(one.decor())) {
        return;
    }
    for (at, one) in array.iter_mut().enumerate() {
        format_value(one, if at == 0 { "" } else { " " });
        one.decor_mut().set_suffix("");
    }
    array.set_trailing_comma(false);
    array.set_trailing("");
}

fn inline(table: &mut InlineTable) {
    let last = table.len().saturating_sub(1);
    let texts = table.iter().map(|(_, one)| [prefix(one.decor()), suffix(one.decor())].concat());
    if texts.collect::<String>().contains(['\n', '#']) {
        return;
    }
    for (at, (mut key, one)) in table.iter_mut().enumerate() {
        if prefix(key.leaf_decor()).contains(['\n', '#']) {
            return;
        }
        *key.leaf_decor_mut() = Decor::new(" ", " ");
        format_value(one, " ");
        one.decor_mut().set_suffix(if at == last { " " } else { "" });
    }
}

/// Formats comments: no trailing spaces, and no two successive blank lines. The last piece, before a key or a head, has no spaces at all.
fn format_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut blank = 0;
    let mut rest = text.split('\n').peekable();
    while let Some(line) = rest.next() {
        let line = line.trim_end();
        blank = if line.is_empty() { blank + 1 } else { 0 };
        kept.push_str(line);
        // The last piece has no line end of its own.
        if rest.peek().is_some() && blank < 2 {
            kept.push('\n');
        }
    }
    kept
}

fn prefix(decor: &Decor) -> &str {
    decor.prefix().and_then(RawString::as_str).unwrap_or_default()
}

fn suffix(decor: &Decor) -> &str {
    decor.suffix().and_then(RawString::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EXAMPLE: &str = include_str!("../../cortex.toml.example");

    #[test]
    fn spaces_and_blank_lines_have_one_form() {
        let text = "\n\n# head  \n[workspace]\n  name=\"a\"   # why\nrulesets = [ \"csharp\",\"scip\" , ]\n\n\n\n[sources.a]\ninclude=[\n  \"x\",  # one\n]\n[store]\nmax_size   =   \"2 GB\"\ntls={ca=\"a\",cert=\"b\"}\n\n# the end\n\n";
        let expected = "# head\n[workspace]\nname = \"a\"   # why\nrulesets = [\"csharp\", \"scip\"]\n\n[sources.a]\ninclude = [\n  \"x\",  # one\n]\n\n[store]\nmax_size = \"2 GB\"\ntls = { ca = \"a\", cert = \"b\" }\n\n# the end\n";
        assert_eq!(format_manifest(text).unwrap(), expected);
        assert_eq!(format_manifest("").unwrap(), "");
        assert!(format_manifest("x = ").is_err());
    }

    proptest! {
        /// Spaces and blank lines inserted into the example change neither its meaning nor its comments, and formatting is idempotent.
        #[test]
        fn nothing_but_the_form_changes(places in prop::collection::vec((0..EXAMPLE.lines().count(), 0_u8..4), 0..40)) {
            let mut all: Vec<String> = EXAMPLE.lines().map(str::to_owned).collect();
            for (at, kind) in places {
                let is_alone = all[at].contains(" = ") && !all[at].starts_with(' ') && !all[at].starts_with('#');
                match kind {
                    0 => all[at].push_str("  "),
                    1 => all[at].push_str("\n\n"),
                    2 if is_alone => all[at].insert_str(0, "  "),
                    3 if is_alone => all[at] = all[at].replacen(" = ", "=", 1),
                    _ => {}
                }
            }
            let text = all.join("\n");
            let once = format_manifest(&text).unwrap();
            let value = |text: &str| text.parse::<toml::Table>().unwrap();
            prop_assert_eq!(value(&once), value(EXAMPLE));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<String>();
            prop_assert_eq!(words(&once), words(EXAMPLE));
            prop_assert_eq!(&format_manifest(&once).unwrap(), &once);
        }
    }
}
