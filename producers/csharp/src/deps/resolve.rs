//! Resolves written types to shapes, in the surroundings of one part of a type.

use super::binder::{self, Binder, Bound, Surroundings};
use super::dotnet;
use super::index::{Entry, NameIndex};
use super::shape::Shape;
use crate::code::{self, ast::Name, ast::TypeRef};
use crate::mention_model::{MentionUsing, Place};
use crate::namespaces::{join_path, levels};
use crate::types::symbol_of;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// Namespaces that an SDK imports by default. If nothing else declares a name, the resolver searches these even if no project imports them,
/// because the code compiles somewhere.
pub const IMPLICIT: [&str; 6] = [
    "System", "System.Collections.Generic", "System.Linq", "System.IO", "System.Threading.Tasks", "System.Threading",
];

/// Key of a cached meaning: name, arity, whether in a base list.
type ResolvedName = (Box<str>, u32, bool);

/// Resolves types for one part.
pub struct Resolver<'a> {
    /// Surroundings of the part.
    pub around: Surroundings<'a>,
    /// The index of names.
    pub index: &'a NameIndex,
    /// Type parameters in scope of the type, outermost first.
    pub own: Vec<TypeParameter>,
    known: RefCell<FxHashMap<ResolvedName, Meaning>>,
    /// Ambiguous names, with the keys of the types to which they may bind.
    ambiguous: RefCell<FxHashMap<String, Vec<Rc<str>>>>,
    namespaces: OnceCell<FxHashSet<String>>,
}

/// A type parameter in scope.
#[derive(Clone)]
pub struct TypeParameter {
    /// Its name.
    pub name: Rc<str>,
    /// The type that it represents.
    pub shape: Shape,
    /// Whether it is constrained to value types, so that `T?` is `System.Nullable<T>`; for other type parameters `T?` is the same type as `T`.
    pub is_value: bool,
}

impl TypeParameter {
    /// Creates a type parameter that represents itself; `constraints` are those of all type parameters declared with it.
    pub fn variable(name: &str, constraints: &[(String, TypeRef)]) -> Self {
        Self::new(name, Shape::Variable(name.into()), constraints)
    }

    /// Creates a type parameter that represents `shape`; `constraints` are those of all type parameters declared with it.
    pub fn new(name: &str, shape: Shape, constraints: &[(String, TypeRef)]) -> Self {
        let is_struct = |written: &TypeRef| matches!(written, TypeRef::Predefined(word) if word == "struct");
        Self {
            name: name.into(),
            shape,
            is_value: constraints.iter().any(|(of, written)| of == name && is_struct(written)),
        }
    }
}

/// Meaning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A type of the workspace: key and the number of all its type parameters.
    Type(Rc<str>, u32),
    /// A type of .NET, `~` before its key.
    Outside(Rc<str>),
    /// Several types.
    Ambiguous,
    /// No declared type.
    Nothing,
}

impl<'a> Resolver<'a> {
    /// Creates a resolver. `numbered`: the type's own type parameters have numbers as their shapes, otherwise they are variables of the code.
    pub fn new(around: Surroundings<'a>, index: &'a NameIndex, parameters: &[String], numbered: bool) -> Self {
        let shape = |(at, name): (usize, &String)| match numbered {
            true => TypeParameter::new(name, Shape::Own(at as u32), &[]),
            false => TypeParameter::variable(name, &[]),
        };
        Self {
            around,
            index,
            own: parameters.iter().enumerate().map(shape).collect(),
            known: RefCell::default(),
            ambiguous: RefCell::default(),
            namespaces: OnceCell::new(),
        }
    }

    /// Returns the shape of a written type. `methods` are type parameters of members and local functions, innermost last; `see` receives every named
    /// type with the place of its name.
    pub fn shape(&self, written: &TypeRef, methods: &[TypeParameter], see: &mut dyn FnMut(&Shape, &Name)) -> Shape {
        self.shape_in(written, methods, Place::Body, see)
    }

