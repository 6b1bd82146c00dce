//! Edits of a type or a member by its name. Where it stands is told by a parse of the buffer itself; after the edit the text is parsed again, and
//! must still have that symbol, once, and every other one: otherwise nothing is changed. A symbol is not renamed in this way, nor removed.

use super::lines::{Ends, end, split};
use producers::csharp::ids::member_key;
use producers::csharp::lexer::lex;
use producers::csharp::model::{Span, Syntax, Tier, TypeDecl};
use producers::csharp::parse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Where the new text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// In the symbol's place.
    Replace,
    /// Before it.
    Before,
    /// Behind it.
    After,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// A type or a member: `NodeStore`, `Core.NodeStore`, `NodeStore#Get`, `NodeStore.Get(int)`.
    pub symbol: String,
    /// Where the new text goes.
    pub at: Where,
    /// The new text.
    pub new: String,
    /// Whether documentation and attributes are no part of the symbol, and stay.
    pub bare: bool,
}

/// Why it cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// In a sentence's end.
    pub why: String,
    /// What to do instead.
    pub hint: String,
    /// Symbols that could be meant.
    pub candidates: Vec<String>,
}

impl Refused {
    fn new(why: impl Into<String>, hint: &str) -> Self {
        Self {
            why: why.into(),
            hint: hint.to_owned(),
            candidates: Vec::new(),
        }
    }
}

/// A declaration of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Declared {
    /// `Namespace.Type` or `Namespace.Type#Member(int)`.
    name: String,
    span: Span,
}

/// The text after the edit, and what was done in words.
///
/// # Errors
/// When the symbol is not there once, or what comes out is not to be.
pub fn edited(text: &str, asked: &Asked) -> Result<(String, String), Refused> {
    let before = read(text);
    let all = declared(&before);
    let found = meant(&all, &asked.symbol)?;
    let offsets = Offsets::of(text);
    let whole = offsets.range(text, &found.span);
    let own = if asked.bare { bare(text, whole.clone()) } else { whole.clone() };
    let made = put(text, &own, asked);
    let after = read(&made);
    if worse(&before, &after) {
        let why = format!(
            "with this text the file would not be read as C# any more, so {} stays as it is",
            found.name
        );
        return Err(Refused::new(why, "give a whole declaration with all its brackets"));
    }
    let made_all = declared(&after);
    let (old, new) = (counted(&all), counted(&made_all));
    let lost: Vec<&str> = old
        .iter()
        .filter(|(name, count)| new.get(*name).copied().unwrap_or(0) < **count)
        .map(|(name, _)| *name)
        .collect();
    if !lost.is_empty() {
        let why = format!("after it {} would be gone; nothing was changed", lost.join(", "));
        return Err(Refused::new(
            why,
            "a symbol keeps its name and parameters here: rename and remove with `replace` or `patch`",
        ));
    }
    let come: Vec<&str> = new
        .iter()
        .filter(|(name, count)| old.get(*name).copied().unwrap_or(0) < **count)
        .map(|(name, _)| *name)
        .collect();
    let nested = |name: &&str| name.starts_with(&format!("{}#", found.name)) || name.starts_with(&format!("{}+", found.name));
    if asked.at == Where::Replace && come.iter().any(|name| !nested(name)) {
        let why = format!("it would also declare {}; nothing was changed", come.join(", "));
        return Err(Refused::new(why, "give the one declaration, and insert others before or after it"));
    }
    let what = match asked.at {
        Where::Replace => format!("replaced {}", found.name),
        Where::Before => format!("put the text before {}", found.name),
        Where::After => format!("put the text behind {}", found.name),
    };
    Ok((made, what))
}

fn read(text: &str) -> Syntax {
    // As every reader of sources has it.
    let plain = super::lines::fit(text, "\n");
    parse::read(&plain, &BTreeSet::new(), "").0
}

/// Whether more of a text is not understood than before.
fn worse(before: &Syntax, after: &Syntax) -> bool {
    let rank = |tier: Tier| match tier {
        Tier::Whole | Tier::Repaired => 0,
        Tier::Skeleton => 1,
        Tier::Partial => 2,
        Tier::Nothing => 3,
    };
    rank(after.tier) > rank(before.tier)
}

fn declared(syntax: &Syntax) -> Vec<Declared> {
    let of = |decl: &TypeDecl| {
        let own = decl.symbol();
        let members = decl.members.iter().map(|member| Declared {
            name: format!("{own}#{}", member_key(member)),
            span: member.span,
        });
        let members: Vec<Declared> = members.collect();
        std::iter::once(Declared {
            name: own,
            span: decl.span,
        })
        .chain(members)
    };
    syntax.types.iter().flat_map(of).collect()
}

