//! Contracts of common interfaces and abstract classes of .NET: the members that an implementation needs. They are written as C#
//! (`data/dotnet_contracts.cs`), because the metadata in `producers` lacks names of parameters, accessors, and which members have a body.

use super::overloads::Overload;
use super::unimplemented::{PartialDeclaration, name_and_arguments, parts};
use producers::csharp::ids::member_key;
use producers::csharp::model::MemberKind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

static TEXT: &str = include_str!("../../data/dotnet_contracts.cs");

fn known_contracts() -> &'static BTreeMap<String, PartialDeclaration> {
    static ALL: OnceLock<BTreeMap<String, PartialDeclaration>> = OnceLock::new();
    ALL.get_or_init(|| {
        let known = parts(TEXT, &BTreeSet::new(), |_| true).0.into_iter();
        known.map(|part| (part.decl.symbol(), part)).collect()
    })
}

/// Returns the contract of a .NET type, by its key: ``System.Collections.Generic.IList`1``.
pub(super) fn contract(key: &str) -> Option<&'static PartialDeclaration> {
    known_contracts().get(key)
}

/// Returns the bases of a contract that have contracts themselves, each with its key and its written form.
pub(super) fn bases(of: &'static PartialDeclaration) -> impl Iterator<Item = (&'static str, &'static str)> {
    of.decl.bases.iter().filter_map(|written| {
        let (name, arguments) = name_and_arguments(written);
        let is_it = |key: &&String| {
            let simple = key.rsplit('.').next().unwrap_or(key);
            let (own, arity) = simple.split_once('`').unwrap_or((simple, "0"));
            own == name && arity == arguments.len().to_string()
        };
        Some((known_contracts().keys().find(is_it)?.as_str(), written.as_str()))
    })
}

/// Returns the members of a contract, in the form of a workspace type's overloads.
pub(super) fn members(of: &PartialDeclaration) -> Vec<Overload> {
    let row = |(member, head): &(producers::csharp::model::Member, crate::code_text::member_head::MemberHead)| Overload {
        key: member_key(member),
        name: member.name.clone(),
        kind: if member.kind == MemberKind::Method { "method" } else { "property" }.to_owned(),
        accessibility: "public".to_owned(),
        is_static: head.has("static"),
        ..Overload::default()
    };
    of.heads.iter().map(row).collect()
}

/// Whether a .NET class without a contract may have abstract members.
pub(super) fn may_be_abstract(class: &str) -> bool {
    !["Exception", "Attribute", "EventArgs", "System.Object"]
        .iter()
        .any(|end| class.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use producers::csharp::deps::dotnet;

    #[test]
    fn contracts_are_of_types_and_members_of_dotnet() {
        assert!(known_contracts().len() > 60);
        for (key, part) in known_contracts() {
            let known = dotnet::get(key).unwrap_or_else(|| panic!("{key} is not known"));
            for member in members(part) {
                let bases = known.bases().filter_map(|base| dotnet::get(base.key()?.strip_prefix('~')?));
                let mut all = std::iter::once(known).chain(bases);
                let has = all.any(|one| one.members(&member.name).next().is_some());
                // Protected members are not in the data, nor are those of whole namespaces.
                let is_open = part.heads.iter().any(|(of, head)| of.name == member.name && head.has("protected"));
                let is_bare = known.instance_members().next().is_none() || key.contains(".Json.");
                assert!(has || is_open || is_bare, "{key} has no {}", member.name);
            }
            assert_eq!(bases(part).count(), part.decl.bases.len(), "{key}");
        }
    }
}
