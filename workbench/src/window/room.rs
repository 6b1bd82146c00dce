//! How long the prompt window is: what this checkout was set to, else what `[prompt_window]` of the manifest says, else 40,000 characters.

use super::state::{USUAL_CHARS, Window};
use toml::Table;

/// Of the window, in percent, for pinned types unless told.
const PINNED_PERCENT: usize = 60;

/// The room of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Characters of the whole text.
    pub max_chars: usize,
    /// Of them, in percent, for pinned types.
    pub pinned_percent: usize,
}

impl Room {
    /// Of so many characters, three fifths for pinned types.
    pub fn of(max_chars: usize) -> Self {
        Self {
            max_chars,
            pinned_percent: PINNED_PERCENT,
        }
    }

    /// Of a window in a workspace with this manifest. A manifest that cannot be read says nothing of it.
    pub fn read(window: &Window, manifest: &str) -> Self {
        let table = manifest.parse::<Table>().unwrap_or_default();
        let number = |key: &str| {
            let number = table.get("prompt_window").and_then(|table| table.get(key))?.as_integer()?;
            usize::try_from(number).ok()
        };
        Self {
            max_chars: window.max_chars.or_else(|| number("max_chars")).unwrap_or(USUAL_CHARS),
            pinned_percent: number("pinned_percent").map_or(PINNED_PERCENT, |percent| percent.min(100)),
        }
    }

    /// Characters for pinned types.
    pub(super) fn pinned(self) -> usize {
        self.max_chars * self.pinned_percent / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_goes_before_the_manifest() {
        let manifest = "[prompt_window]\nmax_chars = 5000\npinned_percent = 40\n";
        let mut window = Window::default();
        let room = Room::read(&window, manifest);
        assert_eq!((room.max_chars, room.pinned()), (5_000, 2_000));
        window.max_chars = Some(2_000);
        assert_eq!(Room::read(&window, manifest).pinned(), 800);
        assert_eq!(Room::read(&Window::default(), "not toml ["), Room::of(USUAL_CHARS));
    }
}
