//! Parses the errors of compilers: `path(line,column): error CODE: text [project]` of MSBuild, and `path:line:column: error: text`.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CompilerError {
    /// Path of the file, relative to the compiled folder; empty if the error concerns no file.
    pub path: String,
    /// Line and column, from 1, as far as the compiler reports them.
    pub position: Vec<u32>,
    pub text: String,
}

impl fmt::Display for CompilerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}", self.path)?;
            self.position.iter().try_for_each(|number| write!(f, ":{number}"))?;
            write!(f, ": ")?;
        }
        write!(f, "error {}", self.text)
    }
}

/// Parses the errors in a compiler's output, without duplicates. Paths below `folder`, where the compiler ran, become relative to it.
pub fn errors_of_output(output: &str, folder: &str) -> Vec<CompilerError> {
    let mut errors: Vec<CompilerError> = output.lines().filter_map(|line| error_of_line(line, folder)).collect();
    errors.sort();
    errors.dedup();
    errors
}

fn error_of_line(line: &str, folder: &str) -> Option<CompilerError> {
    let (place, text) = line.split_once(": error ").or_else(|| {
        let (place, text) = line.split_once(": error:")?;
        Some((place, text.trim_start()))
    })?;
    let text = match text.rfind(" [").filter(|_| text.trim_end().ends_with("proj]")) {
        Some(at) => &text[..at],
        None => text,
    };
    let (path, position) = place_and_position(place.trim());
    // Without a position, the place is the name of a tool: `CSC : error CS5001: …`.
    let path = if position.is_empty() { "" } else { path };
    let path = path.strip_prefix(folder).map_or(path, |rest| rest.trim_start_matches('/'));
    Some(CompilerError {
        path: path.strip_prefix("./").unwrap_or(path).replace('\\', "/"),
        position,
        text: text.trim().to_owned(),
    })
}

/// Splits `path(line,column)` or `path:line:column`.
fn place_and_position(place: &str) -> (&str, Vec<u32>) {
    let numbers = |text: &str, by: char| text.split(by).map(|one| one.trim().parse().ok()).collect::<Option<Vec<u32>>>();
    let in_brackets = place.strip_suffix(')').and_then(|open| open.rsplit_once('('));
    if let Some((path, position)) = in_brackets
        && let Some(mut position) = numbers(position, ',')
    {
        position.truncate(2);
        return (path, position);
    }
    let mut parts = place.rsplitn(3, ':');
    let (last, middle, first) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if let (Some(middle), Some(first)) = (middle, first)
        && let Some(position) = numbers(&format!("{middle},{last}"), ',')
    {
        return (first, position);
    }
    match place.rsplit_once(':').and_then(|(path, line)| Some((path, numbers(line, ',')?))) {
        Some((path, position)) => (path, position),
        None => (place, Vec::new()),
    }
}

/// Returns the errors that are new. Because an edit shifts lines, errors with the same file and text count as the same; errors at unchanged positions
/// are matched first.
pub fn new_errors(before: &[CompilerError], after: &[CompilerError]) -> Vec<CompilerError> {
    let mut known: Vec<&CompilerError> = before.iter().filter(|one| !after.contains(one)).collect();
    let mut new: Vec<CompilerError> = after.iter().filter(|one| !before.contains(one)).cloned().collect();
    new.retain(|one| {
        let same = known.iter().position(|known| (&known.path, &known.text) == (&one.path, &one.text));
        same.map(|at| known.swap_remove(at)).is_none()
    });
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_in_both_forms() {
        let output = "\
  Determining projects to restore...
/w/src/A.cs(3,5): error CS0103: The name 'Valu' does not exist [/w/src/A.csproj]
/w/src/A.cs(3,5): error CS0103: The name 'Valu' does not exist [/w/src/A.csproj]
/w/src/A.cs(4,1): warning CS0168: unused [/w/src/A.csproj]
./src/B.cs:7:2: error: expected ';'
src/C.cs(9): error CS1: one
CSC : error CS5001: no Main [/w/src/A.csproj]
2 Error(s)
";
        let errors: Vec<String> = errors_of_output(output, "/w").iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "error CS5001: no Main",
                "src/A.cs:3:5: error CS0103: The name 'Valu' does not exist",
                "src/B.cs:7:2: error expected ';'",
                "src/C.cs:9: error CS1: one",
            ]
        );
    }

    #[test]
    fn errors_that_only_moved_are_not_new() {
        let errors = |text: &str| errors_of_output(text, "");
        let before = errors("a(1,1): error X: one\nb(1,1): error X: one\n");
        let after = errors("a(5,1): error X: one\na(6,1): error X: one\nb(1,1): error Y: two\n");
        let new: Vec<String> = new_errors(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(new, ["a:6:1: error X: one", "b:1:1: error Y: two"]);
    }
}
