//! Search: types and members by a part of their names.
//!
//! Order of hits: by kind of match (the whole name, its beginning, [`super::camel_humps`], any part), types before members, consecutive humps before
//! others, shorter names, then by name. Types of one name are in the order of [`rank`], members by the key of their type. Similarly spelled names are
//! searched only when nothing else matches; former names of renamed types match last. The text before the last `.`, `+` or `#` of a query must occur
//! in the namespace or type. Spaces are ignored: `node store` finds NodeStore. A query may be a pattern with `*` and `?` of the whole name. A page counts the overloads of a name in a type as one hit;
//! [`describe`](super::describe::describe) lists each. Constructors (by the names of their types) and namespaces are found only when their kind is
//! requested.

use super::camel_humps::Humps;
use super::edit_distance::Word;
use super::index::{Declared, Symbols, namespace, simple_name};
use super::locations::SourceLocation;
use super::matching::{outer_part, rank};
use super::meaning::NAMESPACE;
use super::outputs::{SymbolError, Trouble};
use super::overloads::kind_of;
use super::path::{Glob, MOST_CHARS, MOST_WILDCARDS, is_wild};
use crate::aliases::Aliases;
use engine::values::case_folding::{folded, same};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::suggest::nearest;
use producers::csharp::hashes::Access;
use producers::csharp::types::symbol_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Default number of hits on a page.
pub const USUAL: usize = 20;

/// Most hits on a page.
pub const MOST: usize = 200;

/// Kinds for the filter, in any case: those of types, any type, namespaces, any member, those of members, any member with a value, and two of other
/// languages.
pub const KINDS: [&str; 21] = [
    "type", "class", "struct", "interface", "enum", "delegate", "record", "record struct", "namespace", "member", "method", "constructor",
    "property", "indexer", "event", "field", "constant", "enum member", "value", "function", "variable",
];

/// Index in [`KINDS`] of the first kind of members.
const OF_MEMBERS: usize = 8;

/// Kinds of members that have a value without arguments.
const VALUES: [&str; 5] = ["property", "event", "field", "constant", "enum member"];

/// How a name matches, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Matched {
    /// The query is the name, ignoring case.
    Exact,
    /// The name begins with the query.
    Prefix,
    /// The query matches the name's humps.
    Humps,
    /// The query occurs in the name.
    Substring,
    /// The query is a pattern that matches the name.
    Wildcard,
    /// The query matches, in one of these ways, a former name of the type.
    Former,
    /// The query is at most two edits away from the name.
    Fuzzy,
    /// The type's declarations, documentation and code are similar to the text; the most similar come first.
    Semantic,
    /// The query is a file that declares the type.
    File,
}

/// A search query.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// Part of a name, with an optional part of its namespace or type; may be empty when a filter is given.
    pub text: &'q str,
    /// Kind of symbol, one of [`KINDS`].
    pub kind: Option<&'q str>,
    /// A namespace, including those below it.
    pub namespace: Option<&'q str>,
    /// Hits on the page, from 1 to [`MOST`].
    pub limit: usize,
    /// Cursor from the end of the last page.
    pub cursor: Option<&'q str>,
    /// Whether to include generated code.
    pub generated: bool,
    /// Former names of renamed types, if they are searched.
    pub aliases: Option<&'q Aliases>,
}

impl<'q> Query<'q> {
    /// Returns a query without filters, for its first page.
    pub fn new(text: &'q str) -> Self {
        Self {
            text,
            kind: None,
            namespace: None,
            limit: USUAL,
            cursor: None,
            generated: false,
            aliases: None,
        }
    }
}

/// One type, member or namespace.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// Its path: the key of a type, `key#Member`, `key#Name` of all overloads that [`describe`](super::describe::describe) did not look at, or a namespace.
    pub path: String,
    /// Identifier of the type; empty for a namespace.
    pub type_id: String,
    /// Identifier of the member, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_id: Option<String>,
    /// `class`, `method` …
    pub kind: String,
    /// Its accessibility in C#; empty for a member that [`describe`](super::describe::describe) did not look at.
    pub accessibility: String,
    /// Files that declare it; those of its type for a member without a description by [`describe`](super::describe::describe).
    pub files: Vec<String>,
    /// How the name matches.
    pub matched: Matched,
    /// The former name that matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<String>,
    /// Similarity in a search by meaning, to two digits; 1 means equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<f64>,
    /// Place of its first declaration, if [`locate_hits`](super::describe::locate_hits) set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceLocation>,
}

