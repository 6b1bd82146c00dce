//! The screen of a conversation: an editor below the output, which scrolls away. All modules but [`terminal`] are pure.

pub mod cells;
pub mod input;
pub mod keys;
mod layout;
pub mod markdown;
pub mod paint;
pub mod terminal;
pub mod view;
