//! `cortex mcp`: the methods for language models, by the Model Context Protocol.
//!
//! [`server`] answers from the tools of `serve`; [`resources`] defines addresses to read, [`prompts`] how to start a task. [`line_transport`] is the
//! transport to the parent process, [`http`] the one to other clients. [`progress`] reports the progress of a request.

#[cfg(feature = "http")]
pub mod http;
mod line_transport;
mod progress;
mod prompts;
mod resources;
pub mod server;
