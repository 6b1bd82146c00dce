//! Finds the declaration in a file that a name refers to. Names follow the rules of `resolve`: the whole name or its end, with or without type
//! arguments or arity mark, a member after a dot or `#`, with or without parameters; but letters count as they are.

use super::symbol::Refused;
use crate::code_text::declared::Declared;
use crate::symbols::matching::{best_matches, differs_in_case, target_name};
use crate::symbols::overloads::{Overload, fitting, named_as_type};
use crate::symbols::path::SymbolPath;
use std::collections::BTreeSet;

/// Finds the one declaration that a name refers to. Fails when the name matches no or several declarations, with the candidates.
pub(super) fn find_declaration<'d>(all: &'d [Declared], name: &str) -> Result<&'d Declared, Refused> {
    let wanted = name.trim().trim_start_matches("//types/");
    let plain = |name: &str| -> String { name.chars().filter(|c| !c.is_whitespace()).collect() };
    let exact: Vec<&Declared> = all.iter().filter(|one| plain(&one.is.name) == plain(wanted)).collect();
    let found = match exact.is_empty() {
        false => exact,
        true => declarations_of_path(all, wanted),
    };
    match found.as_slice() {
        [one] if differs_in_case(wanted, &one.is.name) => Err(Refused {
            candidates: vec![one.is.name.clone()],
            ..Refused::new(
                format!("nothing in the file is named {wanted}: edits distinguish upper and lower case"),
                &format!("name {}", one.is.name),
            )
        }),
        [one] => Ok(one),
        [] => {
            let mut names: Vec<String> = all.iter().map(|one| one.is.name.clone()).collect();
            names.sort_by_key(|name| strangeness(name, wanted));
            names.truncate(10);
            Err(Refused {
                candidates: names,
                ..Refused::new(
                    format!("nothing in the file is named {wanted}"),
                    "name a type or a member that the file declares",
                )
            })
        }
        several => Err(Refused {
            candidates: several.iter().map(|one| format!("{} at line {}", one.is.name, one.line)).collect(),
            ..Refused::new(
                format!("{} declarations in the file are called {wanted}", several.len()),
                "name one with its type and parameters; parts of a type in one file are edited with `replace`",
            )
        }),
    }
}

/// Returns the declarations that a path matches; types take precedence over members.
fn declarations_of_path<'d>(all: &'d [Declared], wanted: &str) -> Vec<&'d Declared> {
    let Ok(path) = SymbolPath::parse(wanted) else { return Vec::new() };
    if path.is_wild() {
        return Vec::new();
    }
    let types = |names| {
        let types = all.iter().filter(|one| one.owner.is_empty());
        best_matches(names, path.rooted, types.map(|one| (one.is.name.as_str(), one))).map_or_else(Vec::new, |(_, found)| found)
    };
    let parameters = path.parameters.as_deref();
    let of = |owners: BTreeSet<&str>, name: &str| -> Vec<&'d Declared> {
        owners.into_iter().flat_map(|owner| members(all, owner, name, parameters)).collect()
    };
    let named = |types: Vec<&'d Declared>| types.into_iter().map(|one| one.is.name.as_str()).collect::<BTreeSet<_>>();
    if let Some(member) = &path.member {
        return of(named(types(&path.segments)), member);
    }
    if parameters.is_none() {
        let found = types(&path.segments);
        if !found.is_empty() {
            return found;
        }
    }
    // The last name is a member's; an explicit implementation includes some of the names before it.
    for at in (1..path.segments.len()).rev() {
        let (before, name) = path.segments.split_at(at);
        let bare: Vec<&str> = name.iter().map(|one| one.name.as_str()).collect();
        let name = target_name(name).unwrap_or_else(|| bare.join("."));
        let found = of(named(types(before)), &name);
        if !found.is_empty() {
            return found;
        }
    }
    match path.segments.as_slice() {
        [name] if !path.rooted => of(all.iter().map(|one| one.owner.as_str()).collect(), &name.name),
        _ => Vec::new(),
    }
}

/// Returns the members of a type that a name matches.
fn members<'d>(all: &'d [Declared], owner: &str, name: &str, parameters: Option<&[String]>) -> Vec<&'d Declared> {
    let key = |one: &Declared| one.is.name[owner.len() + 1..].to_owned();
    let own: Vec<&Declared> = all.iter().filter(|one| !owner.is_empty() && one.owner == owner).collect();
    let rows: Vec<Overload> = own
        .iter()
        .map(|one| Overload {
            key: key(one),
            name: one.simple.clone(),
            ..Overload::default()
        })
        .collect();
    let keys = |name: &str| -> BTreeSet<String> { fitting(&rows, name, parameters).into_iter().map(|one| one.key).collect() };
    let mut fitting = keys(name);
    if let Some(name) = named_as_type(owner, name).filter(|_| fitting.is_empty()) {
        fitting = keys(name);
    }
    own.into_iter().filter(|one| fitting.contains(&key(one))).collect()
}

