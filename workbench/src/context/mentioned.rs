//! Files, types and members that a query names outright: `src/Core/NodeStore.cs:12`, `NodeStore.cs`, `NodeStore`, `NodeStore.Get`,
//! `NodeStore#Get(NodeId)`, `README.md`.
//!
//! A word of prose names a type only if it looks like a name in a program: by a capital inside, by a dot or `#`, by type arguments, or by backquotes
//! around it. [`super::members`] resolves members, and [`super::attached`] files that contain no type.

use super::index::Index;
use super::member_spellings::declared_spelling;
use super::named_words::{self, Lines, Word};
use super::names_with_spaces;
use super::words::{distinct, is_wide};
use crate::symbols::path::SymbolPath;
use producers::csharp::types::symbol_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

/// A file, a type or a member that a query names.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mention {
    /// The mention as written.
    pub text: String,
    /// The files that it names; empty when there is no such file.
    pub files: Vec<String>,
    /// The types that it names: of that name, or in those files.
    pub types: Vec<String>,
    /// The members that it names: of that name, or in those lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Why all or part of it is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_shown: Option<String>,
    /// The part of the types or files that the text refers to, if known.
    #[serde(skip)]
    pub wanted: MentionedPart,
    /// The lines that it refers to and that contain no type, each with its file.
    #[serde(skip)]
    pub outside: Vec<(String, Lines)>,
}

impl Mention {
    /// Whether the mention may name a file that the index does not know.
    pub fn may_be_file(&self) -> bool {
        matches!(self.wanted, MentionedPart::File(_) | MentionedPart::Member(_))
    }
}

/// The part of its types or files that a mention refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MentionedPart {
    /// All types or files of the mention.
    #[default]
    All,
    /// A member, by this name of a symbol.
    Member(String),
    /// The declarations in these lines.
    Lines(Lines),
    /// A file that contains no type, if it exists; in these lines.
    File(Option<Lines>),
}

/// A name with more matches than this resolves to none.
pub(super) const AMBIGUOUS: usize = 4;
/// Limit of mentions that are considered per query.
const MOST: usize = 64;

/// Returns all mentions of a text, in order, each once, as far as they concern files with types.
pub fn mentions(text: &str, index: &Index) -> Vec<Mention> {
    mentions_among(text, index, index.files())
}

/// Returns all mentions of a text, in order, each once; `there` are the existing files. A mention of a file without types may turn out to be none.
pub fn mentions_among<'f>(text: &str, index: &Index, there: impl IntoIterator<Item = &'f str>) -> Vec<Mention> {
    // Most queries name no file.
    let files = LazyCell::new(|| Files::from_index(index));
    let mut found: Vec<Mention> = Vec::new();
    for word in named_words::split_words(text, &names_with_spaces::spans_of_file_names(text, there)) {
        let whole = resolve_word(word, index, &files);
        // Chinese text surrounds names without spaces: which part belongs to a name is known only for existing files.
        let is_open =
            !word.is_file && word.text.contains(is_wide) && whole.as_ref().is_some_and(|one| matches!(one.wanted, MentionedPart::File(_)));
        let parts = named_words::inside(word).filter(|part| whole.is_none() || is_open && !is_rest(part.text));
        let parts: Vec<Mention> = parts.filter_map(|part| resolve_word(part, index, &files)).collect();
        for mention in whole.filter(|_| parts.is_empty()).into_iter().chain(parts) {
            if found.iter().any(|known| known.text == mention.text) {
                continue;
            }
            if found.len() == MOST {
                let why = format!("the query names more than {MOST} types and files; this one and later ones are ignored");
                found.push(Mention {
                    text: mention.text,
                    not_shown: Some(why),
                    ..Mention::default()
                });
                return found;
            }
            found.push(mention);
        }
    }
    found
}

fn resolve_word<'i>(word: Word<'_>, index: &'i Index, files: &LazyCell<Files<'i>, impl FnOnce() -> Files<'i>>) -> Option<Mention> {
    let (path, lines) = named_words::split_lines_suffix(word.text);
    if word.is_file || is_path(path) {
        let types = files.resolve_path(word.text, path, lines, index);
        let types = types.or_else(|| files.resolve_path(word.text, &named_words::decode_path(path)?, lines, index));
        return types.or_else(|| file(word, path, lines));
    }
    // Of files in other languages, the index knows those with definitions.
    resolve_symbol(word, index).or_else(|| {
        let asked = file(word, path, lines)?;
        Some(files.resolve_path(word.text, path, lines, index).unwrap_or(asked))
    })
}

