//! Members as code finds them from a type.

use super::dotnet::MemberLine;
use super::modifiers::Modifiers;
use super::shape::Shape;
use crate::code::integer_range::IntegerRange;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;

/// The name of indexers.
pub const INDEXER: &str = "this[]";

/// A member as found from a type: its declaring type with type arguments, and its signature there.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The declaring type.
    pub owner: Shape,
    /// The line of the member.
    pub line: MemberLine<'a>,
    /// Whether its keys are those of .NET, without a mark.
    pub outside: bool,
    pub(super) types: Rc<Types>,
}

/// The types of a member as its line declares them, parsed on first use.
#[derive(Debug, Default)]
pub(super) struct Types {
    result: OnceCell<Shape>,
    parameters: OnceCell<Vec<(Modifiers, Shape)>>,
    /// The parameters for an owner without type arguments.
    plain: OnceCell<Vec<(Modifiers, Shape)>>,
}

impl<'a> Candidate<'a> {
    /// Creates a member of a type from its line.
    pub fn new(owner: Shape, line: MemberLine<'a>, outside: bool) -> Self {
        Self {
            owner,
            line,
            outside,
            types: Rc::default(),
        }
    }

    /// Whether a member of this name may have overloads, also in bases: a method, an operator, an extension member or an indexer.
    pub(super) fn is_overloadable(&self, name: &str) -> bool {
        self.is_method() || name == INDEXER
    }

    /// Whether it is a method, an operator or an extension member.
    pub fn is_method(&self) -> bool {
        self.line.flags.starts_with(['m', 'o', 'x'])
    }

    /// Whether it is the property of an extension block.
    pub fn is_extension_property(&self) -> bool {
        self.line.flags.starts_with("xsp")
    }

    /// Whether it is the operator of an extension block.
    pub fn is_extension_operator(&self) -> bool {
        self.line.flags.starts_with("xo")
    }

    /// Whether it extends a type, not its values.
    pub fn extends_type(&self) -> bool {
        self.line.flags.starts_with('x') && self.line.flags.ends_with('t')
    }

    /// Whether only its type can access it.
    pub fn is_private(&self) -> bool {
        self.line.flags.get(1..2) == Some("z")
    }

    /// Whether only its type and heirs can access it.
    pub fn is_of_family(&self) -> bool {
        self.line.flags.get(1..2) == Some("q")
    }

    /// Whether only the project that declares it, and its friends, can access it.
    pub fn is_internal(&self) -> bool {
        self.line.flags.get(1..2) == Some("n")
    }

    /// Whether it is a constant of the workspace.
    pub fn is_constant(&self) -> bool {
        !self.outside && !self.is_method() && self.line.flags.contains('k')
    }

    /// Returns the type and the name of the constant whose value a constant has.
    pub(super) fn origin(&self) -> Option<(&'a str, &'a str)> {
        self.line.names.split_once('#').filter(|_| self.is_constant())
    }

    /// Returns the range of the value of a constant of the type `int` or `long`, as far as it does not depend on another type.
    pub(super) fn range_of_own_value(&self) -> Option<IntegerRange> {
        let digits = self.line.flags.split_once('k').filter(|_| self.is_constant())?.1;
        IntegerRange::from_digit(digits.chars().next()?)
    }

    /// Whether it is named through its type.
    pub fn is_static(&self) -> bool {
        self.line.flags.contains('s')
    }

    /// Returns its type or result, in terms of the method's own parameters.
    pub fn result(&self) -> Shape {
        let declared = self.types.result.get_or_init(|| Shape::read(self.line.result, self.outside));
        declared.substitute(self.owner.args(), &self.methods())
    }

    /// Whether arguments for its first `count` parameters can determine all its own type parameters: each is in the type of one of these.
    pub fn is_inferable(&self, count: usize) -> bool {
        let arity = self.line.arity;
        let parameters = || self.line.parameters.split(';').take(count);
        (0..arity).all(|at| {
            let mark = format!("!!{at}");
            let names = |text: &str| {
                text.match_indices(&mark)
                    .any(|(start, _)| !text[start + mark.len()..].starts_with(|c: char| c.is_ascii_digit()))
            };
            parameters().any(names)
        })
    }

    /// Returns the names of its parameters; empty if they are unknown.
    pub fn names(&self) -> Vec<&'a str> {
        match self.line.names.is_empty() {
            true => Vec::new(),
            false => self.line.names.split(';').collect(),
        }
    }

    /// Returns its parameters: the modifiers and the type of each.
    pub fn parameters(&self) -> Cow<'_, [(Modifiers, Shape)]> {
        let read = |text: &str| {
            let (modifiers, kind) = Modifiers::split_from_type(text);
            (modifiers, Shape::read(kind, self.outside))
        };
        let declared = || {
            let parameters = self.line.parameters.split(';').filter(|text| !text.is_empty());
            self.types.parameters.get_or_init(|| parameters.map(read).collect())
        };
        let placed = || {
            let methods = self.methods();
            let place = |(modifiers, shape): &(Modifiers, Shape)| (*modifiers, shape.substitute(self.owner.args(), &methods));
            declared().iter().map(place).collect()
        };
        match self.owner.args() {
            [] => Cow::Borrowed(self.types.plain.get_or_init(placed)),
            _ => Cow::Owned(placed()),
        }
    }

    /// Returns the constraints of its own type parameters, by their number: `class`, `struct`, or a base as [`Shape`] writes it.
    pub fn limits(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let limits = self.line.limits.split(';');
        limits
            .filter_map(|limit| limit.split_once(' '))
            .filter_map(|(at, limit)| Some((at.parse().ok()?, limit)))
    }

    /// Returns its own type parameters.
    fn methods(&self) -> Vec<Shape> {
        (0..self.line.arity).map(Shape::Method).collect()
    }
}
