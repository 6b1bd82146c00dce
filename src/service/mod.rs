//! `cortex serve`: the methods by JSON-RPC 2.0, for editors, agents and the command line itself.
//!
//! [`frame`] reads and writes messages, [`message`] defines them, [`peer`] serves one client, [`one_message`] answers a single request,
//! [`server`] listens; the host of `serve` answers. [`client`] is the command line's side.

pub mod client;
mod follow;
pub mod frame;
pub mod message;
#[cfg(feature = "http")]
mod one_message;
mod outbox;
pub mod peer;
pub mod server;

/// Returns the version that the service and its command line must agree on: the program's and its producers'.
pub fn version() -> String {
    let registry = workbench::workspace::registry(
        std::sync::Arc::new(producers::llm::Refusing),
        std::sync::Arc::new(producers::command::Nothing),
    );
    format!("{} {}", env!("CARGO_PKG_VERSION"), registry.digest().short())
}