impl Page {
    /// Returns the hits that a text lists one per line, then those that it only names: the other matches when some match exactly.
    pub fn rows(&self) -> (Vec<&Hit>, Vec<&Hit>) {
        let is_exact = self.hits.iter().any(|hit| hit.matched == Matched::Exact);
        let is_beside = |hit: &&Hit| is_exact && !matches!(hit.matched, Matched::Exact | Matched::Former);
        let (beside, rows) = self.hits.iter().partition(is_beside);
        (rows, beside)
    }
}

/// A page of hits.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The hits.
    pub hits: Vec<Hit>,
    /// Number on earlier pages.
    #[serde(skip)]
    pub start: usize,
    /// Number of hits on all pages; overloads count as one.
    pub total: usize,
    /// Number of matches by name that the filters excluded.
    pub filtered: usize,
    /// Number of those in generated code.
    pub generated: usize,
    /// Cursor of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A matching name, not yet described.
pub(super) enum NameMatch<'s> {
    Type(usize),
    /// A type by its former name.
    Former(usize, &'s str),
    Member(Declared<'s>),
    Namespace(&'s str),
}

/// Searches all names. Fails when the query is over a limit or empty, its kind is unknown, or its cursor belongs to another query or state.
pub fn search<'s>(symbols: &'s Symbols, query: &Query<'s>) -> Result<Page, SymbolError> {
    let asked = ParsedQuery::from_query(query)?;
    let start = start(symbols, query, asked.kind)?;
    let mut found = Finds::default();
    asked.types(symbols, &mut found);
    asked.members(symbols, &mut found);
    asked.namespaces(symbols, &mut found);
    if let Some(aliases) = query.aliases {
        asked.former(symbols, aliases, &mut found);
    }
    if found.by_match.is_empty() && found.filtered == 0 {
        asked.spelled_alike(symbols, &mut found);
    }
    let total = found.by_match.values().map(Vec::len).sum();
    let limit = query.limit.min(MOST);
    let entries = found
        .by_match
        .iter()
        .flat_map(|(matched, entries)| entries.iter().map(move |entry| (*matched, entry)));
    let hits: Vec<Hit> = entries
        .skip(start)
        .take(limit)
        .map(|(matched, entry)| hit_of_symbol(symbols, matched, entry))
        .collect::<Result<_, _>>()?;
    let end = start + hits.len();
    Ok(Page {
        // A page without hits only counts, so it has no next page.
        next: (limit > 0 && end < total).then(|| cursor(symbols, query, asked.kind, end)),
        hits,
        start,
        total,
        filtered: found.filtered,
        generated: found.generated,
    })
}

pub(super) fn hit_of_symbol(symbols: &Symbols, matched: Matched, entry: &NameMatch<'_>) -> Result<Hit, SymbolError> {
    match entry {
        NameMatch::Type(at) | NameMatch::Former(at, _) => {
            let row = symbols.type_row(*at)?;
            Ok(Hit {
                path: symbols.key(*at).to_owned(),
                type_id: row.id,
                member_id: None,
                kind: row.kind,
                accessibility: row.accessibility,
                files: row.files,
                matched,
                former: match entry {
                    NameMatch::Former(_, name) => Some((*name).to_owned()),
                    _ => None,
                },
                likeness: None,
                place: None,
            })
        }
        NameMatch::Member(declared) => {
            let row = symbols.find(declared.owner).map(|at| symbols.type_row(at)).transpose()?;
            Ok(Hit {
                path: format!("{}#{}", declared.owner, declared.name),
                type_id: row.as_ref().map(|row| row.id.clone()).unwrap_or_default(),
                member_id: None,
                kind: kind_of(declared.name, declared.line.flags).to_owned(),
                accessibility: String::new(),
                files: row.map(|row| row.files).unwrap_or_default(),
                matched,
                former: None,
                likeness: None,
                place: None,
            })
        }
        NameMatch::Namespace(name) => Ok(Hit {
            path: (*name).to_owned(),
            type_id: String::new(),
            member_id: None,
            kind: NAMESPACE.to_owned(),
            accessibility: String::new(),
            files: Vec::new(),
            matched,
            former: None,
            likeness: None,
            place: None,
        }),
    }
}

#[derive(Default)]
struct Finds<'s> {
    by_match: BTreeMap<Matched, Vec<NameMatch<'s>>>,
    filtered: usize,
    generated: usize,
}

