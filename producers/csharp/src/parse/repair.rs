//! Replaces valid C# that the grammar lacks by same-length substitutions, only after a parse with errors.
//!
//! Names are cut from the original text, so a renamed identifier keeps its name; names in a substituted range also stay in the tree.

use super::shown::Edit;
use super::tokens::Tokens;
use crate::lexer::{Kind, literal_end};

/// Collects the substitutions for a file.
pub(crate) fn repairs(tokens: &Tokens<'_>, edits: &mut Vec<Edit>) {
    for at in 0..tokens.all.len() {
        match tokens.text(at) {
            text if tokens.all[at].kind == Kind::Text => {
                interpolated(tokens.bytes_of_tokens(&(at..at + 1)).start, text, edits);
            }
            // `async` as an identifier: the next token cannot follow a modifier.
            "async" if !tokens.is_word(at + 1) && !matches!(tokens.text(at + 1), "(" | "[" | "<") => {
                edits.push(Edit {
                    bytes: tokens.bytes_of_tokens(&(at..at + 1)),
                    with: "asynk",
                });
            }
            // As identifiers: a pattern continues after its combinator.
            "and" | "or" | "not" if matches!(tokens.text(at + 1), "=" | "." | ")" | "," | ";" | "]" | "==" | "!=") => {
                let bytes = tokens.bytes_of_tokens(&(at..at + 1));
                edits.push(Edit {
                    bytes: bytes.end - 1..bytes.end,
                    with: "_",
                });
            }
            "required" if tokens.is(at + 1, ".") => edits.push(Edit {
                bytes: tokens.bytes_of_tokens(&(at..at + 1)),
                with: "require_",
            }),
            "allows" if tokens.is(at + 1, "ref") && tokens.is(at + 2, "struct") => {
                edits.push(Edit {
                    bytes: tokens.bytes_of_tokens(&(at..at + 3)),
                    with: "notnull",
                });
            }
            "ref" if tokens.is(at + 1, "partial") && tokens.is(at + 2, "struct") => {
                edits.push(Edit {
                    bytes: tokens.bytes_of_tokens(&(at..at + 2)),
                    with: "partial ref",
                });
            }
            "operator" => compound_operator(tokens, at, edits),
            "type" | "method" | "field" | "event" | "property" | "param" | "module" | "assembly"
                if at > 1
                    && tokens.is(at - 1, "[")
                    && matches!(tokens.text(at + 1), "]" | ",")
                    && matches!(tokens.text(at - 2), "=" | "(" | "," | "=>" | "return" | "?" | ":") =>
            {
                edits.push(Edit {
                    bytes: tokens.bytes_of_tokens(&(at..at + 1)),
                    with: "_",
                });
            }
            // `class A { } ;`: the grammar allows nothing between the two.
            ";" if at > 0 && tokens.is(at - 1, "}") => move_semicolon(tokens, at, edits),
            // `[.. var rest]`: keep only the subpattern.
            ".." if matches!(at.checked_sub(1).map_or("", |before| tokens.text(before)), "[" | ",")
                && !matches!(tokens.text(at + 1), "]" | ",") =>
            {
                hide(tokens, at, edits);
            }
            // `(ref x, out y) =>`: in the grammar, parameters without types have no modifiers.
            "(" if tokens.mate(at).is_some_and(|close| tokens.is(close + 1, "=>")) => hide_modifiers_of_untyped(tokens, at, edits),
            // `a?.b = c`, `a?[0] = c`.
            "?." if is_assigned(tokens, at + 1) => edits.push(Edit {
                bytes: tokens.bytes_of_tokens(&(at..at + 1)),
                with: ".",
            }),
            "?" if tokens.is(at + 1, "[") && is_assigned(tokens, at + 1) => hide(tokens, at, edits),
            // `f(a) = v`: replace the call by an element access.
            ")" if is_assignment(tokens, at + 1) => assigned_call(tokens, at, edits),
            // `(int*)&x`, `ref *(T*)null`.
            "*" if tokens.is(at + 1, "(") && tokens.mate(at + 1).is_some_and(|close| closes_pointer_cast(tokens, close)) => {
                hide(tokens, at, edits);
            }
            "&" | "*" if at > 1 && (tokens.is(at - 1, "ref") || closes_pointer_cast(tokens, at - 1)) => hide(tokens, at, edits),
            _ => {}
        }
    }
}

