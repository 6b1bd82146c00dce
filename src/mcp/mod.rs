//! `cortex mcp`: the methods for language models, by the Model Context Protocol.
//!
//! [`server`] walks the table of methods: [`tools`] says what of it is a tool, alone or as an operation of a [`group`], [`resources`] what can be read under an address, [`prompts`]
//! how a task is begun. [`line`] is what the parent process says and hears. [`form`] says whether text or data is sent, [`shorten`] keeps it at a length that clients take, [`progress`] tells how far one is. [`http`] serves others
//! than the parent process.

pub mod form;
pub mod group;
#[cfg(feature = "http")]
pub mod http;
mod line;
mod listing;
#[cfg(feature = "http")]
mod metrics;
mod progress;
mod prompts;
mod purpose;
mod resources;
pub mod server;
mod shorten;
pub mod tools;

/// The first sentence of a text in several.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}
