//! Text encodings of files: UTF-8 and UTF-16 with or without byte order mark, and Windows-1252, such that unedited text keeps its bytes. A file that
//! cannot be written back byte for byte is refused, with the name of its encoding. So is one that only resembles Windows-1252: new text would make it
//! a mixture of encodings.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use producers::text::windows_1252;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Size in bytes of the largest file that can be edited.
pub const LARGEST: usize = 256 << 20;

/// Character encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// UTF-8.
    Utf8,
    /// UTF-16, little-endian.
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
    /// Code page 1252.
    Windows1252,
}

/// The encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoding {
    pub form: Form,
    /// Whether the file starts with a byte order mark.
    pub mark: bool,
}

/// The byte order mark, as a character.
pub(crate) const MARK: char = '\u{feff}';

/// Encoding of a new file.
pub const PLAIN: Encoding = Encoding {
    form: Form::Utf8,
    mark: false,
};

/// Reason why bytes cannot be edited as text, or a text cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The bytes include a NUL byte.
    #[error("it is binary: byte {at} is NUL")]
    Binary {
        /// Number of bytes before the NUL byte.
        at: usize,
    },
    /// UTF-16 without a byte order mark.
    #[error("it looks like {form} without a byte order mark; put one before it, or make it UTF-8 first (`iconv -f {form} -t UTF-8`)")]
    Unmarked {
        /// Byte order.
        form: Form,
    },
    /// UTF-32.
    #[error("it is UTF-32; save it as UTF-8 first")]
    Utf32,
    /// UTF-16 with an unpaired surrogate or an odd number of bytes.
    #[error("it is UTF-16 but for byte {at} in line {line}, where half of a character is missing; fix that place first")]
    BrokenUtf16 {
        /// Number of bytes before the error.
        at: usize,
        /// Line with the error, from 1.
        line: usize,
    },
    /// UTF-8 with invalid bytes.
    #[error(
        "it is UTF-8 but for byte {at}, 0x{byte:02x} in line {line}; fix that place, or remove broken bytes with `iconv -c -f UTF-8 -t UTF-8`"
    )]
    BrokenUtf8 {
        /// Number of bytes before the first invalid one.
        at: usize,
        /// The invalid byte.
        byte: u8,
        /// Line with the error, from 1.
        line: usize,
    },
    /// Apparently another encoding.
    #[error("it is neither UTF-8 nor Windows-1252, and looks like {name}; make it UTF-8 first (`iconv -f {name} -t UTF-8`)")]
    Foreign {
        /// Name of the encoding, as a guess.
        name: &'static str,
    },
    #[error("it is neither UTF-8 nor Windows-1252, which has no character for byte {at}; make it UTF-8 first (`iconv -f FROM -t UTF-8`)")]
    Unknown {
        /// Number of bytes before the first unknown one.
        at: usize,
    },
    /// More than [`LARGEST`] bytes.
    #[error("it has {bytes} bytes, and 256 MiB are the most")]
    Large {
        /// Size in bytes.
        bytes: u64,
    },
    /// The encoding lacks a character.
    #[error("'{}' cannot be written in {form}, the encoding of the file; save the file as UTF-8 first, or leave the character out", .character.escape_debug())]
    Unwritable { character: char, form: Form },
    /// The encoded text would be decoded as another text.
    #[error("written in {form}, the text would be read as another one; save the file as UTF-8 first")]
    Ambiguous { form: Form },
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

/// Decodes the bytes of a file; returns the text without its byte order mark, with line ends unchanged. Fails when the text could not be
/// written back.
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
        return Err(match guess_utf16(bytes) {
            Some(form) => Unreadable::Unmarked { form },
            None => Unreadable::Binary { at },
        });
    }
    match std::str::from_utf8(plain) {
        Ok(text) => Ok((text.to_owned(), Encoding { form: Form::Utf8, mark })),
        Err(error) => {
            let at = bytes.len() - plain.len() + error.valid_up_to();
            let line = 1 + memchr::memchr_iter(b'\n', &bytes[..at]).count();
            let broken = Unreadable::BrokenUtf8 { at, byte: bytes[at], line };
            let (mut whole, mut stray) = (0, 0);
            for chunk in plain.utf8_chunks() {
                whole += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
                stray += chunk.invalid().len();
            }
            match code_page_text(bytes) {
                _ if mark || whole >= stray => Err(broken),
                Ok(_) if whole > 0 => Err(broken),
                read => read,
            }
        }
    }
}

