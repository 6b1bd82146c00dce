//! Parses C# text into declarations. [`read`] is the entry point; its guards bound time and memory for any text.
//!
//! Steps: blank inactive code, lex, hide parts from the grammar, parse with the grammar, walk the tree. The hidden parts are those that the
//! grammar need not or cannot parse, such as all bodies: the rest is the *skeleton*. If the tree has errors, *repair* valid code that the
//! grammar lacks; if errors remain, use the declarations outside them. Each byte that the grammar sees has a known position. All texts are
//! cut from tokens, so equal code has equal texts on each path. Bodies are only checked for errors, and only if
//! [`suspicious_bodies`] finds suspicious tokens in them; [`crate::code`] parses their contents.

pub(crate) mod friends;
pub mod grammar;
mod header;
mod hidden_code;
mod members;
mod mentions;
#[cfg(test)]
mod odd_tests;
mod reading;
mod repair;
mod shown;
mod suspicious_bodies;
#[cfg(test)]
mod tests;
pub(crate) mod tokens;
mod types;
mod unions;
mod walk;

use super::generated::is_generated;
use super::model::{Syntax, Tier};
use super::preprocess::Active;
use super::{escapes, lexer, preprocess};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use friends::friends;
pub use grammar::parse_only;
use reading::{Extension, Reading};
use shown::{Edit, GrammarText};
use std::collections::BTreeSet;
use std::ops::Range;
use tokens::Tokens;
use tree_sitter::Tree;

/// Maximum size of a parsed text, in bytes; tree-sitter needs about 40 bytes of memory for each byte.
pub const LARGEST: usize = 16 << 20;

/// Returns the declarations of a text, and diagnostics. `file` is only used for places in diagnostics.
pub fn read(text: &str, defines: &BTreeSet<String>, file: &str) -> (Syntax, Vec<Diagnostic>) {
    if text.len() > LARGEST {
        return (empty_syntax(Tier::Nothing), vec![too_large(text, file)]);
    }
    let active = preprocess::active(text, defines);
    let mut lexed = lexer::lex(&active.text);
    let plain = escapes::plain_names(&active.text, &mut lexed.tokens);
    let broken = unclosed_literal(&lexed);
    let open_comment = lexed.open_comment;
    let tokens = Tokens::from_lexed(plain.as_deref().unwrap_or(&active.text), &active.text, lexed);
    let mut diagnostics = preprocessor_faults(&active, &tokens, file);
    let mut edits: Vec<Edit> = open_comment
        .map(|start| Edit {
            bytes: start as usize..active.text.len(),
            with: "",
        })
        .into_iter()
        .collect();
    let extensions = hidden_code::extensions(&tokens, &mut edits);
    unions::unions(&tokens, &mut edits);
    let hidden = edits.len();
    hidden_code::angle_runs(&tokens, &mut edits);
    let tamed = edits.len() > hidden;
    let way = ParseInput {
        active: &active,
        tokens: &tokens,
        extensions: &extensions,
        edits,
    };
    let Parsed { tree, tier, bodies, error } = way.parse_whole(broken.is_some());
    let mut message = message_of(tier, tree.is_some(), bodies, tokens.depth);
    let mut place = error.map(|byte| tokens.line_and_column(byte));
    let (mut syntax, odd) = tree.map_or_else(
        || (empty_syntax(tier), None),
        |(tree, shown)| {
            let reading = Reading {
                tokens: &tokens,
                shown: &shown,
                extensions: &extensions,
                active: &active,
                sound: !tree.root_node().has_error(),
            };
            walk::walk(&tree, &reading, tier)
        },
    );
    syntax.is_app = is_app(text, &tokens);
    syntax.is_generated = is_generated(file, text);
    syntax.friends = friends(&tokens);
    syntax.excluded = active.excluded_lines(text);
    if tamed && matches!(tier, Tier::Whole | Tier::Repaired) {
        syntax.tier = Tier::Partial;
        message = "code with too many open '<' was left out";
    }
    if let Some(byte) = odd
        && matches!(tier, Tier::Whole | Tier::Repaired | Tier::Skeleton)
    {
        syntax.tier = Tier::Partial;
        message = MISSING;
        place = Some(tokens.line_and_column(byte));
    }
    if let Some((byte, what)) = broken {
        syntax.tier = Tier::Partial;
        message = what;
        place = Some(tokens.line_and_column(byte));
    }
    if !message.is_empty() {
        let mut diagnostic = partial(file, place, message);
        if syntax.tier == Tier::Skeleton {
            diagnostic.severity = engine::values::diagnostic::Severity::Note;
        }
        diagnostics.push(diagnostic);
    }
    (syntax, diagnostics)
}

