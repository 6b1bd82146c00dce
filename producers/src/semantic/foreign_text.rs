//! Cleans foreign text: removes control characters, terminal escapes, and marks that change the direction of writing.

/// Returns the text with line feeds as its only control characters: tabs become spaces, and escape sequences and marks that hide or reorder visible
/// text are removed.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            '\t' => out.push(' '),
            '\u{1b}' => escape(&mut chars),
            '\u{9b}' => control_sequence(&mut chars),
            c if c.is_control() || is_hidden(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Whether a character has no glyph: direction, joining, byte order, tags.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Skips the sequence after an escape character.
fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            control_sequence(chars);
        }
        // A string for the terminal, up to its end on the same line.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                if c == '\u{7}' || c == '\u{9c}' {
                    return;
                }
                if c == '\u{1b}' {
                    chars.next_if(|c| *c == '\\');
                    return;
                }
            }
        }
        Some(c) if !c.is_control() => drop(chars.next()),
        _ => {}
    }
}

fn control_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
    chars.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_go_as_a_whole() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m\r\nb\tc\u{7}"), "ared\nb c");
        assert_eq!(clean("x\u{1b}]0;title\u{7}y\u{1b}]8;;http://e\u{1b}\\z\u{202e}!"), "xyz!");
        assert_eq!(clean("end\u{1b}"), "end");
    }

    proptest! {
        #[test]
        fn no_control_character_is_left(text in any::<String>()) {
            let cleaned = clean(&text);
            prop_assert!(cleaned.chars().all(|c| c == '\n' || !(c.is_control() || is_hidden(c))));
            prop_assert_eq!(clean(&cleaned), cleaned);
        }
    }
}
