//! Identifiers of types and members (seed 000 §4.4), and the display of digests (seed 000 §3.3).
//!
//! Hashes are BLAKE3 over tagged, length-prefixed fields, so distinct descriptions have distinct bytes. Base32 uses the 32 symbols
//! `23456789abcdefghijkmnpqrstuvwxyz`. Without `0`, `1`, `l` and `o`, no two look alike (in upper-case hashes, `I` has neither `1` nor `L`
//! beside it). If two identifiers of 8 characters collide, both get 12 characters, and so on, independent of their order.

use super::model::{Member, MemberKind, TypeKind};
use std::collections::BTreeMap;

/// The 32 symbols of this Base32 form.
pub const ALPHABET: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";

/// Form of identifiers: alphabet, and the lengths to try in order. Tests force collisions with a small alphabet.
#[derive(Clone, Copy, Debug)]
pub struct IdForm {
    /// Symbols; each takes 5 bits of the hash, modulo their number.
    pub alphabet: &'static [u8],
    /// Lengths, from the usual to the longest.
    pub lengths: &'static [usize],
}

/// The form of type identifiers: 8 characters, 12 on a collision.
pub const TYPE_FORM: IdForm = IdForm {
    alphabet: ALPHABET,
    lengths: &[8, 12, 20, 51],
};

/// The form of the member part of member identifiers: 6 characters, 10 on a collision.
pub const MEMBER_FORM: IdForm = IdForm {
    alphabet: ALPHABET,
    lengths: &[6, 10, 20, 51],
};

/// An assigned identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifier {
    /// Text without prefix.
    pub text: String,
    /// Whether it is longer than usual.
    pub widened: bool,
}

impl IdForm {
    /// Writes the first bits of a hash as `length` symbols.
    fn write_symbols(&self, hash: &[u8; 32], length: usize) -> String {
        (0..length)
            .map(|at| self.alphabet[five_bits(hash, at) as usize % self.alphabet.len()] as char)
            .collect()
    }

    /// Assigns each hash an identifier of the usual length, or of the next length at which it is unique. Independent of the order of `hashes`;
    /// equal hashes get equal identifiers.
    pub fn assign(&self, hashes: &[[u8; 32]]) -> Vec<Identifier> {
        let mut given: Vec<Option<Identifier>> = vec![None; hashes.len()];
        let mut open: Vec<usize> = (0..hashes.len()).collect();
        for (step, &length) in self.lengths.iter().enumerate() {
            let mut by_text: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for &at in &open {
                by_text.entry(self.write_symbols(&hashes[at], length)).or_default().push(at);
            }
            open.clear();
            let last = step + 1 == self.lengths.len();
            for (text, holders) in by_text {
                let one_hash = holders.iter().all(|&at| hashes[at] == hashes[holders[0]]);
                if one_hash || last {
                    for at in holders {
                        given[at] = Some(Identifier {
                            text: text.clone(),
                            widened: step > 0,
                        });
                    }
                } else {
                    open.extend(holders);
                }
            }
        }
        given
            .into_iter()
            .map(|id| id.expect("invariant: the last length settles every identifier"))
            .collect()
    }
}

/// Returns the 5 bits of `hash` at position `at`, most significant first.
fn five_bits(hash: &[u8; 32], at: usize) -> u8 {
    let bit = at * 5;
    let byte = |index: usize| u16::from(hash.get(index).copied().unwrap_or(0));
    let pair = byte(bit / 8) << 8 | byte(bit / 8 + 1);
    (pair >> (11 - bit % 8)) as u8 & 31
}

/// Returns a digest as in the seed's files: 8 Base32 symbols in upper case.
pub fn short_hash(digest: &engine::values::digest::Digest) -> String {
    TYPE_FORM.write_symbols(&digest.0, 8).to_ascii_uppercase()
}

