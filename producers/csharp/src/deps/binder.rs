//! Binds written names to types of the workspace.
//!
//! Lookup goes from inside out. It searches nested types of the enclosing types and of their bases. Then it searches, for each namespace
//! level outward, its types, aliases and using directives; global usings belong to the outermost level. A name that no rule finds is
//! external. A name with several meanings is ambiguous. Cost per name: the number of scopes times that of the types with its simple name.

use super::dotnet;
use super::extern_aliases::{is_behind, reference_alias};
use super::index::{Entry, Globals, Index, dotted};
use super::written::{from_root, name_and_count};
use crate::mention_model::{MentionUsing, Place};
use crate::namespaces::{join_path, levels};
use crate::types::simple_name;

/// The context that decides the meaning of a name.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Namespace of the declaration.
    pub namespace: &'a str,
    /// Using directives of the file.
    pub usings: &'a [MentionUsing],
    /// Symbols of the enclosing types, outermost first, the declaring type last.
    pub enclosing: &'a [String],
    /// Path of its own project file.
    pub project: Option<&'a str>,
    /// The file.
    pub file: &'a str,
    /// Global usings and references of its project.
    pub globals: Option<&'a Globals>,
}

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound<'a> {
    /// A type of the workspace.
    Type(&'a Entry),
    /// No type of the workspace.
    External,
    /// Several types of the workspace, sorted by key.
    Ambiguous(Vec<&'a Entry>),
}

/// Binds names with an index.
#[derive(Clone, Copy)]
pub struct Binder<'i> {
    /// The symbol index or a slice of it.
    pub index: &'i dyn Index,
    /// Whether types of loose files are left out.
    is_strict: bool,
}

/// One reading of a path: the types that it may refer to and the number of segments used.
struct Reading<'a> {
    types: Vec<&'a Entry>,
    used: usize,
}

/// A path cut into segments.
struct Path<'a> {
    segments: Vec<&'a str>,
    /// Numbers of type arguments of the segments but the last.
    inner: Vec<u32>,
    arity: u32,
    /// Whether the whole path must name a type; otherwise a member may follow a type.
    certain: bool,
    /// The alias of a reference at its root.
    alias: Option<&'a str>,
}

impl<'a> Path<'a> {
    /// Returns a path whose inner names have no type arguments.
    fn plain(segments: Vec<&'a str>, arity: u32, certain: bool, alias: Option<&'a str>) -> Self {
        Self {
            segments,
            inner: Vec::new(),
            arity,
            certain,
            alias,
        }
    }
}

impl<'i> Binder<'i> {
    /// Binds with an index.
    pub fn new(index: &'i dyn Index) -> Self {
        Self { index, is_strict: false }
    }

