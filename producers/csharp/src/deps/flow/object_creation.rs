//! Creation of objects, with their initializers, and of arrays.

use super::overload_resolution::NOT_CALLABLE;
use super::parameters::takes;
use super::rivals::Given;
use super::{CONSTRUCTOR, Flow, NOWHERE, UseKind};
use crate::code::ast::{Argument, Expression, Initializer, Literal, Name, TypeRef};
use crate::deps::resolve::predefined;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;
use std::rc::Rc;

impl<'f> Flow<'f, '_> {
    pub(super) fn creation(
        &mut self,
        kind: Option<&'f TypeRef>,
        args: &'f [Argument],
        entries: &'f [Initializer],
        place: u32,
        target: Option<&Shape>,
    ) -> Shape {
        let shape = match kind {
            Some(written) => self.shape_of_type(written),
            None => {
                let shape = target.map(Shape::without_null).cloned().unwrap_or_default();
                self.record_inferred(&shape);
                self.add_type_use(&shape, place);
                shape
            }
        };
        let named = match kind {
            Some(TypeRef::Named(segments)) => segments.last().map_or(NOWHERE, |last| last.word.place),
            Some(_) => NOWHERE,
            None => place,
        };
        if kind.is_none() && !shape.is_known() {
            self.record_possible(CONSTRUCTOR, place, Some(self.called_with(&Name::default(), args, &[], false)));
        }
        if let Some(TypeRef::Named(segments)) = kind.filter(|_| shape == Shape::Unknown)
            && let Some(last) = segments.last()
        {
            for key in self.resolver.ambiguous_types(last) {
                let call = self.called_with(&Name::default(), args, &[], false);
                self.used(&Shape::of_key(&key), CONSTRUCTOR, last.word.place, false, Some(call));
            }
        }
        self.construct(&shape, args, named);
        self.initialize(&shape, entries);
        shape
    }

    /// Binds a constructor call, and records it at the place of the type's name, `new`, `base` or `this`.
    pub(super) fn construct(&mut self, shape: &Shape, args: &'f [Argument], place: u32) {
        if let Shape::Tuple(parts) = shape {
            let targets: Vec<Shape> = parts.iter().map(|(_, part)| part.clone()).collect();
            self.arguments(args, &targets);
            return;
        }
        let mut found = Vec::new();
        if shape.key().is_some() {
            self.world.declared(shape, CONSTRUCTOR, &mut found);
        }
        if found.is_empty() {
            if let (Some(_), [only]) = (self.world.delegate(shape), args) {
                // `new Handler(x => …)`.
                self.value(&only.value, Some(shape));
                return;
            }
            self.arguments(args, &[]);
            return;
        }
        let shapes = self.shapes(args);
        self.prefer_by_priority(&mut found, None, &[], args, &shapes);
        let call = self.called_with(&Name::default(), args, &shapes, false);
        self.used(shape, CONSTRUCTOR, place, true, Some(call));
        if let Some(chosen) = self.choose(found.clone(), None, &[], args, &shapes) {
            let given = Given {
                receiver: None,
                explicit: &[],
                args,
                shapes: &shapes,
            };
            let (mut chosen, rivals) = self.rivals(chosen, &mut found, given);
            let is_sure = chosen.score > NOT_CALLABLE;
            self.convert(args, &shapes, (&chosen.parameters, &mut chosen.bindings), rivals, is_sure);
        }
    }

    pub(super) fn initialize(&mut self, shape: &Shape, entries: &'f [Initializer]) {
        for entry in entries {
            match entry {
                Initializer::Member(word, value) => {
                    let target = self.written_member(shape, word);
                    self.converted(value, &target);
                }
                Initializer::Nested(word, entries) => {
                    let target = self.value_member(shape, &word.text, word.place);
                    self.initialize(&target, entries);
                }
                Initializer::Index(index, value, place) => {
                    let given: Vec<Shape> = index.iter().map(|index| self.value(index, None)).collect();
                    let from = self.uses();
                    let indexes: Vec<&Expression> = index.iter().collect();
                    let target = self.indexed(shape, &indexes, &given, *place);
                    self.set_use_kind(UseKind::Write, from, Some(*place));
                    self.converted(value, &target);
                }
                Initializer::NestedIndex(index, entries, place) => {
                    let given: Vec<Shape> = index.iter().map(|index| self.value(index, None)).collect();
                    let indexes: Vec<&Expression> = index.iter().collect();
                    let target = self.indexed(shape, &indexes, &given, *place);
                    self.initialize(&target, entries);
                }
                Initializer::Element(values, place) => {
                    let targets = self.added_types(shape, values);
                    let given: Vec<Shape> = values
                        .iter()
                        .enumerate()
                        .map(|(at, value)| self.converted(value, targets.get(at).unwrap_or(&Shape::Unknown)))
                        .collect();
                    if targets.is_empty() {
                        self.convert_added(shape, values, &given);
                    }
                    if !matches!(shape, Shape::Array(_)) {
                        self.implied(shape, "Add", &given, *place);
                    }
                }
            }
        }
    }

    /// Returns the target types for the values of one entry of a collection initializer: the parameter types of the only `Add` that takes them.
    /// For one value and several such methods, returns the nearest parameter type, else the element type of the collection. For several values,
    /// returns none if several methods take them, else the type arguments of the element type.
    fn added_types(&self, shape: &Shape, values: &[Expression]) -> Vec<Shape> {
        let count = values.len();
        let found = match shape {
            Shape::Array(_) => Vec::new(),
            shape => self.members_of(shape, "Add"),
        };
        // The parameter types of a lambda do not depend on what is inferred from the lambda.
        let is_inferred = !values.iter().all(|value| matches!(value, Expression::Lambda(..)));
        let suits = |one: &Candidate<'_>| {
            let parameters = one.parameters();
            let mut pairs = parameters.iter().zip(values);
            pairs.all(|((_, parameter), value)| self.suits(parameter, value) > NOT_CALLABLE)
        };
        let takes = |one: &&Candidate<'_>| {
            let is_taking = one.is_method() && !(one.line.arity > 0 && is_inferred) && takes(&one.parameters(), count);
            is_taking && suits(one)
        };
        // An override counts as a member of the base, and new members of an heir hide those of the base.
        let is_override = |one: &Candidate<'_>| {
            let is_same = |base: &Candidate<'_>| {
                let is_base = base.owner.key().is_some_and(|key| self.world.as_base(&one.owner, key).is_some());
                is_base && base.owner != one.owner && base.parameters() == one.parameters()
            };
            found.iter().any(is_same)
        };
        let own: Vec<&Candidate<'_>> = found.iter().filter(takes).filter(|one| !is_override(one)).collect();
        let mut taking = own.iter().filter(|one| one.owner == own[0].owner);
        match (taking.next(), taking.next()) {
            (Some(only), None) => {
                let open = vec![Shape::Unknown; only.line.arity as usize];
                let kinds = only.parameters().into_owned().into_iter().map(|(_, kind)| kind);
                kinds.map(|kind| kind.substitute(&[], &open)).collect()
            }
            (Some(_), Some(_))
                if count == 1
                    && let Some(nearest) = self.nearest_parameter(&own) =>
            {
                vec![nearest]
            }
            _ if count == 1 => vec![self.world.element(shape)],
            _ if own.len() > 1 => Vec::new(),
            _ => self.world.element(shape).args().to_vec(),
        }
    }

    /// Records the conversions of the values of one entry to the parameters of the method `Add` that takes them best.
    fn convert_added(&mut self, shape: &Shape, values: &[Expression], given: &[Shape]) {
        let found = self.members_of(shape, "Add");
        if let Some(best) = self.best_taking(&found, given) {
            for ((value, given), (_, kind)) in values.iter().zip(given).zip(best.parameters().into_owned()) {
                self.note_conversion(value, given, &kind, true);
            }
        }
    }

    /// Returns the type of the first parameter of one of these methods that is an heir of those of all others.
    fn nearest_parameter(&self, all: &[&Candidate<'_>]) -> Option<Shape> {
        let kinds: Vec<Shape> = all.iter().filter_map(|one| Some(one.parameters().first()?.1.clone())).collect();
        let is_heir = |one: &&Shape| {
            let mut others = kinds.iter().filter(|other| *other != *one);
            others.all(|other| other.key().is_some_and(|key| self.world.as_base(one, key).is_some()))
        };
        kinds.iter().find(is_heir).cloned()
    }

    /// Binds the elements of an array initializer, which nests a list for each further dimension.
    fn array_elements(&mut self, elements: &'f [Expression], element: &Shape) {
        for value in elements {
            match value {
                Expression::Collection(inner, _) if !matches!(element, Shape::Array(_)) => self.array_elements(inner, element),
                value => _ = self.converted(value, element),
            }
        }
    }

    pub(super) fn array(&mut self, kind: Option<&'f TypeRef>, elements: &'f [Expression], sizes: &'f [Expression]) -> Shape {
        for size in sizes {
            self.value(size, None);
        }
        let element = match kind {
            Some(kind) => {
                let element = self.shape_of_type(kind);
                self.array_elements(elements, &element);
                element
            }
            None => {
                let mut values = Vec::with_capacity(elements.len());
                let mut known = Shape::Unknown;
                for value in elements {
                    let shape = self.value(value, Some(&known));
                    if !known.is_known() {
                        known.clone_from(&shape);
                    }
                    values.push((value, shape));
                }
                self.joined(&values, None)
            }
        };
        Shape::Array(Rc::new(element)).bounded()
    }
}

/// Returns the type of a literal.
pub(super) fn of_literal(literal: Literal) -> Shape {
    predefined(match literal {
        Literal::String => "string",
        Literal::Char => "char",
        Literal::Integer(_) => "int",
        Literal::UInt => "uint",
        Literal::Long => "long",
        Literal::ULong => "ulong",
        Literal::Float => "float",
        Literal::Real => "double",
        Literal::Decimal => "decimal",
        Literal::Truth => "bool",
        Literal::Null | Literal::Default => return Shape::Null,
        Literal::Bytes => return Shape::Named("~System.ReadOnlySpan`1".into(), Rc::from([predefined("byte")])),
    })
}
