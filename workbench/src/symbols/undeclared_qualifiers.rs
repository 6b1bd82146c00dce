//! Names that an edit adds before a dot, as `Nope` in `Nope.Go()`, and that nothing in the workspace declares. A package may declare such a name, and
//! cortex does not read packages: so this only warns, where the file imports none, and only of words that no source contained before.

use super::contents::Layout;
use super::index::{Symbols, simple_name};
use super::lost_names::EditedFile;
use super::outputs::Outputs;
use crate::code_text::encoding::{LARGEST, decode};
use crate::code_text::lines::line_and_column;
use engine::seams::world::World;
use memchr::memmem::Finder;
use producers::csharp::deps::dotnet;
use producers::csharp::lexer::{Kind, Token, lex};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A name with its first place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UndeclaredQualifier {
    pub name: String,
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Finds the names that edits add as qualifiers, outside of files that import packages.
pub(super) fn undeclared_qualifiers<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    disk: &dyn World,
    files: &[EditedFile],
    with_packages: &BTreeSet<String>,
) -> Result<Vec<UndeclaredQualifier>, O::Error> {
    let mut found: BTreeMap<&str, UndeclaredQualifier> = BTreeMap::new();
    for file in files.iter().filter(|file| !with_packages.contains(&file.path)) {
        for (name, at) in qualifiers(&file.after, false) {
            let (line, column) = line_and_column(&file.after, at);
            found.entry(name).or_insert_with(|| UndeclaredQualifier {
                name: name.to_owned(),
                file: file.path.clone(),
                line,
                column,
            });
        }
    }
    let is_part_of_namespace = |name: &str| symbols.namespaces().iter().any(|space| space.split('.').any(|part| part == name));
    found.retain(|name, _| {
        !files
            .iter()
            .any(|file| file.before.contains(name) || is_written_otherwise(&file.after, name))
            && !dotnet::has_type_named(name)
            && !dotnet::has_namespace(name)
            && !is_part_of_namespace(name)
            && !symbols.keys().any(|key| simple_name(key) == *name)
    });
    if found.is_empty() {
        return Ok(Vec::new());
    }
    // Members, aliases and words of excluded code are in no index of names alone: the texts decide.
    let layout = Layout::from_outputs(outputs)?;
    let edited: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let finders: Vec<(&str, Finder<'_>)> = found.keys().map(|name| (*name, Finder::new(*name))).collect();
    let others: Vec<&str> = layout.csharp_files().filter(|file| !edited.contains(file)).collect();
    let words_of_file = |file: &&str| -> Vec<&str> {
        // A file that cannot be read may contain every word.
        let text = disk.read_at_most(file, LARGEST).ok().and_then(|bytes| decode(&bytes).ok());
        let contains = |finder: &Finder<'_>| text.as_ref().is_none_or(|(text, _)| finder.find(text.as_bytes()).is_some());
        let words = finders.iter().filter(|(_, finder)| contains(finder));
        words.map(|(word, _)| *word).collect()
    };
    let known: BTreeSet<&str> = others.par_iter().flat_map_iter(words_of_file).collect();
    Ok(found
        .into_iter()
        .filter(|(name, _)| !known.contains(name))
        .map(|(_, one)| one)
        .collect())
}

/// Returns the capitalised words that begin a chain `Word.Member`, with their offsets. A chain of three such words may begin with a namespace:
/// unless `with_namespaces`, it is left out.
pub(super) fn qualifiers(text: &str, with_namespaces: bool) -> Vec<(&str, usize)> {
    let tokens = lex(text).tokens;
    let word = |at: usize| {
        tokens
            .get(at)
            .filter(|token| token.kind == Kind::Word)
            .map(|token| token.text(text))
    };
    let is = |at: usize, sign: &str| tokens.get(at).is_some_and(|token| token.text(text) == sign);
    let is_capital = |word: Option<&str>| word.is_some_and(|word| word.starts_with(char::is_uppercase));
    let begins = |at: usize| {
        let before = at.checked_sub(1).map_or("", |before| tokens[before].text(text));
        let is_inside = matches!(before, "." | "?." | "::" | "->" | "using" | "static" | "namespace") || is_of_alias(&tokens, text, at);
        let is_space = is(at + 3, ".") && is_capital(word(at + 2)) && is_capital(word(at + 4));
        is_capital(word(at)) && is(at + 1, ".") && word(at + 2).is_some() && !is_inside && (with_namespaces || !is_space)
    };
    let found = (0..tokens.len()).filter(|at| begins(*at));
    found.filter_map(|at| Some((word(at)?, tokens[at].start as usize))).collect()
}

/// Whether a token is the target of an alias: `using A = B.C;`.
fn is_of_alias(tokens: &[Token], text: &str, at: usize) -> bool {
    at.checked_sub(3).is_some_and(|using| tokens[using].text(text) == "using")
}

/// Whether a text has a word in another place than before a dot: there it may be declared.
fn is_written_otherwise(text: &str, name: &str) -> bool {
    let tokens = lex(text).tokens;
    let is_named = |at: &usize| tokens[*at].kind == Kind::Word && tokens[*at].text(text) == name;
    (0..tokens.len())
        .filter(is_named)
        .any(|at| tokens.get(at + 1).is_none_or(|next| next.text(text) != "."))
}

#[cfg(test)]
mod tests {
    use super::super::lost_names::lost_names;
    use super::super::samples::Sample;
    use super::*;

    const BEFORE: &str = "namespace N;\nclass Id\n{\n    int Twice() => 2;\n    Id Own => this;\n}\n";

    /// Returns the names of which an edit of the first file warns.
    fn warnings(usings: &str, body: &str) -> Vec<String> {
        let before = format!("{usings}{BEFORE}");
        let after = before.replace("=> 2;", body);
        let other = "using Word = System.String;\nnamespace M.Deep;\nclass User { int Size; void Go() { /* Told.There() */ } }\n";
        let mut sample = Sample::from_files(&[("id.cs", &after), ("user.cs", other)]);
        let symbols = sample.names();
        let file = EditedFile {
            path: "id.cs".to_owned(),
            before,
            after,
        };
        let disk = sample.world();
        let found = lost_names(&mut sample, &symbols, &*disk, &[file]).expect("outputs");
        let shown = found.undeclared.iter();
        shown
            .map(|one| format!("{} {}:{}:{}", one.name, one.file, one.line, one.column))
            .collect()
    }

    #[test]
    fn a_new_qualifier_that_nothing_declares_is_told_once() {
        assert_eq!(warnings("", "=> Nope.Go() + Nope.Bar;"), ["Nope id.cs:4:20"]);
        assert_eq!(warnings("using System;\n", "=> 1 + Nope.Go() + this.Twice();"), ["Nope id.cs:5:24"]);
    }

    #[test]
    fn names_that_may_have_a_meaning_are_not_told() {
        for body in [
            "=> Math.Abs(1);",
            "=> Own.Twice() + Deep.User.Size;",
            "=> Size.Length + Word.Empty.Length + Told.There();",
            "=> Package.Json.Convert.Go();",
            "{ Id Other = this; return Other.Twice(); }",
            "=> this.Nope.Go() + nope.Go();",
            "=> \"Nope.Go()\".Length; // Nope.Go()",
        ] {
            assert_eq!(warnings("", body), Vec::<String>::new(), "{body}");
        }
        // A package that the file imports may declare it.
        assert_eq!(warnings("using Package;\n", "=> Nope.Go();"), Vec::<String>::new());
    }
}