    /// Binds a path such as `A.B`, `global::A` or `alias::A` whose last segment has `arity` type arguments. In code that a project compiles, types
    /// of loose files come last, after those of .NET that a using directive opens.
    pub fn bind<'a>(&self, around: &Surroundings<'a>, path: &str, arity: u32, place: Place, certain: bool) -> Bound<'a>
    where
        'i: 'a,
    {
        let found = self.bind_in_place(around, path, arity, place, certain);
        let is_loose = match &found {
            Bound::Type(entry) => entry.project.is_none(),
            Bound::Ambiguous(entries) => entries.iter().all(|entry| entry.project.is_none()),
            Bound::External => false,
        };
        if around.project.is_none() || !is_loose {
            return found;
        }
        let compiled = Self { is_strict: true, ..*self };
        match compiled.bind_in_place(around, path, arity, place, certain) {
            Bound::External if !opens_outside(around, path, arity) => found,
            compiled => compiled,
        }
    }

    fn bind_in_place<'a>(&self, around: &Surroundings<'a>, path: &str, arity: u32, place: Place, certain: bool) -> Bound<'a>
    where
        'i: 'a,
    {
        if place == Place::Attribute {
            let full = format!("{path}Attribute");
            let found = self.bind_as(around, &full, arity, place, certain);
            let is_class_around = matches!(&found, Bound::Type(entry) if full.contains('.') && !full.ends_with(simple_name(&entry.key)));
            if !is_class_around && matches!(found, Bound::Type(_) | Bound::Ambiguous(_)) {
                return found;
            }
        }
        match self.bind_as(around, path, arity, place, certain) {
            // A class without a base cannot be an attribute.
            Bound::Type(entry) if place == Place::Attribute && entry.bases.is_empty() => Bound::External,
            found => found,
        }
    }

    fn bind_as<'a>(&self, around: &Surroundings<'a>, path: &str, arity: u32, place: Place, certain: bool) -> Bound<'a>
    where
        'i: 'a,
    {
        let root = path
            .split_once("::")
            .filter(|(root, _)| *root == "global" || !is_alias(around, root));
        let alias = root.and_then(|_| reference_alias(around, path));
        let (path, is_extern) = if root.is_some() { from_root(path) } else { (path, false) };
        let segments = path.split([':', '.']).filter(|segment| !segment.is_empty());
        let (segments, inner): (Vec<&str>, Vec<u32>) = segments.map(name_and_count).unzip();
        if segments.is_empty() {
            return Bound::External;
        }
        let path = Path {
            segments,
            inner,
            arity,
            certain,
            alias,
        };
        if root.is_some() {
            let mut reading = self.in_namespace(around, "", &path);
            reading.types.retain(|entry| !is_extern || !entry.is_compiled_by(around.project));
            return self.follow_path(around, reading, &path).unwrap_or(Bound::External);
        }
        // Bases are bound outside the body: the declaring type's own nested types are not in scope there.
        let inner = around.enclosing.len().saturating_sub(usize::from(place == Place::Base));
        for around_type in around.enclosing[..inner].iter().rev() {
            if let Some(bound) = self.follow_path(around, self.in_type(around, around_type, &path), &path) {
                return bound;
            }
        }
        // An alias has no type arguments.
        let may_be_alias = match path.segments.len() {
            1 => path.arity,
            _ => path.inner[0],
        } == 0;
        for level in levels(around.namespace) {
            if let Some(bound) = self.follow_path(around, self.in_namespace(around, level, &path), &path) {
                return bound;
            }
            let is_alias = may_be_alias && has_alias(around, level, path.segments[0]);
            if is_alias && let Some(bound) = self.follow_path(around, self.by_alias(around, level, &path), &path) {
                return bound;
            }
            // An alias decides even if its target is declared outside the workspace.
            if is_alias {
                return Bound::External;
            }
            if let Some(bound) = self.follow_path(around, self.by_using(around, level, &path), &path) {
                return bound;
            }
        }
        Bound::External
    }

    /// Finds nested types of one enclosing type, or else of its bases.
    fn in_type<'a>(&self, around: &Surroundings<'a>, symbol: &str, path: &Path<'_>) -> Reading<'a>
    where
        'i: 'a,
    {
        let own = self.nested_in(around, symbol, path.segments[0]);
        if !own.is_empty() {
            return Reading { types: own, used: 1 };
        }
        let simple = dotted(symbol.rsplit(['+', '.']).next().unwrap_or(symbol));
        let entries = || self.visible_types_named(around, &simple).filter(|entry| entry.symbol() == symbol);
        let mine = entries().find(|entry| entry.is_of(around.project)).or_else(|| entries().next());
        for ancestor in mine.into_iter().flat_map(|entry| &entry.ancestors) {
            let types = self.nested_in(around, crate::types::symbol_of(ancestor), path.segments[0]);
            let types: Vec<&Entry> = types.into_iter().filter(|entry| entry.accessibility != "private").collect();
            if !types.is_empty() {
                return Reading { types, used: 1 };
            }
        }
        Reading {
            types: Vec::new(),
            used: 1,
        }
    }

    fn nested_in<'a>(&self, around: &Surroundings<'_>, encloser: &str, name: &str) -> Vec<&'a Entry>
    where
        'i: 'a,
    {
        self.visible_types_named(around, name)
            .filter(|entry| entry.encloser.as_deref() == Some(encloser))
            .collect()
    }

    /// Returns the types of a simple name that code in `around` can see.
    fn visible_types_named<'a, 's>(&self, around: &'s Surroundings<'_>, name: &str) -> impl Iterator<Item = &'a Entry> + use<'a, 's, 'i>
    where
        'i: 'a,
    {
        let is_strict = self.is_strict;
        let named = self.index.types_named(name).iter();
        named.filter(move |entry| reached(around, entry) && (!is_strict || entry.project.is_some()))
    }

    /// Finds the shortest prefix of the path that is a type below the namespace: `level.A`, `level.A.B` …
    fn in_namespace<'a>(&self, around: &Surroundings<'a>, level: &str, path: &Path<'_>) -> Reading<'a>
    where
        'i: 'a,
    {
        let mut namespace = level.to_owned();
        for (at, segment) in path.segments.iter().enumerate() {
            let types: Vec<&Entry> = self
                .visible_types_named(around, segment)
                .filter(|entry| entry.encloser.is_none() && entry.namespace == namespace && is_behind(around, entry, path.alias))
                .collect();
            if !types.is_empty() {
                return Reading { types, used: at + 1 };
            }
            namespace = join_path(&namespace, segment);
        }
        Reading {
            types: Vec::new(),
            used: 0,
        }
    }

    /// Resolves the target of a using directive at `level`: directives of the same level are ignored, outer ones apply.
    fn target<'a>(&self, around: &Surroundings<'a>, level: &str, path: &Path<'_>) -> Reading<'a>
    where
        'i: 'a,
    {
        // The target of an alias may have no name: a tuple, for example.
        let outer_levels = levels(level).filter(|_| !path.segments.is_empty());
        for outer in outer_levels {
            let reading = self.in_namespace(around, outer, path);
            if !reading.types.is_empty() {
                return reading;
            }
            if outer != level {
                for reading in [self.by_alias(around, outer, path), self.by_using(around, outer, path)] {
                    if !reading.types.is_empty() {
                        return reading;
                    }
                }
            }
        }
        Reading {
            types: Vec::new(),
            used: 0,
        }
    }

    /// Finds what the path names behind an alias of this level; an alias of the file comes before one of the project.
    fn by_alias<'a>(&self, around: &Surroundings<'a>, level: &str, path: &Path<'_>) -> Reading<'a>
    where
        'i: 'a,
    {
        let first = Some(path.segments[0]);
        let mut usings = around.usings.iter().filter(|using| using.level == level);
        if let Some(using) = usings.find(|using| using.alias.as_deref() == first) {
            let found = self.behind_alias(around, level, &using.target, path);
            if !found.types.is_empty() {
                return found;
            }
        }
        let globals = around.globals.filter(|_| level.is_empty());
        let mut usings = globals.into_iter().flat_map(|globals| &globals.usings);
        match usings.find(|using| using.alias.as_deref() == first) {
            Some(using) if using.types.is_empty() => self.behind_alias(around, level, &using.target, path),
            Some(using) => Reading {
                types: using.types.iter().collect(),
                used: 1,
            },
            None => Reading {
                types: Vec::new(),
                used: 0,
            },
        }
    }

    /// Finds what a path names if its first name is an alias of `target`.
    fn behind_alias<'a>(&self, around: &Surroundings<'a>, level: &str, target: &str, path: &Path<'_>) -> Reading<'a>
    where
        'i: 'a,
    {
        let alias = reference_alias(around, target);
        let (target, arity) = super::written::written_name(target);
        let target = from_root(&target).0;
        let mut segments: Vec<&str> = target.split([':', '.']).filter(|segment| !segment.is_empty()).collect();
        let own = segments.len();
        segments.extend(&path.segments[1..]);
        let is_whole = path.segments.len() == 1;
        let last = if is_whole { arity } else { path.arity };
        let whole = Path::plain(segments, last, path.certain, alias);
        let Reading { types, used } = self.target(around, level, &whole);
        if used > own {
            return Reading {
                types,
                used: used - own + 1,
            };
        }
        // The rest of the target after the found type names nested types; the rest of the path follows.
        let mut types = self.walk_nested(around, types, &whole.segments[used..own], last, is_whole);
        if is_whole {
            types.retain(|entry| entry.arity == arity);
        }
        Reading { types, used: 1 }
    }

    /// Finds types of the namespaces opened at this level, and nested types of `using static`.
    fn by_using<'a>(&self, around: &Surroundings<'a>, level: &str, path: &Path<'_>) -> Reading<'a>
    where
        'i: 'a,
    {
        let first = path.segments[0];
        let candidates: Vec<&Entry> = self.visible_types_named(around, first).collect();
        if candidates.is_empty() {
            return Reading {
                types: Vec::new(),
                used: 1,
            };
        }
        let mut types: Vec<&Entry> = Vec::new();
        for using in around.usings.iter().filter(|using| using.level == level && using.alias.is_none()) {
            let (target, is_extern) = from_root(&using.target);
            let alias = reference_alias(around, &using.target);
            if using.is_static {
                if candidates.iter().all(|entry| entry.encloser.is_none()) {
                    continue;
                }
                let (target, arity) = super::written::written_name(target);
                let segments: Vec<&str> = target.split([':', '.']).filter(|segment| !segment.is_empty()).collect();
                let whole = Path::plain(segments, arity, true, alias);
                let reading = self.target(around, level, &whole);
                let owners = self.walk_nested(
                    around,
                    reading.types,
                    &whole.segments[reading.used.min(whole.segments.len())..],
                    arity,
                    true,
                );
                types.extend(candidates.iter().copied().filter(|entry| {
                    entry
                        .encloser
                        .as_deref()
                        .is_some_and(|outer| owners.iter().any(|owner| owner.symbol() == outer))
                }));
            } else {
                let outer = levels(level)
                    .map(|outer| join_path(outer, target))
                    .find(|namespace| self.index.has_namespace(namespace));
                let namespace = outer.unwrap_or_else(|| target.to_owned());
                types.extend(
                    candidates
                        .iter()
                        .copied()
                        .filter(|entry| entry.encloser.is_none() && entry.namespace == namespace && is_behind(around, entry, alias))
                        .filter(|entry| !is_extern || !entry.is_compiled_by(around.project)),
                );
            }
        }
        if level.is_empty() {
            for global in around
                .globals
                .into_iter()
                .flat_map(|globals| &globals.usings)
                .filter(|using| using.alias.is_none())
            {
                let opened = |entry: &&Entry| match (&entry.encloser, global.is_static) {
                    (None, false) => entry.namespace == global.target && is_behind(around, entry, None),
                    (Some(outer), true) => global.types.iter().any(|owner| owner.symbol() == outer),
                    _ => false,
                };
                types.extend(candidates.iter().copied().filter(opened));
            }
        }
        Reading { types, used: 1 }
    }

    /// Follows `segments` through nested types, starting from `types`.
    fn walk_nested<'a>(
        &self,
        around: &Surroundings<'_>,
        mut types: Vec<&'a Entry>,
        segments: &[&str],
        arity: u32,
        to_the_end: bool,
    ) -> Vec<&'a Entry>
    where
        'i: 'a,
    {
        for (at, segment) in segments.iter().enumerate() {
            let last = to_the_end && at + 1 == segments.len();
            let nested: Vec<&Entry> = self
                .visible_types_named(around, segment)
                .filter(|entry| {
                    entry
                        .encloser
                        .as_deref()
                        .is_some_and(|outer| types.iter().any(|owner| owner.symbol() == outer))
                })
                .filter(|entry| !last || entry.arity == arity)
                .collect();
            types = nested;
        }
        types
    }

    /// Follows the rest of the path into nested types and binds it; `None` if the reading has no types, so that lookup continues.
    fn follow_path<'a>(&self, around: &Surroundings<'a>, reading: Reading<'a>, path: &Path<'_>) -> Option<Bound<'a>>
    where
        'i: 'a,
    {
        let mut types = reading.types;
        if types.is_empty() {
            return None;
        }
        let mut used = reading.used;
        while used < path.segments.len() {
            let last = used + 1 == path.segments.len();
            // Types of one name may differ in their type parameters; an alias has none of its target's.
            let count = used.checked_sub(1).and_then(|at| path.inner.get(at)).copied().unwrap_or(0);
            let is_of_alias = used == 1 && is_alias(around, path.segments[0]);
            if types.iter().any(|entry| entry.arity == count) {
                types.retain(|entry| entry.arity == count);
            } else if !is_of_alias {
                return None;
            }
            let is_own = |entry: &Entry| {
                let outer = entry.encloser.as_deref();
                outer.is_some_and(|outer| types.iter().any(|owner| owner.symbol() == outer))
            };
            // Number of the base that declares an inherited type, nearest first.
            let distance = |entry: &Entry| {
                let outer = entry.encloser.as_deref()?;
                types.iter().filter_map(|owner| distance_to(owner, outer)).min()
            };
            let is_inherited = |entry: &Entry| entry.accessibility != "private" && distance(entry).is_some();
            let mut deeper: Vec<&Entry> = self
                .visible_types_named(around, path.segments[used])
                .filter(|entry| is_own(entry) || is_inherited(entry))
                .filter(|entry| !last || !path.certain || entry.arity == path.arity)
                .collect();
            // A nested type hides the inherited ones of its name and number of type parameters.
            let count = path.inner.get(used).copied().unwrap_or(0);
            prefer(&mut deeper, |entry| is_own(entry) && (last || entry.arity == count));
            let nearest = deeper
                .iter()
                .filter(|entry| last || entry.arity == count)
                .filter_map(|entry| distance(entry))
                .min();
            prefer(&mut deeper, |entry| is_own(entry) || distance(entry) == nearest);
            if deeper.is_empty() {
                break;
            }
            types = deeper;
            used += 1;
        }
        if used == path.segments.len() && path.certain {
            // For an alias, the arity is that of its target, not of the written name.
            let fitting: Vec<&Entry> = types.iter().copied().filter(|entry| entry.arity == path.arity).collect();
            let alias = used == 1 && path.arity == 0 && is_alias(around, path.segments[0]);
            if !alias {
                types = fitting;
            }
        } else if types.iter().any(|entry| entry.arity == 0) {
            types.retain(|entry| entry.arity == 0);
        }
        visible(types, around)
    }
}

