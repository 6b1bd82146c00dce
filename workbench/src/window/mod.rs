//! The prompt window: the one text of a checkout that a model is shown (seed 000 §8). [`state`] is its stored state, [`window_size`] its size, [`compose`]
//! composes the text, which is laid out as `.cortex/out/prompt_window.md`.

pub mod compose;
pub mod state;
pub mod window_size;

/// Path of the laid-out text, below the workspace's root.
pub const OUT: &str = ".cortex/out/prompt_window.md";