/// Whether a part of a word is only the beginning or the end of a path.
fn is_rest(part: &str) -> bool {
    let is_whole = part.starts_with("./") || part.starts_with("../");
    part.ends_with('/') || part.starts_with(['/', '.']) && !is_whole
}

/// Returns the words of a query, each once, without those of paths that it names: a path refers only to its own file.
pub fn query_words(query: &str, mentions: &[Mention]) -> Vec<String> {
    let is_file = |mention: &Mention| {
        let (path, _) = named_words::split_lines_suffix(&mention.text);
        matches!(mention.wanted, MentionedPart::File(_)) || is_path(path) || mention.files.iter().any(|file| file.ends_with(path))
    };
    let paths = mentions.iter().filter(|mention| !mention.files.is_empty() && is_file(mention));
    distinct(&paths.fold(query.to_owned(), |query, mention| query.replace(&mention.text, " ")))
}

/// Whether a word names a file, not a symbol.
fn is_path(path: &str) -> bool {
    path.contains(['/', '\\']) && !path.contains("//") && !path.contains(['(', '<']) || path.to_lowercase().ends_with(".cs")
}

/// Returns the mention of a word that may be a file without types; whether it exists is not checked here.
fn file(word: Word<'_>, path: &str, lines: Option<Lines>) -> Option<Mention> {
    let is_written_so = || match named_words::ending(path) {
        // After a dot, names of programs continue with capitals, abbreviations with one letter.
        Some(ending) => path.starts_with('.') || ending.len() > 1 && ending.starts_with(|c: char| c.is_lowercase()),
        None => false,
    };
    let is_written_so = || word.quoted || is_path(path) || is_written_so();
    let is_apart = |path: &str| !path.contains("//") && !path.contains(['(', '<', '*']);
    let may_be = word.is_file || is_apart(named_words::local(path)) && is_written_so();
    may_be.then(|| Mention {
        text: word.text.to_owned(),
        wanted: MentionedPart::File(lines),
        ..Mention::default()
    })
}

/// The files of an index, by name.
struct Files<'i>(BTreeMap<String, Vec<&'i str>>);

impl<'i> Files<'i> {
    fn from_index(index: &'i Index) -> Self {
        let mut files: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for file in index.files() {
            let name = file.rsplit('/').next().unwrap_or(file);
            files.entry(name.to_lowercase()).or_default().push(file);
        }
        files.values_mut().for_each(|paths| paths.sort_unstable());
        Self(files)
    }

    /// Resolves a path among the files with types.
    fn resolve_path(&self, word: &str, path: &str, lines: Option<Lines>, index: &Index) -> Option<Mention> {
        let path = path.replace('\\', "/");
        let name = path.rsplit('/').next().unwrap_or(&path).to_lowercase();
        let files = self.0.get(&name).map_or(&[][..], Vec::as_slice);
        let files = ending_with(&path, files);
        let mention = Mention {
            text: word.to_owned(),
            ..Mention::default()
        };
        if files.len() > AMBIGUOUS {
            return Some(Mention {
                not_shown: Some(too_many(files.len(), "files")),
                ..mention
            });
        }
        let types = files.iter().flat_map(|file| index.in_file(file));
        let types = types.map(|at| index.key(*at).to_owned()).collect();
        (!files.is_empty()).then(|| Mention {
            types,
            files: files.into_iter().map(str::to_owned).collect(),
            wanted: lines.map_or(MentionedPart::All, MentionedPart::Lines),
            ..mention
        })
    }
}

/// Explains why an ambiguous name is not shown.
pub(super) fn too_many(count: usize, what: &str) -> String {
    format!("{count} {what} have this name; write more of it")
}

