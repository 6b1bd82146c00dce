//! Resolution of symbol paths to types and members.
//!
//! The first of these steps that finds anything decides, and the answer reports which step it was:
//! 1. **exact**: the whole name of a type; **suffix**: its end, from a separator on. For names of build targets this is the engine's own
//!    resolution (`//types/NAME:outline`) with the same result. It also accepts names that a build refuses: `Outer.Nested`, type arguments, and
//!    outer types without arity marks. A whole name takes precedence over the end of one (`program` resolves to `Program` rather than
//!    `X.Program`), and the exact case over any other, so a difference of case never makes a name ambiguous. A type that a project compiles
//!    takes precedence over one that no project compiles; for names without type arguments, a type without type parameters over a generic one.
//! 2. a member of the types that the names before the last refer to, or, for a single name, of any type. A member that a type does not
//!    declare is looked up in its bases, nearest first.
//! 3. **wildcard**: types and members whose last names match, name by name; failing that, types whose names match as one text, so that a
//!    star spans several names.
//! 4. **alias**: the type that once had that name.
//! 5. a namespace: it is reported, but does not resolve to a type or member.
//! 6. **fuzzy**: names at most two edits away, or, of members, longer and shorter ones. They are suggestions and never resolve.
//!
//! A keyword of the language that is a type (`string`) means a type of .NET, never a name of another case.
//!
//! A path as answers write it, ``Namespace.Type`1#Name`1(T)``, takes precedence over all of these.
//!
//! Candidates are sorted by least surprise: fewest namespace levels, then most accessible, then shortest, then by name. Recently used paths may come
//! first among *suggestions*; they never decide a resolution.

use super::dotnet_names::is_keyword;
use super::index::Symbols;
use super::matching::{across_names, namespaces, rank, target_name, types};
use super::operators;
use super::outputs::{Outputs, SymbolError};
use super::overloads::{self, Overload};
use super::path::{Glob, Segment, SymbolPath, is_wild};
use crate::aliases::Aliases;
use producers::csharp::hashes::Access;
use std::collections::BTreeSet;

pub use super::meaning::{Candidate, How, NAMESPACE, Resolution, Resolved, SHOWN};

/// Most types whose overloads are read; with more types, members are candidates by name.
pub(super) const MOST_OPENED: usize = 8;

/// Options of a resolution.
#[derive(Clone, Copy, Debug)]
pub struct Options<'o> {
    /// Number of candidates to describe; the total counts all.
    pub most: usize,
    /// Former names.
    pub aliases: Option<&'o Aliases>,
    /// Recently used paths, the last first; orders suggestions.
    pub recent: &'o [String],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            most: 20,
            aliases: None,
            recent: &[],
        }
    }
}

/// A candidate member, or only its name if its overloads were not read.
pub(super) struct MemberCandidate {
    pub(super) at: usize,
    pub(super) member: Option<Overload>,
    inherited_by: Option<String>,
    /// Number of overloads in the index that this candidate represents when they were not read.
    count: usize,
}

