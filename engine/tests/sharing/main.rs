//! Several machines and one remote cache: machines find each other's results, and a cache that lies costs only time.

mod fetching;
mod graphs;
mod machines;
mod results;
#[path = "../toys/mod.rs"]
#[allow(dead_code, reason = "each test target uses its own part of the bench")]
mod toys;