/// Returns the warning about a file that is too large to read.
fn too_large(text: &str, file: &str) -> Diagnostic {
    let message = format!("the file is larger than {} MiB and was not read", LARGEST >> 20);
    Diagnostic::warning(ErrorCode::CS_FILE_LARGE, message)
        .at(file, 0, 0)
        .found(format!("{} bytes", text.len()))
        .hint("leave the file out of the source set, or split it")
}

/// Returns the warnings about preprocessor directives.
fn preprocessor_faults(active: &Active<'_>, tokens: &Tokens<'_>, file: &str) -> Vec<Diagnostic> {
    let faults = active.faults.iter().take(MOST_FAULTS);
    faults
        .map(|fault| {
            let (line, column) = tokens.line_and_column(fault.byte);
            Diagnostic::warning(ErrorCode::CS_PREPROCESSOR, fault.message).at(file, line, column)
        })
        .collect()
}

/// Returns a message about the parts that a parse missed; empty if it missed none. `bodies`: number of bodies with errors.
fn message_of(tier: Tier, has_tree: bool, bodies: usize, depth: u32) -> &'static str {
    match (tier, has_tree) {
        (Tier::Whole | Tier::Repaired, _) => "",
        (Tier::Skeleton, _) if depth > hidden_code::DEEPEST => {
            "brackets are nested too deeply for the grammar; all declarations were read, bodies may contain errors"
        }
        (Tier::Skeleton, _) if bodies == 1 => "one body could not be parsed; all declarations were read",
        (Tier::Skeleton, _) => "bodies could not be parsed; all declarations were read",
        (_, false) => "the file could not be parsed; nothing was read from it",
        (_, true) => MISSING,
    }
}

/// Message about errors among declarations.
const MISSING: &str = "some code could not be parsed; declarations may be missing";

/// Maximum number of reported directive faults per file.
const MOST_FAULTS: usize = 10;

/// Maximum number of errors in a tree that are examined individually.
const MOST_ERRORS: usize = 1000;

/// Returns the first unterminated literal or comment, which may have swallowed the code after it.
fn unclosed_literal(lexed: &lexer::Lexed) -> Option<(usize, &'static str)> {
    let literal = lexed
        .tokens
        .iter()
        .find(|token| token.kind == lexer::Kind::Unterminated)
        .map(|token| {
            (
                token.start as usize,
                "a string or character literal is not closed; declarations behind it may be missing",
            )
        });
    let comment = lexed
        .open_comment
        .map(|start| (start as usize, "a comment is not closed; what stands behind it was not read"));
    literal.into_iter().chain(comment).min()
}

/// Input of the parses from tokens to a tree.
struct ParseInput<'t, 'a> {
    active: &'a Active<'t>,
    tokens: &'a Tokens<'a>,
    extensions: &'a [Extension],
    /// Edits in effect for every parse.
    edits: Vec<Edit>,
}

/// A tree of declarations and its quality.
struct Parsed {
    tree: Option<(Tree, GrammarText)>,
    tier: Tier,
    /// Number of bodies with errors; 0 if unknown.
    bodies: usize,
    /// Byte of the first error.
    error: Option<usize>,
}

