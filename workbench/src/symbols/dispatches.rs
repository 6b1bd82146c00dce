//! Places that pass a message to a mediator or a bus: `mediator.Send(command)`. The name of the called method and the types of its arguments
//! ([`producers::csharp::usages::Call`]) identify them, wherever the message was created.

use super::outputs::{Outputs, SymbolError};
use super::word_index::WordSource;
use engine::values::label::halves;
use engine::values::table::Table;
use producers::csharp::usages::{Place, is_dispatcher};
use std::collections::{BTreeMap, BTreeSet};

/// A place where a message is dispatched, with the name of the called method.
pub(super) type Dispatch = (Place, String);

/// Finds the places that dispatch messages of these types, by type.
pub(super) fn dispatches<O: Outputs>(
    outputs: &mut O,
    messages: &BTreeSet<String>,
) -> Result<BTreeMap<String, BTreeSet<Dispatch>>, O::Error> {
    let mut found: BTreeMap<String, BTreeSet<Dispatch>> = BTreeMap::new();
    if messages.is_empty() {
        return Ok(found);
    }
    let labels: BTreeSet<String> = {
        let words = outputs.word_index(WordSource::Dependencies)?;
        let users = messages.iter().flat_map(|message| words.holders(message, message));
        users.map(|(user, _)| user.label("usages")).collect()
    };
    let labels: Vec<String> = labels.into_iter().collect();
    if labels.is_empty() {
        return Ok(found);
    }
    for output in outputs.read(&labels)? {
        let Some(bytes) = output.bytes else { continue };
        let damaged = || SymbolError::damaged().at_label(&output.label);
        let table = Table::open(&bytes).ok_or_else(damaged)?;
        for (row, value) in table.rows() {
            let Some((_, method)) = halves(row).filter(|(_, method)| is_dispatcher(method)) else {
                continue;
            };
            let places: Vec<Place> = serde_json::from_slice(value).map_err(|_| damaged())?;
            for place in places {
                let given = place.call.as_ref().map(|call| call.arguments.clone()).unwrap_or_default();
                let bare = Place {
                    call: None,
                    elsewhere: false,
                    parameters: None,
                    ..place
                };
                for message in given.iter().filter_map(|given| messages.get(without_arguments(given))) {
                    let at = found.entry(message.clone()).or_default();
                    at.insert((bare.clone(), method.to_owned()));
                }
            }
        }
    }
    Ok(found)
}

/// Returns the key of a type in a written shape, without type arguments.
fn without_arguments(shape: &str) -> &str {
    shape.split('{').next().unwrap_or(shape)
}
