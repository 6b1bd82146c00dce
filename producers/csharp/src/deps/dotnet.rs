//! The declarations of .NET 8: public types with their bases and members, as far as they determine the types of values in the workspace's
//! code.
//!
//! The data is text (`data/dotnet8.txt`), which `scripts/dotnet_members.py` generates from the metadata of the runtime's assemblies; the script
//! describes the format of a line.

use super::shape::Shape;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

static TEXT: &str = include_str!("../../data/dotnet8.txt");

/// A type of .NET.
#[derive(Debug)]
pub struct OutsideType {
    /// `c` class, `t` static class, `s` struct, `i` interface, `e` enum, `d` delegate.
    pub kind: char,
    bases: &'static str,
    members: &'static str,
    /// Its members by name, set on first use.
    by_name: OnceLock<FxHashMap<&'static str, Vec<MemberLine<'static>>>>,
}

/// A line about a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberLine<'a> {
    /// `m` method, `o` operator, `x` extension method, `p` value; then `z`, `q` or `n` if only its type, its heirs or its project can access it; then
    /// `s` if it is static, and for members of the workspace `f`, `k`, `v` or `e` (field, constant, event, member of an enum; after `k` a digit for the range of an `int`), `i` (member of an
    /// interface) and `r` (declared by a positional parameter); after `xs`, `p` for a property of an extension block and `t` for a member that is
    /// named through the extended type.
    pub flags: &'a str,
    /// Number of own type parameters.
    pub arity: u32,
    /// Result.
    pub result: &'a str,
    /// Parameters between `;`.
    pub parameters: &'a str,
    /// Names of the parameters between `;`; empty for .NET and for operators.
    pub names: &'a str,
    /// Constraints of its type parameters between `;`: the number of one, a space, and `class`, `struct` or a base; none of .NET's.
    pub limits: &'a str,
    /// Value of `[OverloadResolutionPriority]`; 0 without it.
    pub priority: i32,
}

impl<'a> MemberLine<'a> {
    /// Reads a line with a tab between fields, in the order of the fields here.
    pub fn read(line: &'a str) -> Option<Self> {
        let mut fields = line.split('\t');
        Some(Self {
            flags: fields.next()?,
            arity: fields.next()?.parse().ok()?,
            result: fields.next()?,
            parameters: fields.next().unwrap_or(""),
            names: fields.next().unwrap_or(""),
            limits: fields.next().unwrap_or(""),
            priority: fields.next().and_then(|number| number.parse().ok()).unwrap_or_default(),
        })
    }
}

struct Library {
    types: FxHashMap<&'static str, OutsideType>,
    /// Extension methods by name: owner and line.
    extensions: FxHashMap<&'static str, Vec<(&'static str, &'static str)>>,
    namespaces: std::collections::HashSet<&'static str>,
}

impl Library {
    /// Adds a type by its line and those of its members.
    fn add_type(&mut self, head: &'static str, members: &'static str) {
        let mut fields = head.split('\t');
        let Some(key) = fields.next().filter(|key| !key.is_empty()) else {
            return;
        };
        let kind = fields.next().and_then(|kind| kind.chars().next()).unwrap_or('c');
        let bases = fields.next().unwrap_or_default();
        if let Some((namespace, _)) = key.rsplit_once('.') {
            self.namespaces.insert(namespace);
        }
        let outside = OutsideType {
            kind,
            bases,
            members,
            by_name: OnceLock::new(),
        };
        self.types.insert(key, outside);
    }

    /// Adds a member of a static class, if it is an extension method.
    fn add_extension(&mut self, head: &'static str, member: &'static str) {
        let (key, _) = head.split_once('\t').unwrap_or((head, ""));
        if let Some((name, rest)) = member.trim_end().split_once('\t')
            && rest.starts_with('x')
        {
            self.extensions.entry(name).or_default().push((key, rest));
        }
    }
}

/// Whether the line of a type is that of a static class.
fn is_static_class(head: &str) -> bool {
    head.split('\t').nth(1).is_some_and(|kind| kind.starts_with('t'))
}

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut library = Library {
            types: FxHashMap::default(),
            extensions: FxHashMap::default(),
            namespaces: std::collections::HashSet::new(),
        };
        // The line of the last type, and where the lines of its members begin.
        let (mut head, mut start): (&'static str, usize) = ("", 0);
        let (mut is_static, mut begin) = (false, 0);
        for end in memchr::memchr_iter(b'\n', TEXT.as_bytes()) {
            let line = &TEXT[begin..end];
            match line.strip_prefix('\t') {
                None => {
                    library.add_type(head, &TEXT[start..begin]);
                    (head, start) = (line, end + 1);
                    is_static = is_static_class(line);
                }
                Some(member) if is_static => library.add_extension(head, member),
                Some(_) => {}
            }
            begin = end + 1;
        }
        library.add_type(head, &TEXT[start..]);
        library
    })
}

