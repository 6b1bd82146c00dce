//! Resolves a sequence of names to types: as the engine resolves build targets, with extensions.

use super::index::{Symbols, depth};
use super::meaning::Candidate;
use super::path::{Glob, Segment, SymbolPath, is_wild};
use super::resolve::How;
use engine::planning::symbol;
use engine::values::case_folding::{same, strip_end};
use engine::values::label::halves;
use producers::csharp::hashes::Access;
use producers::csharp::types::symbol_of;

/// Sort key of types: fewest namespace levels, most accessible, shortest, by name.
pub fn rank(key: &str, access: Access) -> (usize, Access, usize, &str) {
    (depth(key), access, key.len(), key)
}

/// Whether a name differs from a path by case: `nodestore.get` for `N.NodeStore#Get()`. Parameters are ignored.
pub fn differs_in_case(given: &str, path: &str) -> bool {
    fn words_of_name(text: &str) -> Vec<&str> {
        let name = text.split('(').next().unwrap_or(text);
        name.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .collect()
    }
    let own = words_of_name(path);
    let is_other = |word: &&str| !own.contains(word) && own.iter().any(|one| same(one, word));
    words_of_name(given).iter().any(is_other)
}

/// Joins names to the name of a build target; `None` if one has type arguments.
pub(crate) fn target_name(names: &[Segment]) -> Option<String> {
    let mut text = String::new();
    for name in names {
        if name.arguments.is_some() {
            return None;
        }
        if !text.is_empty() {
            text.push(if name.nested { '+' } else { '.' });
        }
        text.push_str(&name.name);
    }
    Some(text)
}

/// Finds the types that names refer to, in key order. `plain`: the names in the form of a build target; `rooted`: the names are whole.
pub fn types(symbols: &Symbols, names: &[Segment], scope: Option<&str>, plain: Option<&str>, rooted: bool) -> (How, Vec<usize>) {
    let is_meant = |key: &str, wild: bool| matches_end(names, symbol_of(key), wild).filter(|whole| *whole || !rooted);
    if names.iter().any(|name| is_wild(&name.name)) {
        let matches = |at: &usize| in_scope(symbols.key(*at), scope) && is_meant(symbols.key(*at), true).is_some();
        return (How::Wildcard, (0..symbols.len()).filter(matches).collect());
    }
    if let Some(plain) = plain {
        let holding = symbols.ending(plain);
        let keys = holding.iter().map(|&at| symbols.key(at));
        let keys: Vec<String> = keys
            .filter(|key| !rooted || is_meant(key, false).is_some())
            .map(str::to_owned)
            .collect();
        let found = symbol::possible_items(plain, &keys);
        if !found.is_empty() {
            let is_whole = |key: &&str| *key == plain || matches_end(names, symbol_of(key), false) == Some(true);
            let whole: Vec<&str> = found.iter().copied().filter(is_whole).collect();
            let (how, found) = match whole.is_empty() {
                true => (How::Suffix, found),
                false => (How::Exact, whole),
            };
            let found = found.into_iter().filter_map(|key| symbols.find(key)).collect();
            return (how, prefer_best_scope(symbols, names, scope, found));
        }
    }
    let Some(last) = names.last() else {
        return (How::Suffix, Vec::new());
    };
    let keyed = symbols.ending(&last.name).into_iter().map(|at| (symbols.key(at), at));
    let found = best_matches(names, rooted, keyed.filter(|(key, _)| in_scope(key, scope)));
    let (how, found) = found.unwrap_or((How::Suffix, Vec::new()));
    (how, prefer_best_scope(symbols, names, scope, found))
}

/// Finds types by a pattern whose wildcards may span several names: `Backport*` for `Backport.System.Threading.Lock`. The fallback when no type
/// matches name by name.
pub(super) fn across_names(symbols: &Symbols, names: &[Segment], scope: Option<&str>) -> Vec<usize> {
    let wanted: Vec<&str> = names.iter().map(|name| name.name.as_str()).collect();
    let wanted = Glob::new(&wanted.join("."));
    let matches = |at: &usize| {
        let key = symbols.key(*at);
        let own: Vec<&str> = symbol_of(key)
            .split(['.', '+'])
            .map(|name| name.split('`').next().unwrap_or(name))
            .collect();
        in_scope(key, scope) && (0..own.len()).any(|start| wanted.matches(&own[start..].join(".")))
    };
    (0..symbols.len()).filter(matches).collect()
}

