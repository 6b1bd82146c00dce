//! Expressions: infers the type of each one, and records the members that it uses.

use super::deferred::is_deferred;
use super::numbers::numeric;
use super::{Flow, Local};
use crate::code::ast::{Expression, Link, Name, TypeRef, Word};
use crate::deps::resolve::{Meaning, predefined};
use crate::deps::shape::{NULLABLE, Shape};
use crate::mention_model::Place;

/// Number of elements of a tuple before those in `Rest`.
const REST: usize = 7;

/// Meaning of the beginning of a chain.
#[derive(Clone, Debug)]
pub(super) enum ChainStart {
    Value(Shape),
    Type(Shape),
    /// Segments that may be a namespace.
    Space(Vec<Name>),
}

impl ChainStart {
    fn shape(self) -> Shape {
        match self {
            Self::Value(shape) => shape,
            Self::Type(_) | Self::Space(_) => Shape::Unknown,
        }
    }
}

impl<'f, 'a> Flow<'f, 'a> {
    /// Binds an expression and returns its type; `target` is the type that its context expects.
    pub(super) fn value(&mut self, value: &'f Expression, target: Option<&Shape>) -> Shape {
        match value {
            Expression::Unknown => Shape::Unknown,
            Expression::Literal(literal, _) => super::object_creation::of_literal(*literal),
            Expression::This(_) => self.around.first().cloned().unwrap_or_default(),
            Expression::Base(_) => self.base(),
            Expression::Name(name) if self.is_discard(name) => Shape::Unknown,
            Expression::Name(name) => self.simple(name).shape(),
            Expression::Type(written, _) => {
                self.shape_of_type(written);
                Shape::Unknown
            }
            Expression::Chain(root, links) => self.chain(root, links, target),
            Expression::New(kind, args, entries, place) => self.creation(kind.as_ref(), args, entries, *place, target),
            Expression::NewArray(kind, elements, sizes, _) => self.array(kind.as_ref(), elements, sizes),
            Expression::Anonymous(members) => self.anonymous_value(members),
            Expression::Lambda(..) => {
                let target = target.cloned().unwrap_or_default();
                self.lambda(value, &target);
                target
            }
            Expression::Cast(written, inner, place) => {
                let shape = self.shape_of_type(written);
                let from = self.value(inner, Some(&shape));
                self.cast(&from, &shape, *place);
                shape
            }
            Expression::As(inner, written) => {
                self.value(inner, None);
                self.shape_of_type(written)
            }
            Expression::Is(inner, pattern) => {
                let subject = self.value(inner, None);
                self.pattern(pattern, &subject);
                predefined("bool")
            }
            Expression::TypeOf(written, _) => {
                self.shape_of_type(written);
                Shape::of_key("~System.Type")
            }
            Expression::Default(written, _) => self.shape_of_type(written),
            Expression::Operation(class, operands, signs) => self.operation(*class, operands, signs, target),
            Expression::Assign(left, right, sign) => self.assignment(left, right, sign),
            Expression::Await(inner, place) => {
                let shape = self.value(inner, None);
                self.record_await(&shape, *place)
            }
            Expression::Unary(sign, inner) => self.unary(sign, inner, target),
            Expression::Conditional(condition, yes, no) => self.conditional_value(condition, (yes, no), target),
            Expression::Switch(subject, arms) => self.switch_value(subject, arms, target),
            Expression::With(inner, entries) => {
                let shape = self.value(inner, target);
                self.initialize(&shape, entries);
                shape
            }
            Expression::Tuple(parts) => self.tuple_value(parts, target),
            Expression::Collection(parts, place) => self.collection_value(parts, *place, target),
            Expression::Interpolated(parts, _) => {
                for part in parts {
                    self.value(part, None);
                }
                predefined("string")
            }
            Expression::NameOf(inner, _) => self.name_of(inner),
            Expression::Declaration(kind, designation) => self.declaration_value(kind, designation, target),
            Expression::Query(clauses) => self.query(clauses),
            Expression::Throw(inner) => {
                self.value(inner, None);
                Shape::Unknown
            }
        }
    }

