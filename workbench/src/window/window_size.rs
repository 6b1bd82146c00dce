//! The size of the prompt window: set for this checkout, else by `[prompt_window]` of the manifest, else 40,000 characters.

use super::state::{USUAL_CHARS, Window};
use toml::Table;

/// Default share of pinned types, in percent.
const PINNED_PERCENT: usize = 60;

/// The size of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Limit of characters of the whole text.
    pub max_chars: usize,
    /// Share of pinned types, in percent.
    pub pinned_percent: usize,
}

impl Room {
    /// Creates a room of `max_chars` characters, three fifths for pinned types.
    pub fn new(max_chars: usize) -> Self {
        Self {
            max_chars,
            pinned_percent: PINNED_PERCENT,
        }
    }

    /// Reads the size of a window in a workspace with this manifest. An invalid manifest counts as empty.
    pub fn from_window(window: &Window, manifest: &str) -> Self {
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

    /// Returns the characters for pinned types.
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
        let room = Room::from_window(&window, manifest);
        assert_eq!((room.max_chars, room.pinned()), (5_000, 2_000));
        window.max_chars = Some(2_000);
        assert_eq!(Room::from_window(&window, manifest).pinned(), 800);
        assert_eq!(Room::from_window(&Window::default(), "not toml ["), Room::new(USUAL_CHARS));
    }
}
