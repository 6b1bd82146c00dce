//! Producer `text`: the bytes of a file as text: UTF-8, LF line ends, no byte order mark. Edits of encoding, BOM or line ends stop here.
//!
//! It never fails: a file that is not text gives an empty output, with a diagnostic.

use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId, Registry};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::borrow::Cow;

/// Raised whenever the same bytes may give another text.
pub const VERSION: u32 = 1;

/// Limit of bytes of a file.
pub const LARGEST: usize = 32 << 20;

/// Bytes at the beginning of a file that are checked for binary content.
const SNIFFED: usize = 8 << 10;

pub fn register_text(registry: &mut Registry) {
    registry.add(TextProducer);
}

/// Decodes a file with LF line ends; also returns a diagnostic for its reader. `file` is only for the position in diagnostics.
pub fn decode<'b>(bytes: &'b [u8], file: &str) -> (Cow<'b, str>, Option<Diagnostic>) {
    let (text, diagnostic) = decode_keeping_line_ends(bytes, file);
    let text = match text {
        Cow::Borrowed(text) => line_ends(text),
        Cow::Owned(text) => Cow::Owned(line_ends(&text).into_owned()),
    };
    (text, diagnostic)
}

/// Decodes a file without its byte order mark, with its own line ends.
pub fn decode_keeping_line_ends<'b>(bytes: &'b [u8], file: &str) -> (Cow<'b, str>, Option<Diagnostic>) {
    if bytes.len() > LARGEST {
        let message = format!("the file is larger than {} MiB and was not read", LARGEST >> 20);
        let diagnostic = Diagnostic::warning(ErrorCode::CS_FILE_LARGE, message)
            .at(file, 0, 0)
            .found(format!("{} bytes", bytes.len()));
        return (
            Cow::Borrowed(""),
            Some(diagnostic.hint("leave the file out of the source set, or split it")),
        );
    }
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes, file),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes, file),
        [0xef, 0xbb, 0xbf, rest @ ..] => decode_text(rest, file),
        _ => decode_text(bytes, file),
    }
}

fn decode_text<'b>(bytes: &'b [u8], file: &str) -> (Cow<'b, str>, Option<Diagnostic>) {
    if bytes[..bytes.len().min(SNIFFED)].contains(&0) {
        let diagnostic = Diagnostic::warning(ErrorCode::CS_FILE_BINARY, "the file is binary and was not read").at(file, 0, 0);
        return (Cow::Borrowed(""), Some(diagnostic.hint("leave the file out of the source set")));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), None),
        Err(error) => {
            let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let line = 1 + valid.matches('\n').count() as u32;
            let diagnostic = Diagnostic::warning(
                ErrorCode::CS_FILE_ENCODING,
                "the file is not valid UTF-8 and was read as Windows-1252",
            )
            .at(file, line, 0);
            let text: String = bytes.iter().map(|byte| windows_1252(*byte)).collect();
            (Cow::Owned(text), Some(diagnostic.hint("save the file as UTF-8")))
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, file: &str) -> (Cow<'static, str>, Option<Diagnostic>) {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut broken = !rest.is_empty();
    let text: String = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
        .map(|c| {
            c.unwrap_or_else(|_| {
                broken = true;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    let diagnostic = broken.then(|| {
        Diagnostic::warning(
            ErrorCode::CS_FILE_ENCODING,
            "the file is not valid UTF-16; what is wrong was replaced",
        )
        .at(file, 0, 0)
    });
    (
        Cow::Owned(text),
        diagnostic.map(|diagnostic| diagnostic.hint("save the file as UTF-8")),
    )
}

/// Returns the encoding of a file: `utf-8`, `utf-16le`, `utf-16be` or `windows-1252`; and whether it has a byte order mark.
pub fn encoding(bytes: &[u8]) -> (&'static str, bool) {
    match bytes {
        [0xff, 0xfe, ..] => ("utf-16le", true),
        [0xfe, 0xff, ..] => ("utf-16be", true),
        [0xef, 0xbb, 0xbf, rest @ ..] => (of_plain(rest), true),
        _ => (of_plain(bytes), false),
    }
}

fn of_plain(bytes: &[u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(_) => "utf-8",
        Err(_) => "windows-1252",
    }
}

/// Converts CRLF and lone CR to LF.
fn line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Decodes code page 1252; its five holes become the C1 controls, as elsewhere.
pub fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•',
        '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

struct TextProducer;

impl Producer for TextProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("text", VERSION)
    }

    fn reads_at_most(&self) -> usize {
        LARGEST
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let (text, diagnostic) = decode(&inputs.single("bytes")?.bytes, inputs.var("file").unwrap_or_default());
        Ok(Output {
            bytes: text.into_owned().into_bytes(),
            diagnostics: diagnostic.into_iter().collect(),
            ..Output::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn utf16_bytes(text: &str, big: bool) -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    }

    #[test]
    fn not_text() {
        let codes: Vec<_> = [&b"MZ\0\x01"[..], b"caf\xe9 \x80", b"\xff\xfea", b"fine"]
            .iter()
            .map(|bytes| decode(bytes, "f").1.map(|diagnostic| diagnostic.code))
            .collect();
        assert_eq!(
            codes,
            [
                Some("CS-FILE-BINARY".to_owned()),
                Some("CS-FILE-ENCODING".to_owned()),
                Some("CS-FILE-ENCODING".to_owned()),
                None
            ]
        );
        assert_eq!(decode(b"caf\xe9 \x80", "f").0, "café €");
        assert_eq!(decode(b"MZ\0", "f").0, "");
        assert_eq!(decode(&vec![b'a'; LARGEST + 1], "f").0, "");
    }

    proptest! {
        #[test]
        fn encoding_and_line_ends_do_not_matter(text in "([a-zé日😀 ]{0,6}\n){0,5}") {
            let crlf = text.replace('\n', "\r\n");
            let cr = text.replace('\n', "\r");
            for bytes in [text.clone().into_bytes(), crlf.clone().into_bytes(), cr.into_bytes(), format!("\u{feff}{crlf}").into_bytes(), utf16_bytes(&crlf, false), utf16_bytes(&text, true)] {
                prop_assert_eq!(decode(&bytes, "f"), (Cow::Borrowed(text.as_str()), None));
            }
        }

        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            prop_assert!(!decode(&bytes, "f").0.contains('\r'));
        }
    }
}
