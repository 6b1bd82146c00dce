//! Rules that exclude or prefer candidates of a call, and the facts about a call for readers that know all overloads of a name.

use super::extensions::is_undeclared;
use super::overload_resolution::{Chosen, NOT_CALLABLE};
use super::{Call, Flow, TARGET_TYPED_NEW};
use crate::code::ast::{Argument, Expression, Name, Passing, TypeRef};
use crate::code::integer_range::IntegerRange;
use crate::deps::modifiers::Modifiers;
use crate::deps::resolve::predefined;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;

impl<'f, 'a> Flow<'f, 'a> {
    /// Whether type arguments certainly violate a constraint of a method.
    pub(super) fn breaks_limits(&self, method: &Candidate<'a>, bindings: &[Shape]) -> bool {
        let is_value = |name: &str| {
            let mut all = self.methods.iter().rev().chain(&self.resolver.own);
            all.find(|own| &*own.name == name).is_some_and(|own| own.is_value)
        };
        method.limits().any(|(at, limit)| {
            if let Some(Shape::Variable(name)) = bindings.get(at) {
                return match limit {
                    "class" => is_value(name),
                    "struct" => false,
                    base => self.lacks_bound(name, &Shape::read(base, method.outside).substitute(&[], bindings)),
                };
            }
            let Some(given) = bindings.get(at).filter(|given| matches!(given, Shape::Named(..) | Shape::Array(_))) else {
                return false;
            };
            let kind = given.key().map_or('c', |key| self.world.kind(key));
            match limit {
                "class" => matches!(kind, 's' | 'e'),
                "struct" => matches!(kind, 'c' | 'i' | 'd') || given.is_nullable(),
                base => self.lacks_base(given, &Shape::read(base, method.outside).substitute(&[], bindings)),
            }
        })
    }

    /// Whether type arguments certainly meet all constraints of a method.
    pub(super) fn meets_limits(&self, method: &Candidate<'a>, bindings: &[Shape]) -> bool {
        method.limits().all(|(at, limit)| {
            let Some(given @ Shape::Named(key, _)) = bindings.get(at) else {
                return false;
            };
            match limit {
                "class" => matches!(self.world.kind(key), 'c' | 'i' | 'd'),
                "struct" => matches!(self.world.kind(key), 's' | 'e') && !given.is_nullable(),
                base => {
                    let base = Shape::read(base, method.outside).substitute(&[], bindings);
                    *given == base || base.key().and_then(|key| self.world.as_base(given, key)).as_ref() == Some(&base)
                }
            }
        })
    }

    /// Whether a type parameter certainly does not have a base: it has constraints, and none of them has the base.
    fn lacks_bound(&self, variable: &str, base: &Shape) -> bool {
        let bounds = self.constraints.get(variable).map_or(&[][..], Vec::as_slice);
        let lacks = |bound: &Shape| matches!(bound, Shape::Named(..)) && self.lacks_base(bound, base);
        !bounds.is_empty() && bounds.iter().all(lacks)
    }

    /// Whether a type certainly does not have a base. The bases that the compiler adds (`System.Enum`, `IEquatable` of records) are not known for
    /// types of the workspace.
    fn lacks_base(&self, given: &Shape, base: &Shape) -> bool {
        let Some(key) = base.key().filter(|key| !key.starts_with('^') && self.world.kind(key) != ' ') else {
            return false;
        };
        let levels = self.world.levels(given);
        let is_unknown = |level: &Shape| !level.is_known() || level.key().is_some_and(|key| key.starts_with('^'));
        let is_outside = self.is_outside(given);
        let is_judged = if key.starts_with('~') {
            is_outside && levels.len() > 1
        } else {
            true
        };
        // A base with other type arguments is a different type.
        let is_other = |level: &Shape| {
            let mut pairs = level.args().iter().zip(base.args());
            pairs.any(|(own, wanted)| are_other_types(own, wanted))
        };
        let mut bases = levels.iter().filter(|level| level.key() == Some(key));
        is_judged && !levels.iter().any(is_unknown) && bases.all(is_other)
    }

    /// Returns the type of an extension property on a value of the type `on`.
    pub(super) fn extended(&self, property: &Candidate<'a>, on: &Shape) -> Shape {
        let mut bindings = vec![Shape::Unknown; property.line.arity as usize];
        if let Some((_, receiver)) = property.parameters().first() {
            self.conversion_rank(receiver, on, &mut bindings);
        }
        property.result().substitute(&[], &bindings).bounded()
    }