fn strangeness(name: &str, wanted: &str) -> usize {
    let tail = |text: &str| text.rsplit(['.', '#', '+']).next().unwrap_or(text).to_lowercase();
    let (a, b) = (tail(name), tail(wanted));
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    a.len() + b.len() - 2 * common.min(a.len()).min(b.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_text::declared::list_declarations;
    use producers::csharp::parse;
    use std::collections::BTreeSet;

    const TEXT: &str = "namespace N.M;\nclass LruCache<TKey, TValue> {\n    LruCache(int size) { }\n    ~LruCache() { }\n    void Clear() { }\n    TValue Get(TKey key) => 1;\n    void Map<T>(T by) { }\n    void IFoo.Run() { }\n    int this[int at] => 1;\n    class Inner { int X; }\n    class Inner<T> { int Y; }\n}\nclass Solo { int X; int x; void Over(int a) { } void Over(string a) { } }\n";

    fn names(wanted: &str) -> Vec<String> {
        let all = list_declarations(TEXT, &parse::read(TEXT, &BTreeSet::new(), "").0);
        match find_declaration(&all, wanted) {
            Ok(one) => vec![one.is.name.clone()],
            Err(refused) if refused.why.starts_with("nothing") => Vec::new(),
            Err(refused) => refused.candidates,
        }
    }

    #[test]
    fn names_are_those_of_resolve() {
        let cache = "N.M.LruCache`2";
        for (wanted, is) in [
            ("LruCache", ""),
            ("M.LruCache<TKey,TValue>", ""),
            ("global::N.M.LruCache", ""),
            ("LruCache#Clear", "#Clear()"),
            ("LruCache.Clear", "#Clear()"),
            ("LruCache`2.Clear()", "#Clear()"),
            ("LruCache<TKey,TValue>.Clear", "#Clear()"),
            ("LruCache<K, V>#Get(TKey)", "#Get(TKey)"),
            ("N.M.LruCache.Map<T>", "#Map`1(T)"),
            ("LruCache#Map`1(T)", "#Map`1(T)"),
            ("LruCache.IFoo.Run", "#IFoo.Run()"),
            ("LruCache#Run", "#IFoo.Run()"),
            ("LruCache#this[int]", "#this[](int)"),
            ("LruCache.Inner", "+Inner"),
            ("LruCache<K,V>.Inner<T>.Y", "+Inner`1#Y"),
            ("LruCache+Inner#X", "+Inner#X"),
            ("Inner.X", "+Inner#X"),
            ("Clear", "#Clear()"),
            ("LruCache#LruCache(int)", "#.ctor(int)"),
            ("LruCache<K, V>.LruCache(int)", "#.ctor(int)"),
            ("N.M.LruCache.LruCache", "#.ctor(int)"),
            ("LruCache#~LruCache", "#Finalize()"),
            ("LruCache.~LruCache()", "#Finalize()"),
        ] {
            let found = names(wanted);
            // Two declarations that differ only in their arguments are both listed.
            match wanted {
                "LruCache.Inner" => assert!(
                    found.first().is_some_and(|one| one.starts_with(&format!("{cache}{is}"))),
                    "{found:?}"
                ),
                _ => assert_eq!(found, [format!("{cache}{is}")], "{wanted}"),
            }
        }
        let refused = find_declaration(
            &list_declarations(TEXT, &parse::read(TEXT, &BTreeSet::new(), "").0),
            "lrucache.clear",
        )
        .map(|one| one.is.name.clone());
        assert_eq!(
            refused.map_err(|why| why.candidates),
            Err(vec!["N.M.LruCache`2#Clear()".to_owned()])
        );
        assert_eq!(names("Solo.X"), ["N.M.Solo#X"]);
        assert_eq!(names("Solo.x"), ["N.M.Solo#x"]);
        assert_eq!(names("Solo.Over").len(), 2);
        for none in [
            "global::M.LruCache", "LruCache#Nope", "Lru*", "Cache", "LruCache#Get(int)", "LruCache#LruCache(string)", "LruCache#~Inner",
            "", "A<",
        ] {
            assert_eq!(names(none), Vec::<String>::new(), "{none}");
        }
    }
}