    /// Binds `condition ? yes : no` and returns its type.
    fn conditional_value(
        &mut self,
        condition: &'f Expression,
        (yes, no): (&'f Expression, &'f Expression),
        target: Option<&Shape>,
    ) -> Shape {
        self.condition(condition);
        // A branch without a type of its own gets the type of the other branch.
        let (first, second) = match target {
            None if is_deferred(yes) => {
                let second = self.value(no, None);
                (self.value(yes, Some(&second)), second)
            }
            None if is_deferred(no) => {
                let first = self.value(yes, None);
                let second = self.value(no, Some(&first));
                (first, second)
            }
            _ => (self.value(yes, target), self.value(no, target)),
        };
        self.joined(&[(yes, first), (no, second)], target)
    }

    pub(super) fn base(&self) -> Shape {
        let Some(own) = self.around.first() else { return Shape::Unknown };
        let is_interface = |shape: &Shape| match shape.key() {
            Some(key) if key.starts_with('^') => key[1..].starts_with('I') && key[2..].starts_with(|c: char| c.is_uppercase()),
            key => self.world.kind(key.unwrap_or_default()) == 'i',
        };
        // The first part of a partial type may list interfaces alone.
        let mut bases = self.world.levels(own).into_iter().skip(1);
        bases.find(|base| !is_interface(base)).unwrap_or_else(|| predefined("object"))
    }

