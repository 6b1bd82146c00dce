//! `csharp/conditions`: the symbols that decide the `#if`s of one file: those its directives mention and that are defined.
//!
//! One symbol a line, sorted. A file without directives has none, whatever is defined, so that new symbols parse nothing again. The
//! symbols come from the parameter `defines` and from the input `defines`, if the rule has one: a JSON list, a JSON object with such a list
//! in its field `defines`, a table whose rows are either, or lines.

use super::preprocess::mentioned;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::table::Table;
use serde_json::Value;
use std::collections::BTreeSet;

/// The producer `csharp/conditions`.
#[derive(Debug)]
pub struct Conditions;

impl Producer for Conditions {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/conditions", 1)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_defines("csharp/conditions", params)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let (text, _) = crate::text::decode(&inputs.one("bytes")?.bytes, "");
        let mentioned = mentioned(&text);
        if mentioned.is_empty() {
            return Ok(Output::default());
        }
        let mut defined = defines(inputs.params);
        for input in inputs.all("defines") {
            defined.extend(read(&input.bytes));
        }
        let mut lines = String::new();
        for symbol in mentioned.into_iter().filter(|symbol| defined.contains(*symbol)) {
            lines.push_str(symbol);
            lines.push('\n');
        }
        Ok(Output::new(lines))
    }
}

/// The symbols of the parameter `defines`.
pub fn defines(params: &Params) -> BTreeSet<String> {
    params.get("defines").map(symbols).unwrap_or_default()
}

/// Checks that `defines` is the only parameter and a list of symbols.
///
/// # Errors
/// Everything that is wrong with the parameters.
pub fn check_defines(producer: &str, params: &Params) -> Result<(), Vec<ParamError>> {
    let wrong = |param: &str, message: String, hint: &str| ParamError {
        param: param.to_owned(),
        message,
        hint: Some(hint.to_owned()),
    };
    let mut errors: Vec<ParamError> = params
        .keys()
        .filter(|key| *key != "defines")
        .map(|key| wrong(key, format!("{producer} has no such parameter"), "the only one is `defines`"))
        .collect();
    if let Some(value) = params.get("defines")
        && !value.as_array().is_some_and(|symbols| symbols.iter().all(Value::is_string))
    {
        errors.push(wrong(
            "defines",
            "`defines` is a list of symbols".to_owned(),
            "write defines = [\"DEBUG\", \"NET8_0\"]",
        ));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The symbols that a blob holds.
pub fn read(bytes: &[u8]) -> BTreeSet<String> {
    if let Some(table) = Table::open(bytes) {
        return table.rows().flat_map(|(_, value)| read(value)).collect();
    }
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        return symbols(value.get("defines").unwrap_or(&value));
    }
    let text = String::from_utf8_lossy(bytes);
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn symbols(value: &Value) -> BTreeSet<String> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{blob, run};
    use super::*;
    use engine::values::table::write_table;
    use std::collections::BTreeMap;

    fn of(text: &str, params: &str, defines: Option<Vec<u8>>) -> String {
        let mut roles = vec![("bytes", vec![blob("", text)])];
        roles.extend(defines.map(|bytes| ("defines", vec![blob("", bytes)])));
        String::from_utf8(run(&Conditions, "", params, roles).expect("symbols").bytes).expect("text")
    }

    #[test]
    fn only_symbols_that_are_mentioned_and_defined() {
        let text = "#if NET8_0 && !DEBUG || X\nclass A { }\n#endif";
        assert_eq!(of(text, r#"{"defines":["NET8_0","TRACE"]}"#, None), "NET8_0\n");
        assert_eq!(of("class A { }", r#"{"defines":["NET8_0","TRACE"]}"#, None), "");
        assert_eq!(of("string s = \"# no directive\";", r#"{"defines":["NET8_0"]}"#, None), "");
    }

    #[test]
    fn every_form_of_the_input() {
        let text = "#if A\n#elif B\n#endif";
        let table = write_table(&BTreeMap::from([("a.cs", r#"["B","A"]"#), ("b.cs", r#"{"defines":["C"]}"#)]));
        for bytes in [
            b"A\n B \nC\n".to_vec(),
            br#"["A","B","C"]"#.to_vec(),
            br#"{"defines":["B","A"]}"#.to_vec(),
            table,
        ] {
            assert_eq!(of(text, "{}", Some(bytes)), "A\nB\n");
        }
        assert_eq!(of(text, "{}", Some(Vec::new())), "");
        assert_eq!(of(text, r#"{"defines":["A"]}"#, Some(b"B".to_vec())), "A\nB\n");
    }
}
