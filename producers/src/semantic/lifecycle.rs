//! LIFECYCLE: how instances are created, what they refer to, how they end.

use super::body_facts::quote;
use super::extractive_sections::{Sections, TypeFacts, first_names};
use csharp::structure::ApiMember;

/// Fills in LIFECYCLE, with consequences for callers.
pub(super) fn lifecycle(known: &TypeFacts<'_>, sections: &mut Sections) {
    if known.is_data() {
        return;
    }
    construction(known, sections);
    let name = known.simple_name();
    for member in known
        .of_kind("property")
        .chain(known.of_kind("field"))
        .filter(|member| member.modifiers.iter().any(|word| word == "static"))
    {
        if returns(member, name) {
            sections.lifecycle.push(format!("`{}` holds a shared instance.", member.name));
        }
    }
    if known.members.iter().any(|member| member.name == ".cctor") {
        sections
            .lifecycle
            .push("A static constructor runs before first use (`.cctor`).".to_owned());
    }
    for (interface, method) in [("IDisposable", "Dispose"), ("IAsyncDisposable", "DisposeAsync")] {
        if known.has_base(interface) {
            sections.lifecycle.push(format!("Ends with `{method}` ({interface})."));
            let form = if method == "Dispose" { "using" } else { "await using" };
            sections
                .recommendations
                .push(format!("Dispose every instance: `{form}` or a call of `{method}`."));
        }
    }
    if known.members.iter().any(|member| member.kind == "finalizer") {
        sections
            .lifecycle
            .push(format!("A finalizer (`~{name}`) runs when it was not released before."));
    }
    for event in known.of_kind("event") {
        sections.lifecycle.push(format!("Raises `{}` to its subscribers.", event.name));
    }
    if known.of_kind("event").next().is_some() {
        sections
            .recommendations
            .push("Unsubscribe from its events when a subscriber goes away before it.".to_owned());
    }
}

fn construction(known: &TypeFacts<'_>, sections: &mut Sections) {
    let name = known.simple_name();
    if known.has_modifier("static") {
        sections.lifecycle.push("Static: never constructed.".to_owned());
        return;
    }
    let api: Vec<&ApiMember> = known.of_kind("constructor").collect();
    let primary = known
        .structure
        .header
        .signature
        .split_once('(')
        .and_then(|(_, rest)| rest.rsplit_once(')'))
        .map(|(parameters, _)| parameters.trim());
    for (parameters, access) in primary
        .map(|parameters| (parameters, ""))
        .into_iter()
        .chain(api.iter().map(|member| (parameters(&member.signature), access(member))))
    {
        let with = if parameters.is_empty() {
            "without arguments".to_owned()
        } else {
            format!("with `{}`", quote(parameters))
        };
        sections.lifecycle.push(format!("Constructed {with}{access} (`new {name}`)."));
    }
    let hidden = known
        .members
        .iter()
        .any(|member| member.kind == "constructor" && member.name == ".ctor" && !member.accessible);
    let factories: Vec<&ApiMember> = known
        .of_kind("method")
        .filter(|member| member.modifiers.iter().any(|word| word == "static") && returns(member, name))
        .collect();
    for factory in &factories {
        sections.lifecycle.push(format!(
            "`{}` makes instances from `({})`.",
            factory.name,
            quote(parameters(&factory.signature))
        ));
    }
    if api.is_empty() && primary.is_none() {
        if hidden {
            sections
                .lifecycle
                .push(format!("Cannot be constructed from outside: no accessible `new {name}`."));
            if let Some(factory) = factories.first() {
                sections.recommendations.push(format!("Get instances from `{}`.", factory.name));
            }
        } else if known.structure.header.kind.contains("struct") {
            sections.lifecycle.push(format!("A value: `default({name})` is an instance too."));
        } else {
            sections
                .lifecycle
                .push(format!("Constructed without arguments (implicit `new {name}`)."));
        }
    }
    if known.has_modifier("abstract") {
        sections.lifecycle.push("Abstract: lives as a part of its heirs.".to_owned());
    }
    required_members(known, sections);
    start_methods(known, sections);
}

/// Lists the members that must be set on construction.
fn required_members(known: &TypeFacts<'_>, sections: &mut Sections) {
    let required: Vec<&str> = known
        .structure
        .members
        .iter()
        .filter(|member| member.modifiers.iter().any(|word| word == "required"))
        .map(|member| member.name.as_str())
        .collect();
    if !required.is_empty() {
        sections
            .lifecycle
            .push(format!("Must be set on construction: {}.", first_names(required.into_iter())));
    }
}

/// Lists the methods that bring an instance into operation.
fn start_methods(known: &TypeFacts<'_>, sections: &mut Sections) {
    let methods: Vec<&ApiMember> = known
        .of_kind("method")
        .filter(|member| !member.modifiers.iter().any(|word| word == "static"))
        .filter(|member| {
            matches!(
                member.name.as_str(),
                "Initialize" | "InitializeAsync" | "Start" | "StartAsync" | "Open" | "OpenAsync" | "Connect" | "ConnectAsync"
            )
        })
        .collect();
    for member in methods {
        sections.lifecycle.push(format!("`{}` brings it into operation.", member.name));
    }
}

fn access(member: &ApiMember) -> &'static str {
    if member.modifiers.iter().any(|word| word == "protected") {
        " by heirs"
    } else {
        ""
    }
}

/// Returns the parameter list of a signature, without parentheses.
fn parameters(signature: &str) -> &str {
    signature
        .split_once('(')
        .and_then(|(_, rest)| rest.rsplit_once(')'))
        .map_or("", |(inner, _)| inner.trim())
}

/// Whether a member returns the type `name` (or a task of it).
fn returns(member: &ApiMember, name: &str) -> bool {
    let before = member.signature.split(&format!(" {}", member.name)).next().unwrap_or("");
    let written = before.rsplit(' ').next().unwrap_or("").trim_end_matches('?');
    let inner = written
        .strip_prefix("Task<")
        .or_else(|| written.strip_prefix("ValueTask<"))
        .and_then(|rest| rest.strip_suffix('>'))
        .unwrap_or(written);
    let inner = inner.trim_end_matches('?');
    inner == name || inner.strip_prefix(name).is_some_and(|rest| rest.starts_with('<'))
}
