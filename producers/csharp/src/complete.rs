//! `csharp/complete`: one type with its partial declarations merged.
//!
//! The output has no line numbers, so changes of layout end at this node. The producer reads only this type's row of each file, so an edit of
//! another type does not affect it. It does not know projects: the rule chooses the files.

use super::defaults::split_defaults;
use super::hashes::{after_modifiers, signature, type_access};
use super::ids::member_key;
use super::model::{Member, Span, TypeDecl, TypeKind, Using};
use super::syntax_table::{self, Declared, Enclosing, Nested};
use super::types::symbol_of;
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::cbor;
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;

/// A type with all its parts.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Complete {
    #[n(0)]
    pub symbol: String,
    #[n(1)]
    pub namespace: String,
    #[n(2)]
    pub name: String,
    /// Kind, of the first part.
    #[n(3)]
    pub kind: TypeKind,
    /// Accessibility in effect, as C# writes it.
    #[n(4)]
    pub access: String,
    /// Own type parameters.
    #[n(5)]
    pub type_parameters: Vec<String>,
    /// Union of the modifiers of all parts, sorted.
    #[n(6)]
    pub modifiers: Vec<String>,
    /// Attributes of all parts, sorted.
    #[n(7)]
    pub attributes: Vec<String>,
    /// Header without leading modifiers, from the part with the longest header.
    #[n(8)]
    pub header: String,
    /// Bases of all parts, each once, in order.
    #[n(9)]
    pub bases: Vec<String>,
    /// Constraints of all parts, sorted, each once.
    #[n(10)]
    pub constraints: Vec<String>,
    /// Header bodies of all parts that have one.
    #[n(11)]
    pub bodies: Vec<String>,
    /// Documentation of all parts, one after the other.
    #[n(12)]
    pub doc: String,
    /// The parts, by file, then in source order.
    #[n(13)]
    pub parts: Vec<Part>,
    /// Members of all parts, in the order of parts.
    #[n(14)]
    pub members: Vec<PlacedMember>,
    /// The `#if` condition that all parts share; `""` without one.
    #[n(15)]
    pub condition: String,
    /// Header with the attributes of parameters and type parameters; empty without such attributes.
    #[n(16)]
    pub attributed: String,
    /// Types declared directly inside the type, by name.
    #[n(17)]
    pub nested: Vec<Nested>,
}

/// The context of one part; it decides the meaning of the part's names.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Part {
    #[n(0)]
    pub file: String,
    /// Using directives of the file.
    #[n(1)]
    pub usings: Vec<Using>,
    /// Enclosing types, outermost first.
    #[n(2)]
    pub enclosing: Vec<Enclosing>,
    #[n(3)]
    pub names: Vec<super::model::NameUse>,
    /// Path of the first project that compiles the part, if the file's owner does not.
    #[n(4)]
    pub of: Option<String>,
}

/// A member and the part that declares it: of a partial member the one with its body.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PlacedMember {
    /// Index into [`Complete::parts`].
    #[n(0)]
    pub part: u32,
    /// The member; its span is empty.
    #[n(1)]
    pub member: Member,
    /// Indexes (like `part`) of the other parts that declare a partial member.
    #[n(2)]
    pub others: Option<Vec<u32>>,
}

/// The producer `csharp/complete`.
#[derive(Debug)]
pub struct CompleteType;

impl Producer for CompleteType {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/complete", 8)
    }

    fn sees(&self, _: &engine::seams::producer::Params) -> engine::seams::producer::Sees {
        engine::seams::producer::Sees { vars: true, label: false }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let key = inputs
            .var("type")
            .ok_or_else(|| Failure::permanent("the rule binds no variable 'type'"))?;
        let complete = complete(symbol_of(key), inputs.all("parts"), inputs.all("usings"))?;
        Ok(Output::new(cbor::encode(&complete)))
    }
}

/// Reads the blob of [`CompleteType`]. Fails if the blob is no output of [`CompleteType`].
pub fn decode_complete(input: &Input) -> Result<Complete, Failure> {
    minicbor::decode(&input.bytes).map_err(|error| Failure::permanent(format!("a merged type cannot be decoded: {error}")))
}

/// Merges the parts of `symbol` from its rows in the tables of its files, with the using directives of the same files. Fails if a row
/// cannot be decoded or no file declares the type.
pub fn complete(symbol: &str, parts: &[Input], usings: &[Input]) -> Result<Complete, Failure> {
    let mut found = Vec::new();
    for (part, usings) in parts.iter().zip(usings) {
        if let Some(declared) = syntax_table::declared(part, symbol)? {
            found.push((&*part.item, declared, syntax_table::usings(usings)?));
        }
    }
    merge(symbol, found).ok_or_else(|| Failure::permanent(format!("no part of {symbol} is in its files any more")))
}