impl ParseInput<'_, '_> {
    /// Parses the declarations, plain or repaired, and checks the bodies for errors. With broken brackets or literals, the ends of bodies are
    /// unreliable, so the result is at most partial.
    fn parse_whole(mut self, broken: bool) -> Parsed {
        if broken {
            hidden_code::broken_literals(self.tokens, &mut self.edits);
        }
        let skeleton = hidden_code::skeleton(self.tokens, self.extensions);
        let known = self.edits.len();
        let (mut tree, mut errors) = self.grammar(&skeleton.edits, skeleton.missing);
        let mut tier = Tier::Whole;
        if !errors.is_empty() {
            repair::repairs(self.tokens, &mut self.edits);
            if self.edits.len() > known {
                (tree, errors) = self.grammar(&skeleton.edits, skeleton.missing);
                tier = Tier::Repaired;
            }
        }
        if broken || !errors.is_empty() || skeleton.fault.is_some() {
            let fault = skeleton.fault.map(|at| self.tokens.all[at].start as usize);
            let error = errors.first().map(|range| range.start);
            return Parsed {
                tree,
                tier: Tier::Partial,
                bodies: 0,
                error: error.or(fault).map(|byte| byte.min(self.active.text.len())),
            };
        }
        let (mut bodies, mut error) = (0, None);
        if self.tokens.depth > hidden_code::DEEPEST {
            tier = Tier::Skeleton;
        } else if suspicious_bodies::any(self.tokens, &skeleton.bodies) {
            let mut errors = self.grammar(&[], 0).1;
            if !errors.is_empty() && tier == Tier::Whole {
                repair::repairs(self.tokens, &mut self.edits);
                if self.edits.len() > known {
                    errors = self.grammar(&[], 0).1;
                    tier = Tier::Repaired;
                }
            }
            if let Some(first) = errors.first() {
                tier = Tier::Skeleton;
                bodies = hidden_code::with_errors(&skeleton.edits, &errors);
                error = Some(first.start);
            }
        }
        Parsed { tree, tier, bodies, error }
    }

    /// Parses the text with these parts hidden; returns the tree and its errors. Without a tree, one error covers the whole text.
    fn grammar(&self, hidden: &[Edit], missing: usize) -> (Option<(Tree, GrammarText)>, Vec<Range<usize>>) {
        let mut shown = GrammarText::new(self.tokens, hidden.iter().chain(&self.edits));
        shown.text.extend(std::iter::repeat_n('}', missing));
        let Some(tree) = grammar::parse_tree(&shown.text) else {
            return (None, std::iter::once(0..self.tokens.source.len()).collect());
        };
        let errors = error_ranges(&tree).into_iter().map(|bytes| shown.original(bytes)).collect();
        (Some((tree, shown)), errors)
    }
}

/// Whether the code follows lines of a file-based app: `#!`, `#:package`, `#:project`, `#:sdk`, `#:property`.
fn is_app(text: &str, tokens: &Tokens<'_>) -> bool {
    let end = tokens.all.first().map_or(text.len(), |token| token.start as usize);
    text.starts_with("#!") || text[..end].lines().any(|line| line.trim_start().starts_with("#:"))
}

/// Returns a file without declarations.
pub fn empty_syntax(tier: Tier) -> Syntax {
    Syntax {
        tier,
        usings: Vec::new(),
        types: Vec::new(),
        top_level: false,
        is_app: false,
        is_generated: false,
        friends: Vec::new(),
        excluded: Vec::new(),
    }
}

fn partial(file: &str, place: Option<(u32, u32)>, message: &str) -> Diagnostic {
    let (line, column) = place.unwrap_or_default();
    Diagnostic::warning(ErrorCode::CS_PARSE_PARTIAL, message).at(file, line, column)
}

/// Returns the ERROR and MISSING nodes of a tree in text order; a single range for all if they are too many.
fn error_ranges(tree: &Tree) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let root = tree.root_node();
    if !root.has_error() {
        return found;
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            found.push(node.byte_range());
            if found.len() > MOST_ERRORS {
                return std::iter::once(found[0].start..root.end_byte()).collect();
            }
        } else if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}
