//! Meaning of keys. Keys that terminals cannot tell apart mean the same as in shells.

use super::input::Action;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Input from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Changes the text or moves the cursor.
    Edit(Action),
    Submit,
    /// Completes a reference; `back` goes backwards through the candidates.
    Complete {
        back: bool,
    },
    /// Ctrl-C: cancels an answer, or clears the text.
    Interrupt,
    /// Ctrl-D: deletes; leaves if the text is empty.
    EndOfInput,
    Redraw,
    /// The size of the terminal changed.
    Resize,
}

/// Returns the meaning of an event, if it has one.
pub fn key_of_event(event: Event) -> Option<Key> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_of_press(key),
        Event::Paste(text) => Some(Key::Edit(Action::Insert(text))),
        Event::Resize(..) => Some(Key::Resize),
        _ => None,
    }
}

fn key_of_press(key: KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    let newline = || Action::Insert("\n".to_owned());
    let edit = match key.code {
        KeyCode::Enter if alt || shift || control => newline(),
        KeyCode::Enter => return Some(Key::Submit),
        KeyCode::Tab => return Some(Key::Complete { back: false }),
        KeyCode::BackTab => return Some(Key::Complete { back: true }),
        KeyCode::Left if control || alt => Action::WordLeft,
        KeyCode::Left => Action::Left,
        KeyCode::Right if control || alt => Action::WordRight,
        KeyCode::Right => Action::Right,
        KeyCode::Up => Action::Up,
        KeyCode::Down => Action::Down,
        KeyCode::PageUp => Action::Earlier,
        KeyCode::PageDown => Action::Later,
        KeyCode::Home if control => Action::Start,
        KeyCode::Home => Action::Home,
        KeyCode::End if control => Action::Finish,
        KeyCode::End => Action::End,
        KeyCode::Backspace if control || alt => Action::DeleteWordLeft,
        KeyCode::Backspace => Action::Backspace,
        KeyCode::Delete => Action::Delete,
        KeyCode::Char(c) if control => return control_key(c),
        KeyCode::Char('b') if alt => Action::WordLeft,
        KeyCode::Char('f') if alt => Action::WordRight,
        KeyCode::Char('d') if alt => Action::DeleteWordRight,
        KeyCode::Char(c) if !alt => Action::Insert(c.to_string()),
        _ => return None,
    };
    Some(Key::Edit(edit))
}

fn control_key(c: char) -> Option<Key> {
    let edit = match c {
        'c' => return Some(Key::Interrupt),
        'd' => return Some(Key::EndOfInput),
        'l' => return Some(Key::Redraw),
        'j' => Action::Insert("\n".to_owned()),
        'a' => Action::Home,
        'e' => Action::End,
        'b' => Action::Left,
        'f' => Action::Right,
        'p' => Action::Earlier,
        'n' => Action::Later,
        'h' => Action::Backspace,
        'w' => Action::DeleteWordLeft,
        'u' => Action::DeleteHome,
        'k' => Action::DeleteEnd,
        'y' => Action::PutBack,
        'z' | '_' | '7' => Action::Undo,
        _ => return None,
    };
    Some(Key::Edit(edit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
        key_of_event(Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn enter_asks_and_alt_enter_begins_a_line() {
        assert_eq!(meaning(KeyCode::Enter, KeyModifiers::NONE), Some(Key::Submit));
        let newline = Some(Key::Edit(Action::Insert("\n".to_owned())));
        assert_eq!(meaning(KeyCode::Enter, KeyModifiers::ALT), newline);
        assert_eq!(meaning(KeyCode::Char('j'), KeyModifiers::CONTROL), newline);
        assert_eq!(
            meaning(KeyCode::Char('C'), KeyModifiers::SHIFT),
            Some(Key::Edit(Action::Insert("C".to_owned())))
        );
        assert_eq!(meaning(KeyCode::Char('x'), KeyModifiers::ALT), None);
        assert_eq!(key_of_event(Event::FocusGained), None);
    }
}
