//! Declarations and mentions of one C# file: the output of `csharp/syntax`; see [`super::syntax_table`] for its form.
//!
//! Texts are cut from the original bytes, and this crate's lexer normalizes them (canonical spacing of tokens). They never depend on node
//! kinds of the grammar, so a grammar upgrade changes no hash.

use minicbor::{Decode, Encode};

/// Kind of a type declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum TypeKind {
    #[n(0)]
    Class,
    #[n(1)]
    Struct,
    #[n(2)]
    Interface,
    #[n(3)]
    Enum,
    #[n(4)]
    Delegate,
    /// `record`, `record class`
    #[n(5)]
    Record,
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
    #[n(2)]
    EnumMember,
    #[n(3)]
    Property,
    #[n(4)]
    Indexer,
    /// An event, field-like (one per declarator) or with accessors.
    #[n(5)]
    Event,
    #[n(6)]
    Method,
    /// A constructor, static ones included.
    #[n(7)]
    Constructor,
    /// `~T()`
    #[n(8)]
    Finalizer,
    #[n(9)]
    Operator,
    /// `implicit`/`explicit operator`
    #[n(10)]
    Conversion,
}

/// Place of a name in a declaration, from the strongest evidence of a dependency to the weakest. [`super::code`] reads the names in bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum NamePlace {
    #[n(0)]
    Base,
    #[n(1)]
    Signature,
    /// Name of an attribute of a type or member.
    #[n(2)]
    Attribute,
    /// Argument of such an attribute.
    #[n(3)]
    Argument,
}

/// A written (possibly qualified) name that may be a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct NameUse {
    /// Dotted path as written, without `@`, white space and type arguments: `List`, `A.B`, `global::System.Int32`.
    #[n(0)]
    pub path: String,
    /// Number of type arguments of the last segment.
    #[n(1)]
    pub arity: u32,
    #[n(2)]
    pub place: NamePlace,
    /// Whether the position allows only a type (`new X()`, a parameter's type …). A name in an attribute's argument may also be a member or
    /// a namespace.
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
    #[n(2)]
    pub is_static: bool,
    #[n(3)]
    pub is_global: bool,
    /// The enclosing namespace block; `""` for the compilation unit.
    #[n(4)]
    pub namespace: String,
}

/// A range of a file. Offsets within a line are bytes of the decoded text (UTF-8), independent of line endings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Span {
    /// First line, from 1.
    #[n(0)]
    pub first: u32,
    /// Byte offset in the first line.
    #[n(1)]
    pub from: u32,
    /// Last line.
    #[n(2)]
    pub last: u32,
    /// End as a byte offset in the last line.
    #[n(3)]
    pub to: u32,
}

/// Name of the method whose body is the file's top-level statements.
pub const TOP_LEVEL: &str = "<Main>$";

/// A member of a type.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Member {
    #[n(0)]
    pub kind: MemberKind,
    /// Simple name in C# code (`Get`, `this[]`, `.ctor`, `.cctor`, `Finalize`, `op_Addition`), with explicit interface prefix (`IFoo.Bar`).
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
    /// Canonical text of each attribute, sorted; without attributes of parameters and accessors.
    #[n(5)]
    pub attributes: Vec<String>,
    /// The declaration for readers and for structureHash: modifiers in written order, type, name, type parameters, parameters with names but without
    /// default values, constraints, accessors as `{ get; set; }`; no attributes, body or initializer. One line.
    #[n(6)]
    pub signature: String,
    /// Canonical text of the rest: body, expression body, initializer, default values of parameters, constant value, accessor bodies. May be empty.
    #[n(7)]
    pub body: String,
    /// Raw XML of the `///` (or `/** */`) comment, without line prefixes.
    #[n(8)]
    pub doc: String,
    /// Span with documentation; the whole declaration for each name in `int a, b;`.
    #[n(9)]
    pub span: Span,
    #[n(10)]
    pub names: Vec<NameUse>,
    /// Its own type parameters, which are no type names.
    #[n(11)]
    pub type_parameters: Vec<String>,
    /// Whether an enum member has a written value (otherwise its ordinal is part of its meaning).
    #[n(12)]
    pub has_value: bool,
    /// The `#if` condition under which it is compiled; `""` if only its type has one.
    #[n(13)]
    pub condition: String,
    /// Signature with attributes on parameters, type parameters and accessors; empty without such attributes.
    #[n(14)]
    pub attributed: String,
}

