//! Short names: resolves a text on the command line to an item of a set.
//!
//! A text matches an item that equals it, or that ends with it after a separator (`.`, `+`, `/`). The ending may omit the item's arity mark
//! (`` `2 ``) or project mark (`@Name`), but an ending of the project mark alone never matches. Case counts only if needed to decide. Of
//! several items, prefers in this order: one with that whole name, one that a project compiles (`@loose`: none does), one in no other type
//! (`Outer+Name`), one without type parameters. A text that is still ambiguous is an error that lists the items, never a guess.

use crate::values::case_folding::{same, strip_end};

/// Resolution of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution<'a> {
    /// Exactly this item.
    One(&'a str),
    Many(Vec<&'a str>),
    /// No item.
    None,
}

/// Resolves `wanted` among sorted `items`.
pub fn resolve<'a>(wanted: &str, items: &'a [String]) -> Resolution<'a> {
    let mut found = possible_items(wanted, items);
    let is_whole = |item: &str| without_arity(unmarked(item)).unwrap_or(unmarked(item)).len() == wanted.len();
    let is_compiled = |item: &str| !item.ends_with("@loose");
    let is_outer = |item: &str| {
        let name = without_arity(unmarked(item)).unwrap_or(unmarked(item));
        !name[..name.len().saturating_sub(wanted.len())].ends_with('+')
    };
    let is_plain = |item: &str| without_arity(unmarked(item)).is_none();
    // A written mark decides by itself.
    let preferences: &[&dyn Fn(&str) -> bool] = match wanted.contains(['@', '`']) {
        true => &[],
        false => &[&is_whole, &is_compiled, &is_outer, &is_plain],
    };
    for is_preferred in preferences {
        if found.len() > 1 && found.iter().any(|item| is_preferred(item)) {
            found.retain(|item| is_preferred(item));
        }
    }
    match found.as_slice() {
        [] => Resolution::None,
        [one] => Resolution::One(one),
        _ => Resolution::Many(found),
    }
}

/// Returns all of the sorted `items` that `wanted` may match; only itself, if it is one.
pub fn possible_items<'a>(wanted: &str, items: &'a [String]) -> Vec<&'a str> {
    if let Ok(at) = items.binary_search_by(|item| item.as_str().cmp(wanted)) {
        return vec![&items[at]];
    }
    let mut endings: Vec<&str> = items
        .iter()
        .map(String::as_str)
        .filter(|item| ends_with(item, wanted, true))
        .collect();
    if endings.is_empty() {
        endings = items
            .iter()
            .map(String::as_str)
            .filter(|item| ends_with(item, wanted, false))
            .collect();
    }
    endings
}

/// Returns a name without its parameter list.
pub fn name_of(item: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in item.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            // Parentheses in type arguments are tuples: `IMap<(int, int)>.Get(int)`.
            '(' if depth == 0 && at > 0 => return &item[..at],
            _ => {}
        }
    }
    item
}

/// Resolves `wanted` among sorted names that may end in a parameter list: `Get` matches `Get(string)`, too, and even `IStore.Get(string)`.
/// Otherwise as [`resolve`].
pub fn resolve_inner<'a>(wanted: &str, items: &'a [String]) -> Resolution<'a> {
    if let Ok(at) = items.binary_search_by(|item| item.as_str().cmp(wanted)) {
        return Resolution::One(&items[at]);
    }
    let means = |item: &str, exact: bool| {
        let name = name_of(item);
        let plain = name.find('`').map(|at| &name[..at]);
        let short = name.rfind('.').map(|at| &item[at + 1..]);
        let alike = |form: &str| form == wanted || !exact && same(form, wanted);
        alike(item) || short.is_some_and(alike) || [Some(name), plain].into_iter().flatten().any(|form| is_ending(form, wanted, exact))
    };
    for exact in [true, false] {
        let found: Vec<&str> = items.iter().map(String::as_str).filter(|item| means(item, exact)).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Resolution::One(one),
            _ => return Resolution::Many(found),
        }
    }
    Resolution::None
}

fn ends_with(item: &str, wanted: &str, exact: bool) -> bool {
    let unplaced = without_project(item);
    // The name of a project is no ending of the names of its types.
    let whole = Some(item).filter(|_| unplaced.is_none() || wanted.contains('@'));
    let forms = [whole, unplaced, without_arity(unplaced.unwrap_or(item))];
    forms.into_iter().flatten().any(|form| is_ending(form, wanted, exact))
}

