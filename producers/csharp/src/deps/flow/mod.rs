//! Infers the types of expressions: from declared types through locals, members, calls, loops, patterns and lambdas.
//!
//! Each expression gets the type that C# gives it, as far as that is cheap to infer. Otherwise its type is unknown, and uses of its members are
//! only possible, not certain. Each body is bound once; a lambda is bound when its target is known.

mod attributes;
mod better_overload;
mod bounds;
mod candidate_rules;
mod compound_expressions;
mod conversions;
mod deconstruction;
mod deferred;
mod dispatch;
mod extensions;
mod groups;
mod indexers;
mod locals;
mod numbers;
mod object_creation;
mod operators;
mod overload_resolution;
mod parameters;
mod pattern;
mod query;
mod resources;
mod rivals;
mod services;
mod statement;
#[cfg(test)]
mod tests;
mod undeclared;
mod unnamed_calls;
mod value;
mod visible;

use super::binder::enclosing_key;
use super::resolve::{Resolver, TypeParameter};
use super::shape::Shape;
use super::world::{INDEXER, World};
use crate::code::ast::{Expression, Name, Parameter, Passing, Statement, TypeRef};
use crate::code::facts::{Facts, MemberCode};
use crate::code::integer_range::IntegerRange;
use crate::namespaces::levels;
pub use conversions::IMPLICIT;
pub use dispatch::{SENT, is_dispatcher};
use locals::Locals;
pub use numbers::{is_signed_over, widens};
pub use resources::is_explicit_disposal;
use rivals::Faults;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::rc::Rc;
pub use unnamed_calls::operator_of;

/// Uses in the code of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsesFound {
    /// Types that the code names.
    pub named: BTreeSet<Rc<str>>,
    /// Types whose members the code uses, and types of its values.
    pub inferred: BTreeSet<Rc<str>>,
    /// Types that the arguments of attributes name.
    pub attributed: BTreeSet<Rc<str>>,
    /// Full names of .NET's types that the code names, and last names of those that nothing declares.
    pub external: BTreeSet<Rc<str>>,
    /// Uses with their places, if the caller asks for them.
    pub uses: Option<Vec<Use>>,
}

/// Owner of a use whose name refers to no member of the workspace.
const NO_MEMBER: &str = "~";

/// Owner of a member of an unknown type.
const UNKNOWN: &str = "?";

/// Owner of a use whose name binds to nothing, although everything to which it could bind is known. For the name of a member, the key of
/// the type that lacks it follows.
pub const NOTHING: &str = "~!";

/// Type of an argument `new(…)` in a [`Call`]: it gets the type of its target.
pub const TARGET_TYPED_NEW: &str = "new";

/// The name of constructors.
const CONSTRUCTOR: &str = ".ctor";

/// Place of a use that has none in the text.
const NOWHERE: u32 = u32::MAX;

/// A use of a type or of a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// Place in the text of the body.
    pub place: u32,
    /// The type, or the type that declares the member.
    pub owner: Rc<str>,
    /// The member.
    pub member: Option<String>,
    /// Whether the code decides it.
    pub certain: bool,
    /// Kind of the use.
    pub kind: UseKind,
    /// Arguments of the call, if the code calls it.
    pub call: Option<Call>,
}

/// How code uses a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UseKind {
    /// Calls it.
    Call,
    /// Creates an object with it: a constructor.
    Construct,
    /// Calls it as an implicit conversion, which no token of the code shows.
    Convert,
    /// Refers to it in documentation.
    Cref,
    /// Declares a member that implements it; it is a member of an interface.
    Implement,
    /// Names it: as a type, in `nameof`, or in code that the parser could not read.
    #[default]
    Name,
    /// Declares a member that overrides it.
    Override,
    /// Reads its value.
    Read,
    /// Assigns a value to it.
    Write,
}

impl UseKind {
    /// Returns the kind of a use of a member, called or not.
    fn of(member: &str, call: Option<&Call>) -> Self {
        match (member, call) {
            (CONSTRUCTOR, _) => Self::Construct,
            (INDEXER, _) => Self::Read,
            (_, Some(_)) => Self::Call,
            (_, None) => Self::Read,
        }
    }