/// Whether a using directive opens a namespace of .NET with a type of this name.
fn opens_outside(around: &Surroundings<'_>, path: &str, arity: u32) -> bool {
    let own = around.usings.iter().filter(|using| using.alias.is_none() && !using.is_static);
    let globals = around.globals.into_iter().flat_map(|globals| &globals.usings);
    let globals = globals.filter(|using| using.alias.is_none() && !using.is_static);
    let mut opened = own.map(|using| &using.target).chain(globals.map(|using| &using.target));
    let mark = if arity == 0 { String::new() } else { format!("`{arity}") };
    opened.any(|namespace| dotnet::known(&format!("{namespace}.{path}{mark}")).is_some())
}

/// Whether a name is an alias at a level; global aliases belong to the outermost level.
fn has_alias(around: &Surroundings<'_>, level: &str, name: &str) -> bool {
    let is = |alias: &Option<String>| alias.as_deref() == Some(name);
    let globals = || around.globals.into_iter().flat_map(|globals| &globals.usings);
    around.usings.iter().any(|using| using.level == level && is(&using.alias))
        || level.is_empty() && globals().any(|using| is(&using.alias))
}

fn is_alias(around: &Surroundings<'_>, name: &str) -> bool {
    levels(around.namespace).any(|level| has_alias(around, level, name))
}

