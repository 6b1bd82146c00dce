//! C# knowledge: from source text to declarations, hashes, dependencies and outlines.

pub mod canonical;
pub mod lexer;
pub mod model;
pub mod names;
pub mod parse;
pub mod preprocess;
pub mod project;
pub mod syntax;
