//! Result of resolving a symbol: candidates, how they were found, and the chosen one if it is unique.

use super::dotnet_names::describe_dotnet;
use super::outputs::{SymbolError, Trouble, member_label, type_label};
use engine::values::case_folding::same;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Candidates that an error shows.
pub const SHOWN: usize = 5;

/// The kind of a candidate that is a namespace.
pub const NAMESPACE: &str = "namespace";

/// How a symbol was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// By its whole name.
    Exact,
    /// By the end of its name.
    Suffix,
    /// By a pattern.
    Wildcard,
    /// By a former name.
    Alias,
    /// By a similar spelling.
    Fuzzy,
}

/// A candidate for the meaning of a name. Fields are in the order of answers.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Its path: a key of `//index:types`; for a member, with `#` and the member after it.
    pub path: String,
    /// `class`, `method` …
    pub kind: String,
    /// Its declaration in C#; empty for members whose overloads are not distinguished.
    pub accessibility: String,
    /// Files that declare it.
    pub files: Vec<String>,
    /// Identifier of the type.
    pub type_id: String,
    /// Identifier of the member, if it is distinguished from its overloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_id: Option<String>,
    /// The requested type, if the member is inherited from one of its bases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_by: Option<String>,
}

impl Candidate {
    /// Returns a candidate with only a path and files, enough to read its source.
    pub fn from_path(path: &str, files: &[String]) -> Self {
        Self {
            path: path.to_owned(),
            kind: String::new(),
            accessibility: String::new(),
            files: files.to_vec(),
            type_id: String::new(),
            member_id: None,
            inherited_by: None,
        }
    }

    pub fn key(&self) -> &str {
        engine::values::label::halves(&self.path).map_or(&self.path, |(key, _)| key)
    }

    /// Returns the key of the member inside its type.
    pub fn member(&self) -> Option<&str> {
        engine::values::label::halves(&self.path).map(|(_, member)| member)
    }

    /// Returns the name of the member, without arity and parameters.
    pub fn member_name(&self) -> Option<&str> {
        self.member().map(name_in)
    }

    /// Returns the label of a target of the candidate: `outline` or `code` of a member, `outline`, `structure` … of a type.
    pub fn label(&self, target: &str) -> String {
        match self.member() {
            Some(member) => member_label(self.key(), member, target),
            None => type_label(self.key(), target),
        }
    }
}

/// Returns the name in a member's key, without arity and parameters.
fn name_in(member: &str) -> &str {
    let name = engine::planning::symbol::name_of(member);
    name.rsplit_once('`')
        .filter(|(_, count)| count.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(name, |(name, _)| name)
}

/// The symbol that the name means.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// Its path.
    pub path: String,
    /// Identifier of the type.
    pub type_id: String,
    /// Identifier of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_id: Option<String>,
}

impl From<&Candidate> for Resolved {
    fn from(one: &Candidate) -> Self {
        Self {
            path: one.path.clone(),
            type_id: one.type_id.clone(),
            member_id: one.member_id.clone(),
        }
    }
}

/// Result of resolving a symbol.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    /// The requested name.
    pub symbol: String,
    /// How the candidates were found; absent when there are none.
    pub how: Option<How>,
    /// The symbol, if the name is unambiguous.
    pub resolved: Option<Resolved>,
    /// Candidates, best first, up to the limit.
    pub candidates: Vec<Candidate>,
    /// Total number.
    pub total: usize,
    /// Former name of the type, if the request used it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<String>,
    /// The only type that the names before an unknown member mean.
    #[serde(skip)]
    pub owner: Option<String>,
}

impl Resolved {
    /// Returns one symbol, or all overloads of one name in one type: `Type#Name`.
    pub fn of_group(group: &[Candidate]) -> Self {
        let first = &group[0];
        match group {
            [one] => Self {
                path: one.path.clone(),
                type_id: one.type_id.clone(),
                member_id: one.member_id.clone(),
            },
            _ => Self {
                path: format!("{}#{}", first.key(), first.member_name().unwrap_or_default()),
                type_id: first.type_id.clone(),
                member_id: None,
            },
        }
    }

    /// Returns a deleted type, known by name only.
    pub fn gone(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            type_id: String::new(),
            member_id: None,
        }
    }
}

impl Resolution {
    /// Returns the label of a target (`outline`, say) of the resolved symbol. Fails as [`Resolution::candidate`] does.
    pub fn label_of(&self, target: &str) -> Result<String, SymbolError> {
        Ok(self.candidate()?.label(target))
    }

