//! Types and members that code can reach: the rows of the member index that one type asked for, and .NET.

use super::dotnet::{self, MemberLine};
use super::member_index::{TypeLine, simple_name};
use super::row::Row;
use super::shape::Shape;
use engine::seams::producer::Failure;
use engine::values::table::Table;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// How many types a lookup goes through.
const MOST_LEVELS: usize = 96;

/// A member as found from a type: who declares it, with type arguments, and what it looks like there.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The declaring type.
    pub owner: Shape,
    /// Its line.
    pub line: MemberLine<'a>,
    /// Whether its keys are of .NET without a mark.
    pub outside: bool,
}

impl Candidate<'_> {
    /// Whether it is called.
    pub fn is_method(&self) -> bool {
        self.line.flags.starts_with(['m', 'x'])
    }

    /// Whether it is named through its type.
    pub fn is_static(&self) -> bool {
        self.line.flags.contains('s')
    }

    /// Its type or result in terms of the method's own parameters.
    pub fn result(&self) -> Shape {
        let declared = Shape::read(self.line.result, self.outside);
        let methods: Vec<Shape> = (0..self.line.arity).map(Shape::Method).collect();
        declared.substitute(self.owner.args(), &methods)
    }

    /// Its parameters: the word before the type (`out`, `params`, `opt`) and the type.
    pub fn parameters(&self) -> Vec<(&str, Shape)> {
        let methods: Vec<Shape> = (0..self.line.arity).map(Shape::Method).collect();
        if self.line.parameters.is_empty() {
            return Vec::new();
        }
        self.line
            .parameters
            .split(';')
            .map(|text| {
                let (word, text) = text.split_once(' ').unwrap_or(("", text));
                (word, Shape::read(text, self.outside).substitute(self.owner.args(), &methods))
            })
            .collect()
    }
}

/// Overloads of one type that a call is compared with. Of any of them the use is one of the same member.
const MOST_OVERLOADS: usize = 100;

/// Everything that can be reached.
pub struct World<'a> {
    table: Table<'a>,
    rows: RefCell<FxHashMap<Box<str>, Row<'a>>>,
    /// The rows looked at so far, in that order: a type whose own name was not asked for stands in one of them.
    seen: RefCell<Vec<Row<'a>>>,
    lines: RefCell<FxHashMap<Rc<str>, Known>>,
    levels: RefCell<FxHashMap<Rc<str>, Rc<[Shape]>>>,
}

/// What is known of a key.
enum Known {
    Type(Rc<TypeLine>),
    /// It is not in the first so many of the rows that were looked at.
    NotIn(usize),
}

impl<'a> World<'a> {
    /// Reads a slice of the member index.
    ///
    /// # Errors
    /// When it is no table.
    pub fn read(blob: &'a [u8]) -> Result<Self, Failure> {
        let table = Table::open(blob).ok_or_else(|| Failure::permanent("input 'members' is not a table"))?;
        Ok(Self {
            table,
            rows: RefCell::default(),
            seen: RefCell::default(),
            lines: RefCell::default(),
            levels: RefCell::default(),
        })
    }