/// Bytes that code page 1252 leaves undefined.
const HOLES: [u8; 5] = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

/// Decodes bytes that are not UTF-8, if they look like code page 1252.
fn code_page_text(bytes: &[u8]) -> Result<(String, Encoding), Unreadable> {
    let hole = bytes.iter().position(|byte| HOLES.contains(byte));
    if hole.is_some() || !is_like_words(bytes) {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(bytes, true);
        let name = detector.guess(None, Utf8Detection::Deny).name();
        match (hole, name) {
            (None, "windows-1252") => {}
            (Some(at), "windows-1252") => return Err(Unreadable::Unknown { at }),
            _ => return Err(Unreadable::Foreign { name }),
        }
    }
    let encoding = Encoding {
        form: Form::Windows1252,
        mark: false,
    };
    Ok((bytes.iter().map(|byte| windows_1252(*byte)).collect(), encoding))
}

/// Whether the bytes above ASCII occur as in the languages of code page 1252: in runs of at most two, signs at the ends of words. A detector guesses
/// badly on so few bytes; it decides longer runs.
fn is_like_words(bytes: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0x80 && windows_1252(byte).is_alphabetic();
    // Apostrophes, the soft hyphen, the middle dot of Catalan and superscript letters occur within words.
    let is_joint = |byte: u8| matches!(byte, 0x92 | 0xaa | 0xad | 0xb7 | 0xba);
    let runs = bytes.split(u8::is_ascii).all(|run| run.len() < 3);
    runs && bytes.windows(3).all(|three| {
        let sign = three[1] >= 0x80 && !is_letter(three[1]) && !is_joint(three[1]);
        !(sign && is_letter(three[0]) && is_letter(three[2]))
    })
}

/// Returns the byte order of bytes that look like unmarked UTF-16: with a NUL, and mostly ASCII characters.
fn guess_utf16(bytes: &[u8]) -> Option<Form> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let is_text = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}');
    let is = |unit: fn([u8; 2]) -> u16| {
        let units = || pairs.iter().map(|pair| unit(*pair));
        2 * units().filter(|unit| *unit < 0x80).count() > pairs.len() && char::decode_utf16(units()).all(|read| read.is_ok_and(is_text))
    };
    match () {
        () if !rest.is_empty() => None,
        () if is(u16::from_le_bytes) => Some(Form::Utf16Le),
        () if is(u16::from_be_bytes) => Some(Form::Utf16Be),
        () => None,
    }
}

fn utf16(bytes: &[u8], form: Form, unit: fn([u8; 2]) -> u16) -> Result<(String, Encoding), Unreadable> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(pairs.len());
    let mut read = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    text.extend(read.by_ref().map_while(Result::ok));
    let is_whole = rest.is_empty() && text.chars().map(char::len_utf16).sum::<usize>() == pairs.len();
    if !is_whole {
        return Err(Unreadable::BrokenUtf16 {
            at: 2 + 2 * text.encode_utf16().count(),
            line: 1 + text.matches('\n').count(),
        });
    }
    match text.find('\0') {
        Some(_) => Err(Unreadable::Binary {
            at: 2 + 2 * text.chars().take_while(|c| *c != '\0').map(char::len_utf16).sum::<usize>(),
        }),
        None => Ok((text, Encoding { form, mark: true })),
    }
}

/// A text to write, with its encoding.
pub struct Written {
    /// The text, without a byte order mark.
    pub text: String,
    pub encoding: Encoding,
}

impl Written {
    /// Combines an edited text with the file's encoding. A new byte order mark at its start becomes the file's mark.
    pub fn from_edit(text: String, before: Option<&str>, encoding: Encoding) -> Self {
        let is_mark = encoding.form != Form::Windows1252 && !before.is_some_and(|before| before.starts_with(MARK));
        match text.strip_prefix(MARK).filter(|_| is_mark) {
            Some(rest) => Self {
                text: rest.to_owned(),
                encoding: Encoding { mark: true, ..encoding },
            },
            None => Self { text, encoding },
        }
    }
}

/// Returns the number of characters in the text of a file; 0 if it is not text.
pub fn length(bytes: &[u8]) -> usize {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => decode(bytes).map_or(0, |(text, _)| text.chars().count()),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text).chars().count(),
            Err(_) => bytes.len(),
        },
    }
}

