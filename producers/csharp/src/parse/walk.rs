//! Walks a tree and collects declarations: one cursor, no recursion; two vectors track nesting.
//!
//! The tree provides positions of declarations, tokens of their names, and positions of type names; texts come from tokens.

use super::grammar::{Grammar, Node};
use super::header::without_at_sign;
use super::members::{self, Form};
use super::mentions::Mentions;
use super::reading::{Extension, Reading};
use super::{types, unions};
use crate::keywords::is_reserved;
use crate::model::{Member, MemberKind, NamePlace, Syntax, TOP_LEVEL, Tier, TypeDecl, TypeKind, Using};
use std::ops::Range;
use tree_sitter::Tree;

#[derive(Clone, Copy)]
struct State {
    place: NamePlace,
    /// Index of the mentions that collect names.
    owner: Option<usize>,
    /// Index of the enclosing type.
    inside: Option<usize>,
    /// Index into `namespaces`.
    namespace: usize,
}

struct OpenType {
    decl: TypeDecl,
    around: Option<usize>,
    own: usize,
    /// Mentions of each member.
    owners: Vec<usize>,
    /// Number of members from positional parameters; a written member of the same name replaces one.
    positional: usize,
    /// The enclosing `#if` section.
    section: Option<usize>,
}

struct Walk<'t, 'a> {
    reading: &'a Reading<'t, 'a>,
    grammar: &'static Grammar,
    state: State,
    /// States to restore, with the depth of the node that changed them.
    saved: Vec<(usize, State)>,
    /// Kinds of the ancestors of the present node.
    around: Vec<Node>,
    namespaces: Vec<String>,
    types: Vec<OpenType>,
    usings: Vec<Using>,
    mentions: Vec<Mentions<'t>>,
    /// Byte range of the top-level statements.
    program: Option<Range<usize>>,
    /// Byte of the first invalid declaration.
    odd: Option<usize>,
    /// First token not before the present node; it only grows in preorder.
    token: usize,
}

/// Returns the declarations of a tree, and the first byte of an invalid declaration, if any.
pub(crate) fn walk(tree: &Tree, reading: &Reading<'_, '_>, tier: Tier) -> (Syntax, Option<usize>) {
    let mut walk = Walk {
        reading,
        grammar: Grammar::resolved_once(),
        state: State {
            place: NamePlace::Signature,
            owner: None,
            inside: None,
            namespace: 0,
        },
        saved: Vec::new(),
        around: Vec::new(),
        namespaces: vec![String::new()],
        types: Vec::new(),
        usings: Vec::new(),
        mentions: Vec::new(),
        program: None,
        odd: None,
        token: 0,
    };
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let field = cursor.field_id().map_or(0, std::num::NonZeroU16::get);
        let what = walk.grammar.node(node.kind_id());
        if walk.enter_node(node, what, field) && cursor.goto_first_child() {
            walk.around.push(what);
            continue;
        }
        walk.leave_node();
        loop {
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                let odd = walk.odd.map(|byte| reading.shown.original(byte..byte).start);
                return (walk.into_syntax(tier), odd);
            }
            walk.around.pop();
            walk.leave_node();
        }
    }
}

impl<'t, 'a> Walk<'t, 'a> {
    /// Processes a node; returns whether to visit its children.
    fn enter_node(&mut self, node: tree_sitter::Node<'_>, what: Node, field: u16) -> bool {
        let parent = self.around.last().copied().unwrap_or(Node::Inner);
        let is_default = parent == Node::Parameter && field == 0 && what != Node::AttributeList && node.child_count() > 0;
        if is_default || field == self.grammar.value && matches!(parent, Node::Member(_)) {
            return false;
        }
        match what {
            Node::Error | Node::GlobalAttribute | Node::Code => return false,
            Node::ArgumentList if self.state.place == NamePlace::Base => return false,
            Node::Namespace => self.namespace(node),
            Node::FileNamespace => {
                self.file_namespace(node);
                return false;
            }
            Node::Using => {
                self.using(node);
                return false;
            }
            Node::TopLevelStatement => {
                self.top_level(node);
                return false;
            }
            Node::Type(kind) => return self.type_declaration(node, kind),
            Node::Member(form) => return self.walk_member(node, form),
            Node::AttributeList => self.change_state(|state| state.place = NamePlace::Attribute),
            Node::BaseList => self.change_state(|state| state.place = NamePlace::Base),
            Node::Identifier | Node::Generic | Node::Qualified => self.add_name_of_node(node, what, parent, field),
            _ => {}
        }
        true
    }

