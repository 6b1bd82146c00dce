//! Values of a type's integer constants, as far as its own constants make them up.

use super::code;
use super::code::ast::{Expression, Literal, Statement};
use super::code::constants::{Constant, constant_value};
use super::code::integer_range::IntegerRange;
use super::complete::Complete;
use super::model::{Member, MemberKind};
use super::types::simple_name;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Maximum number of constants that lead from one to the value of another.
const DEEPEST: u32 = 32;

/// The integer constants of a type.
#[derive(Default)]
pub(crate) struct OwnConstants<'c> {
    /// Name of the type.
    owner: &'c str,
    members: FxHashMap<&'c str, &'c Member>,
    /// Values found so far; `None` also while a value is being found.
    known: RefCell<FxHashMap<&'c str, Option<Constant>>>,
}

impl<'c> OwnConstants<'c> {
    pub(crate) fn from_type(whole: &'c Complete) -> Self {
        let members = whole.members.iter().map(|placed| &placed.member);
        let constants = members.filter(|member| member.kind == MemberKind::Constant);
        Self {
            owner: simple_name(&whole.symbol),
            members: constants.map(|member| (member.name.as_str(), member)).collect(),
            known: RefCell::default(),
        }
    }

    /// Returns the range of the value of a constant of the type `int` or `long`.
    pub(crate) fn range_of(&self, member: &Member) -> Option<IntegerRange> {
        let kind = type_of_constant(member).filter(|kind| matches!(*kind, "int" | "long"))?;
        if let Some(value) = self.value_of(&member.name, DEEPEST) {
            return value.to_range();
        }
        match code::body(&member.body, false).as_slice() {
            [Statement::Return(Expression::Literal(Literal::Default, _))] if kind == "int" => Some(IntegerRange::SByte),
            [Statement::Return(value)] if kind == "int" => value.integer_range(),
            _ => None,
        }
    }

    /// Returns the path of the other type's constant that a constant of the type `int` or `long` is set to, such as `Limits.Most`.
    pub(crate) fn path_of_origin(&self, member: &Member) -> Option<String> {
        type_of_constant(member).filter(|kind| matches!(*kind, "int" | "long"))?;
        let body = code::body(&member.body, false);
        let [Statement::Return(value)] = body.as_slice() else { return None };
        let mut value = value;
        while let Expression::Chain(inner, links) = value
            && links.is_empty()
        {
            value = inner;
        }
        let path = value.member_path().filter(|path| path.len() > 1)?;
        let names: Vec<&str> = path
            .iter()
            .filter(|name| name.args.is_empty())
            .map(|name| name.word.text.as_str())
            .collect();
        (names.len() == path.len() && self.range_of(member).is_none()).then(|| names.join("."))
    }

    /// Returns the value of a constant by its name, which may follow the name of the type.
    fn value_of(&self, path: &str, depth: u32) -> Option<Constant> {
        let own = path.strip_prefix(self.owner).and_then(|rest| rest.strip_prefix('.'));
        let (&name, member) = self.members.get_key_value(own.unwrap_or(path).trim_start_matches('@'))?;
        if let Some(known) = self.known.borrow().get(name) {
            return *known;
        }
        let depth = depth.checked_sub(1)?;
        self.known.borrow_mut().insert(name, None);
        let value = constant_value(&member.body, &mut |path| self.value_of(path, depth));
        let value = value.and_then(|value| value.cast(type_of_constant(member)?));
        self.known.borrow_mut().insert(name, value);
        value
    }
}

/// Returns the type of a constant as written; `None` for other members.
fn type_of_constant(member: &Member) -> Option<&str> {
    let mut words = member.signature.split(' ').skip_while(|word| *word != "const");
    words.nth(1).filter(|_| member.kind == MemberKind::Constant)
}