    /// Returns all overloads of one name in one type, if the symbol resolved to exactly these.
    pub fn overloads(&self) -> Option<&[Candidate]> {
        let first = self.candidates.first()?;
        let is_meant = self.how.is_some_and(|how| how != How::Fuzzy) && self.candidates.len() == self.total && self.total > 1;
        let is_same = |one: &Candidate| one.key() == first.key() && one.member_name() == first.member_name();
        (is_meant && first.member().is_some() && self.candidates.iter().all(is_same)).then_some(&self.candidates)
    }

    /// Returns the resolved candidate, or all overloads of one name. Fails as [`Resolution::candidate`] does.
    pub fn meant_with_overloads(&self) -> Result<&[Candidate], SymbolError> {
        match self.overloads() {
            Some(all) => Ok(all),
            None => self.candidate().map(std::slice::from_ref),
        }
    }

    /// Returns the candidates grouped by type and member: one symbol, the overloads of one name, or up to [`SHOWN`] symbols that share the name, the
    /// least surprising first. For answers that show each symbol under its path and need no choice. Fails as [`Resolution::candidate`]
    /// does.
    pub fn namesakes(&self) -> Result<Vec<Vec<Candidate>>, SymbolError> {
        let is_known = self.how.is_some_and(|how| how != How::Fuzzy) && self.candidates.len() == self.total;
        let mut groups: Vec<Vec<Candidate>> = Vec::new();
        for one in self.candidates.iter().filter(|_| is_known) {
            let is_same = |other: &Vec<Candidate>| other[0].key() == one.key() && other[0].member_name() == one.member_name();
            match groups.iter_mut().find(|group| one.member().is_some() && is_same(group)) {
                Some(group) => group.push(one.clone()),
                None => groups.push(vec![one.clone()]),
            }
        }
        let is_shown = (2..=SHOWN).contains(&groups.len()) && groups.iter().flatten().all(|one| one.kind != NAMESPACE);
        match is_shown {
            true => Ok(groups),
            false => Ok(vec![self.meant_with_overloads()?.to_vec()]),
        }
    }

    /// Returns the resolved candidate. Errors: `SymbolNotFound` with suggestions, or `AmbiguousSymbol` with the first candidates and their
    /// number.
    pub fn candidate(&self) -> Result<&Candidate, SymbolError> {
        if let (Some(_), Some(one)) = (&self.resolved, self.candidates.first()) {
            if one.kind == NAMESPACE {
                let why = Diagnostic::error(
                    ErrorCode::SymbolNotFound,
                    format!("{} is a namespace, not a type or member", one.path),
                )
                .found(&one.path);
                let hint = format!("`cortex outline {}` lists its contents", one.path);
                return Err(SymbolError::new(Trouble::NotFound, why.hint(hint)));
            }
            return Ok(one);
        }
        let found: String = self.symbol.chars().take(120).collect();
        let shown: Vec<String> = self.candidates.iter().take(SHOWN).map(|found| found.path.clone()).collect();
        if matches!(self.how, None | Some(How::Fuzzy)) {
            if let Some(described) = self.describe_outside() {
                // Types of the workspace may be similar to a simple name.
                let shown = if self.symbol.contains('.') { Vec::new() } else { shown };
                let why = Diagnostic::error(ErrorCode::SymbolNotFound, described).candidates(shown);
                let hint = "name a type or member that the workspace declares; `grep` finds a word in its code";
                return Err(SymbolError::new(Trouble::NotFound, why.found(found).hint(hint)));
            }
            let hint = match (shown.first(), &self.owner) {
                (Some(first), _) => format!("did you mean {first}?"),
                (None, Some(owner)) => format!("`cortex outline {owner}` lists its members"),
                (None, None) => "write Type, Namespace.Type, Type.Member or Type#Member".to_owned(),
            };
            let why = Diagnostic::error(ErrorCode::SymbolNotFound, self.describe_unknown());
            return Err(SymbolError::new(Trouble::NotFound, why.found(found).hint(hint).candidates(shown)));
        }
        let why = Diagnostic::error(
            ErrorCode::AmbiguousSymbol,
            format!("{} types or members have this name", self.total),
        );
        let mut hint = "write one of these names".to_owned();
        if self.total > shown.len() {
            hint.push_str(&format!(" (the first {} of {})", shown.len(), self.total));
        }
        if shown.iter().any(|path| path.contains('@')) {
            hint.push_str(
                "; the name behind @ is the project or file that declares the type, and @loose means that no project compiles it",
            );
        }
        Err(SymbolError::new(Trouble::Ambiguous, why.found(found).hint(hint).candidates(shown)))
    }
}

