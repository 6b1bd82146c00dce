//! Methods asked about an overlay by programs: the argument `overlay`, which every method that can be asked so has beside its own.

use super::{Method, arguments, schema};
use crate::context::Failed;
use crate::desk::Desk;
use schemars::Schema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Its name among the arguments.
pub const ARGUMENT: &str = "overlay";

/// The arguments of a method with the one that names an overlay.
pub fn schema<M: Method>() -> Schema {
    let mut schema = schema::of::<M>();
    let fields = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    fields[ARGUMENT] =
        json!({"type": "string", "description": "The overlay, or edit session: asked about in place of the workspace.", "x-tool": false});
    schema
}

/// Takes that argument from the others: what is opened from now on is the overlay that it names.
///
/// # Errors
/// When it is no name.
pub fn take_overlay_argument(desk: &Desk<'_>, arguments: &mut Value) -> Result<(), Failed> {
    #[derive(Deserialize)]
    struct Named {
        overlay: Option<String>,
    }
    if let Some(named) = arguments.as_object_mut().and_then(|arguments| arguments.remove(ARGUMENT)) {
        let named: Named = arguments::read(json!({ ARGUMENT: named }))?;
        named.overlay.iter().for_each(|name| desk.context.use_overlay(name));
    }
    Ok(())
}
