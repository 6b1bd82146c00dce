//! `csharp/usages`: every place where the code of one type names a type or a member, with line and column.
//!
//! A table: `KEY` → places that name the type, `KEY#Member` → places that use a member that the type declares, `?#Member` → uses of a
//! member of that name on a value whose type is not known. Places are JSON arrays of objects, in the order of the text. The binder
//! works on canonical text; its tokens are laid over those of the file to find the places.

use super::code;
use super::code::ast::{Argument, Statement, TypeRef};
use super::code::facts::{Facts, MemberCode, attribute, facts};
use super::complete::{Complete, complete};
use super::deps::binder::{Binder, Bound};
use super::deps::dotnet;
pub use super::deps::flow::Call;
use super::deps::flow::{Flow, Found, Use};
use super::deps::index::NameIndex;
use super::deps::resolve::Resolver;
use super::deps::shape::Shape;
use super::deps::world::World;
use super::deps::{OWN, Subject, surroundings};
use super::lexer::{Kind, Token, lex};
use super::mentions::Mentions;
use super::model::{Member, NameUse, Span, Syntax, TypeDecl};
use super::types::{json, symbol_of};
use engine::seams::producer::{Failure, Inputs, Output, Params, Producer, ProducerId, Sees};
use engine::values::table::write_table;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A place in a file. Fields stand in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Path of the file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The line without the white space around it; of a line longer than [`LONGEST_LINE`] what stands around the place, `…` where it is cut.
    pub text: String,
    /// How a method is called there; absent where it is named without a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// Whether an overload that another type declares may be meant instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
}

/// The producer `csharp/usages`.
#[derive(Debug)]
pub struct Usages;

impl Producer for Usages {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/usages", 7)
    }

    fn sees(&self, _: &Params) -> Sees {
        OWN
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let Subject { own, mentions, index } = Subject::read(inputs)?;
        let world = World::read(&inputs.one("members")?.bytes)?;
        let whole = complete(symbol_of(own), inputs.all("parts"))?;
        let mut files = BTreeMap::new();
        for (syntax, source) in inputs.all("parts").iter().zip(inputs.all("sources")) {
            let tree: Syntax = minicbor::decode(&syntax.bytes)
                .map_err(|error| Failure::permanent(format!("the declarations of {} cannot be decoded: {error}", syntax.item)))?;
            let text = std::str::from_utf8(&source.bytes).map_err(|_| Failure::permanent(format!("{} is no text", source.item)))?;
            files.insert(&*syntax.item, (tree, File::new(&source.item, text)));
        }
        let mut places: BTreeMap<String, BTreeSet<Place>> = BTreeMap::new();
        in_code(own, &whole, &mentions, &index, &world, &files, &mut places);
        headers(&mentions, &index, &files, &mut places);
        let rows: BTreeMap<String, Vec<u8>> = places.into_iter().map(|(key, places)| (key, json(&places))).collect();
        Ok(Output::new(write_table(&rows)))
    }
}

/// Longest text of a place in bytes: a line of any length holds any number of places.
pub const LONGEST_LINE: usize = 200;

/// Bytes before the place that a cut text shows.
const BEFORE: usize = 80;

/// Characters are counted once for each so many bytes.
const BLOCK: usize = 256;

/// A file's text and its tokens.
struct File<'t> {
    path: &'t str,
    text: &'t str,
    tokens: Vec<Token>,
    lines: Vec<u32>,
    /// Characters that begin before each block of [`BLOCK`] bytes.
    blocks: Vec<u32>,
}

