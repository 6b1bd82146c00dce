//! The contents of a prompt, cut into named texts: structure, code and documentation of each type, and the roles of its dependencies.
//!
//! The present inputs and those of an earlier answer are cut in the same way, so that comparing the texts gives the changes. Every text is cleaned of
//! control characters and of texts that look like keys before it is used.

use super::code_lines::code_lines;
use super::foreign_text::clean;
use super::prose::is_word;
use super::secrets::redact;
use super::tokens::tokens;
use csharp::implementation::{self, ImplHeader, ImplMember};
use csharp::render::doc;
use csharp::structure::{self, ApiMember, TypeStructure};
use csharp::xmldoc;
use engine::seams::paid::Previous;
use engine::seams::producer::{Failure, Input, Inputs};
use engine::values::label::unescape;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Limit of the size of one dependency's declarations (see [`size_without_names`]).
const LONGEST_SIGNATURES: usize = 1500;

/// Limit of bytes of one dependency's ROLE.
const LONGEST_ROLE: usize = 1200;

/// The text of a type whose source no model may see.
pub(super) const WITHHELD: &str = "Withheld: its source is never sent to a model.";

/// The kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum SlotKind {
    Structure,
    Code,
    Docs,
    Role,
    Signatures,
}

impl SlotKind {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Structure => "Declarations",
            Self::Code => "Code",
            Self::Docs => "Documentation",
            Self::Role => "Role",
            Self::Signatures => "Used declarations",
        }
    }

    /// Whether it belongs to the summarised type, and not to a dependency.
    pub(super) fn is_own(self) -> bool {
        matches!(self, Self::Structure | Self::Code | Self::Docs)
    }
}

/// One text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) kind: SlotKind,
    /// The type that it belongs to.
    pub(super) key: String,
    /// Pieces by the name of their member; `""` for pieces of no member.
    pub(super) pieces: Vec<(String, String)>,
}

impl Slot {
    pub(super) fn new(kind: SlotKind, key: &str, pieces: Vec<(String, String)>) -> Self {
        let pieces = pieces.into_iter().map(|(name, text)| (name, redact(&clean(&text)).0));
        Self {
            kind,
            key: key.to_owned(),
            pieces: pieces.filter(|(_, text)| !text.is_empty()).collect(),
        }
    }

    /// Returns the whole text, with a line end after every piece.
    pub(super) fn joined_text(&self) -> String {
        self.pieces.iter().flat_map(|(_, text)| [text.as_str(), "\n"]).collect()
    }

    /// Returns the text of each member, in order; parts of one are joined.
    pub(super) fn text_by_member(&self) -> Vec<(&str, String)> {
        let mut texts: Vec<(&str, String)> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, text) in &self.pieces {
            let at = *places.entry(name).or_insert_with(|| {
                texts.push((name, String::new()));
                texts.len() - 1
            });
            texts[at].1.push_str(text);
            texts[at].1.push('\n');
        }
        texts
    }

    /// Returns the text with those members only.
    pub(super) fn only(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let pieces = self.pieces.iter().filter(|(name, _)| is_wanted(name));
        Self {
            pieces: pieces.cloned().collect(),
            ..self.clone()
        }
    }

    pub(super) fn text_of_member(&self, member: &str) -> String {
        let own = self.pieces.iter().filter(|(name, _)| name == member);
        own.map(|(_, text)| text.as_str()).collect()
    }
}

/// Whether a member's declaration has code: fields, accessors that the compiler writes and members without a body have none.
pub(super) fn holds_code(declaration: &str) -> bool {
    const ACCESSORS: [&str; 11] = [
        "get", "set", "init", "add", "remove", "private", "protected", "internal", "public", "readonly", ";",
    ];
    let tokens = tokens(declaration);
    let mut depth = 0_usize;
    tokens.iter().any(|token| {
        if token.is("{") {
            depth += 1;
        } else if token.is("}") {
            depth = depth.saturating_sub(1);
        } else if depth > 0 {
            return !ACCESSORS.iter().any(|word| token.is(word));
        }
        token.is("=>")
    })
}

