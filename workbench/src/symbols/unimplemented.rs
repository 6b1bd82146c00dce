//! Members that a type owes to its bases: those of interfaces that neither it nor a base class has, and abstract ones that no class overrides. How
//! they are written is read from the texts of the bases, with the type arguments that the type gives them.

use super::calls::counterparts;
use super::hierarchy::explicit_interface;
use super::index::{Symbols, simple_name};
use super::outputs::{Outputs, SymbolError, file_label};
use super::overloads::{self, Overload, short_of};
use crate::edit::declared::declared;
use crate::edit::encoding::{LARGEST, decode};
use crate::edit::member_head::MemberHead;
use crate::edit::symbol::read;
use engine::seams::world::World as Disk;
use producers::csharp::defines;
use producers::csharp::deps::dotnet;
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::{Lookups, TableRows, World};
use producers::csharp::ids::member_key;
use producers::csharp::lexer::lex;
use producers::csharp::model::{Member, MemberKind, NameUse, Tier, TypeDecl, TypeKind, Using};
use producers::csharp::preprocess::blank;
use producers::csharp::types::symbol_of;
use std::collections::{BTreeMap, BTreeSet};

/// A member that a type owes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    /// Its path: `N.IShop#Price(int)`.
    pub path: String,
    /// What it is.
    pub kind: MemberKind,
    /// The base that asks for it, as the type writes it.
    pub base: String,
    /// Whether the base is an interface.
    pub is_of_interface: bool,
    /// How it is declared, with the type arguments of the base.
    pub(crate) head: MemberHead,
    /// Names of types in it.
    pub names: Vec<NameUse>,
    /// The using directives that it is written below, with the namespace around it.
    pub usings: Vec<Using>,
    /// The namespace of the base.
    pub namespace: String,
}

/// What a type owes to its bases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Debts {
    /// Members of the workspace, in the order of the bases.
    pub owed: Vec<Owed>,
    /// Members of interfaces of .NET that it has nothing of the name for.
    pub of_dotnet: BTreeSet<String>,
    /// Why there may be more.
    pub unknown: BTreeSet<String>,
}

/// One declaration of a type.
struct Part {
    decl: TypeDecl,
    heads: Vec<(Member, MemberHead)>,
    usings: Vec<Using>,
}

/// A type or a base of it, with what its type parameters stand for.
struct Level {
    key: String,
    arguments: BTreeMap<String, String>,
    written: String,
    is_interface: bool,
    parts: Vec<Part>,
}

/// Finds what a type owes to its bases.
///
/// # Errors
/// When outputs cannot be read.
pub fn debts<O: Outputs>(outputs: &mut O, symbols: &Symbols, disk: &dyn Disk, key: &str) -> Result<Debts, O::Error> {
    let mut found = Debts::default();
    let rows = TableRows::read(symbols.declarations()).map_err(|_| SymbolError::damaged())?;
    let lookups = Lookups::new(&rows);
    let world = World::new(&lookups);
    let levels = levels(outputs, symbols, &world, disk, key, &mut found)?;
    let keys: Vec<&str> = levels.iter().map(|level| level.key.as_str()).collect();
    let rows: BTreeMap<&str, Vec<Overload>> = keys.iter().copied().zip(overloads::of(outputs, &keys)?).collect();
    let Some(own) = levels.first() else { return Ok(found) };
    let is_abstract = own.parts.iter().any(|part| part.decl.modifiers.iter().any(|one| one == "abstract"));
    for (at, level) in levels.iter().enumerate().skip(1) {
        if level.is_interface || !is_abstract {
            owed_to(level, &levels[..at], &levels, &rows, &mut found.owed);
        }
    }
    let names: BTreeSet<&str> = levels
        .iter()
        .filter(|level| !level.is_interface)
        .flat_map(|level| rows.get(level.key.as_str()).into_iter().flatten())
        .map(|one| short_of(&one.name).unwrap_or(&one.name))
        .collect();
    let is_record = own
        .parts
        .iter()
        .any(|part| matches!(part.decl.kind, TypeKind::Record | TypeKind::RecordStruct));
    owed_to_dotnet(&world, key, &mut found, |name| {
        names.contains(name) || is_record && name == "Equals"
    });
    Ok(found)
}

