//! The members of types, distinguished by their parameters, from `//types/T:members`.

use super::index::{Symbols, simple_name};
use super::outputs::{Outputs, SymbolError, read_one, type_label};
use super::path::{Glob, is_wild};
use engine::planning::symbol::name_of;
use engine::values::case_folding::{folded, same as same_case};
use engine::values::label::halves;
use engine::values::table::Table;
use producers::csharp::code::ast::Passing;
use producers::csharp::deps::declarations::member_key;
use producers::csharp::deps::dotnet::MemberLine;
use producers::csharp::deps::modifiers::Modifiers;
use producers::csharp::deps::resolve::predefined;
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::written::type_parameters_in;
use producers::csharp::members::{MemberRow, ParameterRow};
use producers::csharp::priority::priority;
use std::collections::{BTreeMap, BTreeSet};

/// A member, with the data that distinguishes its overloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overload {
    /// Key of the member inside its type.
    pub key: String,
    /// Simple name of the member.
    pub name: String,
    /// Member part of the identifier, `""` if overloads are not distinguished.
    pub id: String,
    /// Kind of the member, as a word.
    pub kind: String,
    /// Effective accessibility; `""` if overloads are not distinguished.
    pub accessibility: String,
    /// The files that declare the member, several if it is partial; none if overloads are not distinguished.
    pub files: Vec<String>,
    pub parameters: Vec<ParameterRow>,
    /// Bound types of the parameters, as shapes; empty if no single line of the declarations fits the member.
    pub bound: Vec<String>,
    /// Bound type of the member's value or result, as a shape; `""` if no single line of the declarations fits the member.
    pub bound_result: String,
    /// Whether the member overrides a member of a base.
    pub is_override: bool,
    /// Whether the member is static.
    pub is_static: bool,
    /// How the member returns its value by reference: `ref`, `ref readonly`, or `""`.
    pub reference: &'static str,
    /// The value of `[OverloadResolutionPriority]`; 0 without it.
    pub priority: i32,
}

impl Overload {
    /// Converts a row of `//types/T:members`.
    pub fn of_row(key: &str, row: MemberRow) -> Self {
        let has = |modifier| {
            let mut modifiers = row.signature.split(' ').take_while(|word| !word.contains('('));
            modifiers.any(|word| word == modifier)
        };
        Self {
            is_override: has("override"),
            is_static: has("static"),
            reference: reference_of(&row.signature),
            priority: priority(&row.attributes),
            key: key.to_owned(),
            name: row.name,
            id: row.id,
            kind: row.kind,
            accessibility: row.accessibility,
            files: match row.files.is_empty() {
                true => Some(row.file).filter(|file| !file.is_empty()).into_iter().collect(),
                false => row.files,
            },
            parameters: row.parameters,
            bound: Vec::new(),
            bound_result: String::new(),
        }
    }

    /// Represents all overloads of a name. Only their flags in the index are known.
    pub fn from_index(name: &str, flags: &str) -> Self {
        Self {
            key: name.to_owned(),
            name: name.to_owned(),
            kind: kind_of(name, flags).to_owned(),
            ..Self::default()
        }
    }
}

/// Returns how a member with a signature returns its value by reference.
fn reference_of(signature: &str) -> &'static str {
    let mut words = signature
        .split(' ')
        .take_while(|word| !word.contains('('))
        .skip_while(|word| *word != "ref");
    match (words.next(), words.next()) {
        (None, _) => "",
        (Some(_), Some("readonly")) => "ref readonly",
        (Some(_), _) => "ref",
    }
}

/// Returns the kind of a member by its flags in the index.
pub fn kind_of(name: &str, flags: &str) -> &'static str {
    match flags.as_bytes().first() {
        _ if name == ".ctor" => "constructor",
        _ if name == "this[]" => "indexer",
        Some(b'm' | b'x') => "method",
        _ if flags.contains('f') => "field",
        _ if flags.contains('k') => "constant",
        _ if flags.contains('v') => "event",
        _ if flags.contains('e') => "enum member",
        _ => "property",
    }
}

