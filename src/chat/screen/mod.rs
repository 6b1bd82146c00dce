//! The screen of a conversation: an editor below what was said, which scrolls away. All but [`terminal`] is pure.

pub mod cells;
pub mod input;
pub mod keys;
mod layout;
pub mod markdown;
pub mod paint;
pub mod terminal;
pub mod view;
