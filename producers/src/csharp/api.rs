//! `csharp/api`: the public API of the whole workspace as one Markdown text, small enough to be read at once.
//!
//! By namespace: each public type with its bases, its members indented below, first sentences of documentation behind an em dash (left
//! out with the parameter `docs = false`). What stands here is public unless it says `protected`, so the word is left out; a sentence
//! that another overload already has is shown as `″`; attributes that only speak to compilers and debuggers are left out. Hashes and
//! identifiers are in the outlines of the types.

use super::outline_info::{self, Info, InfoMember};
use super::structure::{check_flags, flag};
use super::types::symbol_of;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use std::collections::{BTreeMap, BTreeSet};

/// Attributes that change nothing for a caller.
const NO_API: [&str; 14] = [
    "AggressiveInlining",
    "AsyncStateMachine",
    "CompilerGenerated",
    "DebuggerBrowsable",
    "DebuggerDisplay",
    "DebuggerHidden",
    "DebuggerNonUserCode",
    "DebuggerStepThrough",
    "DebuggerTypeProxy",
    "EditorBrowsable",
    "ExcludeFromCodeCoverage",
    "GeneratedCode",
    "MethodImpl",
    "SuppressMessage",
];

/// The producer `csharp/api`.
#[derive(Debug)]
pub struct Api;

impl Producer for Api {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/api", 1)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &["docs"])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let all: Vec<Info> = inputs.all("types").iter().map(outline_info::read).collect::<Result<_, _>>()?;
        Ok(Output::new(markdown(&all, flag(inputs.params, "docs", true))))
    }
}

/// The public API of these types.
pub fn markdown(all: &[Info], docs: bool) -> String {
    let visible: BTreeSet<&str> = all
        .iter()
        .filter(|info| matches!(info.accessibility.as_str(), "public" | "protected" | "protected internal"))
        .map(|info| info.fqn.as_str())
        .collect();
    let mut spaces: BTreeMap<&str, Vec<&Info>> = BTreeMap::new();
    for info in all.iter().filter(|info| is_visible(&info.fqn, &visible)) {
        spaces.entry(&info.namespace).or_default().push(info);
    }
    let mut text = String::new();
    for (namespace, types) in spaces {
        let name = if namespace.is_empty() { "global namespace" } else { namespace };
        text.push_str(&format!("{}## {name}\n", if text.is_empty() { "" } else { "\n" }));
        for info in types {
            write_type(&mut text, info, docs);
        }
    }
    text
}

/// Whether a type and all types around it are visible.
fn is_visible(key: &str, visible: &BTreeSet<&str>) -> bool {
    let symbol = symbol_of(key);
    let scope = &key[symbol.len()..];
    let outer = symbol.match_indices('+').map(|(at, _)| format!("{}{scope}", &symbol[..at]));
    visible.contains(key)
        && outer
            .into_iter()
            .all(|outer| visible.contains(outer.as_str()) || visible.contains(symbol_of(&outer)))
}

fn write_type(text: &mut String, info: &Info, docs: bool) {
    let symbol = symbol_of(&info.fqn);
    let path = symbol
        .strip_prefix(info.namespace.as_str())
        .unwrap_or(symbol)
        .trim_start_matches('.');
    // A nested type is shown with its path: `Outer.Inner` instead of `Inner`.
    let around = path
        .rsplit_once('+')
        .map(|(outer, _)| format!(" (in {})", outer.replace('+', ".")))
        .unwrap_or_default();
    let mut line = declaration(&info.condition, &info.attributes, &info.signature);
    if !info.bases.is_empty() {
        line.push_str(&format!(" : {}", info.bases.join(", ")));
    }
    for constraint in &info.constraints {
        line.push(' ');
        line.push_str(constraint);
    }
    let doc = sentence(&info.summary, docs);
    text.push_str(&format!("{line}{around}{doc}\n"));
    if info.kind == "enum" && !docs {
        let names: Vec<&str> = info.members.iter().map(|member| member.signature.as_str()).collect();
        if !names.is_empty() {
            text.push_str(&format!("  {}\n", names.join(", ")));
        }
        return;
    }
    let mut told: BTreeSet<(&str, &str)> = BTreeSet::new();
    // Nested types stand on lines of their own.
    for member in info.members.iter().filter(|member| !member.hidden && !member.key.starts_with('+')) {
        let doc = match sentence(&member.summary, docs) {
            doc if doc.is_empty() || told.insert((&member.name, &member.summary)) => doc,
            _ => " — ″".to_owned(),
        };
        text.push_str(&format!("  {}{doc}\n", of_member(member)));
    }
}

fn of_member(member: &InfoMember) -> String {
    declaration(&member.condition, &member.attributes, &member.signature)
}

fn declaration(condition: &str, attributes: &[String], signature: &str) -> String {
    let mut line = if condition.is_empty() {
        String::new()
    } else {
        format!("#if {condition}: ")
    };
    for attribute in attributes {
        let name = attribute.split(['(', '<']).next().unwrap_or(attribute);
        let name = name.rsplit(['.', ' ']).next().unwrap_or(name);
        if !NO_API.contains(&name.strip_suffix("Attribute").unwrap_or(name)) {
            line.push_str(&format!("[{attribute}] "));
        }
    }
    line.push_str(signature.strip_prefix("public ").unwrap_or(signature));
    line
}

fn sentence(summary: &str, docs: bool) -> String {
    if docs && !summary.is_empty() {
        format!(" — {summary}")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{World, run};
    use super::*;

    fn of(text: &str, params: &str) -> String {
        let (syntax, _) = super::super::parse::read(text, &BTreeSet::new(), "a.cs");
        let world = World::new(&[("a.cs", syntax)], &[]);
        let bytes = run(&Api, "", params, vec![("types", world.each("outline-info"))])
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
            "## N.M\ndelegate void Done<T>(T x)\n[Serializable] abstract class Store<T> : IStore where T : class — Keeps.\n  protected virtual void OnChange()\n  T Get(int key) — Gets one.\n  T Get(string key) — ″\nenum Mode (in Store`1)\n  Fast\n  Slow\n"
        );
        assert_eq!(
            of(TEXT, r#"{"docs":false}"#),
            "## N.M\ndelegate void Done<T>(T x)\n[Serializable] abstract class Store<T> : IStore where T : class\n  protected virtual void OnChange()\n  T Get(int key)\n  T Get(string key)\nenum Mode (in Store`1)\n  Fast, Slow\n"
        );
    }
}