/// Narrows several matching types by preference: compiled by a project before compiled by none; names that begin in a namespace before names that
/// begin in an unnamed outer type; for names without type arguments, types without type parameters before generic ones. A mark (`@loose`, `` `1 ``)
/// or the outer type selects another one.
fn prefer_best_scope(symbols: &Symbols, names: &[Segment], scope: Option<&str>, mut found: Vec<usize>) -> Vec<usize> {
    let mut prefer = |is_preferred: &dyn Fn(&usize) -> bool| {
        if found.len() > 1 && found.iter().any(is_preferred) {
            found.retain(is_preferred);
        }
    };
    if scope.is_none() {
        prefer(&|&at| symbols.type_row(at).is_ok_and(|row| row.project.is_some()));
    }
    prefer(&|&at| !begins_in_type(symbol_of(symbols.key(at)), names.len()));
    if names
        .last()
        .is_some_and(|last| last.arguments.is_none() && !last.name.contains('`'))
    {
        prefer(&|&at| arity(symbols.key(at)) == 0);
    }
    found
}

/// Whether the first of the last `count` names of a symbol is nested in a type.
fn begins_in_type(symbol: &str, count: usize) -> bool {
    let before = symbol.rmatch_indices(['.', '+']).nth(count - 1);
    before.is_some_and(|(_, separator)| separator == "+")
}

/// Returns the best matches among items keyed by type: exact case before any case, whole names before endings, with the written number of type
/// arguments. `rooted`: the names are whole.
pub(crate) fn best_matches<'k, T>(names: &[Segment], rooted: bool, keyed: impl Iterator<Item = (&'k str, T)>) -> Option<(How, Vec<T>)> {
    let mut tiers: [Vec<(&str, T)>; 4] = Default::default();
    for (key, one) in keyed {
        if let Some(whole) = matches_end(names, symbol_of(key), false).filter(|whole| *whole || !rooted) {
            let other_case = !names.iter().all(|name| key.contains(&name.name));
            tiers[usize::from(other_case) * 2 + usize::from(!whole)].push((key, one));
        }
    }
    let (tier, mut found) = tiers.into_iter().enumerate().find(|(_, found)| !found.is_empty())?;
    let wanted = names.last().and_then(|last| last.arguments);
    let fits = |(key, _): &(&str, T)| wanted.is_none_or(|count| count == arity(key));
    if found.iter().any(fits) {
        found.retain(fits);
    }
    let how = if tier % 2 == 0 { How::Exact } else { How::Suffix };
    Some((how, found.into_iter().map(|(_, one)| one).collect()))
}

/// Returns the types that a name could mean besides the shown symbols, least surprising first: a whole name (`Program`) hides longer ones
/// (`N.Program`), and a type without type parameters generic ones. Those of a member's name declare a member of that name. Types that differ from a
/// shown one by their project only are not listed.
pub fn others_of_name<'s>(symbols: &'s Symbols, asked: &str, shown: &[&str]) -> Vec<&'s str> {
    let Some(path) = SymbolPath::parse(asked)
        .ok()
        .filter(|path| !path.is_wild() && !path.rooted && path.scope.is_none())
    else {
        return Vec::new();
    };
    let member = shown
        .iter()
        .find_map(|path| Some(Candidate::from_path(path, &[]).member_name()?.to_owned()));
    let all = path.segments.as_slice();
    let names = match all.split_last() {
        Some((_, before)) if member.is_some() && path.member.is_none() => before,
        _ => all,
    };
    let Some(last) = names.last() else { return Vec::new() };
    let own: Vec<&str> = shown
        .iter()
        .map(|path| symbol_of(halves(path).map_or(*path, |(key, _)| key)))
        .collect();
    let is_other = |at: &usize| {
        let key = symbols.key(*at);
        let is_written = names.iter().all(|name| key.contains(&name.name));
        let fits = last.arguments.is_none_or(|count| count == arity(key));
        let declares = || member.as_deref().is_none_or(|member| symbols.declares(key, member));
        is_written && fits && !own.contains(&symbol_of(key)) && matches_end(names, symbol_of(key), false).is_some() && declares()
    };
    let mut found: Vec<usize> = symbols.ending(&last.name).into_iter().filter(is_other).collect();
    found.sort_by_cached_key(|&at| rank(symbols.key(at), symbols.brief(at).access));
    let mut found: Vec<&str> = found.into_iter().map(|at| symbols.key(at)).collect();
    found.dedup_by(|one, other| symbol_of(one) == symbol_of(other));
    found
}

/// Returns the number of a type's own type parameters, by its key.
fn arity(key: &str) -> usize {
    let symbol = symbol_of(key);
    let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    last.split_once('`').and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}

fn in_scope(key: &str, scope: Option<&str>) -> bool {
    let Some(wanted) = scope else { return true };
    let own = key.split_once('@').map(|(_, own)| own);
    own.is_some_and(|own| same(own, wanted))
}

/// Returns a symbol without its last name.
pub(super) fn outer_part(key: &str) -> &str {
    let symbol = symbol_of(key);
    symbol.rfind(['.', '+']).map_or("", |at| &symbol[..at])
}

