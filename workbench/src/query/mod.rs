//! Queries over the graph: `deps(//types/NodeStore:outline) - //files/...`. Looking never executes: answers come from a dry run.
//!
//! ```text
//! expr   = term { ("+" | "union" | "-" | "except" | "^" | "intersect") term }      from left to right, all equally strong
//! term   = pattern | "(" expr ")" | deps(expr[, depth]) | rdeps(expr[, depth]) | somepath(expr, expr) | kind(name, expr)
//! ```
//! A pattern ends at white space, at a comma, at a closing parenthesis that it did not open, or before an operator that a `//` follows. Quotes
//! hold what has any of these inside. Patterns without a target, or with `*` as target, mean what rules make; source files and sets are
//! meant by `:bytes` and `:files`.

mod eval;
mod parse;

pub use eval::{Answer, Node, answer};
pub use parse::parse;

use engine::values::pattern::Pattern;

/// How deep parentheses and functions may nest.
pub const MAX_NESTING: usize = 100;

/// A parsed query. Patterns are in [`Query::patterns`], by number in the expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The patterns in the order written.
    pub patterns: Vec<Pattern>,
    /// What to do with them.
    pub expr: Expr,
}

/// An expression. Chains of operators are flat, so that only nesting costs depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A pattern by number.
    Pattern(usize),
    /// First and the others, from left to right.
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    /// What the nodes are made of, themselves included.
    Deps(Box<Expr>, Option<u32>),
    /// What is made of the nodes, themselves included.
    Rdeps(Box<Expr>, Option<u32>),
    /// A shortest way from one of the first to one of the second.
    SomePath(Box<Expr>, Box<Expr>),
    /// Those whose target name (`outline`) or producer's implementation (`csharp/outline`) the text names, `*` for any run of characters; the
    /// implementation of files and sets is called `source`.
    Kind(String, Box<Expr>),
}

/// A set operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// In either.
    Union,
    /// In the first only.
    Except,
    /// In both.
    Intersect,
}

/// Why a text is no query: sentence, byte offset and hint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct QueryError {
    /// One sentence.
    pub message: String,
    /// Byte offset into the text.
    pub at: usize,
    /// How many bytes are meant.
    pub len: usize,
    /// What to write instead.
    pub hint: String,
}
