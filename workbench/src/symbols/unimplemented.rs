//! Members that a type must implement: interface members that neither it nor a base class has, and abstract members that no class overrides. Their
//! declarations are read from the sources of the bases, with the type arguments that the type gives them.

use super::calls::counterparts;
use super::contracts;
use super::index::{Symbols, simple_name};
use super::outputs::{Outputs, SymbolError, file_label};
use super::overloads::{self, Overload, explicit_interface, short_of};
use super::substituted_parameters::{base_levels, results_differ};
use crate::code_text::declared::{list_declarations, parse_code};
use crate::code_text::encoding::{LARGEST, decode};
use crate::code_text::member_head::MemberHead;
use engine::seams::world::World as Disk;
use producers::csharp::defines;
use producers::csharp::deps::dotnet;
use producers::csharp::deps::lookups::{Lookups, TableRows};
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::World;
use producers::csharp::ids::member_key;
use producers::csharp::lexer::lex;
use producers::csharp::model::{Member, MemberKind, NameUse, Tier, TypeDecl, TypeKind, Using};
use producers::csharp::preprocess::blank;
use producers::csharp::types::symbol_of;
use std::collections::{BTreeMap, BTreeSet};

/// A member that a type must implement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredMember {
    /// Path of the member: `N.IShop#Price(int)`.
    pub path: String,
    pub kind: MemberKind,
    /// The base that requires the member, as the type writes it.
    pub base: String,
    /// Whether the base is an interface.
    pub is_of_interface: bool,
    /// Declaration of the member, with the type arguments of the base.
    pub(crate) head: MemberHead,
    /// Names of types in the declaration.
    pub names: Vec<NameUse>,
    /// Using directives that apply to the declaration.
    pub usings: Vec<Using>,
    pub namespace: String,
}

/// The members that a type must implement for its bases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingMembers {
    /// Members with a known declaration, in the order of the bases.
    pub members: Vec<RequiredMember>,
    /// Members of .NET interfaces whose names no class of the type declares, and whose declarations are not known.
    pub of_dotnet: BTreeSet<String>,
    /// .NET base classes whose abstract members are unknown.
    pub undescribed: BTreeSet<String>,
    /// Reasons why more members may be missing.
    pub unknown: BTreeSet<String>,
}

/// A declaration of a type.
#[derive(Clone)]
pub(super) struct PartialDeclaration {
    pub(super) decl: TypeDecl,
    pub(super) heads: Vec<(Member, MemberHead)>,
    usings: Vec<Using>,
}

/// A type or a base of it, with its type arguments.
struct Level {
    key: String,
    arguments: BTreeMap<String, String>,
    written: String,
    is_interface: bool,
    parts: Vec<PartialDeclaration>,
}

impl Level {
    /// Returns a .NET type with these type arguments, if it has a contract.
    fn of_contract(key: &str, written: String, given: Vec<String>) -> Option<Self> {
        let part = contracts::contract(key)?;
        Some(Self {
            arguments: part.decl.type_parameters.iter().cloned().zip(given).collect(),
            is_interface: part.decl.kind == TypeKind::Interface,
            key: format!("~{key}"),
            written,
            parts: vec![part.clone()],
        })
    }

    /// Returns the bases of a .NET type, fully qualified.
    fn bases_of_contract(&self) -> Vec<Self> {
        let own = contracts::contract(&self.key[1..]);
        let of = |(key, written): (&str, &str)| {
            let given = name_and_arguments(written)
                .1
                .into_iter()
                .map(|one| with_arguments(one, &self.arguments));
            let given: Vec<String> = given.collect();
            let plain = key.split('`').next().unwrap_or(key);
            let written = if given.is_empty() {
                plain.to_owned()
            } else {
                format!("{plain}<{}>", given.join(", "))
            };
            Self::of_contract(key, written, given)
        };
        own.into_iter().flat_map(contracts::bases).filter_map(of).collect()
    }