    /// Like [`Self::shape`], for a type in a base list or elsewhere.
    pub fn shape_in(&self, written: &TypeRef, methods: &[TypeParameter], place: Place, see: &mut dyn FnMut(&Shape, &Name)) -> Shape {
        match written {
            TypeRef::Var(_) => Shape::Unknown,
            TypeRef::Named(segments) => self.resolve_name(segments, methods, place, see),
            TypeRef::Predefined(word) => predefined(word),
            TypeRef::Array(element) | TypeRef::Pointer(element) => {
                Shape::Array(Rc::new(self.shape_in(element, methods, place, see))).bounded()
            }
            TypeRef::Nullable(inner) => {
                let parameter = match &**inner {
                    TypeRef::Named(segments) => self.parameter(segments, methods),
                    _ => None,
                };
                let is_value_parameter = parameter.is_some_and(|parameter| parameter.is_value);
                let inner = self.shape_in(inner, methods, place, see);
                // The mark `?` changes only a value type to another type.
                let is_value = |key: &str| is_outside_value(key) || self.index.by_key(key).is_some_and(|entry| entry.value);
                match &inner {
                    _ if is_value_parameter => Shape::nullable(inner),
                    Shape::Named(key, _) if is_value(key) => Shape::nullable(inner),
                    _ => inner,
                }
            }
            TypeRef::Tuple(parts) => Shape::Tuple(
                parts
                    .iter()
                    .map(|(name, part)| (name.as_deref().map(Rc::from), self.shape_in(part, methods, place, see)))
                    .collect(),
            )
            .bounded(),
            TypeRef::Function(parts) => {
                for part in parts {
                    self.shape_in(part, methods, place, see);
                }
                Shape::Unknown
            }
        }
    }

    /// Returns the type parameter in scope that a path names.
    fn parameter<'p>(&'p self, segments: &[Name], methods: &'p [TypeParameter]) -> Option<&'p TypeParameter> {
        let [only] = segments else { return None };
        let mut all = methods.iter().rev().chain(self.own.iter().rev());
        all.find(|own| only.args.is_empty() && *own.name == *only.word.text)
    }

    fn resolve_name(&self, segments: &[Name], methods: &[TypeParameter], place: Place, see: &mut dyn FnMut(&Shape, &Name)) -> Shape {
        let Some(last) = segments.last() else { return Shape::Unknown };
        let args: Vec<Shape> = segments
            .iter()
            .flat_map(|segment| &segment.args)
            .map(|arg| self.shape_in(arg, methods, place, see))
            .collect();
        if let Some(parameter) = self.parameter(segments, methods) {
            return parameter.shape.clone();
        }
        if let Some(alias) = self.aliased(segments)
            && let Some(written) = code::type_ref(&alias)
        {
            let shape = self.shape_in(&written, &[], place, &mut |_, _| {});
            see(&shape, last);
            return shape;
        }
        let shape = self.resolve_path(segments, args, place);
        // `Outer.Nested` names both.
        for end in 1..segments.len() {
            let outer = &segments[..end];
            let arity = outer[end - 1].args.len() as u32;
            if let Meaning::Type(key, _) = self.meaning(outer, arity, place) {
                see(&Shape::Named(key, Rc::from([])), &outer[end - 1]);
            }
        }
        see(&shape, last);
        shape
    }

    /// Returns the target of the using alias that the only segment names. `None` unless the target is a type of .NET or no dotted name,
    /// and no nearer type hides the alias.
    fn aliased(&self, segments: &[Name]) -> Option<String> {
        let [only] = segments else { return None };
        let name = Some(only.word.text.as_str());
        let own = self
            .around
            .usings
            .iter()
            .filter(|using| using.alias.as_deref() == name)
            .map(|using| &using.target);
        let globals = self.around.globals.iter().flat_map(|globals| &globals.usings);
        let global = globals.filter(|using| using.alias.as_deref() == name).map(|using| &using.target);
        let target = own.chain(global).next()?;
        let is_written = only.args.is_empty() && (target.contains(['<', '(', '[', '?', '*']) || self.is_outside(target));
        (is_written && !self.is_nearer_than_alias(segments)).then(|| target.clone())
    }

    /// Whether a nearer declaration hides an alias: a type nested in an enclosing type, or a type of an enclosing namespace.
    fn is_nearer_than_alias(&self, segments: &[Name]) -> bool {
        let Meaning::Type(key, _) = self.meaning(segments, 0, Place::Body) else {
            return false;
        };
        let last = symbol_of(&key).rsplit(['.', '+']).next();
        last == segments.last().map(|name| name.word.text.as_str())
    }

    /// Whether some type of the workspace, in sight or not, has this simple name.
    pub fn is_declared(&self, name: &str) -> bool {
        self.index.names.get(name).is_some_and(|types| !types.is_empty())
    }

    /// Whether code here sees what these projects compile; all code sees files that no project compiles.
    pub fn sees(&self, projects: &[String]) -> bool {
        let Some(own) = self.around.project else { return true };
        let references: &[String] = self.around.globals.map_or(&[], |globals| &globals.references);
        projects.is_empty() || projects.iter().any(|project| project == own || references.contains(project))
    }

