//! The five sections of a semantic file, drawn from facts of the code: no model, and no guess without its reason.

use super::body_facts::{BodyFacts, Throw, facts, quote};
use csharp::implementation::{ImplHeader, ImplMember};
use csharp::outline_info::is_interface_name;
use csharp::render::doc;
use csharp::structure::{ApiMember, TypeStructure};
use csharp::types::TypeRow;
use csharp::xmldoc::Docs;

/// The five sections, each a list of claims in order.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    pub(crate) role: Vec<String>,
    pub(crate) lifecycle: Vec<String>,
    pub(crate) edge_cases: Vec<String>,
    pub(crate) limitations: Vec<String>,
    pub(crate) recommendations: Vec<String>,
}

/// All facts about one type.
pub(crate) struct TypeFacts<'a> {
    pub(crate) structure: &'a TypeStructure,
    pub(crate) header: &'a ImplHeader,
    pub(crate) members: &'a [ImplMember],
    pub(crate) docs: Option<&'a Docs>,
    pub(crate) row: &'a TypeRow,
    pub(crate) dependencies: usize,
}

/// Returns the name of a member in a claim.
fn name_in_claim(name: &str, type_name: &str) -> String {
    match name {
        ".ctor" => format!("new {type_name}"),
        ".cctor" => format!("static {type_name}"),
        "Finalize" => format!("~{type_name}"),
        other => other.to_owned(),
    }
}

impl TypeFacts<'_> {
    pub(super) fn simple_name(&self) -> &str {
        let symbol = &self.structure.header.symbol;
        let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
        last.split('`').next().unwrap_or(last)
    }

    pub(super) fn has_modifier(&self, modifier: &str) -> bool {
        self.structure.header.modifiers.iter().any(|word| word == modifier)
    }

    pub(super) fn of_kind<'s>(&'s self, kind: &'s str) -> impl Iterator<Item = &'s ApiMember> {
        self.structure.members.iter().filter(move |member| member.kind == kind)
    }

    pub(super) fn has_base(&self, name: &str) -> bool {
        self.structure.header.bases.iter().any(|base| base.rsplit('.').next() == Some(name))
    }

    pub(super) fn is_data(&self) -> bool {
        matches!(self.structure.header.kind.as_str(), "enum" | "delegate" | "interface" | "file")
    }
}

pub(crate) fn sections(known: &TypeFacts<'_>) -> Sections {
    let mut sections = Sections::default();
    role(known, &mut sections);
    super::lifecycle::lifecycle(known, &mut sections);
    bodies(known, &mut sections);
    attributes(known, &mut sections);
    remarks(known, &mut sections);
    calling(known, &mut sections);
    sections
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "An" } else { "A" }
}

fn role(known: &TypeFacts<'_>, sections: &mut Sections) {
    if let Some(docs) = known.docs {
        let summary = doc::parse_doc_comment(&docs.own).summary;
        if !summary.is_empty() {
            sections.role.push(csharp::hashes::one_line(&summary));
        }
    }
    let header = &known.structure.header;
    let words: Vec<&str> = header
        .modifiers
        .iter()
        .map(String::as_str)
        .filter(|word| matches!(*word, "public" | "internal" | "static" | "abstract" | "sealed" | "readonly"))
        .collect();
    let words = if words.is_empty() {
        known.row.accessibility.clone()
    } else {
        words.join(" ")
    };
    let mut sentence = format!("{} {words} {}", article(&words), known.row.kind);
    let (interfaces, bases): (Vec<&str>, Vec<&str>) = header.bases.iter().map(String::as_str).partition(|base| is_interface_name(base));
    match (header.kind.as_str(), bases.is_empty(), interfaces.is_empty()) {
        ("enum", false, _) => sentence.push_str(&format!(" of {}", bases.join(", "))),
        (_, false, true) => sentence.push_str(&format!(" derived from {}", bases.join(", "))),
        (_, true, false) => sentence.push_str(&format!(" that implements {}", interfaces.join(", "))),
        (_, false, false) => sentence.push_str(&format!(
            " derived from {} that implements {}",
            bases.join(", "),
            interfaces.join(", ")
        )),
        (_, true, true) => {}
    }
    sentence.push('.');
    sections.role.push(sentence);
    if header.kind == "delegate" {
        sections
            .role
            .push(format!("Stands for methods of the form `{}`.", header.signature));
    }
    if let Some(meaning) = by_name(known) {
        sections.role.push(meaning);
    }
    sections.role.extend(exposes(known));
    if known.dependencies > 0 {
        let types = if known.dependencies == 1 { "type" } else { "types" };
        sections.role.push(format!(
            "Its declarations name {} other {types} of the workspace.",
            known.dependencies
        ));
    }
}

