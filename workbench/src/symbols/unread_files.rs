//! Files that may use C# code and that cortex does not read: Razor and XAML pages. When an answer depends on them, their lines with a name are found
//! by a text search.

use super::grep::{Hit, Query, grep};
use super::index::simple_name;
use super::overloads::short_of;
use engine::seams::world::{SetDef, World};
use engine::values::label::halves;
use std::collections::{BTreeMap, BTreeSet};

/// Extensions of such files.
pub const EXTENSIONS: [&str; 4] = ["razor", "cshtml", "xaml", "axaml"];

/// Limit of searched files.
const MOST_FILES: usize = 5_000;

/// The lines that contain one of some words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreadUses {
    /// The lines.
    pub hits: Vec<Hit>,
    /// Files that were not searched, because there are too many or because they are not text.
    pub unsearched: usize,
    words: BTreeSet<String>,
}

/// Returns the word by which code refers to a type or a member: `Get` of `N.Store#Get(int)`, `Store` of its constructor. `None` if it has no name.
pub fn word_of(path: &str) -> Option<String> {
    let word = match halves(path) {
        Some((key, member)) if member.starts_with(".ctor") => simple_name(key),
        Some((_, member)) => {
            let name = &member[..member.find(['(', '[']).unwrap_or(member.len())];
            let name = short_of(name).unwrap_or(name);
            &name[..name.find(['<', '`']).unwrap_or(name.len())]
        }
        None => simple_name(path),
    };
    let word = word.strip_prefix('@').unwrap_or(word);
    let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_') && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && word != "this" && word != "operator").then(|| word.to_owned())
}

/// Returns the lines of unread files that contain the name of a type or a member as a whole word. `beside` limits the files for a private
/// name: a page is a part of the type that the file next to it declares.
pub fn find_unread_uses<'p>(world: &dyn World, paths: impl IntoIterator<Item = &'p str>, beside: Option<&[String]>) -> UnreadUses {
    let words: BTreeSet<String> = paths.into_iter().filter_map(word_of).collect();
    let pattern = words.iter().map(String::as_str).collect::<Vec<_>>().join("|");
    let query = Query {
        pattern: &format!("(?:{pattern})"),
        fixed: false,
        ignore_case: false,
        word: true,
    };
    let mut sources = world.sources(Vec::new());
    let (Ok(matcher), Ok(_), false) = (query.matcher(), sources.refresh(&[pages()]), words.is_empty()) else {
        return UnreadUses::default();
    };
    let mut files = sources.set(0);
    if let Some(beside) = beside {
        files.retain(|page| beside.iter().any(|file| file.strip_suffix(".cs") == Some(page)));
    }
    let left_out = files.len().saturating_sub(MOST_FILES);
    files.truncate(MOST_FILES);
    let found = grep(world, &files, &matcher);
    UnreadUses {
        hits: found.hits,
        unsearched: left_out + found.unread,
        words,
    }
}

fn pages() -> SetDef {
    SetDef {
        name: "pages".to_owned(),
        include: EXTENSIONS.iter().map(|extension| format!("**/*.{extension}")).collect(),
        exclude: ["**/bin/**", "**/obj/**"].map(str::to_owned).to_vec(),
        gitignore: true,
    }
}

impl UnreadUses {
    /// Returns the note for an answer, if one is needed.
    pub fn describe_unread(&self) -> Option<String> {
        let unsearched = match self.unsearched {
            0 => String::new(),
            count => format!("; {count} more such files were not searched"),
        };
        if self.hits.is_empty() {
            return (self.unsearched > 0).then(|| format!("cortex does not read .razor, .cshtml and XAML files{unsearched}"));
        }
        let files: BTreeSet<&str> = self.hits.iter().map(|hit| hit.file.as_str()).collect();
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for file in &files {
            *kinds.entry(file.rsplit('.').next().unwrap_or_default()).or_default() += 1;
        }
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} .{kind}")).collect();
        let (lines, holds) = match self.hits.len() {
            1 => ("line", "holds"),
            _ => ("lines", "hold"),
        };
        let words = match self.words.len() {
            1..=3 => self.words.iter().map(String::as_str).collect::<Vec<_>>().join(" or "),
            count => format!("one of {count} names"),
        };
        let (plural, these) = if files.len() == 1 {
            ("", "this file")
        } else {
            ("s", "these files")
        };
        Some(format!(
            "{} {lines} in {} file{plural} {holds} the word {words}; cortex does not read {these}{unsearched}",
            self.hits.len(),
            kinds.join(" and "),
        ))
    }

    /// Formats each line as a possible use.
    pub fn places(&self) -> impl Iterator<Item = String> {
        self.hits.iter().map(|hit| {
            format!(
                "{}:{}: possible use, in a file that cortex does not read: {}",
                hit.file, hit.line, hit.text
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::files::memory::MemoryWorld;

    #[test]
    fn symbols_are_named_by_words() {
        for (path, word) in [
            ("N.Store", Some("Store")),
            ("N.Store`1+Row", Some("Row")),
            ("N.Box`1", Some("Box")),
            ("N.Store#Get(int)", Some("Get")),
            ("N.Store#Get", Some("Get")),
            ("N.Store#.ctor(int)", Some("Store")),
            ("N.Store#N.IStore.Get(int)", Some("Get")),
            ("N.Store#this[](int)", None),
            ("N.Store#operator +(Store, Store)", None),
        ] {
            assert_eq!(word_of(path).as_deref(), word, "{path}");
        }
    }

    #[test]
    fn lines_of_pages_are_counted_by_whole_words() {
        let world = MemoryWorld::new();
        for (path, text) in [
            (
                "ui/Home.razor",
                "@inject ToastService Toasts\n<p>ToastServices</p>\n@code { ToastService other; }\n",
            ),
            ("ui/Old.cshtml", "<p/>\n@ToastService.Show()\n"),
            ("ui/obj/Made.razor", "ToastService\n"),
            ("src/A.cs", "class ToastService { }\n"),
        ] {
            world.write_source(path, text.as_bytes());
        }
        let found = find_unread_uses(&world, ["N.ToastService"], None);
        assert_eq!(
            found.describe_unread().as_deref(),
            Some("3 lines in 1 .cshtml and 1 .razor files hold the word ToastService; cortex does not read these files")
        );
        let first = "ui/Home.razor:1: possible use, in a file that cortex does not read: @inject ToastService Toasts";
        assert_eq!(found.places().next().as_deref(), Some(first));
        let beside = ["ui/Old.cshtml.cs".to_owned()];
        assert_eq!(find_unread_uses(&world, ["N.ToastService"], Some(&beside)).hits.len(), 1);
        assert_eq!(find_unread_uses(&world, ["N.Gone"], None).describe_unread(), None);
    }
}