    /// Whether the code only names it, as far as is known.
    pub fn is_name(&self) -> bool {
        *self == Self::Name
    }

    /// Returns the word for the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Construct => "construct",
            Self::Convert => "convert",
            Self::Cref => "cref",
            Self::Implement => "implement",
            Self::Name => "name",
            Self::Override => "override",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Facts about a call by which a reader that knows all overloads selects one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call {
    /// Type of each argument as far as it is known, as [`Shape`] writes it: `~System.Int32`; of a generic type of .NET perhaps only the key.
    /// [`TARGET_TYPED_NEW`] for `new(…)`, `""` for an unknown type. The receiver of an extension method is not among the arguments.
    pub arguments: Vec<String>,
    /// Numbers, from 0, of the arguments that are literals or `int` constants: each has exactly its type here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exact: Vec<usize>,
    /// Constants of the type `int` with a value outside of 0 to 127: number of the argument, and range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub integers: Vec<(usize, IntegerRange)>,
    /// How each argument is passed; empty if all are passed by value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<Passing>,
    /// Names of the named arguments at the end, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Number of written type arguments; 0 if the compiler infers them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub types: usize,
    /// Whether the call is of an extension method on a value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extension: bool,
    /// Result of the chosen conversion as its declaration writes it; then `arguments` has its parameter. `""` for all other calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A local of the code.
#[derive(Clone)]
enum Local<'f> {
    Value(Shape),
    Function(&'f crate::code::ast::LocalFunction),
}

/// Binds the code of one part of a type.
pub struct Flow<'f, 'a> {
    world: &'f World<'a>,
    resolver: &'f Resolver<'f>,
    /// The type, then the types around it, innermost first.
    around: Vec<Shape>,
    constraints: FxHashMap<Rc<str>, Vec<Shape>>,
    locals: Locals<'f>,
    methods: Vec<TypeParameter>,
    returns: Vec<Shape>,
    /// Type of the member whose code is being bound.
    result: Shape,
    /// Number of locals that are parameters of the primary constructor.
    header: usize,
    /// Whether the code is in the header or in an initializer, where parameters of the primary constructor hide members.
    initializes: bool,
    /// Namespaces whose extension methods are in scope, each with the distance of the scope that opens it.
    opened: FxHashMap<String, usize>,
    statics: Vec<Shape>,
    /// Method groups after a dot, by the address of their name in the syntax tree: the place of a name is not always known.
    groups: FxHashMap<usize, groups::MethodGroup<'a>>,
    /// Keys of the method groups that trials add.
    tried_groups: Vec<usize>,
    /// Types of the first elements of collection expressions among arguments, by the address of the elements.
    first_elements: FxHashMap<usize, Shape>,
    /// Whether the code is in a `checked` context. Outside of `checked` and `unchecked` the project decides; `None` for code of no project.
    is_checked: Option<bool>,
    /// Depth of nested trials around the code. A trial binds code to infer a type, or to learn whether the code compiles.
    trials: u32,
    /// Worst error that the compiler would report for the code of the present trial.
    faults: Faults,
    found: &'f mut UsesFound,
}

impl<'f, 'a> Flow<'f, 'a> {
    /// Creates the state to bind the code of a part of the type `key`.
    pub fn new(world: &'f World<'a>, resolver: &'f Resolver<'f>, key: &str, facts: &'f Facts, found: &'f mut UsesFound) -> Self {
        let surroundings = &resolver.around;
        let mut around = Vec::new();
        for (at, symbol) in surroundings.enclosing.iter().enumerate().rev() {
            let own = at + 1 == surroundings.enclosing.len();
            let count = super::resolve::all_parameters(symbol) as usize;
            let args: Rc<[Shape]> = resolver.own.iter().take(count).map(|own| own.shape.clone()).collect();
            let key = match own {
                true => key.to_owned(),
                false => enclosing_key(resolver.index, surroundings, symbol, key),
            };
            around.push(Shape::Named(key.into(), args));
        }
        // A lookup searches an enclosing namespace, then the namespaces that using directives in it open, then the next enclosing namespace.
        let around_levels: Vec<&str> = levels(surroundings.namespace).collect();
        let mut opened: FxHashMap<String, usize> = around_levels
            .iter()
            .enumerate()
            .map(|(at, level)| ((*level).to_owned(), 2 * at))
            .collect();
        let mut statics = Vec::new();
        let globals = || surroundings.globals.into_iter().flat_map(|globals| &globals.usings);
        // The type's mentions do not include the names in a global using, so the index has bound them.
        for entry in globals().filter(|using| using.is_static).flat_map(|using| &using.types) {
            statics.push(Shape::of_key(&entry.key));
        }
        let written = surroundings
            .usings
            .iter()
            .map(|using| (&using.alias, &using.target, using.is_static, using.level.as_str()));
        let all = written.chain(globals().map(|using| (&using.alias, &using.target, using.is_static && using.types.is_empty(), "")));
        for (_, target, is_static, level) in all.filter(|(alias, ..)| alias.is_none()) {
            let target = super::written::from_root(target).0;
            if is_static {
                if let Some(written) = crate::code::type_ref(target) {
                    statics.push(resolver.shape(&written, &[], &mut |_, _| {}));
                }
            } else {
                let position = around_levels.iter().position(|around| *around == level);
                let distance = 2 * position.unwrap_or(around_levels.len()) + 1;
                for outer in levels(level) {
                    let known = opened.entry(crate::namespaces::join_path(outer, target)).or_insert(distance);
                    *known = distance.min(*known);
                }
            }
        }
        let mut flow = Self {
            world,
            resolver,
            around,
            constraints: FxHashMap::default(),
            locals: Locals::default(),
            methods: Vec::new(),
            returns: Vec::new(),
            result: Shape::Unknown,
            header: 0,
            initializes: true,
            opened,
            statics,
            groups: FxHashMap::default(),
            tried_groups: Vec::new(),
            first_elements: FxHashMap::default(),
            is_checked: surroundings.project.and(surroundings.globals).map(|globals| globals.is_checked),
            trials: 0,
            faults: Faults::Nothing,
            found,
        };
        let own = resolver
            .own
            .iter()
            .map(|own| TypeParameter::variable(&own.name, &facts.constraints));
        flow.methods.extend(own);
        flow.constrain(&flow.bounds_in_scope(&facts.constraints));
        for parameter in &facts.header {
            let shape = flow.shape_unrecorded(parameter.kind.as_ref());
            flow.locals.push((&parameter.name, Local::Value(shape)));
        }
        flow.header = flow.locals.len();
        flow
    }

    /// Binds the code in the header of the type.
    pub fn header(&mut self, code: &'f [Statement]) {
        let base = self.base();
        for statement in code {
            if let Statement::Return(Expression::Tuple(args)) = statement {
                self.construct(&base, args, NOWHERE);
            } else {
                self.statement(statement);
            }
        }
    }

    /// Binds the code of one member, except its attributes.
    pub fn member(&mut self, member: &'f MemberCode) {
        self.groups.clear();
        self.tried_groups.clear();
        self.first_elements.clear();
        let (locals, methods) = (self.locals.len(), self.methods.len());
        let limits = &member.signature.constraints;
        let own = member.type_parameters.iter();
        self.methods.extend(own.map(|name| TypeParameter::variable(name, limits)));
        let mut bounds = self.bounds(limits);
        if bounds.is_empty() {
            bounds = self.inherited_bounds(member);
        }
        self.constrain(&bounds);
        for parameter in &member.signature.parameters {
            self.parameter(parameter);
        }
        let result = self.shape_unrecorded(member.signature.result.as_ref());
        self.result = result.clone();
        self.initializes = matches!(member.body.as_slice(), [Statement::Return(_)]);
        self.body(&member.body, &result, member.signature.is_async);
        self.initializes = true;
        self.release_bounds(bounds);
        self.locals.truncate(locals);
        self.methods.truncate(methods);
    }

    fn parameter(&mut self, parameter: &'f Parameter) {
        let shape = self.shape_unrecorded(parameter.kind.as_ref());
        self.locals.push((&parameter.name, Local::Value(shape)));
    }

    // ── recording uses ──────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the shape of a written type without recording its use, because a header or earlier code already names it.
    fn shape_unrecorded(&self, written: Option<&TypeRef>) -> Shape {
        written.map_or(Shape::Unknown, |written| {
            let shape = self.resolver.shape(written, &self.methods, &mut |_, _| {});
            self.world.complete(shape, &self.around)
        })
    }

    /// Returns the shape of a type that the code names here, and records its use.
    fn shape_of_type(&mut self, written: &TypeRef) -> Shape {
        let found = &mut *self.found;
        let shape = self.resolver.shape(written, &self.methods, &mut |shape, name| {
            note_shape(&mut found.named, shape);
            if *shape == Shape::Unknown && note_candidates(self.resolver, found, name) {
                return;
            }
            if let Shape::Named(key, args) = shape
                && let Some(name) = key.strip_prefix(['~', '^'])
            {
                let name = match key.starts_with('^') && !args.is_empty() {
                    true => format!("{name}`{}", args.len()),
                    false => name.to_owned(),
                };
                found.external.insert(name.into());
            }
            if let Some(uses) = &mut found.uses {
                uses.push(Use {
                    place: name.word.place,
                    owner: shape.key().unwrap_or(NO_MEMBER).into(),
                    member: None,
                    certain: true,
                    kind: UseKind::Name,
                    call: None,
                });
            }
        });
        self.world.complete(shape, &self.around)
    }

    /// Records that the code names a type at a place.
    fn note_type_name(&mut self, shape: &Shape, place: u32) {
        note_shape(&mut self.found.named, shape);
        self.add_type_use(shape, place);
    }

    /// Adds a certain use of a type at a place.
    fn add_type_use(&mut self, shape: &Shape, place: u32) {
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
    }

    /// Records all types within the type of a value as inferred.
    fn record_inferred(&mut self, shape: &Shape) {
        note_shape(&mut self.found.inferred, shape);
    }

    /// Returns the names of the locals that the code declares.
    pub fn local_names(&self) -> FxHashSet<String> {
        self.locals.names()
    }

    /// Records that a name refers to no member of the workspace, but to a local or an element of a tuple.
    fn record_non_member(&mut self, place: u32) {
        if let Some(uses) = &mut self.found.uses {
            uses.push(Use {
                place,
                owner: NO_MEMBER.into(),
                member: Some(String::new()),
                certain: true,
                kind: UseKind::Name,
                call: None,
            });
        }
    }

    /// Records that a name binds to nothing: to no local, member or type, or to no member of the type `on`, which is known with all its
    /// bases. A called member may still be an extension method of a package.
    fn record_unbound(&mut self, on: Option<&Shape>, name: &str, place: u32, kind: UseKind) {
        self.fault(if kind == UseKind::Call { Faults::Likely } else { Faults::Certain });
        if let Some(uses) = &mut self.found.uses {
            uses.push(Use {
                place,
                owner: format!("{NOTHING}{}", on.and_then(Shape::key).unwrap_or_default()).into(),
                member: Some(name.to_owned()),
                certain: true,
                kind,
                call: None,
            });
        }
    }

    /// Returns the number of uses recorded so far.
    fn uses(&self) -> usize {
        self.found.uses.as_ref().map_or(0, Vec::len)
    }

    /// Sets the kind of the uses of members after the first `from` uses: of those at `place`, or of all.
    fn set_use_kind(&mut self, kind: UseKind, from: usize, place: Option<u32>) {
        let uses = self.found.uses.iter_mut().flat_map(|uses| uses.iter_mut().skip(from));
        for used in uses.filter(|used| used.member.is_some() && place.is_none_or(|place| place == used.place)) {
            used.kind = kind;
        }
    }

    /// Whether a simple name may bind to an unknown member: of a base that nothing declares, or of such a type in a `using static`.
    fn is_open_scope(&self) -> bool {
        let unknown = |shape: &Shape| !shape.is_known() || shape.key().is_some_and(|key| key.starts_with('^'));
        self.statics.iter().any(unknown) || self.around.iter().any(|own| self.world.levels(own).iter().any(unknown))
    }

    /// Records the use of a member of an unknown type.
    fn record_possible(&mut self, member: &str, place: u32, call: Option<Call>) {
        self.fault(Faults::Likely);
        if let Some(uses) = &mut self.found.uses {
            uses.push(Use {
                place,
                owner: UNKNOWN.into(),
                member: Some(member.to_owned()),
                certain: false,
                kind: UseKind::of(member, call.as_ref()),
                call,
            });
        }
    }

    /// Records the name of a member that the type of a value does not seem to have. If the type is outside the workspace, the name refers
    /// to no member of the workspace, unless an extension member in scope has that name; otherwise it may refer to an unknown member.
    fn record_missing_member(&mut self, on: &Shape, member: &str, place: u32, call: Option<Call>) {
        // The code probably compiles: if .NET declares no such member, an extension member in scope may take the value, although it seems
        // not to.
        let is_called = call.is_some();
        let may_extend = self.is_outside(on)
            && self
                .open_extensions(member)
                .any(|one| one.is_extension_property() || is_called && one.is_method());
        if may_extend {
            // All members of .NET's types are known, but not those of undeclared types.
            let extension = matches!(on, Shape::Array(_)) || on.key().is_some_and(|key| key.starts_with('~'));
            self.record_possible(member, place, call.map(|call| Call { extension, ..call }));
        } else if self.is_outside(on) {
            self.fault(Faults::Likely);
            self.record_non_member(place);
        } else {
            if self.is_closed(on) {
                let called = if call.is_some() { UseKind::Call } else { UseKind::Name };
                // A type parameter lacks a member that none of its bounds has.
                let bounds = match on {
                    Shape::Variable(name) => self.constraints.get(name).cloned().unwrap_or_default(),
                    on => vec![on.clone()],
                };
                for bound in &bounds {
                    self.record_unbound(Some(bound), member, place, called);
                }
            }
            self.record_possible(member, place, call);
        }
    }

    /// Whether all members of a type are known: the workspace declares it, and its bases are known. A type parameter has the members of its
    /// constraints.
    fn is_closed(&self, shape: &Shape) -> bool {
        if let Shape::Variable(name) = shape {
            let bounds = self.constraints.get(name).map(Vec::as_slice).unwrap_or_default();
            // An override, or another part of a partial type, does not repeat constraints.
            let is_closed = |bound: &Shape| !matches!(bound, Shape::Variable(_)) && self.is_closed(bound);
            return !bounds.is_empty() && bounds.iter().all(is_closed);
        }
        let is_own = shape.key().is_some_and(|key| !key.starts_with(['~', '^']));
        let unknown = |level: &Shape| !level.is_known() || level.key().is_some_and(|key| key.starts_with('^'));
        is_own && !self.world.levels(shape).iter().any(unknown)
    }

    /// Whether the workspace does not declare a type: .NET declares it, or no type of the workspace has its name.
    fn is_outside(&self, shape: &Shape) -> bool {
        let Some(key) = shape.key() else {
            return matches!(shape, Shape::Array(_));
        };
        key.starts_with('~') || key.strip_prefix('^').is_some_and(|name| !self.resolver.is_declared(name))
    }

    /// Records the use of a member.
    fn used(&mut self, owner: &Shape, member: &str, place: u32, certain: bool, call: Option<Call>) {
        if certain {
            self.record_inferred(owner);
        }
        if let (Some(uses), Some(key)) = (&mut self.found.uses, owner.key()) {
            uses.push(Use {
                place,
                owner: key.into(),
                member: Some(member.to_owned()),
                certain,
                kind: UseKind::of(member, call.as_ref()),
                call,
            });
        }
    }
}

/// Records a possible use of each type to which an ambiguous name may bind; returns whether there are any.
fn note_candidates(resolver: &Resolver<'_>, found: &mut UsesFound, name: &Name) -> bool {
    let candidates = resolver.ambiguous_types(name);
    let is_any = !candidates.is_empty();
    for owner in candidates {
        found.uses.iter_mut().for_each(|uses| {
            uses.push(Use {
                place: name.word.place,
                owner: owner.clone(),
                member: None,
                certain: false,
                kind: UseKind::Name,
                call: None,
            });
        });
    }
    is_any
}

fn note_shape(into: &mut BTreeSet<Rc<str>>, shape: &Shape) {
    shape.keys(&mut |key| {
        if !key.starts_with(['~', '^']) && !into.contains(key) {
            into.insert(key.clone());
        }
    });
}
