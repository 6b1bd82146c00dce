//! The remote cache and the farm: a client of the Remote Execution API, version 2, behind the engine's blocking seams.
//!
//! It knows blobs, results and how to check a server; no graph, no terminal, and of the manifest only its own table. Invariants: it returns only
//! bytes with the requested digest; whatever a server does, no call fails or exceeds its time-outs; it sends tokens only in
//! headers.

mod action;
mod agreed_capabilities;
mod blobs;
mod breaker;
mod bucket;
mod bundle;
mod bundling;
mod cache_counters;
mod client;
mod clock;
mod connection;
mod credentials;
mod farm;
mod folder;
mod graph_pieces;
mod healing;
mod inline_outputs;
mod large_blobs;
mod names;
mod new_volumes;
mod objects;
mod piece;
mod prepared_bundle;
mod record;
mod request_sender;
mod results;
mod server;
mod shipping;
mod signature;
#[cfg(test)]
mod tests;
mod uploads;
mod verified_blobs;
mod volume;

pub use agreed_capabilities::AgreedCapabilities;
pub use client::{Client, Ping};
pub use clock::{Clock, SystemClock};
pub use connection::CacheUse;
pub use credentials::Variables;
pub use farm::Workers;
pub use names::Function;
pub use request_sender::Deadlines;
pub use server::Surroundings;