/// Resolves a symbol path. Reads `//types/T:members` only of the few types with candidate members. Fails when the path cannot be parsed, or
/// an output cannot be read.
pub fn resolve<O: Outputs>(symbols: &Symbols, outputs: &mut O, text: &str, options: &Options<'_>) -> Result<Resolution, O::Error> {
    if let Some(found) = find_by_exact_path(symbols, outputs, text.trim())? {
        let candidate = candidate(symbols, found).map_err(O::Error::from)?;
        return Ok(answer(text.trim(), Some(How::Exact), vec![candidate], 1, None));
    }
    if is_keyword(symbols, text) {
        return Ok(answer(text.trim(), None, Vec::new(), 0, None));
    }
    let operator = operators::symbol(text.trim());
    let path = SymbolPath::parse(operator.as_deref().unwrap_or(text)).map_err(O::Error::from)?;
    let mut asking = Asking {
        symbols,
        outputs,
        path: &path,
        owner: None,
    };
    let (how, mut found, former) = asking.find_candidates(options)?;
    if !matches!(how, Some(How::Fuzzy)) {
        found.sort_by_cached_key(|found| asking.rank(found));
    } else if let Some(member) = path.with_member_behind_scope() {
        let found = resolve(symbols, asking.outputs, &member, options)?;
        if !matches!(found.how, None | Some(How::Fuzzy)) {
            return Ok(Resolution {
                symbol: path.text,
                ..found
            });
        }
    }
    if matches!(how, None | Some(How::Fuzzy))
        && let Some((how, names)) = namespaces(symbols, &path)
    {
        let total = names.len();
        let candidates = names.into_iter().take(options.most.max(1)).map(namespace_candidate).collect();
        return Ok(answer(&path.text, Some(how), candidates, total, None));
    }
    let owner = asking.owner.map(|at| symbols.key(at).to_owned());
    let mut total = found.iter().map(|found| found.count).sum();
    found.truncate(options.most.max(1));
    let mut found = split_into_overloads(symbols, outputs, found, &mut total)?;
    found.truncate(options.most.max(1));
    let candidates: Vec<Candidate> = found
        .into_iter()
        .map(|found| candidate(symbols, found))
        .collect::<Result<_, _>>()
        .map_err(O::Error::from)?;
    Ok(Resolution {
        owner,
        ..answer(&path.text, how, candidates, total, former)
    })
}

fn answer(symbol: &str, how: Option<How>, candidates: Vec<Candidate>, total: usize, former: Option<String>) -> Resolution {
    let one = total == 1 && !matches!(how, Some(How::Fuzzy));
    Resolution {
        symbol: symbol.to_owned(),
        how: how.filter(|_| total > 0),
        resolved: candidates.first().filter(|_| one).map(Resolved::from),
        candidates,
        total,
        former,
        owner: None,
    }
}

/// Finds the type or member by its path as answers write it.
fn find_by_exact_path<O: Outputs>(symbols: &Symbols, outputs: &mut O, text: &str) -> Result<Option<MemberCandidate>, O::Error> {
    let text = text.strip_prefix("global::").unwrap_or(text);
    if let Some(at) = symbols.find(text) {
        return Ok(Some(of_type(at)));
    }
    let Some((key, member)) = engine::values::label::halves(text) else {
        return Ok(None);
    };
    let Some(at) = symbols.find(key) else { return Ok(None) };
    let mut rows = overloads::read_overloads(outputs, &[key])?.pop().unwrap_or_default();
    if member.starts_with(".ctor(") {
        rows.extend(overloads::primary_constructors(symbols, key, &rows)?);
    }
    Ok(rows.into_iter().find(|row| row.key == member).map(|row| of_member(at, row)))
}

/// Replaces candidates by name with their overloads. `total` counts the overloads.
fn split_into_overloads<O: Outputs>(
    symbols: &Symbols,
    outputs: &mut O,
    found: Vec<MemberCandidate>,
    total: &mut usize,
) -> Result<Vec<MemberCandidate>, O::Error> {
    let is_open = |found: &MemberCandidate| found.member.as_ref().is_some_and(|member| member.accessibility.is_empty());
    let open: BTreeSet<&str> = found
        .iter()
        .filter(|found| is_open(found))
        .map(|found| symbols.key(found.at))
        .collect();
    let open: Vec<&str> = open.into_iter().collect();
    let rows = overloads::read_overloads(outputs, &open)?;
    let mut all = Vec::with_capacity(found.len());
    for one in found {
        let rows = match open.binary_search(&symbols.key(one.at)) {
            Ok(at) if is_open(&one) => rows[at].as_slice(),
            _ => &[],
        };
        let named = rows
            .iter()
            .filter(|row| one.member.as_ref().is_some_and(|member| row.name == member.name));
        let named: Vec<MemberCandidate> = named.map(|row| of_member(one.at, row.clone())).collect();
        match named.is_empty() {
            true => all.push(one),
            false => {
                *total = *total + named.len() - one.count;
                all.extend(named);
            }
        }
    }
    Ok(all)
}

fn namespace_candidate(path: String) -> Candidate {
    Candidate {
        path,
        kind: NAMESPACE.to_owned(),
        accessibility: String::new(),
        files: Vec::new(),
        type_id: String::new(),
        member_id: None,
        inherited_by: None,
    }
}

