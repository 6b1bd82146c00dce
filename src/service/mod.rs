//! `cortex serve`: the methods by JSON-RPC 2.0, for editors, agents and the command line itself.
//!
//! [`frame`] reads and writes messages, [`message`] says what they are, [`peer`] serves one client, [`one_message`] a request of its own, [`server`] listens, [`host`] answers:
//! it holds what outlives a request. [`client`] is how the command line asks.

pub mod build_ahead;
pub mod client;
pub mod figures;
mod follow;
pub mod frame;
pub mod host;
pub mod message;
pub mod meter;
#[cfg(feature = "http")]
mod one_message;
mod outbox;
pub mod peer;
mod running;
pub mod server;
pub mod session_watch;
pub mod turn;
mod warm;
pub mod watching;

pub use host::Host;

/// What the service and its command line must agree on: the program's version and that of its producers.
pub fn version() -> String {
    let registry = workbench::workspace::registry(
        std::sync::Arc::new(producers::llm::Refusing),
        std::sync::Arc::new(producers::command::Nothing),
    );
    format!("{} {}", env!("CARGO_PKG_VERSION"), registry.digest().short())
}