/// Returns a claim from C#'s naming conventions.
fn by_name(known: &TypeFacts<'_>) -> Option<String> {
    let name = known.simple_name();
    let extension = known.has_modifier("static") && known.of_kind("method").any(|member| member.signature.contains("(this "));
    if extension {
        let mut receivers: Vec<&str> = known
            .of_kind("method")
            .filter_map(|member| member.signature.split_once("(this "))
            .map(|(_, rest)| rest.rsplit_once(')').map_or(rest, |(inner, _)| inner))
            .filter_map(|parameters| {
                parameters
                    .split(',')
                    .next()
                    .and_then(|first| first.rsplit_once(' '))
                    .map(|(written, _)| written)
            })
            .collect();
        receivers.sort_unstable();
        receivers.dedup();
        return Some(format!("Holds extension methods for {}.", first_names(receivers.into_iter())));
    }
    let kinds = [
        ("Exception", "an exception type"),
        ("Attribute", "an attribute"),
        ("Factory", "a factory"),
        ("Builder", "a builder"),
        ("Repository", "a repository"),
        ("Options", "a set of options"),
        ("Handler", "a handler"),
        ("Controller", "a controller"),
        ("Provider", "a provider"),
        ("Converter", "a converter"),
        ("Comparer", "a comparer"),
        ("Visitor", "a visitor"),
        ("Tests", "a set of tests"),
    ];
    kinds
        .iter()
        .find(|(suffix, _)| name.len() > suffix.len() && name.ends_with(suffix))
        .map(|(_, kind)| format!("By its name {kind}."))
}

fn exposes(known: &TypeFacts<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for (kind, many) in [
        ("enum member", "values"),
        ("constant", "constants"),
        ("field", "fields"),
        ("property", "properties"),
        ("event", "events"),
        ("method", "methods"),
        ("operator", "operators"),
    ] {
        let mut names: Vec<&str> = known.of_kind(kind).map(|member| member.name.as_str()).collect();
        names.dedup();
        if !names.is_empty() {
            let many = if names.len() == 1 { kind } else { many };
            lines.push(format!("Exposes {} {many}: {}.", names.len(), first_names(names.into_iter())));
        }
    }
    if known.of_kind("indexer").next().is_some() {
        lines.push("Exposes an indexer.".to_owned());
    }
    lines
}

/// Returns the first eight in code marks, and the number of the others.
pub(super) fn first_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown: Vec<String> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(8);
    if more > 0 {
        format!("{} and {more} more", shown.join(", "))
    } else {
        shown.join(", ")
    }
}

fn bodies(known: &TypeFacts<'_>, sections: &mut Sections) {
    let mut null_results = Vec::new();
    let mut locks = Vec::new();
    for member in known.members {
        let name = name_in_claim(&member.name, known.simple_name());
        let facts = facts(&member.body);
        claims_of_body(&name, member, &facts, sections);
        if facts.returns_null && member.accessible {
            null_results.push(name.clone());
        }
        if facts.locks {
            locks.push(name);
        }
    }
    for text in &known.header.body {
        for throw in facts(text).throws {
            sections
                .edge_cases
                .push(throw_claim(&format!("new {}", known.simple_name()), &throw));
        }
    }
    if !null_results.is_empty() {
        sections.recommendations.push(format!(
            "Check results for null or default: {}.",
            first_names(null_results.iter().map(String::as_str))
        ));
    }
    if !locks.is_empty() {
        sections.limitations.push(format!(
            "Serialises callers with `lock`: {}.",
            first_names(locks.iter().map(String::as_str))
        ));
    }
}

