//! Reading and checking manifests: from texts to a [`Manifest`], or to all errors in them at once.
//!
//! Reads rulesets first, then the manifest. Merges source sets and producers of the same name key by key, and adds rules. A further text
//! may contain only rows of data tables. Accesses no disk; the caller provides the texts.

mod check;
mod cycles;
mod edit;
mod encode;
mod fields;
mod inputs;
mod json;
mod labels;
mod models;
mod producers;
mod prompt_window;
mod remote;
mod report;
mod rules;
mod rules_with_outputs;
mod sets;
mod source;
mod sources;
mod store;
mod tables;
mod targets;
mod workspace;

use crate::values::codes::ErrorCode;
pub use encode::digest_of_keyed_parts;
pub use rules_with_outputs::ENTRY;
#[cfg(test)]
mod tests;

use super::model::{Manifest, Rule, StoreLimits};
use crate::seams::producer::Registry;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use fields::{Fields, Text};
use report::Report;
use serde::{Deserialize, Serialize};
use source::Span;
use std::collections::{BTreeMap, HashSet, VecDeque};
use tables::Tables;
use toml::Spanned;
use toml::de::DeTable;

/// Returns the error that a manifest of that name is larger than [`MAX_BYTES`].
pub fn too_large(name: &str) -> Diagnostic {
    let message = format!("a manifest has at most {} MiB", MAX_BYTES >> 20);
    Diagnostic::error(ErrorCode::E_SIZE, message)
        .at(name, 0, 0)
        .hint("move long lists into files and read them with a glob")
}

/// Maximum size of a manifest, in bytes.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;
const TABLES: [&str; 10] = [
    "workspace", "sources", "producer", "rule", "model", "store", "remote", "edit", "prompt_window", "tables",
];
/// Tables that belong to a person or a machine, not to a project.
const PERSONAL: [&str; 4] = ["store", "remote", "cache", "secrets"];

/// A text to read, with its name for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestSource<'a> {
    /// Name of the file, relative to the workspace.
    pub name: String,
    pub text: &'a str,
}

/// A valid manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// The manifest with its rulesets.
    pub manifest: Manifest,
    pub warnings: Vec<Diagnostic>,
}

struct Document<'a> {
    file: u32,
    table: Spanned<DeTable<'a>>,
}

impl<'a> Document<'a> {
    fn root_fields(&self) -> Fields<'_, 'a> {
        Fields::from_document(self.file, self.table.get_ref())
    }

    fn table_of_key(&self, report: &mut Report<'_>, key: &str, what: &'static str) -> Option<Fields<'_, 'a>> {
        self.root_fields().get(key).and_then(|item| Fields::from_item(report, item, what))
    }
}

/// Reads and checks a manifest with the rulesets that it names, and the rows that `data` adds to its data tables. Errors: all errors, in
/// order of place.
pub fn load(
    main: &ManifestSource<'_>,
    data: Option<&ManifestSource<'_>>,
    rulesets: &dyn Fn(&str) -> Option<&'static str>,
    ruleset_names: &[&str],
    registry: &Registry,
) -> Result<Loaded, Vec<Diagnostic>> {
    if let Some(large) = std::iter::once(main).chain(data).find(|source| source.text.len() > MAX_BYTES) {
        return Err(vec![too_large(&large.name)]);
    }
    let mut report = Report::new();
    let (mut documents, data) = parse_all(&mut report, main, data, rulesets, ruleset_names);
    // Rulesets first: the manifest is merged over them.
    documents.rotate_left(1);
    let manifest = merge_documents(&mut report, &documents, data.as_ref(), registry);
    report.errors_or_warnings().map(|warnings| Loaded { manifest, warnings })
}