    /// Whether code here may see internal members of a type; true if that is unknown.
    pub fn sees_internals(&self, key: &str) -> bool {
        let (Some(own), Some(entry)) = (self.around.project, self.index.by_key(key)) else {
            return true;
        };
        let mut projects = entry.project.iter().chain(&entry.also).peekable();
        let friends: &[String] = self.around.globals.map_or(&[], |globals| &globals.friends);
        projects.peek().is_none() || projects.any(|project| project == own || friends.contains(project))
    }

    fn is_outside(&self, target: &str) -> bool {
        dotnet::known(target.strip_prefix("global::").unwrap_or(target)).is_some()
    }

    fn resolve_path(&self, segments: &[Name], mut args: Vec<Shape>, place: Place) -> Shape {
        let arity = segments.last().map_or(0, |last| last.args.len() as u32);
        match self.meaning(segments, arity, place) {
            Meaning::Type(key, total) => {
                let missing = (total as usize).saturating_sub(args.len());
                if missing > 0 {
                    // Inside `Outer<T>` its nested types are named without T. Those of a base have the arguments of the base.
                    let symbol = symbol_of(&key);
                    let mut around = self.around.enclosing.iter();
                    let is_inside = around.any(|own| symbol.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('+')));
                    let own = self.own.iter().filter(|_| is_inside).map(|own| own.shape.clone());
                    let mut filled: Vec<Shape> = own.chain(std::iter::repeat(Shape::Unknown)).take(missing).collect();
                    filled.append(&mut args);
                    args = filled;
                }
                Shape::Named(key, args.into()).bounded()
            }
            Meaning::Outside(key) => Shape::with_arguments(key, args).bounded(),
            Meaning::Ambiguous => Shape::Unknown,
            Meaning::Nothing => {
                let last = segments.last().map_or("", |last| last.word.text.as_str());
                Shape::Named(format!("^{last}").into(), args.into()).bounded()
            }
        }
    }

    /// Returns the types to which a name may bind, if it last resolved to several.
    pub fn ambiguous_types(&self, name: &Name) -> Vec<Rc<str>> {
        self.ambiguous.borrow().get(&name.word.text).cloned().unwrap_or_default()
    }

    /// Returns the meaning of a path with that arity as a type.
    pub fn meaning(&self, segments: &[Name], arity: u32, place: Place) -> Meaning {
        let mut path = String::new();
        for (at, segment) in segments.iter().enumerate() {
            if !path.is_empty() && !path.ends_with(':') {
                path.push('.');
            }
            path.push_str(&segment.word.text);
            if at + 1 < segments.len() && !segment.args.is_empty() {
                path.push_str(&format!("`{}", segment.args.len()));
            }
            if path == "global" {
                path.push_str("::");
            }
        }
        let key = (path.as_str().into(), arity, place == Place::Base);
        if let Some(meaning) = self.known.borrow().get(&key) {
            return meaning.clone();
        }
        let binder = Binder::new(self.index);
        let meaning = match binder.bind(&self.around, &path, arity, place, true) {
            // The binder accepts members after a type; here the whole path must be a type.
            Bound::Type(entry) if segments.len() > 1 && !ends_with(entry.symbol(), segments) => Meaning::Nothing,
            Bound::Type(entry) if self.is_hidden_by_namespace(entry, segments) => Meaning::Nothing,
            Bound::Type(entry) => Meaning::Type(entry.key.as_str().into(), all_parameters(entry.symbol())),
            Bound::Ambiguous(entries) => {
                let keys = entries.iter().map(|entry| Rc::from(entry.key.as_str())).collect();
                let last = segments.last().map_or("", |last| last.word.text.as_str());
                self.ambiguous.borrow_mut().insert(last.to_owned(), keys);
                Meaning::Ambiguous
            }
            Bound::External => self.outside(segments).map_or(Meaning::Nothing, Meaning::Outside),
        };
        self.known.borrow_mut().insert(key, meaning.clone());
        meaning
    }

    /// Whether a namespace hides a type. It does if an enclosing namespace contains a namespace of that name, and no namespace as far in declares the
    /// type or contains the directive that opens it.
    fn is_hidden_by_namespace(&self, entry: &Entry, segments: &[Name]) -> bool {
        let around = &self.around;
        let Some(head) = segments.first().filter(|head| head.args.is_empty() && head.word.text != "global") else {
            return false;
        };
        if entry.encloser.is_some() || segments.len() > 1 {
            return false;
        }
        let opens = |target: &str| {
            let target = super::written::from_root(target).0;
            entry.namespace == target || entry.namespace.ends_with(&format!(".{target}"))
        };
        let mut levels_before: Vec<&str> = Vec::new();
        for level in levels(around.namespace).take_while(|level| *level != entry.namespace) {
            levels_before.push(level);
            let is_here =
                |using: &&MentionUsing| using.level == level && (using.alias.as_deref() == Some(&head.word.text) || opens(&using.target));
            if around.usings.iter().any(|using| is_here(&using)) {
                break;
            }
        }
        levels_before
            .iter()
            .any(|level| self.namespaces().contains(&join_path(level, &head.word.text)))
    }

    /// Returns the enclosing namespaces, and those of types that the code names and sees.
    fn namespaces(&self) -> &FxHashSet<String> {
        self.namespaces.get_or_init(|| {
            let seen = self.index.entries().filter(|entry| binder::reached(&self.around, entry));
            let all = seen.map(|entry| entry.namespace.as_str()).chain([self.around.namespace]);
            all.flat_map(levels).filter(|level| !level.is_empty()).map(str::to_owned).collect()
        })
    }

    /// Returns the type of .NET to which a path binds here.
    pub fn outside(&self, segments: &[Name]) -> Option<Rc<str>> {
        let mut path = String::new();
        let rooted = segments.first().is_some_and(|first| first.word.text == "global");
        for segment in &segments[usize::from(rooted)..] {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&segment.word.text);
            if !segment.args.is_empty() {
                path.push('`');
                path.push_str(&segment.args.len().to_string());
            }
        }
        if rooted {
            return outside_key(&path);
        }
        for level in levels(self.around.namespace) {
            if let Some(key) = outside_key(&join_path(level, &path)) {
                return Some(key);
            }
            // In `Acme` and below it, the name `Console` binds to the namespace `Acme.Console`, if it exists: names from using directives
            // come later (C# specification, 7.8).
            let is_namespace = |name: &str| self.namespaces().contains(&join_path(level, name));
            if segments
                .first()
                .is_some_and(|head| head.args.is_empty() && is_namespace(&head.word.text))
            {
                return None;
            }
            for using in self.around.usings.iter().filter(|using| using.level == level) {
                if let Some(alias) = &using.alias {
                    if let Some(rest) = path
                        .strip_prefix(alias.as_str())
                        .filter(|rest| rest.is_empty() || rest.starts_with('.'))
                    {
                        let target = using.target.strip_prefix("global::").unwrap_or(&using.target);
                        if let Some(key) = outside_key(&format!("{target}{rest}")) {
                            return Some(key);
                        }
                    }
                } else if let Some(key) = outside_key(&join_path(&using.target, &path)) {
                    return Some(key);
                }
            }
        }
        let globals = self.around.globals.into_iter().flat_map(|globals| &globals.usings);
        globals
            .filter(|using| using.alias.is_none())
            .map(|using| using.target.as_str())
            .chain(IMPLICIT)
            .find_map(|namespace| outside_key(&join_path(namespace, &path)))
    }
}

