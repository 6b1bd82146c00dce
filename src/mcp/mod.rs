//! `cortex mcp`: the methods for language models, by the Model Context Protocol.
//!
//! [`server`] answers from the catalog of methods: [`tools`] defines which methods are tools, alone or as an operation of a [`group`];
//! [`resources`] defines addresses to read, [`prompts`] how to start a task. [`line_transport`] is the transport to the parent process,
//! [`http`] the one to other clients. [`answer_form`] selects text or data, [`shorten`] limits the length of an answer, [`tool_words`]
//! names tools in place of commands, [`progress`] reports the progress of a request.

pub mod answer_form;
pub mod group;
#[cfg(feature = "http")]
pub mod http;
mod line_transport;
#[cfg(feature = "http")]
mod metrics;
mod progress;
mod prompts;
mod resource_methods;
mod resources;
pub mod server;
mod shorten;
mod tool_purposes;
mod tool_words;
pub mod tools;

/// Returns the first sentence of a text.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}