/// Returns the item without its project mark, which may contain separators. The text before a mark is a name, never a path.
fn without_project(item: &str) -> Option<&str> {
    let (name, _) = item.split_once('@')?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

fn unmarked(item: &str) -> &str {
    without_project(item).unwrap_or(item)
}

/// Returns the item without the arity mark at its end.
fn without_arity(item: &str) -> Option<&str> {
    let segment = item.rfind(['.', '+', '/']).map_or(0, |at| at + 1);
    item[segment..].find('`').map(|mark| &item[..segment + mark])
}

fn is_ending(item: &str, wanted: &str, exact: bool) -> bool {
    let before = if exact {
        item.strip_suffix(wanted)
    } else {
        strip_end(item, wanted)
    };
    !wanted.is_empty() && before.is_some_and(|before| before.is_empty() || before.ends_with(['.', '+', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_endings_resolve_to_items() {
        let items: Vec<String> = [
            "A.Cache`2", "A.Cache`2+Entry", "A.Node", "A.NodeStore", "B.Node", "b.other", "docs/x.md",
        ]
        .map(String::from)
        .to_vec();
        assert_eq!(resolve("A.Node", &items), Resolution::One("A.Node"));
        assert_eq!(resolve("NodeStore", &items), Resolution::One("A.NodeStore"));
        assert_eq!(resolve("Store", &items), Resolution::None);
        assert_eq!(resolve("Node", &items), Resolution::Many(vec!["A.Node", "B.Node"]));
        assert_eq!(resolve("Cache", &items), Resolution::One("A.Cache`2"));
        assert_eq!(resolve("Entry", &items), Resolution::One("A.Cache`2+Entry"));
        assert_eq!(resolve("nodestore", &items), Resolution::One("A.NodeStore"));
        assert_eq!(resolve("größe", &["A.GRÖßE".to_owned()]), Resolution::One("A.GRÖßE"));
        assert_eq!(resolve("x.md", &items), Resolution::One("docs/x.md"));
        assert_eq!(resolve("", &items), Resolution::None);
    }

    #[test]
    fn the_plainest_of_several_items_is_chosen() {
        let one = |wanted: &str, items: &[&str], expected: &str| {
            let items: Vec<String> = items.iter().map(|item| (*item).to_owned()).collect();
            assert_eq!(resolve(wanted, &items), Resolution::One(expected), "{wanted} of {items:?}");
        };
        one("Builder", &["P.Builder", "P.Builder`1", "P.Builder`2"], "P.Builder");
        one("P.Builder", &["P.Builder@A", "P.Builder`1@A"], "P.Builder@A");
        one("Builder`1", &["P.Builder", "P.Builder`1", "P.Builder`2"], "P.Builder`1");
        one("program", &["Program", "X.Program"], "Program");
        one("Node", &["N.Node@Core", "N.Node@loose"], "N.Node@Core");
        one("Entry", &["A.Cache+Entry", "A.Entry"], "A.Entry");
        let several = ["P.Builder`1", "P.Builder`2"].map(String::from);
        assert_eq!(resolve("Builder", &several), Resolution::Many(vec!["P.Builder`1", "P.Builder`2"]));
    }

    #[test]
    fn parameters_may_be_left_out() {
        let items: Vec<String> = [
            ".ctor()", "Count", "Get(System.Text.Rune)", "Get(string)", "IList.Item", "Map`1(T)", "One(A.B)", "Shelf.Take(int)",
        ]
        .map(String::from)
        .to_vec();
        assert_eq!(resolve_inner("Get(string)", &items), Resolution::One("Get(string)"));
        assert_eq!(
            resolve_inner("Get", &items),
            Resolution::Many(vec!["Get(System.Text.Rune)", "Get(string)"])
        );
        assert_eq!(resolve_inner("one", &items), Resolution::One("One(A.B)"));
        assert_eq!(resolve_inner("Map", &items), Resolution::One("Map`1(T)"));
        assert_eq!(resolve_inner("Item", &items), Resolution::One("IList.Item"));
        assert_eq!(resolve_inner("Take", &items), Resolution::One("Shelf.Take(int)"));
        assert_eq!(resolve_inner("Take(int)", &items), Resolution::One("Shelf.Take(int)"));
        for nothing in ["", "B", "Rune", "int", "B)", "Text.Rune)", "("] {
            assert_eq!(resolve_inner(nothing, &items), Resolution::None, "{nothing}");
        }
    }

    #[test]
    fn project_marks_may_be_left_out() {
        let items: Vec<String> = [
            "P.Only`1@Some.Cli", "P.Q@Some.Cli", "P.Q@src/Dup/Some.Core.csproj", "a/@scope/x.md", "a/b@2/y.md",
        ]
        .map(String::from)
        .to_vec();
        assert_eq!(
            resolve("P.Q", &items),
            Resolution::Many(vec!["P.Q@Some.Cli", "P.Q@src/Dup/Some.Core.csproj"])
        );
        assert_eq!(
            resolve("Q", &items),
            Resolution::Many(vec!["P.Q@Some.Cli", "P.Q@src/Dup/Some.Core.csproj"])
        );
        assert_eq!(resolve("Q@Some.Cli", &items), Resolution::One("P.Q@Some.Cli"));
        assert_eq!(resolve("Only", &items), Resolution::One("P.Only`1@Some.Cli"));
        assert_eq!(resolve("Only`1", &items), Resolution::One("P.Only`1@Some.Cli"));
        for nothing in ["a", "a/b", "Cli", "Core.csproj", "Some.Core.csproj"] {
            assert_eq!(resolve(nothing, &items), Resolution::None, "{nothing}");
        }
    }
}
