//! Where the filter of a pack stands. Producers know a filter as a text of its own; people look for it in the file that holds it.

use super::{FILE, MOST_BYTES, TABLE};
use crate::checkout;
use crate::location::MANIFEST;
use crate::workspace::manifest_bytes;
use engine::values::diagnostic::{Diagnostic, Excerpt, Place};
use engine::values::label::unescape;
use producers::csharp::pack::filter;
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Longer lines are not shown, but what the filter's own line shows.
const LONGEST_LINE: usize = 400;

/// What is wrong with a filter, at its place in `cortex.toml` or the file of packs below `root`. Anything else, and a filter that is not found
/// there any more, stays as it is.
pub fn placed(root: &Path, mut why: Diagnostic) -> Diagnostic {
    let Some(pack) = pack_of(&why) else { return why };
    let made = || checkout::read(root, FILE, MOST_BYTES).ok().flatten();
    let found = find(MANIFEST, manifest_bytes(root), &pack, &why).or_else(|| find(FILE, made(), &pack, &why));
    if let Some((place, excerpt)) = found {
        why.place = Some(place);
        why.excerpt = excerpt.or(why.excerpt);
    }
    why
}

/// The pack whose filter a diagnostic has its place in.
fn pack_of(why: &Diagnostic) -> Option<String> {
    why.place.as_ref().filter(|place| place.file == filter::PLACE)?;
    let name = why.label.as_deref()?.strip_prefix("//packs/")?.rsplit_once(':')?.0;
    Some(unescape(name))
}

fn find(file: &str, bytes: Option<Vec<u8>>, pack: &str, why: &Diagnostic) -> Option<(Place, Option<Excerpt>)> {
    let text = String::from_utf8(bytes?).ok()?;
    let document = DeTable::parse(&text).ok()?;
    let below = |value: &DeValue<'_>, key: &str| value.as_table().and_then(|table| Some(table.get(key)?.span()));
    let packs = document.get_ref().get(TABLE)?.get_ref().as_table()?;
    let row = packs.get(pack)?.get_ref();
    let span = below(row, "filter")?;
    let value = row.as_table()?.get("filter")?.get_ref().as_str()?;
    let place = why.place.as_ref()?;
    let within = offset(value, place).and_then(|at| Some(inner(&text, &span, value)? + at));
    let at = within.unwrap_or(span.start);
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let column = text[start..at].chars().count();
    let place = Place {
        file: file.to_owned(),
        line: small(text[..at].matches('\n').count() + 1),
        column: small(column + 1),
    };
    let excerpt = why.excerpt.as_ref().filter(|_| within.is_some() && line.len() <= LONGEST_LINE);
    let excerpt = excerpt.map(|excerpt| Excerpt {
        text: line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        start: small(column),
        len: excerpt.len,
    });
    Some((place, excerpt))
}

/// The byte of a text that a place in it means.
fn offset(text: &str, place: &Place) -> Option<usize> {
    let before = (place.line as usize).checked_sub(1)?;
    let lines: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let rest = &text[lines..];
    let column = (place.column as usize).checked_sub(1)?;
    let at = rest.char_indices().map(|(at, _)| at).chain([rest.len()]).nth(column)?;
    Some(lines + at)
}

/// Where the text of a string begins that is written as it is, without escapes.
fn inner(text: &str, span: &Range<usize>, value: &str) -> Option<usize> {
    let written = text.get(span.clone())?;
    let quotes = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quotes| written.starts_with(quotes))?;
    let body = written.strip_prefix(quotes)?.strip_suffix(quotes)?;
    // A line end right behind three quotes is none of the text's.
    let line_end = match quotes.len() {
        3 => ["\r\n", "\n"].into_iter().find(|end| body.starts_with(end)).map_or(0, str::len),
        _ => 0,
    };
    (&body[line_end..] == value).then(|| span.start + quotes.len() + line_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place of what is wrong with the filter of pack `p/q`, whose text is `filter`, in a manifest.
    fn told(manifest: &str, made: &str, text: &str) -> Diagnostic {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join(MANIFEST), manifest).expect("written");
        std::fs::create_dir(folder.path().join(".cortex")).expect("folder");
        std::fs::write(folder.path().join(FILE), made).expect("written");
        let wrong = filter::parse(text).expect_err("it is wrong").diagnostic(text);
        placed(folder.path(), wrong.label("//packs/p/q:selection"))
    }

    fn place(manifest: &str, text: &str) -> String {
        told(manifest, "", text).place.expect("a place").to_string()
    }

    #[test]
    fn it_is_the_place_in_the_file_that_holds_the_filter() {
        assert_eq!(place("[pack.\"p/q\"]\nfilter = \"type:A & b\"\n", "type:A & b"), "cortex.toml:2:18");
        assert_eq!(
            place("pack = { 'p/q' = { filter = 'type:A & b' } }\r\n", "type:A & b"),
            "cortex.toml:1:37"
        );
        assert_eq!(
            place("[pack]\n'p/q'.filter = \"\"\"\ntype:A\n or &\"\"\"", "type:A\n or &"),
            "cortex.toml:4:5"
        );
        assert_eq!(
            place("[pack.'p/q']\nfilter='''type:Ä\n(type:é &'''", "type:Ä\n(type:é &"),
            "cortex.toml:2:16"
        );
        // Of a filter with escapes, where it begins.
        assert_eq!(place("[pack.'p/q']\nfilter=\"type:\\u0041 & b\"", "type:A & b"), "cortex.toml:2:8");
        let made = told("[pack.other]\nfilter = \"&\"\n", "# made\n\n[pack.\"p/q\"]\nfilter = \"&\"", "&");
        assert_eq!(made.place.expect("a place").to_string(), ".cortex/packs.toml:4:11");
        let excerpt = made.excerpt.expect("a line");
        assert_eq!((excerpt.text.as_str(), excerpt.start, excerpt.len), ("filter = \"&\"", 10, 1));
    }

    #[test]
    fn what_is_not_there_stays_where_it_was() {
        for manifest in [
            "",
            "[pack.q]\nfilter = \"&\"",
            "pack = 3",
            "[pack]\n'p/q' = 3",
            "[pack.'p/q']\nfilter = 3",
            "= =",
        ] {
            assert_eq!(place(manifest, "&"), "filter:1:1", "{manifest}");
        }
        // It was edited meanwhile: the beginning is true of whatever stands there.
        assert_eq!(place("[pack.'p/q']\nfilter = \"x\"", "type:A & b"), "cortex.toml:2:10");
        let other = Diagnostic::error("E_X", "another").at("filter", 1, 1).label("//types/A:outline");
        assert_eq!(placed(Path::new("/nowhere"), other.clone()), other);
    }
}