/// Reads the members of types, in the order of `keys`; none for a type that could not be read.
pub fn read_overloads<O: Outputs>(outputs: &mut O, keys: &[&str]) -> Result<Vec<Vec<Overload>>, O::Error> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let labels: Vec<String> = keys.iter().map(|key| type_label(key, "members")).collect();
    let mut by_label = BTreeMap::new();
    for output in outputs.read(&labels)? {
        if let Some(bytes) = &output.bytes {
            let table = Table::open(bytes).ok_or_else(|| SymbolError::damaged().at_label(&output.label))?;
            let mut members = Vec::with_capacity(table.len());
            for (key, row) in table.rows() {
                let row: MemberRow = serde_json::from_slice(row).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
                members.push(Overload::of_row(key, row));
            }
            by_label.insert(output.label, members);
        }
    }
    let distinct: BTreeSet<&String> = labels.iter().collect();
    let members = |label: &String| match distinct.len() == labels.len() {
        true => by_label.remove(label),
        false => by_label.get(label).cloned(),
    };
    Ok(labels.iter().map(members).map(Option::unwrap_or_default).collect())
}

/// Reads the member of a type with this key; `None` if the type does not declare it or could not be read. A type may have very many members.
pub fn read_overload<O: Outputs>(outputs: &mut O, key: &str, member: &str) -> Result<Option<Overload>, O::Error> {
    let label = type_label(key, "members");
    let Some(bytes) = read_one(outputs, label.clone())? else {
        return Ok(None);
    };
    let damaged = || SymbolError::damaged().at_label(&label);
    let table = Table::open(&bytes).ok_or_else(damaged)?;
    let Some(row) = table.get(member) else { return Ok(None) };
    let row: MemberRow = serde_json::from_slice(row).map_err(|_| damaged())?;
    Ok(Some(Overload::of_row(member, row)))
}

/// The name of constructors.
const CONSTRUCTOR: &str = ".ctor";

/// C# keywords of types that an argument may have.
const SIMPLE: [&str; 15] = [
    "bool", "byte", "char", "decimal", "double", "float", "int", "long", "object", "sbyte", "short", "string", "uint", "ulong", "ushort",
];

/// Sets the bound types of the parameters and results of a type's members.
pub fn bind(symbols: &Symbols, key: &str, members: &mut [Overload]) -> Result<(), SymbolError> {
    let table = Table::open(symbols.declarations()).ok_or_else(SymbolError::damaged)?;
    for member in members.iter_mut() {
        let row = table.get(&member_key(key, &member.name)).unwrap_or_default();
        let lines = std::str::from_utf8(row).map_err(|_| SymbolError::damaged())?.lines();
        // The key of a conversion ends with its written result.
        let written = member.key.rsplit_once("->").map(|(_, result)| result);
        let has_result =
            |line: &MemberLine<'_>| written.is_none_or(|written| type_parameters_in(written, &Shape::read(line.result, false)).is_some());
        let bound = |line: MemberLine<'_>| Some((bound_by(member, &line)?, line.result.to_owned()));
        let mut fitting: Vec<_> = lines.filter_map(MemberLine::read).filter(has_result).filter_map(bound).collect();
        // A written name may be that of a type parameter, but a line with a type of that name fits better.
        let fewest = fitting.iter().map(|((count, _), _)| *count).min();
        fitting.retain(|((count, _), _)| Some(*count) == fewest);
        if let [((_, bound), result)] = fitting.as_slice() {
            (member.bound, member.bound_result) = (bound.clone(), result.clone());
        }
    }
    Ok(())
}

