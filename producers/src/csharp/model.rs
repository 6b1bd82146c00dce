//! What one C# file declares and mentions, as data: the output of `csharp/syntax`, see [`super::syntax_table`] for its form.
//!
//! Texts are cut from the original bytes and normalised by our own lexer (tokens joined by the lexer's canonical spacing), never
//! from grammar node kinds, so that a grammar upgrade moves no hash.

use minicbor::{Decode, Encode};

/// Kind of a type declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum TypeKind {
    /// `class`
    #[n(0)]
    Class,
    /// `struct`
    #[n(1)]
    Struct,
    /// `interface`
    #[n(2)]
    Interface,
    /// `enum`
    #[n(3)]
    Enum,
    /// `delegate`
    #[n(4)]
    Delegate,
    /// `record`, `record class`
    #[n(5)]
    Record,
    /// `record struct`
    #[n(6)]
    RecordStruct,
}

/// Kind of a member, in the seed's canonical order (000 §3.3: Type > Field > Property > Event > Method).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum MemberKind {
    /// One declarator of a field (each of `int a, b;` is a member).
    #[n(0)]
    Field,
    /// `const`
    #[n(1)]
    Constant,
    /// A member of an enum.
    #[n(2)]
    EnumMember,
    /// A property.
    #[n(3)]
    Property,
    /// `this[…]`
    #[n(4)]
    Indexer,
    /// An event, field-like (one per declarator) or with accessors.
    #[n(5)]
    Event,
    /// A method.
    #[n(6)]
    Method,
    /// A constructor, static ones included.
    #[n(7)]
    Constructor,
    /// `~T()`
    #[n(8)]
    Finalizer,
    /// `operator +`
    #[n(9)]
    Operator,
    /// `implicit`/`explicit operator`
    #[n(10)]
    Conversion,
}

/// Where a declaration names something, from the strongest evidence of a dependency to the weakest. Names in bodies are not gathered here:
/// [`super::code`] reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum NamePlace {
    /// Base list.
    #[n(0)]
    Base,
    /// Signature or constraint.
    #[n(1)]
    Signature,
    /// Attribute of a type or member.
    #[n(2)]
    Attribute,
}

/// A written (possibly qualified) name that may be a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct NameUse {
    /// Dotted path as written, `@` and white space removed, type arguments dropped: `List`, `A.B`, `global::System.Int32`.
    #[n(0)]
    pub path: String,
    /// Number of type arguments of the last segment.
    #[n(1)]
    pub arity: u32,
    /// Where it stands.
    #[n(2)]
    pub place: NamePlace,
    /// Whether it stands in a pure type position (`new X()`, a parameter's type …) rather than in the argument of an attribute, where it
    /// may be a member or a namespace as well.
    #[n(3)]
    pub certain: bool,
}

/// A `using` directive in effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Using {
    /// Alias, for `using A = B.C;`.
    #[n(0)]
    pub alias: Option<String>,
    /// Namespace or type, dotted.
    #[n(1)]
    pub target: String,
    /// `using static`.
    #[n(2)]
    pub is_static: bool,
    /// `global using`.
    #[n(3)]
    pub is_global: bool,
    /// The namespace block it stands in, `""` for the compilation unit.
    #[n(4)]
    pub namespace: String,
}

/// A stretch of a file. Places in a line are counted in bytes of the decoded text (UTF-8), which are the same whatever its line ends are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Span {
    /// Its first line, from 1.
    #[n(0)]
    pub first: u32,
    /// Bytes of that line before it.
    #[n(1)]
    pub from: u32,
    /// Its last line.
    #[n(2)]
    pub last: u32,
    /// Bytes of that line up to its end.
    #[n(3)]
    pub to: u32,
}

/// The method that statements at the top of a file are the body of.
pub const TOP_LEVEL: &str = "<Main>$";

/// A member of a type.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Member {
    /// Its kind.
    #[n(0)]
    pub kind: MemberKind,
    /// Simple name as C# code calls it (`Get`, `this[]`, `.ctor`, `.cctor`, `Finalize`, `op_Addition`), explicit interface prefix included (`IFoo.Bar`).
    #[n(1)]
    pub name: String,
    /// Number of own type parameters.
    #[n(2)]
    pub arity: u32,
    /// Parameter types as written, canonical spacing, ref kinds included (`ref int`, `params string[]` as `string[]`), nullable marks kept.
    #[n(3)]
    pub parameters: Vec<String>,
    /// Modifiers as written, sorted.
    #[n(4)]
    pub modifiers: Vec<String>,
    /// Each attribute's canonical text, sorted; without those of parameters and accessors.
    #[n(5)]
    pub attributes: Vec<String>,
    /// The declaration for readers and for structureHash: modifiers in written order, type, name, type parameters, parameters with names but without
    /// default values, constraints, accessors as `{ get; set; }`; no attributes, no body, no initialiser. One line.
    #[n(6)]
    pub signature: String,
    /// Canonical text of everything else: body, expression body, initialiser, default values of parameters, constant value, accessor bodies. Empty if none.
    #[n(7)]
    pub body: String,
    /// Text of the `///` (or `/** */`) comment, line prefixes removed; raw XML.
    #[n(8)]
    pub doc: String,
    /// Where it stands, with its documentation; of each name in `int a, b;` the whole.
    #[n(9)]
    pub span: Span,
    /// Names mentioned in it.
    #[n(10)]
    pub names: Vec<NameUse>,
    /// Type parameters of its own, so that they are not taken for types.
    #[n(11)]
    pub type_parameters: Vec<String>,
    /// Whether an enum member has a written value (without one its ordinal is part of its meaning).
    #[n(12)]
    pub has_value: bool,
    /// The `#if` condition under which it is compiled, `""` when there is none but that of its type.
    #[n(13)]
    pub condition: String,
    /// The signature with the attributes of parameters, type parameters and accessors in their places; empty when there are none.
    #[n(14)]
    pub attributed: String,
}

