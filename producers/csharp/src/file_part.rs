//! `csharp/file-part`: the source lines of a type's headers and members in one file (seed 001, `FilePart`).
//!
//! Its input is the type's row of `csharp/lines`, so an edit of another type in the file does not affect it. Its output has no line numbers,
//! so edits above the part leave the output unchanged.

use super::lines;
use engine::seams::producer::{Failure, Inputs, Output, Params, Producer, ProducerId, Sees};

/// The producer `csharp/file-part`.
#[derive(Debug)]
pub struct FilePart;

impl Producer for FilePart {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/file-part", 1)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let symbol = inputs.var("part").unwrap_or_default();
        let part = lines::read(&inputs.single("row")?.bytes, symbol)?;
        let part = part.ok_or_else(|| Failure::permanent(format!("the input 'row' has no type '{symbol}'")))?;
        Ok(Output::new(part.text.into_bytes()))
    }
}
