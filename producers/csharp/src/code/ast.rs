//! The syntax of a body that determines types: expressions, patterns and statements without literals, comments and layout.
//!
//! A long chain (`a.b().c`) or run of operators is a list. Thus the parser's limits bound the depth of an expression, and no reader can overflow
//! its stack. Places are byte offsets into the parsed text, or 0 if they were not requested.

use super::integer_range::IntegerRange;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// A word of the text with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Word {
    /// The word, without `@`.
    #[n(0)]
    pub text: String,
    /// Offset of its first byte, 0 if places were not requested.
    #[n(1)]
    pub place: u32,
}

/// A simple name with its type arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Name {
    #[n(0)]
    pub word: Word,
    /// Type arguments as written.
    #[n(1)]
    pub args: Vec<TypeRef>,
}

/// A written type.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TypeRef {
    /// `var`, with the place of the word.
    #[n(0)]
    Var(#[n(0)] u32),
    /// `A.B<C>.D`; the first segment is `global` for `global::A`.
    #[n(1)]
    Named(#[n(0)] Vec<Name>),
    /// `int`, `string` …, `dynamic`.
    #[n(2)]
    Predefined(#[n(0)] String),
    /// `T[]`, `T[,]`.
    #[n(3)]
    Array(#[n(0)] Box<TypeRef>),
    /// `T?`.
    #[n(4)]
    Nullable(#[n(0)] Box<TypeRef>),
    /// `T*`.
    #[n(5)]
    Pointer(#[n(0)] Box<TypeRef>),
    /// `(A a, B)`.
    #[n(6)]
    Tuple(#[n(0)] Vec<(Option<String>, TypeRef)>),
    /// `delegate*<A, B>`.
    #[n(7)]
    Function(#[n(0)] Vec<TypeRef>),
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Argument {
    #[n(0)]
    pub name: Option<String>,
    #[n(1)]
    pub value: Expression,
    #[n(2)]
    pub passing: Passing,
}

/// How an argument is passed, or how a parameter takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum Passing {
    #[default]
    #[n(0)]
    Value,
    /// `in`; `ref readonly` of a parameter takes the same arguments.
    #[n(1)]
    In,
    #[n(2)]
    Ref,
    #[n(3)]
    Out,
}

impl Passing {
    /// Returns how a parameter takes its argument, by the text of its type with the words before it: `ref readonly X`.
    pub fn of_written(text: &str) -> Self {
        let (first, rest) = text.split_once(' ').unwrap_or_default();
        match rest.starts_with("readonly ") {
            true => Self::In,
            false => Self::from_word(first).unwrap_or_default(),
        }
    }

    /// Returns the passing that a word means.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "in" => Self::In,
            "ref" => Self::Ref,
            "out" => Self::Out,
            _ => return None,
        })
    }

    /// Whether a parameter takes an argument that is passed so.
    pub fn takes(self, argument: Self) -> bool {
        match self {
            Self::In => argument != Self::Out,
            _ => self == argument,
        }
    }
}

/// One entry of an object or collection initializer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Initializer {
    /// `Member = value`.
    #[n(0)]
    Member(#[n(0)] Word, #[n(1)] Expression),
    /// `Member = { … }`.
    #[n(1)]
    Nested(#[n(0)] Word, #[n(1)] Vec<Initializer>),
    /// `[index] = value`, with the place of the bracket.
    #[n(2)]
    Index(#[n(0)] Vec<Expression>, #[n(1)] Expression, #[n(2)] u32),
    /// An element, `{ a, b }` as several values, with the place where it begins.
    #[n(3)]
    Element(#[n(0)] Vec<Expression>, #[n(1)] u32),
    /// `[index] = { … }`, with the place of the bracket.
    #[n(4)]
    NestedIndex(#[n(0)] Vec<Expression>, #[n(1)] Vec<Initializer>, #[n(2)] u32),
}

/// A link of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Link {
    /// `.Name<T>`.
    #[n(0)]
    Member(#[n(0)] Name),
    #[n(1)]
    Call(#[n(0)] Vec<Argument>),
    /// `[…]`, with the place of the bracket.
    #[n(2)]
    Index(#[n(0)] Vec<Argument>, #[n(1)] u32),
    /// The `?` of `?.Name` and `?[…]`: if the value before it is null, the links after it are not evaluated.
    #[n(3)]
    Maybe,
    /// The `->` before a name: the next link is a member of the value to which a pointer points.
    #[n(4)]
    Pointed,
}

/// Result of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Operator {
    /// `==`, `<`, `&&` …: a `bool`.
    #[n(0)]
    Truth,
    /// `+`, `*`, `<<`, `|` …: a value of a type that its operands determine.
    #[n(1)]
    Arithmetic,
    #[n(2)]
    Coalesce,
    #[n(3)]
    Range,
}

/// Kinds of literals that have a type of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Literal {
    #[n(0)]
    String,
    #[n(1)]
    Char,
    /// An `int`, with the minus sign before it.
    #[n(2)]
    Integer(#[n(0)] IntegerRange),
    /// A `double`.
    #[n(3)]
    Real,
    /// `true`, `false`.
    #[n(4)]
    Truth,
    #[n(5)]
    Null,
    /// A `uint`, by its suffix or because the number is too large for an `int`.
    #[n(6)]
    UInt,
    #[n(7)]
    Long,
    /// A `ulong`.
    #[n(8)]
    ULong,
    #[n(9)]
    Float,
    #[n(10)]
    Decimal,
    /// A UTF-8 literal: `"text"u8`.
    #[n(11)]
    Bytes,
    /// `default` without a type.
    #[n(12)]
    Default,
}

/// A parameter of a lambda or a method.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Parameter {
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub kind: Option<TypeRef>,
    /// How it takes its argument.
    #[n(2)]
    pub passing: Passing,
    /// `params`.
    #[n(3)]
    pub many: bool,
    /// Its default value; `None` for a parameter of a member, whose body begins with the default values.
    #[n(4)]
    pub default: Option<Expression>,
    #[n(5)]
    pub receiver: bool,
    /// Its attributes; empty for a parameter of a member.
    #[n(6)]
    pub attributes: Vec<Attribute>,
}

/// A clause of a query.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Clause {
    /// `from T x in e`, `join T x in e on a equals b` (both keys follow as [`Clause::Value`]), with the keyword.
    #[n(0)]
    From(#[n(0)] Option<TypeRef>, #[n(1)] String, #[n(2)] Expression, #[n(3)] Word),
    /// `let x = e`, with the keyword.
    #[n(1)]
    Let(#[n(0)] String, #[n(1)] Expression, #[n(2)] Word),
    /// `where`, `orderby`, keys: an expression, with the keyword or the comma before it; with `descending` appended for descending order.
    #[n(2)]
    Value(#[n(0)] Expression, #[n(1)] Word),
    /// `select e`, `group e by k`, with the keyword.
    #[n(3)]
    Select(#[n(0)] Expression, #[n(1)] Word),
    /// `into x`.
    #[n(4)]
    Into(#[n(0)] String),
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Expression {
    /// An expression that the parser could not read.
    #[n(0)]
    Unknown,
    /// A literal, with its place.
    #[n(1)]
    Literal(#[n(0)] Literal, #[cbor(skip)] u32),
    /// `this`, with its place.
    #[n(2)]
    This(#[n(0)] u32),
    /// `base`, with its place.
    #[n(3)]
    Base(#[n(0)] u32),
    #[n(4)]
    Name(#[n(0)] Name),
    /// `alias::Name`, `global::Name`, a predefined type, `List<int>` before a dot; with its place.
    #[n(5)]
    Type(#[n(0)] TypeRef, #[cbor(skip)] u32),
    /// A root with the links that follow it; an operand in parentheses has none.
    #[n(6)]
    Chain(#[n(0)] Box<Expression>, #[n(1)] Vec<Link>),
    /// `new T(…) { … }`; if no type is written, the target determines it. The place is that of `new`.
    #[n(7)]
    New(
        #[n(0)] Option<TypeRef>,
        #[n(1)] Vec<Argument>,
        #[n(2)] Vec<Initializer>,
        #[n(3)] u32,
    ),
    /// `new T[n] { … }`, `new[] { … }`, `stackalloc`: element type, elements, sizes, and the place of the keyword.
    #[n(8)]
    NewArray(
        #[n(0)] Option<TypeRef>,
        #[n(1)] Vec<Expression>,
        #[n(2)] Vec<Expression>,
        #[cbor(skip)] u32,
    ),
    /// `new { A = 1, b.C }`.
    #[n(9)]
    Anonymous(#[n(0)] Vec<(String, Expression)>),
    /// A lambda or an anonymous method, whether it is `async`, and the type before its parameters.
    #[n(10)]
    Lambda(
        #[n(0)] Vec<Parameter>,
        #[n(1)] Vec<Statement>,
        #[n(2)] bool,
        #[n(3)] Option<Box<TypeRef>>,
    ),
    /// `(T)e`, with the place of the bracket.
    #[n(11)]
    Cast(#[n(0)] TypeRef, #[n(1)] Box<Expression>, #[n(2)] u32),
    /// `e as T`.
    #[n(12)]
    As(#[n(0)] Box<Expression>, #[n(1)] TypeRef),
    /// `e is p`.
    #[n(13)]
    Is(#[n(0)] Box<Expression>, #[n(1)] Box<Pattern>),
    /// `typeof(T)`, with its place.
    #[n(14)]
    TypeOf(#[n(0)] TypeRef, #[cbor(skip)] u32),
    /// `default(T)`, with its place; the operand of `sizeof(T)`.
    #[n(15)]
    Default(#[n(0)] TypeRef, #[cbor(skip)] u32),
    /// Operands joined by operators of one class, from left to right, with the operators between them.
    #[n(16)]
    Operation(#[n(0)] Operator, #[n(1)] Vec<Expression>, #[n(2)] Vec<Word>),
    /// `target = value` and compound forms, with the operator.
    #[n(17)]
    Assign(#[n(0)] Box<Expression>, #[n(1)] Box<Expression>, #[n(2)] Word),
    /// `await e`, with the place of the keyword.
    #[n(18)]
    Await(#[n(0)] Box<Expression>, #[n(1)] u32),
    /// `!e`, `-e`, `*e`, `e++`, `checked(e)`, `sizeof(T)` …, with the operator.
    #[n(19)]
    Unary(#[n(0)] Word, #[n(1)] Box<Expression>),
    /// `c ? a : b`.
    #[n(20)]
    Conditional(#[n(0)] Box<Expression>, #[n(1)] Box<Expression>, #[n(2)] Box<Expression>),
    /// `e switch { p when c => v }`.
    #[n(21)]
    Switch(#[n(0)] Box<Expression>, #[n(1)] Vec<(Pattern, Option<Expression>, Expression)>),
    /// `e with { … }`.
    #[n(22)]
    With(#[n(0)] Box<Expression>, #[n(1)] Vec<Initializer>),
    /// `(a, b: c)`.
    #[n(23)]
    Tuple(#[n(0)] Vec<Argument>),
    /// `[a, ..b]`, with its place.
    #[n(24)]
    Collection(#[n(0)] Vec<Expression>, #[cbor(skip)] u32),
    /// `$"…{e}…"`, with its place.
    #[n(25)]
    Interpolated(#[n(0)] Vec<Expression>, #[cbor(skip)] u32),
    /// `nameof(e)`, with its place.
    #[n(26)]
    NameOf(#[n(0)] Box<Expression>, #[cbor(skip)] u32),
    /// `out var x`, `var (a, b)`, `T x` in a deconstruction.
    #[n(27)]
    Declaration(#[n(0)] TypeRef, #[n(1)] Designation),
    #[n(28)]
    Query(#[n(0)] Vec<Clause>),
    /// `throw e`.
    #[n(29)]
    Throw(#[n(0)] Box<Expression>),
}

impl Expression {
    /// Returns the place of its first token, without brackets around it; `None` for kinds of expressions whose place no reader uses; 0 if places
    /// were not requested, so that the lookups of binding do not depend on places.
    pub fn first_place(&self) -> Option<u32> {
        match self {
            Self::Literal(_, place)
            | Self::This(place)
            | Self::Base(place)
            | Self::Type(_, place)
            | Self::New(.., place)
            | Self::NewArray(.., place)
            | Self::Cast(.., place)
            | Self::TypeOf(_, place)
            | Self::Default(_, place)
            | Self::Await(_, place)
            | Self::Interpolated(_, place)
            | Self::NameOf(_, place) => Some(*place),
            Self::Name(name) => Some(name.word.place),
            Self::Chain(root, links) if links.is_empty() => root.first_place(),
            // Only in parentheses can members follow such an expression.
            Self::Chain(root, _)
                if matches!(
                    **root,
                    Self::Cast(..)
                        | Self::As(..)
                        | Self::Is(..)
                        | Self::Operation(..)
                        | Self::Conditional(..)
                        | Self::Await(..)
                        | Self::Assign(..)
                        | Self::With(..)
                        | Self::Switch(..)
                ) =>
            {
                Some(root.first_place()?.saturating_sub(1))
            }
            Self::Chain(root, _) => root.first_place(),
            Self::As(first, _) | Self::Is(first, _) | Self::Assign(first, ..) | Self::With(first, _) | Self::Switch(first, _) => {
                first.place_as_operand()
            }
            Self::Conditional(first, ..) => first.place_as_operand(),
            Self::Operation(_, operands, _) => operands.first()?.place_as_operand(),
            // The bracket precedes the first part and its name: `(name: value`.
            Self::Tuple(parts) => {
                let first = parts.first()?;
                let name = first.name.as_ref().map_or(0, |name| name.len() + ": ".len());
                Some(first.value.first_place()?.saturating_sub(u32::try_from(name).ok()? + 1))
            }
            // The sign precedes or follows its operand.
            Self::Unary(sign, inner) => Some(inner.first_place()?.min(sign.place)),
            Self::Unknown
            | Self::Anonymous(_)
            | Self::Lambda(..)
            | Self::Collection(..)
            | Self::Declaration(..)
            | Self::Query(_)
            | Self::Throw(_) => None,
        }
    }

    /// Returns the place of its first token as an operand: that of the bracket, if such an operand needs brackets around it.
    fn place_as_operand(&self) -> Option<u32> {
        let place = self.first_place()?;
        let is_bracketed = match self {
            Self::Chain(_, links) => links.is_empty(),
            Self::Conditional(..) | Self::Assign(..) => true,
            _ => false,
        };
        Some(if is_bracketed { place.saturating_sub(1) } else { place })
    }
}

/// Variables that a declaration introduces.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Designation {
    #[n(0)]
    Name(#[n(0)] String),
    /// `(a, b)`.
    #[n(1)]
    Tuple(#[n(0)] Vec<Designation>),
    #[n(2)]
    Discard,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Pattern {
    /// A constant, or a type that looks like one; `A.B` may be either.
    #[n(0)]
    Value(#[n(0)] Expression),
    /// `T`, `T x`.
    #[n(1)]
    Type(#[n(0)] TypeRef, #[n(1)] Option<Designation>),
    /// `T (a, b) { P: c } x`, with the place of the first bracket.
    #[n(2)]
    Recursive(
        #[n(0)] Option<TypeRef>,
        #[n(1)] Vec<Pattern>,
        #[n(2)] Vec<(Vec<Word>, Pattern)>,
        #[n(3)] Option<Designation>,
        #[n(4)] u32,
    ),
    /// `[a, ..]`, with the place of its bracket.
    #[n(3)]
    List(#[n(0)] Vec<Pattern>, #[n(1)] Option<Designation>, #[n(2)] u32),
    /// `a or b`.
    #[n(4)]
    Or(#[n(0)] Vec<Pattern>),
    /// `a and b`.
    #[n(7)]
    And(#[n(0)] Vec<Pattern>),
    #[n(8)]
    Not(#[n(0)] Box<Pattern>),
    /// `.. a` in a list.
    #[n(9)]
    Slice(#[n(0)] Box<Pattern>),
    /// `var x`.
    #[n(5)]
    Var(#[n(0)] Designation),
    #[n(6)]
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Statement {
    /// An expression that is evaluated.
    #[n(0)]
    Expression(#[n(0)] Expression),
    /// `return e`, the body of `=> e`.
    #[n(1)]
    Return(#[n(0)] Expression),
    /// `yield return e`.
    #[n(2)]
    Yield(#[n(0)] Expression),
    /// Locals of one declaration, and whether they are constants.
    #[n(3)]
    Local(#[n(0)] TypeRef, #[n(1)] Vec<(String, Option<Expression>)>, #[n(2)] bool),
    /// Statements with a scope of their own.
    #[n(4)]
    Block(#[n(0)] Vec<Statement>),
    /// `foreach (T x in e) …`, with the keyword; that of `await foreach` is `await`.
    #[n(5)]
    Foreach(
        #[n(0)] TypeRef,
        #[n(1)] Designation,
        #[n(2)] Expression,
        #[n(3)] Vec<Statement>,
        #[n(4)] Word,
    ),
    /// `foreach ((a, T b) in e) …`: the targets to which the parts of each element are assigned, the source, the body and the keyword.
    #[n(11)]
    ForeachParts(#[n(0)] Vec<Argument>, #[n(1)] Expression, #[n(2)] Vec<Statement>, #[n(3)] Word),
    #[n(6)]
    Function(#[n(0)] LocalFunction),
    /// A `switch` statement: the expression that it switches over, and its sections.
    #[n(7)]
    Switch(#[n(0)] Expression, #[n(1)] Vec<Section>),
    /// The resource that a `using` disposes of: a declaration or an expression, with the keyword; that of `await using` is `await`. With `fixed`,
    /// the declaration of a pointer to a value that is pinned itself.
    #[n(8)]
    Using(#[n(0)] Box<Statement>, #[n(1)] Word),
    /// A condition: that of an `if`, a loop or a `when`.
    #[n(9)]
    Condition(#[n(0)] Expression),
    /// Attributes of a lambda or a local function and of their parameters.
    #[n(10)]
    Attributes(#[n(0)] Vec<Attribute>),
    /// `checked { … }`, or `unchecked { … }` if it is false.
    #[n(12)]
    Overflow(#[n(0)] bool, #[n(1)] Vec<Statement>),
}

/// An attribute: its class and arguments.
pub type Attribute = (TypeRef, Vec<Argument>);

/// A section of a `switch`: its labels, each a pattern and its `when`, and its statements.
pub type Section = (Vec<(Pattern, Option<Expression>)>, Vec<Statement>);

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LocalFunction {
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub type_parameters: Vec<String>,
    #[n(2)]
    pub parameters: Vec<Parameter>,
    #[n(3)]
    pub result: TypeRef,
    #[n(4)]
    pub body: Vec<Statement>,
    #[n(5)]
    pub is_async: bool,
}
