//! Resources: readable addresses, and lists of them. An address names a symbol, a pack, an operation or a method, never a path.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use methods::catalog::{self, METHODS, MethodEntry, reference};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::{Value, json};
use serve::tools::resource_methods::{PACK, TYPES};
use serve::tools::{definitions as tools, first_sentence};

/// Characters that are percent-encoded in an address.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Limit of the name of a type or member, in bytes.
const LONGEST: usize = 1024;

/// Content type of all resources.
pub const MIME: &str = "text/markdown";

/// Methods that an address of a type may end in.
const OF_TYPES: [&str; 4] = ["outline", "semantic", "source", "usages"];

/// Address and method of the text that a model is shown of the checkout.
const WINDOW: (&str, &str) = ("cortex://window", "window show");

/// Method that reports the state of a background operation.
const OPERATION: &str = "operation";

/// Meaning of an address.
pub enum Meant {
    /// A call of a method.
    Asked(&'static MethodEntry, Value),
    /// Reference pages of methods: of one, or of all operations of a tool.
    References(Vec<&'static MethodEntry>),
}

/// Parses an address; `None` if no resource has it.
pub fn parse_address(uri: &str) -> Option<Meant> {
    if uri == WINDOW.0 {
        return Some(Meant::Asked(catalog::find_method(WINDOW.1)?, json!({})));
    }
    let mut parts = uri.strip_prefix("cortex://")?.split('/');
    let (kind, name, what) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let name = percent_decode_str(name).decode_utf8().ok()?.into_owned();
    match (kind, what) {
        ("type", Some(what)) if OF_TYPES.contains(&what) && is_symbol(&name) => {
            let entry = catalog::find_method(what)?;
            Some(Meant::Asked(entry, arguments_about(entry, &name)?))
        }
        ("pack", None) if name.len() <= LONGEST && name.split('/').all(is_word) => {
            catalog::find_method("pack build")?;
            Some(Meant::Asked(&PACK, json!({"name": name})))
        }
        ("operation", None) if is_word(&name) => Some(Meant::Asked(catalog::find_method(OPERATION)?, json!({"opId": name}))),
        ("method", None) if is_word(&name) => methods_of_name(&name).map(Meant::References),
        _ => None,
    }
}

/// Returns the method of that name, or the operations of the tool of that name.
fn methods_of_name(name: &str) -> Option<Vec<&'static MethodEntry>> {
    let found = catalog::find_method(name).map(|entry| vec![entry]);
    found.or_else(|| Some(catalog::operations(name).collect()).filter(|all: &Vec<_>| !all.is_empty()))
}

/// Returns whether a name can be that of a type or member. Labels and paths are refused.
fn is_symbol(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && !name.starts_with('-') && !name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\' | ':'))
}

fn is_word(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    (1..=LONGEST).contains(&name.len()) && name.chars().all(plain)
}

/// Builds the arguments of a method about a symbol: the symbol is its first argument.
fn arguments_about(entry: &MethodEntry, symbol: &str) -> Option<Value> {
    let first = reference::argument_names(entry).into_iter().next()?;
    let schema = (entry.arguments)();
    let several = schema.as_value()["properties"][&first]["type"] == "array";
    let value = if several { json!([symbol]) } else { json!(symbol) };
    Some(Value::Object([(first, value)].into_iter().collect()))
}

/// Returns the address templates with a name in them.
pub fn templates() -> Vec<ResourceTemplate> {
    let of_types = OF_TYPES.iter().filter_map(|what| {
        let entry = catalog::find_method(what)?;
        let about = reference::method_description(entry);
        Some(template(&format!("cortex://type/{{symbol}}/{what}"), what, first_sentence(&about)))
    });
    let packs =
        catalog::find_method("pack build").map(|_| template("cortex://pack/{name}", "pack", "A pack: what is known of chosen types."));
    let operations = catalog::find_method(OPERATION).map(|entry| {
        let about = reference::method_description(entry);
        template("cortex://operation/{id}", OPERATION, first_sentence(&about))
    });
    let methods = template(
        "cortex://method/{name}",
        "method",
        "The reference of a method: all arguments, all fields of its answer.",
    );
    of_types.chain(packs).chain(operations).chain([methods]).collect()
}

fn template(uri: &str, name: &str, about: &str) -> ResourceTemplate {
    ResourceTemplate::new(uri, name).with_description(about).with_mime_type(MIME)
}

/// Returns the resources that always exist.
pub fn fixed_resources() -> Vec<Resource> {
    let window = catalog::find_method(WINDOW.1).map(|_| resource(WINDOW.0.to_owned(), "window", "The prompt window of this checkout."));
    let methods = METHODS.iter().filter(|entry| entry.served).map(|entry| {
        let about = reference::method_description(entry);
        let uri = format!("cortex://method/{}", tools::tool_name(entry));
        resource(uri, entry.name, &format!("Reference: {}", first_sentence(&about)))
    });
    window.into_iter().chain(methods).collect()
}

pub fn of_types(names: &[String]) -> impl Iterator<Item = Resource> {
    let uri = |name: &String| format!("cortex://type/{}/outline", utf8_percent_encode(name, &ESCAPED));
    names.iter().map(move |name| resource(uri(name), name, "Outline of the type."))
}

fn resource(uri: String, name: &str, about: &str) -> Resource {
    Resource::new(uri, name).with_description(about).with_mime_type(MIME)
}

/// Returns the call that lists the types after a cursor; `None` for an invalid cursor.
pub fn call_after_cursor(cursor: Option<&str>) -> Option<(&'static MethodEntry, Value)> {
    let after = match cursor {
        None => None,
        Some(cursor) => {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
            Some(String::from_utf8(bytes).ok().filter(|after| !after.is_empty())?)
        }
    };
    Some((&TYPES, json!({"after": after})))
}

/// Returns the cursor of the page after a type.
pub fn cursor(last: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serve::tools::answer_form::Form;
    use serve::tools::definitions::ToolAvailability;

    #[test]
    fn addresses_mean_symbols_and_methods() {
        let meaning = |uri: &str| match parse_address(uri) {
            Some(Meant::Asked(entry, arguments)) => format!("{} {arguments}", entry.name),
            Some(Meant::References(entries)) => {
                let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
                format!("reference of {}", names.join(", "))
            }
            None => "nothing".to_owned(),
        };
        assert_eq!(meaning("cortex://type/N.A/outline"), r#"outline {"symbols":["N.A"]}"#);
        assert_eq!(
            meaning("cortex://type/N.List%601%23Add%28T%29/outline"),
            r#"outline {"symbols":["N.List`1#Add(T)"]}"#
        );
        assert_eq!(meaning("cortex://method/outline"), "reference of outline");
        assert_eq!(
            meaning("cortex://method/context"),
            "reference of context build, context live, context end, context conversations"
        );
        assert_eq!(meaning("cortex://method/edit"), "reference of edit");
        for tool in tools::definitions(Form::Text, ToolAvailability::ALL) {
            let reference = meaning(&format!("cortex://method/{}", tool.name));
            assert!(reference.starts_with("reference of "), "{}: {reference}", tool.name);
        }
        assert_eq!(meaning("cortex://operation/a1b2"), r#"operation {"opId":"a1b2"}"#);
        assert_eq!(meaning("cortex://pack/team%2Fcore"), r#"pack {"name":"team/core"}"#);
        for uri in of_types(&["N.List`1".to_owned(), "Größe@a b".to_owned()]).map(|resource| resource.uri) {
            assert!(parse_address(&uri).is_some(), "{uri}");
        }
    }

    #[test]
    fn no_address_leads_anywhere_else() {
        let long = format!("cortex://type/{}/outline", "A".repeat(100_000));
        for uri in [
            "",
            "cortex://",
            "cortex://type/A",
            "cortex://type/A/bytes",
            "cortex://type//outline",
            "cortex://type/A/outline/more",
            "cortex://type/%2F%2Ffiles%2Fa.cs:bytes/outline",
            "cortex://type/..%2f..%2fetc%2fpasswd/outline",
            "cortex://type/..%5cetc/outline",
            "cortex://type/%2e%2e/../outline",
            "cortex://type/A%00/outline",
            "cortex://type/A%0a/outline",
            "cortex://type/%ff%fe/outline",
            "cortex://type/--refresh/outline",
            "cortex://type/a:b/outline",
            "cortex://operation/..%2fA",
            "cortex://pack/..%2fA",
            "cortex://pack/a:b",
            "cortex://pack/a%2F%2Fb",
            "cortex://pack/%2Fa",
            "cortex://method/nothing",
            "cortex://window/more",
            "CORTEX://type/A/outline",
            "file:///etc/passwd",
            &long,
        ] {
            assert!(parse_address(uri).is_none(), "{uri}");
        }
    }

    #[test]
    fn cursors_are_those_that_were_given() {
        assert_eq!(call_after_cursor(None).expect("the first page").1, json!({"after": null}));
        assert_eq!(call_after_cursor(Some(&cursor("N.A"))).expect("a page").1, json!({"after": "N.A"}));
        for wrong in ["", "N.A!", "_w", "////"] {
            assert!(call_after_cursor(Some(wrong)).is_none(), "{wrong:?}");
        }
    }
}
