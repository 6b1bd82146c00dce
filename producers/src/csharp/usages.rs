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
use super::model::{MemberKind, NameUse, Span, Syntax, TypeDecl, TypeKind};
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
    /// The line without the white space around it.
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
        ProducerId::new("csharp/usages", 8)
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

/// A file's text and its tokens.
struct File<'t> {
    path: &'t str,
    text: &'t str,
    tokens: Vec<Token>,
    lines: Vec<u32>,
}

impl<'t> File<'t> {
    fn new(path: &'t str, text: &'t str) -> Self {
        let starts = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at as u32 + 1);
        Self {
            path,
            text,
            tokens: lex(text).tokens,
            lines: std::iter::once(0).chain(starts).collect(),
        }
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

    /// The word at a token, without `@`; empty if it is none.
    fn word(&self, at: usize) -> &'t str {
        let token = &self.tokens[at];
        let text = token.text(self.text);
        match token.kind {
            Kind::Word => text.strip_prefix('@').unwrap_or(text),
            _ => "",
        }
    }

    /// Whether a word of a declaration is what a parameter, or an element of a tuple, is called: it stands behind its type.
    fn is_name_of_parameter(&self, at: usize) -> bool {
        const MODIFIERS: [&str; 7] = ["in", "out", "params", "readonly", "ref", "scoped", "this"];
        let text = |at: usize| self.tokens.get(at).map_or("", |token| token.text(self.text));
        let before = at.checked_sub(1).map_or("", text);
        let is_behind_type = matches!(before, ">" | ">>" | "]" | "?" | "*" | ")")
            || !self.word(at.saturating_sub(1)).is_empty() && !MODIFIERS.contains(&before);
        matches!(text(at + 1), "," | ")" | "=" | "]") && is_behind_type
    }

    fn place(&self, byte: u32) -> Place {
        let line = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines[line - 1] as usize;
        let end = self.lines.get(line).map_or(self.text.len(), |next| *next as usize);
        Place {
            file: self.path.to_owned(),
            line: line as u32,
            column: self
                .text
                .get(start..byte as usize)
                .map_or(1, |before| before.chars().count() as u32 + 1),
            text: self.text.get(start..end).unwrap_or("").trim().to_owned(),
            call: None,
            elsewhere: false,
        }
    }
}

/// The declaration of the type in a file that holds a member with that text, and the member's place.
fn member_span(tree: &Syntax, symbol: &str, name: &str, signature: &str) -> Option<Span> {
    let decls = tree.types.iter().filter(|decl| decl.symbol() == symbol);
    decls
        .flat_map(|decl| &decl.members)
        .find(|member| member.name == name && member.signature == signature)
        .map(|member| member.span)
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
    let code_of = code_of_members(whole, &facts);
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
        for decl in tree.types.iter().filter(|decl| decl.symbol() == whole.symbol) {
            let header = header_range(decl, file);
            for text in &whole.bodies {
                let body = code::body(text, true);
                code.uses(text, header.clone(), Piece::Header(&body));
            }
            code.attributes(&whole.attributes, &header);
        }
        let own_members = whole.members.iter().zip(&code_of).filter(|(placed, _)| placed.part as usize == at);
        for (placed, member_code) in own_members {
            let member = &placed.member;
            let Some(span) = member_span(tree, &whole.symbol, &member.name, &member.signature) else {
                continue;
            };
            let range = file.tokens_of(span);
            code.attributes(&member.attributes, &range);
            if let Some(member_code) = member_code.filter(|code| !code.body.is_empty()) {
                code.uses(&member.body, range, Piece::Member(member_code));
            }
        }
    }
}

