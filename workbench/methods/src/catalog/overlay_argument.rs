//! The argument `overlay`, which programs can pass to every method that supports overlays.

use super::{Method, arguments, schema};
use crate::desk::Desk;
use crate::failed::Failed;
use schemars::Schema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Name of the argument.
pub const ARGUMENT: &str = "overlay";

/// Returns the schema of a method's arguments with `overlay`.
pub fn schema<M: Method>() -> Schema {
    let mut schema = schema::schema_of::<M>();
    let fields = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    // Tools list it for `impact` only, where it can replace the symbol.
    let in_tools = if M::NAME == "impact" { json!("") } else { json!(false) };
    fields[ARGUMENT] =
        json!({"type": "string", "description": "The overlay or edit session to query in place of the workspace.", "x-tool": in_tools});
    schema
}

/// Removes the argument from the others; the desk then opens the named overlay. Fails when it is not a string.
pub fn take_overlay_argument(desk: &Desk<'_>, arguments: &mut Value) -> Result<(), Failed> {
    #[derive(Deserialize)]
    struct Named {
        overlay: Option<String>,
    }
    if let Some(named) = arguments.as_object_mut().and_then(|arguments| arguments.remove(ARGUMENT)) {
        let named: Named = arguments::read_arguments(json!({ ARGUMENT: named }))?;
        named.overlay.iter().for_each(|name| desk.context.use_overlay(name));
    }
    Ok(())
}