fn claims_of_body(name: &str, member: &ImplMember, facts: &BodyFacts, sections: &mut Sections) {
    for throw in &facts.throws {
        let simple = throw.exception.rsplit('.').next().unwrap_or(&throw.exception);
        match simple {
            "NotImplementedException" => sections.limitations.push(format!(
                "`{name}` is not implemented{}{}.",
                condition_clause(throw),
                cause_clause(throw)
            )),
            "NotSupportedException" | "PlatformNotSupportedException" => {
                sections.limitations.push(format!(
                    "`{name}` is not supported{}{}.",
                    condition_clause(throw),
                    cause_clause(throw)
                ));
            }
            _ => sections.edge_cases.push(throw_claim(name, throw)),
        }
        if throw
            .message
            .as_deref()
            .is_some_and(|text| ["TODO", "HACK", "FIXME", "not yet"].iter().any(|mark| text.contains(mark)))
        {
            sections.limitations.push(format!("`{name}` is unfinished{}.", cause_clause(throw)));
        }
    }
    if facts.returns_null {
        sections.edge_cases.push(format!("`{name}` may give null or default."));
    }
    for (caught, swallowed) in &facts.catches {
        let what = if caught.is_empty() {
            "every exception".to_owned()
        } else {
            caught.clone()
        };
        let then = if *swallowed {
            "and does not throw it again"
        } else {
            "and throws again"
        };
        sections.edge_cases.push(format!("`{name}` catches {what} {then}."));
    }
    if facts.yields {
        sections
            .edge_cases
            .push(format!("`{name}` runs lazily, while its result is enumerated."));
    }
    if facts.blocks_on_task {
        sections
            .limitations
            .push(format!("`{name}` blocks its thread while it waits for a task."));
    }
    if member.modifiers.iter().any(|word| word == "extern") {
        sections.limitations.push(format!("`{name}` is implemented outside managed code."));
    }
}

fn throw_claim(name: &str, throw: &Throw) -> String {
    format!(
        "`{name}` throws {}{}{}.",
        throw.exception,
        condition_clause(throw),
        cause_clause(throw)
    )
}

fn condition_clause(throw: &Throw) -> String {
    throw.guard.as_ref().map(|guard| format!(" when `{guard}`")).unwrap_or_default()
}

fn cause_clause(throw: &Throw) -> String {
    throw
        .message
        .as_ref()
        .filter(|text| !text.is_empty())
        .map(|text| format!(": \"{text}\""))
        .unwrap_or_default()
}

fn attributes(known: &TypeFacts<'_>, sections: &mut Sections) {
    let name = known.simple_name();
    let own = known.structure.header.attributes.iter().map(|attribute| (name, attribute));
    let members = known
        .structure
        .members
        .iter()
        .flat_map(|member| member.attributes.iter().map(|attribute| (member.name.as_str(), attribute)));
    for (whose, attribute) in own.chain(members) {
        let bare = attribute.trim_start_matches('[');
        let simple = bare
            .split(['(', ']'])
            .next()
            .unwrap_or(bare)
            .rsplit('.')
            .next()
            .unwrap_or(bare)
            .trim();
        let whose = name_in_claim(whose, name);
        match simple {
            "Obsolete" | "ObsoleteAttribute" => {
                let text = super::tokens::tokens(attribute)
                    .into_iter()
                    .find(|token| token.kind == super::tokens::TokenKind::Text);
                let text = text.map(|token| quote(super::tokens::unquote_literal(token.text)));
                let reason = text.as_ref().map(|text| format!(": \"{text}\"")).unwrap_or_default();
                sections.limitations.push(format!("`{whose}` is obsolete{reason}."));
                sections.recommendations.push(match text {
                    Some(text) => format!("Instead of `{whose}` follow its own advice: \"{text}\"."),
                    None => format!("Avoid `{whose}` in new code."),
                });
            }
            "Flags" | "FlagsAttribute" => sections
                .recommendations
                .push(format!("Combine values of `{whose}` with `|` ([Flags]).")),
            "Experimental" => sections.limitations.push(format!("`{whose}` is experimental.")),
            _ => {}
        }
    }
    if known.has_modifier("sealed") && known.row.kind == "class" {
        sections.limitations.push(format!("Sealed: nothing can derive from `{name}`."));
    }
    if matches!(
        known.row.accessibility.as_str(),
        "internal" | "private" | "file" | "private protected"
    ) {
        sections
            .limitations
            .push(format!("`{name}` is {}: not visible to every caller.", known.row.accessibility));
    }
}