    /// Whether a candidate hides another one: its type derives from the other's type, so the other is not considered if the first can be called.
    /// An override counts as a member of the type that declares the overridden member.
    pub(super) fn hides(&self, nearer: &Candidate<'a>, other: &Candidate<'a>, all: &[Candidate<'a>]) -> bool {
        let Some(key) = other.owner.key() else { return false };
        if nearer.owner.key() == Some(key) || self.world.as_base(&nearer.owner, key).is_none() {
            return false;
        }
        let own = nearer.parameters();
        let is_first = |base: &Candidate<'a>| {
            let is_far = base
                .owner
                .key()
                .is_some_and(|base| base == key || base == "~System.Object" || self.world.as_base(&other.owner, base).is_some());
            is_far && base.line.arity == nearer.line.arity && base.parameters() == own
        };
        // A member of an interface overrides nothing.
        self.world.kind(nearer.owner.key().unwrap_or_default()) == 'i' || !all.iter().any(is_first)
    }

    /// Returns the first declaration, in a class of the workspace, of the member that a candidate overrides. The modifiers of members are not known:
    /// a member with the types of an inherited one counts as its override, although it may hide it.
    pub(super) fn overridden<'c>(&self, one: &Candidate<'a>, all: &'c [Candidate<'a>]) -> Option<&'c Candidate<'a>> {
        let (own, result) = (one.parameters(), one.result());
        let is_overridden = |base: &&Candidate<'a>| {
            let key = base.owner.key().filter(|key| one.owner.key() != Some(*key) && !base.outside);
            let is_base = key.is_some_and(|key| self.world.kind(key) != 'i' && self.world.as_base(&one.owner, key).is_some());
            is_base && base.line.arity == one.line.arity && base.parameters() == own && base.result() == result
        };
        all.iter().rev().find(is_overridden)
    }

    /// Removes each candidate if its type also declares a callable candidate with a higher priority.
    pub(super) fn prefer_by_priority(
        &mut self,
        found: &mut Vec<Candidate<'a>>,
        receiver: Option<&Shape>,
        explicit: &[Shape],
        args: &'f [Argument],
        shapes: &[Option<Shape>],
    ) {
        if found.iter().all(|one| one.line.priority == 0) {
            return;
        }
        let mut callable: Vec<Candidate<'a>> = Vec::new();
        for one in found.iter() {
            let chosen = self.choose(vec![one.clone()], receiver, explicit, args, shapes);
            if chosen.is_some_and(|chosen| chosen.score > NOT_CALLABLE && self.may_take_deferred(&chosen, args)) {
                callable.push(one.clone());
            }
        }
        let is_before = |other: &Candidate<'a>, one: &Candidate<'a>| other.owner == one.owner && other.line.priority > one.line.priority;
        found.retain(|one| !callable.iter().any(|other| is_before(other, one)));
    }

    /// Removes the extension methods from namespaces further out than the nearest one whose extension method certainly fits.
    pub(super) fn prefer_nearest(
        &self,
        found: &mut Vec<Candidate<'a>>,
        receiver: &Shape,
        explicit: &[Shape],
        args: &[Argument],
        shapes: &[Option<Shape>],
    ) {
        let distances: Vec<usize> = found.iter().map(|one| self.distance(one)).collect();
        let is_one = distances.iter().min() == distances.iter().max();
        if is_one || !receiver.is_known() || shapes.iter().any(|shape| shape.as_ref().is_some_and(|shape| !shape.is_known())) {
            return;
        }
        let fits = |one: &Candidate<'a>| {
            let chosen = self.choose(vec![one.clone()], Some(receiver), explicit, args, shapes);
            chosen.is_some_and(|chosen| chosen.score > NOT_CALLABLE)
        };
        let fitting = found.iter().zip(&distances).filter(|(one, _)| fits(one));
        if let Some(nearest) = fitting.map(|(_, distance)| *distance).min() {
            let mut distances = distances.iter();
            found.retain(|_| distances.next().is_some_and(|distance| *distance <= nearest));
        }
    }

    /// Returns the distance of the scope that opens the namespace of a type with extension methods.
    fn distance(&self, extension: &Candidate<'_>) -> usize {
        let key = extension.owner.key().unwrap_or_default();
        let namespace = match key.strip_prefix('~') {
            Some(outside) => outside.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned(),
            None => self
                .world
                .type_line(key)
                .map_or_else(String::new, |line| line.namespace.to_string()),
        };
        let outermost = self.opened.get("").map_or(0, |distance| distance + 1);
        let is_static = self.statics.iter().any(|open| open.key() == Some(key));
        let distance = self.opened.get(&namespace).copied();
        let distance = distance.filter(|distance| !is_static || *distance < outermost);
        // A namespace that nothing opens comes last. What the unknown project of a loose file opens is not known.
        let is_closed = !is_static && self.resolver.around.project.is_some();
        distance.unwrap_or(if is_closed { outermost + 1 } else { outermost })
    }

    /// Returns the facts about a call by which a reader selects its overload.
    pub(super) fn called_with(&self, name: &Name, args: &[Argument], shapes: &[Option<Shape>], extension: bool) -> Call {
        let is_made = |at: usize| matches!(&args[at].value, Expression::New(None, ..));
        let known = |at: usize| match is_made(at) {
            true => TARGET_TYPED_NEW.to_owned(),
            false => shapes.get(at).and_then(Option::as_ref).map_or_else(String::new, known_type),
        };
        // A named argument before a positional one is in its own position.
        let named = args.iter().rposition(|arg| arg.name.is_none()).map_or(0, |last| last + 1);
        let ranges: Vec<(usize, IntegerRange)> = (0..args.len())
            .filter(|at| shapes.get(*at).is_some_and(|shape| *shape == Some(predefined("int"))))
            .filter_map(|at| Some((at, self.range_of(&args[at].value)?)))
            .collect();
        let is_ranged = |at: &usize| ranges.iter().any(|(ranged, _)| ranged == at);
        let is_constant = |at: &usize| (matches!(args[*at].value, Expression::Literal(..)) || is_ranged(at)) && !known(*at).is_empty();
        let integers = ranges.iter().filter(|(_, range)| *range != IntegerRange::SByte);
        let passed: Vec<Passing> = args.iter().map(|arg| arg.passing).collect();
        let is_passed = passed.iter().any(|passing| *passing != Passing::Value);
        Call {
            arguments: (0..args.len()).map(known).collect(),
            passed: if is_passed { passed } else { Vec::new() },
            exact: (0..args.len()).filter(is_constant).collect(),
            integers: integers.copied().collect(),
            names: args[named..].iter().filter_map(|arg| arg.name.clone()).collect(),
            types: name.args.len(),
            extension,
            result: String::new(),
        }
    }

    /// Returns the other types that declare a candidate to which the call may bind as well as to the chosen one.
    pub(super) fn others(
        &self,
        picked: &Chosen<'a>,
        all: Vec<Candidate<'a>>,
        receiver: Option<&Shape>,
        explicit: &[Shape],
        args: &[Argument],
        shapes: &[Option<Shape>],
    ) -> Vec<Shape> {
        let chosen = &picked.candidate;
        let own = chosen.parameters();
        let is_positional = args.iter().all(|arg| arg.name.is_none());
        let given: Vec<Option<&Shape>> = receiver.map(Some).into_iter().chain(shapes.iter().map(Option::as_ref)).collect();
        let given = if is_positional { given } else { Vec::new() };
        let mut found: Vec<Shape> = Vec::new();
        // A callable member of a derived type hides those of its bases.
        let sure = receiver.is_none() && are_known(args, shapes) && certainly_takes(picked, shapes);
        for other in all.iter().cloned() {
            let owner = other.owner.clone();
            // A member that overrides, implements or hides another is no overload of it.
            let same = other.line.arity == chosen.line.arity && other.parameters() == own;
            let known = owner.key() == chosen.owner.key() || found.iter().any(|known| known.key() == owner.key());
            let hidden = sure && self.hides(chosen, &other, &all);
            let of_all = owner.key() == Some("~System.Object");
            let is_farther = is_nearer(&own, &other.parameters(), chosen.line.arity, &given) && !self.hides(&other, chosen, &all);
            if same || known || hidden || of_all || !other.is_method() || is_farther {
                continue;
            }
            let may_mean =
                |other: &Chosen<'a>| other.score > NOT_CALLABLE && self.preferred(picked, other, receiver, (args, shapes)) != Some(true);
            if self
                .choose(vec![other], receiver, explicit, args, shapes)
                .as_ref()
                .is_some_and(may_mean)
            {
                found.push(owner);
            }
        }
        found
    }
}

