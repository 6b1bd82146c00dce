//! The messages of SCIP (Source Code Intelligence Protocol) that cortex writes and reads, as `scip.proto` numbers their fields.
//!
//! They are declared by hand for `prost`, which the client of the Remote Execution API brings anyway: the bindings that the protocol's own
//! project publishes stand on a second protobuf runtime. A test decodes what is written here with those bindings. Fields that are not listed
//! (diagnostics, syntax kinds) are skipped when an index is read.

use prost::Message;

/// `TextEncoding.UTF8`.
pub const UTF8: i32 = 1;

/// What `Occurrence::symbol_roles` is made of.
pub mod role {
    /// The symbol is defined here.
    pub const DEFINITION: i32 = 1;
    /// It is given a value here.
    pub const WRITE: i32 = 4;
    /// Its value is taken here.
    pub const READ: i32 = 8;
    /// The code around it is generated.
    pub const GENERATED: i32 = 16;
}

/// In what columns are counted.
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
    /// Who wrote it, of what.
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
    /// The index as a file holds it.
    pub fn bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }
}

/// Who wrote an index, of what.
#[derive(Clone, PartialEq, Message)]
pub struct Metadata {
    /// Version of the protocol.
    #[prost(int32, tag = "1")]
    pub version: i32,
    /// The indexer.
    #[prost(message, optional, tag = "2")]
    pub tool_info: Option<ToolInfo>,
    /// URI of the folder that paths of documents count from.
    #[prost(string, tag = "3")]
    pub project_root: String,
    /// Encoding of the source files.
    #[prost(int32, tag = "4")]
    pub text_document_encoding: i32,
}

/// The indexer.
#[derive(Clone, PartialEq, Message)]
pub struct ToolInfo {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Version.
    #[prost(string, tag = "2")]
    pub version: String,
    /// How it was called.
    #[prost(string, repeated, tag = "3")]
    pub arguments: Vec<String>,
}

/// One source file.
#[derive(Clone, PartialEq, Message)]
pub struct Document {
    /// Path below the project's root, with `/`.
    #[prost(string, tag = "1")]
    pub relative_path: String,
    /// What stands where, by place.
    #[prost(message, repeated, tag = "2")]
    pub occurrences: Vec<Occurrence>,
    /// What it defines.
    #[prost(message, repeated, tag = "3")]
    pub symbols: Vec<SymbolInformation>,
    /// Its language, as `scip.proto` names it.
    #[prost(string, tag = "4")]
    pub language: String,
    /// Its text, which may be left out.
    #[prost(string, tag = "5")]
    pub text: String,
    /// In what [`columns`] are counted.
    #[prost(int32, tag = "6")]
    pub position_encoding: i32,
}

/// What is known of a symbol.
#[derive(Clone, PartialEq, Message)]
pub struct SymbolInformation {
    /// The symbol, see [`super::symbol`].
    #[prost(string, tag = "1")]
    pub symbol: String,
    /// Documentation as Markdown.
    #[prost(string, repeated, tag = "3")]
    pub documentation: Vec<String>,
    /// To other symbols.
    #[prost(message, repeated, tag = "4")]
    pub relationships: Vec<Relationship>,
    /// A number of `SymbolInformation.Kind`, see [`super::kind`].
    #[prost(int32, tag = "5")]
    pub kind: i32,
    /// Its name as people write it.
    #[prost(string, tag = "6")]
    pub display_name: String,
    /// Its declaration.
    #[prost(message, optional, tag = "7")]
    pub signature_documentation: Option<Signature>,
    /// What a local symbol stands in.
    #[prost(string, tag = "8")]
    pub enclosing_symbol: String,
}

/// The declaration of a symbol: a document of its own, with the same numbers.
#[derive(Clone, PartialEq, Message)]
pub struct Signature {
    /// Its language.
    #[prost(string, tag = "4")]
    pub language: String,
    /// Its text.
    #[prost(string, tag = "5")]
    pub text: String,
}

/// How one symbol stands to another.
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

/// A symbol at a place.
#[derive(Clone, PartialEq, Message)]
pub struct Occurrence {
    /// Line and column from 0 of its beginning, then line (left out where it is the same) and column of its end.
    #[prost(int32, repeated, tag = "1")]
    pub range: Vec<i32>,
    /// The symbol.
    #[prost(string, tag = "2")]
    pub symbol: String,
    /// Bits of [`role`].
    #[prost(int32, tag = "3")]
    pub symbol_roles: i32,
    /// Of a definition, the whole of it: as `range`.
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
    /// Line.
    #[prost(int32, tag = "1")]
    pub line: i32,
    /// Column of its beginning.
    #[prost(int32, tag = "2")]
    pub start_character: i32,
    /// Column of its end.
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
    /// Column of its end.
    #[prost(int32, tag = "4")]
    pub end_character: i32,
}