impl<'s> Finds<'s> {
    /// Adds an entry about the type `key`, or counts it as filtered out.
    fn add_entry(&mut self, symbols: &Symbols, asked: &ParsedQuery, key: &str, matched: Matched, passes: bool, entry: NameMatch<'s>) {
        let generated = passes && !asked.generated && symbols.is_generated(key);
        self.generated += usize::from(generated);
        match passes && !generated {
            true => self.by_match.entry(matched).or_default().push(entry),
            false => self.filtered += 1,
        }
    }
}

pub(super) struct ParsedQuery {
    /// Text to compare with names, folded.
    name: String,
    /// Text that must occur before the name, folded.
    around: String,
    humps: Humps,
    glob: Option<Glob>,
    written: String,
    kind: Option<&'static str>,
    namespace: Option<String>,
    pub(super) generated: bool,
}

/// Returns the kind of symbols that a word names. Fails when no symbol is of this kind.
pub fn parse_kind(word: &str) -> Result<&'static str, SymbolError> {
    let known = KINDS.into_iter().find(|known| same(known, word.trim()));
    known.ok_or_else(|| {
        let why =
            Diagnostic::error(ErrorCode::InvalidFilter, "no symbol is of this kind").found(word.chars().take(120).collect::<String>());
        let hint = format!("kinds are {}", KINDS.join(", "));
        SymbolError::new(Trouble::Asked, why.hint(hint).candidates(nearest(word, KINDS.into_iter(), 3)))
    })
}

impl ParsedQuery {
    pub(super) fn from_query(query: &Query<'_>) -> Result<Self, SymbolError> {
        let text = query.text.trim();
        if text.chars().nth(MOST_CHARS).is_some() {
            let why = Diagnostic::error(ErrorCode::E_SYMBOL, format!("a query has at most {MOST_CHARS} characters"));
            return Err(SymbolError::new(Trouble::Asked, why.hint("a part of a name is enough")));
        }
        if text.is_empty() && query.kind.is_none() && query.namespace.is_none() {
            let why = Diagnostic::error(ErrorCode::E_SYMBOL, "there is nothing to look for");
            return Err(SymbolError::new(
                Trouble::Asked,
                why.hint("write a part of a name: NodeStore, nodest, NS, Core.NS"),
            ));
        }
        let kind = query.kind.map(parse_kind).transpose()?;
        let text: String = text.split(['<', '(']).next().unwrap_or(text).split_whitespace().collect();
        let (around, written) = match text.rfind(['.', '+', '#']) {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => ("", text.as_str()),
        };
        let wildcards = text.bytes().filter(|byte| matches!(byte, b'*' | b'?')).count();
        if wildcards > MOST_WILDCARDS {
            let why = Diagnostic::error(
                ErrorCode::E_SYMBOL,
                format!("a query has at most {MOST_WILDCARDS} wildcards, this one has {wildcards}"),
            );
            return Err(SymbolError::new(Trouble::Asked, why.hint("one * matches any number of characters")));
        }
        Ok(Self {
            name: folded(written.split('`').next().unwrap_or(written)),
            around: folded(around),
            humps: Humps::new(written),
            glob: is_wild(written).then(|| Glob::new(written)),
            written: written.to_owned(),
            kind,
            namespace: query.namespace.map(folded),
            generated: query.generated,
        })
    }

    /// Returns how a name matches; `folded` is the folded name, `holds` whether it contains the query.
    fn matched(&self, name: &str, folded: &str, holds: bool) -> Option<Matched> {
        if let Some(glob) = &self.glob {
            return glob.matches(name).then_some(Matched::Wildcard);
        }
        if self.name.is_empty() {
            return Some(Matched::Prefix);
        }
        if holds && folded == self.name {
            return Some(Matched::Exact);
        }
        if holds && folded.starts_with(&self.name) {
            return Some(Matched::Prefix);
        }
        // Cheap pre-check: most names do not even contain the letters in order.
        if in_order(&self.name, folded) && self.humps.matches(name) {
            return Some(Matched::Humps);
        }
        (holds && folded.contains(&self.name)).then_some(Matched::Substring)
    }

    fn skips_humps(&self, matched: Matched, name: &str) -> bool {
        matched == Matched::Humps && !self.humps.matches_without_gaps(name)
    }

    fn is_around(&self, outer: &str) -> bool {
        self.around.is_empty() || folded(&outer.replace('+', ".")).contains(&self.around.replace('+', "."))
    }

    pub(super) fn is_within(&self, key: &str) -> bool {
        self.namespace.is_none() || self.is_namespace_within(&folded(namespace(key)))
    }

