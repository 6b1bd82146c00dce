//! The prompt window: the one text of a checkout that a model is shown (seed 000 §8). [`state`] is its stored state, [`room`] its size, [`compose`]
//! composes the text, which is laid out as `.cortex/out/prompt_window.md`.

pub mod compose;
pub mod room;
pub mod state;

/// Path of the laid-out text, below the workspace's root.
pub const OUT: &str = ".cortex/out/prompt_window.md";
