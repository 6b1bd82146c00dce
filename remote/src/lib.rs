//! The remote cache and the farm: a client of the Remote Execution API, version 2, behind the engine's blocking seams.
//!
//! It knows blobs, results and how to check a server; no graph, no terminal, and of the manifest only its own table. Invariants: it returns only
//! bytes with the requested digest; whatever a server does, no call fails or exceeds its time-outs; it sends tokens only in
//! headers.

mod account;
mod action;
mod blobs;
mod breaker;
mod bucket;
mod bundle;
mod bundling;
mod client;
mod credentials;
mod farm;
mod folder;
mod fresh_volumes;
mod graph_pieces;
mod healing;
mod inline_outputs;
mod line;
mod moments;
mod names;
mod objects;
mod piece;
mod record;
mod results;
mod server;
mod shipping;
mod signature;
mod stream;
mod terms;
#[cfg(test)]
mod tests;
mod uploads;
mod volume;

pub use client::{Client, Ping, Use};
pub use credentials::Variables;
pub use farm::Workers;
pub use line::Deadlines;
pub use moments::{Moments, RealMoments};
pub use names::Function;
pub use server::Surroundings;
pub use terms::Terms;
