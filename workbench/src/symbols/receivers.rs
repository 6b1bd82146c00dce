//! Types of the values before unbound members, as far as recorded uses and the text show them: `this`, a type, a member with a known type, a new
//! object, and a local or a parameter whose declaration names its type.

use super::index::Symbols;
use super::lost_names::EditedFile;
use super::outputs::SymbolError;
use crate::edit::lines;
use engine::values::label::halves;
use engine::values::table::Table;
use producers::csharp::deps::lookups::{Lookups, TableRows};
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::World;
use producers::csharp::lexer::{Kind, Token, lex};
use producers::csharp::usages::Place;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Words before a name that use it; other words before a name are a type, or declare it without one.
const BEFORE_USES: [&str; 25] = [
    "and", "as", "await", "by", "case", "do", "else", "equals", "goto", "in", "is", "lock", "new", "not", "on", "or", "orderby", "out",
    "ref", "return", "select", "throw", "when", "where", "yield",
];

/// Returns the keys of the workspace's types before unbound members, one for each place; `None` where the type is unknown. `table`: the `:usages` of
/// the type `user`, whose code has the places.
pub(super) fn receiver_types(
    symbols: &Symbols,
    table: Table<'_>,
    user: &str,
    files: &[EditedFile],
    places: &[Place],
) -> Result<Vec<Option<String>>, SymbolError> {
    let rows = TableRows::read(symbols.declarations()).map_err(|_| SymbolError::damaged())?;
    let lookups = Lookups::new(&rows);
    let world = World::new(&lookups);
    let mut code: BTreeMap<&str, Code<'_, '_>> = BTreeMap::new();
    let mut found = Vec::with_capacity(places.len());
    for place in places {
        let Some(file) = files.iter().find(|file| file.path == place.file) else {
            found.push(None);
            continue;
        };
        let code = match code.entry(&file.path) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(Code::new(file, table, &world)?),
        };
        found.push(code.receiver_of(place, user));
    }
    Ok(found)
}

/// What a word refers to: a type, or one of its members. `None` if the word has several meanings.
type Meaning = Option<(String, Option<String>)>;

/// Meaning of a word for a local or a parameter of its name.
enum Mention {
    /// Declares it with a type of the workspace.
    Type(String),
    /// Declares it with another type, or may do so.
    Unknown,
    /// Uses it.
    Use,
}

/// The code of a file, with the uses that a type has in it.
struct Code<'t, 'w> {
    text: &'t str,
    /// Lines with their first bytes.
    lines: Vec<(usize, &'t str)>,
    tokens: Vec<Token>,
    /// Meanings by the first byte of their words.
    meanings: BTreeMap<u32, Meaning>,
    world: &'t World<'w>,
}

impl<'t, 'w> Code<'t, 'w> {
    fn new(file: &'t EditedFile, table: Table<'_>, world: &'t World<'w>) -> Result<Self, SymbolError> {
        let mut code = Self {
            text: &file.after,
            lines: Vec::new(),
            tokens: lex(&file.after).tokens,
            meanings: BTreeMap::new(),
            world,
        };
        let mut start = 0;
        for line in lines::split(&file.after) {
            code.lines.push((start, line));
            start += line.len();
        }
        for (key, value) in table.rows().filter(|(key, _)| !key.starts_with(['~', '?', '^'])) {
            let places: Vec<Place> = serde_json::from_slice(value).map_err(|_| SymbolError::damaged())?;
            let (owner, member) = match halves(key) {
                Some((owner, member)) => (owner, Some(member).filter(|member| *member != ".ctor")),
                None => (key, None),
            };
            for place in places.iter().filter(|place| place.file == file.path && !place.elsewhere) {
                let Some(byte) = code.byte_of(place) else { continue };
                let meaning = (owner.to_owned(), member.map(str::to_owned));
                let known = code.meanings.entry(byte).or_insert_with(|| Some(meaning.clone()));
                if known.as_ref() != Some(&meaning) {
                    *known = None;
                }
            }
        }
        Ok(code)
    }

    /// Returns the first byte of a place.
    fn byte_of(&self, place: &Place) -> Option<u32> {
        let (start, line) = self.lines.get((place.line as usize).checked_sub(1)?)?;
        let (at, _) = line.char_indices().nth((place.column as usize).checked_sub(1)?)?;
        u32::try_from(start + at).ok()
    }

    /// Returns the type of the value before the dot before a place.
    fn receiver_of(&self, place: &Place, user: &str) -> Option<String> {
        let byte = self.byte_of(place)?;
        let name = self.tokens.binary_search_by_key(&byte, |token| token.start).ok()?;
        let dot = name.checked_sub(1).filter(|at| matches!(self.text_of(*at), "." | "?."))?;
        let mut value = dot.checked_sub(1)?;
        if self.text_of(value) == "!" {
            value = value.checked_sub(1)?;
        }
        match self.text_of(value) {
            "this" | "base" => Some(user.to_owned()),
            ")" => self.type_of_word(self.opening(value)?.checked_sub(1)?, true),
            _ if self.tokens[value].kind != Kind::Word => None,
            _ if self.meanings.contains_key(&self.tokens[value].start) => self.type_of_word(value, false),
            // Accessors have these without a declaration.
            "value" | "field" => None,
            _ if value > 0 && matches!(self.text_of(value - 1), "." | "?." | "::" | "->") => None,
            _ => self.type_of_local(value),
        }
    }