/// Returns the primary constructors of a type, which are not among its members: the constructors in the declarations that fit none of the `listed`
/// members.
pub fn primary_constructors(symbols: &Symbols, key: &str, listed: &[Overload]) -> Result<Vec<Overload>, SymbolError> {
    let table = Table::open(symbols.declarations()).ok_or_else(SymbolError::damaged)?;
    let row = table.get(&member_key(key, CONSTRUCTOR)).unwrap_or_default();
    let lines = std::str::from_utf8(row).map_err(|_| SymbolError::damaged())?.lines();
    let is_listed = |line: &MemberLine<'_>| {
        let mut constructors = listed.iter().filter(|one| one.name == CONSTRUCTOR);
        constructors.any(|one| one.parameters.is_empty() && line.parameters.is_empty() || bound_by(one, line).is_some())
    };
    let primary = lines.filter_map(MemberLine::read).filter(|line| !is_listed(line));
    Ok(primary.map(|line| primary_constructor(&line)).collect())
}

fn primary_constructor(line: &MemberLine<'_>) -> Overload {
    let written = |shape: &str| {
        let is_of = |word: &&&str| predefined(word).key() == Some(shape);
        SIMPLE
            .iter()
            .find(is_of)
            .map_or_else(|| shape.trim_start_matches(['~', '^']).to_owned(), |word| (*word).to_owned())
    };
    let texts = line.parameters.split(';').filter(|text| !text.is_empty());
    let mut bound = Vec::new();
    let parameters: Vec<ParameterRow> = texts
        .zip(line.names.split(';').chain(std::iter::repeat("")))
        .map(|(text, name)| {
            let (modifiers, shape) = Modifiers::split_from_type(text);
            bound.push(shape.to_owned());
            let passing = Modifiers {
                passing: modifiers.passing,
                ..Modifiers::default()
            };
            ParameterRow {
                kind: passing.written_before_type() + &written(shape),
                name: name.to_owned(),
                optional: modifiers.optional,
                params: modifiers.many,
                this: false,
            }
        })
        .collect();
    let kinds: Vec<&str> = parameters.iter().map(|one| one.kind.as_str()).collect();
    Overload {
        key: format!("{CONSTRUCTOR}({})", kinds.join(",")),
        name: CONSTRUCTOR.to_owned(),
        id: String::new(),
        kind: "constructor".to_owned(),
        accessibility: "public".to_owned(),
        files: Vec::new(),
        parameters,
        bound,
        bound_result: String::new(),
        is_override: false,
        is_static: false,
        reference: "",
        priority: 0,
    }
}

/// Returns the parameter types of a declaration line, if the line may be that of a member, and how many names in them refer to type parameters.
fn bound_by(member: &Overload, line: &MemberLine<'_>) -> Option<(usize, Vec<String>)> {
    let texts = line.parameters.split(';').filter(|text| !text.is_empty());
    let (modifiers, types): (Vec<Modifiers>, Vec<&str>) = texts.map(Modifiers::split_from_type).unzip();
    let passings = member.parameters.iter().map(|row| Passing::of_written(&row.kind));
    if line.arity as usize != arity(&member.key) || !passings.eq(modifiers.iter().map(|own| own.passing)) {
        return None;
    }
    let count = |(row, text): (&ParameterRow, &&str)| type_parameters_in(without_words(&row.kind), &Shape::read(text, false));
    let count = member.parameters.iter().zip(&types).map(count).sum::<Option<usize>>()?;
    Some((count, types.into_iter().map(str::to_owned).collect()))
}

/// Returns the number of type parameters in the key of a member.
pub fn arity(key: &str) -> usize {
    let name = key.split('(').next().unwrap_or_default();
    name.rsplit_once('`').and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}

/// Returns the overloads whose parameters have the types that a reference in documentation writes; `None` if no overload has them.
pub(super) fn with_parameters<'o>(overloads: &'o [Overload], written: &[String]) -> Option<Vec<&'o Overload>> {
    let comparable = |one: &str| comparable_type(without_words(one));
    let written = written.iter().map(|one| comparable(one));
    let has_them = |one: &&Overload| parameter_types(&one.key).into_iter().map(comparable).eq(written.clone());
    let found: Vec<&Overload> = overloads.iter().filter(has_them).collect();
    (!found.is_empty()).then_some(found)
}

