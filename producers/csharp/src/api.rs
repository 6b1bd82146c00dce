//! `csharp/api`: the public API of the whole workspace as one Markdown text, small enough to be read at once.
//!
//! Grouped by namespace: each public type with its bases, and its members indented below. The first sentence of documentation follows an em
//! dash (omitted with the parameter `docs = false`). Each type's lines are its row of `//chunks/C:api-sections`; this producer only omits
//! types nested in hidden types and joins the lines.

use super::api_sections::Section;
use super::flags::{check_flags, flag};
use super::types::symbol_of;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::table::Table;
use std::collections::BTreeMap;

/// The producer `csharp/api`.
#[derive(Debug)]
pub struct Api;

impl Producer for Api {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/api", 3)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &["docs"])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let broken = || Failure::permanent("an input 'sections' is not the table of //chunks/C:api-sections");
        let mut rows: BTreeMap<&str, &[u8]> = BTreeMap::new();
        for chunk in inputs.all("sections") {
            rows.extend(Table::open(&chunk.bytes).ok_or_else(broken)?.rows());
        }
        let mut spaces: BTreeMap<&str, Vec<Section<'_>>> = BTreeMap::new();
        for (_, row) in rows.iter().filter(|(key, _)| is_visible(key, &rows)) {
            let section = Section::from_row(std::str::from_utf8(row).map_err(|_| broken())?).ok_or_else(broken)?;
            spaces.entry(section.namespace).or_default().push(section);
        }
        let docs = flag(inputs.params, "docs", true);
        let mut text = String::with_capacity(rows.values().map(|row| row.len()).sum());
        for (namespace, sections) in spaces {
            let name = if namespace.is_empty() { "global namespace" } else { namespace };
            text.push_str(&format!("{}## {name}\n", if text.is_empty() { "" } else { "\n" }));
            sections.iter().for_each(|section| section.append_lines(&mut text, docs));
        }
        Ok(Output::from_long_text(text))
    }
}

/// Whether all enclosing types of a visible type are visible.
fn is_visible(key: &str, visible: &BTreeMap<&str, &[u8]>) -> bool {
    let symbol = symbol_of(key);
    let scope = &key[symbol.len()..];
    symbol.match_indices('+').all(|(at, _)| {
        let outer = &symbol[..at];
        visible.contains_key(&*format!("{outer}{scope}")) || visible.contains_key(outer)
    })
}

#[cfg(test)]
mod tests {
    use super::super::api_sections::ApiSections;
    use super::super::fixture::{World, blob, run};
    use super::*;
    use std::collections::BTreeSet;

    fn of(text: &str, params: &str) -> String {
        let (syntax, _) = super::super::parse::read(text, &BTreeSet::new(), "a.cs");
        let world = World::new(&[("a.cs", syntax)], &[]);
        let roles = vec![("types", world.each("outline-info"))];
        let sections = run(&ApiSections, "", "{}", roles).expect("sections").bytes;
        let bytes = run(&Api, "", params, vec![("sections", vec![blob("", sections)])])
            .expect("an outline")
            .bytes;
        String::from_utf8(bytes).expect("text")
    }

    const TEXT: &str = r#"
namespace N.M;
/// <summary>Keeps. Always.</summary>
[Serializable, DebuggerDisplay("x")] public abstract class Store<T> : IStore where T : class
{
    /// <summary>Gets one.</summary>
    public T Get(string key) => null;
    /// <summary>Gets one.</summary>
    [System.Runtime.CompilerServices.MethodImpl(256)] public T Get(int key) => null;
    protected virtual void OnChange() { }
    internal void Hidden() { }
    public enum Mode { Fast, Slow }
    class Secret { public class Inner { } }
}
interface IStore { }
public delegate void Done<T>(T x);
"#;

    #[test]
    fn public_types_by_namespace() {
        assert_eq!(
            of(TEXT, "{}"),
            "## N.M\ndelegate void Done<T>(T x)\n[Serializable] abstract class Store<T> : IStore where T : class — Keeps.\n  T Get(string key) — Gets one.\n  T Get(int key) — ″\n  protected virtual void OnChange()\nenum Mode (in Store`1)\n  Fast = 0\n  Slow = 1\n"
        );
        assert_eq!(
            of(TEXT, r#"{"docs":false}"#),
            "## N.M\ndelegate void Done<T>(T x)\n[Serializable] abstract class Store<T> : IStore where T : class\n  T Get(string key)\n  T Get(int key)\n  protected virtual void OnChange()\nenum Mode (in Store`1)\n  Fast = 0, Slow = 1\n"
        );
    }
}
