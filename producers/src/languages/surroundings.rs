//! The surroundings of definitions, found in one walk through the whole tree: comments, and the statements that definitions begin.
//!
//! A node of tree-sitter does not know its parent and its neighbours: asking for them costs a walk from the root, as long as the file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use tree_sitter::Node;

pub(super) struct Comment {
    pub(super) bytes: Range<usize>,
    /// Byte of its beginning in its line.
    pub(super) column: usize,
    pub(super) first_row: usize,
    pub(super) last_row: usize,
}

/// The statement that a definition begins: `export class` of its class, the decorators of a function.
pub(super) struct Outermost {
    /// Its first byte.
    pub(super) start: usize,
    /// Its first line, from 0.
    pub(super) row: usize,
    /// The words that declare a variable: `export const`.
    pub(super) declares: Option<Range<usize>>,
}

/// All comments in order, and the statement of each definition by node id.
#[derive(Default)]
pub(super) struct Surroundings {
    pub(super) comments: Vec<Comment>,
    pub(super) outermost: HashMap<usize, Outermost>,
}

impl Surroundings {
    /// Finds the surroundings of the nodes with these ids.
    pub(super) fn from_tree(root: Node<'_>, wanted: HashSet<usize>) -> Self {
        let mut found = Self::default();
        let mut around: Vec<Node<'_>> = Vec::new();
        let mut cursor = root.walk();
        loop {
            let node = cursor.node();
            if node.kind().contains("comment") {
                found.comments.push(Comment {
                    bytes: node.byte_range(),
                    column: node.start_position().column,
                    first_row: node.start_position().row,
                    last_row: node.end_position().row,
                });
            }
            if wanted.contains(&node.id()) {
                found.outermost.insert(node.id(), outermost_statement(node, &around));
            }
            if cursor.goto_first_child() {
                around.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return found;
                }
                around.pop();
            }
        }
    }
}

/// Returns the outermost statement that begins with the node. `around` lists the enclosing nodes; the first is the whole file.
fn outermost_statement(node: Node<'_>, around: &[Node<'_>]) -> Outermost {
    let mut outer = node;
    let mut first = None;
    for parent in around.iter().skip(1).rev() {
        let is_declared = outer.kind() == "variable_declarator";
        let begins = parent.start_byte() == outer.start_byte()
            || parent.kind().starts_with("export")
            || parent.kind() == "decorated_definition"
            || is_declared;
        if !begins || parent.kind().ends_with("body") || parent.kind().ends_with("block") {
            break;
        }
        if is_declared {
            first = parent.named_child(0).map(|first| first.start_byte());
        }
        outer = *parent;
    }
    let declares = first.map(|first| outer.start_byte()..first);
    // A variable that is not the first of its statement begins at its own position.
    let begins_it = first.is_none_or(|first| first == node.start_byte());
    let outer = if begins_it { outer } else { node };
    Outermost {
        start: outer.start_byte(),
        row: outer.start_position().row,
        declares,
    }
}