fn ends_with(symbol: &str, segments: &[Name]) -> bool {
    let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    segments
        .last()
        .is_some_and(|segment| last.split('`').next() == Some(&segment.word.text))
}

/// Returns the marked key of a dotted path; tries nested types with `+`.
fn outside_key(path: &str) -> Option<Rc<str>> {
    let path = path.strip_prefix("global::").unwrap_or(path);
    if let Some(key) = dotnet::known(path) {
        return Some(format!("~{key}").into());
    }
    let (outer, inner) = path.rsplit_once('.')?;
    dotnet::known(outer)?;
    dotnet::known(&format!("{outer}+{inner}")).map(|key| format!("~{key}").into())
}

/// Returns the number of type parameters of a symbol, with those of enclosing types.
pub fn all_parameters(symbol: &str) -> u32 {
    symbol
        .split('`')
        .skip(1)
        .map(|rest| {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            rest[..digits].parse().unwrap_or(0)
        })
        .sum()
}

fn is_outside_value(key: &str) -> bool {
    key.strip_prefix('~')
        .and_then(dotnet::get)
        .is_some_and(|outside| matches!(outside.kind, 's' | 'e'))
}

/// Returns the type of a keyword.
pub fn predefined(word: &str) -> Shape {
    let key = match word {
        "bool" => "~System.Boolean",
        "byte" => "~System.Byte",
        "char" => "~System.Char",
        "decimal" => "~System.Decimal",
        "double" => "~System.Double",
        "float" => "~System.Single",
        "int" => "~System.Int32",
        "long" => "~System.Int64",
        "object" => "~System.Object",
        "sbyte" => "~System.SByte",
        "short" => "~System.Int16",
        "string" => "~System.String",
        "uint" => "~System.UInt32",
        "ulong" => "~System.UInt64",
        "ushort" => "~System.UInt16",
        "void" => "~System.Void",
        _ => return Shape::Unknown,
    };
    Shape::of_key(key)
}