/// Parses the manifest, which comes first, with its rulesets, and the rows of data.
fn parse_all<'a>(
    report: &mut Report<'a>,
    main: &ManifestSource<'a>,
    data: Option<&ManifestSource<'a>>,
    rulesets: &dyn Fn(&str) -> Option<&'static str>,
    ruleset_names: &[&str],
) -> (Vec<Document<'a>>, Option<Document<'a>>) {
    let mut syntax = Vec::new();
    let mut documents = vec![parse_document(report, &main.name, main.text, &mut syntax)];
    let mut unknown = Vec::new();
    let (mut named, mut seen) = (HashSet::new(), HashSet::new());
    let mut names: VecDeque<(Span, String)> = named_rulesets(&documents[0]).into();
    while let Some((span, name)) = names.pop_front() {
        if span.file == documents[0].file && !named.insert(name.clone()) {
            unknown.push((span, name, true));
        } else if let Some(text) = rulesets(&name) {
            // Two documents may build on the same ruleset: read it once.
            if seen.insert(name.clone()) {
                let document = parse_document(report, &format!("ruleset {name}"), text, &mut syntax);
                names.extend(named_rulesets(&document));
                documents.push(document);
            }
        } else {
            unknown.push((span, name, false));
        }
    }
    let data = data.map(|data| parse_document(report, &data.name, data.text, &mut syntax));
    for document in &documents {
        if let Some(models) = document.root_fields().get("model").and_then(|item| item.value.as_table()) {
            models::hide_secrets(report, Fields::from_document(document.file, models));
        }
        if let Some(table) = document.root_fields().get("remote").and_then(|item| item.value.as_table()) {
            remote::hide_secrets(report, Fields::from_document(document.file, table));
        }
    }
    for (span, diagnostic) in syntax {
        report.syntax(span, diagnostic);
    }
    for (span, name, again) in unknown {
        if again {
            report.error(
                span,
                Diagnostic::error(ErrorCode::E_DUPLICATE, "this ruleset is named twice").hint("name it once"),
            );
        } else {
            let diagnostic = Diagnostic::error(ErrorCode::E_UNKNOWN_RULESET, "there is no ruleset of this name");
            report.report_unknown_name(
                span,
                diagnostic,
                &name,
                ruleset_names.iter().copied(),
                &format!("there are: {}", ruleset_names.join(", ")),
            );
        }
    }
    (documents, data)
}

/// Returns the rulesets that a manifest names, or that a ruleset builds on.
fn named_rulesets(document: &Document<'_>) -> Vec<(Span, String)> {
    let workspace = document.root_fields().get("workspace").and_then(|item| item.value.as_table());
    let names = workspace.and_then(|table| table.get("rulesets")?.get_ref().as_array());
    names
        .into_iter()
        .flat_map(|array| array.iter())
        .filter_map(|name| Some((Span::new(document.file, name.span()), name.get_ref().as_str()?.to_owned())))
        .collect()
}

fn parse_document<'a>(report: &mut Report<'a>, name: &str, text: &'a str, syntax: &mut Vec<(Span, Diagnostic)>) -> Document<'a> {
    let file = report.add_source(name, text);
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let span = Span::new(file, error.span().unwrap_or(0..0));
        let (code, hint) = if error.message().starts_with("duplicate key") {
            (
                ErrorCode::E_DUPLICATE,
                "write each key and table once; rules are [[rule]], with two brackets",
            )
        } else {
            (
                ErrorCode::E_SYNTAX,
                "see https://toml.io for the language; write strings in double quotes",
            )
        };
        syntax.push((span, Diagnostic::error(code, source::cut_value(error.message())).hint(hint)));
    }
    Document { file, table }
}

/// Merges all parsed files into one manifest; reports errors.
fn merge_documents(report: &mut Report<'_>, documents: &[Document<'_>], data: Option<&Document<'_>>, registry: &Registry) -> Manifest {
    let mut tables = Tables::from_documents(report, documents);
    let mut about = workspace::WorkspaceTable::default();
    let (mut sources, mut producers, mut models) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let (mut store, mut remote) = (StoreLimits::default(), None);
    for document in documents {
        check_top_level(report, document, &tables);
        tables.read_rows(report, document, true);
        about = workspace::read_workspace(report, document).or_earlier(about);
        if let Some(fields) = document.table_of_key(report, "sources", "'sources'") {
            sources::read_sources(report, fields, &mut sources);
        }
        if let Some(fields) = document.table_of_key(report, "producer", "'producer'") {
            producers::read_producers(report, fields, registry, &mut producers);
        }
        if let Some(fields) = document.table_of_key(report, "model", "'model'") {
            models::read_models(report, fields, &mut models);
        }
        if let Some(fields) = document.table_of_key(report, "edit", "'edit'") {
            edit::check_edit_table(report, fields);
        }
        if let Some(fields) = document.table_of_key(report, "prompt_window", "'prompt_window'") {
            prompt_window::check_window_table(report, fields);
        }
        if let Some(table) = document.root_fields().get("store").filter(|item| item.value.is_table())
            && let Some(fields) = Fields::from_item(report, table, "'store'")
        {
            store::read_store_limits(report, fields, &mut store);
        }
        if let Some(table) = document.root_fields().get("remote").filter(|item| item.value.is_table())
            && let Some(fields) = Fields::from_item(report, table, "'remote'")
        {
            remote = remote::read_remote(report, fields);
        }
    }
    if let Some(data) = data {
        check_only_rows(report, data, &tables);
        tables.read_rows(report, data, false);
    }
    let tables = tables.finish_tables(&mut producers);
    let sources = sources::finish_sources(report, sources);
    let mut producers = producers::finish_producers(report, producers, &models, registry);
    let reader = rules::RuleReader {
        sources: &sources,
        producers: &producers,
    };
    let mut drafts: Vec<_> = tables.iter().map(|table| table.rule(&producers)).collect();
    for document in documents {
        read_rules(report, document, &reader, &mut drafts);
    }
    rules_with_outputs::add_extracting_rules(&mut drafts, &mut producers, registry);
    let targets = check::targets(report, &drafts);
    check::report_unproduced_labels(report, &drafts, &targets);
    check::report_shared_outputs(report, &drafts);
    cycles::report_cycles(report, &drafts, &targets);
    drop(targets);
    if !report.has_errors() {
        warn_unused(report, &drafts, &producers, documents.last().map_or(0, |main| main.file));
    }
    let rules = drafts.into_iter().filter_map(|draft| finish_rule(draft, &producers)).collect();
    Manifest {
        name: about.name.unwrap_or_else(|| "workspace".to_owned()),
        default: about.default.unwrap_or_else(|| vec!["//...".to_owned()]),
        sources,
        producers: producers.list,
        rules,
        models,
        store,
        remote,
    }
}

