//! Values that are made: objects with their initialisers, arrays.

use super::{Flow, NOWHERE, Use, UseKind};
use crate::csharp::code::ast::{Argument, Expression, Initializer, TypeRef};
use crate::csharp::deps::shape::Shape;
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
            Some(written) => self.written(written),
            None => {
                let shape = match target {
                    Some(Shape::Named(key, args)) if &**key == "~System.Nullable`1" => args.first().cloned().unwrap_or_default(),
                    Some(shape) => shape.clone(),
                    None => Shape::Unknown,
                };
                self.touch(&shape);
                if let (Some(uses), Some(key)) = (&mut self.found.uses, shape.key()) {
                    uses.push(Use {
                        place,
                        owner: key.into(),
                        member: None,
                        certain: true,
                        kind: UseKind::Name,
                        call: None,
                    });
                }
                shape
            }
        };
        let named = match kind {
            Some(TypeRef::Named(segments)) => segments.last().map_or(NOWHERE, |last| last.word.place),
            Some(_) => NOWHERE,
            None => place,
        };
        self.construct(&shape, args, named);
        self.initialize(&shape, entries);
        shape
    }

    pub(super) fn initialize(&mut self, shape: &Shape, entries: &'f [Initializer]) {
        for entry in entries {
            match entry {
                Initializer::Member(word, value) => {
                    let target = self.written_member(shape, word);
                    self.value(value, Some(&target));
                }
                Initializer::Nested(word, entries) => {
                    let target = self.value_member(shape, &word.text, word.place);
                    self.initialize(&target, entries);
                }
                Initializer::Index(index, value) => {
                    for index in index {
                        self.value(index, None);
                    }
                    let found = self.members_of(shape, "this[]");
                    let target = found.first().map(|candidate| candidate.result()).unwrap_or_default();
                    self.value(value, Some(&target));
                }
                Initializer::Element(values) => {
                    let targets: Vec<Shape> = if values.len() == 1 {
                        vec![self.world.element(shape)]
                    } else {
                        let element = self.world.element(shape);
                        element.args().to_vec()
                    };
                    for (at, value) in values.iter().enumerate() {
                        self.value(value, targets.get(at));
                    }
                }
            }
        }
    }

    pub(super) fn array(&mut self, kind: Option<&'f TypeRef>, elements: &'f [Expression], sizes: &'f [Expression]) -> Shape {
        for size in sizes {
            self.value(size, None);
        }
        let mut element = kind.map(|kind| self.written(kind)).unwrap_or_default();
        for value in elements {
            let target = element.clone();
            let shape = self.value(value, Some(&target));
            if kind.is_none() && !element.is_known() {
                element = shape;
            }
        }
        Shape::Array(Rc::new(element)).bounded()
    }
}
