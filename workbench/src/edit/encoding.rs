//! How the bytes of a file are written as text, so that what was not edited stays as it is: UTF-8 and UTF-16 with or without their byte order
//! mark, Windows-1252. What cannot be written back byte for byte is refused by name.

use producers::text::windows_1252;
use serde::{Deserialize, Serialize};
use std::fmt;

/// No larger file is edited.
pub const LARGEST: usize = 256 << 20;

/// How characters become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// UTF-8.
    Utf8,
    /// UTF-16, the lower byte first.
    Utf16Le,
    /// UTF-16, the higher byte first.
    Utf16Be,
    /// Code page 1252, its five holes as the C1 controls of their numbers.
    Windows1252,
}

/// The encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoding {
    /// How characters become bytes.
    pub form: Form,
    /// Whether a byte order mark stands before them.
    pub mark: bool,
}

/// What a new file is written in.
pub const PLAIN: Encoding = Encoding {
    form: Form::Utf8,
    mark: false,
};

/// Why bytes are no text that can be edited, or a text cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It holds a NUL.
    #[error("it is binary: byte {at} is NUL")]
    Binary {
        /// Bytes before it.
        at: usize,
    },
    /// Four bytes a character.
    #[error("it is UTF-32, which is not edited here; save it as UTF-8 first")]
    Utf32,
    /// Half a pair, or half a unit.
    #[error("it is not valid UTF-16; save it as UTF-8 first")]
    BrokenUtf16,
    /// More than [`LARGEST`] bytes.
    #[error("it has {bytes} bytes, and files over 256 MiB are not edited here")]
    Large {
        /// How many.
        bytes: u64,
    },
    /// The encoding has no such character.
    #[error("'{}' cannot be written in {form}, the encoding of the file; save the file as UTF-8 first, or leave the character out", .character.escape_debug())]
    Unwritable {
        /// Which.
        character: char,
        /// The encoding.
        form: Form,
    },
    /// The bytes of the text would be read as another text.
    #[error("written in {form}, the text would be read as another one; save the file as UTF-8 first")]
    Ambiguous {
        /// The encoding.
        form: Form,
    },
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Windows1252 => "Windows-1252",
        })
    }
}

/// The text of a file, without its byte order mark, line ends as they are.
///
/// # Errors
/// When it is none that could be written back.
pub fn decode(bytes: &[u8]) -> Result<(String, Encoding), Unreadable> {
    if bytes.len() > LARGEST {
        return Err(Unreadable::Large { bytes: bytes.len() as u64 });
    }
    let (mark, plain) = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => return Err(Unreadable::Utf32),
        [0xff, 0xfe, rest @ ..] => return utf16(rest, Form::Utf16Le, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return utf16(rest, Form::Utf16Be, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => (true, rest),
        _ => (false, bytes),
    };
    if let Some(at) = memchr::memchr(0, bytes) {
        return Err(Unreadable::Binary { at });
    }
    match std::str::from_utf8(plain) {
        Ok(text) => Ok((text.to_owned(), Encoding { form: Form::Utf8, mark })),
        Err(_) => {
            let encoding = Encoding {
                form: Form::Windows1252,
                mark: false,
            };
            Ok((bytes.iter().map(|byte| windows_1252(*byte)).collect(), encoding))
        }
    }
}

fn utf16(bytes: &[u8], form: Form, unit: fn([u8; 2]) -> u16) -> Result<(String, Encoding), Unreadable> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Unreadable::BrokenUtf16);
    }
    let text: Result<String, _> = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect();
    let text = text.map_err(|_| Unreadable::BrokenUtf16)?;
    match text.find('\0') {
        Some(_) => Err(Unreadable::Binary {
            at: 2 + 2 * text.chars().take_while(|c| *c != '\0').map(char::len_utf16).sum::<usize>(),
        }),
        None => Ok((text, Encoding { form, mark: true })),
    }
}

/// How many characters the text of a file has; none where it is no text.
pub fn length(bytes: &[u8]) -> usize {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => decode(bytes).map_or(0, |(text, _)| text.chars().count()),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text).chars().count(),
            Err(_) => bytes.len(),
        },
    }
}

