//! `csharp/usages`: every place where the code of one type names a type or a member, with line and column.
//!
//! A table: `KEY` → places that name the type, `KEY#Member` → places that use a member that the type declares, `?#Member` → uses of a
//! member of that name on a value of unknown type, `~KEY#Member` → uses of a member of an interface of .NET, which types of the workspace
//! may implement, `~!#Name` → undefined names: no local, member or type, `~!KEY#Name` → no member of that type, which is known with all its
//! bases, `~>#Name` → calls of an unknown method of that name that may dispatch a value of the workspace's types as a message. References
//! of documentation are uses of the kind `cref`. Places are JSON arrays of objects, in the order of the text. The binder works on canonical
//! text. To find the places, this producer aligns its tokens with those of the type's lines.

use super::attribute_places;
use super::code;
use super::code::ast::{Argument, Statement, TypeRef};
use super::code::facts::{Facts, MemberCode, attribute, attributes_of, attributes_of_type, facts};
use super::complete::{Complete, complete};
use super::declared_names::Words;
use super::defaults::count_defaults;
use super::deps::binder::{Binder, Bound};
use super::deps::crefs;
use super::deps::dotnet;
pub use super::deps::flow::{Call, NOTHING, SENT, TARGET_TYPED_NEW, UseKind, is_dispatcher};
use super::deps::flow::{Flow, UsesFound};
use super::deps::index::NameIndex;
use super::deps::lookups::{Lookups, TableRows};
use super::deps::resolve::Resolver;
use super::deps::world::World;
use super::deps::{OWN, Subject, scopes, surroundings};
use super::escapes;
use super::lexer::{Token, lex};
use super::lines::{self, Line, Lines};
use super::member_places::MemberPlaces;
use super::mention_model::{MentionPart, Mentions};
use super::model::{Member, MemberKind, NamePlace, NameUse, Span, TypeDecl, TypeKind};
use super::syntax_table::{self, Declared};
use super::token_places::AlignedText;
use super::types::symbol_of;
use super::undecided_names::{means_nothing, undecided};
use engine::seams::producer::{Failure, Inputs, Output, Params, Producer, ProducerId, Sees};
use engine::values::json;
use engine::values::table::write_table;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A place in a file. Fields are in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The line without surrounding white space; of a line longer than [`LONGEST_LINE`] only the text around the place, with `…` where it is cut.
    pub text: String,
    #[serde(default, skip_serializing_if = "UseKind::is_name")]
    pub kind: UseKind,
    /// The call, if a method is called; absent if it is only named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// Whether the use may refer to an overload of another type instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// Written types of the parameters by which a reference in documentation selects an overload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<String>>,
}

/// The producer `csharp/usages`.
#[derive(Debug)]
pub struct Usages;

impl Producer for Usages {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/usages", 46)
    }

    fn sees(&self, _: &Params) -> Sees {
        OWN
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let Subject { own, mentions, index } = Subject::read(inputs)?;
        let rows = TableRows::read(&inputs.single("declarations")?.bytes)?;
        let lookups = Lookups::seen_from(&rows, scopes(&mentions, &index));
        let world = World::new(&lookups);
        let symbol = symbol_of(own);
        let whole = complete(symbol, inputs.all("parts"), inputs.all("usings"))?;
        let mut files = BTreeMap::new();
        for (part, lines) in inputs.all("parts").iter().zip(inputs.all("lines")) {
            let rows = syntax_table::declared(part, symbol)?.zip(lines::read(&lines.bytes, symbol)?);
            if let Some((declared, lines)) = rows {
                files.insert(&*part.item, File::new(&part.item, declared, lines));
            }
        }
        let mut places: BTreeMap<String, BTreeSet<Place>> = BTreeMap::new();
        in_code(own, &whole, &mentions, &index, &world, &files, &mut places);
        headers(&mentions, &index, &files, &mut places);
        in_documentation(own, &mentions, &index, &world, &files, &mut places);
        let rows: BTreeMap<String, Vec<u8>> = places.into_iter().map(|(key, places)| (key, json::encode(&places))).collect();
        Ok(Output::new(write_table(&rows)))
    }
}

/// Maximum length of a place's text, in bytes: a long line may contain many places.
pub const LONGEST_LINE: usize = 200;

/// Bytes before the place that a cut text shows.
const BEFORE: usize = 80;

/// Size in bytes of the blocks whose characters are counted once.
const BLOCK: usize = 256;