    fn row(&self, name: &str) -> Row<'a> {
        if let Some(row) = self.rows.borrow().get(name) {
            return *row;
        }
        let row = Row::of(self.table.get(name).unwrap_or_default());
        self.rows.borrow_mut().insert(name.into(), row);
        if !row.types.is_empty() {
            self.seen.borrow_mut().push(row);
        }
        row
    }

    /// Keys of the types that declare a member of that name, sorted.
    pub fn declaring(&self, name: &str) -> Vec<&'a str> {
        let mut keys: Vec<&str> = self.row(name).members().map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// What is known of a type of the workspace.
    pub fn type_line(&self, key: &str) -> Option<Rc<TypeLine>> {
        if key.starts_with(['~', '^']) {
            return None;
        }
        let before = match self.lines.borrow().get(key) {
            Some(Known::Type(line)) => return Some(line.clone()),
            Some(Known::NotIn(rows)) => *rows,
            None => 0,
        };
        let own = self.row(simple_name(key));
        let seen = self.seen.borrow();
        let mut rows = std::iter::once(&own).chain(seen[before..].iter().rev());
        let found = rows.find_map(|row| row.type_line(key)).map(|rest| Rc::new(TypeLine::read(rest)));
        let known = found.clone().map_or(Known::NotIn(seen.len()), Known::Type);
        self.lines.borrow_mut().insert(key.into(), known);
        found
    }

    /// Kind letter of a named type, ` ` when it is not known.
    pub fn kind(&self, key: &str) -> char {
        match key.strip_prefix('~') {
            Some(outside) => dotnet::get(outside).map_or(' ', |outside| outside.kind),
            None => self.type_line(key).map_or(' ', |line| line.kind),
        }
    }

    /// A type and all its bases, nearest first, in terms of its own parameters.
    fn levels_of_key(&self, key: &Rc<str>, arguments: usize) -> Rc<[Shape]> {
        if let Some(levels) = self.levels.borrow().get(key) {
            return levels.clone();
        }
        let own: Vec<Shape> = (0..arguments).map(|at| Shape::Own(at as u32)).collect();
        let mut levels = vec![Shape::Named(key.clone(), own.into())];
        let mut complete = true;
        if !key.starts_with(['~', '^']) {
            match self.type_line(key) {
                Some(line) => levels.extend(line.bases.iter().cloned()),
                None => complete = false,
            }
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
        if complete {
            self.levels.borrow_mut().insert(key.clone(), levels.clone());
        }
        levels
    }

    /// A type and all its bases with type arguments in place.
    pub fn levels(&self, shape: &Shape) -> Vec<Shape> {
        match shape {
            Shape::Named(key, args) => {
                let levels = self.levels_of_key(key, args.len());
                if args.is_empty() {
                    return levels.to_vec();
                }
                levels.iter().map(|level| level.substitute(args, &[])).collect()
            }
            Shape::Array(element) => {
                let args: Rc<[Shape]> = Rc::from([(**element).clone()]);
                let mut levels = vec![shape.clone()];
                levels.extend(
                    [
                        "IList`1",
                        "IReadOnlyList`1",
                        "ICollection`1",
                        "IReadOnlyCollection`1",
                        "IEnumerable`1",
                    ]
                    .map(|name| Shape::Named(format!("~System.Collections.Generic.{name}").into(), args.clone())),
                );
                levels.push(Shape::plain("~System.Array"));
                levels.push(Shape::plain("~System.Collections.IEnumerable"));
                levels
            }
            _ => vec![shape.clone()],
        }
    }

    /// Members of a name that one type declares itself.
    pub fn declared(&self, owner: &Shape, name: &str, into: &mut Vec<Candidate<'a>>) {
        let Some(key) = owner.key() else { return };
        if let Some(outside) = key.strip_prefix('~') {
            if let Some(found) = dotnet::get(outside) {
                into.extend(found.members(name).map(|line| Candidate {
                    owner: owner.clone(),
                    line,
                    outside: true,
                }));
            }
            return;
        }
        let constructor = name == ".ctor";
        let row = self.row(if constructor { simple_name(key) } else { name });
        let lines = row.members_of(key, constructor).take(MOST_OVERLOADS);
        into.extend(lines.filter_map(|line| {
            Some(Candidate {
                owner: owner.clone(),
                line: MemberLine::read(line)?,
                outside: false,
            })
        }));
    }

    /// Members of a name as seen from a type: a value hides everything further out, methods overload. Members of interfaces are none of
    /// the classes that implement them.
    pub fn lookup(&self, shape: &Shape, name: &str) -> Vec<Candidate<'a>> {
        let mut found = Vec::new();
        let interfaces = matches!(self.kind(shape.key().unwrap_or("")), 'i' | ' ');
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
            if at > 0 && !interfaces && found[before..].iter().any(|candidate| candidate.line.flags.ends_with('i')) {
                found.truncate(before);
            }
            if found[before..].iter().any(|candidate| !candidate.is_method()) {
                if before > 0 {
                    found.truncate(before);
                }
                return found;
            }
        }
        if found.is_empty() && shape.is_known() {
            if self.kind(shape.key().unwrap_or("")) == 'e' {
                self.declared(&Shape::plain("~System.Enum"), name, &mut found);
            }
            self.declared(&Shape::plain("~System.Object"), name, &mut found);
        }
        found
    }

    /// Extension methods of a name that the workspace declares.
    pub fn extensions(&self, name: &str) -> Vec<Candidate<'a>> {
        let extensions = self.row(name).extensions();
        let mut found: Vec<Candidate<'_>> = extensions
            .filter_map(|(key, line)| {
                Some(Candidate {
                    owner: Shape::plain(key),
                    line: MemberLine::read(line)?,
                    outside: false,
                })
            })
            .collect();
        found.sort_by(|a, b| (a.owner.key(), a.line.parameters).cmp(&(b.owner.key(), b.line.parameters)));
        found
    }

    /// The base of a type that has this key, with its arguments, if it has one.
    pub fn as_base(&self, shape: &Shape, key: &str) -> Option<Shape> {
        if shape.key() == Some(key) {
            return Some(shape.clone());
        }
        self.levels(shape).into_iter().find(|level| level.key() == Some(key))
    }

    /// Parameters and result of a delegate type.
    pub fn delegate(&self, shape: &Shape) -> Option<(Vec<Shape>, Shape)> {
        let Shape::Named(key, args) = shape else { return None };
        if &**key == "~System.Linq.Expressions.Expression`1" {
            return self.delegate(args.first()?);
        }
        if let Some(outside) = key.strip_prefix('~') {
            let found = dotnet::get(outside).filter(|found| found.kind == 'd')?;
            let line = found.members("Invoke").next()?;
            let candidate = Candidate {
                owner: shape.clone(),
                line,
                outside: true,
            };
            let parameters = candidate.parameters().into_iter().map(|(_, shape)| shape).collect();
            return Some((parameters, candidate.result()));
        }
        let line = self.type_line(key)?;
        let (result, parameters) = line.invoke.as_ref()?;
        let read = |text: &str| {
            let text = text.split_once(' ').map_or(text, |(_, text)| text);
            Shape::read(text, false).substitute(args, &[])
        };
        let parameters = if parameters.is_empty() {
            Vec::new()
        } else {
            parameters.split(';').map(read).collect()
        };
        Some((parameters, read(result)))
    }

    /// What a loop over it gives.
    pub fn element(&self, shape: &Shape) -> Shape {
        match shape {
            Shape::Array(element) => return (**element).clone(),
            Shape::Named(key, args) => match &**key {
                "~System.String" => return Shape::plain("~System.Char"),
                "~System.Span`1" | "~System.ReadOnlySpan`1" => return args.first().cloned().unwrap_or_default(),
                _ => {}
            },
            _ => return Shape::Unknown,
        }
        for level in self.levels(shape) {
            if matches!(
                level.key(),
                Some("~System.Collections.Generic.IEnumerable`1" | "~System.Collections.Generic.IAsyncEnumerable`1")
            ) {
                return level.args().first().cloned().unwrap_or_default();
            }
        }
        let enumerator = self
            .lookup(shape, "GetEnumerator")
            .first()
            .map(Candidate::result)
            .unwrap_or_default();
        match self.lookup(&enumerator, "Current").first() {
            Some(current) => current.result(),
            // A type that nobody declares, with one argument, is a collection of it more often than not.
            None if shape.key().is_some_and(|key| key.starts_with('^')) && shape.args().len() == 1 => shape.args()[0].clone(),
            None => Shape::Unknown,
        }
    }
}
