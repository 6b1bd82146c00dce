//! Hides code that is hard for the grammar: extension blocks, runs of `<`, and all bodies (leaving the skeleton of a file).

use super::header::type_parameters;
use super::members::Receiver;
use super::reading::Extension;
use super::shown::Edit;
use super::suspicious_bodies::Body;
use super::tokens::Tokens;
use crate::lexer::Kind;
use std::ops::Range;

/// Maximum bracket nesting that the grammar parses unchanged.
pub(crate) const DEEPEST: u32 = 400;

/// Maximum nesting of types and namespaces in a skeleton.
const DEEPEST_SKELETON: usize = 100;

/// Maximum number of open `<`: each doubles the readings that the grammar must follow.
const MOST_ANGLES: usize = 24;

impl Tokens<'_> {
    pub(crate) fn bytes_of_tokens(&self, range: &Range<usize>) -> Range<usize> {
        match (
            self.all.get(range.start),
            range.end.checked_sub(1).and_then(|last| self.all.get(last)),
        ) {
            (Some(first), Some(last)) if range.end > range.start => first.start as usize..last.end as usize,
            _ => 0..0,
        }
    }

    /// Returns the bytes strictly between two tokens.
    fn between(&self, left: usize, right: usize) -> Range<usize> {
        let end = self.all.get(right).map_or(self.source.len(), |token| token.start as usize);
        self.all
            .get(left)
            .map_or(end..end, |token| token.end as usize..end.max(token.end as usize))
    }
}

/// Finds C# 14 extension blocks. The grammar would parse them as constructors, so their headers and braces are hidden.
pub(crate) fn extensions(tokens: &Tokens<'_>, edits: &mut Vec<Edit>) -> Vec<Extension> {
    let mut found: Vec<Extension> = Vec::new();
    for at in 0..tokens.all.len() {
        let starts = tokens.all[at].kind == Kind::Word
            && tokens.is(at, "extension")
            && matches!(tokens.text(at + 1), "(" | "<")
            && at > 0
            && matches!(tokens.text(at - 1), "{" | "}" | ";" | "]")
            && found.last().is_none_or(|last| last.range.end <= at);
        if starts && let Some(extension) = extension(tokens, at) {
            edits.push(Edit {
                bytes: tokens.bytes_of_tokens(&(at..extension.open + 1)),
                with: "",
            });
            edits.push(Edit {
                bytes: tokens.bytes_of_tokens(&(extension.range.end - 1..extension.range.end)),
                with: "",
            });
            found.push(extension);
        }
    }
    found
}

/// Returns the block whose word `extension` is at `at`.
fn extension(tokens: &Tokens<'_>, at: usize) -> Option<Extension> {
    let (generics, open) = type_parameters(tokens, at + 1, tokens.all.len().min(at + 1000));
    let close = tokens.is(open, "(").then(|| tokens.mate(open)).flatten()?;
    let body = tokens.find_outside_brackets(close + 1..tokens.all.len().min(close + 1000), |at| {
        matches!(tokens.text(at), "{" | ";" | "}" | "=>")
    })?;
    let end = tokens.is(body, "{").then(|| tokens.mate(body)).flatten()?;
    let constraints_only = body == close + 1 || super::header::is_where(tokens, close + 1);
    let list = super::header::parameters(tokens, open, close);
    let receiver = list.each.first().filter(|_| constraints_only)?;
    let types = receiver.kind.clone();
    let kind = list.types.first()?.clone();
    let receiver = Receiver {
        header: tokens.canonical(at..close + 1),
        constraints: tokens.canonical(close + 1..body),
        kind,
        type_parameters: generics.names,
    };
    Some(Extension {
        range: at..end + 1,
        open: body,
        kind: types,
        receiver,
    })
}