/// Blobs by role and by type.
pub(super) type Blobs = BTreeMap<String, BTreeMap<String, Input>>;

/// Returns the present inputs; those of a role with one input belong to the type `own`.
pub(super) fn present_inputs(inputs: &Inputs<'_>, own: &str) -> Blobs {
    let of = |input: &Input| {
        let key = if input.item.is_empty() { own } else { &input.item };
        (key.to_owned(), input.clone())
    };
    let roles = inputs.roles.iter();
    roles
        .map(|(role, list)| (role.to_string(), list.iter().map(of).collect()))
        .collect()
}

/// Returns the inputs of an earlier answer, under the present names of their types; `None` when the store lacks one of them.
pub(super) fn past(previous: &Previous, now: impl Fn(&str) -> String) -> Option<Blobs> {
    let mut blobs = Blobs::new();
    for input in &previous.inputs {
        if !["structure", "impl", "code", "xmldoc", "roles", "dependencies"].contains(&&*input.role) {
            continue;
        }
        let key = now(&key_of(&input.label));
        let blob = Input {
            item: key.as_str().into(),
            digest: input.digest,
            label: input.label.clone(),
            bytes: input.bytes.clone()?,
            tree: None,
        };
        blobs.entry(input.role.to_string()).or_default().insert(key, blob);
    }
    blobs.contains_key("structure").then_some(blobs)
}

/// Returns the type that a label belongs to.
fn key_of(label: &str) -> String {
    let package = label.rsplit_once(':').map_or(label, |(package, _)| package);
    let key = package.strip_prefix("//types/").unwrap_or(package);
    unescape(key.split('#').next().unwrap_or(key))
}

/// Cuts blobs into texts: those of the types `about` first, then those of their dependencies; of `hidden` ones only the role.
pub(super) fn slots(blobs: &Blobs, about: &[&str], hidden: &BTreeSet<String>) -> Result<Vec<Slot>, Failure> {
    let none = BTreeMap::new();
    let role = |name: &str| blobs.get(name).unwrap_or(&none);
    let mut slots = Vec::new();
    let mut words = BTreeSet::new();
    for key in about {
        let Some(input) = role("structure").get(*key) else { continue };
        let whole = structure::decode_structure(input)?;
        if let Some(input) = role("code").get(*key) {
            let text = text_of_input(input)?;
            let code = Slot::new(SlotKind::Code, key, vec![(String::new(), code_lines(&text))]);
            collect_words(&code.joined_text(), &mut words);
            slots.push(Slot::new(SlotKind::Structure, key, surroundings_of_member(&whole, &words)));
            slots.push(code);
            continue;
        }
        let own = Slot::new(SlotKind::Structure, key, declarations(&whole));
        collect_words(&own.joined_text(), &mut words);
        slots.push(own);
        if let Some(input) = role("impl").get(*key) {
            let (header, members) = implementation::decode_implementation(input)?;
            let code = Slot::new(SlotKind::Code, key, code_of(&whole, &header, &members));
            collect_words(&code.joined_text(), &mut words);
            slots.push(code);
        }
        if let Some(input) = role("xmldoc").get(*key) {
            let docs = xmldoc::decode_docs(input)?;
            let own = (String::new(), doc::parse_doc_comment(&docs.own).full_text());
            let members = docs.members.iter().map(|(member, xml)| {
                let text = doc::parse_doc_comment(xml).full_text().replace('\n', " ");
                (member.clone(), if text.is_empty() { text } else { format!("{member}: {text}") })
            });
            slots.push(Slot::new(SlotKind::Docs, key, std::iter::once(own).chain(members).collect()));
        }
    }
    let mut withheld = BTreeSet::new();
    for (key, input) in role("roles") {
        let text = text_of_input(input)?;
        if text.contains(WITHHELD) {
            withheld.insert(key);
        }
        slots.push(Slot::new(
            SlotKind::Role,
            key,
            vec![(String::new(), cut_to_bytes(text.trim(), LONGEST_ROLE))],
        ));
    }
    let shown = |key: &String| !withheld.contains(key) && !hidden.contains(key);
    for (key, input) in role("dependencies").iter().filter(|(key, _)| shown(key)) {
        let whole = structure::decode_structure(input)?;
        slots.push(Slot::new(SlotKind::Signatures, key, used_members(&whole, &words)));
    }
    slots.retain(|slot| !slot.pieces.is_empty());
    Ok(slots)
}

