//! Producer `csharp/syntax`: what one file declares and mentions ([`Syntax`](super::model::Syntax), as a table: see [`super::syntax_table`]),
//! one parse a file.
//!
//! Symbols for `#if` come from the input `defines`, usually `//files/P:defines`, which holds only those that matter to the file, and
//! from the parameter of that name.

use super::model::Tier;
use super::{defines, parse};
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Registry};

/// Raised whenever the same text may give another [`Syntax`]: rules of reading, canonical text, grammar.
pub const VERSION: u32 = 8;

/// Adds the producer.
pub fn register(registry: &mut Registry) {
    registry.add(SyntaxProducer);
}

pub use super::syntax_table::{decode, encode};

struct SyntaxProducer;

impl Producer for SyntaxProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/syntax", VERSION)
    }

    fn reads_at_most(&self) -> usize {
        crate::text::LARGEST
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        defines::check(params)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let file = inputs.var("file").unwrap_or_default();
        let defines = defines::given(inputs)?;
        let (text, unread) = crate::text::decode(&inputs.one("bytes")?.bytes, file);
        let refused = text.is_empty() && unread.is_some();
        let (syntax, mut diagnostics) = match refused {
            true => (parse::nothing(Tier::Nothing), Vec::new()),
            false => parse::read(&text, &defines, file),
        };
        diagnostics.splice(0..0, unread);
        Ok(Output {
            bytes: encode(&syntax),
            diagnostics,
            ..Output::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{blob, run};
    use super::*;

    #[test]
    fn what_is_no_text_is_said_to_have_given_nothing() {
        let tier = |bytes: &[u8]| {
            let roles = vec![("bytes", vec![blob("", bytes)]), ("defines", vec![blob("", "[]")])];
            let output = run(&SyntaxProducer, "", "{}", roles).expect("a syntax");
            (decode(&output.bytes).expect("a syntax").tier, output.diagnostics.len())
        };
        assert_eq!(tier(b"\0\x01class A { }"), (Tier::Nothing, 1));
        assert_eq!(tier(b""), (Tier::Whole, 0));
        assert_eq!(tier(b"class A { }"), (Tier::Whole, 0));
        assert_eq!(tier(b"class A { } // \xe9"), (Tier::Whole, 1));
    }
}