/// Blanks code with so many open `<` that the grammar would try exponentially many readings.
pub(crate) fn angle_runs(tokens: &Tokens<'_>, edits: &mut Vec<Edit>) {
    let mut open = 0_usize;
    let mut first = 0;
    for at in 0..tokens.all.len() {
        match (tokens.all[at].kind, tokens.text(at)) {
            (Kind::Word, _) | (_, "." | "," | "?" | "*" | "(" | ")" | "[" | "]" | "::") => {}
            (_, "<") => {
                if open == 0 {
                    first = at;
                }
                open += 1;
            }
            (_, ">") => open = open.saturating_sub(1),
            _ => {
                tame_run(tokens, open, first..at, edits);
                open = 0;
            }
        }
        // Text that ends with open `<` is a run, too; a closed list is not.
        if open > MOST_ANGLES && at + 1 == tokens.all.len() {
            tame_run(tokens, open, first..at + 1, edits);
        }
    }
}

fn tame_run(tokens: &Tokens<'_>, open: usize, range: Range<usize>, edits: &mut Vec<Edit>) {
    if open > MOST_ANGLES {
        edits.push(Edit {
            bytes: tokens.bytes_of_tokens(&range),
            with: "",
        });
    }
}

/// Replaces unterminated literals by `0`, so that they end for the grammar where they end for the lexer.
pub(crate) fn broken_literals(tokens: &Tokens<'_>, edits: &mut Vec<Edit>) {
    let broken = (0..tokens.all.len()).filter(|at| is_broken(tokens, *at));
    edits.extend(broken.map(|at| Edit {
        bytes: tokens.bytes_of_tokens(&(at..at + 1)),
        with: "0",
    }));
}

/// A file without its bodies.
pub(crate) struct Skeleton {
    /// Ordered edits that leave only declarations: bodies, initializers and values become blanks or `0`; unmatched `}` are removed.
    pub(crate) edits: Vec<Edit>,
    /// Number of `}` missing at the end.
    pub(crate) missing: usize,
    /// Token of the first fault: an unmatched brace, a brace of types nested too deeply, or an `=` without a value.
    pub(crate) fault: Option<usize>,
    pub(crate) bodies: Vec<Body>,
}

/// Counts the hidden runs of a skeleton that touch one of the `errors` (ordered, disjoint).
pub(crate) fn with_errors(skeleton: &[Edit], errors: &[Range<usize>]) -> usize {
    let runs = skeleton.chunk_by(|one, next| one.bytes.end == next.bytes.start);
    runs.filter(|run| {
        let bytes = run[0].bytes.start..run[run.len() - 1].bytes.end;
        let at = errors.partition_point(|error| error.end < bytes.start);
        errors.get(at).is_some_and(|error| error.start <= bytes.end)
    })
    .count()
}

/// Reads a file into its skeleton.
struct SkeletonReader<'t, 'a> {
    tokens: &'t Tokens<'a>,
    extensions: &'t [Extension],
    at: usize,
    /// First token of the present header.
    header: usize,
    /// The enclosing declarations; true for an enum.
    containers: Vec<bool>,
    /// End of the enclosing accessor list.
    accessors: Option<usize>,
    missing: usize,
    fault: Option<usize>,
    bodies: Vec<Body>,
    edits: Vec<Edit>,
}

pub(crate) fn skeleton(tokens: &Tokens<'_>, extensions: &[Extension]) -> Skeleton {
    let mut reader = SkeletonReader {
        tokens,
        extensions,
        at: 0,
        header: 0,
        containers: Vec::new(),
        accessors: None,
        missing: 0,
        fault: None,
        bodies: Vec::new(),
        edits: Vec::new(),
    };
    while reader.at < tokens.all.len() {
        reader.read_token();
    }
    Skeleton {
        edits: reader.edits,
        missing: reader.missing,
        fault: reader.fault,
        bodies: reader.bodies,
    }
}