/// A type and its bases in the workspace, nearest first; the others are noted.
fn levels<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    world: &World<'_>,
    disk: &dyn Disk,
    key: &str,
    found: &mut Debts,
) -> Result<Vec<Level>, O::Error> {
    let parts = declarations_of(outputs, symbols, disk, key, found)?;
    let mut levels = vec![Level {
        key: key.to_owned(),
        arguments: BTreeMap::new(),
        written: simple_name(key).to_owned(),
        is_interface: false,
        parts,
    }];
    let (mut seen, mut at) = (BTreeSet::new(), 0);
    while at < levels.len() {
        let level = &levels[at];
        at += 1;
        let mut bases: Vec<Shape> = world.type_line(&level.key).map_or_else(Vec::new, |line| line.bases.to_vec());
        let mut next = Vec::new();
        for written in level.parts.iter().flat_map(|part| &part.decl.bases) {
            let (name, arguments) = name_and_arguments(written);
            let is_it = |shape: &Shape| {
                let key = shape.key().unwrap_or_default().trim_start_matches('~');
                simple_name(key) == name && arity_of(key) == arguments.len()
            };
            let Some(which) = bases.iter().position(is_it) else {
                found.unknown.insert(format!("its base `{written}` is not known"));
                continue;
            };
            let base = bases.remove(which);
            let base = base.key().unwrap_or_default().to_owned();
            if base.starts_with('~') {
                continue;
            }
            let arguments: Vec<String> = arguments.iter().map(|one| with_arguments(one, &level.arguments)).collect();
            let written = with_arguments(written, &level.arguments);
            if seen.insert((base.clone(), written.clone())) {
                next.push((base, written, arguments));
            }
        }
        for (base, written, given) in next {
            let parts = declarations_of(outputs, symbols, disk, &base, found)?;
            let parameters = parts.first().map_or(&[][..], |part| &part.decl.type_parameters);
            if symbol_of(&base).split('+').rev().skip(1).any(|outer| outer.contains('`')) {
                found.unknown.insert(format!("its base `{written}` stands in a generic type"));
            }
            levels.push(Level {
                arguments: parameters.iter().cloned().zip(given).collect(),
                is_interface: world.kind(&base) == 'i',
                key: base,
                written,
                parts,
            });
        }
    }
    Ok(levels)
}

/// The declarations of a type, from the files as they are.
fn declarations_of<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    disk: &dyn Disk,
    key: &str,
    found: &mut Debts,
) -> Result<Vec<Part>, O::Error> {
    let Some(at) = symbols.find(key) else {
        found.unknown.insert(format!("its base {key} is not known"));
        return Ok(Vec::new());
    };
    let files = symbols.row(at)?.files;
    let labels: Vec<String> = files.iter().map(|file| file_label(file, "defines")).collect();
    let mut parts = Vec::new();
    for (file, output) in files.iter().zip(outputs.read(&labels)?) {
        let known = output.bytes.and_then(|bytes| defines::read(&bytes).ok());
        let text = disk.read_at_most(file, LARGEST).ok().and_then(|bytes| Some(decode(&bytes).ok()?.0));
        let (Some(known), Some(text)) = (known, text) else {
            found.unknown.insert(format!("{file}: it cannot be read as text"));
            continue;
        };
        let defines: BTreeSet<String> = known.own.into_iter().collect();
        let syntax = read(&text, &defines);
        if !matches!(syntax.tier, Tier::Whole | Tier::Repaired) {
            found.unknown.insert(format!("{file}: it does not parse, and may declare more"));
        }
        let compiled = blank(&text, &defines);
        let all = declared(&text, &syntax);
        for decl in syntax.types.iter().filter(|decl| decl.has_symbol(symbol_of(key))) {
            let head = |member: &Member| {
                let name = format!("{}#{}", decl.symbol(), member_key(member));
                let place = all.iter().find(|one| one.is.name == name);
                place.map_or_else(MemberHead::default, |place| MemberHead::read(&compiled[place.range.clone()]))
            };
            parts.push(Part {
                heads: decl.members.iter().map(|member| (member.clone(), head(member))).collect(),
                usings: syntax.usings.clone(),
                decl: decl.clone(),
            });
        }
    }
    Ok(parts)
}

