//! Spellings of members' names in prose, stack traces and documentation comments: converts them to names of symbols.

use super::named_words::{is_of_name, operator};
use crate::symbols::operators::{OPERATORS, member_of, type_of_parameter};
use crate::symbols::path::SymbolPath;
use std::borrow::Cow;

/// Returns a name as in source: without the kind in documentation comments (`M:Store.Get`); for compiler-generated parts of a method in stack traces
/// (`Store.<>c.<Get>b__3_0`, `Store.<Get>d__7.MoveNext`, `Store.<Get>g__Local|5_0`) that of the method; for operators and finalizers the names of
/// their members.
pub fn declared_spelling(text: &str) -> Cow<'_, str> {
    let plain = match text.split_once(':') {
        Some(("T" | "M" | "P" | "F" | "E", name)) => name,
        _ => text,
    };
    if let Some((owner, behind)) = operator(plain) {
        return of_operator(owner, behind).map_or(Cow::Borrowed(plain), Cow::Owned);
    }
    if let Some((owner, finalized)) = plain.split_once(".~").or_else(|| plain.split_once("#~")) {
        let name = finalized.find('(').unwrap_or(finalized.len());
        return Cow::Owned(format!("{owner}.Finalize{}", &finalized[name..]));
    }
    let Some((owner, made)) = plain.split_once(".<").filter(|(_, made)| made.contains("__")) else {
        return Cow::Borrowed(plain);
    };
    let is_name = |part: &&str| !part.is_empty() && part.chars().all(is_of_name);
    let method = made.split(['<', '>']).find(is_name);
    method.map_or(Cow::Borrowed(plain), |method| Cow::Owned(format!("{owner}.{method}")))
}

/// Returns the name of an operator's member: the number of parameters decides; without parameters that of two operands, if it exists.
fn of_operator(owner: &str, behind: &str) -> Option<String> {
    let (symbol, parameters) = behind.split_at(behind.find('(').unwrap_or(behind.len()));
    let is_unary = !parameters.is_empty() && !parameters.contains(',');
    let name = member_of(symbol.trim_end(), is_unary)?;
    Some(format!("{owner}.op_{name}{parameters}"))
}

/// Returns the spellings of a member's name: as written; with only the types of parameters where a stack trace or a declaration has their names too;
/// without parameters; as the property, event or indexer that it accesses; as the unary operator; and as the implementation of an interface written
/// with fewer of its namespaces or none.
pub fn spellings(name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    let path = SymbolPath::parse(name).ok();
    let parameters = path.and_then(|path| path.parameters).unwrap_or_default();
    let types: Vec<&str> = parameters.iter().map(|one| type_of_parameter(one)).collect();
    if let Some(open) = name.find('(') {
        if !types.is_empty() {
            all.push(format!("{}({})", &name[..open], types.join(",")));
        }
        all.push(name[..open].to_owned());
    }
    let plain = all.last().cloned().unwrap_or_default();
    if let Some((owner, mut member)) = plain.split_once('#') {
        while let Some((_, shorter)) = member.split_once('.') {
            all.push(format!("{owner}#{shorter}"));
            member = shorter;
        }
    }
    // The text between the brackets of an indexer may have dots.
    let plain = plain.find("this[").map_or(plain.as_str(), |at| &plain[..at + "this[".len()]);
    let (owner, member) = plain.split_at(plain.rfind(['.', '#']).map_or(0, |at| at + 1));
    let accessed = ["get_", "set_", "add_", "remove_"]
        .iter()
        .find_map(|kind| member.strip_prefix(kind));
    all.extend(accessed.map(|member| format!("{owner}{member}")));
    let of = owner.trim_end_matches(['.', '#']);
    // Languages without indexers call it `Item` (the usual value of `IndexerName`).
    if accessed.unwrap_or(member) == "Item" || member == "this[" {
        all.push(format!("{of}#this[]({})", types.join(",")));
        all.push(format!("{of}#this[]"));
    }
    let unary = OPERATORS
        .iter()
        .find(|(.., two)| two.is_some() && member.strip_prefix("op_") == *two);
    all.extend(unary.and_then(|(_, one, _)| Some(format!("{owner}op_{}", (*one)?))));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_source_are_those_of_members() {
        for (text, expected) in [
            ("M:A.B.Get(int)", "A.B.Get(int)"),
            ("A.<>c.<Get>b__3_0", "A.Get"),
            ("A.~A()", "A.Finalize()"),
            ("N.A#~A", "N.A.Finalize"),
            ("A.operator +", "A.op_Addition"),
            ("A.operator -(A a)", "A.op_UnaryNegation(A a)"),
            ("A.operator -(A a, A b)", "A.op_Subtraction(A a, A b)"),
            ("A#operator ==", "A.op_Equality"),
            ("A.operator !", "A.op_LogicalNot"),
            ("A.operator <=(A a, A b)", "A.op_LessThanOrEqual(A a, A b)"),
            ("A.operator ?", "A.operator ?"),
        ] {
            assert_eq!(declared_spelling(text), expected, "{text}");
        }
    }

    #[test]
    fn one_member_is_spelled_in_many_ways() {
        for (name, expected) in [
            ("A.Get", "A.Get"),
            ("A.Get(int id)", "A.Get(int id) | A.Get(int) | A.Get"),
            ("A.get_Count()", "A.get_Count() | A.get_Count | A.Count"),
            ("A.Item", "A.Item | A#this[]() | A#this[]"),
            (
                "A.get_Item(Int32 i)",
                "A.get_Item(Int32 i) | A.get_Item(Int32) | A.get_Item | A.Item | A#this[](Int32) | A#this[]",
            ),
            ("A.this[int]", "A.this[int] | A#this[](int) | A#this[]"),
            ("A.this[N.B]", "A.this[N.B] | A#this[](N.B) | A#this[]"),
            ("A.op_Subtraction", "A.op_Subtraction | A.op_UnaryNegation"),
            ("A#N.I.Do()", "A#N.I.Do() | A#N.I.Do | A#I.Do | A#Do"),
        ] {
            assert_eq!(spellings(name).join(" | "), expected);
        }
    }
}
