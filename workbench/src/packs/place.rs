//! Positions of pack filters. Producers see a filter as a text of its own; people look for it in the file that contains it.

use super::TABLE;
use crate::checkout;
use crate::location::MANIFEST;
use crate::packs_file::{FILE, MOST_BYTES};
use crate::workspace::manifest_bytes;
use engine::values::diagnostic::{Diagnostic, Excerpt, SourceLocation};
use engine::values::label::unescape;
use producers::csharp::pack::filter;
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Limit of a line that is shown as a whole; of a longer one, the filter's part.
const LONGEST_LINE: usize = 400;

/// Moves an error of a filter to its position in `cortex.toml` or the file of packs below `root`. Leaves other errors, and those of a filter that is
/// no longer there, unchanged.
pub fn locate_filter_error(root: &Path, mut why: Diagnostic) -> Diagnostic {
    let Some(pack) = pack_of(&why) else { return why };
    let made = || checkout::read_file(root, FILE, MOST_BYTES).ok().flatten();
    let found = place_of_pack(MANIFEST, manifest_bytes(root), &pack, &why).or_else(|| place_of_pack(FILE, made(), &pack, &why));
    if let Some((place, excerpt)) = found {
        why.place = Some(place);
        why.excerpt = excerpt.or(why.excerpt);
    }
    why
}

/// Returns the pack whose filter a diagnostic is about.
fn pack_of(why: &Diagnostic) -> Option<String> {
    why.place.as_ref().filter(|place| place.file == filter::PLACE)?;
    let name = why.label.as_deref()?.strip_prefix("//packs/")?.rsplit_once(':')?.0;
    Some(unescape(name))
}

fn place_of_pack(file: &str, bytes: Option<Vec<u8>>, pack: &str, why: &Diagnostic) -> Option<(SourceLocation, Option<Excerpt>)> {
    let text = String::from_utf8(bytes?).ok()?;
    let document = DeTable::parse(&text).ok()?;
    let below = |value: &DeValue<'_>, key: &str| value.as_table().and_then(|table| Some(table.get(key)?.span()));
    let packs = document.get_ref().get(TABLE)?.get_ref().as_table()?;
    let row = packs.get(pack)?.get_ref();
    let span = below(row, "filter")?;
    let value = row.as_table()?.get("filter")?.get_ref().as_str()?;
    let place = why.place.as_ref()?;
    let places = characters(&text, &span, value);
    let first = (place.column as usize).checked_sub(1).filter(|_| place.line == 1);
    let within = first.and_then(|first| places.as_ref()?.get(first).copied());
    let at = within.unwrap_or(span.start);
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let column = text[start..at].chars().count();
    let place = SourceLocation {
        file: file.to_owned(),
        line: small(text[..at].matches('\n').count() + 1),
        column: small(column + 1),
    };
    let excerpt = why.excerpt.as_ref().filter(|_| within.is_some() && line.len() <= LONGEST_LINE);
    let excerpt = excerpt.map(|excerpt| {
        let behind = first.and_then(|first| places.as_ref()?.get(first + excerpt.len as usize).copied());
        let meant = &text[at..behind.unwrap_or(at).min(start + line.len()).max(at)];
        Excerpt {
            text: line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
            start: small(column),
            len: small(meant.chars().count().max(1)),
        }
    });
    Some((place, excerpt))
}

/// Returns the byte of each character of a string as written, with escapes and line ends, and the byte of its end.
fn characters(text: &str, span: &Range<usize>, value: &str) -> Option<Vec<usize>> {
    let written = text.get(span.clone())?;
    let quotes = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quotes| written.starts_with(quotes))?;
    let body = written.strip_prefix(quotes)?.strip_suffix(quotes)?;
    let escapes = quotes.starts_with('"');
    // A line end directly after three quotes is not part of the text.
    let mut at = match quotes.len() {
        3 => ["\r\n", "\n"].into_iter().find(|end| body.starts_with(end)).map_or(0, str::len),
        _ => 0,
    };
    let mut places = Vec::new();
    let mut value = value.chars();
    while let Some(c) = body[at..].chars().next() {
        let (stands_for, len) = match c {
            '\\' if escapes => escape(&body[at..])?,
            c => (Some(c), c.len_utf8()),
        };
        if let Some(c) = stands_for {
            places.push(span.start + quotes.len() + at);
            // Otherwise the string was parsed in another way than here.
            value.next().filter(|read| *read == c)?;
        }
        at += len;
    }
    places.push(span.start + quotes.len() + at);
    value.next().is_none().then_some(places)
}