/// Hashes tagged fields, each preceded by its length.
fn tagged_hash(tag: &str, fields: &[&str]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for field in std::iter::once(&tag).chain(fields) {
        hasher.update(&(field.len() as u64).to_le_bytes());
        hasher.update(field.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Returns the hash of a type's identifier: full name, kind and arity. If several types of the workspace share the name, the project (or
/// file) is added.
pub fn type_hash(symbol: &str, kind: TypeKind, arity: usize, scope: Option<&str>) -> [u8; 32] {
    let arity = arity.to_string();
    let mut fields = vec![symbol, kind_word(kind), &arity];
    fields.extend(scope);
    tagged_hash("cortex type 1", &fields)
}

/// Returns the hash of a member's identifier: declaring type, name, arity and parameter types with ref kinds. Accessibility and parameter
/// names are excluded, so their changes keep the identifier.
pub fn member_hash(symbol: &str, member: &Member) -> [u8; 32] {
    let arity = member.arity.to_string();
    let mut fields = vec![symbol, &member.name, &arity];
    fields.extend(member.parameters.iter().map(String::as_str));
    if member.kind == MemberKind::Conversion {
        fields.push(&member.signature);
    }
    tagged_hash("cortex member 1", &fields)
}

/// Returns `G_` and 8 symbols for a group of mutually dependent types, from its members' sorted identifiers.
pub fn group_id(member_ids: &[&str]) -> String {
    format!("G_{}", TYPE_FORM.write_symbols(&tagged_hash("cortex group 1", member_ids), 8))
}

/// Returns the full member identifiers (`T_ab12cd34_x7y8z9`) of all members of one type, in order.
pub fn member_ids(type_id: &str, symbol: &str, members: &[&Member]) -> Vec<String> {
    let hashes: Vec<[u8; 32]> = members.iter().map(|member| member_hash(symbol, member)).collect();
    MEMBER_FORM
        .assign(&hashes)
        .into_iter()
        .map(|id| format!("{type_id}_{}", id.text))
        .collect()
}

/// Returns the word for a kind, as in output files.
pub fn kind_word(kind: TypeKind) -> &'static str {
    match kind {
        TypeKind::Class => "class",
        TypeKind::Struct => "struct",
        TypeKind::Interface => "interface",
        TypeKind::Enum => "enum",
        TypeKind::Delegate => "delegate",
        TypeKind::Record => "record",
        TypeKind::RecordStruct => "record struct",
    }
}

/// Returns the word for a member's kind, as in output files.
pub fn member_kind_word(kind: MemberKind) -> &'static str {
    match kind {
        MemberKind::Field => "field",
        MemberKind::Constant => "constant",
        MemberKind::EnumMember => "enum member",
        MemberKind::Property => "property",
        MemberKind::Indexer => "indexer",
        MemberKind::Event => "event",
        MemberKind::Method => "method",
        MemberKind::Constructor => "constructor",
        MemberKind::Finalizer => "finalizer",
        MemberKind::Operator => "operator",
        MemberKind::Conversion => "conversion",
    }
}

/// Returns the seed's rank of a member's kind (000 §3.3): fields, then properties, events, methods.
pub fn kind_rank(kind: MemberKind) -> u8 {
    match kind {
        MemberKind::Field | MemberKind::Constant | MemberKind::EnumMember => 0,
        MemberKind::Property | MemberKind::Indexer => 1,
        MemberKind::Event => 2,
        MemberKind::Method | MemberKind::Constructor | MemberKind::Finalizer | MemberKind::Operator | MemberKind::Conversion => 3,
    }
}

/// Returns the key of a member inside its type, as labels write it after `#`: ``Get`1(string,ref int)``; without parentheses if it cannot be
/// overloaded. Conversions add the target type, their only distinction.
pub fn member_key(member: &Member) -> String {
    let mut key = member.name.clone();
    if member.arity > 0 {
        key.push('`');
        key.push_str(&member.arity.to_string());
    }
    if kind_rank(member.kind) == 3 || member.kind == MemberKind::Indexer {
        key.push('(');
        key.push_str(&member.parameters.join(","));
        key.push(')');
    }
    if member.kind == MemberKind::Conversion {
        let target = member
            .signature
            .split_once("operator ")
            .map_or("", |(_, rest)| rest.split('(').next().unwrap_or(""));
        let target = target.strip_prefix("checked ").unwrap_or(target);
        key.push_str("->");
        key.push_str(target.trim());
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TINY: IdForm = IdForm {
        alphabet: b"ab",
        lengths: &[2, 6, 51],
    };

    #[test]
    fn alphabet_has_no_look_alikes() {
        let mut symbols = ALPHABET.to_vec();
        symbols.sort_unstable();
        symbols.dedup();
        assert_eq!(symbols.len(), 32);
        assert!(b"01lo".iter().all(|symbol| !symbols.contains(symbol)));
    }

    #[test]
    fn five_bits_read_the_hash_in_order() {
        let mut hash = [0_u8; 32];
        hash[0] = 0b0000_1000;
        hash[1] = 0b1000_0110;
        assert_eq!((0..3).map(|at| five_bits(&hash, at)).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn fields_are_not_joined() {
        assert_ne!(tagged_hash("t", &["ab", "c"]), tagged_hash("t", &["a", "bc"]));
        assert_ne!(
            type_hash("A", TypeKind::Class, 0, None),
            type_hash("A", TypeKind::Class, 0, Some(""))
        );
    }

    proptest! {
        #[test]
        fn collisions_widen_all_holders_whatever_the_order(names in proptest::collection::btree_set("[a-f]{1,3}", 2..30), turn in 0_usize..30) {
            let hashes: Vec<[u8; 32]> = names.iter().map(|name| tagged_hash("x", &[name])).collect();
            let ids = TINY.assign(&hashes);
            let mut texts: Vec<&str> = ids.iter().map(|id| id.text.as_str()).collect();
            texts.sort_unstable();
            texts.dedup();
            prop_assert_eq!(texts.len(), hashes.len());
            for (id, hash) in ids.iter().zip(&hashes) {
                let narrow = TINY.write_symbols(hash, 2);
                let shared = hashes.iter().filter(|other| TINY.write_symbols(other, 2) == narrow).count() > 1;
                prop_assert_eq!(id.widened, shared);
            }
            let turn = turn % hashes.len();
            let mut turned = hashes.clone();
            turned.rotate_left(turn);
            let mut expected = ids.clone();
            expected.rotate_left(turn);
            prop_assert_eq!(TINY.assign(&turned), expected);
        }
    }
}
