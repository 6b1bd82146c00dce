//! The ends of interpolated literals.

use super::{Opening, comment_end, end_of_run, floor, opening, quoted_end, raw_end, verbatim_end};

/// A raw literal spans lines if and only if only blanks separate its opening quotes from the line end.
pub(super) fn raw_spans_lines(bytes: &[u8], content: usize) -> bool {
    bytes[content..]
        .iter()
        .find(|byte| !matches!(byte, b' ' | b'\t'))
        .is_none_or(|byte| matches!(byte, b'\n' | b'\r'))
}

/// One level of an interpolated literal.
#[derive(Clone, Copy)]
enum Level {
    /// Literal text.
    Text {
        dollars: usize,
        verbatim: bool,
        raw: usize,
        lines: bool,
    },
    /// Code between braces: number of closing braces, and open brackets inside.
    Hole { braces: usize, open: usize },
    /// A format clause after `:`.
    Format { braces: usize },
}

/// Reads an interpolated literal up to its end.
struct Interpolation<'t> {
    bytes: &'t [u8],
    at: usize,
    /// The literal and those nested in its holes, the innermost last.
    levels: Vec<Level>,
}

/// Returns the end of an interpolated literal, and whether it is closed.
pub(super) fn interpolated_end(bytes: &[u8], first: Opening) -> (usize, bool) {
    let at = first.content;
    let levels = vec![text_level(bytes, first)];
    let mut literal = Interpolation { bytes, at, levels };
    while literal.at < bytes.len() {
        match literal.levels.last().copied() {
            None => return (literal.at, true),
            Some(Level::Text {
                dollars,
                verbatim,
                raw,
                lines,
            }) => {
                if !literal.step_text(dollars, verbatim, raw, lines) {
                    return (literal.at, false);
                }
            }
            Some(Level::Hole { braces, open }) => literal.step_hole(braces, open),
            Some(Level::Format { braces }) => literal.step_format(braces),
        }
    }
    (floor(bytes, literal.at), literal.levels.is_empty())
}

impl Interpolation<'_> {
    /// Reads on in text. Returns false at a line end that ends the literal and all enclosing literals.
    fn step_text(&mut self, dollars: usize, verbatim: bool, raw: usize, lines: bool) -> bool {
        let bytes = self.bytes;
        match bytes[self.at] {
            b'"' => {
                let quotes = end_of_run(bytes, self.at, b'"');
                if raw > 0 {
                    self.at += quotes;
                    if quotes >= raw {
                        self.levels.pop();
                    }
                } else if verbatim && quotes >= 2 {
                    self.at += 2;
                } else {
                    self.at += 1;
                    self.levels.pop();
                }
            }
            b'{' => {
                let braces = end_of_run(bytes, self.at, b'{');
                let opens = if raw > 0 { braces >= dollars } else { braces % 2 == 1 };
                self.at += braces;
                if opens {
                    self.levels.push(Level::Hole {
                        braces: if raw > 0 { dollars } else { 1 },
                        open: 0,
                    });
                }
            }
            b'\\' if raw == 0 && !verbatim && !matches!(bytes.get(self.at + 1), None | Some(b'\n' | b'\r')) => self.at += 2,
            b'\n' | b'\r' if !lines => {
                // The line ends the literal and all enclosing literals.
                return false;
            }
            _ => self.at += 1,
        }
        true
    }

    /// Reads on in code between braces.
    fn step_hole(&mut self, braces: usize, open: usize) {
        let bytes = self.bytes;
        match bytes[self.at] {
            b'(' | b'[' | b'{' => {
                self.set_open_brackets(open + 1);
                self.at += 1;
            }
            b')' | b']' => {
                self.set_open_brackets(open.saturating_sub(1));
                self.at += 1;
            }
            b'}' if open > 0 => {
                self.set_open_brackets(open - 1);
                self.at += 1;
            }
            b'}' => {
                self.at += end_of_run(bytes, self.at, b'}').min(braces);
                self.levels.pop();
            }
            b':' if open == 0 => {
                self.at += 1;
                self.levels.pop();
                self.levels.push(Level::Format { braces });
            }
            b'/' if matches!(bytes.get(self.at + 1), Some(b'/' | b'*')) => self.at = comment_end(bytes, self.at),
            b'\'' => self.at = quoted_end(bytes, self.at, b'\'').0,
            b'"' | b'$' | b'@' => match opening(bytes, self.at) {
                None => self.at += 1,
                Some(Opening {
                    dollars: 0,
                    raw: 0,
                    verbatim: false,
                    ..
                }) => self.at = quoted_end(bytes, self.at, b'"').0,
                Some(Opening {
                    dollars: 0,
                    raw: 0,
                    content,
                    ..
                }) => self.at = verbatim_end(bytes, content).0,
                Some(Opening {
                    dollars: 0, raw, content, ..
                }) => self.at = raw_end(bytes, content, raw).0,
                Some(inner) => {
                    self.at = inner.content;
                    self.levels.push(text_level(bytes, inner));
                }
            },
            _ => self.at += 1,
        }
    }

    /// Reads on in a format clause.
    fn step_format(&mut self, braces: usize) {
        let bytes = self.bytes;
        match bytes[self.at] {
            b'}' => {
                self.at += end_of_run(bytes, self.at, b'}').min(braces);
                self.levels.pop();
            }
            b'\\' if !matches!(bytes.get(self.at + 1), None | Some(b'\n' | b'\r')) => self.at += 2,
            b'"' if bytes.get(self.at + 1) == Some(&b'"') => self.at += 2,
            // A quote or line end inside a format clause: the enclosing text level decides.
            b'"' | b'\n' | b'\r' => {
                self.levels.pop();
            }
            _ => self.at += 1,
        }
    }

    /// Sets the number of open brackets in the present hole.
    fn set_open_brackets(&mut self, number: usize) {
        if let Some(Level::Hole { open, .. }) = self.levels.last_mut() {
            *open = number;
        }
    }
}

fn text_level(bytes: &[u8], opening: Opening) -> Level {
    let lines = opening.verbatim || (opening.raw > 0 && raw_spans_lines(bytes, opening.content));
    Level::Text {
        dollars: opening.dollars,
        verbatim: opening.verbatim,
        raw: opening.raw,
        lines,
    }
}
