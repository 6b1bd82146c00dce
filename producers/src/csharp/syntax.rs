//! Producer `csharp/syntax`: what one file declares and mentions ([`Syntax`], encoded with minicbor), one parse a file.
//!
//! Symbols for `#if` come from the input `defines`, usually `//files/P:defines`, which holds only those that matter to the file, and
//! from the parameter of that name.

use super::model::Syntax;
use super::{defines, parse};
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Registry};

/// Raised whenever the same text may give another [`Syntax`]: rules of reading, canonical text, grammar.
pub const VERSION: u32 = 3;

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
        defines::check(params)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let file = inputs.var("file").unwrap_or_default();
        let defines = defines::given(inputs)?;
        let (text, unread) = crate::text::decode(&inputs.one("bytes")?.bytes, file);
        let (syntax, mut diagnostics) = parse::read(&text, &defines, file);
        diagnostics.splice(0..0, unread);
        Ok(Output {
            bytes: encode(&syntax),
            diagnostics,
        })
    }
}