    fn leave_node(&mut self) {
        while self.saved.last().is_some_and(|(depth, _)| *depth >= self.around.len()) {
            if let Some((_, state)) = self.saved.pop() {
                self.state = state;
            }
        }
    }

    /// Changes the state until the walk leaves the present node.
    fn change_state(&mut self, change: impl FnOnce(&mut State)) {
        self.saved.push((self.around.len(), self.state));
        change(&mut self.state);
    }

    fn mentions_of_new(&mut self) -> usize {
        self.mentions.push(Mentions::default());
        self.mentions.len() - 1
    }

    // ── declarations ────────────────────────────────────────────────────────────────────────────────────────────────────────

    fn namespace_name(&self, node: tree_sitter::Node<'_>) -> String {
        let tokens = self.reading.tokens;
        let name = node
            .child_by_field_id(self.grammar.name)
            .map(|name| self.reading.range(name))
            .and_then(|name| tokens.path_at(name.start, name.end));
        let name = name.map(|path| path.text.into_owned()).unwrap_or_default();
        let outer = &self.namespaces[self.state.namespace];
        if outer.is_empty() { name } else { format!("{outer}.{name}") }
    }

    fn namespace(&mut self, node: tree_sitter::Node<'_>) {
        let name = self.namespace_name(node);
        self.namespaces.push(name);
        let namespace = self.namespaces.len() - 1;
        self.change_state(|state| state.namespace = namespace);
    }

    /// `namespace A;`: in effect to the end of the file.
    fn file_namespace(&mut self, node: tree_sitter::Node<'_>) {
        let name = self.namespace_name(node);
        self.namespaces.push(name);
        self.state.namespace = self.namespaces.len() - 1;
    }

    fn using(&mut self, node: tree_sitter::Node<'_>) {
        let tokens = self.reading.tokens;
        let Range { start, mut end } = self.reading.range(node);
        if end > start && tokens.is(end - 1, ";") {
            end -= 1;
        }
        let mut at = start;
        let (mut is_global, mut is_static) = (false, false);
        while at < end && matches!(tokens.text(at), "global" | "using" | "static" | "unsafe") && !tokens.is(at + 1, "::") {
            is_global |= tokens.is(at, "global");
            is_static |= tokens.is(at, "static");
            at += 1;
        }
        let alias = (tokens.is_word(at) && tokens.is(at + 1, "=")).then(|| without_at_sign(tokens.text(at)).to_owned());
        if alias.is_some() {
            at += 2;
        }
        let target = match tokens.path_at(at, end) {
            Some(path) if path.end == end && path.arity == 0 => path.text.into_owned(),
            _ => tokens.canonical(at.min(end)..end),
        };
        self.usings.push(Using {
            alias,
            target,
            is_static,
            is_global,
            namespace: self.namespaces[self.state.namespace].clone(),
        });
    }

    fn top_level(&mut self, node: tree_sitter::Node<'_>) {
        if self.reading.sound {
            let bytes = self.reading.bytes_of_node(node);
            if !unions::may_be_statement(self.reading.tokens, &self.reading.range(node)) {
                self.odd.get_or_insert(node.start_byte());
                return;
            }
            self.program.get_or_insert(bytes.clone()).end = bytes.end;
        }
    }

