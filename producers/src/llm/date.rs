//! Dates as HTTP headers write them, in all three forms of its standard.

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Seconds since 1970 of a date, whichever form it has.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '-'))
        .filter(|word| !word.is_empty())
        .collect();
    // The day of the week says nothing new.
    let (day, month, year, time) = match words.as_slice() {
        [_, day, month, year, time, "GMT" | "UTC"] => (day, month, year, time),
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let month = MONTHS.iter().position(|known| month.eq_ignore_ascii_case(known))? as u64 + 1;
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let year = match (year.len(), year.parse::<u64>().ok()?) {
        (4, year) if year >= 1970 => year,
        // Two digits mean the nearest century.
        (2, year) if year >= 70 => year + 1900,
        (2, year) => year + 2000,
        _ => return None,
    };
    let mut clock = time.split(':').map(|number| number.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if clock.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Counted from March, so that the day a leap year has more is its last.
    let (from_march, of_year) = if month > 2 { (month - 3, year) } else { (month + 9, year - 1) };
    let leap_days = of_year / 4 - of_year / 100 + of_year / 400;
    let days = (of_year * 365 + leap_days + (from_march * 153 + 2) / 5 + day).checked_sub(719_469)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_right() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Tue, 29 Feb 2000 00:00:00 GMT", Some(951_782_400)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Sat, 21 Nov 2026 21:40:00 GMT", Some(1_795_297_200)),
            ("Saturday, 21-Nov-26 21:40:00 GMT", Some(1_795_297_200)),
            ("Sat Nov 21 21:40:00 2026", Some(1_795_297_200)),
            ("Sat, 21 Nov 2026 25:40:00 GMT", None),
            ("Sat, 21 Nov 2026", None),
            ("yesterday", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
