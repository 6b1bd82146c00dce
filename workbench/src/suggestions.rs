//! Orders the suggestions for an unknown name: handwritten types before generated ones.

use engine::build::session::Session;
use engine::store::StoreError;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::label::unescape;
use engine::values::table::Table;
use producers::csharp::types::TypeRow;

/// Name of the table that marks generated types.
const TYPES: &str = "//index:types";

/// Moves generated types after the other suggestions in errors about names of targets; the hint names the first one.
pub fn order(session: &Session, errors: &mut [Diagnostic]) -> Result<(), StoreError> {
    let is_unordered = |error: &&mut Diagnostic| error.code == ErrorCode::E_NO_TARGET && error.candidates.len() > 1;
    let mut unordered = errors.iter_mut().filter(is_unordered).peekable();
    if unordered.peek().is_none() {
        return Ok(());
    }
    let Some(filed) = session.graph.find(TYPES).and_then(|id| session.graph.node(id).result) else {
        return Ok(());
    };
    let Some(bytes) = session.engine.store.blob(&filed.output)? else {
        return Ok(());
    };
    if let Some(types) = Table::open(&bytes) {
        unordered.for_each(|error| order_generated_last(error, &types));
    }
    Ok(())
}

fn order_generated_last(error: &mut Diagnostic, types: &Table<'_>) {
    let is_generated = |label: &String| {
        let package = label.strip_prefix("//types/").and_then(|rest| rest.rsplit_once(':'));
        let row = package.and_then(|(key, _)| types.get(&unescape(key)));
        row.and_then(|row| serde_json::from_slice::<TypeRow>(row).ok())
            .is_some_and(|row| row.generated)
    };
    let named = |first: Option<&String>| first.map(|first| format!("did you mean {first}?"));
    let before = named(error.candidates.first());
    error.candidates.sort_by_cached_key(is_generated);
    if error.hint == before {
        error.hint = named(error.candidates.first());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::json;
    use std::collections::BTreeMap;

    #[test]
    fn generated_types_are_suggested_last() {
        let row = |generated: bool| {
            json::encode(&TypeRow {
                accessibility: "public".to_owned(),
                arity: 0,
                assembly: String::new(),
                files: Vec::new(),
                generated,
                id: "T_1".to_owned(),
                kind: "class".to_owned(),
                namespace: "N".to_owned(),
                project: None,
                symbol: String::new(),
                widened: false,
            })
        };
        let rows = BTreeMap::from([("A.Color", row(true)), ("N.Colors", row(false))]);
        let bytes = engine::values::table::write_table(&rows);
        let types = Table::open(&bytes).expect("a table");
        let labels = ["//types/A.Color:outline", "//types/N.Colors:outline"].map(str::to_owned);
        let mut error = Diagnostic::error(ErrorCode::E_NO_TARGET, "no target matches")
            .hint("did you mean //types/A.Color:outline?")
            .candidates(labels.to_vec());
        order_generated_last(&mut error, &types);
        assert_eq!(error.candidates, [labels[1].clone(), labels[0].clone()]);
        assert_eq!(error.hint.as_deref(), Some("did you mean //types/N.Colors:outline?"));
    }
}
