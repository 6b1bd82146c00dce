//! What a body says, as far as types follow from it: expressions, patterns and statements without literals, comments and layout.
//!
//! Long chains (`a.b().c`) and long runs of operators are lists, so that the depth of a value is bounded by what the parser
//! allows and no reader can overflow its stack. Places are byte offsets into the text that was parsed, or 0 if they were not requested.

use minicbor::{Decode, Encode};

/// A word of the text with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Word {
    /// Without `@`.
    #[n(0)]
    pub text: String,
    /// First byte, 0 when places were not asked for.
    #[n(1)]
    pub place: u32,
}

/// A simple name with its type arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Name {
    /// The name.
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

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Argument {
    /// `name:`.
    #[n(0)]
    pub name: Option<String>,
    /// Its value.
    #[n(1)]
    pub value: Expression,
    /// Whether `ref` stands before the value.
    #[n(2)]
    pub is_ref: bool,
}

/// One entry of an object or collection initialiser.
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
    /// `(…)`.
    #[n(1)]
    Call(#[n(0)] Vec<Argument>),
    /// `[…]`, with the place of the bracket.
    #[n(2)]
    Index(#[n(0)] Vec<Argument>, #[n(1)] u32),
    /// The `?` of `?.Name` and `?[…]`: what follows is left out where there is no value before it.
    #[n(3)]
    Maybe,
    /// The `->` before a name: what follows is of the value that a pointer points to.
    #[n(4)]
    Pointed,
}

/// Result of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Operator {
    /// `==`, `<`, `&&` …: a truth value.
    #[n(0)]
    Truth,
    /// `+`, `*`, `<<`, `|` …: like its operands.
    #[n(1)]
    Arithmetic,
    /// `??`.
    #[n(2)]
    Coalesce,
    /// `..`.
    #[n(3)]
    Range,
}

/// Kinds of literals that have a type of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Literal {
    /// Text.
    #[n(0)]
    String,
    /// A character.
    #[n(1)]
    Char,
    /// A whole number that is an `int`.
    #[n(2)]
    Integer,
    /// A `double`.
    #[n(3)]
    Real,
    /// `true`, `false`.
    #[n(4)]
    Truth,
    /// `null`.
    #[n(5)]
    Null,
    /// A `uint`, by its suffix or because an `int` does not hold it.
    #[n(6)]
    UInt,
    /// A `long`.
    #[n(7)]
    Long,
    /// A `ulong`.
    #[n(8)]
    ULong,
    /// A `float`.
    #[n(9)]
    Float,
    /// A `decimal`.
    #[n(10)]
    Decimal,
    /// Text as bytes: `"text"u8`.
    #[n(11)]
    Bytes,
    /// `default` without a type.
    #[n(12)]
    Default,
}