fn text_of_input(input: &Input) -> Result<String, Failure> {
    let text = std::str::from_utf8(&input.bytes).map_err(|_| Failure::permanent(format!("{} is not UTF-8 text", input.label)))?;
    Ok(text.to_owned())
}

/// Cuts a text to at most so many bytes, at a line or a word.
pub(super) fn cut_to_bytes(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = text[..end].rfind(['\n', ' ']).filter(|at| *at > end / 2).unwrap_or(end);
    format!("{} …", text[..end].trim_end())
}

/// Returns the simple name of a type's key.
pub(super) fn simple(key: &str) -> &str {
    let key = key.split('@').next().unwrap_or(key);
    let last = key.rsplit(['.', '+']).next().unwrap_or(key);
    last.split('`').next().unwrap_or(last)
}

fn collect_words(text: &str, words: &mut BTreeSet<String>) {
    let each = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty());
    words.extend(each.map(str::to_owned));
}

fn type_head(whole: &TypeStructure) -> String {
    let header = &whole.header;
    let mut text = condition(&header.condition);
    header
        .attributes
        .iter()
        .for_each(|attribute| text.push_str(&format!("[{attribute}] ")));
    text.push_str(if header.attributed.is_empty() {
        &header.signature
    } else {
        &header.attributed
    });
    if !header.bases.is_empty() {
        text.push_str(&format!(" : {}", header.bases.join(", ")));
    }
    header
        .constraints
        .iter()
        .for_each(|constraint| text.push_str(&format!(" {constraint}")));
    text
}

fn condition(condition: &str) -> String {
    if condition.is_empty() {
        String::new()
    } else {
        format!("/* #if {condition} */ ")
    }
}

fn declaration(member: &ApiMember) -> String {
    let attributes: String = member.attributes.iter().map(|attribute| format!("[{attribute}] ")).collect();
    let signature = if member.attributed.is_empty() {
        &member.signature
    } else {
        &member.attributed
    };
    format!("{}{attributes}{signature}", condition(&member.condition))
}

fn declarations(whole: &TypeStructure) -> Vec<(String, String)> {
    let members = whole.members.iter().map(|member| (member.key.clone(), declaration(member)));
    std::iter::once((String::new(), type_head(whole))).chain(members).collect()
}

/// Bytes of parameter types in the key of a member above which code shows its name only.
const LONGEST_PARAMETERS: usize = 8;

/// Returns the key of a member of the API without its parameters, which its declaration has, unless another member has its name.
fn short_key(member: &ImplMember, members: &[ImplMember]) -> String {
    let name = |key: &str| key.split('(').next().unwrap_or_default().to_owned();
    let own = name(&member.key);
    let is_only = || members.iter().filter(|other| name(&other.key) == own).count() == 1;
    if member.key.len() > own.len() + LONGEST_PARAMETERS && is_only() {
        format!("{own}(…)")
    } else {
        member.key.clone()
    }
}