/// Whether the types of all arguments are known. What `out` declares has the type of its parameter.
pub(super) fn are_known(args: &[Argument], shapes: &[Option<Shape>]) -> bool {
    let is_declared = |arg: &Argument| match &arg.value {
        Expression::Declaration(TypeRef::Var(_), _) => true,
        Expression::Name(name) => arg.passing == Passing::Out && name.word.text == "_",
        _ => false,
    };
    let mut pairs = args.iter().zip(shapes);
    pairs.all(|(arg, shape)| shape.as_ref().is_some_and(Shape::is_known) || is_declared(arg))
}

/// Whether the arguments that fit a candidate certainly do so: between a type that nothing declares and another one, a conversion is only possible.
pub(super) fn certainly_takes(chosen: &Chosen<'_>, shapes: &[Option<Shape>]) -> bool {
    let is_certain = |given: &Shape, parameter: &Shape| {
        let is_same = given.key() == parameter.key() || parameter.key() == Some("~System.Object");
        is_same || given.key().is_none() || !is_undeclared(given) && !is_undeclared(parameter)
    };
    let mut pairs = shapes.iter().zip(chosen.parameter_types());
    pairs.all(|(given, parameter)| given.as_ref().is_none_or(|given| is_certain(given, &parameter)))
}

/// Whether the arguments have exactly the types of one candidate's parameters, and not those of another's.
fn is_nearer(own: &[(Modifiers, Shape)], others: &[(Modifiers, Shape)], arity: u32, given: &[Option<&Shape>]) -> bool {
    let is_exact = |parameters: &[(Modifiers, Shape)]| {
        parameters.len() >= given.len()
            && parameters.iter().zip(given).all(|((modifiers, parameter), given)| {
                let is_sure = |shape: &&&Shape| !known_type(shape).is_empty();
                !modifiers.many && given.as_ref().filter(is_sure) == Some(&parameter)
            })
    };
    arity == 0 && !given.is_empty() && is_exact(own) && !is_exact(others)
}