/// Returns the files that match a path: the file with that path, or else those whose paths end with it, or, for a path of another machine, those with
/// which it ends.
pub(super) fn ending_with<'f>(path: &str, files: &[&'f str]) -> Vec<&'f str> {
    let path = path.to_lowercase();
    let path = path.trim_start_matches("./").trim_matches('/');
    let meant = |means: &dyn Fn(&str) -> bool| -> Vec<&'f str> {
        let means = |file: &&&str| means(&file.to_lowercase());
        files.iter().filter(means).copied().collect()
    };
    let tiers: [&dyn Fn(&str) -> bool; 3] = [
        &|file| file == path,
        &|file| file.strip_suffix(path).is_some_and(|before| before.ends_with('/')),
        &|file| file.contains('/') && path.strip_suffix(file).is_some_and(|before| before.ends_with('/')),
    ];
    let found = tiers.into_iter().map(meant).find(|found| !found.is_empty());
    found.unwrap_or_default()
}

/// Resolves the name of a type or a member.
fn resolve_symbol(word: Word<'_>, index: &Index) -> Option<Mention> {
    let text = declared_spelling(word.text.trim_start_matches('.'));
    let text = text.as_ref();
    let has_hump = |name: &str| name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
    // If the text after a name is incomplete or misspelt, use the name alone.
    let open = text.find(['(', '<']).unwrap_or(text.len());
    let (text, path) = [text, &text[..open]]
        .into_iter()
        .find_map(|text| Some((text, SymbolPath::parse(text).ok()?)))?;
    let is_of_program = text[..open.min(text.len())].contains(['.', '#']) || path.segments.iter().any(|one| one.arguments.is_some());
    if path.is_wild() || !(word.quoted || is_of_program || has_hump(&text[..open.min(text.len())])) {
        return None;
    }
    let names: Vec<(&str, Option<usize>)> = path.segments.iter().map(|one| arity(&one.name, one.arguments)).collect();
    // The type itself, or one whose member follows the dot.
    let mut ends = match path.member {
        Some(_) => vec![(names.len(), true)],
        None => vec![(names.len(), false), (names.len() - 1, true)],
    };
    if path.member.is_none()
        && let [.., (interface, _), _] = names.as_slice()
        && is_interface(interface)
    {
        ends.extend((1..names.len() - 1).rev().map(|end| (end, true)));
    }
    for (end, of_member) in ends {
        let Some(((simple, arguments), around)) = names.get(..end).and_then(<[_]>::split_last) else {
            continue;
        };
        let around: String = around.iter().map(|(name, _)| format!("{name}.")).collect();
        let fits = |at: &&usize| {
            let plain = dotted_name(index.key(**at));
            let before = plain.strip_suffix(simple).and_then(|before| before.strip_suffix(around.as_str()));
            before.is_some_and(|before| around.is_empty() || before.is_empty() || before.ends_with('.'))
        };
        let mut types: Vec<usize> = index.types_named(simple).iter().filter(fits).copied().collect();
        let has_arity = |at: &usize| *arguments == arity(index.key(*at).rsplit(['.', '+']).next().unwrap_or_default(), Some(0)).1;
        if types.iter().any(has_arity) && arguments.is_some() {
            types.retain(has_arity);
        }
        if types.len() > AMBIGUOUS {
            return Some(Mention {
                text: word.text.to_owned(),
                not_shown: Some(too_many(types.len(), "types")),
                ..Mention::default()
            });
        }
        if !types.is_empty() {
            let files = types.iter().filter_map(|at| index.document(*at)).flat_map(|one| &one.files);
            let files: BTreeSet<&String> = files.collect();
            return Some(Mention {
                text: word.text.to_owned(),
                files: files.into_iter().cloned().collect(),
                types: types.into_iter().map(|at| index.key(at).to_owned()).collect(),
                wanted: if of_member {
                    MentionedPart::Member(member(text, end))
                } else {
                    MentionedPart::All
                },
                ..Mention::default()
            });
        }
    }
    None
}

