//! File names in unified diffs: quoted if necessary, with the prefixes of both sides or, with git's `--no-prefix`, without.

use super::match_failure;

/// Prefixes of old and new side: git's own, those of `diff.mnemonicPrefix` (commit, index, object, work tree) and of `--no-index`. `-R` swaps them.
const SIDES: [(&str, &str); 6] = [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/")];

/// Name of a missing file.
const NONE: &str = "/dev/null";

/// Returns the old and new name of a file, `None` for a missing one, from the `---` and `+++` lines at `number` and the next line; `git_names` are
/// the names of the `diff --git` line.
pub(super) fn both_names(old: &str, new: &str, git_names: Option<&str>, number: usize) -> Result<(Option<String>, Option<String>), String> {
    let (old, new) = (path(old, number)?, path(new, number + 1)?);
    // Only the `diff --git` line has both names of a created or deleted file.
    let git = match git_names {
        Some(git_names) if old == NONE || new == NONE => equal_halves(git_names, number)?,
        git_names => git_names.map(|_| (old.clone(), new.clone())),
    };
    let (before, behind) = git.as_ref().map_or((&old, &new), |(old, new)| (old, new));
    let bare = |name: String, prefix: Option<&str>| {
        let bare = match (prefix, &git) {
            (Some(prefix), _) => name.strip_prefix(prefix),
            (None, Some(_)) => None,
            // Without a `diff --git` line, a name may have one prefix and not the other.
            (None, None) => name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")),
        };
        (name != NONE).then(|| bare.unwrap_or(&name).to_owned())
    };
    let (one, other) = prefixes(before, behind).unzip();
    Ok((bare(old, one), bare(new, other)))
}

/// Returns the path that `diff --git` has twice, as for a file that is not moved.
pub(super) fn repeated_name(names: &str, number: usize) -> Result<String, String> {
    let own = equal_halves(names, number)?.and_then(|(old, new)| match prefixes(&old, &new) {
        Some((one, other)) => (old[one.len()..] == new[other.len()..]).then(|| old[one.len()..].to_owned()),
        None => (old == new).then_some(old),
    });
    own.ok_or_else(|| format!("line {number} of the patch: it does not name one file two times"))
}

/// Splits the names of a `diff --git` line, if they have equal lengths.
fn equal_halves(names: &str, number: usize) -> Result<Option<(String, String)>, String> {
    let at = names.len() / 2;
    let both = names.get(..at).zip(names.get(at..).and_then(|rest| rest.strip_prefix(' ')));
    both.map(|(old, new)| Ok((path(old, number)?, path(new, number)?))).transpose()
}

/// Returns the prefixes of two names, if they are those of two sides.
fn prefixes(old: &str, new: &str) -> Option<(&'static str, &'static str)> {
    let ways = SIDES.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    ways.into_iter().find(|(one, other)| old.starts_with(one) && new.starts_with(other))
}

/// Parses a path as git writes it: up to the tab after a path with spaces, or quoted with C escapes and octal bytes (`core.quotePath` of git-config).
pub(super) fn path(text: &str, number: usize) -> Result<String, String> {
    let wrong = || {
        let found = match_failure::visible(text);
        format!("line {number} of the patch: `{found}` is not a path as git writes it, in UTF-8, in quotes where it has a backslash")
    };
    let Some(quoted) = text.strip_prefix('"') else {
        let path = text.split_once('\t').map_or(text, |(path, _)| path);
        return if path.contains('\\') { Err(wrong()) } else { Ok(path.to_owned()) };
    };
    let mut rest = quoted.bytes();
    let mut path = Vec::new();
    loop {
        let byte = rest.next().ok_or_else(wrong)?;
        if byte == b'"' {
            break;
        }
        path.push(if byte == b'\\' {
            decode_escape(&mut rest).ok_or_else(wrong)?
        } else {
            byte
        });
    }
    let is_all = rest.next().is_none_or(|byte| byte.is_ascii_whitespace());
    String::from_utf8(path).ok().filter(|_| is_all).ok_or_else(wrong)
}

/// Returns the byte of an escape after the backslash.
fn decode_escape(rest: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let digit = |byte: u8| (b'0'..=b'7').contains(&byte).then(|| byte - b'0');
    Some(match rest.next()? {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        sign @ (b'"' | b'\\') => sign,
        first @ b'0'..=b'3' => digit(first)? << 6 | digit(rest.next()?)? << 3 | digit(rest.next()?)?,
        _ => return None,
    })
}
