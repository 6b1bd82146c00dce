//! Types and members that code can reach: those of .NET, and the workspace's declarations, each looked up when binding needs it.

use super::candidate::Types;
pub use super::candidate::{Candidate, INDEXER};
use super::declarations::{TypeLine, extension_key, member_key};
use super::dotnet::{self, MemberLine};
use super::lookups::Lookups;
use super::modifiers::Modifiers;
use super::resolve::{all_parameters, predefined};
use super::shape::Shape;
use crate::code::integer_range::IntegerRange;
use crate::types::symbol_of;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::str::Lines;

/// Name of the line for the builder of a collection type: its result is the type that declares the method, which the field of names has.
pub const BUILDER: &str = "[]";

/// Name of the line for the bounds of a type's own type parameters, which its field of constraints has.
pub const BOUNDS: &str = "<>";

/// Maximum number of types that a lookup visits.
const MOST_LEVELS: usize = 96;

/// Maximum number of overloads of one type that a call considers. A use of any overload is a use of the same member.
const MOST_OVERLOADS: usize = 100;

/// Maximum number of constants of other types that lead to the value of a constant.
const MOST_ORIGINS: usize = 8;

/// Maximum number of bases of a type that are visited.
const MOST_BASES: usize = 64;

/// The types and members that code can reach.
pub struct World<'a> {
    lookups: &'a Lookups<'a>,
    lines: RefCell<FxHashMap<Rc<str>, Option<Rc<TypeLine>>>>,
    levels: RefCell<FxHashMap<Rc<str>, Rc<[Shape]>>>,
    /// By key and name, the members that the type itself declares.
    declared: RefCell<ByName<Lined<'a>>>,
    /// By key and name, the members found from a type without arguments.
    found: RefCell<ByName<Candidate<'a>>>,
    /// By name, the extension methods that the workspace declares, and those of .NET.
    extensions: RefCell<FxHashMap<Box<str>, Extensions<'a>>>,
    /// Number of nested calls of [`Self::complete`].
    pub(super) depth: Cell<u32>,
}

/// The extension methods of a name: those that the workspace declares, and those of .NET.
type Extensions<'a> = [Rc<[Candidate<'a>]>; 2];

/// Members by the key of a type and their name.
type ByName<T> = FxHashMap<Rc<str>, FxHashMap<Box<str>, Rc<[T]>>>;

/// A line and its types.
type Lined<'a> = (MemberLine<'a>, Rc<Types>);

/// Whether a member with these flags is a property or field that heirs inherit: not static, and no member of an interface.
fn is_value(flags: &str) -> bool {
    flags.starts_with('p') && !flags.contains(['s', 'i'])
}

impl<'a> World<'a> {
    /// Creates the world of the types and members that these lookups reach.
    pub fn new(lookups: &'a Lookups<'a>) -> Self {
        Self {
            lookups,
            lines: RefCell::default(),
            levels: RefCell::default(),
            declared: RefCell::default(),
            found: RefCell::default(),
            extensions: RefCell::default(),
            depth: Cell::default(),
        }
    }

    /// Returns the facts of a type of the workspace.
    pub fn type_line(&self, key: &str) -> Option<Rc<TypeLine>> {
        if key.starts_with(['~', '^']) {
            return None;
        }
        if let Some(known) = self.lines.borrow().get(key) {
            return known.clone();
        }
        let row = self.lookups.row_text(key);
        let found = (!row.is_empty()).then(|| Rc::new(TypeLine::from_row(row)));
        self.lines.borrow_mut().insert(key.into(), found.clone());
        found
    }

    /// Returns the direct and indirect bases of a type of the workspace, nearest first, in terms of its own parameters.
    fn bases(&self, key: &str) -> Vec<Shape> {
        let mut bases: Vec<Shape> = Vec::new();
        let line = self.type_line(key);
        let own = line.iter().flat_map(|line| line.bases.iter());
        let mut open: Vec<Shape> = own.map(|base| self.complete_base(base, key)).collect();
        let mut at = 0;
        while at < open.len() && bases.len() < MOST_BASES {
            let base = open[at].clone();
            at += 1;
            if bases.contains(&base) {
                continue;
            }
            if let Some(of) = base.key()
                && let Some(next) = self.type_line(of)
            {
                let further = next.bases.iter().map(|further| self.complete_base(further, of));
                open.extend(further.map(|further| further.substitute(base.args(), &[]).bounded()));
            }
            bases.push(base);
            if open.len() > 4 * MOST_BASES {
                break;
            }
        }
        bases
    }

