//! Declarations in code that `#if` excludes: code for another target framework than that of the evaluated project, or under symbols that no project
//! defines. The index has no types or members for them; `//files/F:variants` lists them.

use super::dotnet_names::describe_dotnet;
use super::outputs::{Outputs, SymbolError, file_label};
use super::word_index::WordSource;
use producers::csharp::variants::{Uncompiled, Variant};

/// Most files that are searched for one name.
const MOST_FILES: usize = 50;

/// A declaration in code that `#if` excludes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UncompiledDeclaration {
    /// The file that contains it.
    pub file: String,
    /// The declaration and its condition.
    pub declared: Variant,
}

impl std::fmt::Display for UncompiledDeclaration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Variant {
            symbol,
            key,
            kind,
            condition,
            ..
        } = &self.declared;
        let member = if key.is_empty() { String::new() } else { format!("#{key}") };
        write!(f, "{} declares the {kind} {symbol}{member} under `#if {condition}`", self.file)
    }
}

/// Finds the declarations of a name in code that `#if` excludes: `Name`, `Type.Name`, `Namespace.Type#Name(int)`; parameters are not compared.
pub fn find_uncompiled<O: Outputs>(outputs: &mut O, name: &str) -> Result<Vec<UncompiledDeclaration>, O::Error> {
    let wanted = segments(name);
    let Some(last) = wanted.last().filter(|last| !last.is_empty()) else {
        return Ok(Vec::new());
    };
    let words = outputs.word_index(WordSource::Variants)?;
    let files: Vec<String> = words.holders(last, "").map(|(file, _)| file.name()).take(MOST_FILES).collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let labels: Vec<String> = files.iter().map(|file| file_label(file, "variants")).collect();
    let mut found = Vec::new();
    for (file, output) in files.iter().zip(outputs.read(&labels)?) {
        let Some(bytes) = output.bytes else { continue };
        let all = uncompiled_in_file(file, &bytes).map_err(|error| error.at_label(&output.label))?;
        found.extend(all.into_iter().filter(|one| ends_with_names(&one.declared, &wanted)));
    }
    found.sort();
    Ok(found)
}

/// Returns the types whose code contains a simple name that neither the workspace nor .NET declares: a package, a source generator or a local does.
///
/// # Errors
/// When outputs cannot be read.
pub fn types_that_name<O: Outputs>(outputs: &mut O, name: &str) -> Result<Vec<String>, O::Error> {
    if describe_dotnet(name, true).is_some() || segments(name).len() > 1 {
        return Ok(Vec::new());
    }
    let words = outputs.word_index(WordSource::Mentions)?;
    Ok(words.holders(plain_name(name), "").map(|(user, _)| user.name()).collect())
}

/// Returns the declarations of a file in code that `#if` excludes, as `//files/F:variants` lists them.
pub fn uncompiled_in_file(file: &str, variants: &[u8]) -> Result<Vec<UncompiledDeclaration>, SymbolError> {
    let read: Uncompiled = serde_json::from_slice(variants).map_err(|_| SymbolError::damaged())?;
    let declared = read.declared.into_iter().map(|declared| UncompiledDeclaration {
        file: file.to_owned(),
        declared,
    });
    Ok(declared.collect())
}

/// Whether the name of a declaration ends with these names.
fn ends_with_names(variant: &Variant, wanted: &[&str]) -> bool {
    let mut own = segments(&variant.symbol);
    own.extend(Some(variant.key.as_str()).filter(|key| !key.is_empty()).map(plain_name));
    own.ends_with(wanted)
}

/// Returns the simple names of a path, without type arguments and parameters.
fn segments(path: &str) -> Vec<&str> {
    let head = path.split('(').next().unwrap_or(path);
    head.split(['.', '+', '#']).map(plain_name).collect()
}

/// Returns a name without its arity, type arguments and parameters.
fn plain_name(name: &str) -> &str {
    name.split(['`', '<', '(']).next().unwrap_or(name).trim()
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;

    const PROJECT: &str = r#"<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFrameworks>net8.0;netstandard2.0</TargetFrameworks></PropertyGroup></Project>"#;
    const TEXT: &str = "#if !NET5_0_OR_GREATER
namespace N { internal static class Poly<T> { public static string Pad(this string text) => text; } }
#endif
namespace N { public class Both {
#if NET5_0_OR_GREATER
  public int New() => 1;
#else
  public int Old() => 2;
#endif
} }
";

    #[test]
    fn declarations_of_other_frameworks_are_found_by_name() {
        let mut sample = Sample::from_files(&[("P/P.csproj", PROJECT), ("P/a.cs", TEXT)]);
        let mut found = |name: &str| -> Vec<String> {
            let found = find_uncompiled(&mut sample, name).expect("outputs");
            found.iter().map(ToString::to_string).collect()
        };
        let old = "P/a.cs declares the method N.Both#Old() under `#if !NET5_0_OR_GREATER`";
        for name in ["Old", "Both.Old", "N.Both#Old()", "Both.Old(int)"] {
            assert_eq!(found(name), [old], "{name}");
        }
        let poly = "P/a.cs declares the class N.Poly`1 under `#if !NET5_0_OR_GREATER`";
        for name in ["Poly", "N.Poly<T>"] {
            assert_eq!(found(name), [poly], "{name}");
        }
        for name in ["New", "Other.Old", "Pa", ""] {
            assert_eq!(found(name), [""; 0], "{name}");
        }
    }

    #[test]
    fn code_that_names_what_a_generator_declares_is_found() {
        let text = "namespace N { public class A { [Made(MadeKind.Get)] public void M() { System.Console.WriteLine(); } } public class B { MadeKind K; } }";
        let mut sample = Sample::from_files(&[("a#b @c%d e+f.cs", text)]);
        let mut found = |name: &str| types_that_name(&mut sample, name).expect("outputs");
        assert_eq!(found("MadeKind"), ["N.A", "N.B"]);
        for name in ["Console", "MadeKind.Get", "Nothing"] {
            assert_eq!(found(name), [""; 0], "{name}");
        }
    }
}
