//! Queries over the graph: `deps(//types/NodeStore:outline) - //files/...`. A query never builds: answers come from a dry run.
//!
//! ```text
//! expr   = term { ("+" | "union" | "-" | "except" | "^" | "intersect") term }      from left to right, all equally strong
//! term   = pattern | "$" name | "(" expr ")" | "let" name "=" expr "in" expr | function
//! function = deps(expr[, depth]) | rdeps([universe,] expr[, depth]) | somepath(expr, expr) | allpaths(expr, expr)
//!          | kind(test, expr) | attr(attribute, regex, expr) | filter(regex, expr) | stale(expr)
//! ```
//! A pattern ends at white space, at a comma, at a closing parenthesis that it did not open, or before an operator that a `//` follows. Quotes
//! enclose patterns with such characters. Patterns without a target, or with `*` as target, match rules' targets; `:bytes` and `:files` match source
//! files and sets. A `let` extends as far to the right as it can.
//!
//! Parsing needs no graph, and evaluation only a [`QueryGraph`]: sessions implement it, and the tests' drawn graphs.

mod eval;
mod parse;
mod session_graph;

#[cfg(test)]
mod tests;

pub use parse::parse;
pub use session_graph::{QueryNode, QueryResult, answer};

use engine::build::engine::EngineError;
use engine::graph::NodeId;
use engine::values::pattern::Pattern;
use engine::values::wildcard::Wildcard;
use regex::Regex;

/// Limit of nested parentheses and functions.
pub const MAX_NESTING: usize = 100;

/// A parsed query. Patterns are in [`Query::patterns`], by number in the expression.
#[derive(Clone, Debug)]
pub struct Query {
    /// The patterns in the order written.
    pub patterns: Vec<Pattern>,
    /// The expression over the patterns.
    pub expr: Expr,
    /// Number of names that `let` binds.
    pub variables: usize,
}

impl Query {
    /// Whether the query asks for paths from some nodes to others.
    pub fn asks_for_ways(&self) -> bool {
        let mut expr = &self.expr;
        while let Expr::Let(_, _, body) = expr {
            expr = body;
        }
        matches!(expr, Expr::SomePath(..) | Expr::AllPaths(..))
    }
}

/// An expression. Chains of operators are flat, so that only nesting costs depth.
#[derive(Clone, Debug)]
pub enum Expr {
    Pattern(usize),
    /// A name by number.
    Variable(usize),
    /// A name by number, its value, and the expression that uses it.
    Let(usize, Box<Expr>, Box<Expr>),
    /// First and the others, from left to right.
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    /// The inputs of the nodes, transitively up to this number of steps, the nodes included.
    Deps(Box<Expr>, Option<u32>),
    /// The readers of the nodes, transitively, the nodes included: of everything, or of what the universe depends on.
    Rdeps {
        /// Limits the readers to these nodes and their transitive inputs.
        universe: Option<Box<Expr>>,
        of: Box<Expr>,
        depth: Option<u32>,
    },
    /// A shortest path from one of the first to one of the second.
    SomePath(Box<Expr>, Box<Expr>),
    /// All nodes on any path from one of the first to one of the second.
    AllPaths(Box<Expr>, Box<Expr>),
    /// Nodes whose target name (`outline`) or producer's implementation (`csharp/outline`) matches; the implementation of files and sets is `source`.
    Kind(Test, Box<Expr>),
    /// Nodes that have the attribute with a matching value.
    Attr(Attribute, Test, Box<Expr>),
    /// Nodes whose label matches.
    Filter(Test, Box<Expr>),
    /// Nodes that a build would change: not built, stale, maybe stale, or failed.
    Stale(Box<Expr>),
}

/// A test of a text.
#[derive(Clone, Debug)]
pub enum Test {
    /// Matches the whole text.
    Name(Wildcard),
    /// Matches any part of the text.
    Regex(Regex),
}

/// An attribute that `attr` tests. Source files and sets have the first three only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `package`: the label up to its last colon.
    Package,
    /// `target`: the label after it.
    Target,
    /// `uses`: the producer's implementation.
    Uses,
    /// `producer`: the producer's name in the manifest.
    Producer,
    /// `version`: implementation and version, as in `csharp/outline@3`.
    Version,
    /// `rule`: the rule's target with its variables.
    Rule,
    /// `out`: the rule's path of laid-out files.
    Out,
    /// `paid`: `true` or `false`.
    Paid,
    /// `param.NAME`: a parameter of the producer, as JSON (texts without quotes).
    Param(String),
    /// `var.NAME`: the value of a variable of the rule.
    Var(String),
}

/// The attributes with a fixed name.
pub const ATTRIBUTES: [(&str, Attribute); 8] = [
    ("package", Attribute::Package),
    ("target", Attribute::Target),
    ("uses", Attribute::Uses),
    ("producer", Attribute::Producer),
    ("version", Attribute::Version),
    ("rule", Attribute::Rule),
    ("out", Attribute::Out),
    ("paid", Attribute::Paid),
];

/// A set operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Union,
    /// In the first only.
    Except,
    Intersect,
}

/// A syntax error of a query: sentence, byte offset and hint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct QueryError {
    /// The error, as a sentence.
    pub message: String,
    /// Byte offset into the text.
    pub at: usize,
    /// Length of the error in bytes.
    pub len: usize,
    /// The correct form of the query.
    pub hint: String,
}

/// The graph operations of an evaluation.
trait QueryGraph {
    /// Returns the nodes that a pattern matches, by its number.
    fn matched_nodes(&self, pattern: usize) -> &[NodeId];
    /// Returns the inputs of a node, perhaps repeated.
    fn reads(&self, id: NodeId) -> Vec<NodeId>;
    /// Returns the readers of a node, perhaps repeated.
    fn readers(&self, id: NodeId) -> Vec<NodeId>;
    fn label(&self, id: NodeId) -> String;
    /// Returns the implementation that builds the node.
    fn kind(&self, id: NodeId) -> String;
    /// Returns the value of an attribute, if the node has it.
    fn attribute(&self, id: NodeId, attribute: &Attribute) -> Option<String>;
    /// Returns those of the nodes that are not current.
    fn stale(&mut self, nodes: &[NodeId]) -> Result<Vec<NodeId>, EngineError>;
}

impl Test {
    pub fn passes(&self, text: &str) -> bool {
        match self {
            Self::Name(name) => name.matches(text),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}
