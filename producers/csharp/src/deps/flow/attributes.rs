//! Attributes: their classes, and the uses in their arguments.

use super::Flow;
use crate::code::ast::{Argument, Attribute, Expression, TypeRef};
use crate::deps::shape::Shape;

impl<'f> Flow<'f, '_> {
    /// Binds the arguments of attributes.
    pub fn attributes(&mut self, attributes: &'f [Attribute]) {
        if attributes.is_empty() {
            return;
        }
        let named = std::mem::take(&mut self.found.named);
        self.attribute_arguments(attributes);
        let attributed = std::mem::replace(&mut self.found.named, named);
        self.found.attributed.extend(attributed);
    }

    fn attribute_arguments(&mut self, attributes: &'f [Attribute]) {
        for (kind, arguments) in attributes {
            let shape = self.attribute(kind);
            for argument in arguments {
                self.attribute_argument(&shape, &argument.value);
            }
        }
    }

    fn attribute_argument(&mut self, of: &Shape, value: &'f Expression) {
        match value {
            Expression::Assign(left, value, _) => {
                let target = match &**left {
                    Expression::Name(name) => self.written_member(of, &name.word),
                    _ => Shape::Unknown,
                };
                self.value(value, Some(&target));
            }
            value => {
                self.value(value, None);
            }
        }
    }

    /// Binds the attributes of lambdas, local functions and their parameters. No header lists these, so this method records their classes.
    pub(super) fn attributes_in_code(&mut self, attributes: &'f [Attribute]) {
        for (kind, arguments) in attributes {
            let shape = self.attribute(kind);
            let TypeRef::Named(segments) = kind else { continue };
            let Some(name) = segments.last() else { continue };
            self.type_arguments(name);
            self.note_type_name(&shape, name.word.place);
            let is_assigned = |argument: &Argument| matches!(argument.value, Expression::Assign(..));
            let (given, assigned) = arguments.split_at(arguments.iter().position(is_assigned).unwrap_or(arguments.len()));
            self.construct(&shape, given, name.word.place);
            for argument in assigned {
                self.attribute_argument(&shape, &argument.value);
            }
        }
    }

    /// Returns the class of an attribute, whose name may omit the suffix `Attribute`.
    fn attribute(&self, written: &TypeRef) -> Shape {
        let TypeRef::Named(segments) = written else { return Shape::Unknown };
        let mut full = segments.clone();
        if let Some(last) = full.last_mut() {
            last.word.text.push_str("Attribute");
        }
        match self.shape_unrecorded(Some(&TypeRef::Named(full))) {
            Shape::Named(key, _) if key.starts_with('^') => self.shape_unrecorded(Some(written)),
            shape => shape,
        }
    }
}