/// Returns the number of the base of this symbol among all bases of a type, nearest first.
fn distance_to(heir: &Entry, symbol: &str) -> Option<usize> {
    let mut bases = heir.ancestors.iter();
    bases.position(|base| crate::types::symbol_of(base) == symbol)
}

/// Returns the key of an enclosing type, from its symbol: that of the type in sight.
pub(crate) fn enclosing_key(index: &dyn Index, around: &Surroundings<'_>, symbol: &str, own: &str) -> String {
    let simple = dotted(symbol.rsplit(['+', '.']).next().unwrap_or(symbol));
    let scope = own.find('@').map_or("", |mark| &own[mark..]);
    let scoped = format!("{symbol}{scope}");
    let types = || index.types_named(&simple).iter().filter(|entry| entry.symbol() == symbol);
    let found = types().find(|entry| entry.key == scoped);
    let found = found.or_else(|| types().find(|entry| entry.is_of(around.project)));
    found.map_or(scoped, |entry| entry.key.clone())
}

/// Whether code in `around` can see a type: its project compiles the type or references a project that does. All code sees types of loose
/// files, and loose files see all types, since their compilation is unknown.
pub(super) fn reached(around: &Surroundings<'_>, entry: &Entry) -> bool {
    if around.project.is_none() || entry.project.is_none() || entry.is_of(around.project) {
        return true;
    }
    let references: &[String] = around.globals.map_or(&[], |globals| &globals.references);
    references.iter().any(|path| entry.is_of(Some(path)))
}