fn counted(all: &[Declared]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for one in all {
        *counts.entry(one.name.as_str()).or_default() += 1;
    }
    counts
}

/// The one declaration that a name means: the whole name, or its end behind a dot or plus; a member without its parameters; a dot before a member.
fn meant<'d>(all: &'d [Declared], name: &str) -> Result<&'d Declared, Refused> {
    let wanted = name.trim().trim_start_matches("//types/");
    let plain = |name: &str| -> String { name.chars().filter(|c| !c.is_whitespace()).collect() };
    let wanted = plain(wanted);
    let parts = |whole: &str| -> Vec<String> { ends(&plain(whole)) };
    let exact: Vec<&Declared> = all.iter().filter(|one| plain(&one.name) == wanted).collect();
    let found: Vec<&Declared> = match exact.is_empty() {
        false => exact,
        true => all.iter().filter(|one| parts(&one.name).contains(&wanted)).collect(),
    };
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let mut names: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
            names.sort_by_key(|name| strangeness(name, &wanted));
            names.truncate(10);
            Err(Refused {
                candidates: names,
                ..Refused::new(
                    format!("nothing in the file is called {wanted}"),
                    "name a type or a member that the file declares",
                )
            })
        }
        several => Err(Refused {
            candidates: several
                .iter()
                .map(|one| format!("{} at line {}", one.name, one.span.first))
                .collect(),
            ..Refused::new(
                format!("{} declarations in the file are called {wanted}", several.len()),
                "name one with its type and parameters; parts of a type in one file are edited with `replace`",
            )
        }),
    }
}

/// All ways to write a name short: `A.B+C#D(int)` is also `B+C#D(int)`, `C#D(int)`, `C#D`, `C.D`, `B.C.D` …
fn ends(name: &str) -> Vec<String> {
    let (of, member) = match name.split_once('#') {
        Some((of, member)) => (of, Some(member)),
        None => (name, None),
    };
    let starts = of.match_indices(['.', '+']).map(|(at, _)| at + 1);
    let types: Vec<&str> = std::iter::once(0).chain(starts).map(|at| &of[at..]).collect();
    let mut all = Vec::new();
    for of in types {
        for of in [of.to_owned(), of.replace('+', ".")] {
            match member {
                None => all.push(of),
                Some(member) => {
                    let bare = member.split_once('(').map_or(member, |(bare, _)| bare);
                    for member in [member, bare] {
                        all.push(format!("{of}#{member}"));
                        all.push(format!("{of}.{member}"));
                    }
                }
            }
        }
    }
    all
}

fn strangeness(name: &str, wanted: &str) -> usize {
    let tail = |text: &str| text.rsplit(['.', '#', '+']).next().unwrap_or(text).to_lowercase();
    let (a, b) = (tail(name), tail(wanted));
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    a.len() + b.len() - 2 * common.min(a.len()).min(b.len())
}

/// Where lines begin.
struct Offsets(Vec<usize>);

impl Offsets {
    fn of(text: &str) -> Self {
        let mut at = 0;
        Self(
            split(text)
                .map(|line| {
                    let start = at;
                    at += line.len();
                    start
                })
                .collect(),
        )
    }

    /// Bytes of lines are the same whatever their ends are.
    fn range(&self, text: &str, span: &Span) -> Range<usize> {
        let line = |number: u32| self.0.get(number as usize - 1).copied().unwrap_or(text.len());
        line(span.first) + span.from as usize..(line(span.last) + span.to as usize).min(text.len())
    }
}

/// A declaration without the documentation and the attributes before it.
fn bare(text: &str, whole: Range<usize>) -> Range<usize> {
    let own = &text[whole.clone()];
    let lexed = lex(own);
    let mut depth = 0_usize;
    // Comments are no tokens; an attribute is what stands in brackets before everything else.
    let first = lexed.tokens.iter().find(|token| match token.text(own) {
        "[" => {
            depth += 1;
            false
        }
        "]" => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    });
    whole.start + first.map_or(0, |token| token.start as usize)..whole.end
}