impl SkeletonReader<'_, '_> {
    /// Reads a token, or a group of tokens.
    fn read_token(&mut self) {
        let (tokens, at) = (self.tokens, self.at);
        match tokens.text(at) {
            ";" => self.begin_header(),
            "(" | "[" => self.at = tokens.next_after_group(at),
            "}" => {
                if self.containers.pop().is_none() {
                    self.fault = self.fault.or(Some(at));
                    self.edits.push(Edit {
                        bytes: tokens.bytes_of_tokens(&(at..at + 1)),
                        with: "",
                    });
                }
                self.begin_header();
            }
            "{" => self.open_block(),
            "=>" => self.hide_value(false),
            "=" if !(is_using(tokens, self.header) || ends_operator(tokens, at)) => self.hide_value(true),
            "," if self.containers.last() == Some(&true) => self.begin_header(),
            _ => self.at += 1,
        }
    }

    /// Begins a header after the present token.
    fn begin_header(&mut self) {
        self.at += 1;
        self.header = self.at;
    }

    /// Enters the block of a declaration, and hides any other block.
    fn open_block(&mut self) {
        let (at, end) = (self.at, self.tokens.all.len());
        let close = self.tokens.mate(at);
        // The braces of an extension block are hidden already; its members count as members of the enclosing class.
        let is_extension = self.extensions.binary_search_by_key(&at, |extension| extension.open).is_ok();
        let block = match () {
            () if is_extension => Block::Types,
            () if self.accessors.is_some_and(|close| at < close) => Block::Code,
            () => block(self.tokens, self.header..at),
        };
        // Accessors with attributes stay visible, since the walk reads their attributes.
        if matches!(block, Block::Property | Block::Event)
            && let Some(close) = close.filter(|close| has_attributes(self.tokens, at..*close))
        {
            self.accessors = Some(close);
            self.containers.push(false);
            self.at += 1;
            self.header = self.at;
            return;
        }
        let declares = matches!(block, Block::Types | Block::Enum);
        if close.is_none() || declares && self.containers.len() >= DEEPEST_SKELETON {
            self.fault = self.fault.or(Some(at));
        }
        if declares && self.containers.len() < DEEPEST_SKELETON {
            self.missing += usize::from(close.is_none());
            self.containers.push(block == Block::Enum);
            self.at += 1;
            self.header = self.at;
            return;
        }
        let close = close.unwrap_or(end);
        self.missing += usize::from(close == end);
        let with = match block {
            Block::Property => "get;",
            Block::Event => "add;",
            _ => "",
        };
        self.edits.push(Edit {
            bytes: self.tokens.between(at, close),
            with,
        });
        let hidden = at..end.min(close + 1);
        self.bodies.push(match block {
            Block::Property | Block::Event => Body::Accessors(hidden),
            _ => Body::Block(hidden),
        });
        self.at = close + 1;
        if !self.tokens.is(self.at, "=") {
            self.header = self.at;
        }
    }

    /// Hides the value after `=>` or, as an `initializer`, after `=`.
    fn hide_value(&mut self, initializer: bool) {
        let at = self.at;
        let stop = value_end(self.tokens, at + 1, initializer);
        if stop == at + 1 {
            self.fault = self.fault.or(Some(at));
        }
        replace_value(self.tokens, at, stop, &mut self.edits);
        self.bodies.push(Body::Value(at + 1..stop));
        self.at = stop;
    }
}

/// Whether an accessor of this list has attributes.
fn has_attributes(tokens: &Tokens<'_>, list: Range<usize>) -> bool {
    let mut at = list.start + 1;
    while at < list.end {
        if tokens.is(at, "[") && matches!(tokens.text(at - 1), "{" | "}" | ";") {
            return true;
        }
        at = tokens.next_after_group(at);
    }
    false
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// Members or declarations follow.
    Types,
    Enum,
    Property,
    Event,
    Code,
}