/// Encodes a text. Fails when the encoding lacks a character, or [`decode`] would return another text.
pub fn encode(text: String, encoding: Encoding) -> Result<Vec<u8>, Unreadable> {
    let Encoding { form, mark } = encoding;
    if let Some(at) = memchr::memchr(0, text.as_bytes()) {
        return Err(Unreadable::Binary { at });
    }
    // Only these two cases can decode to another text: code page 1252, and unmarked UTF-8 that starts with a mark.
    let doubtful = form == Form::Windows1252 || !mark && form == Form::Utf8 && text.starts_with('\u{feff}');
    let before = doubtful.then(|| text.clone());
    let bytes = match form {
        Form::Utf8 if mark => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        Form::Utf8 => text.into_bytes(),
        Form::Utf16Le => units(&text).flat_map(u16::to_le_bytes).collect(),
        Form::Utf16Be => units(&text).flat_map(u16::to_be_bytes).collect(),
        Form::Windows1252 => {
            let byte = |character: char| code_page(character).ok_or(Unreadable::Unwritable { character, form });
            text.chars().map(byte).collect::<Result<_, _>>()?
        }
    };
    if bytes.len() > LARGEST {
        return Err(Unreadable::Large { bytes: bytes.len() as u64 });
    }
    if before.is_some_and(|text| !decode(&bytes).is_ok_and(|(read, _)| read == text)) {
        return Err(Unreadable::Ambiguous { form });
    }
    Ok(bytes)
}

fn units(text: &str) -> impl Iterator<Item = u16> {
    std::iter::once(0xfeff).chain(text.encode_utf16())
}