    /// Whether a folded namespace is the requested one or below it.
    fn is_namespace_within(&self, own: &str) -> bool {
        let Some(wanted) = &self.namespace else { return true };
        let below = own.strip_prefix(wanted.as_str());
        below.is_some_and(|below| wanted.is_empty() || below.is_empty() || below.starts_with('.'))
    }

    pub(super) fn wants_type(&self, kind: &str) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind || wanted == "type")
    }

    fn wants_member(&self, kind: &str) -> bool {
        self.kind.is_none_or(|wanted| match wanted {
            "member" => true,
            "value" => VALUES.contains(&kind),
            wanted => wanted == kind,
        })
    }

    /// Whether only members are requested.
    pub(super) fn wants_members_only(&self) -> bool {
        self.kind.is_some_and(|kind| KINDS[OF_MEMBERS..].contains(&kind))
    }

    fn types<'s>(&self, symbols: &'s Symbols, found: &mut Finds<'s>) {
        let mut holds = vec![false; symbols.len()];
        symbols.containing(&self.name).into_iter().for_each(|at| holds[at] = true);
        let mut ranked: BTreeMap<Matched, Vec<usize>> = BTreeMap::new();
        for (at, holds) in holds.into_iter().enumerate() {
            let key = symbols.key(at);
            let name = simple_name(key);
            if let Some(matched) = self.matched(name, simple_name(symbols.folded(at)), holds)
                && self.is_around(outer_part(key))
            {
                ranked.entry(matched).or_default().push(at);
            }
        }
        for (matched, mut types) in ranked {
            types.sort_by_cached_key(|&at| (self.skips_humps(matched, simple_name(symbols.key(at))), type_order(symbols, at)));
            for at in types {
                let key = symbols.key(at);
                let passes = self.is_within(key) && (self.kind.is_none() || self.wants_type(symbols.brief(at).kind));
                found.add_entry(symbols, self, key, matched, passes, NameMatch::Type(at));
            }
        }
    }

    fn members<'s>(&self, symbols: &'s Symbols, found: &mut Finds<'s>) {
        // Without a name, every member would match.
        if self.name.is_empty() && self.around.is_empty() && !self.wants_members_only() {
            return;
        }
        let mut holds = vec![false; symbols.name_count()];
        symbols.names_holding(&self.name).into_iter().for_each(|at| holds[at] = true);
        let mut names: Vec<(Matched, bool, usize, &str)> = Vec::new();
        for (at, holds) in holds.into_iter().enumerate() {
            let (name, folded) = symbols.name(at);
            if let Some(matched) = self.matched(name, folded, holds) {
                names.push((matched, self.skips_humps(matched, name), name.len(), name));
            }
        }
        names.sort_unstable();
        for (matched, _, _, name) in names {
            self.of_name(symbols, matched, name, found);
        }
    }

    /// Adds the members of one name, each type once.
    fn of_name<'s>(&self, symbols: &'s Symbols, matched: Matched, name: &'s str, found: &mut Finds<'s>) {
        let mut last = "";
        let constructors = (self.kind == Some("constructor")).then(|| symbols.constructors(name));
        let others = constructors.is_none().then(|| symbols.declared(name));
        for declared in constructors.into_iter().flatten().chain(others.into_iter().flatten()) {
            if std::mem::replace(&mut last, declared.owner) == declared.owner || !self.is_around(symbol_of(declared.owner)) {
                continue;
            }
            let passes = self.is_within(declared.owner) && self.wants_member(kind_of(declared.name, declared.line.flags));
            found.add_entry(symbols, self, declared.owner, matched, passes, NameMatch::Member(declared));
        }
    }

    fn namespaces<'s>(&self, symbols: &'s Symbols, found: &mut Finds<'s>) {
        if self.kind != Some(NAMESPACE) {
            return;
        }
        for name in symbols.namespaces() {
            let (outer, last) = name.rsplit_once('.').unwrap_or(("", name));
            let own = folded(last);
            let Some(matched) = self.matched(last, &own, own.contains(&self.name)).filter(|_| self.is_around(outer)) else {
                continue;
            };
            match self.is_namespace_within(&folded(name)) {
                true => found.by_match.entry(matched).or_default().push(NameMatch::Namespace(name)),
                false => found.filtered += 1,
            }
        }
    }

    /// Adds types by their former names, if their present ones do not match.
    fn former<'s>(&self, symbols: &'s Symbols, aliases: &'s Aliases, found: &mut Finds<'s>) {
        if self.name.is_empty() {
            return;
        }
        let matches = |key: &str| {
            let (name, outer) = (simple_name(key), outer_part(key));
            let own = folded(name);
            self.matched(name, &own, own.contains(&self.name)).is_some() && self.is_around(outer)
        };
        let mut types: Vec<(usize, &str)> = aliases
            .names
            .iter()
            .filter(|(_, name)| matches(name))
            .filter_map(|(id, name)| Some((symbols.with_id(aliases.aliases.get(id)?)?, name.as_str())))
            .filter(|(at, _)| !matches(symbols.key(*at)))
            .collect();
        types.sort_by_cached_key(|(at, name)| (type_order(symbols, *at), *name));
        types.dedup_by_key(|(at, _)| *at);
        for (at, name) in types {
            let passes = self.is_within(symbols.key(at)) && self.wants_type(symbols.brief(at).kind);
            found.add_entry(symbols, self, symbols.key(at), Matched::Former, passes, NameMatch::Former(at, name));
        }
    }

    fn spelled_alike<'s>(&self, symbols: &'s Symbols, found: &mut Finds<'s>) {
        if self.glob.is_some() || self.name.is_empty() {
            return;
        }
        let word = Word::new(&self.written);
        let mut near: Vec<(usize, usize)> = (0..symbols.len())
            .filter_map(|at| Some((word.edits(simple_name(symbols.folded(at)))?, at)))
            .filter(|(_, at)| self.is_around(outer_part(symbols.key(*at))))
            .collect();
        near.sort_by_cached_key(|(edits, at)| (*edits, type_order(symbols, *at)));
        for (_, at) in near {
            let passes = self.is_within(symbols.key(at)) && self.wants_type(symbols.brief(at).kind);
            found.add_entry(symbols, self, symbols.key(at), Matched::Fuzzy, passes, NameMatch::Type(at));
        }
        let mut names: Vec<(usize, usize, &str)> = (0..symbols.name_count())
            .filter_map(|at| Some((word.edits(symbols.name(at).1)?, symbols.name(at).0)))
            .map(|(edits, name)| (edits, name.len(), name))
            .collect();
        names.sort_unstable();
        for (_, _, name) in names {
            self.of_name(symbols, Matched::Fuzzy, name, found);
        }
    }
}