/// Returns the kind of block that a `{` opens, from the tokens before it.
fn block(tokens: &Tokens<'_>, header: Range<usize>) -> Block {
    let mut event = false;
    let mut at = header.start;
    while at < header.end {
        match tokens.text(at) {
            "namespace" => return Block::Types,
            "class" | "struct" | "interface" => return Block::Types,
            "record" if tokens.is_word(at + 1) && at + 1 < header.end => return Block::Types,
            "union" if super::unions::cases(tokens, at + 1).is_some() => return Block::Types,
            "enum" => return Block::Enum,
            "event" => event = true,
            "operator" => return Block::Code,
            "(" => {
                // A name follows a tuple type; a parameter list or condition comes last.
                let after = tokens.next_after_group(at);
                if after >= header.end || tokens.is(after, ":") || super::header::is_where(tokens, after) {
                    return Block::Code;
                }
                at = after;
                continue;
            }
            "=" | "=>" | ":" => break,
            "where" if super::header::is_where(tokens, at) => break,
            "[" if tokens.mate(at).is_some() => {
                at = tokens.next_after_group(at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    let has_name = header.end > header.start && (tokens.is_word(header.end - 1) || tokens.is(header.end - 1, "]"));
    let is_statement = matches!(
        tokens.text(header.start),
        "else" | "try" | "finally" | "do" | "unsafe" | "checked" | "unchecked"
    );
    match (event, has_name && header.end - header.start >= 2 && !is_statement) {
        (true, _) => Block::Event,
        (false, true) => Block::Property,
        _ => Block::Code,
    }
}

/// Whether the token is an unterminated literal.
fn is_broken(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.all.get(at).is_some_and(|token| token.kind == Kind::Unterminated)
}

/// Whether this `=` is the last token of `operator >=`, `operator >>=` or `operator >>>=`.
fn ends_operator(tokens: &Tokens<'_>, at: usize) -> bool {
    let mut first = at;
    while first > 0 && tokens.is(first - 1, ">") {
        first -= 1;
    }
    first < at && first > 0 && tokens.is(first - 1, "operator")
}

fn is_using(tokens: &Tokens<'_>, header: usize) -> bool {
    tokens.is(header, "using") || tokens.is(header, "global") && tokens.is(header + 1, "using")
}

/// Replaces the value between `=` or `=>` at `at` and `stop` by `0`, placed at the last token, so that the node ends there.
fn replace_value(tokens: &Tokens<'_>, at: usize, stop: usize, edits: &mut Vec<Edit>) {
    if is_broken(tokens, stop.wrapping_sub(1)) && !matches!(tokens.text(stop), ";" | "," | "}" | ")" | "]") {
        // The line end closes the literal; no token closes the declaration.
        edits.push(Edit {
            bytes: tokens.bytes_of_tokens(&(at..stop)),
            with: ";",
        });
    } else if stop > at + 1 {
        edits.push(Edit {
            bytes: tokens.between(at, stop - 1),
            with: "",
        });
        edits.push(Edit {
            bytes: tokens.bytes_of_tokens(&(stop - 1..stop)),
            with: "0",
        });
    }
}

/// Whether a value is a query, in which commas separate keys: `from x in y orderby a, b select c`.
pub(crate) fn is_query(tokens: &Tokens<'_>, start: usize) -> bool {
    tokens.is(start, "from") && tokens.is_word(start + 1)
}

/// Returns the end of a value: `;`, an unmatched closing bracket, or (in a list of declarators) `,`.
fn value_end(tokens: &Tokens<'_>, start: usize, list: bool) -> usize {
    let end = tokens.all.len();
    let list = list && !is_query(tokens, start);
    let mut at = start;
    let mut angles = 0_i32;
    while at < end {
        match tokens.text(at) {
            ";" | "}" | ")" | "]" => return at,
            "," if list && angles <= 0 => return at,
            _ if is_broken(tokens, at) => return at + 1,
            _ if tokens.is_angle(at) => angles += if tokens.is(at, "<") { 1 } else { -1 },
            _ => {}
        }
        at = tokens.next_after_group(at);
    }
    end
}