/// The bytes of a text.
///
/// # Errors
/// When the encoding cannot hold it, or [`decode`] would make another text of them.
pub fn encode(text: &str, encoding: Encoding) -> Result<Vec<u8>, Unreadable> {
    let Encoding { form, mark } = encoding;
    if let Some(at) = memchr::memchr(0, text.as_bytes()) {
        return Err(Unreadable::Binary { at });
    }
    let bytes = match form {
        Form::Utf8 if mark => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        Form::Utf8 => text.as_bytes().to_vec(),
        Form::Utf16Le => units(text).flat_map(u16::to_le_bytes).collect(),
        Form::Utf16Be => units(text).flat_map(u16::to_be_bytes).collect(),
        Form::Windows1252 => {
            let byte = |character: char| code_page(character).ok_or(Unreadable::Unwritable { character, form });
            text.chars().map(byte).collect::<Result<_, _>>()?
        }
    };
    if bytes.len() > LARGEST {
        return Err(Unreadable::Large { bytes: bytes.len() as u64 });
    }
    // A mark is put before a text that has none; only these two can come out as another text.
    let doubtful = form == Form::Windows1252 || !mark && form == Form::Utf8 && text.starts_with('\u{feff}');
    if doubtful && !decode(&bytes).is_ok_and(|(read, _)| read == text) {
        return Err(Unreadable::Ambiguous { form });
    }
    Ok(bytes)
}

fn units(text: &str) -> impl Iterator<Item = u16> {
    std::iter::once(0xfeff).chain(text.encode_utf16())
}

/// The byte that stands for a character in code page 1252.
fn code_page(character: char) -> Option<u8> {
    match u32::from(character) {
        plain @ (0..0x80 | 0xa0..0x100) => u8::try_from(plain).ok(),
        _ => (0x80..=0x9f).find(|byte| windows_1252(*byte) == character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wide(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        units(text).flat_map(unit).collect()
    }

    fn refused(bytes: &[u8]) -> String {
        decode(bytes).expect_err("refused").to_string()
    }

    #[test]
    fn what_is_no_text_is_refused_by_name() {
        assert_eq!(refused(b"ab\0c"), "it is binary: byte 2 is NUL");
        assert_eq!(refused(&wide("a\0", u16::to_le_bytes)), "it is binary: byte 4 is NUL");
        assert!(refused(b"\xff\xfe\0\0a\0\0\0").starts_with("it is UTF-32"));
        assert!(refused(b"\xff\xfea").starts_with("it is not valid UTF-16"));
        assert!(refused(b"\xff\xfe\x00\xd8").starts_with("it is not valid UTF-16"));
    }

    #[test]
    fn what_the_encoding_lacks_is_refused_by_name() {
        let (text, encoding) = decode(b"caf\xe9 \x80\x81").expect("text");
        assert_eq!((text.as_str(), encoding.form), ("café €\u{81}", Form::Windows1252));
        let why = encode("日", encoding).expect_err("refused").to_string();
        assert!(why.starts_with("'日' cannot be written in Windows-1252"), "{why}");
        // These two bytes would be read as UTF-8.
        assert_eq!(encode("Ã©", encoding), Err(Unreadable::Ambiguous { form: Form::Windows1252 }));
        // Without its only odd character the file is what it looks like.
        assert_eq!(encode("cafe", encoding), Ok(b"cafe".to_vec()));
        assert!(encode("a\0", PLAIN).is_err() && encode("\u{feff}a", PLAIN).is_err());
    }

    proptest! {
        #[test]
        fn any_text_round_trips(text in "[a-zé日😀 \u{feff}\r\n]{0,12}", big: bool, mark: bool) {
            let utf16 = if big { wide(&text, u16::to_be_bytes) } else { wide(&text, u16::to_le_bytes) };
            let utf8 = if mark { format!("\u{feff}{text}") } else { text.clone() }.into_bytes();
            for bytes in [utf16, utf8] {
                let (read, encoding) = decode(&bytes).expect("text");
                prop_assert_eq!(length(&bytes), read.chars().count());
                prop_assert_eq!(encode(&read, encoding), Ok(bytes));
            }
        }

        #[test]
        fn any_bytes_round_trip_or_are_refused(bytes: Vec<u8>) {
            if let Ok((read, encoding)) = decode(&bytes) {
                prop_assert_eq!(encode(&read, encoding), Ok(bytes));
            }
        }
    }
}
