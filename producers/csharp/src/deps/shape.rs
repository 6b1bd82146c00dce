//! Types as binding sees them, and their text form in tables.
//!
//! Text form: ``A.B`1{C,!0}`` is a named type with arguments, `!0` a type parameter of the declaring type (those of enclosing types first),
//! `!!0` one of the method, `X[]` an array, `X*` a pointer, `(a:X,Y)` a tuple, `?` unknown. A workspace key is written as is; `~` marks a type
//! of .NET, `^` a name without a declaration.

use std::fmt::Write;
use std::rc::Rc;

/// Maximum nesting of shapes; deeper shapes are unknown.
const DEEPEST: u32 = 12;

/// Maximum number of shapes in a shape: each value of `(v, v)` would double it.
const LARGEST: u32 = 2_000;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Shape {
    /// An unknown type.
    #[default]
    Unknown,
    /// `null`, `default`.
    Null,
    /// A named type with arguments for all its type parameters.
    Named(Rc<str>, Rc<[Shape]>),
    /// An array or a pointer.
    Array(Rc<Shape>),
    /// A tuple.
    Tuple(Rc<[(Option<Rc<str>>, Shape)]>),
    /// An anonymous type with its members.
    Anonymous(Rc<[(Rc<str>, Shape)]>),
    /// A type parameter of the declaring type.
    Own(u32),
    /// A type parameter of the method.
    Method(u32),
    /// A type parameter in scope of the parsed code.
    Variable(Rc<str>),
}

/// The key of `System.Nullable<T>`.
pub const NULLABLE: &str = "~System.Nullable`1";

impl Shape {
    /// Returns `T?` of a value type.
    pub fn nullable(value: Self) -> Self {
        Self::Named(NULLABLE.into(), Rc::from([value]))
    }

    /// Whether it is `T?` of a value type.
    pub fn is_nullable(&self) -> bool {
        self.key() == Some(NULLABLE)
    }

    /// Returns `T` for `T?` of a value type, and any other type unchanged.
    pub fn without_null(&self) -> &Self {
        match self {
            Self::Named(_, args) if self.is_nullable() => args.first().unwrap_or(self),
            shape => shape,
        }
    }

    /// Returns a named type without arguments.
    pub fn of_key(key: &str) -> Self {
        Self::Named(key.into(), no_arguments())
    }