impl<'t> File<'t> {
    fn new(path: &'t str, text: &'t str) -> Self {
        let starts = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at as u32 + 1);
        let mut counted = 0;
        let blocks = text.as_bytes().chunks(BLOCK).map(|block| {
            let before = counted;
            counted += characters(block);
            before
        });
        Self {
            path,
            text,
            blocks: blocks.collect(),
            tokens: lex(text).tokens,
            lines: std::iter::once(0).chain(starts).collect(),
        }
    }

    /// Characters that begin before a byte.
    fn characters_before(&self, byte: usize) -> u32 {
        let Some(before) = self.blocks.get(byte / BLOCK) else {
            return characters(self.text.as_bytes());
        };
        before + characters(&self.text.as_bytes()[byte / BLOCK * BLOCK..byte])
    }

    /// Tokens of a stretch of the file.
    fn tokens_of(&self, span: Span) -> Range<usize> {
        let byte = |line: u32, within: u32| {
            let start = (line as usize).checked_sub(1).and_then(|line| self.lines.get(line));
            start.map_or(self.text.len() as u32, |start| start + within)
        };
        let (start, end) = (byte(span.first, span.from), byte(span.last, span.to));
        let first = self.tokens.partition_point(|token| token.start < start);
        first..self.tokens.partition_point(|token| token.start < end).max(first)
    }

    fn place(&self, byte: u32) -> Place {
        let line = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines[line - 1] as usize;
        let end = self.lines.get(line).map_or(self.text.len(), |next| *next as usize);
        Place {
            file: self.path.to_owned(),
            line: line as u32,
            column: self.characters_before(byte as usize) - self.characters_before(start) + 1,
            text: shown(self.text.get(start..end).unwrap_or(""), byte as usize - start),
            call: None,
            elsewhere: false,
        }
    }
}

/// Characters that begin in these bytes of UTF-8.
fn characters(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u32
}

/// A line as a place shows it, which stands at the byte `at` of it.
fn shown(line: &str, at: usize) -> String {
    if line.len() <= LONGEST_LINE {
        return line.trim().to_owned();
    }
    let start = line.floor_char_boundary(at.saturating_sub(BEFORE));
    let end = line.floor_char_boundary((start + LONGEST_LINE).min(line.len()));
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{}{after}", line[start..end].trim())
}

/// Where the members that a file declares of a type stand, by name and signature; of equal ones the first.
fn member_spans<'m>(tree: &'m Syntax, symbol: &str) -> FxHashMap<(&'m str, &'m str), Span> {
    let mut spans = FxHashMap::default();
    for member in declarations(tree, symbol).flat_map(|decl| &decl.members) {
        spans
            .entry((member.name.as_str(), member.signature.as_str()))
            .or_insert(member.span);
    }
    spans
}

/// The declarations of a type in a file.
fn declarations<'m>(tree: &'m Syntax, symbol: &str) -> impl Iterator<Item = &'m TypeDecl> {
    tree.types.iter().filter(move |decl| decl.is(symbol))
}