/// Returns the character of the escape at the beginning of a text, none for a continued line, and its length in bytes.
fn escape(text: &str) -> Option<(Option<char>, usize)> {
    let hex = |digits: usize| {
        let code = u32::from_str_radix(text.get(2..2 + digits)?, 16).ok()?;
        Some((Some(char::from_u32(code)?), 2 + digits))
    };
    let plain = |c| Some((Some(c), 2));
    match text[1..].chars().next()? {
        'b' => plain('\u{8}'),
        't' => plain('\t'),
        'n' => plain('\n'),
        'f' => plain('\u{c}'),
        'r' => plain('\r'),
        'e' => plain('\u{1b}'),
        c @ ('"' | '\\') => plain(c),
        'x' => hex(2),
        'u' => hex(4),
        'U' => hex(8),
        _ => {
            let rest = text[1..].trim_start_matches([' ', '\t', '\r', '\n']);
            Some((None, text.len() - rest.len())).filter(|(_, len)| *len > 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error of the filter of pack `p/q`, whose text is `filter`, in a manifest.
    fn filter_error(manifest: &str, made: &str, text: &str) -> Diagnostic {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join(MANIFEST), manifest).expect("written");
        std::fs::create_dir(folder.path().join(".cortex")).expect("folder");
        std::fs::write(folder.path().join(FILE), made).expect("written");
        let wrong = filter::parse_filter(text).expect_err("it is wrong").diagnostic(text);
        locate_filter_error(folder.path(), wrong.label("//packs/p/q:selection"))
    }

    fn place_of_error(manifest: &str, text: &str) -> String {
        filter_error(manifest, "", text).place.expect("a place").to_string()
    }

    #[test]
    fn it_is_the_place_in_the_file_that_holds_the_filter() {
        assert_eq!(
            place_of_error("[pack.\"p/q\"]\nfilter = \"type:A & b\"\n", "type:A & b"),
            "cortex.toml:2:18"
        );
        assert_eq!(
            place_of_error("pack = { 'p/q' = { filter = 'type:A & b' } }\r\n", "type:A & b"),
            "cortex.toml:1:37"
        );
        assert_eq!(
            place_of_error("[pack]\n'p/q'.filter = \"\"\"\ntype:A\n or &\"\"\"", "type:A\n or &"),
            "cortex.toml:4:5"
        );
        assert_eq!(
            place_of_error("[pack.'p/q']\nfilter='''type:Ä\n(type:é &'''", "type:Ä\n(type:é &"),
            "cortex.toml:2:16"
        );
        // Escapes count as long as they are written, and lines continue.
        let escapes = filter_error("[pack.'p/q']\nfilter=\"type:\\u0041 \\\"\\x26\\U0001F600 b\"", "", "type:A \"&😀 b");
        assert_eq!(escapes.place.expect("a place").to_string(), "cortex.toml:2:21");
        let excerpt = escapes.excerpt.expect("a line");
        assert_eq!((excerpt.start, excerpt.len), (20, 16));
        assert_eq!(
            place_of_error("[pack.'p/q']\nfilter=\"\"\"type:A \\\n\n   type:B\t& b\"\"\"", "type:A type:B\t& b"),
            "cortex.toml:4:11"
        );
        assert_eq!(
            place_of_error("[pack.'p/q']\r\nfilter='''type:A\r\n & b'''", "type:A\r\n & b"),
            "cortex.toml:3:2"
        );
        let made = filter_error("[pack.other]\nfilter = \"&\"\n", "# made\n\n[pack.\"p/q\"]\nfilter = \"&\"", "&");
        assert_eq!(made.place.expect("a place").to_string(), ".cortex/packs.toml:4:11");
        let excerpt = made.excerpt.expect("a line");
        assert_eq!((excerpt.text.as_str(), excerpt.start, excerpt.len), ("filter = \"&\"", 10, 1));
    }

    #[test]
    fn an_error_of_a_missing_filter_keeps_its_place() {
        for manifest in [
            "", "[pack.q]\nfilter = \"&\"", "pack = 3", "[pack]\n'p/q' = 3", "[pack.'p/q']\nfilter = 3", "= =",
        ] {
            assert_eq!(place_of_error(manifest, "&"), "filter:1:1", "{manifest}");
        }
        // It was edited since: only the filter's beginning is certain.
        assert_eq!(place_of_error("[pack.'p/q']\nfilter = \"x\"", "type:A & b"), "cortex.toml:2:10");
        let other = Diagnostic::error("E_X", "another").at("filter", 1, 1).label("//types/A:outline");
        assert_eq!(locate_filter_error(Path::new("/nowhere"), other.clone()), other);
    }
}