    /// Returns the key of a named type.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Named(key, _) => Some(key),
            _ => None,
        }
    }

    /// Returns the arguments of a named type.
    pub fn args(&self) -> &[Self] {
        match self {
            Self::Named(_, args) => args,
            _ => &[],
        }
    }

    /// Whether the type is known.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Null)
    }

    /// Replaces type parameters; missing arguments become unknown.
    pub fn substitute(&self, own: &[Self], method: &[Self]) -> Self {
        match self {
            Self::Own(index) => own.get(*index as usize).cloned().unwrap_or_default(),
            Self::Method(index) => method.get(*index as usize).cloned().unwrap_or_default(),
            Self::Named(key, args) if !args.is_empty() => {
                Self::Named(key.clone(), args.iter().map(|arg| arg.substitute(own, method)).collect())
            }
            Self::Array(element) => Self::Array(Rc::new(element.substitute(own, method))),
            Self::Tuple(parts) => Self::Tuple(
                parts
                    .iter()
                    .map(|(name, part)| (name.clone(), part.substitute(own, method)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// Whether the type parameter of a method with that number is a part of the type.
    pub fn has_parameter(&self, at: u32) -> bool {
        match self {
            Self::Method(index) => *index == at,
            Self::Named(_, args) => args.iter().any(|arg| arg.has_parameter(at)),
            Self::Array(element) => element.has_parameter(at),
            Self::Tuple(parts) => parts.iter().any(|(_, part)| part.has_parameter(at)),
            _ => false,
        }
    }

    /// Calls `see` with every key in the shape.
    pub fn keys(&self, see: &mut impl FnMut(&Rc<str>)) {
        match self {
            Self::Named(key, args) => {
                see(key);
                args.iter().for_each(|arg| arg.keys(see));
            }
            Self::Array(element) => element.keys(see),
            Self::Tuple(parts) => parts.iter().for_each(|(_, part)| part.keys(see)),
            _ => {}
        }
    }

    /// Creates a named type with its type arguments; `ValueTuple<…>` becomes a tuple.
    pub fn with_arguments(key: Rc<str>, args: Vec<Shape>) -> Self {
        let count = key
            .strip_prefix("~System.ValueTuple`")
            .and_then(|count| count.parse::<usize>().ok());
        match count {
            // The eighth type argument contains the further elements.
            Some(count @ 2..8) if args.len() == count => Shape::Tuple(args.into_iter().map(|arg| (None, arg)).collect()),
            _ if args.is_empty() => Shape::Named(key, no_arguments()),
            _ => Shape::Named(key, args.into()),
        }
    }

    /// Whether the shape contains at most `budget` shapes, none deeper than `depth`. Stops when either limit is exceeded.
    fn is_within(&self, depth: u32, budget: &mut u32) -> bool {
        let Some(left) = budget.checked_sub(1) else { return false };
        *budget = left;
        let mut inner = |shape: &Self| depth > 1 && shape.is_within(depth - 1, budget);
        match self {
            Self::Named(_, args) => args.iter().all(inner),
            Self::Array(element) => inner(element),
            Self::Tuple(parts) => parts.iter().all(|(_, part)| inner(part)),
            Self::Anonymous(parts) => parts.iter().all(|(_, part)| inner(part)),
            _ => true,
        }
    }

    /// Returns the shape, or unknown if it exceeds the limits of nesting or size.
    pub fn bounded(self) -> Self {
        if self.is_within(DEEPEST, &mut LARGEST.clone()) {
            self
        } else {
            Self::Unknown
        }
    }

    /// Appends the text form.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Unknown | Self::Null | Self::Variable(_) | Self::Anonymous(_) => out.push('?'),
            Self::Named(key, _) if key.contains(|c: char| "{}(),;[]*? \t\n:".contains(c)) => out.push('?'),
            Self::Named(key, args) => {
                out.push_str(key);
                if !args.is_empty() {
                    out.push('{');
                    for (at, arg) in args.iter().enumerate() {
                        if at > 0 {
                            out.push(',');
                        }
                        arg.write(out);
                    }
                    out.push('}');
                }
            }
            Self::Array(element) => {
                element.write(out);
                out.push_str("[]");
            }
            Self::Tuple(parts) => {
                out.push('(');
                for (at, (name, part)) in parts.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    if let Some(name) = name {
                        out.push_str(name);
                        out.push(':');
                    }
                    part.write(out);
                }
                out.push(')');
            }
            Self::Own(index) => write!(out, "!{index}").expect("invariant: writing to memory cannot fail"),
            Self::Method(index) => write!(out, "!!{index}").expect("invariant: writing to memory cannot fail"),
        }
    }

    /// Parses a text form; with `outside`, its keys are of .NET and have no mark.
    pub fn read(text: &str, outside: bool) -> Self {
        Reader {
            bytes: text.as_bytes(),
            text,
            at: 0,
            outside,
        }
        .shape(0)
    }
}

/// Returns an empty list of type arguments. Most types have none, so that all lists of a thread share one allocation.
fn no_arguments() -> Rc<[Shape]> {
    thread_local! {
        static NONE: Rc<[Shape]> = Rc::from([]);
    }
    NONE.with(Rc::clone)
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    outside: bool,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn shape(&mut self, depth: u32) -> Shape {
        if depth > 2 * DEEPEST {
            self.at = self.bytes.len();
            return Shape::Unknown;
        }
        let mut found = match self.peek() {
            b'?' => {
                self.at += 1;
                Shape::Unknown
            }
            b'!' => {
                let method = self.bytes.get(self.at + 1) == Some(&b'!');
                self.at += 1 + usize::from(method);
                let mut index = 0_u32;
                while self.peek().is_ascii_digit() {
                    index = index.saturating_mul(10).saturating_add(u32::from(self.peek() - b'0'));
                    self.at += 1;
                }
                if method { Shape::Method(index) } else { Shape::Own(index) }
            }
            b'(' => self.tuple(depth),
            _ => self.read_named_type(depth),
        };
        loop {
            match self.peek() {
                b'[' => {
                    while self.at < self.bytes.len() && self.peek() != b']' {
                        self.at += 1;
                    }
                    self.at += 1;
                }
                b'*' => self.at += 1,
                _ => return found,
            }
            found = Shape::Array(Rc::new(found));
        }
    }

    fn tuple(&mut self, depth: u32) -> Shape {
        self.at += 1;
        let mut parts = Vec::new();
        while self.at < self.bytes.len() && self.peek() != b')' {
            let start = self.at;
            while self.peek().is_ascii_alphanumeric() || self.peek() == b'_' || self.peek() >= 0x80 {
                self.at += 1;
            }
            let name = if self.peek() == b':' && self.at > start {
                self.at += 1;
                Some(self.text[start..self.at - 1].into())
            } else {
                self.at = start;
                None
            };
            parts.push((name, self.shape(depth + 1)));
            if self.peek() == b',' {
                self.at += 1;
            } else if self.peek() != b')' {
                break;
            }
        }
        self.at += 1;
        Shape::Tuple(parts.into())
    }

    fn read_named_type(&mut self, depth: u32) -> Shape {
        let start = self.at;
        while self.at < self.bytes.len() && !b"{}(),;[]*? \t\n:".contains(&self.peek()) {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        if word.is_empty() {
            return Shape::Unknown;
        }
        let key: Rc<str> = if self.outside { ["~", word].concat().into() } else { word.into() };
        let mut args = Vec::new();
        if self.peek() == b'{' {
            self.at += 1;
            while self.at < self.bytes.len() {
                args.push(self.shape(depth + 1));
                let next = self.peek();
                self.at += 1;
                if next != b',' {
                    break;
                }
            }
        }
        Shape::with_arguments(key, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shapes() -> impl Strategy<Value = Shape> {
        let leaf = prop_oneof![
            Just(Shape::Unknown),
            (0_u32..30).prop_map(Shape::Own),
            (0_u32..30).prop_map(Shape::Method),
            prop::sample::select(vec!["A", "~System.String", "^Foo", "N.O`1+I"]).prop_map(Shape::of_key),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|element| Shape::Array(Rc::new(element))),
                (proptest::collection::vec(inner.clone(), 1..3)).prop_map(|args| Shape::Named("G`1".into(), args.into())),
                proptest::collection::vec((prop::option::of(Just(Rc::from("n"))), inner), 2..4)
                    .prop_map(|parts| Shape::Tuple(parts.into())),
            ]
        })
    }

    proptest! {
        #[test]
        fn text_forms_are_read_back(shape in shapes()) {
            let mut text = String::new();
            shape.write(&mut text);
            prop_assert_eq!(Shape::read(&text, false), shape);
        }

        #[test]
        fn any_text_is_read(text: String) {
            Shape::read(&text, true);
        }
    }
}