/// Uses in code: bodies, headers, arguments of attributes.
fn in_code(
    own: &str,
    whole: &Complete,
    mentions: &Mentions,
    index: &NameIndex,
    world: &World<'_>,
    files: &BTreeMap<&str, (Syntax, File<'_>)>,
    places: &mut BTreeMap<String, BTreeSet<Place>>,
) {
    let facts = facts(whole, true);
    // Facts stand in the order of members; those without code were left out.
    let mut left = facts.members.as_slice();
    let mut of_part: Vec<Vec<(&Member, Option<&MemberCode>)>> = vec![Vec::new(); whole.parts.len()];
    for placed in &whole.members {
        let code = left
            .first()
            .filter(|code| code.part == placed.part && code.name == placed.member.name);
        let has_code = !placed.member.body.is_empty() || placed.member.attributes.iter().any(|text| attribute(text, false).is_some());
        let code = code.filter(|_| has_code);
        left = &left[usize::from(code.is_some())..];
        if let Some(part) = of_part.get_mut(placed.part as usize) {
            part.push((&placed.member, code));
        }
    }
    for (at, part) in mentions.parts.iter().enumerate() {
        let Some((tree, file)) = files.get(part.file.as_str()) else {
            continue;
        };
        let resolver = Resolver::new(surroundings(part, mentions, index), index, &part.type_parameters, false);
        let mut code = Code {
            own,
            world,
            resolver: &resolver,
            facts: &facts,
            file,
            places,
        };
        // Which part a text of the header stands in is not known; it is only found where it stands.
        for decl in declarations(tree, &whole.symbol) {
            let header = header_range(decl, file);
            for text in &whole.bodies {
                let body = code::body(text, true);
                code.uses(text, header.clone(), Piece::Header(&body));
            }
            code.attributes(&whole.attributes, &header);
        }
        let spans = member_spans(tree, &whole.symbol);
        for (member, facts) in &of_part[at] {
            let Some(span) = spans.get(&(member.name.as_str(), member.signature.as_str())) else {
                continue;
            };
            let range = file.tokens_of(*span);
            code.attributes(&member.attributes, &range);
            if let Some(facts) = facts.filter(|facts| !facts.body.is_empty()) {
                code.uses(&member.body, range, Piece::Member(facts));
            }
        }
    }
}

/// A text with code, read.
enum Piece<'p> {
    Header(&'p [Statement]),
    Attributes(&'p [(TypeRef, Vec<Argument>)]),
    Member(&'p MemberCode),
}

/// Code of one part, whose uses are looked for.
struct Code<'c, 'w, 't> {
    own: &'c str,
    world: &'c World<'w>,
    resolver: &'c Resolver<'c>,
    facts: &'c Facts,
    file: &'c File<'t>,
    places: &'c mut BTreeMap<String, BTreeSet<Place>>,
}

impl Code<'_, '_, '_> {
    /// Notes what the arguments of attributes use that stand in a range of the file's tokens.
    fn attributes(&mut self, texts: &[String], range: &Range<usize>) {
        for text in texts {
            if let Some(attribute) = attribute(text, true) {
                self.uses(text, range.clone(), Piece::Attributes(&[attribute]));
            }
        }
    }

    /// Notes what a canonical text uses that stands in a range of the file's tokens.
    fn uses(&mut self, text: &str, range: Range<usize>, piece: Piece<'_>) {
        let mut found = Found {
            uses: Some(Vec::new()),
            ..Found::default()
        };
        let mut flow = Flow::new(self.world, self.resolver, self.own, self.facts, &mut found);
        match piece {
            Piece::Header(code) => flow.header(code),
            Piece::Attributes(attributes) => flow.attributes(attributes),
            Piece::Member(code) => flow.member(code),
        }
        let laid = Laid::new(text, self.file, range);
        for used in found.uses.into_iter().flatten() {
            let Some(byte) = laid.byte(&used) else { continue };
            let key = match &used.member {
                Some(member) => format!("{}#{member}", used.owner),
                None => used.owner.to_string(),
            };
            if !key.starts_with(['~', '^']) {
                let place = Place {
                    elsewhere: !used.certain && &*used.owner != "?",
                    call: used.call,
                    ..self.file.place(byte)
                };
                self.places.entry(key).or_default().insert(place);
            }
        }
    }
}

/// Canonical text laid over the tokens of a file.
struct Laid<'t> {
    body: &'t str,
    tokens: Vec<Token>,
    /// Token of the file for each token of the text.
    of_file: Vec<Option<Token>>,
    file: &'t str,
}

impl<'t> Laid<'t> {
    fn new(body: &'t str, file: &File<'t>, range: Range<usize>) -> Self {
        /// Tokens that must agree where the texts meet again.
        const MEET: usize = 4;
        /// Places where the texts may fail to meet before the rest is given up.
        const MOST_FAILURES: usize = 32;
        let tokens = lex(body).tokens;
        let range = &file.tokens[range];
        let mut of_file = vec![None; tokens.len()];
        let same = |a: usize, b: usize| tokens[a].text(body) == range[b].text(file.text);
        let (mut at, mut there, mut failures) = (0, 0, 0);
        while at < tokens.len() && failures < MOST_FAILURES {
            let meets = |there: usize| {
                let length = MEET.min(tokens.len() - at);
                there + length <= range.len() && (0..length).all(|by| same(at + by, there + by))
            };
            if there < range.len() && (at > 0 && same(at, there) || meets(there)) {
                of_file[at] = Some(range[there]);
                at += 1;
                there += 1;
            } else if let Some(next) = (there..range.len()).find(|next| meets(*next)) {
                there = next;
            } else {
                failures += 1;
                at += 1;
            }
        }
        Self {
            body,
            tokens,
            of_file,
            file: file.text,
        }
    }

    /// The byte of the file for a place of the text.
    fn byte(&self, used: &Use) -> Option<u32> {
        let at = self.tokens.partition_point(|token| token.end <= used.place);
        let (token, there) = (self.tokens.get(at)?, self.of_file.get(at).copied().flatten()?);
        let byte = there.start + used.place.saturating_sub(token.start);
        // What has no place of its own says 0.
        let word = |text: &str, start: u32| -> String {
            let rest = text.get(start as usize..).unwrap_or("");
            rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '@')).collect()
        };
        let expected = word(self.body, used.place);
        (!expected.is_empty() && expected == word(self.file, byte)).then_some(byte)
    }
}