/// Returns a parameter's type without the passing mode.
pub(super) fn without_words(written: &str) -> &str {
    let words = ["ref readonly ", "ref ", "in ", "out "];
    words.iter().find_map(|word| written.strip_prefix(word)).unwrap_or(written)
}

/// Reads the members of all types in one request, ahead of single requests.
pub fn read_ahead<'p, O: Outputs>(outputs: &mut O, paths: impl IntoIterator<Item = &'p String>) -> Result<(), O::Error> {
    let keys: BTreeSet<&str> = paths.into_iter().filter_map(|path| Some(halves(path)?.0)).collect();
    let labels: Vec<String> = keys.into_iter().map(|key| type_label(key, "members")).collect();
    if labels.len() > 1 {
        outputs.read(&labels)?;
    }
    Ok(())
}

/// Returns the members that a name, with or without parameter types, refers to. The name may be an explicit implementation's without its interface,
/// or a pattern; parameter types may differ in spaces, namespaces and nullable marks, and may be .NET's names of C# keywords.
pub fn fitting(members: &[Overload], name: &str, parameters: Option<&[String]>) -> Vec<Overload> {
    let glob = is_wild(name).then(|| Glob::new(name));
    let tiers: [&dyn Fn(&Overload) -> bool; 4] = [
        &|member| possible_names(member).contains(&name),
        &|member| possible_names(member).into_iter().any(|own| same_case(own, name)),
        &|member| short_name(member).is_some_and(|short| same_case(short, name)),
        &|member| glob.as_ref().is_some_and(|glob| glob.matches(&member.name)),
    ];
    for tier in tiers {
        let named: Vec<&Overload> = members.iter().filter(|member| tier(member)).collect();
        let Some(wanted) = parameters else {
            if named.is_empty() {
                continue;
            }
            return named.into_iter().cloned().collect();
        };
        let plainly = |one: &str, two: &str| comparable_type(without_words(one)) == comparable_type(without_words(two));
        let spaceless = |one: &str, two: &str| one.replace(' ', "") == two.replace(' ', "");
        let nearly = |one: &str, two: &str| comparable_type(one) == comparable_type(two);
        for same in [spaceless, nearly, plainly] {
            let fits = |member: &&&Overload| {
                let own = parameter_types(&member.key);
                own.len() == wanted.len() && own.iter().zip(wanted).all(|(own, wanted)| same(own, wanted))
            };
            let found: Vec<Overload> = named.iter().filter(fits).map(|member| (*member).clone()).collect();
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

/// Returns the name of the member that C# writes with the name of its type: the constructor or, after `~`, the finalizer.
pub fn named_as_type(key: &str, name: &str) -> Option<&'static str> {
    let own = simple_name(key);
    match name.strip_prefix('~') {
        Some(name) => same_case(own, name).then_some("Finalize"),
        None => same_case(own, name).then_some(".ctor"),
    }
}

/// Returns the names by which a path may refer to a member: its key, its name with arity mark, and its name without.
fn possible_names(member: &Overload) -> [&str; 3] {
    let marked = name_of(&member.key);
    let plain = match member.name.as_str() {
        "" => marked,
        name => name,
    };
    [&member.key, marked, plain]
}

fn short_name(member: &Overload) -> Option<&str> {
    short_of(&member.name)
}

/// Returns the name of an explicit implementation without its interface: `Bar` of `IFoo<A.B>.Bar`.
pub fn short_of(name: &str) -> Option<&str> {
    let start = name.rfind('>').unwrap_or(0);
    let at = start + name[start..].rfind('.')?;
    (at > 0).then_some(&name[at + 1..])
}

/// Whether two members have the same written parameter types.
pub(super) fn is_alike(one: &Overload, other: &Overload) -> bool {
    let types = |of: &Overload| parameter_types(&of.key).into_iter().map(comparable_type).collect::<Vec<_>>();
    types(one) == types(other)
}

/// Returns the simple name of the interface that an explicit implementation names.
pub(super) fn explicit_interface(name: &str) -> &str {
    let Some(short) = short_of(name) else { return "" };
    let before = &name[..name.len() - short.len() - 1];
    let plain = before.split('<').next().unwrap_or(before);
    plain.rsplit(['.', ':']).next().unwrap_or(plain)
}

/// Returns the parameter types in a key, as written.
pub fn parameter_types(key: &str) -> Vec<&str> {
    let named = name_of(key);
    let Some(inner) = key[named.len()..]
        .strip_prefix('(')
        .and_then(|rest| rest.rfind(')').map(|at| &rest[..at]))
    else {
        return Vec::new();
    };
    let (mut depth, mut start, mut types) = (0_i32, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                types.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !inner.is_empty() {
        types.push(&inner[start..]);
    }
    types
}

/// Normalizes a written type for comparison: .NET names, no spaces, nullable marks or namespaces.
pub(super) fn comparable_type(written: &str) -> String {
    let mut text = String::new();
    for word in written.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')) {
        let end = word
            .trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
            .len();
        let (name, mark) = word.split_at(end);
        let last = name.rsplit('.').next().unwrap_or(name);
        match predefined(name).key() {
            Some(known) => text.push_str(known.rsplit('.').next().unwrap_or(known)),
            None => text.push_str(last),
        }
        text.extend(mark.chars().filter(|c| !c.is_whitespace() && *c != '?'));
    }
    folded(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<Overload> {
        [
            "Get(int)",
            "Get(string?,System.Text.Rune)",
            "get",
            "Map`1(T,Dictionary<string, T>)",
            "IFoo.Run(ref int)",
            ".ctor()",
        ]
        .map(|key| Overload {
            key: key.to_owned(),
            name: name_of(key).split('`').next().unwrap_or_default().to_owned(),
            ..Overload::default()
        })
        .to_vec()
    }

    fn overloads_named(name: &str, parameters: Option<&[&str]>) -> Vec<String> {
        let parameters: Option<Vec<String>> = parameters.map(|types| types.iter().map(|of| (*of).to_owned()).collect());
        fitting(&members(), name, parameters.as_deref())
            .into_iter()
            .map(|member| member.key)
            .collect()
    }

    #[test]
    fn names_and_parameters() {
        assert_eq!(overloads_named("Get", None), ["Get(int)", "Get(string?,System.Text.Rune)"]);
        assert_eq!(overloads_named("get", None), ["get"]);
        assert_eq!(overloads_named("GET", None).len(), 3);
        assert_eq!(overloads_named("Get", Some(&["System.Int32"])), ["Get(int)"]);
        assert_eq!(overloads_named("Get", Some(&["String", "Rune"])), ["Get(string?,System.Text.Rune)"]);
        assert_eq!(overloads_named("Get", Some(&[])), ["get"]);
        assert_eq!(overloads_named("Map", Some(&["T", "IDictionary<string,T>"])), Vec::<String>::new());
        assert_eq!(
            overloads_named("Map", Some(&["T", "Dictionary<String,T>"])),
            ["Map`1(T,Dictionary<string, T>)"]
        );
        assert_eq!(overloads_named("Run", None), ["IFoo.Run(ref int)"]);
        assert_eq!(overloads_named("ifoo.run", Some(&["ref int"])), ["IFoo.Run(ref int)"]);
        assert_eq!(overloads_named(".ctor", None), [".ctor()"]);
        assert_eq!(overloads_named("G*t", None).len(), 3);
        assert_eq!(overloads_named("Map`1", Some(&["T", "Dictionary<string, T>"])).len(), 1);
        assert_eq!(overloads_named("Map`1(T,Dictionary<string, T>)", None).len(), 1);
        assert_eq!(short_of("IFoo<A.B>.Run"), Some("Run"));
        assert_eq!((short_of(".ctor"), short_of("Get")), (None, None));
        assert_eq!(overloads_named("Nope", None), Vec::<String>::new());
    }
}