fn merge(symbol: &str, found: Vec<(&str, Declared, Vec<Using>)>) -> Option<Complete> {
    let mut whole: Option<Complete> = None;
    let mut nested: Vec<Nested> = Vec::new();
    for (file, declared, usings) in found {
        nested.extend(declared.nested);
        for decl in declared.parts {
            let whole = whole.get_or_insert_with(|| first(symbol, &decl));
            whole.add_declaration(file, decl, &usings, &declared.enclosing);
        }
    }
    let mut whole = whole?;
    whole.modifiers.sort();
    whole.modifiers.dedup();
    whole.attributes.sort();
    whole.constraints.sort();
    whole.constraints.dedup();
    whole.bodies.sort();
    let encloser = whole.parts.iter().find_map(|part| part.enclosing.last()).map(|outer| outer.kind);
    type_access(&whole.modifiers, encloser).as_csharp().clone_into(&mut whole.access);
    whole.nested = join_nested(nested, whole.kind);
    whole.members = join_partial_members(whole.members);
    for placed in &mut whole.members {
        if placed.member.condition == whole.condition {
            placed.member.condition.clear();
        }
    }
    Some(whole)
}

fn join_nested(mut parts: Vec<Nested>, encloser: TypeKind) -> Vec<Nested> {
    parts.sort();
    let mut joined: Vec<Nested> = Vec::with_capacity(parts.len());
    for part in parts {
        match joined.last_mut().filter(|last| last.name == part.name) {
            Some(last) => {
                last.modifiers.extend(part.modifiers);
                if (part.header.len(), std::cmp::Reverse(&part.header)) > (last.header.len(), std::cmp::Reverse(&last.header)) {
                    last.header = part.header;
                }
            }
            None => joined.push(part),
        }
    }
    for nested in &mut joined {
        nested.modifiers.sort();
        nested.modifiers.dedup();
        type_access(&nested.modifiers, Some(encloser))
            .as_csharp()
            .clone_into(&mut nested.access);
    }
    joined
}

fn first(symbol: &str, decl: &TypeDecl) -> Complete {
    Complete {
        symbol: symbol.to_owned(),
        namespace: decl.namespace.clone(),
        name: decl.name.clone(),
        kind: decl.kind,
        access: String::new(),
        type_parameters: decl.type_parameters.clone(),
        modifiers: Vec::new(),
        attributes: Vec::new(),
        header: String::new(),
        bases: Vec::new(),
        constraints: Vec::new(),
        bodies: Vec::new(),
        doc: String::new(),
        parts: Vec::new(),
        members: Vec::new(),
        condition: decl.condition.clone(),
        attributed: String::new(),
        nested: Vec::new(),
    }
}

impl Complete {
    fn add_declaration(&mut self, file: &str, decl: TypeDecl, usings: &[Using], enclosing: &[Enclosing]) {
        let part = u32::try_from(self.parts.len()).expect("invariant: a type has fewer than 2^32 parts");
        let header = after_modifiers(&decl.signature, &decl.modifiers);
        if (header.len(), std::cmp::Reverse(header)) > (self.header.len(), std::cmp::Reverse(&self.header)) {
            self.header = header.to_owned();
            after_modifiers(&decl.attributed, &decl.modifiers).clone_into(&mut self.attributed);
        }
        if self.condition != decl.condition {
            self.condition.clear();
        }
        self.modifiers.extend(decl.modifiers);
        self.attributes.extend(decl.attributes);
        for base in decl.bases {
            if !self.bases.contains(&base) {
                self.bases.push(base);
            }
        }
        self.constraints.extend(decl.constraints);
        self.bodies.extend(Some(decl.body).filter(|body| !body.is_empty()));
        append(&mut self.doc, &decl.doc);
        self.parts.push(Part {
            file: file.to_owned(),
            usings: usings.to_vec(),
            enclosing: enclosing.to_vec(),
            names: decl.names,
            of: decl.of.into_iter().next(),
        });
        // A member without a condition has the condition of its part.
        let of_part = decl.condition;
        self.members.extend(decl.members.into_iter().map(|member| PlacedMember {
            part,
            member: Member {
                span: Span::default(),
                condition: if member.condition.is_empty() {
                    of_part.clone()
                } else {
                    member.condition
                },
                ..member
            },
            others: None,
        }));
    }

    /// Returns the signature for readers: accessibility and API modifiers in fixed order, then the header.
    pub fn signature(&self) -> String {
        signature(&self.header, &[], &self.api_modifiers())
    }

    /// Returns the signature with attributes on parameters and type parameters; empty without such attributes.
    pub fn attributed(&self) -> String {
        if self.attributed.is_empty() {
            String::new()
        } else {
            signature(&self.attributed, &[], &self.api_modifiers())
        }
    }

    /// Returns the API modifiers, with the effective accessibility first.
    pub fn api_modifiers(&self) -> Vec<String> {
        let access = self.access.split(' ');
        super::hashes::api_modifiers(access.chain(self.modifiers.iter().map(String::as_str)))
    }
}

fn append(doc: &mut String, more: &str) {
    if !more.is_empty() {
        if !doc.is_empty() {
            doc.push('\n');
        }
        doc.push_str(more);
    }
}