/// Names in headers, bases and attributes.
fn headers(
    mentions: &Mentions,
    index: &NameIndex,
    files: &BTreeMap<&str, (Syntax, File<'_>)>,
    places: &mut BTreeMap<String, BTreeSet<Place>>,
) {
    for part in &mentions.parts {
        let Some((tree, file)) = files.get(part.file.as_str()) else {
            continue;
        };
        let around = surroundings(part, mentions, index);
        let mut note = |names: &[NameUse], range: Range<usize>, bound: &mut FxHashMap<NameUse, Option<String>>| {
            for name in names {
                let key = bound.entry(name.clone()).or_insert_with(|| {
                    match (Binder { index }).bind(&around, &name.path, name.arity, name.place.into(), name.certain) {
                        Bound::Type(entry) => Some(entry.key.clone()),
                        _ => None,
                    }
                });
                let Some(key) = key else { continue };
                let word_of_type = word_of_type(name, key);
                for token in &file.tokens[range.clone()] {
                    let word = token.text(file.text);
                    if token.kind == Kind::Word && word.strip_prefix('@').unwrap_or(word) == word_of_type {
                        places.entry(key.clone()).or_default().insert(file.place(token.start));
                    }
                }
            }
        };
        let mut known: FxHashMap<NameUse, Option<String>> = FxHashMap::default();
        for decl in declarations(tree, &mentions.symbol) {
            note(&decl.names, header_range(decl, file), &mut known);
            for member in &decl.members {
                let range = file.tokens_of(member.span);
                let end = range
                    .clone()
                    .find(|at| matches!(file.tokens[*at].text(file.text), "{" | "=>" | "=" | ";"))
                    .unwrap_or(range.end);
                note(&member.names, range.start..end, &mut known);
            }
        }
    }
}

/// The name in a path that stands for the type it was bound to. Behind a name that is not certain members may follow: `K` of `K.Name`.
fn word_of_type<'n>(name: &'n NameUse, key: &str) -> &'n str {
    let symbol = symbol_of(key);
    let simple = symbol.rsplit(['.', '+']).next().and_then(|last| last.split('`').next());
    let mut words = name.path.rsplit(['.', ':']).filter(|word| !word.is_empty());
    match name.certain {
        true => words.next(),
        false => words.clone().find(|word| Some(*word) == simple).or_else(|| words.next_back()),
    }
    .unwrap_or(&name.path)
}

/// Tokens of a declaration up to its members.
fn header_range(decl: &TypeDecl, file: &File<'_>) -> Range<usize> {
    let range = file.tokens_of(decl.span);
    let end = range
        .clone()
        .find(|at| matches!(file.tokens[*at].text(file.text), "{" | ";"))
        .unwrap_or(range.end);
    range.start..end
}

/// The types whose member of the same name a call may mean when it means that of `key`: bases, whose calls may land in it, and heirs,
/// whose member overrides or implements it. `members` is the blob of `//index:members`.
///
/// # Errors
/// When the blob is not of our making.
pub fn related(members: &[u8], key: &str, member: &str) -> Result<BTreeSet<String>, Failure> {
    let world = World::read(members)?;
    let has = |heir: &str, base: &str| {
        world
            .type_line(heir)
            .is_some_and(|line| line.bases.iter().any(|shape| shape.key() == Some(base)))
    };
    Ok(world
        .declaring(member)
        .into_iter()
        .filter(|other| *other != key && (has(key, other) || has(other, key)))
        .map(str::to_owned)
        .collect())
}

/// Bases of a type outside the workspace that declare a member of that name: full names of .NET. `members` is the blob of `//index:members`.
///
/// # Errors
/// When the blob is not of our making.
pub fn outside(members: &[u8], key: &str, member: &str) -> Result<Vec<String>, Failure> {
    let world = World::read(members)?;
    let levels = world.levels(&Shape::plain(key));
    let bases = levels.iter().filter_map(|base| base.key()?.strip_prefix('~'));
    let declares = |base: &&str| dotnet::get(base).is_some_and(|base| base.members(member).next().is_some());
    Ok(bases.chain(["System.Object"]).filter(declares).map(str::to_owned).collect())
}