/// Facts of a file about the type: its declarations, their lines and their tokens.
struct File {
    path: String,
    /// The declarations, with spans as in the file.
    parts: Vec<TypeDecl>,
    /// From the beginning of each declaration to its members.
    headers: Vec<Span>,
    text: String,
    /// The text as compiled: code that `#if` excludes is blank, and names have no escapes.
    code: String,
    lines: Vec<Line>,
    /// Tokens of headers and members, in order.
    tokens: Vec<Token>,
    /// Characters that begin before each block of [`BLOCK`] bytes.
    blocks: Vec<u32>,
}

impl File {
    fn new(path: &str, declared: Declared, lines: Lines) -> Self {
        let mut counted = 0;
        let blocks = lines.text.as_bytes().chunks(BLOCK).map(|block| {
            let before = counted;
            counted += characters(block);
            before
        });
        let mut file = Self {
            path: path.to_owned(),
            parts: declared.parts,
            headers: lines.parts.iter().map(|part| part.header.placed(part.line, part.from)).collect(),
            blocks: blocks.collect(),
            code: lines.compiled(),
            text: lines.text,
            lines: lines.lines,
            tokens: Vec::new(),
        };
        for (decl, start) in file.parts.iter_mut().zip(&lines.parts) {
            decl.span = decl.span.placed(start.line, start.from);
            decl.members
                .iter_mut()
                .for_each(|member| member.span = member.span.placed(start.line, start.from));
        }
        let members = file.parts.iter().flat_map(|decl| &decl.members).map(|member| member.span);
        let mut stretches: Vec<Range<usize>> = members.chain(file.headers.iter().copied()).map(|span| file.bytes(span)).collect();
        // Top-level statements begin at the same place as the type that they imply.
        stretches.sort_by_key(|bytes| (bytes.start, Reverse(bytes.end)));
        let mut done = 0;
        for bytes in stretches {
            // Positional members are in the header, declarators in the declaration of the first.
            if bytes.start < done {
                continue;
            }
            done = bytes.end;
            let start = bytes.start as u32;
            let tokens = lex(&file.code[bytes]).tokens.into_iter();
            file.tokens.extend(tokens.map(|token| Token {
                start: token.start + start,
                end: token.end + start,
                ..token
            }));
        }
        if let Some(plain) = escapes::plain_names(&file.code, &mut file.tokens) {
            file.code = plain;
        }
        file
    }

    /// Returns the bytes of a range of the file in the text.
    fn bytes(&self, span: Span) -> Range<usize> {
        let byte = |number: u32, within: u32| {
            let at = self.lines.binary_search_by_key(&number, |line| line.number);
            let byte = at.map_or(self.text.len(), |at| {
                (self.lines[at].start + within.saturating_sub(self.lines[at].bytes)) as usize
            });
            self.text.floor_char_boundary(byte)
        };
        let start = byte(span.first, span.from);
        start..byte(span.last, span.to).max(start)
    }

    fn tokens_of(&self, span: Span) -> Range<usize> {
        let bytes = self.bytes(span);
        let first = self.tokens.partition_point(|token| (token.start as usize) < bytes.start);
        first..self.tokens.partition_point(|token| (token.start as usize) < bytes.end).max(first)
    }

    /// Returns the tokens of the header of a declaration, without its end mark.
    fn header(&self, part: usize) -> Range<usize> {
        let range = self.headers.get(part).map_or(0..0, |header| self.tokens_of(*header));
        let end = lines::end_of_header(&self.tokens[range.clone()], &self.code);
        range.start..end.map_or(range.end, |end| range.start + end)
    }

    fn declared_words(&self) -> Words<'_> {
        Words {
            text: &self.code,
            tokens: &self.tokens,
        }
    }

    /// Returns the number of characters that begin before a byte.
    fn characters_before(&self, byte: usize) -> u32 {
        let Some(before) = self.blocks.get(byte / BLOCK) else {
            return characters(self.text.as_bytes());
        };
        before + characters(&self.text.as_bytes()[byte / BLOCK * BLOCK..byte])
    }

    fn place_at(&self, byte: u32) -> Place {
        let next = self.lines.partition_point(|line| line.start <= byte);
        let line = self.lines[next.saturating_sub(1)];
        let (start, byte) = (line.start as usize, byte as usize);
        let end = self.lines.get(next).map_or(self.text.len(), |next| next.start as usize);
        Place {
            file: self.path.clone(),
            line: line.number,
            column: line.characters + self.characters_before(byte) - self.characters_before(start) + 1,
            text: display_line(&self.text[start..end], byte - start, line.bytes > 0),
            ..Place::default()
        }
    }

    fn member_places(&self) -> MemberPlaces<'_> {
        MemberPlaces::new(&self.parts, &self.tokens, &self.code)
    }
}