/// Whether `folded` contains the characters of `wanted` in order.
fn in_order(wanted: &str, folded: &str) -> bool {
    let mut rest = folded.bytes();
    wanted.bytes().all(|byte| rest.any(|other| other == byte))
}

fn type_order(symbols: &Symbols, at: usize) -> (usize, &str, (usize, Access, usize, &str)) {
    let (key, folded) = (symbols.key(at), simple_name(symbols.folded(at)));
    (folded.len(), folded, rank(key, symbols.brief(at).access))
}

/// Returns a cursor: offset, digest of the names and digest of the query.
pub fn cursor(symbols: &Symbols, query: &Query<'_>, kind: Option<&str>, offset: usize) -> String {
    let asked = format!(
        "{}\0{}\0{}",
        query.text.trim(),
        kind.unwrap_or("\0"),
        query.namespace.unwrap_or("\0")
    );
    let [names, asked] = [symbols.digest(), Digest::of(asked.as_bytes())].map(|digest| digest.to_string()[..12].to_owned());
    format!("{offset:x}.{names}.{asked}")
}

fn start(symbols: &Symbols, query: &Query<'_>, kind: Option<&str>) -> Result<usize, SymbolError> {
    let Some(given) = query.cursor else { return Ok(0) };
    let refused = |why: &str| {
        let shown: String = given.chars().take(120).collect();
        let hint = "ask again without a cursor, for the first page";
        SymbolError::new(Trouble::Asked, Diagnostic::error(ErrorCode::E_CURSOR, why).found(shown).hint(hint))
    };
    let offset = given.split('.').next().and_then(|offset| usize::from_str_radix(offset, 16).ok());
    let Some(offset) = offset.filter(|_| given.split('.').count() == 3) else {
        return Err(refused("this is not the cursor of a search"));
    };
    let now = cursor(symbols, query, kind, offset);
    if now == given {
        return Ok(offset);
    }
    let same_query = now.rsplit('.').next() == given.rsplit('.').next();
    Err(refused(match same_query {
        true => "the names have changed since the search of this cursor",
        false => "this cursor belongs to another query",
    }))
}
