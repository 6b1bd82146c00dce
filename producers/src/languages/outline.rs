//! `tags/outline`: the definitions of a file of another language, as Markdown for readers. It has no line numbers: edits of bodies stop here.

use super::model::{Definition, FileSymbols};
use engine::seams::producer::{Failure, Inputs, Output, Params, Producer, ProducerId, Sees};
use std::fmt::Write;

/// Limit of bytes of the shown documentation of one definition.
const LONGEST_DOC: usize = 200;

/// The producer `tags/outline`.
#[derive(Debug)]
pub struct Outline;

impl Producer for Outline {
    fn id(&self) -> ProducerId {
        ProducerId::new("tags/outline", 3)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let symbols =
            FileSymbols::from_json(&inputs.single("tags")?.bytes).ok_or_else(|| Failure::permanent("the input is no output of tags"))?;
        let mut text = render(inputs.var("file").unwrap_or_default(), &symbols);
        if symbols.moved > 0 {
            let age = format!(" | Older than the file: {} definitions are no longer found\n\n", symbols.moved);
            text = text.replacen("\n\n", &age, 1);
        }
        Ok(Output::new(text))
    }
}

pub fn render(file: &str, symbols: &FileSymbols) -> String {
    let mut text = format!("# {file}\nLanguage: {} | Told by: {}\n", symbols.language, symbols.source);
    match (symbols.error, symbols.unread.as_str()) {
        (None, "") => {}
        (Some(_), "") => text.push_str("Not whole: some text does not parse; definitions may be missing\n"),
        (_, why) => text.push_str(&format!("Not read: {why}\n")),
    }
    text.push('\n');
    if !symbols.doc.is_empty() {
        let doc = &symbols.doc[..symbols.doc.floor_char_boundary(LONGEST_DOC)];
        text.push_str(&format!("{}\n\n", doc.trim_end()));
    }
    symbols.definitions.iter().for_each(|one| push_line(&mut text, one, depth(one)));
    if symbols.definitions.is_empty() && symbols.unread.is_empty() {
        text.push_str("It defines nothing that is known.\n");
    }
    text
}

/// Returns the outline of one definition, with the definitions inside it.
pub fn render_one(file: &str, symbols: &FileSymbols, path: &str) -> String {
    let mut text = format!("# {file}#{path}\nLanguage: {} | Told by: {}\n\n", symbols.language, symbols.source);
    let within = |one: &&Definition| one.path == path || one.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    let own = path.matches('.').count();
    for one in symbols.definitions.iter().filter(within) {
        push_line(&mut text, one, depth(one).saturating_sub(own));
        if one.path == path && !one.doc.is_empty() {
            writeln!(text, "\n{}\n", one.doc).expect("invariant: writing to memory cannot fail");
        }
    }
    text
}

fn depth(one: &Definition) -> usize {
    one.path
        .len()
        .saturating_sub(one.name.len())
        .checked_sub(1)
        .map_or(0, |end| 1 + one.path[..end].matches('.').count())
}

fn push_line(text: &mut String, one: &Definition, depth: usize) {
    let shown = if one.signature.is_empty() { &one.name } else { &one.signature };
    let indent = "  ".repeat(depth);
    let doc = one.doc.lines().next().unwrap_or_default();
    let doc = &doc[..doc.floor_char_boundary(LONGEST_DOC)];
    let doc = if doc.is_empty() { String::new() } else { format!("  // {doc}") };
    writeln!(text, "  + {indent}[{}] {shown}{doc}", one.kind).expect("invariant: writing to memory cannot fail");
}