/// The code of each member. Facts stand in the order of members, those without code left out: overloads with equal bodies each have their own.
fn code_of_members<'f>(whole: &Complete, facts: &'f Facts) -> Vec<Option<&'f MemberCode>> {
    let mut rest = facts.members.iter().peekable();
    let of = whole.members.iter().map(|placed| {
        let member = &placed.member;
        rest.next_if(|code| code.part == placed.part && code.name == member.name && code.body == code::body(&member.body, true))
    });
    of.collect()
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
        let mut note = |names: &[NameUse], range: Range<usize>, declared: Option<usize>, bound: &mut FxHashMap<NameUse, Option<String>>| {
            for name in names {
                let key = bound.entry(name.clone()).or_insert_with(|| {
                    match (Binder { index }).bind(&around, &name.path, name.arity, name.place.into(), name.certain) {
                        Bound::Type(entry) => Some(entry.key.clone()),
                        _ => None,
                    }
                });
                let Some(key) = key else { continue };
                let word_of_type = word_of_type(name, key);
                let is_named = |at: &usize| file.word(*at) == word_of_type && Some(*at) != declared && !file.is_name_of_parameter(*at);
                for at in range.clone().filter(is_named) {
                    places.entry(key.clone()).or_default().insert(file.place(file.tokens[at].start));
                    for (outer, at) in qualifiers(file, key, at, range.start) {
                        places.entry(outer).or_default().insert(file.place(file.tokens[at].start));
                    }
                }
            }
        };
        let mut known: FxHashMap<NameUse, Option<String>> = FxHashMap::default();
        for decl in tree.types.iter().filter(|decl| decl.symbol() == mentions.symbol) {
            let header = header_range(decl, file);
            let declared = match decl.kind {
                TypeKind::Delegate => declared_name(file, header.clone(), &decl.name),
                _ => header.clone().find(|at| {
                    let before = at.checked_sub(1).map_or("", |before| file.word(before));
                    file.word(*at) == decl.name && matches!(before, "class" | "struct" | "interface" | "enum" | "record")
                }),
            };
            note(&decl.names, header, declared, &mut known);
            for member in &decl.members {
                let range = header_end(file.tokens_of(member.span), file);
                let name = match member.kind {
                    MemberKind::Constructor => &decl.name,
                    _ => member.name.rsplit('.').next().unwrap_or(&member.name),
                };
                let declared = declared_name(file, range.clone(), name);
                note(&member.names, range, declared, &mut known);
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

/// The types around a nested type that stand before its name at a token, as `Outer` in `Outer.Inner`: their keys and tokens.
fn qualifiers(file: &File<'_>, key: &str, at: usize, first: usize) -> Vec<(String, usize)> {
    let (symbol, project) = key.split_at(symbol_of(key).len());
    let (mut symbol, mut at, mut found) = (symbol, at, Vec::new());
    while let Some((outer, _)) = symbol.rsplit_once('+') {
        // What stands before may have type arguments.
        let Some(dot) = at
            .checked_sub(1)
            .filter(|dot| *dot > first && file.tokens[*dot].text(file.text) == ".")
        else {
            break;
        };
        let mut depth = 0_usize;
        let name = (first..dot).rev().find(|before| {
            match file.tokens[*before].text(file.text) {
                ">" => depth += 1,
                ">>" => depth += 2,
                "<" => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        });
        let simple = outer.rsplit(['.', '+']).next().and_then(|last| last.split('`').next());
        let Some(name) = name.filter(|name| Some(file.word(*name)) == simple) else {
            break;
        };
        found.push((format!("{outer}{project}"), name));
        (symbol, at) = (outer, name);
    }
    found
}

/// The token that is the name which a declaration declares: the last such word outside of all brackets, before constraints and initialisers.
fn declared_name(file: &File<'_>, range: Range<usize>, name: &str) -> Option<usize> {
    let (mut depth, mut found) = (0_usize, None);
    for at in range {
        match file.tokens[at].text(file.text) {
            "(" | "[" | "<" => depth += 1,
            ")" | "]" | ">" => depth = depth.saturating_sub(1),
            ">>" => depth = depth.saturating_sub(2),
            "where" | ":" if depth == 0 => break,
            _ if depth == 0 && file.word(at) == name => found = Some(at),
            _ => {}
        }
    }
    found
}

/// Tokens of a member before its body, its accessors or its value.
fn header_end(range: Range<usize>, file: &File<'_>) -> Range<usize> {
    let mut depth = 0_usize;
    let end = range.clone().find(|at| {
        match file.tokens[*at].text(file.text) {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "{" | "=>" | "=" | ";" => return depth == 0,
            _ => {}
        }
        false
    });
    range.start..end.unwrap_or(range.end)
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