/// Returns the number of characters that begin in these bytes of UTF-8.
fn characters(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u32
}

/// Returns the displayed text of a line for a place at the byte `at`.
pub fn display_line(line: &str, at: usize, is_cut: bool) -> String {
    if line.len() <= LONGEST_LINE && !is_cut {
        return line.trim().to_owned();
    }
    let start = line.floor_char_boundary(at.saturating_sub(BEFORE));
    let end = line.floor_char_boundary((start + LONGEST_LINE).min(line.len()));
    let (before, after) = (if is_cut || start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{}{after}", line[start..end].trim())
}

/// Finds uses in code: bodies, headers, arguments of attributes.
fn in_code(
    own: &str,
    whole: &Complete,
    mentions: &Mentions,
    index: &NameIndex,
    world: &World<'_>,
    files: &BTreeMap<&str, File>,
    places: &mut BTreeMap<String, BTreeSet<Place>>,
) {
    let facts = facts(whole, true);
    // Facts are in the order of the members; members without code have none.
    let mut left = facts.members.as_slice();
    let mut of_part: Vec<Vec<(&Member, Option<&MemberCode>)>> = vec![Vec::new(); whole.parts.len()];
    for placed in &whole.members {
        let code = left
            .first()
            .filter(|code| code.part == placed.part && code.name == placed.member.name);
        let has_code = !placed.member.body.is_empty() || attributes_of(&placed.member).iter().any(|text| attribute(text, false).is_some());
        let code = code.filter(|_| has_code);
        left = &left[usize::from(code.is_some())..];
        // Its other declarations have attributes, and those in other files may have its default values.
        let file = |part: u32| whole.parts.get(part as usize).map(|part| &part.file);
        let has_values = |part: u32| file(part) != file(placed.part) && count_defaults(&placed.member.body) > 0;
        for at in std::iter::once(placed.part).chain(placed.others.iter().flatten().copied()) {
            if let Some(part) = of_part.get_mut(at as usize) {
                part.push((&placed.member, code.filter(|_| at == placed.part || has_values(at))));
            }
        }
    }
    let mut of_file = BTreeMap::new();
    for (at, (part, decl)) in parts_of_files(mentions).enumerate() {
        let Some(file) = files.get(part.file.as_str()) else {
            continue;
        };
        let found = of_file.entry(&part.file).or_insert_with(|| file.member_places());
        let resolver = Resolver::new(surroundings(part, mentions, index), index, &part.type_parameters, false);
        let mut code = Code {
            own,
            world,
            resolver: &resolver,
            facts: &facts,
            file,
            places,
        };
        // A text may belong to any part of the header, so search the whole header for it.
        let header = file.header(decl);
        for text in &whole.bodies {
            let body = code::body(text, true);
            code.uses(text, header.clone(), Piece::Header(&body));
        }
        code.attributes(&attributes_of_type(whole), &header);
        for (member, facts) in &of_part[at] {
            for span in found.spans_of(member) {
                let range = file.tokens_of(*span);
                code.attributes(&attributes_of(member), &range);
                if let Some(facts) = facts.filter(|facts| !facts.body.is_empty()) {
                    code.uses(&member.body, found.body(member, &range), Piece::Member(facts));
                }
            }
        }
    }
}

/// Returns the parts of a type, each with its number among those of its file.
fn parts_of_files(mentions: &Mentions) -> impl Iterator<Item = (&MentionPart, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    mentions.parts.iter().map(move |part| {
        let count = counts.entry(&part.file).or_default();
        *count += 1;
        (part, *count - 1)
    })
}

/// A parsed text with code.
#[derive(Clone, Copy)]
enum Piece<'p> {
    Header(&'p [Statement]),
    Attributes(&'p [(TypeRef, Vec<Argument>)]),
    Member(&'p MemberCode),
}

/// Code of one part, in which uses are searched.
struct Code<'c, 'w> {
    own: &'c str,
    world: &'c World<'w>,
    resolver: &'c Resolver<'c>,
    facts: &'c Facts,
    file: &'c File,
    places: &'c mut BTreeMap<String, BTreeSet<Place>>,
}

impl Code<'_, '_> {
    /// Records the uses in arguments of attributes in a range of the file's tokens: each at its spelling, or else anywhere in the range.
    fn attributes(&mut self, texts: &[String], range: &Range<usize>) {
        for (text, places) in attribute_places::find(texts, &self.file.tokens, &self.file.code, range) {
            let Some(attribute) = attribute(text, true) else { continue };
            let attribute = [attribute];
            let places = if places.is_empty() { vec![range.clone()] } else { places };
            for place in places {
                self.uses(text, place, Piece::Attributes(&attribute));
            }
        }
    }

    /// Records the uses in a canonical text whose source is a range of the file's tokens.
    fn uses(&mut self, text: &str, range: Range<usize>, piece: Piece<'_>) {
        let mut found = UsesFound {
            uses: Some(Vec::new()),
            ..UsesFound::default()
        };
        let mut flow = Flow::new(self.world, self.resolver, self.own, self.facts, &mut found);
        match piece {
            Piece::Header(code) => flow.header(code),
            Piece::Attributes(attributes) => flow.attributes(attributes),
            Piece::Member(code) => flow.member(code),
        }
        let locals = flow.local_names();
        let laid = AlignedText::new(text, &self.file.code, &self.file.tokens[range]);
        let uses = found.uses.unwrap_or_default();
        // The name of an attribute is the name of a type.
        let first = match piece {
            Piece::Attributes(_) => laid.tokens.iter().position(|token| token.text(text) == "(").unwrap_or(0),
            Piece::Header(_) | Piece::Member(_) => 0,
        };
        for (name, byte) in undecided(&laid, &uses, &locals, first) {
            let place = self.file.place_at(byte);
            self.places.entry(format!("?#{name}")).or_default().insert(place);
        }
        for used in uses {
            let Some(byte) = laid.byte(used.place) else {
                if let Some(name) = used.member.as_ref().filter(|name| !name.is_empty()) {
                    let bytes = laid.possible_bytes(used.place).iter();
                    let places = bytes.map(|byte| self.file.place_at(*byte));
                    self.places.entry(format!("?#{name}")).or_default().extend(places);
                }
                continue;
            };
            let key = match &used.member {
                Some(member) => format!("{}#{member}", used.owner),
                None => used.owner.to_string(),
            };
            let has_name = used.member.as_ref().is_some_and(|name| !name.is_empty());
            let is_answered = || has_name && used.owner.strip_prefix('~').is_some_and(is_dotnet_interface);
            let is_nothing = || {
                let name = used
                    .member
                    .as_deref()
                    .filter(|_| used.owner.starts_with(NOTHING) && !matches!(piece, Piece::Attributes(_)));
                name.is_some_and(|name| !locals.contains(name) && means_nothing(&laid, used.place, name))
            };
            if !key.starts_with(['~', '^']) || *used.owner == *SENT || is_answered() || is_nothing() {
                let place = Place {
                    elsewhere: !used.certain && !used.owner.starts_with(['?', '~']),
                    kind: used.kind,
                    call: used.call,
                    ..self.file.place_at(byte)
                };
                self.places.entry(key).or_default().insert(place);
            }
        }
    }
}

/// Whether the table lists uses of members of this .NET type. It does for interfaces, because types of the workspace may implement them.
pub fn is_dotnet_interface(key: &str) -> bool {
    dotnet::get(key).is_some_and(|of| of.kind == 'i')
}

/// Finds references in documentation.
fn in_documentation(
    own: &str,
    mentions: &Mentions,
    index: &NameIndex,
    world: &World<'_>,
    files: &BTreeMap<&str, File>,
    places: &mut BTreeMap<String, BTreeSet<Place>>,
) {
    if mentions.references.is_empty() {
        return;
    }
    for (part, decl) in parts_of_files(mentions) {
        let Some(file) = files.get(part.file.as_str()) else {
            continue;
        };
        let around = surroundings(part, mentions, index);
        let scope = crefs::Scope {
            own,
            around: &around,
            index,
            world,
        };
        let members = file.parts.get(decl).into_iter().flat_map(|decl| &decl.members);
        let spans = members.map(|member| member.span).chain(file.headers.get(decl).copied());
        // Documentation precedes the first token.
        let before_code = |span: Span| {
            let (bytes, first) = (file.bytes(span), file.tokens_of(span).start);
            let code = file.tokens.get(first).map_or(bytes.end, |token| token.start as usize);
            (bytes.start, code.clamp(bytes.start, bytes.end))
        };
        for (start, end) in spans.map(before_code).collect::<BTreeSet<_>>() {
            for range in crefs::references_in_code(&file.text[start..end]) {
                let (at, end) = (start + range.start, start + range.end);
                let reference = crefs::read(&file.text[at..end]);
                let Some(reference) = reference else { continue };
                for meaning in scope.meanings(&reference) {
                    let place = Place {
                        kind: UseKind::Cref,
                        elsewhere: !meaning.certain,
                        parameters: reference.written.clone(),
                        ..file.place_at((at + meaning.at) as u32)
                    };
                    places.entry(meaning.key_of_meaning()).or_default().insert(place);
                }
            }
        }
    }
}

/// Finds names in headers, bases and attributes.
fn headers(mentions: &Mentions, index: &NameIndex, files: &BTreeMap<&str, File>, places: &mut BTreeMap<String, BTreeSet<Place>>) {
    for (part, decl) in parts_of_files(mentions) {
        let found = files.get(part.file.as_str()).and_then(|file| Some((file, file.parts.get(decl)?)));
        let Some((file, declared)) = found else { continue };
        let around = surroundings(part, mentions, index);
        let mut bound: FxHashMap<NameUse, Option<String>> = FxHashMap::default();
        let words = file.declared_words();
        let mut note = |names: &[NameUse], range: Range<usize>, declared: Option<usize>| {
            // One word may name an attribute, `XAttribute`, and a type `X`; and types that differ by their type parameters.
            let mut keys: FxHashMap<(String, bool), BTreeSet<(u32, String)>> = FxHashMap::default();
            for name in names {
                let key = bound.entry(name.clone()).or_insert_with(|| {
                    match Binder::new(index).bind(&around, &name.path, name.arity, name.place.into(), name.certain) {
                        Bound::Type(entry) => Some(entry.key.clone()),
                        _ => None,
                    }
                });
                if let Some(key) = key {
                    let word = word_of_type(name, key).to_owned();
                    keys.entry((word, name.place == NamePlace::Attribute))
                        .or_default()
                        .insert((name.arity, key.clone()));
                }
            }
            let is_use = |at: &usize| !keys.is_empty() && Some(*at) != declared && !words.is_name_of_parameter(*at);
            for at in range.clone().filter(is_use) {
                let (word, is_attribute) = (words.identifier_at(at).to_owned(), words.is_attribute(at, range.start));
                let found = keys.get(&(word.clone(), is_attribute)).or_else(|| keys.get(&(word, !is_attribute)));
                let Some(found) = found else { continue };
                let arity = words.arity_at(at);
                let has_arity = found.iter().any(|(own, _)| *own == arity);
                for (_, key) in found.iter().filter(|(own, _)| *own == arity || !has_arity) {
                    let named = words.qualifiers(key, at, range.start).into_iter().chain([(key.clone(), at)]);
                    for (key, at) in named {
                        places.entry(key).or_default().insert(file.place_at(file.tokens[at].start));
                    }
                    if words.is_constructed(at, range.start) {
                        let place = Place {
                            kind: UseKind::Construct,
                            ..file.place_at(file.tokens[at].start)
                        };
                        places.entry(format!("{key}#.ctor")).or_default().insert(place);
                    }
                }
            }
        };
        let header = file.header(decl);
        let name = match declared.kind {
            TypeKind::Delegate => words.declared_by_member(header.clone(), &declared.name),
            _ => words.declared_by_type(header.clone(), &declared.name),
        };
        note(&declared.names, header, name);
        for member in &declared.members {
            let tokens = file.tokens_of(member.span);
            let header = words.header_of_member(tokens.clone());
            for list in words.accessor_attributes(header.end..tokens.end) {
                note(&member.names, list, None);
            }
            let name = match member.kind {
                MemberKind::Constructor => &declared.name,
                _ => member.name.rsplit('.').next().unwrap_or(&member.name),
            };
            let name = words.declared_by_member(header.clone(), name);
            note(&member.names, header, name);
        }
    }
}

/// Returns the name in a path that refers to the bound type. Members may follow a name that is not certain: `K` of `K.Name`.
fn word_of_type<'n>(name: &'n NameUse, key: &str) -> &'n str {
    let symbol = symbol_of(key);
    let simple = symbol.rsplit(['.', '+']).next().and_then(|last| last.split('`').next());
    let words = name.path.rsplit(['.', ':']).map(|word| word.split('`').next().unwrap_or(word));
    let mut words = words.filter(|word| !word.is_empty());
    match name.certain {
        true => words.next(),
        false => words.clone().find(|word| Some(*word) == simple).or_else(|| words.next_back()),
    }
    .unwrap_or(&name.path)
}