fn read_rules(report: &mut Report<'_>, document: &Document<'_>, reader: &rules::RuleReader<'_>, drafts: &mut Vec<rules::RuleDraft>) {
    let Some(item) = document.root_fields().get("rule") else {
        return;
    };
    let Some(array) = item.value.as_array() else {
        let diagnostic = Diagnostic::error(ErrorCode::E_TYPE, "rules are a list of tables").hint("write [[rule]], with two brackets");
        report.error(item.span, diagnostic);
        return;
    };
    for rule in array.iter() {
        if let Some(fields) = Fields::from_item(report, fields::Item::new(document.file, rule), "a rule") {
            drafts.push(reader.read_rule(report, fields));
        }
    }
}

/// Returns `None` for a rule with a reported error or one that is switched off.
fn finish_rule(draft: rules::RuleDraft, producers: &producers::Producers) -> Option<Rule> {
    if draft.off {
        return None;
    }
    let producer = draft.producer?;
    let (target, _) = draft.target?;
    let out = draft.out.map(|(out, _)| out);
    let mut rule = Rule {
        target,
        each: draft.each,
        inner: draft.inner,
        producer,
        inputs: draft.inputs,
        out,
        digest: Digest([0; 32]),
    };
    rule.digest = encode::digest_of_rule(&rule, &producers.list[producer as usize]);
    Some(rule)
}

fn check_top_level(report: &mut Report<'_>, document: &Document<'_>, tables: &Tables) {
    let names: Vec<&str> = TABLES.into_iter().chain(tables.table_names()).collect();
    // `store` and `remote` may only be tables (limits, the team's cache). Any other value is a location on one person's machine.
    let is_table = |key: &Text<'_>, item: &fields::Item<'_, '_>| !matches!(key.text, "store" | "remote") || item.value.is_table();
    let known = |key: &Text<'_>, item: &fields::Item<'_, '_>| names.contains(&key.text) && is_table(key, item);
    for (key, _) in document.root_fields().entries().filter(|(key, item)| !known(key, item)) {
        if !refuse_personal(report, key) {
            document.root_fields().unknown_key(report, key, &names);
        }
    }
}

/// Reports everything that is no data table.
fn check_only_rows(report: &mut Report<'_>, data: &Document<'_>, tables: &Tables) {
    let root = Fields {
        what: "a file of rows",
        ..data.root_fields()
    };
    root.report_unknown_keys(report, &tables.table_names().collect::<Vec<_>>());
}

fn refuse_personal(report: &mut Report<'_>, key: Text<'_>) -> bool {
    let personal = PERSONAL.contains(&key.text);
    if personal {
        let hint = "set it in your own configuration, with --store or CORTEX_STORE; a manifest is shared with others";
        report.error(
            key.span,
            Diagnostic::error(ErrorCode::E_PERSONAL, "a manifest must not set the location of stores and secrets").hint(hint),
        );
    }
    personal
}

/// Warns of definitions in the manifest itself that nothing uses.
fn warn_unused(report: &mut Report<'_>, drafts: &[rules::RuleDraft], producers: &producers::Producers, main: u32) {
    if drafts.is_empty() {
        let diagnostic = Diagnostic::warning(ErrorCode::W_NO_RULES, "there is no rule, so there is nothing to build");
        report.warning(
            Span::new(main, 0..0),
            diagnostic.hint("name a ruleset: [workspace] rulesets = [\"csharp\"], or write [[rule]]"),
        );
    }
    let used: HashSet<u32> = drafts.iter().filter_map(|draft| draft.producer).collect();
    for (index, span) in (0..).zip(&producers.spans).filter(|(_, span)| span.file == main) {
        if !used.contains(&index) {
            report.warning(
                *span,
                Diagnostic::warning(ErrorCode::W_UNUSED, "no rule uses this producer").hint("remove it, or name it in a rule"),
            );
        }
    }
}
