//! The messages of SCIP (Source Code Intelligence Protocol) that cortex writes and reads, with the field numbers of `scip.proto`.
//!
//! They are declared by hand for `prost`, which the client of the Remote Execution API needs anyway: the bindings of the protocol's own project use a
//! second protobuf runtime. A test decodes the messages written here with those bindings. The reader skips fields that are not listed (diagnostics,
//! syntax kinds).

use prost::Message;

/// `TextEncoding.UTF8`.
pub const UTF8: i32 = 1;

/// Bits of `Occurrence::symbol_roles`.
pub mod role {
    /// The symbol is defined here.
    pub const DEFINITION: i32 = 1;
    /// A value is assigned to it here.
    pub const WRITE: i32 = 4;
    /// Its value is read here.
    pub const READ: i32 = 8;
    /// The code around it is generated.
    pub const GENERATED: i32 = 16;
}

/// Units of columns.
pub mod columns {
    /// Bytes of UTF-8.
    pub const UTF8: i32 = 1;
    /// Units of UTF-16.
    pub const UTF16: i32 = 2;
    /// Code points.
    pub const UTF32: i32 = 3;
}

/// An index of one project root.
#[derive(Clone, PartialEq, Message)]
pub struct Index {
    /// Its author and subject.
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
    /// One for each source file.
    #[prost(message, repeated, tag = "2")]
    pub documents: Vec<Document>,
    /// Symbols that are used and defined elsewhere.
    #[prost(message, repeated, tag = "3")]
    pub external_symbols: Vec<SymbolInformation>,
}

impl Index {
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }
}

/// Author and subject of an index.
#[derive(Clone, PartialEq, Message)]
pub struct Metadata {
    #[prost(int32, tag = "1")]
    pub version: i32,
    #[prost(message, optional, tag = "2")]
    pub tool_info: Option<ToolInfo>,
    /// URI of the folder that paths of documents are relative to.
    #[prost(string, tag = "3")]
    pub project_root: String,
    /// Encoding of the source files.
    #[prost(int32, tag = "4")]
    pub text_document_encoding: i32,
}

/// The indexer.
#[derive(Clone, PartialEq, Message)]
pub struct ToolInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
    /// Its command-line arguments.
    #[prost(string, repeated, tag = "3")]
    pub arguments: Vec<String>,
}

/// One source file.
#[derive(Clone, PartialEq, Message)]
pub struct Document {
    /// Path below the project's root, with `/`.
    #[prost(string, tag = "1")]
    pub relative_path: String,
    /// Symbols with their positions.
    #[prost(message, repeated, tag = "2")]
    pub occurrences: Vec<Occurrence>,
    /// The symbols that it defines.
    #[prost(message, repeated, tag = "3")]
    pub symbols: Vec<SymbolInformation>,
    /// Its language, as `scip.proto` names it.
    #[prost(string, tag = "4")]
    pub language: String,
    /// Its text, which may be left out.
    #[prost(string, tag = "5")]
    pub text: String,
    /// Unit of its columns, see [`columns`].
    #[prost(int32, tag = "6")]
    pub position_encoding: i32,
}

/// Facts about a symbol.
#[derive(Clone, PartialEq, Message)]
pub struct SymbolInformation {
    /// The symbol, see [`crate::scip_symbol`].
    #[prost(string, tag = "1")]
    pub symbol: String,
    #[prost(string, repeated, tag = "3")]
    pub documentation: Vec<String>,
    /// Relations to other symbols.
    #[prost(message, repeated, tag = "4")]
    pub relationships: Vec<Relationship>,
    /// A number of `SymbolInformation.Kind`, see [`super::kind`].
    #[prost(int32, tag = "5")]
    pub kind: i32,
    /// Its name as people write it.
    #[prost(string, tag = "6")]
    pub display_name: String,
    #[prost(message, optional, tag = "7")]
    pub signature_documentation: Option<Signature>,
    /// The symbol that a local symbol is in.
    #[prost(string, tag = "8")]
    pub enclosing_symbol: String,
}

/// The declaration of a symbol: a document of its own, with the same numbers.
#[derive(Clone, PartialEq, Message)]
pub struct Signature {
    #[prost(string, tag = "4")]
    pub language: String,
    #[prost(string, tag = "5")]
    pub text: String,
}

/// The relation of one symbol to another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Message)]
pub struct Relationship {
    /// The other symbol.
    #[prost(string, tag = "1")]
    pub symbol: String,
    /// References to this one are references to the other as well.
    #[prost(bool, tag = "2")]
    pub is_reference: bool,
    /// This one implements, derives from or overrides the other.
    #[prost(bool, tag = "3")]
    pub is_implementation: bool,
    /// The other is the type of this one.
    #[prost(bool, tag = "4")]
    pub is_type_definition: bool,
    /// This one is defined where the other is.
    #[prost(bool, tag = "5")]
    pub is_definition: bool,
}

/// A symbol at a position.
#[derive(Clone, PartialEq, Message)]
pub struct Occurrence {
    /// Line and column from 0 of its beginning, then line (left out where it is the same) and column of its end.
    #[prost(int32, repeated, tag = "1")]
    pub range: Vec<i32>,
    #[prost(string, tag = "2")]
    pub symbol: String,
    /// Bits of [`role`].
    #[prost(int32, tag = "3")]
    pub symbol_roles: i32,
    /// The whole range of a definition, in the form of `range`.
    #[prost(int32, repeated, tag = "7")]
    pub enclosing_range: Vec<i32>,
    /// The range in its newer form, on one line.
    #[prost(message, optional, tag = "8")]
    pub single_line_range: Option<SingleLineRange>,
    /// The range in its newer form, on several lines.
    #[prost(message, optional, tag = "9")]
    pub multi_line_range: Option<MultiLineRange>,
    /// `enclosing_range` in its newer form, on one line.
    #[prost(message, optional, tag = "10")]
    pub single_line_enclosing_range: Option<SingleLineRange>,
    /// `enclosing_range` in its newer form, on several lines.
    #[prost(message, optional, tag = "11")]
    pub multi_line_enclosing_range: Option<MultiLineRange>,
}

/// A range on one line; all from 0.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct SingleLineRange {
    #[prost(int32, tag = "1")]
    pub line: i32,
    /// Column of its beginning.
    #[prost(int32, tag = "2")]
    pub start_character: i32,
    #[prost(int32, tag = "3")]
    pub end_character: i32,
}

/// A range on several lines; all from 0.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct MultiLineRange {
    /// First line.
    #[prost(int32, tag = "1")]
    pub start_line: i32,
    /// Column of its beginning.
    #[prost(int32, tag = "2")]
    pub start_character: i32,
    /// Last line.
    #[prost(int32, tag = "3")]
    pub end_line: i32,
    #[prost(int32, tag = "4")]
    pub end_character: i32,
}
