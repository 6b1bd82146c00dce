//! C# knowledge: from source text to declarations, hashes, dependencies and outlines.

pub mod model;