/// What one base asks for and none of the classes has.
fn owed_to(level: &Level, nearer: &[Level], all: &[Level], rows: &BTreeMap<&str, Vec<Overload>>, owed: &mut Vec<Owed>) {
    for part in &level.parts {
        for (member, head) in &part.heads {
            let is_kind = matches!(
                member.kind,
                MemberKind::Method
                    | MemberKind::Property
                    | MemberKind::Indexer
                    | MemberKind::Event
                    | MemberKind::Operator
                    | MemberKind::Conversion
            );
            let is_abstract = head.has("abstract");
            let asks = match level.is_interface {
                true => {
                    !head.has_body
                        && !head.has("private")
                        && !head.has("sealed")
                        && !head.has("virtual")
                        && (is_abstract || !head.has("static"))
                }
                false => is_abstract,
            };
            let key = member_key(member);
            let mut declares = rows.get(level.key.as_str()).into_iter().flatten();
            let own = declares.find(|one| one.key == key);
            let (true, true, Some(own), None) = (is_kind, asks, own, short_of(&member.name)) else {
                continue;
            };
            let has = |other: &Level, fits: &dyn Fn(&Overload) -> bool| {
                let all = rows.get(other.key.as_str()).into_iter().flatten();
                let some: Vec<Overload> = all.filter(|one| fits(one)).cloned().collect();
                !counterparts(own, &some).is_empty()
            };
            let contract = simple_name(&level.key);
            let explicit = |one: &Overload| short_of(&one.name) == Some(own.name.as_str()) && explicit_interface(&one.name) == contract;
            let public = |one: &Overload| one.name == own.name && one.accessibility == "public" && one.is_static == own.is_static;
            let overrides = |one: &Overload| one.name == own.name && one.is_override;
            let is_met = match level.is_interface {
                true => all
                    .iter()
                    .any(|other| has(other, &explicit) || !other.is_interface && has(other, &public)),
                false => nearer.iter().any(|other| !other.is_interface && has(other, &overrides)),
            };
            if is_met {
                continue;
            }
            owed.push(Owed {
                path: format!("{}#{key}", level.key),
                kind: member.kind,
                base: level.written.clone(),
                is_of_interface: level.is_interface,
                head: MemberHead {
                    text: with_arguments(&head.text, &level.arguments),
                    ..head.clone()
                },
                names: member
                    .names
                    .iter()
                    .filter(|one| !member.type_parameters.contains(&one.path) && !level.arguments.contains_key(&one.path))
                    .cloned()
                    .collect(),
                usings: part.usings.clone(),
                namespace: part.decl.namespace.clone(),
            });
        }
    }
}

/// Members of interfaces of .NET that no class has a member of the name for: those that take and give nothing are written, others named.
fn owed_to_dotnet(world: &World<'_>, key: &str, found: &mut Debts, has: impl Fn(&str) -> bool) {
    let levels = world.levels(&Shape::of_key(key));
    let keys: BTreeSet<&str> = levels
        .iter()
        .filter_map(Shape::key)
        .filter_map(|key| key.strip_prefix('~'))
        .collect();
    let (interfaces, classes): (Vec<&str>, Vec<&str>) = keys
        .into_iter()
        .partition(|key| dotnet::get(key).is_some_and(|one| one.kind == 'i'));
    let brought: BTreeSet<String> = classes
        .iter()
        .flat_map(|class| world.levels(&Shape::of_key(&format!("~{class}"))))
        .filter_map(|level| level.key().map(str::to_owned))
        .collect();
    for interface in interfaces {
        let Some(of) = dotnet::get(interface).filter(|_| !brought.contains(&format!("~{interface}"))) else {
            continue;
        };
        for name in of.instance_members().filter(|name| !has(name)) {
            let path = format!("{interface}#{name}");
            let lines: Vec<_> = of.members(name).collect();
            let is_plain = matches!(lines.as_slice(), [line] if line.flags == "m" && line.arity == 0 && (line.result, line.parameters) == ("System.Void", ""));
            if !is_plain {
                found.of_dotnet.insert(path);
                continue;
            }
            found.owed.push(Owed {
                path: format!("{path}()"),
                kind: MemberKind::Method,
                base: interface.to_owned(),
                is_of_interface: true,
                head: MemberHead {
                    text: format!("void {name}()"),
                    ..MemberHead::default()
                },
                names: Vec::new(),
                usings: Vec::new(),
                namespace: String::new(),
            });
        }
    }
}