/// One declaration of a type (one part of a partial one).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TypeDecl {
    /// Its namespace, dotted, `""` for the global one.
    #[n(0)]
    pub namespace: String,
    /// Symbol path without namespace: ``Outer`1+Nested`` (arity marks where not 0).
    #[n(1)]
    pub path: String,
    /// Simple name.
    #[n(2)]
    pub name: String,
    /// Kind.
    #[n(3)]
    pub kind: TypeKind,
    /// Its own type parameters, without variance.
    #[n(4)]
    pub type_parameters: Vec<String>,
    /// Modifiers as written, sorted.
    #[n(5)]
    pub modifiers: Vec<String>,
    /// Each attribute's canonical text, sorted.
    #[n(6)]
    pub attributes: Vec<String>,
    /// The header for readers and for structureHash: modifiers in written order, keyword, name, type parameters, primary constructor's parameters without
    /// default values, for a delegate its whole signature; without bases, constraints and attributes.
    #[n(7)]
    pub signature: String,
    /// Base list, each entry's canonical text as written (arguments of a base constructor call go to `body`).
    #[n(8)]
    pub bases: Vec<String>,
    /// `where` clauses, canonical text, sorted.
    #[n(9)]
    pub constraints: Vec<String>,
    /// Canonical text of what belongs to the implementation in the header: defaults of primary constructor parameters, base constructor arguments.
    #[n(10)]
    pub body: String,
    /// Raw XML of the doc comment.
    #[n(11)]
    pub doc: String,
    /// Where it stands, with its documentation.
    #[n(12)]
    pub span: Span,
    /// Names in header, bases, constraints, attributes.
    #[n(13)]
    pub names: Vec<NameUse>,
    /// Members in written order; nested types are declarations of their own.
    #[n(14)]
    pub members: Vec<Member>,
    /// The `#if` condition under which it is compiled, `""` when always.
    #[n(15)]
    pub condition: String,
    /// The signature with the attributes of parameters and type parameters in their places; empty when there are none.
    #[n(16)]
    pub attributed: String,
    /// Path of the project that compiles it, where the one that owns the file does not: it has other symbols.
    #[n(17)]
    pub of: Option<String>,
}

impl TypeDecl {
    /// Namespace and path: the type's name in labels, ``MemoTree.Core.Outer`1+Nested``.
    pub fn symbol(&self) -> String {
        if self.namespace.is_empty() {
            self.path.clone()
        } else {
            format!("{}.{}", self.namespace, self.path)
        }
    }

    /// Whether its name in labels is `symbol`.
    pub fn has_symbol(&self, symbol: &str) -> bool {
        let Some(rest) = symbol.strip_suffix(&*self.path) else {
            return false;
        };
        match self.namespace.is_empty() {
            true => rest.is_empty(),
            false => rest.strip_suffix('.') == Some(&*self.namespace),
        }
    }
}

/// How much of a file could be understood (shared by diagnostics and keys).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Tier {
    /// No error was found.
    #[n(0)]
    Whole,
    /// Valid code that the grammar lacks was put differently; then no error was found.
    #[n(3)]
    Repaired,
    /// Some bodies could not be parsed; all declarations were read.
    #[n(4)]
    Skeleton,
    /// Some text could not be parsed; what stands outside the errors was taken.
    #[n(1)]
    Partial,
    /// Not C# text at all (binary, too large, undecodable): nothing was taken.
    #[n(2)]
    Nothing,
}

/// Everything about one file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Syntax {
    /// How much was understood.
    #[n(0)]
    pub tier: Tier,
    /// Using directives in written order.
    #[n(1)]
    pub usings: Vec<Using>,
    /// All type declarations, outer before nested, in written order.
    #[n(2)]
    pub types: Vec<TypeDecl>,
    /// Whether there are top-level statements (an implicit `Program`).
    #[n(3)]
    pub top_level: bool,
    /// Whether it is a file-based app, compiled alone: a `#!` line begins it, or it has `#:` lines.
    #[n(4)]
    pub is_app: bool,
    /// Whether the file is marked as generated code.
    #[n(5)]
    pub is_generated: bool,
    /// Assemblies that see internal types of the one that compiles it.
    #[n(6)]
    pub friends: Vec<String>,
}
