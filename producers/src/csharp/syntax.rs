//! Producer `csharp/syntax`: what one file declares and mentions ([`Syntax`], encoded with minicbor), one parse a file.

use super::model::Syntax;
use super::parse;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Registry};
use std::collections::BTreeSet;

/// Raised whenever the same text may give another [`Syntax`]: rules of reading, canonical text, grammar.
pub const VERSION: u32 = 1;

/// Adds the producer.
pub fn register(registry: &mut Registry) {
    registry.add(SyntaxProducer);
}

/// Decodes the output of `csharp/syntax`.
///
/// # Errors
/// A permanent failure when the bytes are no such output.
pub fn decode(bytes: &[u8]) -> Result<Syntax, Failure> {
    minicbor::decode(bytes).map_err(|error| Failure::permanent(format!("the input is no output of csharp/syntax: {error}")))
}

/// Encodes what `csharp/syntax` outputs.
pub fn encode(syntax: &Syntax) -> Vec<u8> {
    minicbor::to_vec(syntax).expect("invariant: writing to memory cannot fail")
}

struct SyntaxProducer;

impl Producer for SyntaxProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/syntax", VERSION)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let wrong = |param: &str, message: &str, hint: &str| ParamError {
            param: param.to_owned(),
            message: message.to_owned(),
            hint: Some(hint.to_owned()),
        };
        let mut errors: Vec<ParamError> = params
            .keys()
            .filter(|key| *key != "defines")
            .map(|key| wrong(key, "csharp/syntax has no such parameter", "the only one is `defines`"))
            .collect();
        if let Some(value) = params.get("defines")
            && !value
                .as_array()
                .is_some_and(|symbols| symbols.iter().all(serde_json::Value::is_string))
        {
            errors.push(wrong(
                "defines",
                "`defines` is a list of symbols",
                "write defines = [\"DEBUG\", \"NET8_0\"]",
            ));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let file = inputs.var("file").unwrap_or_default();
        let defines: BTreeSet<String> = inputs
            .params
            .get("defines")
            .and_then(|value| value.as_array())
            .into_iter()
            .flatten()
            .filter_map(|symbol| symbol.as_str())
            .map(str::to_owned)
            .collect();
        let (text, unread) = crate::text::decode(&inputs.one("bytes")?.bytes, file);
        let (syntax, mut diagnostics) = parse::read(&text, &defines, file);
        diagnostics.splice(0..0, unread);
        Ok(Output {
            bytes: encode(&syntax),
            diagnostics,
        })
    }
}