/// Moves a semicolon next to the token before it.
fn move_semicolon(tokens: &Tokens<'_>, at: usize, edits: &mut Vec<Edit>) {
    let (before, own) = (tokens.bytes_of_tokens(&(at - 1..at)), tokens.bytes_of_tokens(&(at..at + 1)));
    if before.end < own.start {
        edits.push(Edit {
            bytes: before.end..own.end,
            with: ";",
        });
    }
}

/// `operator +=`: the grammar knows the operator without `=`. `>` `>` `=` are separate tokens.
fn compound_operator(tokens: &Tokens<'_>, at: usize, edits: &mut Vec<Edit>) {
    let mut last = at + 1;
    while tokens.is(last, ">") {
        last += 1;
    }
    let symbol = tokens.text(last);
    if tokens.is(last + 1, "(")
        && (symbol == "=" || symbol.len() > 1 && symbol.ends_with('=') && !matches!(symbol, "==" | "!=" | "<="))
        && !(symbol == "=" && last == at + 2)
    {
        let bytes = tokens.bytes_of_tokens(&(last..last + 1));
        edits.push(Edit {
            bytes: bytes.end - 1..bytes.end,
            with: "",
        });
    }
}

/// Whether this bracket closes a cast to a pointer (not `sizeof(int*)`).
fn closes_pointer_cast(tokens: &Tokens<'_>, close: usize) -> bool {
    tokens.is(close, ")")
        && close > 0
        && tokens.is(close - 1, "*")
        && tokens
            .mate(close)
            .is_some_and(|open| open == 0 || !tokens.is_word(open - 1) || matches!(tokens.text(open - 1), "return" | "in" | "ref"))
}

fn hide(tokens: &Tokens<'_>, at: usize, edits: &mut Vec<Edit>) {
    edits.push(Edit {
        bytes: tokens.bytes_of_tokens(&(at..at + 1)),
        with: "",
    });
}

/// Hides the modifiers of a lambda's untyped parameters.
fn hide_modifiers_of_untyped(tokens: &Tokens<'_>, open: usize, edits: &mut Vec<Edit>) {
    let close = tokens.mate(open).unwrap_or(open);
    for part in tokens.split_range(open + 1..close) {
        let name = tokens
            .find_outside_brackets(part.clone(), |at| tokens.is(at, "="))
            .unwrap_or(part.end)
            .saturating_sub(1);
        let modifier = |at: usize| matches!(tokens.text(at), "ref" | "out" | "in" | "scoped" | "readonly" | "params");
        if name > part.start && (part.start..name).all(modifier) {
            (part.start..name).for_each(|at| hide(tokens, at, edits));
        }
    }
}

fn is_assignment(tokens: &Tokens<'_>, at: usize) -> bool {
    matches!(
        tokens.text(at),
        "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "??=" | "<<="
    ) || tokens.is(at, ">") && tokens.is(at + 1, ">") && (tokens.is(at + 2, "=") || tokens.is(at + 2, ">") && tokens.is(at + 3, "="))
}

/// Maximum length of a member chain that is searched for an assignment.
const LONGEST_CHAIN: usize = 64;

/// Whether the chain of members, calls and elements that continues at `at` is assigned to.
fn is_assigned(tokens: &Tokens<'_>, at: usize) -> bool {
    let mut at = at;
    for _ in 0..LONGEST_CHAIN {
        match tokens.text(at) {
            "." | "?." | "!" => at += 1,
            "?" if tokens.is(at + 1, "[") => at += 1,
            "[" | "(" => at = tokens.next_after_group(at),
            _ if tokens.is_word(at) => at += 1,
            _ => return is_assignment(tokens, at),
        }
    }
    false
}