fn remarks(known: &TypeFacts<'_>, sections: &mut Sections) {
    let Some(docs) = known.docs else { return };
    let own = std::iter::once((known.simple_name(), docs.own.as_str()));
    let members = docs
        .members
        .iter()
        .map(|(key, xml)| (key.split(['(', '`']).next().unwrap_or(key), xml.as_str()));
    for (whose, xml) in own.chain(members) {
        let reading = doc::parse_doc_comment(xml);
        let whose = name_in_claim(whose, known.simple_name());
        for sentence in [&reading.summary, &reading.remarks]
            .into_iter()
            .flat_map(|text| text.split_inclusive(['.', '\n']))
        {
            let lower = sentence.to_ascii_lowercase();
            if [
                "thread-safe", "thread safe", "threadsafe", "not supported", "must not", "concurrent",
            ]
            .iter()
            .any(|mark| lower.contains(mark))
            {
                sections.limitations.push(format!("`{whose}` documents: \"{}\"", quote(sentence)));
            }
        }
        for (exception, text) in reading.exceptions {
            let text = if text.is_empty() {
                String::new()
            } else {
                format!(": \"{}\"", quote(&text))
            };
            sections.edge_cases.push(format!("`{whose}` documents {exception}{text}"));
        }
    }
}

fn calling(known: &TypeFacts<'_>, sections: &mut Sections) {
    let names = |members: Vec<&ApiMember>| {
        let mut names: Vec<&str> = members.into_iter().map(|member| member.name.as_str()).collect();
        names.dedup();
        first_names(names.into_iter())
    };
    let cancellable: Vec<&ApiMember> = known
        .of_kind("method")
        .filter(|member| member.parameters.iter().any(|written| written.ends_with("CancellationToken")))
        .collect();
    if !cancellable.is_empty() {
        sections
            .recommendations
            .push(format!("Pass a CancellationToken to {}.", names(cancellable)));
    }
    let tries: Vec<&ApiMember> = known
        .of_kind("method")
        .filter(|member| {
            member
                .name
                .strip_prefix("Try")
                .is_some_and(|rest| known.of_kind("method").any(|other| other.name == rest))
        })
        .collect();
    if !tries.is_empty() {
        sections
            .recommendations
            .push(format!("Where failure is expected prefer {}.", names(tries)));
    }
    let guarded = sections
        .edge_cases
        .iter()
        .any(|claim| claim.contains("throws ArgumentNullException"));
    if guarded {
        sections
            .recommendations
            .push("Check arguments for null before calling: null is refused (see EDGE_CASES).".to_owned());
    }
    if known.has_modifier("abstract") && known.row.kind == "class" {
        let open: Vec<&ApiMember> = known
            .structure
            .members
            .iter()
            .filter(|member| member.modifiers.iter().any(|word| word == "abstract"))
            .collect();
        if !open.is_empty() {
            sections.recommendations.push(format!("An heir implements {}.", names(open)));
        }
    }
}