/// Whether code in `around` may name a type: only friends may name types internal to another project.
fn accessible(around: &Surroundings<'_>, entry: &Entry) -> bool {
    if around.project.is_none() || entry.project.is_none() || entry.is_of(around.project) {
        return true;
    }
    let friends: &[String] = around.globals.map_or(&[], |globals| &globals.friends);
    !matches!(entry.accessibility.as_str(), "internal" | "private" | "private protected" | "file")
        || friends.iter().any(|path| entry.is_of(Some(path)))
}

/// Returns the types that the file can see. The own project comes before referenced projects, these before all others; public before internal.
fn visible<'a>(mut types: Vec<&'a Entry>, around: &Surroundings<'a>) -> Option<Bound<'a>> {
    types.retain(|entry| reached(around, entry) && accessible(around, entry));
    types.retain(|entry| entry.file.as_deref().is_none_or(|only| only == around.file));
    // A non-public copy of a .NET type in another project is a polyfill for older frameworks.
    types.retain(|entry| {
        entry.is_of(around.project)
            || entry.accessibility == "public"
            || entry.encloser.is_some()
            || dotnet::known(entry.symbol()).is_none()
    });
    if types.iter().any(|entry| entry.file.is_some()) {
        types.retain(|entry| entry.file.is_some());
    }
    prefer(&mut types, |entry| entry.project.as_deref() == around.project);
    prefer(&mut types, |entry| entry.is_of(around.project));
    prefer(&mut types, |entry| entry.project.is_some());
    prefer(&mut types, |entry| {
        entry.is_of(around.project) || entry.accessibility == "public" || entry.encloser.is_some()
    });
    types.sort_by(|a, b| a.key.cmp(&b.key));
    types.dedup_by(|a, b| a.key == b.key);
    match types.as_slice() {
        [] => None,
        [one] => Some(Bound::Type(one)),
        _ => Some(Bound::Ambiguous(types)),
    }
}

/// Keeps the fitting types if any type fits.
fn prefer(types: &mut Vec<&Entry>, fits: impl Fn(&Entry) -> bool) {
    if types.iter().any(|entry| fits(entry)) {
        types.retain(|entry| fits(entry));
    }
}