/// A lambda parameter, or one of a method.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Parameter {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// Its type, if written.
    #[n(1)]
    pub kind: Option<TypeRef>,
    /// `out`.
    #[n(2)]
    pub out: bool,
    /// `params`.
    #[n(3)]
    pub many: bool,
    /// Its default value; none of the parameters of a member, whose body begins with the values.
    #[n(4)]
    pub default: Option<Expression>,
    /// `this`.
    #[n(5)]
    pub receiver: bool,
    /// Its attributes; none of the parameters of a member.
    #[n(6)]
    pub attributes: Vec<Attribute>,
    /// `ref` without `readonly`.
    #[n(7)]
    pub is_ref: bool,
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
    /// `where`, `orderby`, keys: a value whose names count, with the keyword or the comma before it; of a falling order that with `descending`.
    #[n(2)]
    Value(#[n(0)] Expression, #[n(1)] Word),
    /// `select e`, `group e by k`, with the keyword.
    #[n(3)]
    Select(#[n(0)] Expression, #[n(1)] Word),
    /// `into x`.
    #[n(4)]
    Into(#[n(0)] String),
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Expression {
    /// Nothing is known of it.
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
    /// A simple name.
    #[n(4)]
    Name(#[n(0)] Name),
    /// `alias::Name`, `global::Name`, a predefined type, `List<int>` before a dot; with its place.
    #[n(5)]
    Type(#[n(0)] TypeRef, #[cbor(skip)] u32),
    /// A root with what follows it; nothing follows operands in parentheses.
    #[n(6)]
    Chain(#[n(0)] Box<Expression>, #[n(1)] Vec<Link>),
    /// `new T(…) { … }`; without a type the target says it. The place is that of `new`.
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
    /// Operands joined by operators of one class, from left to right, with what stands between them.
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
    /// `[a, ..b]`.
    #[n(24)]
    Collection(#[n(0)] Vec<Expression>),
    /// `$"…{e}…"`, with its place.
    #[n(25)]
    Interpolated(#[n(0)] Vec<Expression>, #[cbor(skip)] u32),
    /// `nameof(e)`, with its place.
    #[n(26)]
    NameOf(#[n(0)] Box<Expression>, #[cbor(skip)] u32),
    /// `out var x`, `var (a, b)`, `T x` in a deconstruction.
    #[n(27)]
    Declaration(#[n(0)] TypeRef, #[n(1)] Designation),
    /// A query.
    #[n(28)]
    Query(#[n(0)] Vec<Clause>),
    /// `throw e`.
    #[n(29)]
    Throw(#[n(0)] Box<Expression>),
}

impl Expression {
    /// Place of its first token that is no bracket around it; `None` for values without a use for it; 0 if places were not
    /// requested, so that what is looked up does not depend on that.
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
            // Such a value has members behind it in parentheses only.
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
            // The bracket stands before the first part and its name: `(name: value`.
            Self::Tuple(parts) => {
                let first = parts.first()?;
                let name = first.name.as_ref().map_or(0, |name| name.len() + ": ".len());
                Some(first.value.first_place()?.saturating_sub(u32::try_from(name).ok()? + 1))
            }
            // The sign stands before its operand or behind it.
            Self::Unary(sign, inner) => Some(inner.first_place()?.min(sign.place)),
            Self::Unknown
            | Self::Anonymous(_)
            | Self::Lambda(..)
            | Self::Collection(_)
            | Self::Declaration(..)
            | Self::Query(_)
            | Self::Throw(_) => None,
        }
    }

    /// Place of its first token where more stands behind it: that of the bracket around a value that can only stand there in brackets.
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

/// Variables that a declaration binds.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Designation {
    /// A name.
    #[n(0)]
    Name(#[n(0)] String),
    /// `(a, b)`.
    #[n(1)]
    Tuple(#[n(0)] Vec<Designation>),
    /// `_`.
    #[n(2)]
    Discard,
}

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Pattern {
    /// A value, or a type that looks like one; `A.B` may be either.
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
    /// `[a, ..]`.
    #[n(3)]
    List(#[n(0)] Vec<Pattern>, #[n(1)] Option<Designation>),
    /// `a or b and not c`.
    #[n(4)]
    Several(#[n(0)] Vec<Pattern>),
    /// `var x`.
    #[n(5)]
    Var(#[n(0)] Designation),
    /// `_`, `..`.
    #[n(6)]
    Any,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Statement {
    /// A value that is computed.
    #[n(0)]
    Expression(#[n(0)] Expression),
    /// `return e`, the body of `=> e`.
    #[n(1)]
    Return(#[n(0)] Expression),
    /// `yield return e`.
    #[n(2)]
    Yield(#[n(0)] Expression),
    /// Locals of one declaration.
    #[n(3)]
    Local(#[n(0)] TypeRef, #[n(1)] Vec<(String, Option<Expression>)>),
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
    /// `foreach ((a, T b) in e) …`: what the parts of each element are assigned to, the source, the body and the keyword.
    #[n(11)]
    ForeachParts(#[n(0)] Vec<Argument>, #[n(1)] Expression, #[n(2)] Vec<Statement>, #[n(3)] Word),
    /// A local function.
    #[n(6)]
    Function(#[n(0)] LocalFunction),
    /// `case p when c:`, with what is switched over.
    #[n(7)]
    Switch(#[n(0)] Expression, #[n(1)] Vec<Section>),
    /// The resource that a `using` disposes of: a declaration or a value, with the keyword; that of `await using` is `await`.
    #[n(8)]
    Using(#[n(0)] Box<Statement>, #[n(1)] Word),
    /// A value that decides what runs: the head of an `if` or a loop, a `when`.
    #[n(9)]
    Condition(#[n(0)] Expression),
    /// Attributes of a lambda or a local function and of their parameters.
    #[n(10)]
    Attributes(#[n(0)] Vec<Attribute>),
}

/// An attribute: its class and arguments.
pub type Attribute = (TypeRef, Vec<Argument>);

/// A section of a `switch`: its labels, each a pattern and its `when`, and its statements.
pub type Section = (Vec<(Pattern, Option<Expression>)>, Vec<Statement>);

/// A local function.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LocalFunction {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// Its type parameters.
    #[n(1)]
    pub type_parameters: Vec<String>,
    /// Its parameters.
    #[n(2)]
    pub parameters: Vec<Parameter>,
    /// What it gives.
    #[n(3)]
    pub result: TypeRef,
    /// Its body.
    #[n(4)]
    pub body: Vec<Statement>,
    /// `async`.
    #[n(5)]
    pub is_async: bool,
}