/// Returns the byte of a character in code page 1252.
fn code_page(character: char) -> Option<u8> {
    match u32::from(character) {
        plain @ (0..0x80 | 0xa0..0x100) => u8::try_from(plain).ok(),
        0x80..0xa0 => None,
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

    fn decode_error(bytes: &[u8]) -> String {
        decode(bytes).expect_err("refused").to_string()
    }

    #[test]
    fn binary_files_are_refused_with_the_reason() {
        assert_eq!(decode_error(b"ab\0c"), "it is binary: byte 2 is NUL");
        assert_eq!(decode_error(&wide("a\0", u16::to_le_bytes)), "it is binary: byte 4 is NUL");
        assert!(decode_error(b"\xff\xfe\0\0a\0\0\0").starts_with("it is UTF-32"));
    }

    #[test]
    fn utf16_without_a_mark_is_named_with_a_way_out() {
        let text = "using System;\r\n// caf\u{e9} \u{65e5}\n";
        for (form, unit) in [("UTF-16LE", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("UTF-16BE", u16::to_be_bytes)] {
            let message = decode_error(&wide(text, unit)[2..]);
            assert!(
                message.starts_with(&format!("it looks like {form} without a byte order mark; ")),
                "{message}"
            );
            assert!(message.contains(&format!("`iconv -f {form} -t UTF-8`")), "{message}");
            // Half a character, and characters that text never contains.
            assert!(decode_error(&[&wide(text, unit)[2..], b"\0"].concat()).starts_with("it is binary"));
            assert!(decode_error(&wide("a\u{1}bc", unit)[2..]).starts_with("it is binary"));
        }
        assert!(decode_error(b"\0\0\0\0").starts_with("it is binary"));
    }

    #[test]
    fn half_of_a_character_is_told_with_its_place() {
        let before = "é\n😀";
        let start: Vec<u8> = wide(before, u16::to_be_bytes);
        for (broken, behind) in [
            (&b"\xd8\x00"[..], &b"\0a\0\n"[..]),
            (b"\xdc\x00", b"\xd8\x3d\xde\x00"),
            (b"a", b""),
            (b"\xd8\x3d", b""),
        ] {
            let message = decode_error(&[&start, broken, behind].concat());
            assert!(
                message.starts_with("it is UTF-16 but for byte 10 in line 2, "),
                "{broken:?}: {message}"
            );
        }
        assert!(decode_error(b"\xff\xfea").starts_with("it is UTF-16 but for byte 2 in line 1, "));
    }

    /// Encodes a text in a code page.
    fn paged(page: &str, text: &str) -> Vec<u8> {
        let encoding = encoding_rs::Encoding::for_label(page.as_bytes()).expect("a name");
        let (bytes, _, lacking) = encoding.encode(text);
        assert!(!lacking, "{text} in {page}");
        bytes.into_owned()
    }

    #[test]
    fn words_of_western_europe_are_windows_1252() {
        for text in [
            "// café",
            "// Author: Müller\nclass A { }\n",
            "// © 2020 Foo",
            "x = 5°; // 5 µs, § 5 ½ ± ×",
            "“quoted”, don’t – do",
            "weiß grün Ärger Öl m² 1º",
            "señor ¿qué?",
            "åäö ÅÄÖ",
            "ça déjà vu…",
            "blåbærgrød, paral·lel",
        ] {
            let bytes = paged("windows-1252", text);
            let (read, encoding) = decode(&bytes).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!((read.as_str(), encoding.form), (text, Form::Windows1252));
            assert_eq!(encode(read, encoding), Ok(bytes));
        }
        // Each character, alone and within a word.
        for byte in (0x80..=0xff).filter(|byte| !HOLES.contains(byte)) {
            assert!(decode(&[b'a', b' ', byte, b' ', b'b']).is_ok(), "{byte:x}");
            let within = decode(&[b'a', b'b', byte, b'c', b'd']);
            assert!(within.is_ok() || !windows_1252(byte).is_alphabetic(), "{byte:x}");
        }
    }

    #[test]
    fn other_encodings_are_not_taken_for_windows_1252() {
        for (page, text) in [
            ("Shift_JIS", "// コメント class A { }"),
            ("GBK", "// 中文注释\nclass A { }"),
            ("EUC-KR", "// 한국어 주석"),
            ("EUC-JP", "// コメントの 説明"),
            ("windows-1251", "// Комментарий"),
            ("windows-1250", "// zażółć gęślą jaźń"),
            ("windows-1253", "// ελληνικά"),
        ] {
            let message = decode_error(&paged(page, text));
            let named = format!("looks like {page}; make it UTF-8 first (`iconv -f {page} -t UTF-8`)");
            assert!(message.ends_with(&named), "{message}");
        }
        for (page, text) in [("Shift_JIS", "日本語"), ("Shift_JIS", "// 説明"), ("Big5", "// 中文註解")] {
            assert!(decode_error(&paged(page, text)).starts_with("it is neither UTF-8 nor Windows-1252"));
        }
        assert!(decode_error(b"a \x81 b").starts_with("it is neither UTF-8 nor Windows-1252"));
    }

    #[test]
    fn a_bad_byte_among_utf8_is_told_with_its_place() {
        let message = decode_error(
            "a\né\n"
                .as_bytes()
                .iter()
                .copied()
                .chain(*b"b\xe9\n")
                .collect::<Vec<u8>>()
                .as_slice(),
        );
        assert!(message.starts_with("it is UTF-8 but for byte 6, 0xe9 in line 3; "), "{message}");
        assert!(decode_error(b"\xef\xbb\xbfa\xe9").starts_with("it is UTF-8 but for byte 4, 0xe9 in line 1; "));
    }

    #[test]
    fn characters_that_the_encoding_lacks_are_refused_by_name() {
        let (text, encoding) = decode(b"caf\xe9 \x80").expect("text");
        assert_eq!((text.as_str(), encoding.form), ("café €", Form::Windows1252));
        let why = encode("日".to_owned(), encoding).expect_err("refused").to_string();
        assert!(why.starts_with("'日' cannot be written in Windows-1252"), "{why}");
        // These two bytes are valid UTF-8.
        assert_eq!(
            encode("Ã©".to_owned(), encoding),
            Err(Unreadable::Ambiguous { form: Form::Windows1252 })
        );
        // Without its only character above ASCII, the file is plain ASCII.
        assert_eq!(encode("cafe".to_owned(), encoding), Ok(b"cafe".to_vec()));
        assert!(encode("a\0".to_owned(), PLAIN).is_err() && encode("\u{feff}a".to_owned(), PLAIN).is_err());
    }

    proptest! {
        #[test]
        fn any_text_round_trips(text in "[a-zé日😀 \u{feff}\r\n]{0,12}", big: bool, mark: bool) {
            let utf16 = if big { wide(&text, u16::to_be_bytes) } else { wide(&text, u16::to_le_bytes) };
            let utf8 = if mark { format!("\u{feff}{text}") } else { text.clone() }.into_bytes();
            for bytes in [utf16, utf8] {
                let (read, encoding) = decode(&bytes).expect("text");
                prop_assert_eq!(length(&bytes), read.chars().count());
                prop_assert_eq!(encode(read, encoding), Ok(bytes));
            }
        }

        #[test]
        fn any_bytes_round_trip_or_are_refused(bytes: Vec<u8>) {
            if let Ok((read, encoding)) = decode(&bytes) {
                prop_assert_eq!(encode(read, encoding), Ok(bytes));
            }
        }
    }
}