/// Returns the type of a key such as ``System.Collections.Generic.List`1``.
pub fn get(key: &str) -> Option<&'static OutsideType> {
    library().types.get(key)
}

/// Returns the key as a static text of the data.
pub fn known(key: &str) -> Option<&'static str> {
    library().types.get_key_value(key).map(|(key, _)| *key)
}

/// Whether a type has this simple name.
pub fn has_type_named(simple: &str) -> bool {
    let mut keys = library().types.keys();
    keys.any(|key| {
        key.split('`')
            .next()
            .is_some_and(|key| key.rsplit(['.', '+']).next() == Some(simple))
    })
}

/// Returns the keys of the types of a simple name, without nested ones, the shortest first.
pub fn types_with_simple_name(simple: &str) -> Vec<&'static str> {
    let plain = |key: &str| key.split('`').next().and_then(|key| key.rsplit('.').next()) == Some(simple);
    let mut keys: Vec<&str> = library().types.keys().copied().filter(|key| plain(key)).collect();
    keys.sort_unstable_by_key(|key| (key.len(), *key));
    keys
}

/// Returns the extension methods of a name: the class and the line of each.
pub fn extensions(name: &str) -> &'static [(&'static str, &'static str)] {
    library().extensions.get(name).map_or(&[], Vec::as_slice)
}

/// Whether .NET declares types in exactly this namespace.
pub fn has_namespace(namespace: &str) -> bool {
    library().namespaces.contains(namespace)
}

impl OutsideType {
    /// Returns the direct bases.
    pub fn bases(&self) -> impl Iterator<Item = Shape> + use<> {
        self.bases
            .split(' ')
            .filter(|base| !base.is_empty())
            .map(|base| Shape::read(base, true))
    }

    /// Returns the names of its members that are not static.
    pub fn instance_members(&self) -> impl Iterator<Item = &'static str> + use<> {
        let lines = self.members.lines().filter_map(|line| line.strip_prefix('\t')?.split_once('\t'));
        let instance = lines.filter(|(_, rest)| !rest.split('\t').next().unwrap_or_default().contains('s'));
        instance.map(|(name, _)| name)
    }

    /// Returns its members of a name.
    pub fn members(&'static self, name: &str) -> impl Iterator<Item = MemberLine<'static>> + use<> {
        let all = self.by_name.get_or_init(|| {
            let mut all: FxHashMap<&str, Vec<MemberLine<'_>>> = FxHashMap::default();
            let lines = self.members.lines().filter_map(|line| line.strip_prefix('\t')?.split_once('\t'));
            for (name, rest) in lines {
                all.entry(name).or_default().extend(MemberLine::read(rest));
            }
            all
        });
        all.get(name).map_or(&[][..], Vec::as_slice).iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_queries_are_known() {
        let list = get("System.Collections.Generic.List`1").expect("a type");
        assert_eq!(list.kind, 'c');
        assert!(list.bases().any(|base| base.key() == Some("~System.Collections.Generic.IList`1")));
        let add: Vec<_> = list.members("Add").collect();
        assert_eq!((add.len(), add[0].parameters), (1, "!0"));
        assert!(list.members("this[]").next().is_some_and(|line| line.result == "!0"));
        assert!(extensions("Select").iter().any(|(owner, _)| *owner == "System.Linq.Enumerable"));
        assert!(get("System.Nothing").is_none() && has_namespace("System.Linq") && !has_namespace("Acme"));
    }

    #[test]
    fn every_line_reads() {
        for line in TEXT.lines() {
            match line.strip_prefix('\t') {
                Some(member) => {
                    let rest = member.split_once('\t').expect("a name").1;
                    assert!(
                        MemberLine::read(rest).is_some_and(|line| line.flags.starts_with(['m', 'x', 'o', 'p'])),
                        "{line}"
                    );
                }
                None => assert_eq!(line.split('\t').count(), 3, "{line}"),
            }
        }
    }
}
