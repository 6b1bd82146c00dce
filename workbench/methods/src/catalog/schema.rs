//! JSON Schemas that all clients support: no references, no unions with null, no number formats.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

pub fn schema_of<T: JsonSchema>() -> Schema {
    let plain = RecursiveTransform(drop_null);
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.with_transform(plain).into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema
}

/// Removes `null` from a union: an absent field is optional, and the schema does not mention null.
fn drop_null(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::Array(kinds)) = schema.get("type")
        && let [one, Value::String(null)] = kinds.as_slice()
        && null == "null"
    {
        let one = one.clone();
        schema.insert("type".to_owned(), one);
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(any)) = schema.get("anyOf")
        && let [one, null] = any.as_slice()
        && null.get("type").is_some_and(|kind| kind == "null")
        && let Ok(mut one) = Schema::try_from(one.clone())
    {
        drop_null.transform(&mut one);
        schema.remove("anyOf");
        if let Some(fields) = one.as_object() {
            for (key, value) in fields.clone() {
                if schema.get(&key).is_none() {
                    schema.insert(key, value);
                }
            }
        }
    }
}