impl Resolution {
    /// Describes the type of .NET that an unknown name means.
    pub fn describe_outside(&self) -> Option<String> {
        let is_unknown = matches!(self.how, None | Some(How::Fuzzy));
        is_unknown.then(|| describe_dotnet(&self.symbol, self.owner.is_none())).flatten()
    }

    /// Says what is unknown: the name, the member of a known type, or only its parameters.
    fn describe_unknown(&self) -> String {
        let Some(owner) = &self.owner else {
            return "no type or member of this name is known".to_owned();
        };
        let (name, parameters) = self.symbol.split_once('(').unzip();
        let name = name.and_then(|name| name.rsplit(['.', '#']).next());
        let is_overload = |one: &Candidate| one.member_name().zip(name).is_some_and(|(own, name)| same(own, name));
        match parameters.is_some() && self.candidates.iter().any(is_overload) {
            true => format!("{owner} has no member of this name with these parameters"),
            false => format!("{owner} has no member of this name"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn up_to_five_namesakes_are_meant_together() {
        let text = |types: usize| -> String {
            let one = |at| format!("namespace N{at} {{ class A {{ void Go() {{ }} void Go(int a) {{ }} }} }}\n");
            (0..types).map(one).collect()
        };
        let meant = |types: usize, name: &str| {
            let mut sample = Sample::from_files(&[("a.cs", text(types).as_str())]);
            let symbols = sample.names();
            let options = Options {
                most: 1000,
                ..Options::default()
            };
            let found = resolve(&symbols, &mut sample, name, &options).expect("a resolution");
            let groups = found.namesakes().map_err(|error| error.diagnostic.code);
            groups.map(|groups| {
                let paths = |group: &Vec<Candidate>| group.iter().map(|one| one.path.clone()).collect::<Vec<_>>().join(" ");
                groups.iter().map(paths).collect::<Vec<_>>()
            })
        };
        assert_eq!(meant(2, "A"), Ok(vec!["N0.A".to_owned(), "N1.A".to_owned()]));
        assert_eq!(
            meant(2, "Go"),
            Ok(vec!["N0.A#Go() N0.A#Go(int)".to_owned(), "N1.A#Go() N1.A#Go(int)".to_owned()])
        );
        assert_eq!(meant(1, "A"), Ok(vec!["N0.A".to_owned()]));
        assert_eq!(meant(5, "A").map(|groups| groups.len()), Ok(5));
        assert_eq!(meant(6, "A"), Err("AmbiguousSymbol".to_owned()));
        assert_eq!(meant(2, "B"), Err("SymbolNotFound".to_owned()));
    }

    #[test]
    fn overloads_of_one_name_are_meant_together() {
        let text = "class A { void Go() { } void Go(int a) { } void Go<T>(T a) { } } class B { void Go() { } }";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        let meant = |sample: &mut Sample, text: &str| {
            let symbols = sample.names();
            let found = resolve(&symbols, sample, text, &Options::default()).expect("a resolution");
            let all = found.meant_with_overloads().map_err(|error| error.diagnostic.code);
            all.map(|all| all.iter().map(|one| one.path.clone()).collect::<Vec<_>>())
        };
        assert_eq!(
            meant(&mut sample, "A.Go"),
            Ok(vec!["A#Go()".to_owned(), "A#Go(int)".to_owned(), "A#Go`1(T)".to_owned()])
        );
        assert_eq!(meant(&mut sample, "A.Go(int)"), Ok(vec!["A#Go(int)".to_owned()]));
        assert_eq!(meant(&mut sample, "Go"), Err("AmbiguousSymbol".to_owned()));
        assert_eq!(
            meant(&mut sample, "A.G*"),
            Ok(vec!["A#Go()".to_owned(), "A#Go(int)".to_owned(), "A#Go`1(T)".to_owned()])
        );
    }

    #[test]
    fn types_of_dotnet_are_told_apart_from_unknown_names() {
        let mut sample = Sample::from_files(&[("a.cs", "namespace N; class Strings { } class String2 { }")]);
        let symbols = sample.names();
        for (symbol, outside) in [
            ("System.String", Some("System.String")),
            ("System.String.Length", Some("System.String")),
            ("System.String#Trim()", Some("System.String")),
            ("System.Collections.Generic.List<int>", Some("System.Collections.Generic.List`1")),
            ("System.Strings", None),
            ("Strin", None),
        ] {
            let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
            let error = found.candidate().expect_err("no symbol").diagnostic;
            let expected = match outside {
                Some(outside) => format!("{outside} is a type of .NET, not of this workspace"),
                None => "no type or member of this name is known".to_owned(),
            };
            assert_eq!(
                (error.message.clone(), outside.is_some() && !error.candidates.is_empty()),
                (expected, false),
                "{symbol}"
            );
        }
    }
}