/// Whether a symbol ends with these names; `Some(true)` when it has no others. A `.` before a name also matches `+`.
pub(super) fn matches_end(names: &[Segment], symbol: &str, wild: bool) -> Option<bool> {
    let mut rest = symbol;
    for (at, name) in names.iter().enumerate().rev() {
        let start = rest.rfind(['.', '+']);
        let own = start.map_or(rest, |start| &rest[start + 1..]);
        if own.is_empty() || !name_matches(&name.name, own, wild) {
            return None;
        }
        match start {
            None => return (at == 0).then_some(true),
            Some(start) => {
                if name.nested && rest.as_bytes()[start] == b'.' {
                    return None;
                }
                rest = &rest[..start];
            }
        }
    }
    Some(false)
}

fn name_matches(wanted: &str, own: &str, wild: bool) -> bool {
    let own = match wanted.contains('`') {
        true => own,
        false => own.split('`').next().unwrap_or(own),
    };
    match wild && is_wild(wanted) {
        true => Glob::new(wanted).matches(own),
        false => same(own, wanted),
    }
}

/// Finds the namespaces of a path, by whole name or by ending.
pub(super) fn namespaces(symbols: &Symbols, path: &SymbolPath) -> Option<(How, Vec<String>)> {
    let wanted = path.plain.as_deref()?;
    if path.member.is_some() || path.parameters.is_some() || path.scope.is_some() || path.is_wild() {
        return None;
    }
    let known = symbols.namespaces();
    let whole = known.iter().filter(|known| same(known, wanted));
    let whole: Vec<String> = whole.cloned().collect();
    if !whole.is_empty() {
        return Some((How::Exact, whole));
    }
    if path.rooted {
        return None;
    }
    let ends = |known: &&String| strip_end(known, wanted).is_some_and(|before| before.ends_with('.'));
    let ending: Vec<String> = known.iter().filter(ends).cloned().collect();
    (!ending.is_empty()).then_some((How::Suffix, ending))
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn a_member_may_follow_the_project_of_its_type() {
        let mut sample = Sample::from_files(&[
            ("One/One.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"/>"),
            ("Two/Two.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"/>"),
            ("One/a.cs", "namespace P; class Q { void Go() { } void Go(int a) { } }"),
            ("Two/a.cs", "namespace P; class Q { void Come() { } }"),
        ]);
        let symbols = sample.names();
        for (text, expected) in [
            ("Q@One.Go(int)", "P.Q@One#Go(int)"),
            ("P.Q@Two.Come", "P.Q@Two#Come()"),
            ("P.Q@One.go", "P.Q@One#Go() P.Q@One#Go(int)"),
        ] {
            let found = resolve(&symbols, &mut sample, text, &Options::default()).expect("a resolution");
            let paths: Vec<String> = found.candidates.iter().map(|one| one.path.clone()).collect();
            assert_eq!((found.symbol.as_str(), paths.join(" ")), (text, expected.to_owned()));
            assert!(found.how.is_some_and(|how| how != How::Fuzzy), "{text}");
        }
    }

    #[test]
    fn a_whole_name_hides_others_that_are_told() {
        let text = "class Program { void Main() { } } namespace N { class Program { void Main() { } class Part { } } class Program<T> { } } namespace M { class program { } class Part { } }";
        let symbols = Sample::from_files(&[("a.cs", text)]).symbols();
        for (asked, shown, others) in [
            ("Program", "Program", "N.Program N.Program`1"),
            ("Program.Main", "Program#Main()", "N.Program"),
            ("Program#Main", "Program#Main()", "N.Program"),
            ("Program<int>", "N.Program`1", ""),
            ("Part", "M.Part", "N.Program+Part"),
            ("N.Program", "N.Program", "N.Program`1"),
            ("global::Program", "Program", ""),
            ("Main", "Program#Main()", ""),
            ("Prog*", "Program", ""),
        ] {
            assert_eq!(others_of_name(&symbols, asked, &[shown]).join(" "), others, "{asked}");
        }
    }

    #[test]
    fn a_star_crosses_dots_where_it_means_nothing_within_a_name() {
        let text = "namespace Backport.Deep { class Lock { } class Box<T> { class Lid { } } } namespace Other { class BackpackLock { } }";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        let symbols = sample.names();
        let mut meant = |pattern: &str| {
            let found = resolve(&symbols, &mut sample, pattern, &Options::default()).expect("a resolution");
            let paths: Vec<String> = found.candidates.iter().map(|one| one.path.clone()).collect();
            (found.how, paths.join(" "))
        };
        let wild = |paths: &str| (Some(How::Wildcard), paths.to_owned());
        assert_eq!(
            meant("Backport*"),
            wild("Backport.Deep.Lock Backport.Deep.Box`1 Backport.Deep.Box`1+Lid")
        );
        assert_eq!(meant("Deep*Lid"), wild("Backport.Deep.Box`1+Lid"));
        assert_eq!(meant("global::Deep*Lid"), (None, String::new()));
        // A match name by name takes precedence.
        assert_eq!(meant("Back*"), wild("Other.BackpackLock"));
    }
}
