//! Paid targets of a workspace, and the currency of their price.

use engine::build::engine::EngineError;
use engine::build::session::Session;
use engine::manifest::model::Manifest;
use engine::seams::producer::{Pool, Registry};
use engine::values::label::{escape, unescape};
use engine::values::table::Table;
use serde_json::Value;

/// Whether a model answers for the target.
pub fn is_paid(session: &Session, label: &str) -> bool {
    let Some(found) = session.rules.find(label) else { return false };
    let producer = session.rules.rule(found.rule).producer;
    pays(session.rules.manifest(), &session.engine.registry, producer)
}

/// Returns the target whose answer a label shows: a type of a group of mutually dependent types is summarised with the others, so a new answer or the
/// prompt concerns the group. `None` before it was ever built, and for targets with answers of their own.
pub fn group_of(session: &Session, label: &str) -> Option<String> {
    let node = session.graph.node(session.graph.find(label)?);
    let mut read = node.reads().map(|id| session.graph.node(id).label.clone());
    read.find(|read| read.starts_with("//groups/") && is_paid(session, read))
        .map(|read| read.to_string())
}

/// Returns the target whose question covers `label`: the group of a type by the last `//index:groups`, also if the type itself was never built.
/// `None` for targets with questions of their own.
pub fn target_that_asks(session: &Session, label: &str) -> Result<Option<String>, EngineError> {
    let key = label
        .strip_prefix("//types/")
        .and_then(|rest| rest.strip_suffix(":semantic"))
        .map(unescape);
    let (Some(key), Some(last)) = (key, session.last("//index:groups")?) else {
        return Ok(group_of(session, label));
    };
    let blob = session.engine.store.output(&last.result.output)?;
    let table = blob.as_deref().and_then(Table::open);
    let mut rows = table.iter().flat_map(|table| table.rows());
    let holds = |row: &[u8]| -> Option<bool> {
        let row: Value = serde_json::from_slice(row).ok()?;
        Some(row.get("types")?.as_array()?.iter().any(|found| found.as_str() == Some(&key)))
    };
    let group = rows.find(|(_, row)| holds(row) == Some(true));
    let group = group.map(|(group, _)| format!("//groups/{}:semantic", escape(group)));
    Ok(group.filter(|group| is_paid(session, group)))
}

/// Whether a model answers for any target of the workspace.
pub fn asks_any_model(manifest: &Manifest, registry: &Registry) -> bool {
    (0..manifest.producers.len()).any(|producer| pays(manifest, registry, u32::try_from(producer).unwrap_or(u32::MAX)))
}

fn pays(manifest: &Manifest, registry: &Registry, producer: u32) -> bool {
    let definition = &manifest.producers[producer as usize];
    let implementation = registry.get(&definition.uses);
    implementation.is_some_and(|implementation| implementation.pool(&definition.params) == Pool::Paid)
}

/// Returns the currency of the first model that has a price.
pub fn currency(session: &Session) -> Option<String> {
    let models = &session.rules.manifest().models;
    let price = models.values().find_map(|model| model.get("price")?.as_object())?;
    let currency = price.get("currency").and_then(Value::as_str);
    Some(currency.unwrap_or("USD").to_owned())
}