    /// Whether a base class has a value of that name, so that a positional parameter declares no property.
    pub fn inherits_value(&self, owner: &Shape, name: &str) -> bool {
        let is_class = |base: &&str| self.type_line(base).is_some_and(|line| line.kind != 'i');
        let levels = self.levels(owner);
        let mut classes = levels.iter().skip(1).filter_map(Shape::key).filter(is_class);
        classes.any(|base| {
            let mut flags = self.members_of(base, name).filter_map(|line| line.split('\t').next());
            flags.any(is_value)
        })
    }

    /// Returns the lines of the members of a name that a type of the workspace itself declares.
    fn members_of(&self, key: &str, name: &str) -> Lines<'a> {
        self.lookups.row_text(&member_key(key, name)).lines()
    }

    /// Returns the kind letter of a named type, ` ` if it is unknown.
    pub fn kind(&self, key: &str) -> char {
        match key.strip_prefix('~') {
            Some(outside) => dotnet::get(outside).map_or(' ', |outside| outside.kind),
            None => self.type_line(key).map_or(' ', |line| line.kind),
        }
    }

    /// Returns a type and all its bases, nearest first, in terms of its own parameters.
    fn levels_of_key(&self, key: &Rc<str>) -> Rc<[Shape]> {
        if let Some(levels) = self.levels.borrow().get(key) {
            return levels.clone();
        }
        let own: Vec<Shape> = (0..all_parameters(symbol_of(key))).map(Shape::Own).collect();
        let mut levels = vec![Shape::Named(key.clone(), own.into())];
        match self.kind(key) {
            'e' => {}
            _ => levels.extend(self.bases(key)),
        }
        match self.kind(key) {
            'e' if !key.starts_with('~') => levels.push(Shape::of_key("~System.Enum")),
            'd' => levels.push(Shape::of_key("~System.MulticastDelegate")),
            's' => levels.push(Shape::of_key("~System.ValueType")),
            _ => {}
        }
        let mut at = 0;
        while at < levels.len() && levels.len() < MOST_LEVELS {
            if let Shape::Named(key, args) = levels[at].clone()
                && let Some(outside) = key.strip_prefix('~').and_then(dotnet::get)
            {
                for base in outside.bases() {
                    let base = base.substitute(&args, &[]);
                    if !levels.contains(&base) {
                        levels.push(base);
                    }
                }
            }
            at += 1;
        }
        let levels: Rc<[Shape]> = levels.into();
        self.levels.borrow_mut().insert(key.clone(), levels.clone());
        levels
    }

    /// Returns a type and all its bases, with its type arguments filled in.
    pub fn levels(&self, shape: &Shape) -> Vec<Shape> {
        match shape {
            Shape::Named(key, args) => {
                let levels = self.levels_of_key(key);
                if args.is_empty() && levels[0].args().is_empty() {
                    return levels.to_vec();
                }
                // A name without type arguments may mean a generic type: `cref`.
                let bases = levels.iter().skip(1).map(|level| level.substitute(args, &[]));
                std::iter::once(shape.clone()).chain(bases).collect()
            }
            Shape::Array(element) => {
                let args: Rc<[Shape]> = Rc::from([(**element).clone()]);
                let mut levels = vec![shape.clone()];
                levels.extend(
                    [
                        "IList`1", "IReadOnlyList`1", "ICollection`1", "IReadOnlyCollection`1", "IEnumerable`1",
                    ]
                    .map(|name| Shape::Named(format!("~System.Collections.Generic.{name}").into(), args.clone())),
                );
                let others = [
                    "Array", "Collections.IList", "Collections.ICollection", "Collections.IEnumerable", "ICloneable",
                ];
                levels.extend(others.map(|name| Shape::of_key(&format!("~System.{name}"))));
                levels
            }
            _ => vec![shape.clone()],
        }
    }

    /// Adds the members of a name that one type itself declares.
    pub fn declared(&self, owner: &Shape, name: &str, into: &mut Vec<Candidate<'a>>) {
        let Some(key) = owner.key() else { return };
        let known = self.declared.borrow().get(key).and_then(|names| names.get(name).cloned());
        let lines = known.unwrap_or_else(|| {
            let lines: Rc<[_]> = self.own_lines(key, name).into_iter().map(|line| (line, Rc::default())).collect();
            let mut declared = self.declared.borrow_mut();
            declared.entry(key.into()).or_default().insert(name.into(), lines.clone());
            lines
        });
        let outside = key.starts_with('~');
        let lines = lines
            .iter()
            .filter(|(line, _)| line.flags != "pr" || !self.inherits_value(owner, name));
        into.extend(lines.map(|(line, types)| Candidate {
            owner: owner.clone(),
            line: *line,
            outside,
            types: types.clone(),
        }));
    }

    /// Returns the bounds of a type's own type parameters: the number of one, those of enclosing types first, and a type.
    pub fn bounds(&self, of: &Shape) -> Vec<(usize, Shape)> {
        let mut found = Vec::new();
        self.declared(of, BOUNDS, &mut found);
        let bounds = found.iter().flat_map(Candidate::limits);
        bounds
            .map(|(at, bound)| (at, Shape::read(bound, false).substitute(of.args(), &[])))
            .collect()
    }

    /// Returns the lines of the members of a name that the type of a key itself declares.
    fn own_lines(&self, key: &str, name: &str) -> Vec<MemberLine<'a>> {
        match key.strip_prefix('~') {
            Some(outside) => dotnet::get(outside).into_iter().flat_map(|found| found.members(name)).collect(),
            None => self
                .members_of(key, name)
                .filter_map(MemberLine::read)
                .take(MOST_OVERLOADS)
                .collect(),
        }
    }

    /// Returns the members of a name as seen from a type. A value hides all members of further bases; methods and indexers overload those. A
    /// class does not have the members of the interfaces that it implements.
    pub fn lookup(&self, shape: &Shape, name: &str) -> Vec<Candidate<'a>> {
        let Shape::Named(key, args) = shape else {
            return self.candidates_named(shape, name, &|_| true);
        };
        if !args.is_empty() {
            return self.candidates_named(shape, name, &|_| true);
        }
        if let Some(found) = self.found.borrow().get(key).and_then(|names| names.get(name)) {
            return found.to_vec();
        }
        let found = self.candidates_named(shape, name, &|_| true);
        let mut all = self.found.borrow_mut();
        all.entry(key.clone()).or_default().insert(name.into(), found.as_slice().into());
        found
    }

    /// Like [`Self::lookup`], without members that the code cannot access, which hide no others; with all members if it can access none.
    pub fn lookup_seen(&self, shape: &Shape, name: &str, sees: &dyn Fn(&Candidate<'a>) -> bool) -> Vec<Candidate<'a>> {
        let found = self.lookup(shape, name);
        if found.iter().all(sees) {
            return found;
        }
        let seen = self.candidates_named(shape, name, sees);
        if seen.is_empty() { found } else { seen }
    }

    fn candidates_named(&self, shape: &Shape, name: &str, sees: &dyn Fn(&Candidate<'a>) -> bool) -> Vec<Candidate<'a>> {
        let mut found = Vec::new();
        // An array does not have the members of its interfaces.
        let interfaces = !matches!(shape, Shape::Array(_)) && matches!(self.kind(shape.key().unwrap_or("")), 'i' | ' ');
        for (at, level) in self.levels(shape).into_iter().enumerate() {
            let before = found.len();
            if at > 0
                && !interfaces
                && level
                    .key()
                    .and_then(|key| key.strip_prefix('~'))
                    .and_then(dotnet::get)
                    .is_some_and(|outside| outside.kind == 'i')
            {
                continue;
            }
            self.declared(&level, name, &mut found);
            if found[before..].iter().any(|one| !sees(one)) {
                let seen: Vec<Candidate<'a>> = found.drain(before..).filter(sees).collect();
                found.extend(seen);
            }
            if at > 0 && !interfaces && found[before..].iter().any(|candidate| candidate.line.flags.ends_with('i')) {
                found.truncate(before);
            }
            if found[before..].iter().any(|candidate| !candidate.is_overloadable(name)) {
                if before > 0 {
                    found.truncate(before);
                }
                return found;
            }
        }
        if found.is_empty() && shape.is_known() {
            self.declared(&Shape::of_key("~System.Object"), name, &mut found);
        }
        found
    }

    /// Returns the range of the value of a constant of the type `int` or `long`.
    pub fn range_of_constant(&self, constant: &Candidate<'a>) -> Option<IntegerRange> {
        let mut of = constant.clone();
        for _ in 0..MOST_ORIGINS {
            let Some(range) = of.range_of_own_value() else {
                let (key, name) = of.origin()?;
                of = self.lookup(&Shape::of_key(key), name).into_iter().next()?;
                continue;
            };
            return Some(match constant.result() == predefined("long") {
                true if range.is_negative() => IntegerRange::NegativeLong,
                true => IntegerRange::Long,
                false => range,
            });
        }
        None
    }

    /// Returns the extension methods of a name that the workspace declares.
    pub fn extensions(&self, name: &str) -> Rc<[Candidate<'a>]> {
        let [own, _] = self.all_extensions(name);
        own
    }

    /// Returns the extension methods of a name that .NET declares.
    pub fn outside_extensions(&self, name: &str) -> Rc<[Candidate<'a>]> {
        let [_, outside] = self.all_extensions(name);
        outside
    }

    fn all_extensions(&self, name: &str) -> Extensions<'a> {
        if let Some(known) = self.extensions.borrow().get(name) {
            return known.clone();
        }
        let extensions = self.lookups.row_text(&extension_key(name)).lines();
        let mut own: Vec<Candidate<'_>> = extensions
            .filter_map(|line| {
                let (key, line) = line.split_once('\t')?;
                Some(Candidate::new(Shape::of_key(key), MemberLine::read(line)?, false))
            })
            .collect();
        own.sort_by(|a, b| (a.owner.key(), a.line.parameters).cmp(&(b.owner.key(), b.line.parameters)));
        let outside = dotnet::extensions(name).iter().filter_map(|(owner, line)| {
            let owner = Shape::of_key(&format!("~{owner}"));
            Some(Candidate::new(owner, MemberLine::read(line)?, true))
        });
        let found = [own.into(), outside.collect()];
        self.extensions.borrow_mut().insert(name.into(), found.clone());
        found
    }

    /// Returns the base of a type that has this key, with its arguments, if there is one.
    pub fn as_base(&self, shape: &Shape, key: &str) -> Option<Shape> {
        if shape.key() == Some(key) {
            return Some(shape.clone());
        }
        let Shape::Named(own, args) = shape else {
            return self.levels(shape).into_iter().find(|level| level.key() == Some(key));
        };
        let levels = self.levels_of_key(own);
        let may_be = |level: &&Shape| !matches!(level, Shape::Named(own, _) if **own != *key);
        // A name without type arguments may mean a generic type.
        let is_plain = args.is_empty() && levels[0].args().is_empty();
        let filled = |level: &Shape| match is_plain {
            true => level.clone(),
            false => level.substitute(args, &[]),
        };
        levels.iter().filter(may_be).map(filled).find(|level| level.key() == Some(key))
    }

    /// Returns the type of the numbers that an enum's members stand for; unknown for one of .NET.
    pub fn underlying(&self, of: &Shape) -> Shape {
        match of.key().and_then(|key| self.type_line(key)) {
            Some(line) => line.bases.first().cloned().unwrap_or_else(|| predefined("int")),
            None => Shape::Unknown,
        }
    }

    /// Returns the parameters and the result of a delegate type.
    pub fn delegate(&self, shape: &Shape) -> Option<(Vec<Shape>, Shape)> {
        let Shape::Named(key, args) = shape else { return None };
        if &**key == "~System.Linq.Expressions.Expression`1" {
            return self.delegate(args.first()?);
        }
        if let Some(outside) = key.strip_prefix('~') {
            if dotnet::get(outside).is_none_or(|found| found.kind != 'd') {
                return None;
            }
            let mut invoke = Vec::new();
            self.declared(shape, "Invoke", &mut invoke);
            let candidate = invoke.first()?;
            let parameters = candidate.parameters().into_owned().into_iter().map(|(_, shape)| shape).collect();
            return Some((parameters, candidate.result()));
        }
        let line = self.type_line(key)?;
        let (result, parameters) = line.invoke.as_ref()?;
        let read = |text: &str| Shape::read(Modifiers::split_from_type(text).1, false).substitute(args, &[]);
        let parameters = if parameters.is_empty() {
            Vec::new()
        } else {
            parameters.split(';').map(read).collect()
        };
        Some((parameters, read(result)))
    }

    /// Returns the type of the elements that a loop over a value of this type gets.
    pub fn element(&self, shape: &Shape) -> Shape {
        match shape {
            Shape::Array(element) => return (**element).clone(),
            Shape::Named(key, args) => match &**key {
                "~System.String" => return Shape::of_key("~System.Char"),
                "~System.Span`1" | "~System.ReadOnlySpan`1" | "~System.Runtime.CompilerServices.ConfiguredCancelableAsyncEnumerable`1" => {
                    return args.first().cloned().unwrap_or_default();
                }
                _ => {}
            },
            _ => return Shape::Unknown,
        }
        let enumerator = || {
            self.lookup(shape, "GetEnumerator")
                .first()
                .map(Candidate::result)
                .unwrap_or_default()
        };
        let current = |enumerator: &Shape| self.lookup(enumerator, "Current").first().map(Candidate::result);
        // A loop prefers members that the type itself declares to those of an interface.
        let is_own = |key: &str| !key.starts_with(['~', '^']) && self.kind(key) != 'i';
        if shape.key().is_some_and(is_own)
            && let Some(element) = current(&enumerator())
        {
            return element;
        }
        for level in self.levels(shape) {
            if matches!(
                level.key(),
                Some("~System.Collections.Generic.IEnumerable`1" | "~System.Collections.Generic.IAsyncEnumerable`1")
            ) {
                return level.args().first().cloned().unwrap_or_default();
            }
        }
        match current(&enumerator()) {
            Some(element) => element,
            // An undeclared type with one type argument is usually a collection of it.
            None if shape.key().is_some_and(|key| key.starts_with('^')) && shape.args().len() == 1 => shape.args()[0].clone(),
            None => Shape::Unknown,
        }
    }
}