    fn type_declaration(&mut self, node: tree_sitter::Node<'_>, kind: TypeKind) -> bool {
        let tokens = self.reading.tokens;
        let Some(name) = node.child_by_field_id(self.grammar.name).filter(|name| !name.is_missing()) else {
            return false;
        };
        let range = self.reading.range(node);
        let body = node.child_by_field_id(self.grammar.body).map(|body| self.reading.range(body).start);
        let Some(header) = types::parse_type_header(tokens, kind, &range, self.reading.range(name).start, body) else {
            return false;
        };
        let mut decl = header.decl;
        let arity = decl.type_parameters.len();
        let own_path = if arity == 0 {
            decl.name.clone()
        } else {
            format!("{}`{arity}", decl.name)
        };
        decl.path = match self.state.inside {
            Some(outer) => format!("{}+{own_path}", self.types[outer].decl.path),
            None => own_path,
        };
        decl.namespace.clone_from(&self.namespaces[self.state.namespace]);
        let own = self.mentions_of_new();
        if let Some(cases) = unions::cases(tokens, self.reading.range(name).start) {
            self.mentions[own].add_tokens(tokens, cases);
        }
        let mut owners = Vec::new();
        let positional = header.positional.len();
        for (member, kind) in header.positional {
            let own = self.mentions_of_new();
            self.mentions[own].add_tokens(tokens, kind);
            decl.members.push(member);
            owners.push(own);
        }
        let section = self.reading.section_of_declaration(&range);
        decl.condition = self.reading.active.condition_of(section);
        self.types.push(OpenType {
            decl,
            around: self.state.inside,
            own,
            owners,
            positional,
            section,
        });
        let index = self.types.len() - 1;
        self.change_state(|state| {
            *state = State {
                place: NamePlace::Signature,
                owner: Some(own),
                inside: Some(index),
                namespace: state.namespace,
            };
        });
        true
    }

    fn walk_member(&mut self, node: tree_sitter::Node<'_>, form: Form) -> bool {
        let tokens = self.reading.tokens;
        let Some(inside) = self.state.inside else { return false };
        let range = self.reading.range(node);
        if range.is_empty() {
            return false;
        }
        let name = node
            .child_by_field_id(self.grammar.name)
            .map(|name| self.reading.range(name).start)
            .filter(|name| range.contains(name));
        // For a statement among members, the grammar takes its keyword for a name.
        if form != Form::Indexer && name.is_some_and(|name| !tokens.is_word(name) || is_reserved(tokens.text(name))) {
            self.odd.get_or_insert(node.start_byte());
            return false;
        }
        let extension = self.extension_of(range.start);
        let made = members::parse_members(tokens, form, &range, name, extension.map(|extension| &extension.receiver));
        if made.is_empty() {
            self.odd.get_or_insert(node.start_byte());
            return false;
        }
        let own = self.mentions_of_new();
        if let Some(extension) = extension {
            self.mentions[own].add_tokens(tokens, extension.kind.clone());
        }
        let section = self
            .reading
            .section_of_declaration(&range)
            .filter(|section| self.types[inside].section != Some(*section));
        let condition = self.reading.active.condition_of(section);
        for mut member in made {
            member.condition.clone_from(&condition);
            let open = &mut self.types[inside];
            open.decl.members.push(member);
            open.owners.push(own);
        }
        self.change_state(|state| {
            state.owner = Some(own);
            state.place = NamePlace::Signature;
        });
        true
    }

