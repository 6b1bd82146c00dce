//! The build engine of cortex: a content-addressed build system for derived knowledge.
//!
//! Everything is a node in one graph: a [label](values::label), a [producer](seams::producer), inputs, an output blob.
//! The engine knows no language and no terminal; it never prints. Layers, each importing only the layers above it in this list:
//! [`values`] < [`seams`] < facts ([`manifest`], [`files`], [`store`]) < planning ([`graph`], [`planning`]) < [`build`], the one
//! loop that joins them.

pub mod build;
pub mod files;
pub mod graph;
pub mod manifest;
pub mod planning;
pub mod seams;
pub mod store;
#[cfg(test)]
mod testing;
pub mod values;
pub mod watch;
