//! Several machines and one remote cache: machines find each other's results, and a cache that lies costs only time.

mod fetching;
mod graphs;
mod machines;
mod results;