/// The name of a base without what it is in, and its type arguments: `A.I<B, C<D>>`.
pub(super) fn name_and_arguments(written: &str) -> (&str, Vec<&str>) {
    let tokens = lex(written).tokens;
    let word = |at: usize| tokens[at].text(written);
    let (mut depth, mut start, mut open, mut arguments) = (0_usize, 0, written.len(), Vec::new());
    for at in 0..tokens.len() {
        match word(at) {
            "<" | "(" | "[" => {
                depth += 1;
                if depth == 1 && word(at) == "<" {
                    // The arguments of the last name count.
                    open = tokens[at].start as usize;
                    start = tokens[at].end as usize;
                    arguments.clear();
                }
            }
            ">" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && word(at) == ">" {
                    arguments.push(written[start..tokens[at].start as usize].trim());
                }
            }
            "," if depth == 1 => {
                arguments.push(written[start..tokens[at].start as usize].trim());
                start = tokens[at].end as usize;
            }
            "." | "::" if depth == 0 => {
                open = written.len();
                arguments.clear();
            }
            _ => {}
        }
    }
    let name = written[..open].trim();
    (name.rsplit(['.', ':']).next().unwrap_or(name), arguments)
}

fn arity_of(key: &str) -> usize {
    let own = symbol_of(key).rsplit(['.', '+']).next().unwrap_or_default();
    own.rsplit_once('`').and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}

/// A text with type arguments in place of type parameters.
fn with_arguments(text: &str, arguments: &BTreeMap<String, String>) -> String {
    let (mut made, mut end) = (String::new(), 0);
    for token in lex(text).tokens {
        if let Some(argument) = arguments.get(token.text(text)) {
            made.push_str(&text[end..token.start as usize]);
            made.push_str(argument);
            end = token.end as usize;
        }
    }
    made + &text[end..]
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;

    fn owed(text: &str, key: &str) -> (Vec<String>, Vec<String>) {
        let mut sample = Sample::of(&[("a.cs", text)]);
        let symbols = sample.names();
        let disk = sample.world();
        let found = debts(&mut sample, &symbols, &*disk, key).expect("outputs");
        let line = |one: &Owed| format!("{}: {} [{}]", one.path, one.head.of_interface(), one.base);
        let beside = found.of_dotnet.into_iter().chain(found.unknown).collect();
        (found.owed.iter().map(line).collect(), beside)
    }

    #[test]
    fn members_of_interfaces_and_abstract_ones_are_owed() {
        let text = "using System;
interface I<T> : J { T Get(T id, int most = 3); int Count { get; set; } void Free() { } static abstract T Make(); int this[T at] { get; } event Action E; }
interface J { void Go(int x); void Stop(); }
abstract class B<K> { protected abstract void M(K one); public abstract string N { get; } public void Go(int x) { } }
class A : B<string>, I<int> { void J.Stop() { } public int Count { get; set; } public override string N => null; }
class C : A { }
abstract class D : B<int>, J { public abstract void Stop(); }
record R(int Count) : IEquatable<R>, IDisposable, IAsyncDisposable;
class P : Package.Base, J { }
class L : System.Collections.Generic.List<int> { }
";
        assert_eq!(
            owed(text, "A"),
            (
                [
                    "B`1#M(K): void M(string one); [B<string>]",
                    "I`1#Get(T,int): int Get(int id, int most = 3); [I<int>]",
                    "I`1#Make(): int Make(); [I<int>]",
                    "I`1#this[](T): int this[int at] { get; } [I<int>]",
                    "I`1#E: event Action E; [I<int>]"
                ]
                .map(str::to_owned)
                .to_vec(),
                Vec::new()
            )
        );
        assert_eq!(owed(text, "D"), Default::default());
        assert_eq!(
            owed(text, "R"),
            (
                vec!["System.IDisposable#Dispose(): void Dispose(); [System.IDisposable]".to_owned()],
                vec!["System.IAsyncDisposable#DisposeAsync".to_owned()]
            )
        );
        assert_eq!(owed(text, "L"), Default::default());
        let (found, unknown) = owed(text, "P");
        assert_eq!(found.len(), 2);
        assert_eq!(unknown, ["its base `Package.Base` is not known"]);
    }
}
