//! The grammar: one parser per thread, a budget of parser steps instead of a clock, node kinds and fields resolved once.

use super::members::Form;
use crate::model::TypeKind;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use tree_sitter::{Language, ParseOptions, ParseState, Parser, Tree};

/// Progress reports after which a parse is aborted, plus those for its length. A report comes every 100 parser steps.
const BASE_REPORTS: usize = 20_000;

/// Bytes of text per additional report. Real code takes one report in 15 to 60 bytes.
const BYTES_A_REPORT: usize = 3;

thread_local! {
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// Returns the grammar of C#.
pub fn language() -> Language {
    tree_sitter_c_sharp::LANGUAGE.into()
}

/// Parses a text; `None` if it exceeds the budget for its length.
pub fn parse_tree(text: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|slot| {
        let parser = slot.get_or_insert_with(|| {
            let mut parser = Parser::new();
            parser
                .set_language(&language())
                .expect("invariant: the grammar crate is built for this tree-sitter");
            parser
        });
        parse_within_budget(parser, text)
    })
}

/// Parses a text; `None` if it exceeds the budget for its length. Then the parser begins anew with the next text.
pub fn parse_within_budget(parser: &mut Parser, text: &str) -> Option<Tree> {
    let allowed = BASE_REPORTS + text.len() / BYTES_A_REPORT;
    let mut reports = 0_usize;
    let mut report = |_: &ParseState| {
        reports += 1;
        if reports > allowed {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| &bytes[at.min(bytes.len())..];
    let tree = parser.parse_with_options(&mut read, None, Some(ParseOptions::new().progress_callback(&mut report)));
    if tree.is_none() {
        parser.reset();
    }
    tree
}

/// Returns the number of nodes of a plain parse, as the baseline of benchmarks; 0 if the parse was aborted.
pub fn parse_only(text: &str) -> usize {
    parse_tree(text).map_or(0, |tree| tree.root_node().descendant_count())
}

/// Kind of a node, for the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// Has no kind of its own; the walk visits its children.
    Inner,
    Error,
    Namespace,
    FileNamespace,
    Using,
    TopLevelStatement,
    GlobalAttribute,
    Type(TypeKind),
    Member(Form),
    /// `{ … }`, a value and other code: the walk does not visit it.
    Code,
    AttributeList,
    BaseList,
    ArgumentList,
    Parameter,
    ParameterList,
    Identifier,
    Generic,
    /// `A.B`, `A::B` as a type or namespace.
    Qualified,
    TypeArguments,
    TypeParameter,
    MemberAccess,
    Argument,
    ExplicitInterface,
    Attribute,
}

/// Kinds by id, and the fields that the walk reads.
pub(crate) struct Grammar {
    kinds: Vec<Node>,
    pub(crate) name: u16,
    pub(crate) kind: u16,
    pub(crate) returns: u16,
    pub(crate) expression: u16,
    pub(crate) value: u16,
    pub(crate) body: u16,
}

impl Grammar {
    pub(crate) fn resolved_once() -> &'static Self {
        static GRAMMAR: OnceLock<Grammar> = OnceLock::new();
        GRAMMAR.get_or_init(Self::resolve_names)
    }

    pub(crate) fn node(&self, kind_id: u16) -> Node {
        self.kinds.get(usize::from(kind_id)).copied().unwrap_or(Node::Error)
    }

    fn resolve_names() -> Self {
        let language = language();
        let kinds = (0..language.node_kind_count())
            .map(|id| {
                let id = id as u16;
                if language.node_kind_is_named(id) {
                    node(language.node_kind_for_id(id).unwrap_or_default())
                } else {
                    Node::Inner
                }
            })
            .collect();
        let field = |name: &str| language.field_id_for_name(name).map_or(0, std::num::NonZeroU16::get);
        Self {
            kinds,
            name: field("name"),
            kind: field("type"),
            returns: field("returns"),
            expression: field("expression"),
            value: field("value"),
            body: field("body"),
        }
    }
}

fn node(kind: &str) -> Node {
    match kind {
        "namespace_declaration" => Node::Namespace,
        "file_scoped_namespace_declaration" => Node::FileNamespace,
        "using_directive" => Node::Using,
        "global_statement" => Node::TopLevelStatement,
        "global_attribute" => Node::GlobalAttribute,
        "class_declaration" => Node::Type(TypeKind::Class),
        "struct_declaration" => Node::Type(TypeKind::Struct),
        "interface_declaration" => Node::Type(TypeKind::Interface),
        "enum_declaration" => Node::Type(TypeKind::Enum),
        "delegate_declaration" => Node::Type(TypeKind::Delegate),
        "record_declaration" => Node::Type(TypeKind::Record),
        "field_declaration" => Node::Member(Form::Field),
        "event_field_declaration" => Node::Member(Form::EventField),
        "method_declaration" => Node::Member(Form::Method),
        "constructor_declaration" => Node::Member(Form::Constructor),
        "destructor_declaration" => Node::Member(Form::Finalizer),
        "property_declaration" => Node::Member(Form::Property),
        "indexer_declaration" => Node::Member(Form::Indexer),
        "event_declaration" => Node::Member(Form::Event),
        "operator_declaration" => Node::Member(Form::Operator),
        "conversion_operator_declaration" => Node::Member(Form::Conversion),
        "enum_member_declaration" => Node::Member(Form::EnumMember),
        "block" | "arrow_expression_clause" | "constructor_initializer" | "variable_declarator" => Node::Code,
        "attribute_list" => Node::AttributeList,
        "attribute" => Node::Attribute,
        "base_list" => Node::BaseList,
        "argument_list" | "bracketed_argument_list" => Node::ArgumentList,
        "parameter" => Node::Parameter,
        "parameter_list" | "bracketed_parameter_list" => Node::ParameterList,
        "identifier" => Node::Identifier,
        "generic_name" => Node::Generic,
        "qualified_name" | "alias_qualified_name" => Node::Qualified,
        "type_argument_list" => Node::TypeArguments,
        "type_parameter" => Node::TypeParameter,
        "member_access_expression" => Node::MemberAccess,
        "argument" => Node::Argument,
        "explicit_interface_specifier" => Node::ExplicitInterface,
        _ => Node::Inner,
    }
}