    // ── names and members ───────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn find_local(&self, name: &str) -> Option<Local<'f>> {
        let (at, local) = self.locals.find(name)?;
        // In a body, a member hides the parameter of the primary constructor that has the same name.
        let is_hidden = || {
            let own = self.around.first().map(|own| self.world.lookup(own, name)).unwrap_or_default();
            !is_object(&own)
        };
        if at < self.header && !self.initializes && is_hidden() {
            return None;
        }
        Some(local.clone())
    }

    /// Binds a simple name that is not called.
    pub(super) fn simple(&mut self, name: &Name) -> ChainStart {
        let text = name.word.text.as_str();
        if name.args.is_empty()
            && let Some(local) = self.find_local(text)
        {
            self.record_non_member(name.word.place);
            return ChainStart::Value(match local {
                Local::Value(shape) => shape,
                Local::Function(_) => Shape::Unknown,
            });
        }
        for at in 0..self.around.len() {
            let own = self.around[at].clone();
            let found = self.seen_as(&own, name);
            if let Some(first) = found.first().filter(|_| !is_object(&found)) {
                // A nested type of an inner type hides the member of an outer one.
                let inner: Vec<Shape> = self.around[..at].to_vec();
                if let Some(nested) = inner.iter().find_map(|own| self.nested(own, name)) {
                    return ChainStart::Type(nested);
                }
                self.used(&first.owner.clone(), text, name.word.place, true, None);
                self.type_arguments(name);
                let is_method = first.is_method();
                return ChainStart::Value(if is_method { Shape::Unknown } else { self.world.result_of(first) });
            }
        }
        let segments = [name.clone()];
        if let Some(stand) = self.as_type(&segments) {
            return stand;
        }
        for at in 0..self.statics.len() {
            let owner = self.statics[at].clone();
            let found = self.seen_as(&owner, name);
            if let Some(first) = found.first().filter(|_| !is_object(&found)) {
                self.used(&first.owner.clone(), text, name.word.place, true, None);
                return ChainStart::Value(if first.is_method() { Shape::Unknown } else { first.result() });
            }
        }
        self.type_arguments(name);
        let is_ambiguous = super::note_candidates(self.resolver, self.found, name);
        if !is_ambiguous && !self.is_open_scope() {
            self.record_unbound(None, text, name.word.place, super::UseKind::Name);
        }
        ChainStart::Space(segments.to_vec())
    }

    /// Binds `Color` in `Color.Red` where a value named `Color` has the type `Color`: to the type, if `Red` is a static member or a nested type.
    fn color_color(&mut self, name: &Name, next: &Name) -> Option<ChainStart> {
        let text = name.word.text.as_str();
        if !name.args.is_empty() {
            return None;
        }
        let shape = match self.find_local(text) {
            Some(Local::Value(shape)) => shape,
            Some(Local::Function(_)) => return None,
            None => {
                let around = self.around.iter().map(|own| self.seen(own, text));
                let found = around.into_iter().find(|found| !found.is_empty())?;
                found.first().filter(|first| !first.is_method())?.result()
            }
        };
        let segments = [name.clone()];
        let own = match self.resolver.meaning(&segments, 0, Place::Body) {
            Meaning::Type(key, _) | Meaning::Outside(key) => shape.key() == Some(&key),
            Meaning::Ambiguous | Meaning::Nothing => false,
        };
        if !own {
            return None;
        }
        let found = self.world.lookup(&shape, &next.word.text);
        let through = match found.first() {
            Some(first) => first.is_static(),
            None => shape
                .key()
                .is_some_and(|key| self.world.kind(&format!("{key}+{}", next.word.text)) != ' '),
        };
        if through { self.as_type(&segments) } else { None }
    }

    /// Returns the type to which segments bind, and records its use.
    fn as_type(&mut self, segments: &[Name]) -> Option<ChainStart> {
        let last = segments.last()?;
        let parameter = segments.len() == 1
            && last.args.is_empty()
            && self.methods.iter().chain(&self.resolver.own).any(|own| *own.name == last.word.text);
        let meaning = self.resolver.meaning(segments, last.args.len() as u32, Place::Body);
        if parameter || !matches!(meaning, Meaning::Nothing | Meaning::Ambiguous) {
            return Some(ChainStart::Type(self.shape_of_type(&TypeRef::Named(segments.to_vec()))));
        }
        None
    }

    /// Binds `from.name` where the member is not called.
    fn member_access(&mut self, from: ChainStart, name: &Name) -> ChainStart {
        match from {
            ChainStart::Value(shape) => {
                self.type_arguments(name);
                ChainStart::Value(self.value_member(&shape, &name.word.text, name.word.place))
            }
            ChainStart::Type(shape) => {
                let found = self.seen_as(&shape, name);
                if (found.is_empty() || is_object(&found))
                    && let Some(nested) = self.nested(&shape, name)
                {
                    return ChainStart::Type(nested);
                }
                self.type_arguments(name);
                ChainStart::Value(self.member_value(&shape, &name.word.text, name.word.place, true))
            }
            ChainStart::Space(mut segments) => {
                self.note_undeclared(&segments, name);
                segments.push(name.clone());
                if segments.len() > 16 {
                    return ChainStart::Value(Shape::Unknown);
                }
                self.as_type(&segments).unwrap_or(ChainStart::Space(segments))
            }
        }
    }

    /// Returns the nested type of a type or of one of its bases, and records its use.
    fn nested(&mut self, outer: &Shape, name: &Name) -> Option<Shape> {
        let args: Vec<Shape> = name.args.iter().map(|arg| self.shape_of_type(arg)).collect();
        let mark = if args.is_empty() {
            String::new()
        } else {
            format!("`{}", args.len())
        };
        for level in self.world.levels(outer) {
            let Shape::Named(key, outer_args) = &level else { continue };
            let nested = match key.find('@') {
                Some(at) => format!("{}+{}{mark}{}", &key[..at], name.word.text, &key[at..]),
                None => format!("{key}+{}{mark}", name.word.text),
            };
            if self.world.kind(&nested) != ' ' {
                let all = outer_args.iter().cloned().chain(args).collect();
                let shape = Shape::Named(nested.into(), all);
                self.note_type_name(&shape, name.word.place);
                return Some(shape);
            }
        }
        None
    }

    /// Returns the type of a member to which code assigns a value, and records the use as a write.
    pub(super) fn written_member(&mut self, shape: &Shape, word: &Word) -> Shape {
        let from = self.uses();
        let found = self.value_member(shape, &word.text, word.place);
        self.set_use_kind(super::UseKind::Write, from, Some(word.place));
        found
    }

    /// Returns the type of a value's member that is not called, and records its use.
    pub(super) fn value_member(&mut self, shape: &Shape, name: &str, place: u32) -> Shape {
        self.member_value(shape, name, place, false)
    }

    /// Returns the type of a member that is not called, of a value or of the type itself (`of_type`), and records its use.
    fn member_value(&mut self, shape: &Shape, name: &str, place: u32, of_type: bool) -> Shape {
        match shape {
            Shape::Tuple(parts) => {
                self.record_inferred(shape);
                let numbered = name.strip_prefix("Item").and_then(|number| number.parse::<usize>().ok());
                let by_name = parts.iter().position(|(own, _)| own.as_deref() == Some(name));
                let at = by_name.or_else(|| numbered.and_then(|number| number.checked_sub(1)));
                self.record_non_member(place);
                if name == "Rest" && by_name.is_none() && parts.len() > REST {
                    return Shape::Tuple(parts[REST..].iter().cloned().collect());
                }
                // A nullable tuple has the type of the tuple here.
                let otherwise = if name == "Value" { shape.clone() } else { Shape::Unknown };
                return at.and_then(|at| parts.get(at)).map_or(otherwise, |(_, part)| part.clone());
            }
            Shape::Anonymous(parts) => {
                self.record_non_member(place);
                return parts
                    .iter()
                    .find(|(own, _)| &**own == name)
                    .map(|(_, part)| part.clone())
                    .unwrap_or_default();
            }
            Shape::Array(_) if matches!(name, "Length" | "LongLength" | "Rank") => {
                self.record_non_member(place);
                return predefined("int");
            }
            _ => {}
        }
        let found = self.members_of(shape, name);
        match found.first() {
            Some(first) => {
                self.used(&first.owner.clone(), name, place, true, None);
                match first.is_method() {
                    true => self.group(shape, of_type, found, name),
                    false => self.world.result_of(first),
                }
            }
            None => {
                let extensions = if shape.is_known() {
                    self.extensions(shape, name, of_type)
                } else {
                    Vec::new()
                };
                if let Some(first) = extensions.first() {
                    self.used(&first.owner, name, place, true, None);
                    return match first.is_extension_property() {
                        true => self.extended(first, shape),
                        false => self.group(shape, of_type, Vec::new(), name),
                    };
                }
                if matches!(name, "Value" | "HasValue") && self.is_value_type(shape) {
                    // The code writes `T?` for a type parameter to which this value type is bound.
                    self.record_inferred(shape);
                    self.record_non_member(place);
                    return if name == "Value" { shape.clone() } else { predefined("bool") };
                }
                self.record_missing_member(shape, name, place, None);
                // The members of .NET's enums and the constants of numeric types are not known one by one; each has the type itself.
                let is_own = |key: &str| key.starts_with('~') && self.world.kind(key) == 'e' || numeric(key);
                if of_type && shape.key().is_some_and(is_own) {
                    shape.clone()
                } else {
                    Shape::Unknown
                }
            }
        }
    }

    pub(super) fn is_value_type(&self, shape: &Shape) -> bool {
        shape
            .key()
            .is_some_and(|key| !key.starts_with(['~', '^']) && matches!(self.world.kind(key), 's' | 'e'))
    }

    /// Returns the members of a value's type by their name; those of its constraints for a type parameter.
    pub(super) fn members_of(&self, shape: &Shape, name: &str) -> Vec<crate::deps::world::Candidate<'a>> {
        if let Shape::Variable(variable) = shape {
            for bound in self.constraints.get(variable).into_iter().flatten() {
                let found = match bound {
                    Shape::Variable(_) => Vec::new(),
                    bound => self.seen(bound, name),
                };
                if !found.is_empty() {
                    return found;
                }
            }
            return Vec::new();
        }
        self.seen(shape, name)
    }

    // ── chains ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Binds a path of names to a value, and returns its type.
    pub(super) fn path(&mut self, segments: &[Name]) -> Shape {
        let Some((first, rest)) = segments.split_first() else {
            return Shape::Unknown;
        };
        let mut stand = match rest.first().and_then(|next| self.color_color(first, next)) {
            Some(stand) => stand,
            None => self.simple(first),
        };
        for name in rest {
            stand = self.member_access(stand, name);
        }
        stand.shape()
    }

    pub(super) fn chain(&mut self, root: &'f Expression, links: &'f [Link], target: Option<&Shape>) -> Shape {
        let mut at = 0;
        let mut stand = match (root, links.first()) {
            (Expression::Name(name), Some(Link::Call(args))) => {
                at = 1;
                ChainStart::Value(self.call_simple(name, args, if links.len() == 1 { target } else { None }))
            }
            (Expression::Base(place), Some(Link::Call(args))) => {
                at = 1;
                let base = self.base();
                self.construct(&base, args, *place);
                ChainStart::Value(Shape::Unknown)
            }
            (Expression::This(place), Some(Link::Call(args))) => {
                at = 1;
                let own = self.around.first().cloned().unwrap_or_default();
                self.construct(&own, args, *place);
                ChainStart::Value(Shape::Unknown)
            }
            (Expression::Name(name), Some(Link::Member(next))) => match self.color_color(name, next) {
                Some(stand) => stand,
                None => self.simple(name),
            },
            (Expression::Name(name), _) => self.simple(name),
            (Expression::Type(written, _), _) => match self.type_root(written) {
                Some(shape) => ChainStart::Type(shape),
                None => match written {
                    TypeRef::Named(segments) => {
                        segments.iter().for_each(|segment| self.type_arguments(segment));
                        ChainStart::Space(segments.clone())
                    }
                    _ => ChainStart::Value(Shape::Unknown),
                },
            },
            (root, _) => ChainStart::Value(self.value(root, None)),
        };
        while let Some(link) = links.get(at) {
            at += 1;
            stand = match link {
                Link::Member(name) => {
                    if let Some(Link::Call(args)) = links.get(at) {
                        at += 1;
                        let last = at == links.len();
                        let shape = match stand {
                            ChainStart::Value(shape) => self.call(&shape, false, name, args, if last { target } else { None }),
                            ChainStart::Type(shape) => self.call(&shape, true, name, args, if last { target } else { None }),
                            ChainStart::Space(segments) => {
                                self.note_undeclared(&segments, name);
                                self.unknown_call(name, args)
                            }
                        };
                        ChainStart::Value(shape)
                    } else {
                        self.member_access(stand, name)
                    }
                }
                Link::Call(args) => {
                    let shape = stand.shape();
                    ChainStart::Value(self.invoke(&shape, args))
                }
                Link::Index(args, place) => {
                    let shape = stand.shape();
                    ChainStart::Value(self.index(&shape, args, *place))
                }
                Link::Maybe => match stand {
                    ChainStart::Value(shape) => ChainStart::Value(shape.without_null().clone()),
                    stand => stand,
                },
                Link::Pointed => ChainStart::Value(pointed(stand.shape())),
            };
        }
        let shape = stand.shape();
        let is_value = |key: &str| key != NULLABLE && matches!(self.world.kind(key), 's' | 'e');
        match links.contains(&Link::Maybe) && shape.key().is_some_and(is_value) {
            true => Shape::nullable(shape),
            false => shape,
        }
    }

    fn type_root(&mut self, written: &TypeRef) -> Option<Shape> {
        match written {
            TypeRef::Named(segments) => match self.as_type(segments)? {
                ChainStart::Type(shape) => Some(shape),
                _ => None,
            },
            written => Some(self.shape_of_type(written)),
        }
    }
}

/// Returns the type to which a pointer points.
pub(super) fn pointed(shape: Shape) -> Shape {
    match shape {
        Shape::Array(element) => (*element).clone(),
        shape => shape,
    }
}

/// Whether all of the members are those of `System.Object`, which every value has.
fn is_object(found: &[crate::deps::world::Candidate<'_>]) -> bool {
    found.iter().all(|candidate| candidate.owner.key() == Some("~System.Object"))
}