    fn extension_of(&self, token: usize) -> Option<&'a Extension> {
        let extensions = self.reading.extensions;
        let next = extensions.partition_point(|extension| extension.range.start <= token);
        extensions[..next].last().filter(|extension| extension.range.contains(&token))
    }

    // ── names ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    fn token_at(&mut self, byte: usize) -> usize {
        let tokens = &self.reading.tokens.all;
        while self.token < tokens.len() && (tokens[self.token].start as usize) < byte {
            self.token += 1;
        }
        self.token
    }

    fn walk_parameter(&mut self, node: tree_sitter::Node<'_>) {
        if let Some(owner) = self.state.owner {
            let name = &self.reading.tokens.source[self.reading.bytes_of_node(node)];
            self.mentions[owner].add_parameter_name(name);
        }
    }

    fn add_name_of_node(&mut self, node: tree_sitter::Node<'_>, what: Node, parent: Node, field: u16) {
        let grammar = self.grammar;
        let Some(owner) = self.state.owner else { return };
        let is_type = match parent {
            Node::Generic | Node::Qualified => return,
            Node::BaseList | Node::TypeArguments | Node::ExplicitInterface => true,
            Node::Attribute => field == grammar.name,
            _ => field != 0 && (field == grammar.kind || field == grammar.returns),
        };
        let certain = match (parent, what) {
            _ if is_type => true,
            (Node::Parameter | Node::ParameterList, Node::Identifier) if field == grammar.name => return self.walk_parameter(node),
            (_, Node::Qualified) => false,
            (Node::MemberAccess, _) if field == grammar.expression => what == Node::Generic,
            (Node::Argument, Node::Identifier) => {
                let at = self.token_at(self.reading.bytes_of_node(node).start);
                let tokens = self.reading.tokens;
                if !(at >= 2 && tokens.is(at - 1, "(") && tokens.is(at - 2, "nameof") && tokens.is(at + 1, ")")) {
                    return;
                }
                false
            }
            _ => return,
        };
        let bytes = self.reading.bytes_of_node(node);
        let at = self.token_at(bytes.start);
        let tokens = self.reading.tokens;
        // A type ends with its node; an expression's path continues as far as its dots.
        let limit = if certain { tokens.at_byte(bytes.end) } else { tokens.all.len() };
        let Some(path) = tokens.path_at(at, limit) else { return };
        // A name in the arguments of an attribute is not the name of an attribute.
        let place = match self.state.place {
            NamePlace::Attribute if parent != Node::Attribute => NamePlace::Argument,
            place => place,
        };
        self.mentions[owner].add_name(path.text, path.arity, place, certain);
    }

    // ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    fn into_syntax(mut self, tier: Tier) -> Syntax {
        let top_level = self.program.is_some();
        let program = self.program.take().map(|bytes| self.program_type(bytes));
        let mut types: Vec<TypeDecl> = Vec::with_capacity(self.types.len() + 1);
        let mut scopes: Vec<Vec<String>> = Vec::with_capacity(self.types.len());
        for open in self.types {
            let OpenType {
                mut decl,
                around,
                own,
                owners,
                positional,
                section: _,
            } = open;
            let mut scope: Vec<String> = around.map(|around| scopes[around].clone()).unwrap_or_default();
            scope.extend(decl.type_parameters.iter().cloned());
            let in_scope: Vec<&str> = scope.iter().map(String::as_str).collect();
            decl.names = self.mentions[own].sorted_uses(&in_scope);
            for (member, own) in decl.members.iter_mut().zip(&owners) {
                let parameters = member.type_parameters.iter().map(String::as_str);
                let all: Vec<&str> = in_scope.iter().copied().chain(parameters).collect();
                member.names = self.mentions[*own].sorted_uses(&all);
            }
            replace_positional(&mut decl, positional);
            scopes.push(scope);
            types.push(decl);
        }
        types.extend(program);
        Syntax {
            tier,
            usings: self.usings,
            types,
            top_level,
            is_app: false,
            is_generated: false,
            friends: Vec::new(),
            excluded: Vec::new(),
        }
    }

    /// Returns the class that top-level statements imply, with its single method.
    fn program_type(&self, bytes: Range<usize>) -> TypeDecl {
        let tokens = self.reading.tokens;
        let range = tokens.range(bytes);
        let span = tokens.span(&range);
        let main = Member {
            kind: MemberKind::Method,
            name: TOP_LEVEL.to_owned(),
            arity: 0,
            parameters: vec!["string[]".to_owned()],
            modifiers: vec!["private".to_owned(), "static".to_owned()],
            attributes: Vec::new(),
            signature: "private static void <Main>$(string[] args)".to_owned(),
            body: tokens.canonical(range),
            doc: String::new(),
            span,
            names: Vec::new(),
            type_parameters: Vec::new(),
            has_value: false,
            condition: String::new(),
            attributed: String::new(),
        };
        TypeDecl {
            of: Vec::new(),
            not_of: Vec::new(),
            namespace: String::new(),
            path: "Program".to_owned(),
            name: "Program".to_owned(),
            kind: TypeKind::Class,
            type_parameters: Vec::new(),
            modifiers: vec!["internal".to_owned(), "partial".to_owned()],
            attributes: Vec::new(),
            signature: "internal partial class Program".to_owned(),
            bases: Vec::new(),
            constraints: Vec::new(),
            body: String::new(),
            doc: String::new(),
            span,
            names: Vec::new(),
            members: vec![main],
            condition: String::new(),
            attributed: String::new(),
        }
    }
}

/// Drops the properties of positional parameters that the type redeclares.
fn replace_positional(decl: &mut TypeDecl, positional: usize) {
    if positional == 0 {
        return;
    }
    let written: std::collections::HashSet<String> = decl.members[positional..].iter().map(|member| member.name.clone()).collect();
    let mut index = 0;
    decl.members.retain(|member| {
        index += 1;
        index > positional || !written.contains(&member.name)
    });
}
