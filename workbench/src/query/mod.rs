//! Queries over the graph: `deps(//types/NodeStore:outline) - //files/...`. Looking never executes: answers come from a dry run.
//!
//! ```text
//! expr   = term { ("+" | "union" | "-" | "except" | "^" | "intersect") term }      from left to right, all equally strong
//! term   = pattern | "$" name | "(" expr ")" | "let" name "=" expr "in" expr | function
//! function = deps(expr[, depth]) | rdeps([universe,] expr[, depth]) | somepath(expr, expr) | allpaths(expr, expr)
//!          | kind(test, expr) | attr(attribute, regex, expr) | filter(regex, expr) | stale(expr)
//! ```
//! A pattern ends at white space, at a comma, at a closing parenthesis that it did not open, or before an operator that a `//` follows. Quotes
//! hold what has any of these inside. Patterns without a target, or with `*` as target, mean what rules make; source files and sets are
//! meant by `:bytes` and `:files`. A `let` reaches as far to the right as it can.
//!
//! Reading knows no graph, and evaluation only what a [`Ground`] tells: sessions are one, and the tests' drawn graphs are another.

mod eval;
mod ground;
mod parse;
mod set;

#[cfg(test)]
mod tests;

pub use ground::{Answer, Node, answer};
pub use parse::parse;

use engine::build::engine::EngineError;
use engine::graph::NodeId;
use engine::values::pattern::Pattern;
use engine::values::wildcard::Wildcard;
use regex::Regex;

/// How deep parentheses and functions may nest.
pub const MAX_NESTING: usize = 100;

/// A parsed query. Patterns are in [`Query::patterns`], by number in the expression.
#[derive(Clone, Debug)]
pub struct Query {
    /// The patterns in the order written.
    pub patterns: Vec<Pattern>,
    /// What to do with them.
    pub expr: Expr,
    /// How many names `let` binds.
    pub variables: usize,
}

impl Query {
    /// Whether it asks for ways from some nodes to others.
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
    /// A pattern by number.
    Pattern(usize),
    /// A name by number.
    Variable(usize),
    /// A name by number, what it stands for, and where.
    Let(usize, Box<Expr>, Box<Expr>),
    /// First and the others, from left to right.
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    /// What the nodes are made of, themselves included, so many steps far.
    Deps(Box<Expr>, Option<u32>),
    /// What is made of the nodes, themselves included: of everything, or of what the universe is made of.
    Rdeps {
        /// Nodes that everything found belongs to or is an input of, however far.
        universe: Option<Box<Expr>>,
        /// The nodes.
        of: Box<Expr>,
        /// Steps.
        depth: Option<u32>,
    },
    /// A shortest way from one of the first to one of the second.
    SomePath(Box<Expr>, Box<Expr>),
    /// Everything on any way from one of the first to one of the second.
    AllPaths(Box<Expr>, Box<Expr>),
    /// Those whose target name (`outline`) or producer's implementation (`csharp/outline`) fits; the implementation of files and sets is
    /// called `source`.
    Kind(Test, Box<Expr>),
    /// Those that have the attribute with a value that fits.
    Attr(Attribute, Test, Box<Expr>),
    /// Those whose label fits.
    Filter(Test, Box<Expr>),
    /// Those that a build of them would not leave as they are: not made, out of date, perhaps out of date, or failed.
    Stale(Box<Expr>),
}

/// A test of a text.
#[derive(Clone, Debug)]
pub enum Test {
    /// The whole text is this.
    Name(Wildcard),
    /// Any part of the text fits.
    Regex(Regex),
}

/// What `attr` looks at. Source files and sets have the first three only.
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
    /// `out`: the rule's place of files that are laid out.
    Out,
    /// `paid`: `true` or `false`.
    Paid,
    /// `param.NAME`: a parameter of the producer, as JSON (texts without quotes).
    Param(String),
    /// `var.NAME`: what a variable of the rule stands for.
    Var(String),
}

/// The attributes with a name of their own.
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

/// What an evaluation asks of a graph.
trait Ground {
    /// The nodes that a pattern means, by its number.
    fn matched_nodes(&self, pattern: usize) -> &[NodeId];
    /// What a node is made of, repeats possible.
    fn reads(&self, id: NodeId) -> Vec<NodeId>;
    /// What is made of a node, repeats possible.
    fn readers(&self, id: NodeId) -> Vec<NodeId>;
    /// The node's label.
    fn label(&self, id: NodeId) -> String;
    /// The implementation that makes it.
    fn kind(&self, id: NodeId) -> String;
    /// The value of an attribute, if it has it.
    fn attribute(&self, id: NodeId, attribute: &Attribute) -> Option<String>;
    /// Those of the nodes that are not current.
    fn stale(&mut self, nodes: &[NodeId]) -> Result<Vec<NodeId>, EngineError>;
}

impl Test {
    /// Whether the text passes.
    pub fn passes(&self, text: &str) -> bool {
        match self {
            Self::Name(name) => name.matches(text),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}