    /// Returns the text of a token; an empty one if there is none.
    fn text_of(&self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", |token| token.text(self.text))
    }

    /// Returns the bracket that opens a pair.
    fn opening(&self, closing: usize) -> Option<usize> {
        let mut depth = 0;
        (0..=closing).rev().find(|at| {
            match self.text_of(*at) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    }

    /// Returns the bracket that closes a pair.
    fn closing(&self, opening: usize) -> Option<usize> {
        let mut depth = 0;
        (opening..self.tokens.len()).find(|at| {
            match self.text_of(*at) {
                ")" | "]" | "}" => depth -= 1,
                "(" | "[" | "{" => depth += 1,
                _ => {}
            }
            depth == 0
        })
    }

    /// Returns the type of a named member, or a named type; with arguments after it, the result of the method, or the type of the new object.
    fn type_of_word(&self, at: usize, is_called: bool) -> Option<String> {
        let (owner, member) = self.meanings.get(&self.tokens.get(at)?.start)?.as_ref()?;
        let Some(member) = member else { return Some(owner.clone()) };
        let found = self.world.lookup(&Shape::of_key(owner), member);
        let mut keys = found.iter().map(|candidate| {
            let result = candidate.result();
            let key = result.without_null().key().filter(|key| !key.starts_with(['~', '^']))?;
            (candidate.is_method() == is_called).then(|| key.to_owned())
        });
        let first = keys.next()??;
        keys.all(|key| key.as_ref() == Some(&first)).then_some(first)
    }

    /// Returns the declared type of a local or a parameter, from its last declaration before a use.
    fn type_of_local(&self, used: usize) -> Option<String> {
        let name = self.text_of(used);
        let mut at = used;
        while at > 0 {
            at -= 1;
            let text = self.text_of(at);
            if text == "}" {
                at = self.start_of_block(at)?;
            } else if text == name {
                match self.mention(at) {
                    Mention::Type(key) => return Some(key),
                    Mention::Unknown => return None,
                    Mention::Use => {}
                }
            }
        }
        None
    }

    /// Returns the first token of a closed block, or of the parameters and conditions before it, which are not known after it. The variables of
    /// the condition of `if` are.
    fn start_of_block(&self, closing: usize) -> Option<usize> {
        let opening = self.opening(closing)?;
        let mut before = opening.checked_sub(1);
        if let Some(at) = before.filter(|at| self.text_of(*at) == "=>") {
            before = at.checked_sub(1);
        }
        let Some(end) = before.filter(|at| self.text_of(*at) == ")") else {
            return Some(opening);
        };
        let head = self.opening(end)?;
        let is_if = head.checked_sub(1).is_some_and(|at| self.text_of(at) == "if");
        Some(if is_if { opening } else { head })
    }

    /// Decides what a word with the name of a local or a parameter does with it.
    fn mention(&self, at: usize) -> Mention {
        let Some(before) = at.checked_sub(1) else { return Mention::Use };
        if self.text_of(at + 1) == "=>" {
            return Mention::Unknown;
        }
        match self.text_of(before) {
            "." | "?." | "::" | "->" => Mention::Use,
            "var" => self.constructed(at + 1).map_or(Mention::Unknown, Mention::Type),
            "(" | "," if !self.is_argument(at) => Mention::Unknown,
            ">" | "]" | "?" | ")" | "}" | "*" => Mention::Unknown,
            word if self.tokens[before].kind == Kind::Word && !BEFORE_USES.contains(&word) => {
                match self.meanings.get(&self.tokens[before].start) {
                    Some(Some((key, None))) => Mention::Type(key.clone()),
                    _ => Mention::Unknown,
                }
            }
            _ => Mention::Use,
        }
    }

    /// Returns the type of a new object that a declaration with `var` assigns, if nothing follows it: `= new T(…);`.
    fn constructed(&self, assignment: usize) -> Option<String> {
        if self.text_of(assignment) != "=" || self.text_of(assignment + 1) != "new" {
            return None;
        }
        let mut word = assignment + 2;
        while self.text_of(word + 1) == "." {
            word += 2;
        }
        let mut end = word + 1;
        for bracket in ["(", "{"] {
            if self.text_of(end) == bracket {
                end = self.closing(end)? + 1;
            }
        }
        if end == word + 1 || self.text_of(end) != ";" {
            return None;
        }
        self.type_of_word(word, true)
    }

    /// Whether a word after `(` or `,` is an argument or an element, not a parameter of a lambda or a variable of a deconstruction.
    fn is_argument(&self, at: usize) -> bool {
        let mut before = at;
        while before > 0 {
            before -= 1;
            match self.text_of(before) {
                ")" | "]" | "}" => match self.opening(before) {
                    Some(opening) => before = opening,
                    None => return false,
                },
                "[" => return true,
                "(" => {
                    let is_lambda = self.closing(before).is_none_or(|end| self.text_of(end + 1) == "=>");
                    let word = before.checked_sub(1).map_or("", |at| self.text_of(at));
                    let is_declared = matches!(word, "var" | "for" | "using" | "fixed");
                    return !is_lambda && !is_declared;
                }
                "{" | ";" => return false,
                _ => {}
            }
        }
        false
    }
}
