//! Quantities as people write them: bytes (`2 GB`, `500 MiB`) and spans of time (`7d`, `12 hours`).

/// Units of bytes. Two letters are powers of 1,000, three of 1,024.
const BYTES: [(&str, u64); 13] = [
    ("", 1),
    ("b", 1),
    ("k", 1_000),
    ("kb", 1_000),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
    ("tb", 1_000_000_000_000),
    ("tib", 1 << 40),
];
const SPANS: [(&str, u64); 17] = [
    ("s", 1),
    ("sec", 1),
    ("second", 1),
    ("seconds", 1),
    ("m", 60),
    ("min", 60),
    ("minute", 60),
    ("minutes", 60),
    ("h", 3_600),
    ("hour", 3_600),
    ("hours", 3_600),
    ("d", 86_400),
    ("day", 86_400),
    ("days", 86_400),
    ("w", 604_800),
    ("week", 604_800),
    ("weeks", 604_800),
];

/// Formats a number of things: `1 file`, `2 files`.
pub fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Parses a number of bytes. Errors: a hint with examples.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    parse_quantity(text, &BYTES).ok_or_else(|| "write a size such as 500 MB, 2 GB or 1 GiB".to_owned())
}

/// Parses a span to a number of seconds; `0` needs no unit. Errors: a hint with examples.
pub fn seconds(text: &str) -> Result<u64, String> {
    if text.trim() == "0" {
        return Ok(0);
    }
    parse_quantity(text, &SPANS).ok_or_else(|| "write a span such as 12h, 7d or 4w".to_owned())
}

/// Parses a number with at most three decimals, and a unit.
fn parse_quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(text.len());
    let (number, unit) = (text[..end].replace('_', ""), text[end..].trim());
    let (_, scale) = units.iter().find(|(name, _)| *name == unit)?;
    let (whole, part) = number.split_once('.').unwrap_or((&number, "0"));
    if part.is_empty() || part.len() > 3 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    whole
        .checked_mul(*scale)?
        .checked_add(u64::try_from(u128::from(part) * u128::from(*scale) / 1_000).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_read() {
        for (text, wanted) in [
            ("2 GB", Some(2_000_000_000)),
            ("1.5GiB", Some(3 << 29)),
            ("500mb", Some(500_000_000)),
            ("1_000", Some(1_000)),
            ("0", Some(0)),
            ("", None),
            ("GB", None),
            ("-1 GB", None),
            ("1.2345 GB", None),
            ("2 XB", None),
            ("99999999999999999999", None),
            ("18446744073709551615 GB", None),
        ] {
            assert_eq!(parse_bytes(text).ok(), wanted, "{text}");
        }
        for (text, wanted) in [
            ("7d", Some(604_800)),
            ("0", Some(0)),
            ("1.5 hours", Some(5_400)),
            ("7", None),
            ("d", None),
        ] {
            assert_eq!(seconds(text).ok(), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,30}") {
            let _ = (parse_bytes(&text), seconds(&text));
        }
    }
}