/// Returns bodies and members outside of the API. A member of the API appears by its name: its declaration is elsewhere in the prompt.
fn code_of(whole: &TypeStructure, header: &ImplHeader, members: &[ImplMember]) -> Vec<(String, String)> {
    let own = header
        .body
        .iter()
        .map(|body| (String::new(), format!("{}{}", simple(&whole.header.symbol), code_lines(body))));
    let members = members.iter().map(|member| {
        let key = short_key(member, members);
        let attributes: String = member.attributes.iter().map(|attribute| format!("[{attribute}] ")).collect();
        let name = if member.signature.is_empty() { &key } else { &member.signature };
        let modifiers: String = if member.signature.is_empty() {
            member.modifiers.iter().map(|word| format!("{word} ")).collect()
        } else {
            String::new()
        };
        let value = matches!(member.kind.as_str(), "field" | "constant" | "enum member") && !member.body.is_empty();
        let join = if value {
            " = "
        } else if member.body.is_empty() {
            ""
        } else {
            " "
        };
        let follows = match &member.follows {
            Some((last, distance)) if !last.is_empty() => format!(" = {last} + {distance}"),
            _ => String::new(),
        };
        let text = format!("{attributes}{modifiers}{name}{join}{}{follows}", code_lines(&member.body));
        (member.key.clone(), text)
    });
    own.chain(members).collect()
}

/// Returns, of the type around a member, its head and the members that the member's code names.
fn surroundings_of_member(whole: &TypeStructure, words: &BTreeSet<String>) -> Vec<(String, String)> {
    let named = whole.members.iter().filter(|member| words.contains(&member.name));
    let members = named.map(|member| (member.key.clone(), declaration(member)));
    std::iter::once((String::new(), type_head(whole))).chain(members).collect()
}

/// Returns, of a dependency, its head and the members that the words name; the shortest ones, if not all fit.
fn used_members(whole: &TypeStructure, words: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut pieces = vec![(String::new(), type_head(whole))];
    let named = whole.members.iter().filter(|member| words.contains(&member.name));
    let named: Vec<(String, String)> = named.map(|member| (member.key.clone(), declaration(member))).collect();
    let mut by_size: Vec<(usize, usize)> = named.iter().map(|(_, text)| size_without_names(text)).zip(0..).collect();
    by_size.sort_unstable();
    let mut len = size_without_names(&pieces[0].1);
    let fitting = by_size.into_iter().take_while(|(size, _)| {
        len += size;
        len <= LONGEST_SIGNATURES
    });
    let fitting: BTreeSet<usize> = fitting.map(|(_, at)| at).collect();
    let is_cut = fitting.len() < named.len();
    let shown = named.into_iter().enumerate().filter(|(at, _)| fitting.contains(at));
    pieces.extend(shown.map(|(_, piece)| piece));
    pieces.extend(is_cut.then(|| ("…".to_owned(), "// …".to_owned())));
    pieces
}

/// Returns the size of a text in which every word has 8 bytes: a rename moves no limit.
fn size_without_names(text: &str) -> usize {
    let words = text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).count();
    words * 8 + text.chars().filter(|c| !is_word(*c)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_declarations_with_bodies_hold_code() {
        for (declaration, holds) in [
            ("private readonly int _size = 16", false),
            ("public int Size { get; private set; } = Of(\"{ x }\")", false),
            ("event Action Moved", false),
            ("event Action Moved { add; remove; }", false),
            ("abstract void Run(int x)", false),
            ("public int Size => 2", true),
            ("public int Size { get { return 2; } }", true),
            ("public int Size { get => 2; }", true),
            ("void Run() { }", false),
            ("void Run() { Go(); }", true),
            ("Func<int> f = () => 1", true),
        ] {
            assert_eq!(holds_code(declaration), holds, "{declaration}");
        }
    }

    #[test]
    fn a_rename_moves_no_limit() {
        assert_eq!(size_without_names("Task<T> Run(Context c)"), 5 * 8 + 6);
        assert_eq!(size_without_names("Task<T> Run(ContextOfRun c)"), 5 * 8 + 6);
    }
}