/// Joins the defining and the implementing declaration of partial members.
fn join_partial_members(members: Vec<PlacedMember>) -> Vec<PlacedMember> {
    let mut joined: Vec<PlacedMember> = Vec::with_capacity(members.len());
    let mut at_key: BTreeMap<String, usize> = BTreeMap::new();
    for placed in members {
        if !placed.member.modifiers.iter().any(|word| word == "partial") {
            joined.push(placed);
            continue;
        }
        match at_key.entry(member_key(&placed.member)) {
            std::collections::btree_map::Entry::Vacant(slot) => {
                slot.insert(joined.len());
                joined.push(placed);
            }
            std::collections::btree_map::Entry::Occupied(slot) => {
                let one = &mut joined[*slot.get()];
                let is_bodiless = !has_code(&one.member) && has_code(&placed.member);
                let other = match is_bodiless {
                    true => std::mem::replace(&mut one.part, placed.part),
                    false => placed.part,
                };
                one.others.get_or_insert_default().push(other);
                join(&mut one.member, placed.member);
            }
        }
    }
    joined
}

/// Whether a declaration has more than default values of parameters.
fn has_code(member: &Member) -> bool {
    !split_defaults(&member.body).1.is_empty()
}

fn join(one: &mut Member, other: Member) {
    one.body = {
        let ((mut defaults, code), (other_defaults, other_code)) = (split_defaults(&one.body), split_defaults(&other.body));
        let mut ignored = other_defaults;
        // The declaration without code defines the names and the default values of the parameters that callers see.
        if !code.is_empty() && other_code.is_empty() {
            one.signature = other.signature;
            one.attributed = other.attributed;
            ignored = std::mem::replace(&mut defaults, other_defaults);
        }
        let code = match code.is_empty() || other_code.is_empty() {
            true => format!("{code}{other_code}"),
            false => format!("{code} {other_code}"),
        };
        // C# ignores the default values of the other declaration. Behind a `;` they count as code, so that their names are found.
        let code = match ignored.is_empty() {
            true => code,
            false => format!(";\n{ignored}\n{code}"),
        };
        let between = if defaults.is_empty() || code.is_empty() { "" } else { "\n" };
        format!("{defaults}{between}{code}")
    };
    one.modifiers.extend(other.modifiers);
    one.modifiers.sort();
    one.modifiers.dedup();
    one.attributes.extend(other.attributes);
    one.attributes.sort();
    one.names.extend(other.names);
    if one.condition != other.condition {
        one.condition.clear();
    }
    append(&mut one.doc, &other.doc);
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{decl, file, input, member};
    use super::*;
    use crate::model::MemberKind;

    #[test]
    fn a_type_that_went_away_is_a_failure() {
        let files = [input("a.cs", &file(vec![decl("N", "Here")]))];
        assert!(complete("N.Gone", &files, &files).is_err());
    }

    #[test]
    fn garbage_is_a_failure() {
        let garbage = [Input::of("a.cs", vec![0x9f, 0xff, 0x84])];
        assert!(complete("A", &garbage, &garbage).is_err());
    }

    #[test]
    fn parts_of_a_partial_method_are_one_member() {
        let mut syntax = file(vec![decl("", "A"), decl("", "A")]);
        for bodies in [["{ Go(); }", ""], ["", "{ Go(); }"]] {
            for (at, body) in bodies.into_iter().enumerate() {
                let mut method = member(MemberKind::Method, "Run", "partial void Run()", body);
                method.modifiers = vec!["partial".into()];
                syntax.types[at].members = vec![method];
            }
            let files = [input("a.cs", &syntax)];
            let whole = complete("A", &files, &files).expect("declared");
            assert_eq!(whole.members.len(), 1);
            assert_eq!(whole.members[0].member.body, "{ Go(); }");
            let with_body = bodies.iter().position(|body| !body.is_empty()).unwrap_or(0) as u32;
            assert_eq!(
                (whole.members[0].part, whole.members[0].others.as_deref()),
                (with_body, Some([1 - with_body].as_slice()))
            );
        }
    }

    #[test]
    fn the_declaration_without_code_has_the_default_values() {
        let mut syntax = file(vec![decl("", "A"), decl("", "A")]);
        let (defining, code) = (("int Three(int c)", "c = 3"), ("int Three(int d)", "=> d"));
        let ignored = ("int Three(int d)", "d = 4\n=> d");
        for (parts, part, body) in [
            ([defining, code], 1, "c = 3\n=> d"),
            ([code, defining], 0, "c = 3\n=> d"),
            ([defining, ignored], 1, "c = 3\n;\nd = 4\n=> d"),
            ([ignored, defining], 0, "c = 3\n;\nd = 4\n=> d"),
        ] {
            for (at, (signature, body)) in parts.into_iter().enumerate() {
                let mut method = member(MemberKind::Method, "Three", signature, body);
                method.modifiers = vec!["partial".into()];
                method.parameters = vec!["int".into()];
                syntax.types[at].members = vec![method];
            }
            let files = [input("a.cs", &syntax)];
            let whole = complete("A", &files, &files).expect("declared");
            let [placed] = whole.members.as_slice() else {
                panic!("one member: {:?}", whole.members);
            };
            let seen = (placed.part, placed.member.signature.as_str(), placed.member.body.as_str());
            assert_eq!(seen, (part, "int Three(int c)", body));
        }
    }
}