/// Replaces the brackets of the call that closes at `close` by those of an element access, and its type arguments by blanks.
fn assigned_call(tokens: &Tokens<'_>, close: usize, edits: &mut Vec<Edit>) {
    let Some(open) = tokens.mate(close).filter(|open| *open > 0) else {
        return;
    };
    let mut name = open - 1;
    if tokens.is(name, ">") && tokens.is_angle(name) {
        let mut depth = 0_i32;
        loop {
            if tokens.is_angle(name) {
                depth += if tokens.is(name, ">") { 1 } else { -1 };
            }
            if depth == 0 || name == 0 || open - name > LONGEST_CHAIN {
                break;
            }
            name -= 1;
        }
        if depth != 0 || name == 0 {
            return;
        }
        edits.push(Edit {
            bytes: tokens.bytes_of_tokens(&(name..open)),
            with: "",
        });
        name -= 1;
    }
    let is_call = tokens.is_word(name)
        && !matches!(
            tokens.text(name),
            "var" | "if" | "while" | "for" | "foreach" | "using" | "lock" | "in" | "return"
        );
    if !is_call {
        return;
    }
    let (left, right) = if open + 1 == close { ("", "") } else { ("[", "]") };
    for (at, with) in [(open, left), (close, right)] {
        edits.push(Edit {
            bytes: tokens.bytes_of_tokens(&(at..at + 1)),
            with,
        });
    }
}

/// Blanks the escapes of an interpolated literal, which the grammar splits wrongly; blanks the whole literal if its form is unclear.
fn interpolated(start: usize, text: &str, edits: &mut Vec<Edit>) {
    let prefix = text.len() - text.trim_start_matches(['$', '@']).len();
    let raw = !text[..prefix].contains('@') && text[prefix..].starts_with("\"\"\"");
    let escaped = ["{{", "}}", "\"\"", "\\"].iter().any(|escape| text.contains(escape));
    if raw || !text[..prefix].contains('$') || !escaped {
        return;
    }
    let empty = text.len() == prefix + 2;
    match escapes(text, prefix).filter(|_| !empty) {
        Some(ranges) => edits.extend(ranges.into_iter().map(|at| Edit {
            bytes: start + at..start + at + 2,
            with: "",
        })),
        None => edits.push(Edit {
            bytes: start..start + text.len(),
            with: "\"\"",
        }),
    }
}

/// Returns the positions of the two-byte escapes in an interpolated literal whose quote is at `prefix`.
fn escapes(text: &str, prefix: usize) -> Option<Vec<usize>> {
    let bytes = text.as_bytes();
    let verbatim = text[..prefix].contains('@');
    let mut found = Vec::new();
    let mut at = prefix + 1;
    // `None` in the text, otherwise the number of brackets open inside the hole; a format clause belongs to its hole.
    let mut hole: Option<usize> = None;
    let mut format = false;
    while at + 1 < bytes.len() {
        let pair = (bytes[at], bytes[at + 1]);
        match hole {
            None => match pair {
                (b'{', b'{') | (b'}', b'}') => {
                    found.push(at);
                    at += 2;
                }
                (b'"', b'"') if verbatim => {
                    found.push(at);
                    at += 2;
                }
                (b'\\', next) if !verbatim => {
                    if !next.is_ascii() {
                        return None;
                    }
                    found.push(at);
                    at += 2;
                }
                (b'{', _) => {
                    hole = Some(0);
                    format = false;
                    at += 1;
                }
                _ => at += 1,
            },
            Some(_) if format => match pair {
                (b'}', _) => {
                    hole = None;
                    at += 1;
                }
                (b'\\', next) if next.is_ascii() => {
                    found.push(at);
                    at += 2;
                }
                (b'"', _) => return None,
                _ => at += 1,
            },
            Some(open) => match pair {
                (b'(' | b'[' | b'{', _) => {
                    hole = Some(open + 1);
                    at += 1;
                }
                (b')' | b']', _) => {
                    hole = Some(open.saturating_sub(1));
                    at += 1;
                }
                (b'}', _) => {
                    hole = open.checked_sub(1);
                    at += 1;
                }
                (b':', _) if open == 0 => {
                    format = true;
                    at += 1;
                }
                (b'"' | b'\'' | b'$' | b'@', _) => match literal_end(text, at) {
                    // A nested interpolation is rare: give up on the whole literal.
                    Some(_) if bytes[at] == b'$' => return None,
                    Some((end, true)) => at = end,
                    Some(_) => return None,
                    None => at += 1,
                },
                _ => at += 1,
            },
        }
    }
    hole.is_none().then_some(found)
}
