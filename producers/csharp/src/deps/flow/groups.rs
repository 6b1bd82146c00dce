//! Method groups: names of methods that are not called but convert to a delegate.

use super::deferred::known_or_self;
use super::overload_resolution::Bindings;
use super::{Flow, Local};
use crate::code::ast::{Expression, Link, LocalFunction, Name};
use crate::deps::resolve::predefined;
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;

/// A method group after a dot.
pub(super) struct MethodGroup<'a> {
    /// The value or type before the name.
    pub(super) on: Shape,
    pub(super) of_type: bool,
    /// The methods of that name that `on` declares or inherits.
    pub(super) methods: Vec<Candidate<'a>>,
}

impl<'a> Flow<'_, 'a> {
    /// Returns how well a method group converts to the type of a parameter.
    pub(super) fn suits_group(&self, parameter: &Shape, value: &Expression) -> i64 {
        if !parameter.is_known() {
            return 0;
        }
        let (methods, extensions, is_closed) = match value {
            Expression::Name(name) => match self.find_local(&name.word.text) {
                Some(Local::Function(function)) => return self.suits_function(parameter, function),
                Some(Local::Value(_)) => return 0,
                None => (self.methods_around(name), Vec::new(), true),
            },
            _ => match self.group_of(value) {
                Some((name, group)) if name.args.is_empty() => {
                    let extensions = self.extensions(&group.on, &name.word.text, group.of_type);
                    (group.methods.clone(), extensions, self.is_closed(&group.on))
                }
                _ => return 0,
            },
        };
        if methods.is_empty() && extensions.is_empty() || !methods.iter().all(Candidate::is_method) {
            return 0;
        }
        let Some((wanted, result)) = self.world.delegate(parameter) else {
            return if self.is_no_delegate(parameter) { -100 } else { 0 };
        };
        let returns = |method: &Candidate<'_>| {
            let own = method.result();
            !own.is_known() || !result.is_known() || is_void(&own) == is_void(&result)
        };
        let is_taken = |method: &Candidate<'_>, extends: bool| returns(method) && self.takes_all(method, &wanted, extends);
        let suits = methods.iter().any(|method| is_taken(method, false)) || extensions.iter().any(|method| is_taken(method, true));
        match suits {
            true => 2,
            false if is_closed => -100,
            false => 0,
        }
    }

    /// Whether a type is known, and neither a delegate nor a base of one.
    fn is_no_delegate(&self, shape: &Shape) -> bool {
        let bases = ["~System.Object", "~System.Delegate", "~System.MulticastDelegate"];
        let is_other = |key: &str| !bases.contains(&key) && !matches!(self.world.kind(key), ' ' | 'd');
        matches!(shape, Shape::Array(_) | Shape::Tuple(_)) || shape.key().is_some_and(is_other)
    }

    /// Stores the methods of a method group after a dot, by the address of its name. A method group has no type of its own.
    pub(super) fn group(&mut self, on: &Shape, of_type: bool, methods: Vec<Candidate<'a>>, name: &str) -> Shape {
        let on = on.clone();
        let key = name.as_ptr() as usize;
        if self.trials > 0 {
            self.tried_groups.push(key);
        }
        self.groups.insert(key, MethodGroup { on, of_type, methods });
        Shape::Unknown
    }

    /// Returns the method group that an expression names after a dot, with its name.
    fn group_of<'e>(&self, value: &'e Expression) -> Option<(&'e Name, &MethodGroup<'a>)> {
        let Expression::Chain(_, links) = value else { return None };
        let Some(Link::Member(name)) = links.last() else { return None };
        Some((name, self.groups.get(&(name.word.text.as_ptr() as usize))?))
    }

    /// Returns the methods to which a simple name binds: those of the type, or of the nearest type around it that has some.
    fn methods_around(&self, name: &Name) -> Vec<Candidate<'a>> {
        let groups = self.around.iter().map(|own| self.seen(own, &name.word.text));
        groups.into_iter().find(|group| !group.is_empty()).unwrap_or_default()
    }

    /// Whether a method takes the arguments of a delegate; `extends`: its first parameter takes the receiver.
    fn takes_all(&self, method: &Candidate<'_>, wanted: &[Shape], extends: bool) -> bool {
        let own = method.parameters();
        let own = own.get(usize::from(extends)..).unwrap_or(&[]);
        let mut bindings = vec![Shape::Unknown; method.line.arity as usize];
        let mut pairs = own.iter().zip(wanted);
        own.len() == wanted.len() && pairs.all(|((_, own), given)| self.conversion_rank(own, given, &mut bindings).is_some())
    }

    /// Returns how well a local function converts to a delegate: it returns a value if the delegate does, and has as many parameters.
    fn suits_function(&self, parameter: &Shape, function: &LocalFunction) -> i64 {
        let Some((wanted, result)) = self.world.delegate(parameter) else {
            return 0;
        };
        let own = self.shape_unrecorded(Some(&function.result));
        match function.parameters.len() == wanted.len() && is_void(&own) == is_void(&result) {
            true => 2,
            false => -100,
        }
    }

    /// Records the extension method to which a method group binds with the type `target`, if no method of the receiver itself suits that type.
    pub(super) fn note_extension_group(&mut self, value: &Expression, target: &Shape) {
        let Some((name, group)) = self.group_of(value).filter(|_| self.found.uses.is_some() || self.trials == 0) else {
            return;
        };
        let Some((wanted, _)) = self.world.delegate(target) else { return };
        if group.methods.iter().any(|method| self.takes_all(method, &wanted, false)) {
            return;
        }
        let extensions = self.extensions(&group.on, &name.word.text, group.of_type);
        let Some(chosen) = extensions.iter().find(|method| self.takes_all(method, &wanted, true)) else {
            return;
        };
        let Some(key) = chosen.owner.key().map(std::rc::Rc::<str>::from) else {
            return;
        };
        self.record_inferred(&chosen.owner);
        let uses = self.found.uses.iter_mut().flatten();
        for used in uses.filter(|used| used.place == name.word.place && used.member.as_deref() == Some(&name.word.text)) {
            used.owner = key.clone();
        }
    }

    /// Infers type parameters from the result of a method whose name converts to a delegate.
    pub(super) fn bind_group(&self, parameter: &Shape, bindings: &mut Bindings, value: &Expression) {
        if bindings.iter().all(Shape::is_known) {
            return;
        }
        let Some((wanted, result)) = self.world.delegate(&parameter.substitute(&[], &known_or_self(bindings))) else {
            return;
        };
        let mut methods = match value {
            Expression::Name(name) if name.args.is_empty() => match self.find_local(&name.word.text) {
                Some(Local::Function(function)) if function.type_parameters.is_empty() => {
                    let given = self.shape_unrecorded(Some(&function.result));
                    self.conversion_rank(&result, &given, bindings);
                    return;
                }
                Some(_) => return,
                None => self.methods_around(name),
            },
            _ => match self.group_of(value) {
                Some((name, group)) if name.args.is_empty() => group.methods.clone(),
                _ => return,
            },
        };
        methods.retain(|one| one.is_method() && one.parameters().len() == wanted.len());
        if methods.len() > 1 {
            methods.retain(|one| self.takes_all(one, &wanted, false));
        }
        let [only] = methods.as_slice() else { return };
        let is_open = |given: &Shape| (0..).zip(bindings.iter()).any(|(at, _)| given.has_parameter(at));
        if only.line.arity > 0 && wanted.iter().any(is_open) {
            return;
        }
        let mut own = vec![Shape::Unknown; only.line.arity as usize];
        for ((_, parameter), given) in only.parameters().iter().zip(&wanted) {
            self.conversion_rank(parameter, given, &mut own);
        }
        self.conversion_rank(&result, &only.result().substitute(&[], &own), bindings);
    }
}

fn is_void(shape: &Shape) -> bool {
    *shape == predefined("void")
}