pub(super) struct Asking<'a, O> {
    pub(super) symbols: &'a Symbols,
    pub(super) outputs: &'a mut O,
    pub(super) path: &'a SymbolPath,
    /// The only type that the names before an unknown member mean.
    pub(super) owner: Option<usize>,
}

type MemberAnswer = (Option<How>, Vec<MemberCandidate>, Option<String>);

impl<O: Outputs> Asking<'_, O> {
    fn find_candidates(&mut self, options: &Options<'_>) -> Result<MemberAnswer, O::Error> {
        let path = self.path;
        if let Some(answer) = self.identified(options)? {
            return Ok(answer);
        }
        let mut found: Vec<MemberCandidate> = Vec::new();
        let mut how = path.is_wild().then_some(How::Wildcard);
        if path.member.is_none() && path.parameters.is_none() {
            let (by, types) = self.types(&path.segments, path.plain.as_deref());
            found.extend(types.into_iter().map(of_type));
            if !found.is_empty() && !path.is_wild() {
                return Ok((Some(by), found, None));
            }
        }
        let mut owners = None;
        if let Some((before, name)) = self.split() {
            let (by, types) = self.owners(before);
            found.extend(self.members(&types, &name)?);
            how = how.or(Some(by));
            owners = Some((types, name));
        }
        // A single member is in no namespace, so not in the root namespace either.
        if found.is_empty() && path.member.is_none() && path.scope.is_none() && path.segments.len() == 1 && !path.rooted {
            let name = &path.segments[0].name;
            (how, found) = match path.is_wild() {
                true => (Some(How::Wildcard), self.by_name(None, name)),
                false => (Some(How::Suffix), self.members(&self.declaring(name), name)?),
            };
        }
        if found.is_empty() && !path.is_wild() {
            found = self.implemented()?;
            how = (!found.is_empty()).then_some(How::Suffix);
        }
        if !found.is_empty() {
            return Ok((how, found, None));
        }
        // Former names are looked up by their endings.
        if let (Some(aliases), false) = (options.aliases, path.is_wild() || path.rooted)
            && let Some((found, former)) = self.former(aliases)?
        {
            return Ok((Some(How::Alias), found, Some(former)));
        }
        if path.is_wild() {
            if path.member.is_none() && path.parameters.is_none() && !path.rooted {
                let types = across_names(self.symbols, &path.segments, path.scope.as_deref());
                found.extend(types.into_iter().map(of_type));
            }
            return Ok(((!found.is_empty()).then_some(How::Wildcard), found, None));
        }
        let near = self.suggestions(owners, options.recent)?;
        Ok((Some(How::Fuzzy), near, None))
    }

    /// Finds explicit implementations written with dots only: `Type.IFace.Member`.
    fn implemented(&mut self) -> Result<Vec<MemberCandidate>, O::Error> {
        let path = self.path;
        if path.member.is_some() || path.scope.is_some() {
            return Ok(Vec::new());
        }
        for at in (1..path.segments.len().saturating_sub(1)).rev() {
            let (before, name) = path.segments.split_at(at);
            let Some(name) = target_name(name) else { continue };
            let (_, types) = self.owners(before);
            if types.is_empty() || types.len() > MOST_OPENED {
                continue;
            }
            let found = self.members(&types, &name)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// Resolves an identifier: of a type, `T_…`, or of a member, `T_…_…`; also a renamed type's former one.
    fn identified(&mut self, options: &Options<'_>) -> Result<Option<MemberAnswer>, O::Error> {
        let Some(rest) = self.path.text.strip_prefix("T_") else {
            return Ok(None);
        };
        let (id, member) = match rest.split_once('_') {
            Some((id, member)) => (format!("T_{id}"), Some(member)),
            None => (self.path.text.clone(), None),
        };
        let renamed = options
            .aliases
            .and_then(|aliases| Some((aliases.aliases.get(&id)?, aliases.names.get(&id)?)));
        let (how, id, former) = match renamed {
            Some((now, name)) => (How::Alias, now.clone(), Some(name.clone())),
            None => (How::Exact, id, None),
        };
        let Some(at) = self.symbols.with_id(&id) else {
            return Ok(None);
        };
        let Some(member) = member else {
            return Ok(Some((Some(how), vec![of_type(at)], former)));
        };
        let members = overloads::read_overloads(self.outputs, &[self.symbols.key(at)])?
            .into_iter()
            .flatten();
        let found = members.filter(|one| one.id == member).map(|one| of_member(at, one));
        let found: Vec<MemberCandidate> = found.collect();
        Ok((!found.is_empty()).then_some((Some(how), found, former)))
    }

    /// Splits the path into the names before the member and the member's name.
    fn split(&self) -> Option<(&[Segment], String)> {
        let path = self.path;
        if let Some(member) = &path.member {
            return Some((&path.segments, member.clone()));
        }
        let (last, before) = path.segments.split_last()?;
        (!before.is_empty() && path.scope.is_none() && !last.nested).then(|| (before, last.name.clone()))
    }

    fn owners(&self, before: &[Segment]) -> (How, Vec<usize>) {
        let whole = before.len() == self.path.segments.len();
        let plain = match whole {
            true => self.path.plain.clone(),
            false => target_name(before),
        };
        self.types(before, plain.as_deref())
    }

    fn types(&self, names: &[Segment], plain: Option<&str>) -> (How, Vec<usize>) {
        types(self.symbols, names, self.path.scope.as_deref(), plain, self.path.rooted)
    }

    /// Returns the types that declare a member of a name.
    pub(super) fn declaring(&self, name: &str) -> Vec<usize> {
        let names = self.symbols.spelled(name).into_iter();
        let owners: BTreeSet<&str> = names.flat_map(|name| self.symbols.owners(name)).collect();
        owners.into_iter().filter_map(|owner| self.symbols.find(owner)).collect()
    }

    /// Returns the members of a name (or pattern) that types declare or inherit.
    pub(super) fn members(&mut self, types: &[usize], name: &str) -> Result<Vec<MemberCandidate>, O::Error> {
        if types.len() > MOST_OPENED {
            return Ok(self.by_name(Some(types), name));
        }
        let wanted = self.path.parameters.as_deref();
        let keys: Vec<&str> = types.iter().map(|&at| self.symbols.key(at)).collect();
        let mut found = Vec::new();
        let own = overloads::read_overloads(self.outputs, &keys)?;
        for (&at, mut rows) in types.iter().zip(own) {
            let key = self.symbols.key(at);
            if name == ".ctor" || overloads::named_as_type(key, name).is_some() {
                rows.extend(overloads::primary_constructors(self.symbols, key, &rows)?);
            }
            let of = |name: &str| {
                overloads::fitting(&rows, name, wanted)
                    .into_iter()
                    .map(|member| of_member(at, member))
                    .collect()
            };
            let mut fitting: Vec<MemberCandidate> = of(name);
            if let Some(name) = overloads::named_as_type(key, name).filter(|_| fitting.is_empty()) {
                fitting = of(name);
            }
            if fitting.is_empty() && !is_wild(name) && !name.starts_with('.') {
                fitting = self.inherited(at, name)?;
            }
            found.extend(fitting);
        }
        // Two derived types inherit the same member from one base.
        let mut seen = BTreeSet::new();
        found.retain(|found| seen.insert((found.at, found.member.as_ref().map(|member| member.key.clone()))));
        Ok(found)
    }

    fn inherited(&mut self, heir: usize, name: &str) -> Result<Vec<MemberCandidate>, O::Error> {
        let key = self.symbols.key(heir).to_owned();
        let spelled: Vec<String> = self.symbols.spelled(name).into_iter().map(str::to_owned).collect();
        for base in self.symbols.bases(&key) {
            if !spelled.iter().any(|name| self.symbols.declares(&base, name)) {
                continue;
            }
            let Some(at) = self.symbols.find(&base) else { continue };
            let rows = overloads::read_overloads(self.outputs, &[&base])?.pop().unwrap_or_default();
            let fitting: Vec<MemberCandidate> = overloads::fitting(&rows, name, self.path.parameters.as_deref())
                .into_iter()
                .filter(|member| member.accessibility != "private")
                .map(|member| MemberCandidate {
                    inherited_by: Some(key.clone()),
                    ..of_member(at, member)
                })
                .collect();
            if !fitting.is_empty() {
                return Ok(fitting);
            }
        }
        Ok(Vec::new())
    }

    /// Returns candidates from the index only: one per name and type, with the number of overloads.
    fn by_name(&self, types: Option<&[usize]>, name: &str) -> Vec<MemberCandidate> {
        let symbols = self.symbols;
        let among: Option<BTreeSet<usize>> = types.map(|types| types.iter().copied().collect());
        let glob = Glob::new(name);
        let names: Vec<&str> = match is_wild(name) {
            true => (0..symbols.name_count())
                .map(|at| symbols.name(at).0)
                .filter(|name| glob.matches(name))
                .collect(),
            false => symbols.spelled(name),
        };
        let mut found: Vec<MemberCandidate> = Vec::new();
        for name in names {
            let mut last = None;
            for line in symbols.declared(name) {
                let is_next = last.replace(line.owner) == Some(line.owner);
                let place = match found.last() {
                    Some(before) if is_next => Some(before.at).filter(|at| symbols.key(*at) == line.owner),
                    _ => symbols.find(line.owner),
                };
                let Some(at) = place.filter(|at| among.as_ref().is_none_or(|among| among.contains(at))) else {
                    continue;
                };
                match found.last_mut() {
                    Some(before) if is_next => before.count += 1,
                    _ => found.push(of_member(at, Overload::from_index(name, line.line.flags))),
                }
            }
        }
        found
    }

    fn former(&mut self, aliases: &Aliases) -> Result<Option<(Vec<MemberCandidate>, String)>, O::Error> {
        let symbols = self.symbols;
        let meant = |name: Option<String>| -> Option<(Vec<usize>, String)> {
            let name = name?;
            let at: Vec<usize> = aliases
                .ids_of_name(&name)
                .into_iter()
                .filter_map(|id| symbols.with_id(id))
                .collect();
            (!at.is_empty()).then_some((at, name))
        };
        let path = self.path;
        if path.member.is_none()
            && path.parameters.is_none()
            && let Some((at, name)) = meant(path.plain.clone())
        {
            return Ok(Some((at.into_iter().map(of_type).collect(), name)));
        }
        let Some((before, name)) = self.split() else { return Ok(None) };
        let Some((at, former)) = meant(target_name(before)) else {
            return Ok(None);
        };
        let found = self.members(&at, &name)?;
        Ok((!found.is_empty()).then_some((found, former)))
    }

    pub(super) fn rank(&self, found: &MemberCandidate) -> (usize, Access, usize, String) {
        let key = self.symbols.key(found.at);
        let (levels, access, _, _) = rank(key, self.symbols.brief(found.at).access);
        let path = path_of(key, found.member.as_ref());
        (levels, access, path.len(), path)
    }
}

fn candidate(symbols: &Symbols, found: MemberCandidate) -> Result<Candidate, SymbolError> {
    let row = symbols.type_row(found.at)?;
    let path = path_of(symbols.key(found.at), found.member.as_ref());
    Ok(match found.member {
        None => Candidate {
            path,
            kind: row.kind,
            accessibility: row.accessibility,
            files: row.files,
            type_id: row.id,
            member_id: None,
            inherited_by: None,
        },
        Some(member) => Candidate {
            path,
            kind: member.kind,
            accessibility: member.accessibility,
            files: if member.files.is_empty() { row.files } else { member.files },
            member_id: (!member.id.is_empty()).then(|| format!("{}_{}", row.id, member.id)),
            type_id: row.id,
            inherited_by: found.inherited_by,
        },
    })
}

pub(super) fn of_type(at: usize) -> MemberCandidate {
    MemberCandidate {
        at,
        member: None,
        inherited_by: None,
        count: 1,
    }
}

pub(super) fn of_member(at: usize, member: Overload) -> MemberCandidate {
    MemberCandidate {
        member: Some(member),
        ..of_type(at)
    }
}

fn path_of(key: &str, member: Option<&Overload>) -> String {
    match member {
        Some(member) => format!("{key}#{}", member.key),
        None => key.to_owned(),
    }
}