/// Whether a name is an interface's, by the convention of C#: members that implement one explicitly have its name.
fn is_interface(name: &str) -> bool {
    name.strip_prefix('I').is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

/// Returns the name of a member whose first `of_type` names are its type's: with `#` after those where the member's own name has several.
fn member(text: &str, of_type: usize) -> String {
    let open = text.find('(').unwrap_or(text.len());
    let mut depth = 0_usize;
    let dots = text[..open].char_indices().filter(|(_, c)| {
        depth = match c {
            '<' => depth + 1,
            '>' => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0 && matches!(c, '.' | '+')
    });
    let dots: Vec<usize> = dots.map(|(at, _)| at).collect();
    match dots.get(of_type - 1) {
        Some(at) if of_type < dots.len() && !text.contains('#') => format!("{}#{}", &text[..*at], &text[at + 1..]),
        _ => text.to_owned(),
    }
}

/// Returns a name without its mark of arity, and its number of type arguments, by that mark or as written.
fn arity(name: &str, written: Option<usize>) -> (&str, Option<usize>) {
    let name = symbol_of(name);
    match name.split_once('`') {
        Some((name, count)) => (name, count.parse().ok()),
        None => (name, written),
    }
}

/// Returns a key as code writes it: without arities, with dots.
fn dotted_name(key: &str) -> String {
    let names = symbol_of(key).split(['.', '+']).map(|name| arity(name, None).0);
    names.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::super::index::samples::{document, index_of};
    use super::*;
    use proptest::prelude::*;

    fn index() -> Index {
        let keys = [
            "Memo.Core.NodeStore", "Memo.Core.Node", "Memo.Io.Node", "Memo.Io.Cache", "Memo.Io.Cache`2", "Memo.Io.Cache`2+Line",
            "Memo.Core.NodeStore+Entry", "A.Item", "B.Item", "C.Item", "D.Item", "E.Item",
        ];
        index_of(keys.iter().map(|key| document(key, "", &[])).collect())
    }

    fn said(text: &str) -> Vec<String> {
        let found = mentions(text, &index());
        found.iter().map(describe_mention).collect()
    }

    fn describe_mention(mention: &Mention) -> String {
        let wanted = match &mention.wanted {
            MentionedPart::All => String::new(),
            MentionedPart::Member(name) => format!(" member {name}"),
            MentionedPart::Lines((from, to)) => format!(" lines {from}-{to}"),
            MentionedPart::File(None) => "a file".to_owned(),
            MentionedPart::File(Some((from, to))) => format!("a file, lines {from}-{to}"),
        };
        let why = mention.not_shown.as_deref().unwrap_or_default();
        format!("{} = {}{wanted}{why}", mention.text, mention.types.join(" "))
    }

    #[test]
    fn ignored_mentions_are_reported() {
        let text: String = (0..MOST + 5).map(|at| format!("x{at}.md ")).collect();
        let found = mentions(&text, &index());
        assert_eq!(found.len(), MOST + 1);
        let why = |at: usize| found[at].not_shown.as_deref();
        assert_eq!((why(MOST - 1), found[MOST].text.as_str()), (None, format!("x{MOST}.md").as_str()));
        assert!(why(MOST).is_some_and(|why| why.contains("are ignored")), "{found:?}");
    }

    #[test]
    fn files_and_types_are_found_in_prose() {
        for (text, expected) in [
            ("Why is NodeStore slow?", vec!["NodeStore = Memo.Core.NodeStore"]),
            ("a Node and a node", vec![]),
            ("a `Node`", vec!["Node = Memo.Core.Node Memo.Io.Node"]),
            ("(see Core.Node, Core.Node)", vec!["Core.Node = Memo.Core.Node"]),
            (
                "NodeStore#Get(NodeId) fails",
                vec!["NodeStore#Get(NodeId) = Memo.Core.NodeStore member NodeStore#Get(NodeId)"],
            ),
            (
                "NodeStore.Entry of NodeStore.Get(int, string",
                vec![
                    "NodeStore.Entry = Memo.Core.NodeStore+Entry",
                    "NodeStore.Get(int = Memo.Core.NodeStore member NodeStore.Get",
                ],
            ),
            (
                "`Cache<K, V>` evicts, Cache<K>, Cache`2.Line.Of and Io.Cache`2",
                vec![
                    "Cache<K, V> = Memo.Io.Cache`2",
                    "Cache<K> = Memo.Io.Cache Memo.Io.Cache`2",
                    "Cache`2.Line.Of = Memo.Io.Cache`2+Line member Cache`2.Line.Of",
                    "Io.Cache`2 = Memo.Io.Cache`2",
                ],
            ),
            ("Task<NodeStore>(x)", vec!["NodeStore = Memo.Core.NodeStore"]),
            (
                "at Core.NodeStore.<>c.<<GetAsync>b__3_0>d.MoveNext(), Io.Cache`2.<Get>d__7.MoveNext(), NodeStore.<Set>g__Own|5_0(Int32 x)",
                vec![
                    "Core.NodeStore.<>c.<<GetAsync>b__3_0>d.MoveNext() = Memo.Core.NodeStore member Core.NodeStore.GetAsync",
                    "Io.Cache`2.<Get>d__7.MoveNext() = Memo.Io.Cache`2 member Io.Cache`2.Get",
                    "NodeStore.<Set>g__Own = Memo.Core.NodeStore member NodeStore.Set",
                ],
            ),
            (
                "M:Memo.Core.NodeStore.Get(System.Int32) and T:Memo.Core.Node",
                vec![
                    "M:Memo.Core.NodeStore.Get(System.Int32) = Memo.Core.NodeStore member Memo.Core.NodeStore.Get(System.Int32)",
                    "T:Memo.Core.Node = Memo.Core.Node",
                ],
            ),
            (
                "src/Memo/Core/Node.cs:12:4: error",
                vec!["src/Memo/Core/Node.cs:12:4 = Memo.Core.Node lines 12-12"],
            ),
            (
                "at Node.Get() in C:\\b\\src\\Memo\\Io\\Node.cs:line 7",
                vec![
                    "Node.Get() = Memo.Core.Node Memo.Io.Node member Node.Get()",
                    "C:\\b\\src\\Memo\\Io\\Node.cs:line 7 = Memo.Io.Node lines 7-7",
                ],
            ),
            (
                "node.cs, .\\core\\node.cs",
                vec!["node.cs = Memo.Core.Node Memo.Io.Node", ".\\core\\node.cs = Memo.Core.Node"],
            ),
            (
                "Gone.cs and README.md:3 and http://example.com/NodeStore, e.g. System.Xml or 3.1 and `x` and/or",
                vec![
                    "Gone.cs = a file",
                    "README.md:3 = a file, lines 3-3",
                    "x = a file",
                    "and/or = a file",
                ],
            ),
            ("修复NodeStore。", vec!["NodeStore = Memo.Core.NodeStore"]),
            (
                "请看docs/a.md的内容、docs/b.md的，「docs/c.md」，见README.md。看src/Memo/Core/NodeStore.cs:14的代码",
                vec![
                    "docs/a.md = a file",
                    "docs/b.md = a file",
                    "docs/c.md = a file",
                    "README.md = a file",
                    "src/Memo/Core/NodeStore.cs:14 = Memo.Core.NodeStore lines 14-14",
                ],
            ),
            ("文档/没有.md, 看/a.md", vec!["文档/没有.md = a file", "看/a.md = a file"]),
            (
                "“NodeStore” or __Memo.Core.NodeStore__",
                vec!["NodeStore = Memo.Core.NodeStore", "Memo.Core.NodeStore = Memo.Core.NodeStore"],
            ),
            (
                "~~NodeStore~~ #Core.NodeStore",
                vec!["NodeStore = Memo.Core.NodeStore", "Core.NodeStore = Memo.Core.NodeStore"],
            ),
            (
                "https://github.com/o/r/blob/main/docs/a.md#L2 and file:///x/docs/a.md",
                vec![
                    "https://github.com/o/r/blob/main/docs/a.md#L2 = a file, lines 2-2",
                    "file:///x/docs/a.md = a file",
                ],
            ),
            ("many `Item`s", vec!["Item = 5 types have this name; write more of it"]),
            ("修复 NodeStore。", vec!["NodeStore = Memo.Core.NodeStore"]),
        ] {
            assert_eq!(said(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_say_nothing_about_other_files() {
        let query = "store of src/Memo/Core/Node.cs:12 and Gone.cs and `Core.Node`";
        let words = query_words(query, &mentions(query, &index()));
        assert_eq!(words, ["store", "gone", "cs", "core", "node"]);
    }

    proptest! {
        #[test]
        fn any_text_is_looked_through(text in any::<String>()) {
            prop_assert!(mentions(&text, &index()).len() <= MOST);
        }
    }
}