/// Returns the number of each argument's parameter; none where the names of parameters are not known. `None` if no parameter has the name
/// of an argument, or a named argument before a positional one is not in its own position.
pub(super) fn placed(args: &[Argument], names: &[&str]) -> Option<Vec<Option<usize>>> {
    let last_positional = args.iter().rposition(|arg| arg.name.is_none());
    let place = |(at, arg): (usize, &Argument)| match &arg.name {
        None => Some(Some(at)),
        Some(_) if names.is_empty() => Some(None),
        Some(name) => {
            let name = name.trim_start_matches('@');
            let found = names.iter().position(|own| *own == name)?;
            (found == at || Some(at) > last_positional).then_some(Some(found))
        }
    };
    args.iter().enumerate().map(place).collect()
}

impl Call {
    /// Returns the range of an argument that is a constant; it says something only about a constant of the type `int`.
    pub fn range_of(&self, at: usize) -> Option<IntegerRange> {
        let written = self.integers.iter().find(|(number, _)| *number == at);
        self.exact
            .contains(&at)
            .then(|| written.map_or(IntegerRange::SByte, |(_, range)| *range))
    }
}

/// Returns the text of a named type or of an array of one if all of it is known; otherwise the key of a type of .NET, or `""`.
pub(super) fn known_type(shape: &Shape) -> String {
    let mut text = String::new();
    shape.write(&mut text);
    let has_name = match shape {
        Shape::Array(element) => matches!(&**element, Shape::Named(..)),
        shape => matches!(shape, Shape::Named(..)),
    };
    match shape.key().filter(|key| key.starts_with('~')) {
        _ if has_name && !text.contains(['?', '!']) => text,
        key => key.unwrap_or_default().to_owned(),
    }
}

/// Whether two types are known and have different declarations.
fn are_other_types(one: &Shape, other: &Shape) -> bool {
    let is_declared = |shape: &Shape| shape.key().is_some_and(|key| !key.starts_with('^'));
    is_declared(one) && is_declared(other) && one.key() != other.key()
}
