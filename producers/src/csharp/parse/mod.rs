//! From C# text to its declarations: [`read`] is the whole way, with the guards that keep any text within stated time and memory.
//!
//! Order: inactive code is blanked, tokens are cut, text the grammar cannot take is hidden, the grammar parses, a cursor walks. When the
//! tree has errors the declarations come from a *skeleton* (bodies blanked) and the names in bodies from tokens. Every step keeps
//! offsets, and every text is cut from the tokens, so the same code has the same texts on each way.

pub(crate) mod grammar;
mod header;
mod members;
mod mentions;
mod tame;
#[cfg(test)]
mod tests;
mod tokens;
mod types;
mod walk;

use super::model::{Syntax, Tier};
use super::{lexer, preprocess};
use engine::values::diagnostic::Diagnostic;
pub use grammar::parse_only;
use std::collections::BTreeSet;
use tokens::Tokens;
use tree_sitter::Tree;
use walk::Reading;

/// Largest text that is parsed; tree-sitter needs about 40 bytes of memory for each byte.
pub const LARGEST: usize = 16 << 20;

/// The declarations of a text, and what its reader should know. `file` is only for the place in diagnostics.
pub fn read(text: &str, defines: &BTreeSet<String>, file: &str) -> (Syntax, Vec<Diagnostic>) {
    if text.len() > LARGEST {
        let message = format!("the file is larger than {} MiB and was not read", LARGEST >> 20);
        let diagnostic = Diagnostic::warning("CS-FILE-LARGE", message)
            .at(file, 0, 0)
            .found(format!("{} bytes", text.len()));
        return (
            nothing(Tier::Nothing),
            vec![diagnostic.hint("leave the file out of the source set, or split it")],
        );
    }
    let active = preprocess::blank(text, defines);
    let tokens = Tokens::new(&active, lexer::lex(&active));
    let mut edits = Vec::new();
    let extensions = tame::extensions(&tokens, &mut edits);
    let hidden = edits.len();
    tame::angle_runs(&tokens, &mut edits);
    let tamed = edits.len() > hidden;
    let too_deep = tokens.depth > tame::DEEPEST;

    let mut error = None;
    if !too_deep {
        let mut tree = grammar::parse(&tame::edited(&active, &edits));
        error = tree.as_ref().and_then(first_error).map(|byte| tokens.place(byte));
        if error.is_some() {
            let known = edits.len();
            tame::repairs(&tokens, &mut edits);
            if edits.len() > known {
                tree = grammar::parse(&tame::edited(&active, &edits));
            }
        }
        if let Some(tree) = tree.filter(|tree| !tree.root_node().has_error()) {
            let reading = Reading {
                tokens: &tokens,
                extensions: &extensions,
                skeleton: false,
                sound: true,
            };
            let tier = if tamed { Tier::Partial } else { Tier::Whole };
            let diagnostics = tamed
                .then(|| partial(file, None, "code with too many open '<' was left out"))
                .into_iter()
                .collect();
            return (walk::walk(&tree, &reading, tier), diagnostics);
        }
    } else {
        tame::repairs(&tokens, &mut edits);
    }
    let missing = tame::skeleton(&tokens, &extensions, &mut edits);
    let mut skeleton = tame::edited(&active, &edits).into_owned();
    skeleton.extend(std::iter::repeat_n('}', missing));
    let tree = grammar::parse(&skeleton);
    let whole = tree.as_ref().is_some_and(|tree| !tree.root_node().has_error()) && missing == 0;
    let message = match (&tree, whole, too_deep) {
        (None, ..) => "the file could not be parsed; nothing was read from it",
        (_, true, true) => "brackets are nested too deeply for the grammar; all declarations were read, names in bodies are guessed",
        (_, true, false) => "some code could not be parsed; all declarations were read, names in bodies are guessed",
        (_, false, _) => "some code could not be parsed; declarations may be missing",
    };
    let mut diagnostic = partial(file, error, message);
    if whole {
        diagnostic.severity = engine::values::diagnostic::Severity::Note;
    }
    let syntax = match tree {
        Some(tree) => walk::walk(
            &tree,
            &Reading {
                tokens: &tokens,
                extensions: &extensions,
                skeleton: true,
                sound: whole,
            },
            Tier::Partial,
        ),
        None => nothing(Tier::Partial),
    };
    (syntax, vec![diagnostic])
}

/// No declarations.
pub fn nothing(tier: Tier) -> Syntax {
    Syntax {
        tier,
        usings: Vec::new(),
        types: Vec::new(),
        top_level: false,
    }
}

fn partial(file: &str, place: Option<(u32, u32)>, message: &str) -> Diagnostic {
    let (line, column) = place.unwrap_or_default();
    Diagnostic::warning("CS-PARSE-PARTIAL", message).at(file, line, column)
}

/// First byte of the first ERROR or MISSING node in the order of the text.
fn first_error(tree: &Tree) -> Option<usize> {
    if !tree.root_node().has_error() {
        return None;
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return Some(node.start_byte());
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}
