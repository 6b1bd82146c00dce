//! Names that mean types of .NET and nothing in the workspace: keywords (`string`), whole names (`System.String`) and simple ones (`IDisposable`).

use super::index::Symbols;
use producers::csharp::deps::dotnet;

/// Keywords that are types, with the types that they mean.
const KEYWORDS: [(&str, &str); 17] = [
    ("bool", "System.Boolean"),
    ("byte", "System.Byte"),
    ("sbyte", "System.SByte"),
    ("char", "System.Char"),
    ("decimal", "System.Decimal"),
    ("double", "System.Double"),
    ("float", "System.Single"),
    ("int", "System.Int32"),
    ("uint", "System.UInt32"),
    ("nint", "System.IntPtr"),
    ("nuint", "System.UIntPtr"),
    ("long", "System.Int64"),
    ("ulong", "System.UInt64"),
    ("short", "System.Int16"),
    ("ushort", "System.UInt16"),
    ("object", "System.Object"),
    ("string", "System.String"),
];

/// Keywords in the place of a type that mean none.
const NO_TYPES: [&str; 3] = ["void", "var", "dynamic"];

/// Most type parameters of a type of .NET that a name without their number may mean.
const MOST_TYPE_PARAMETERS: usize = 8;

/// Returns the first name of a path, without type arguments, array brackets and `?`.
fn first_name(text: &str) -> &str {
    let end = text.find(['.', '#', '<', '[', '?', '(']).unwrap_or(text.len());
    text[..end].trim()
}

/// Describes a keyword that stands in the place of a type's name, as in `string`, `string.Format` and `int[]`; `None` for other names.
fn describe_keyword(text: &str) -> Option<String> {
    let word = first_name(text);
    let of = KEYWORDS.iter().find(|(keyword, _)| *keyword == word);
    let no_type = || NO_TYPES.contains(&word) && word == text.trim();
    match of {
        Some((_, of)) => Some(format!(
            "`{word}` is a keyword of C# for {of}, a type of .NET, not of this workspace"
        )),
        None => no_type().then(|| format!("`{word}` is a keyword of C#, not a type or member")),
    }
}

/// Whether a text begins with a keyword that is written like a type, and the workspace declares nothing that is spelled so. Names that differ by
/// case only are not meant: `string` is not the member `String` of an enum.
pub(super) fn is_keyword(symbols: &Symbols, text: &str) -> bool {
    let word = first_name(text);
    describe_keyword(text).is_some() && !symbols.spelled(word).contains(&word) && symbols.types_named(word).next().is_none()
}

/// Describes a name that means a type of .NET or one of its members. `may_be_simple`: the name may lack its namespace.
pub(super) fn describe_dotnet(symbol: &str, may_be_simple: bool) -> Option<String> {
    let text = symbol.trim().trim_start_matches("global::");
    let described = |of: &str| format!("{of} is a type of .NET, not of this workspace");
    describe_keyword(text)
        .or_else(|| whole_name(text).map(described))
        .or_else(|| simple_name(text).filter(|_| may_be_simple).map(described))
}

/// Returns a type of .NET by its whole name, with or without the mark of type parameters.
fn dotnet_type_by_name(name: &str) -> Option<&'static str> {
    let generic = || (1..=MOST_TYPE_PARAMETERS).find_map(|count| dotnet::known(&format!("{name}`{count}")));
    dotnet::known(name).or_else(generic)
}

/// Returns the .NET type that a name with its namespace means: the type itself, or the one before the last dot or `#`.
fn whole_name(text: &str) -> Option<&'static str> {
    let name = text.split(['(', '<']).next().unwrap_or(text);
    let whole = Some(name).filter(|name| name.contains('.'));
    let owner = name.rsplit_once(['.', '#']).map(|(owner, _)| owner);
    let owner = owner.filter(|owner| owner.contains('.'));
    [whole, owner].into_iter().flatten().find_map(dotnet_type_by_name)
}

/// Returns the .NET type that a simple name means, alone or before one of its members (`IDisposable`, `List<int>`, `Console.WriteLine`).
fn simple_name(text: &str) -> Option<&'static str> {
    let head = text.split(['(', '<']).next().unwrap_or(text);
    let (name, member) = match head.split_once(['.', '#']) {
        Some((name, member)) => (name, Some(member)),
        None => (head, None),
    };
    let has_member = |key: &&'static str| {
        let of = dotnet::get(key);
        member.is_none_or(|member| of.is_some_and(|of| of.members(member).next().is_some()))
    };
    dotnet::types_with_simple_name(name).into_iter().find(has_member)
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn types_of_dotnet_are_described() {
        let outside = |of: &str| Some(format!("{of} is a type of .NET, not of this workspace"));
        for (symbol, of) in [
            ("System.String", outside("System.String")),
            ("System.String#Trim()", outside("System.String")),
            ("IDisposable", outside("System.IDisposable")),
            ("Console.WriteLine", outside("System.Console")),
            ("Console.WriteNothing", None),
            ("List<int>", outside("System.Collections.Generic.List`1")),
            ("Strin", None),
            ("", None),
            ("var", Some("`var` is a keyword of C#, not a type or member".to_owned())),
            ("var.x", None),
        ] {
            assert_eq!(describe_dotnet(symbol, true), of, "{symbol}");
        }
        let keyword = Some("`int` is a keyword of C# for System.Int32, a type of .NET, not of this workspace".to_owned());
        for symbol in ["int", "int[]", "int?", "int.Parse(string)", " int#MaxValue"] {
            assert_eq!(describe_dotnet(symbol, false), keyword, "{symbol}");
        }
    }

    #[test]
    fn keywords_mean_no_namesake_of_another_case() {
        let text = "enum Kind { String, Object } class Int { void Void() { } }";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        let symbols = sample.names();
        let mut meant = |name: &str| {
            let found = resolve(&symbols, &mut sample, name, &Options::default()).expect("a resolution");
            let paths: Vec<String> = found.candidates.iter().map(|one| one.path.clone()).collect();
            (paths.join(" "), found.candidate().err().map(|error| error.diagnostic.code.clone()))
        };
        let unknown = Some("SymbolNotFound".to_owned());
        for keyword in ["string", "int", "int.Void", "void"] {
            assert_eq!(meant(keyword), (String::new(), unknown.clone()), "{keyword}");
        }
        assert_eq!(meant("String"), ("Kind#String".to_owned(), None));
        assert_eq!(meant("Int"), ("Int".to_owned(), None));
    }
}
