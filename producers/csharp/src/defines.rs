//! The `#if` symbols under which a producer reads a file: its parameter `defines`, and its input of that name.
//!
//! The input is a JSON list (`//files/P:defines`) of the symbols that are defined for the file and occur in it. Then follows one list for
//! each other set of symbols under which projects compile the file: their paths, `null`, then the symbols.

use engine::seams::producer::{Failure, Inputs, ParamError, ParamErrors, Params};
use engine::values::json;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the symbols from the parameter and the input. Fails if the input is not a list of symbols.
pub fn read_defines(inputs: &Inputs<'_>) -> Result<BTreeSet<String>, Failure> {
    let mut symbols: BTreeSet<String> = strings_of(inputs.params.get("defines").unwrap_or(&Value::Null))
        .map(str::to_owned)
        .collect();
    for input in inputs.all("defines") {
        symbols.extend(read(&input.bytes)?.own);
    }
    Ok(symbols)
}

/// The symbols of a file as in `//files/P:defines`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSymbols {
    /// Symbols that its own project defines.
    pub own: Vec<String>,
    /// Other symbol sets, each with the paths of the projects that compile the file under it.
    pub others: Vec<OtherSymbols>,
}

/// A further set of symbols under which a file is compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherSymbols {
    /// Sorted paths of the projects.
    pub projects: Vec<String>,
    pub symbols: BTreeSet<String>,
}

/// Parses the symbols of a file. Fails if the bytes are no list of symbols.
pub fn read(bytes: &[u8]) -> Result<FileSymbols, Failure> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Item {
        Symbol(String),
        Other(Vec<Option<String>>),
    }
    let items: Vec<Item> =
        serde_json::from_slice(bytes).map_err(|error| Failure::permanent(format!("input 'defines' is not a list of symbols: {error}")))?;
    let mut symbols = FileSymbols::default();
    for item in items {
        match item {
            Item::Symbol(symbol) => symbols.own.push(symbol),
            Item::Other(list) => {
                let mut list = list.into_iter();
                symbols.others.push(OtherSymbols {
                    projects: list.by_ref().map_while(|project| project).collect(),
                    symbols: list.flatten().collect(),
                });
            }
        }
    }
    Ok(symbols)
}

/// Serializes `own`, and for each further set of symbols the paths of its projects.
pub fn serialize_symbols(own: &[String], others: &BTreeMap<Vec<String>, Vec<String>>) -> Vec<u8> {
    let text = |text: &String| Value::from(text.as_str());
    let of_projects = |(symbols, projects): (&Vec<String>, &Vec<String>)| -> Value {
        let list = projects.iter().map(text).chain([Value::Null]);
        list.chain(symbols.iter().map(text)).collect()
    };
    let items: Vec<Value> = own.iter().map(text).chain(others.iter().map(of_projects)).collect();
    json::encode(&items)
}

/// Returns the further symbol sets under which other projects compile the file. Fails if the input is not a list of symbols.
pub fn others(inputs: &Inputs<'_>) -> Result<Vec<OtherSymbols>, Failure> {
    let mut others = Vec::new();
    for input in inputs.all("defines") {
        others.extend(read(&input.bytes)?.others);
    }
    Ok(others)
}

/// Checks that `defines` is the only parameter and a list of symbols. Errors: all errors in the parameters.
pub fn check_defines(params: &Params) -> Result<(), Vec<ParamError>> {
    let mut errors = ParamErrors::default();
    errors.add_unknown(params, &["defines"]);
    if let Some(value) = params.get("defines")
        && strings_of(value).count() != value.as_array().map_or(usize::MAX, Vec::len)
    {
        let hint = "write defines = [\"DEBUG\", \"NET8_0\"]";
        errors.add("defines", "`defines` is a list of symbols", hint);
    }
    errors.into_result()
}

fn strings_of(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}