    /// Returns the result type of a member, by its key: the first word of its declaration.
    fn result_of(&self, key: &str) -> Option<String> {
        let heads = self.parts.iter().flat_map(|part| &part.heads);
        let mut own = heads.filter(|(member, _)| member_key(member) == key);
        let text = with_arguments(&own.next()?.1.text, &self.arguments);
        Some(text.split(['(', ' ']).next().unwrap_or_default().to_owned())
    }
}

/// Finds the members that a type must implement.
pub fn missing_members<O: Outputs>(outputs: &mut O, symbols: &Symbols, disk: &dyn Disk, key: &str) -> Result<MissingMembers, O::Error> {
    let mut found = MissingMembers::default();
    let rows = TableRows::read(symbols.declarations()).map_err(|_| SymbolError::damaged())?;
    let lookups = Lookups::new(&rows);
    let world = World::new(&lookups);
    let dotnet_members = DotnetMembers::by_classes(&world, key);
    let levels = type_and_bases(outputs, symbols, (&world, &dotnet_members), disk, key, &mut found)?;
    let keys: Vec<&str> = levels
        .iter()
        .map(|level| level.key.as_str())
        .filter(|key| !is_of_dotnet(key))
        .collect();
    let mut rows: BTreeMap<&str, Vec<Overload>> = keys.iter().copied().zip(overloads::read_overloads(outputs, &keys)?).collect();
    for (key, members) in &mut rows {
        overloads::bind(symbols, key, members)?;
    }
    for level in levels.iter().filter(|level| is_of_dotnet(&level.key)) {
        rows.insert(&level.key, level.parts.iter().flat_map(contracts::members).collect());
    }
    let Some(own) = levels.first() else { return Ok(found) };
    let is_abstract = own.parts.iter().any(|part| part.decl.modifiers.iter().any(|one| one == "abstract"));
    for (at, level) in levels.iter().enumerate().skip(1) {
        if level.is_interface || !is_abstract {
            missing_in(&world, (at, level), &levels, &rows, &dotnet_members, &mut found.members);
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
    if is_record {
        found.members.retain(|one| one.path != "System.IEquatable`1#Equals(T)");
    }
    missing_in_dotnet(&world, &dotnet_members, key, &mut found, |name| {
        names.contains(name) || is_record && name == "Equals"
    });
    Ok(found)
}

/// Whether a key belongs to a .NET type.
fn is_of_dotnet(key: &str) -> bool {
    key.starts_with('~')
}

/// The members that a type inherits from .NET classes.
struct DotnetMembers {
    classes: Vec<String>,
    /// Keys of the interfaces that these classes implement.
    interfaces: BTreeSet<String>,
}

impl DotnetMembers {
    fn by_classes(world: &World<'_>, key: &str) -> Self {
        let levels = world.levels(&Shape::of_key(key));
        let of_dotnet = levels.iter().filter_map(Shape::key).filter_map(|key| key.strip_prefix('~'));
        let is_class = |key: &&str| dotnet::get(key).is_some_and(|one| one.kind != 'i');
        let classes: BTreeSet<String> = of_dotnet.filter(is_class).map(str::to_owned).collect();
        let all = classes.iter().flat_map(|class| world.levels(&Shape::of_key(&format!("~{class}"))));
        Self {
            interfaces: all.filter_map(|level| level.key().map(str::to_owned)).collect(),
            classes: classes.into_iter().collect(),
        }
    }

    /// Whether one of these classes has a member with a name.
    fn has_member(&self, name: &str) -> bool {
        let mut known = self.classes.iter().filter_map(|class| dotnet::get(class));
        known.any(|class| class.members(name).next().is_some())
    }
}

/// Returns a type and its known bases, nearest first; notes unknown ones.
fn type_and_bases<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    (world, dotnet_members): (&World<'_>, &DotnetMembers),
    disk: &dyn Disk,
    key: &str,
    found: &mut MissingMembers,
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
        if is_of_dotnet(&level.key) {
            for level in level.bases_of_contract() {
                if !dotnet_members.interfaces.contains(&level.key) && seen.insert((level.key.clone(), level.written.clone())) {
                    levels.push(level);
                }
            }
            continue;
        }
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
            let (is_class, base) = (world.kind(base.key().unwrap_or_default()) != 'i', base);
            let base = base.key().unwrap_or_default().to_owned();
            let arguments: Vec<String> = arguments.iter().map(|one| with_arguments(one, &level.arguments)).collect();
            let written = with_arguments(written, &level.arguments);
            if is_of_dotnet(&base) {
                let is_described = contracts::contract(&base[1..]).is_some();
                if is_class && !is_described && contracts::may_be_abstract(&base) {
                    found.undescribed.insert(base[1..].to_owned());
                }
                if !is_described || !is_class && dotnet_members.interfaces.contains(&base) {
                    continue;
                }
            }
            if seen.insert((base.clone(), written.clone())) {
                next.push((base, written, arguments));
            }
        }
        for (base, written, given) in next {
            if is_of_dotnet(&base) {
                levels.extend(Level::of_contract(&base[1..], written, given));
                continue;
            }
            let parts = declarations_of(outputs, symbols, disk, &base, found)?;
            let parameters = parts.first().map_or(&[][..], |part| &part.decl.type_parameters);
            if symbol_of(&base).split('+').rev().skip(1).any(|outer| outer.contains('`')) {
                found.unknown.insert(format!("its base `{written}` is in a generic type"));
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

/// Reads the declarations of a type from the present files.
fn declarations_of<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    disk: &dyn Disk,
    key: &str,
    found: &mut MissingMembers,
) -> Result<Vec<PartialDeclaration>, O::Error> {
    let Some(at) = symbols.find(key) else {
        found.unknown.insert(format!("its base {key} is not known"));
        return Ok(Vec::new());
    };
    let files = symbols.type_row(at)?.files;
    let labels: Vec<String> = files.iter().map(|file| file_label(file, "defines")).collect();
    let mut all = Vec::new();
    for (file, output) in files.iter().zip(outputs.read(&labels)?) {
        let known = output.bytes.and_then(|bytes| defines::read(&bytes).ok());
        let text = disk.read_at_most(file, LARGEST).ok().and_then(|bytes| Some(decode(&bytes).ok()?.0));
        let (Some(known), Some(text)) = (known, text) else {
            found.unknown.insert(format!("{file}: it cannot be read as text"));
            continue;
        };
        let defines: BTreeSet<String> = known.own.into_iter().collect();
        let (own, tier) = parts(&text, &defines, |decl| decl.has_symbol(symbol_of(key)));
        if !matches!(tier, Tier::Whole | Tier::Repaired) {
            found.unknown.insert(format!("{file}: it does not parse, and may declare more"));
        }
        all.extend(own);
    }
    Ok(all)
}

/// Returns the wanted declarations of a text with the heads of their members, and how well the text parsed.
pub(super) fn parts(text: &str, defines: &BTreeSet<String>, is_wanted: impl Fn(&TypeDecl) -> bool) -> (Vec<PartialDeclaration>, Tier) {
    let syntax = parse_code(text, defines);
    let compiled = blank(text, defines);
    let places: BTreeMap<String, std::ops::Range<usize>> = list_declarations(text, &syntax)
        .into_iter()
        .rev()
        .map(|one| (one.is.name, one.range))
        .collect();
    let part = |decl: &TypeDecl| {
        let head = |member: &Member| {
            let place = places.get(&format!("{}#{}", decl.symbol(), member_key(member)));
            place.map_or_else(MemberHead::default, |range| MemberHead::from_declaration(&compiled[range.clone()]))
        };
        PartialDeclaration {
            heads: decl.members.iter().map(|member| (member.clone(), head(member))).collect(),
            usings: syntax.usings.clone(),
            decl: decl.clone(),
        }
    };
    let wanted = syntax.types.iter().filter(|decl| is_wanted(decl));
    (wanted.map(part).collect(), syntax.tier)
}

/// Adds the members that one base requires and no class implements.
fn missing_in(
    world: &World<'_>,
    (at, level): (usize, &Level),
    all: &[Level],
    rows: &BTreeMap<&str, Vec<Overload>>,
    dotnet_members: &DotnetMembers,
    missing: &mut Vec<RequiredMember>,
) {
    let nearer = &all[..at];
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
            let explicit = |of: &Level| {
                let arity = arity_of(&of.key);
                all.iter().any(|other| {
                    has(other, &|one: &Overload| {
                        let base = short_of(&one.name).map_or("", |short| one.name.trim_end_matches(short).trim_end_matches('.'));
                        short_of(&one.name) == Some(own.name.as_str())
                            && explicit_interface(&one.name) == simple_name(&of.key)
                            && (!is_of_dotnet(&of.key) || name_and_arguments(base).1.len() == arity)
                    })
                })
            };
            let public = |one: &Overload| {
                let is_of_form = one.is_static == own.is_static && one.reference == own.reference;
                one.name == own.name && one.accessibility == "public" && is_of_form && may_implement(own, one)
            };
            let implements = |other: &Level| {
                let levels_of = |base: &Level| base_levels(world, &all[0].key, &base.key);
                let differs = |one: &Overload| results_differ((own, &levels_of(level)), (one, &levels_of(other)));
                !other.is_interface && has(other, &|one: &Overload| public(one) && !differs(one))
            };
            let overrides = |one: &Overload| one.name == own.name && one.is_override;
            // A method cannot return the different results that two .NET interfaces require: it belongs to the interface with more type arguments.
            let is_taken = || {
                let result = level.result_of(&key);
                all.iter().enumerate().any(|(place, other)| {
                    let is_before = (arity_of(&level.key), place) < (arity_of(&other.key), at);
                    let is_twin = is_of_dotnet(&level.key) && is_of_dotnet(&other.key) && other.is_interface && is_before;
                    is_twin && other.result_of(&key).is_some_and(|other| Some(other) != result) && !explicit(other)
                })
            };
            let is_met = match level.is_interface {
                true => {
                    let is_public = || all.iter().any(implements) && !is_taken();
                    dotnet_members.has_member(&own.name) || explicit(level) || is_public()
                }
                false => nearer.iter().any(|other| !other.is_interface && has(other, &overrides)),
            };
            if is_met {
                continue;
            }
            missing.push(RequiredMember {
                path: format!("{}#{key}", level.key.trim_start_matches('~')),
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

/// Adds the members of .NET interfaces without a contract whose names no class declares: those without parameters and result as declarations, the
/// others by name.
fn missing_in_dotnet(world: &World<'_>, dotnet_members: &DotnetMembers, key: &str, found: &mut MissingMembers, has: impl Fn(&str) -> bool) {
    let levels = world.levels(&Shape::of_key(key));
    let keys: BTreeSet<&str> = levels
        .iter()
        .filter_map(Shape::key)
        .filter_map(|key| key.strip_prefix('~'))
        .collect();
    let is_open = |key: &&str| contracts::contract(key).is_none() && !dotnet_members.interfaces.contains(&format!("~{key}"));
    for interface in keys.into_iter().filter(is_open) {
        let Some(of) = dotnet::get(interface).filter(|one| one.kind == 'i') else {
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
            found.members.push(RequiredMember {
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

/// Whether a member's kind allows it to implement an interface member. Contracts of .NET distinguish only methods from other members.
fn may_implement(required: &Overload, one: &Overload) -> bool {
    !matches!(one.kind.as_str(), "field" | "constant") && (one.kind == "method") == (required.kind == "method")
}

/// Splits a written base such as `A.I<B, C<D>>` into its simple name and its type arguments.
pub(super) fn name_and_arguments(written: &str) -> (&str, Vec<&str>) {
    let tokens = lex(written).tokens;
    let word = |at: usize| tokens[at].text(written);
    let (mut depth, mut start, mut open, mut arguments) = (0_usize, 0, written.len(), Vec::new());
    for at in 0..tokens.len() {
        match word(at) {
            "<" | "(" | "[" => {
                depth += 1;
                if depth == 1 && word(at) == "<" {
                    // Only the type arguments of the last name count.
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

/// Substitutes type arguments for type parameters in a text.
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