/// The text with the new one in its place. Before and behind a symbol it gets lines of its own, unless others share them.
fn put(text: &str, own: &Range<usize>, asked: &Asked) -> String {
    let usual = Ends::of(text).usual();
    let new = asked.new.as_str();
    let start = text[..own.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let rest = &text[own.end..];
    let line_end = rest.find(['\n', '\r']).unwrap_or(rest.len());
    match asked.at {
        Where::Replace => {
            let new = if end(new).is_empty() { new } else { super::lines::body(new) };
            // Its first line begins where that of the old one did.
            let indent = &text[start..own.start];
            let new = if indent.trim().is_empty() {
                new.strip_prefix(indent).unwrap_or(new)
            } else {
                new
            };
            [&text[..own.start], new, rest].concat()
        }
        Where::Before if text[start..own.start].trim().is_empty() => {
            let end = if end(new).is_empty() { usual } else { "" };
            [&text[..start], new, end, &text[start..]].concat()
        }
        Where::Before => [&text[..own.start], new, " ", &text[own.start..]].concat(),
        Where::After if rest[..line_end].trim().is_empty() => {
            let behind = split(&rest[line_end..]).next().unwrap_or_default();
            let at = own.end + line_end + behind.len();
            let (before, after) = match behind.is_empty() {
                true => (usual, ""),
                false => ("", if end(new).is_empty() { usual } else { "" }),
            };
            [&text[..at], before, new, after, &text[at..]].concat()
        }
        Where::After => [&text[..own.end], " ", new, rest].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "namespace N;\r\n\r\n/// <summary>A.</summary>\r\n[Obsolete]\r\npublic class A\r\n{\r\n    /// <summary>Gets.</summary>\r\n    [Pure(\"]\")] // why\r\n    public int Get(int id) => id;\r\n    public int Get(string id) => 0;\r\n    int X; int Y;\r\n}\r\n";

    fn asked(symbol: &str, at: Where, new: &str, bare: bool) -> Result<String, Refused> {
        let asked = Asked {
            symbol: symbol.to_owned(),
            at,
            new: new.to_owned(),
            bare,
        };
        edited(TEXT, &asked).map(|(text, _)| text)
    }

    #[test]
    fn a_member_is_replaced_with_its_documentation_or_without() {
        let whole = asked("A#Get(int)", Where::Replace, "    public int Get(int id) => -id;\r\n", false).expect("edited");
        assert_eq!(
            whole,
            TEXT.replace(
                "    /// <summary>Gets.</summary>\r\n    [Pure(\"]\")] // why\r\n    public int Get(int id) => id;",
                "    public int Get(int id) => -id;"
            )
        );
        let bare = asked("N.A.Get(int)", Where::Replace, "public int Get(int id) => -id;", true).expect("edited");
        assert_eq!(bare, TEXT.replace("=> id;", "=> -id;"));
        let class = asked(
            "A",
            Where::Replace,
            "public class A { public int Get(int id) => 1; public int Get(string id) => 2; int X; int Y; int Z; }",
            true,
        )
        .expect("a member more");
        assert!(class.contains("[Obsolete]\r\npublic class A { public"));
    }

    #[test]
    fn texts_get_lines_of_their_own_before_and_behind() {
        let before = asked("A.Get(string)", Where::Before, "    int B;", false).expect("edited");
        assert_eq!(
            before,
            TEXT.replace("    public int Get(string", "    int B;\r\n    public int Get(string")
        );
        let after = asked("A.Get(string)", Where::After, "    int B;\r\n", false).expect("edited");
        assert_eq!(after, TEXT.replace("=> 0;\r\n", "=> 0;\r\n    int B;\r\n"));
        let shared = asked("A.X", Where::After, "int B;", false).expect("edited");
        assert_eq!(shared, TEXT.replace("int X;", "int X; int B;"));
        let last = asked("N.A", Where::After, "class B { }", false).expect("edited");
        assert_eq!(last, format!("{TEXT}class B {{ }}\r\n"));
    }

    #[test]
    fn what_would_change_other_symbols_is_refused() {
        let why = |symbol: &str, at: Where, new: &str| asked(symbol, at, new, false).expect_err("refused").why;
        assert_eq!(why("B", Where::Replace, "x"), "nothing in the file is called B");
        assert_eq!(why("A.Get", Where::Replace, "x"), "2 declarations in the file are called A.Get");
        assert_eq!(
            why("A.Get(int)", Where::Replace, "public long Get(long id) => id;"),
            "after it N.A#Get(int) would be gone; nothing was changed"
        );
        assert_eq!(
            why("A.X", Where::Replace, "int X; int Z;"),
            "it would also declare N.A#Z; nothing was changed"
        );
        assert!(why("A.X", Where::Replace, "int X; }").contains("gone") || why("A.X", Where::Replace, "int X; }").contains("not be read"));
        assert!(why("A.X", Where::Before, "int B {").contains("read as C#") || why("A.X", Where::Before, "int B {").contains("gone"));
        let two = asked("A.Get", Where::Before, "x", false).expect_err("refused");
        assert_eq!(two.candidates, ["N.A#Get(int) at line 7", "N.A#Get(string) at line 10"]);
    }
}