/// One declaration of a type (one part of a partial type).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TypeDecl {
    /// Namespace, dotted; `""` for the global namespace.
    #[n(0)]
    pub namespace: String,
    /// Symbol path without namespace: ``Outer`1+Nested`` (arity marks if not 0).
    #[n(1)]
    pub path: String,
    #[n(2)]
    pub name: String,
    #[n(3)]
    pub kind: TypeKind,
    /// Its own type parameters, without variance.
    #[n(4)]
    pub type_parameters: Vec<String>,
    /// Modifiers as written, sorted.
    #[n(5)]
    pub modifiers: Vec<String>,
    /// Canonical text of each attribute, sorted.
    #[n(6)]
    pub attributes: Vec<String>,
    /// The header for readers and for structureHash: modifiers in written order, keyword, name, type parameters, primary constructor's
    /// parameters without default values, the whole signature of a delegate; without bases, constraints and attributes.
    #[n(7)]
    pub signature: String,
    /// Canonical text of each base as written (`body` has the arguments of a base constructor call).
    #[n(8)]
    pub bases: Vec<String>,
    /// `where` clauses, canonical text, sorted.
    #[n(9)]
    pub constraints: Vec<String>,
    /// Canonical text of implementation parts of the header: defaults of primary constructor parameters, base constructor arguments.
    #[n(10)]
    pub body: String,
    /// Raw XML of the doc comment.
    #[n(11)]
    pub doc: String,
    #[n(12)]
    pub span: Span,
    /// Names in header, bases, constraints, attributes.
    #[n(13)]
    pub names: Vec<NameUse>,
    /// Members in source order; nested types are separate declarations.
    #[n(14)]
    pub members: Vec<Member>,
    /// The `#if` condition under which it is compiled; `""` if unconditional.
    #[n(15)]
    pub condition: String,
    /// Signature with attributes on parameters and type parameters; empty without such attributes.
    #[n(16)]
    pub attributed: String,
    /// Sorted paths of the projects that compile it under other symbols, if the file's owner does not compile it.
    #[n(17)]
    pub of: Vec<String>,
    /// Sorted paths of the projects that compile its file without it, under other symbols, if the file's owner compiles it.
    #[n(18)]
    pub not_of: Vec<String>,
}

impl TypeDecl {
    /// Returns namespace and path: the type's name in labels, ``MemoTree.Core.Outer`1+Nested``.
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

/// Completeness of the parse of a file (also used by diagnostics and keys).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Tier {
    /// Without errors.
    #[n(0)]
    Whole,
    /// Without errors after replacing valid syntax that the grammar lacks.
    #[n(3)]
    Repaired,
    /// Some bodies could not be parsed; all declarations were read.
    #[n(4)]
    Skeleton,
    /// Some text could not be parsed; declarations outside the errors were read.
    #[n(1)]
    Partial,
    /// No C# text (binary, too large, undecodable): nothing was read.
    #[n(2)]
    Nothing,
}

/// All facts about one file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Syntax {
    /// Completeness of the parse.
    #[n(0)]
    pub tier: Tier,
    /// Using directives in source order.
    #[n(1)]
    pub usings: Vec<Using>,
    /// All type declarations in source order, outer before nested.
    #[n(2)]
    pub types: Vec<TypeDecl>,
    /// Whether the file has top-level statements (an implicit `Program`).
    #[n(3)]
    pub top_level: bool,
    /// Whether the file is a file-based app, compiled alone: it begins with `#!`, or has `#:` lines.
    #[n(4)]
    pub is_app: bool,
    /// Whether the file is marked as generated code.
    #[n(5)]
    pub is_generated: bool,
    /// Assemblies that see internal types of the compiling assembly.
    #[n(6)]
    pub friends: Vec<String>,
    /// Numbers of the lines without code of the declarations here, ascending: directives, and what `#if` excludes under the symbols under which a
    /// declaration is read.
    #[n(7)]
    pub excluded: Vec<u32>,
}
