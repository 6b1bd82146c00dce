//! Statements: locals, loops, local functions; all other statements are only scopes and expressions.

use super::ast::{Designation, Expression, LocalFunction, Section, Statement, TypeRef};
use super::cursor::Cursor;
use super::types::Around;
use crate::keywords::{is_infix, is_predefined, is_reserved};

impl Cursor<'_> {
    /// Parses `{ … }` at the cursor.
    pub(super) fn block(&mut self) -> Vec<Statement> {
        self.deeper(Vec::new(), |cursor| cursor.inside(Self::statements).unwrap_or_default())
    }

    /// Parses statements up to the end.
    pub(super) fn statements(&mut self) -> Vec<Statement> {
        let mut list = Vec::new();
        while !self.done() {
            let before = self.at;
            self.statement(&mut list);
            if self.at == before {
                self.skip_group();
            }
        }
        list
    }

    /// Parses the embedded statement of a keyword such as `if`, as a scope.
    fn governed(&mut self) -> Vec<Statement> {
        let mut list = Vec::new();
        self.deeper((), |cursor| {
            loop {
                let start = cursor.at;
                cursor.statement(&mut list);
                // Labels and some keywords are read as statements of their own; the rest of the embedded statement follows them.
                let is_longer = match (cursor.text_at(start), cursor.peek()) {
                    ("if", next) => next == "else",
                    ("try" | "catch", next) => matches!(next, "catch" | "finally"),
                    ("do", next) => next == "while",
                    ("else" | "await" | "unsafe", _) => cursor.at == start + 1,
                    _ => cursor.at == start + 2 && cursor.text_at(start + 1) == ":",
                };
                if !is_longer {
                    break;
                }
            }
        });
        list
    }

    fn statement(&mut self, list: &mut Vec<Statement>) {
        match self.peek() {
            ";" => self.at += 1,
            "{" => {
                let inner = self.block();
                list.push(Statement::Block(inner));
            }
            "if" | "while" | "lock" => {
                let decides = !self.is("lock");
                self.at += 1;
                match self.inside(Self::expression) {
                    Some(condition) if decides => list.push(Statement::Condition(condition)),
                    Some(locked) => list.push(Statement::Expression(locked)),
                    None => {}
                }
                let inner = self.governed();
                list.push(Statement::Block(inner));
            }
            // A chain of `else if` becomes one list, not nested blocks, so that its length is not limited.
            "else" if self.ahead(1) == "if" => self.at += 1,
            "else" | "do" | "try" | "finally" => {
                self.at += 1;
                let inner = self.governed();
                list.push(Statement::Block(inner));
            }
            "checked" | "unchecked" if self.ahead(1) == "{" => {
                let is_checked = self.is("checked");
                self.at += 1;
                let inner = self.block();
                list.push(Statement::Overflow(is_checked, inner));
            }
            "unsafe" if self.ahead(1) == "{" => self.at += 1,
            "for" => self.for_loop(list),
            "foreach" => self.foreach(list),
            "await" if matches!(self.ahead(1), "foreach" | "using") => self.at += 1,
            "using" | "fixed" if self.ahead(1) == "(" => self.using_block(list),
            "using" => self.using_declaration(list),
            "catch" => self.catch(list),
            "switch" if self.ahead(1) == "(" => self.switch(list),
            "return" => {
                self.at += 1;
                self.consume_token("ref");
                if !self.is(";") {
                    let value = self.expression();
                    list.push(Statement::Return(value));
                }
                self.end_of_statement();
            }
            "yield" if matches!(self.ahead(1), "return" | "break") => {
                self.at += 1;
                if self.consume_token("return") {
                    let value = self.expression();
                    list.push(Statement::Yield(value));
                }
                self.end_of_statement();
            }
            "goto" if self.ahead(1) == "case" => {
                self.at += 2;
                let value = self.expression();
                list.push(Statement::Expression(value));
                self.end_of_statement();
            }
            "goto" | "break" | "continue" => self.end_of_statement(),
            _ if self.is_identifier() && self.ahead(1) == ":" && self.ahead(2) != ":" => self.at += 2,
            _ => {
                let before = list.len();
                self.simple(list);
                if matches!(list[before..].last(), Some(Statement::Function(_))) {
                    // A block ends a local function; an expression body has a semicolon.
                    self.consume_token(";");
                } else {
                    self.end_of_statement();
                }
            }
        }
    }

    /// Reads `using (…) statement` or `fixed (…) statement`.
    fn using_block(&mut self, list: &mut Vec<Statement>) {
        let is_fixed = self.is("fixed");
        let keyword = self.awaited_keyword();
        let head = self.inside(|cursor| {
            let pins = cursor.pinned_values();
            let mut inner = Vec::new();
            cursor.simple(&mut inner);
            (inner, pins)
        });
        let (mut inner, pins) = head.unwrap_or_default();
        match inner.pop() {
            Some(Statement::Local(kind, locals, is_const)) if is_fixed => {
                for (at, local) in locals.into_iter().enumerate() {
                    let resource = Statement::Local(kind.clone(), vec![local], is_const);
                    inner.push(match pins.get(at) {
                        Some(true) => Statement::Using(Box::new(resource), keyword.clone()),
                        _ => resource,
                    });
                }
            }
            Some(resource) if !is_fixed => inner.push(Statement::Using(Box::new(resource), keyword)),
            other => inner.extend(other),
        }
        inner.extend(self.governed());
        list.push(Statement::Block(inner));
    }

    /// Returns, for each `=` of the declarations here, whether the value after it is pinned itself, and not its address (`&value`).
    fn pinned_values(&self) -> Vec<bool> {
        let mut found = Vec::new();
        let mut at = self.at;
        while at < self.end {
            if self.text_at(at) == "=" {
                found.push(self.text_at(at + 1) != "&");
            }
            at = self.next_after_group(at);
        }
        found
    }

    /// Reads `using T x = …;`.
    fn using_declaration(&mut self, list: &mut Vec<Statement>) {
        let keyword = self.awaited_keyword();
        let before = list.len();
        self.simple(list);
        self.end_of_statement();
        if list.len() > before
            && let Some(resource) = list.pop()
        {
            list.push(Statement::Using(Box::new(resource), keyword));
        }
    }

    /// Skips the next `;` and the tokens before it, but stops at an unread block.
    fn end_of_statement(&mut self) {
        while !self.done() && !self.is(";") {
            if self.is("{") {
                return;
            }
            self.skip_group();
        }
        self.at = (self.at + 1).min(self.end);
    }

    /// Parses a declaration or an expression.
    fn simple(&mut self, list: &mut Vec<Statement>) {
        if !self.parse_declaration(list) {
            let value = self.expression();
            list.push(Statement::Expression(value));
        }
    }

    fn parse_declaration(&mut self, list: &mut Vec<Statement>) -> bool {
        let start = self.at;
        // Attributes of a local function.
        while self.is("[") && self.mate(self.at).is_some() {
            self.skip_group();
        }
        let (mut is_async, mut is_const) = (false, false);
        while matches!(
            self.peek(),
            "static" | "async" | "unsafe" | "extern" | "const" | "readonly" | "scoped" | "ref"
        ) && !matches!(self.ahead(1), "delegate")
            && (self.is_word_at(self.at + 1) || self.ahead(1) == "(" && matches!(self.peek(), "static" | "unsafe"))
        {
            is_async |= self.is("async");
            is_const |= self.is("const");
            self.at += 1;
        }
        let word = self.peek();
        let possible = is_predefined(word)
            || word == "("
            || word == "delegate" && self.ahead(1) == "*"
            || self.is_word_at(self.at) && !is_reserved(word) && !matches!(word, "await" | "yield") && !is_infix(word)
            || word == "from" && !self.is_query();
        let mut kind = if possible { self.type_ref(Around::Type) } else { None };
        // A product is not a statement, so `T* p = …` declares a pointer.
        while self.is("*") && (self.ahead(1) == "*" || self.is_identifier_at(self.at + 1) && matches!(self.ahead(2), "=" | ";" | "," | ""))
        {
            self.at += 1;
            kind = kind.map(|kind| TypeRef::Pointer(Box::new(kind)));
        }
        if let Some(kind @ TypeRef::Var(_)) = &kind
            && self.is("(")
            && self.text_at(self.next_after_group(self.at)) == "="
        {
            let names = self.designation();
            let sign = self.sign(1);
            let value = self.expression();
            let left = Expression::Declaration(kind.clone(), names);
            list.push(Statement::Expression(Expression::Assign(Box::new(left), Box::new(value), sign)));
            return true;
        }
        let named = self.is_identifier() && (!is_infix(self.peek()) || matches!(self.ahead(1), "=" | ";"));
        if let Some(kind) = kind
            && named
        {
            match self.ahead(1) {
                "=" | ";" | "," | "" => {
                    let locals = self.declarators();
                    list.push(Statement::Local(kind, locals, is_const));
                    return true;
                }
                "[" if self.text_at(self.next_after_group(self.at + 1)) == ";" => {}
                "(" | "<" => {
                    if let Some(mut function) = self.local_function(kind) {
                        function.is_async = is_async;
                        let attributes = self.attributes_at(start);
                        if !attributes.is_empty() {
                            function.body.insert(0, Statement::Attributes(attributes));
                        }
                        list.push(Statement::Function(function));
                        return true;
                    }
                }
                _ => {}
            }
        }
        self.at = start;
        if self.is("[") {
            return false;
        }
        false
    }

    fn declarators(&mut self) -> Vec<(String, Option<Expression>)> {
        let mut locals = Vec::new();
        while self.is_word_at(self.at) {
            let name = self.take_word().text;
            let value = self.consume_token("=").then(|| {
                self.consume_token("ref");
                if self.is("{") {
                    // `int[] a = { … };`
                    return self.array_elements();
                }
                self.expression()
            });
            locals.push((name, value));
            if !self.consume_token(",") {
                break;
            }
        }
        locals
    }

    fn local_function(&mut self, result: TypeRef) -> Option<LocalFunction> {
        let start = self.at;
        let name = self.take_word().text;
        let (mut type_parameters, mut attributes) = (Vec::new(), Vec::new());
        if self.is("<") {
            if !self.is_angle(self.at) {
                self.at = start;
                return None;
            }
            self.at += 1;
            while !self.done() && !self.is(">") {
                attributes.extend(self.attributes());
                if self.is_identifier() {
                    type_parameters.push(self.peek().to_owned());
                }
                self.skip_group();
            }
            self.at += 1;
        }
        let close = self.is("(").then(|| self.mate(self.at)).flatten();
        let body = close.is_some_and(|close| matches!(self.text_at(close + 1), "{" | "=>" | "where"));
        if !body {
            self.at = start;
            return None;
        }
        let parameters = self
            .inside(|cursor| cursor.read_list(|cursor| cursor.parse_lambda_parameter(false)))
            .unwrap_or_default();
        while !self.done() && !matches!(self.peek(), "{" | "=>" | ";") {
            self.skip_group();
        }
        let mut body = if self.is("{") {
            self.block()
        } else if self.consume_token("=>") {
            self.consume_token("ref");
            let value = self.expression();
            vec![Statement::Return(value)]
        } else {
            Vec::new()
        };
        if !attributes.is_empty() {
            body.insert(0, Statement::Attributes(attributes));
        }
        Some(LocalFunction {
            name,
            type_parameters,
            parameters,
            result,
            body,
            is_async: false,
        })
    }

    fn for_loop(&mut self, list: &mut Vec<Statement>) {
        self.at += 1;
        let mut inner = self
            .inside(|cursor| {
                let mut inner = Vec::new();
                let mut section = 0;
                while !cursor.done() {
                    let before = cursor.at;
                    if !cursor.is(";") {
                        cursor.simple(&mut inner);
                    }
                    if section == 1
                        && let Some(Statement::Expression(condition)) = inner.pop_if(|last| matches!(last, Statement::Expression(_)))
                    {
                        inner.push(Statement::Condition(condition));
                    }
                    while !cursor.done() && !matches!(cursor.peek(), ";" | ",") {
                        cursor.skip_group();
                    }
                    section += usize::from(cursor.is(";"));
                    cursor.at += 1;
                    if cursor.at == before {
                        cursor.skip_group();
                    }
                }
                inner
            })
            .unwrap_or_default();
        inner.extend(self.governed());
        list.push(Statement::Block(inner));
    }

    fn foreach(&mut self, list: &mut Vec<Statement>) {
        let keyword = self.awaited_keyword();
        let head = self.inside(|cursor| {
            // A tuple before a name is the type of the variable.
            let is_assigned = |close: usize| cursor.text_at(close + 1) == "in";
            let target = match cursor.is("(") && cursor.mate(cursor.at).is_none_or(is_assigned) {
                true => Err(cursor.primary()),
                false => Ok((cursor.type_ref(Around::Type).unwrap_or(TypeRef::Var(0)), cursor.designation())),
            };
            cursor.consume_token("in");
            (target, cursor.expression())
        });
        let body = self.governed();
        list.push(match head {
            Some((Ok((kind, designation)), source)) => Statement::Foreach(kind, designation, source, body, keyword),
            Some((Err(Expression::Tuple(parts)), source)) => Statement::ForeachParts(parts, source, body, keyword),
            Some((Err(_), source)) => Statement::Foreach(TypeRef::Var(0), Designation::Discard, source, body, keyword),
            None => Statement::Block(body),
        });
    }

    fn catch(&mut self, list: &mut Vec<Statement>) {
        self.at += 1;
        let mut inner = Vec::new();
        if self.is("(") {
            let head = self.inside(|cursor| {
                let kind = cursor.type_ref(Around::Type)?;
                let name = if cursor.is_identifier() {
                    cursor.take_word().text
                } else {
                    String::new()
                };
                Some((kind, name))
            });
            if let Some((kind, name)) = head.flatten() {
                inner.push(Statement::Local(kind, vec![(name, None)], false));
            }
        }
        if self.consume_token("when")
            && let Some(filter) = self.inside(Self::expression)
        {
            inner.push(Statement::Condition(filter));
        }
        if self.is("{") {
            inner.extend(self.block());
        }
        list.push(Statement::Block(inner));
    }

    fn switch(&mut self, list: &mut Vec<Statement>) {
        self.at += 1;
        let mut values = self.parse_arguments();
        let value = if values.len() == 1 {
            values.pop().map_or(Expression::Unknown, |only| only.value)
        } else {
            Expression::Tuple(values)
        };
        let sections = self.deeper(None, |cursor| cursor.inside(Self::sections));
        list.push(Statement::Switch(value, sections.unwrap_or_default()));
    }

    fn sections(&mut self) -> Vec<Section> {
        let mut sections = Vec::new();
        while !self.done() {
            let before = self.at;
            let mut labels = Vec::new();
            loop {
                if self.is("default") && self.ahead(1) == ":" {
                    self.at += 2;
                } else if self.consume_token("case") {
                    let pattern = self.pattern();
                    let when = self.consume_token("when").then(|| self.expression());
                    self.skip_to(":");
                    self.consume_token(":");
                    labels.push((pattern, when));
                } else {
                    break;
                }
            }
            let mut body = Vec::new();
            while !(self.done() || self.is("case") || self.is("default") && self.ahead(1) == ":") {
                let inner = self.at;
                self.statement(&mut body);
                if self.at == inner {
                    self.skip_group();
                }
            }
            sections.push((labels, body));
            if self.at == before {
                self.skip_group();
            }
        }
        sections
    }
}
