//! Queries: their range variables, and the methods that their clauses call.

use super::{Flow, Local};
use crate::code::ast::{Clause, Expression, TypeRef, Word};
use crate::deps::shape::Shape;
use std::rc::Rc;

/// The type of sources whose queries are queryable themselves.
const QUERYABLE: &str = "~System.Linq.IQueryable`1";

/// Type of a query's result if the type of its source is unknown or undeclared: the result may be queryable or a sequence.
const UNDECLARED: &str = "^IQueryable";

/// Type of a query's result.
const SEQUENCE: &str = "~System.Collections.Generic.IEnumerable`1";

impl<'f> Flow<'f, '_> {
    pub(super) fn query(&mut self, clauses: &'f [Clause]) -> Shape {
        let locals = self.locals.len();
        let mut result = Shape::Unknown;
        // Receiver of the next clause's method.
        let mut source: Option<Shape> = None;
        let mut type_of_result = SEQUENCE;
        for (at, clause) in clauses.iter().enumerate() {
            match clause {
                Clause::From(kind, name, value, keyword) => {
                    let is_first = source.is_none();
                    source = Some(self.range_clause((kind.as_ref(), name, value), keyword, source, &clauses[at + 1..]));
                    let is_open = |shape: &Shape| !shape.is_known() || shape.key().is_some_and(|key| key.starts_with('^'));
                    match source.as_ref().filter(|_| is_first) {
                        Some(source) if self.world.as_base(source, QUERYABLE).is_some() => type_of_result = QUERYABLE,
                        Some(source) if self.world.levels(source).iter().any(is_open) || is_open(source) => type_of_result = UNDECLARED,
                        _ => {}
                    }
                }
                Clause::Let(name, value, keyword) => {
                    let shape = self.value(value, None);
                    self.locals.push((name, Local::Value(shape)));
                    source = source.map(|source| self.clause(&source, "Select", 1, keyword));
                }
                Clause::Value(value, keyword) => {
                    let key = self.value(value, None);
                    let name = match keyword.text.as_str() {
                        "by" => {
                            result = grouped_by(&result, key);
                            continue;
                        }
                        "where" => "Where",
                        "orderby" => "OrderBy",
                        "orderbydescending" => "OrderByDescending",
                        "," => "ThenBy",
                        ",descending" => "ThenByDescending",
                        _ => continue,
                    };
                    source = source.map(|source| self.clause(&source, name, 1, keyword));
                }
                Clause::Select(value, keyword) => {
                    let mut shape = self.value(value, None);
                    if keyword.text == "group" {
                        shape = Shape::Named("~System.Linq.IGrouping`2".into(), Rc::from([Shape::Unknown, shape]));
                    }
                    result = Shape::Named(type_of_result.into(), Rc::from([shape])).bounded();
                    let groups = keyword.text == "group";
                    // `select x` after another clause calls no method; after a second `from` or a `join` it is part of that clause's call.
                    let before = clauses[..at].iter().rposition(|clause| !is_key(clause)).unwrap_or(0);
                    let is_merged = before > 0 && matches!(clauses[before], Clause::From(..));
                    let is_plain = is_variable(value, clauses);
                    if let Some(on) = source.clone().filter(|_| groups || !(is_merged || is_plain && at > 1)) {
                        let (name, count) = if groups {
                            ("GroupBy", 2 - usize::from(is_plain))
                        } else {
                            ("Select", 1)
                        };
                        source = Some(self.clause(&on, name, count, keyword));
                    }
                }
                Clause::Into(name) => {
                    let own = source
                        .as_ref()
                        .filter(|source| !self.is_outside(source))
                        .map(|source| self.element_of(source));
                    let own = own.or_else(|| self.joined_group(&clauses[..at]));
                    let shape = own.unwrap_or_else(|| self.world.element(&result));
                    self.locals.push((name, Local::Value(shape)));
                }
            }
        }
        self.locals.truncate(locals);
        // If the workspace declares the query methods, the last one returns the result.
        match source.filter(|source| source.is_known() && !self.is_outside(source)) {
            Some(own) if !self.world.element(&own).is_known() => own,
            _ => result,
        }
    }

    /// Declares the range variable of `from` or `join`; returns the receiver of the next clause's method. `later`: the clauses after it.
    fn range_clause(
        &mut self,
        (kind, name, value): (Option<&'f TypeRef>, &'f str, &'f Expression),
        keyword: &'f Word,
        source: Option<Shape>,
        later: &[Clause],
    ) -> Shape {
        let mut shape = self.value(value, None);
        let element = match kind {
            Some(kind) => {
                shape = self.clause(&shape, "Cast", 0, keyword);
                self.shape_of_type(kind)
            }
            None => self.element_of(&shape),
        };
        self.locals.push((name, Local::Value(element)));
        match (source, keyword.text.as_str()) {
            (None, _) => shape,
            (Some(source), "join") => {
                let grouped = later.iter().find(|next| !is_key(next));
                let name = if matches!(grouped, Some(Clause::Into(_))) {
                    "GroupJoin"
                } else {
                    "Join"
                };
                self.clause(&source, name, 4, keyword)
            }
            (Some(source), _) => self.clause(&source, "SelectMany", 2, keyword),
        }
    }

    /// Returns the type of what `into` names after a `join`: a sequence of what this joins.
    fn joined_group(&self, before: &[Clause]) -> Option<Shape> {
        match before.iter().rfind(|clause| !is_key(clause))? {
            Clause::From(_, name, _, keyword) if keyword.text == "join" => match self.find_local(name)? {
                Local::Value(element) => Some(Shape::Named(SEQUENCE.into(), Rc::from([element])).bounded()),
                Local::Function(_) => None,
            },
            _ => None,
        }
    }

    /// Returns the shape of a range variable: the element type, or the only type argument of a type with its own query methods.
    fn element_of(&self, source: &Shape) -> Shape {
        let element = self.world.element(source);
        match source {
            Shape::Named(key, args) if !element.is_known() && !key.starts_with(['~', '^']) && args.len() == 1 => args[0].clone(),
            _ => element,
        }
    }

    /// Records the method that a clause calls; returns the result's shape.
    fn clause(&mut self, on: &Shape, name: &str, arguments: usize, keyword: &Word) -> Shape {
        if self.is_outside(on) {
            return on.clone();
        }
        let arguments = vec![Shape::Unknown; arguments];
        self.implied(on, name, &arguments, keyword.place).unwrap_or_default()
    }
}

/// Whether a clause is a key of a `join`.
fn is_key(clause: &Clause) -> bool {
    matches!(clause, Clause::Value(_, word) if matches!(word.text.as_str(), "on" | "equals"))
}

/// Returns the type of a query's groups with the type of their keys.
fn grouped_by(groups: &Shape, key: Shape) -> Shape {
    let group = groups.args().first();
    match (groups, group) {
        (Shape::Named(of, _), Some(Shape::Named(grouping, parts))) if parts.len() == 2 => {
            let group = Shape::Named(grouping.clone(), Rc::from([key, parts[1].clone()]));
            Shape::Named(of.clone(), Rc::from([group])).bounded()
        }
        _ => groups.clone(),
    }
}

/// Whether a value is the only range variable of a query.
fn is_variable(value: &Expression, clauses: &[Clause]) -> bool {
    let variables = clauses
        .iter()
        .filter(|clause| matches!(clause, Clause::From(..) | Clause::Let(..)))
        .count();
    let Expression::Name(name) = value else { return false };
    variables == 1
        && clauses
            .iter()
            .any(|clause| matches!(clause, Clause::From(_, own, _, _) if *own == name.word.text))
}
