//! All uses of a type or a member, certain and possible ones.
//!
//! Candidates are the types that mention the word of the symbol (`//types/T:mentions`); the places come from their `//types/T:usages`. If the request
//! names a type that only inherits the member, its uses are those of the declaring base, and possible. A call may refer to the overloads that fit its
//! arguments ([`super::calls`]): it is a certain use of the only one that fits, a possible use of several, and no use of the others.
//! [`Usages::unseen`] lists code that was not checked.

use super::calls::{can_mean, counterparts, possible_of, possible_overloads};
use super::implied_members::{IMPLIED, IMPLIED_OUTSIDE};
use super::index::{Symbols, simple_name};
use super::meaning::{Candidate, Resolution, Resolved};
use super::mentioning::mentioning;
use super::outputs::{Output, Outputs, SymbolError};
use super::overloads::{self, Overload, parameter_types, short_of};
use super::unbound_places::{SearchedName, add_unbound};
use super::unreferenced::note_unreferenced;
use super::visibility::{Audience, Visibility, confining_type, is_internal, is_same_outermost};
pub use super::why_possible::UseDoubt;
use engine::values::table::Table;
use producers::csharp::deps::flow::IMPLICIT;
use producers::csharp::hashes::Access;
use producers::csharp::related_types::{dotnet_bases_with_member, dotnet_interfaces_of_heirs, interfaces_of_heirs, related_types};
use producers::csharp::types::symbol_of;
use producers::csharp::usages::{Call, Place, UseKind, is_dotnet_interface};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Whether uses of a member never contain its name: constructors, indexers, operators.
pub(super) fn is_nameless(word: &str) -> bool {
    word == CONSTRUCTOR || word == "this[]" || word.starts_with("op_")
}

/// The name of constructors.
const CONSTRUCTOR: &str = ".ctor";

/// The subject of a search: a type, one of its members, or all its overloads of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Path: a key of `//index:types`, then after `#` the member, or the name of all overloads.
    pub path: String,
    /// Identifier of the type.
    pub type_id: String,
    /// Identifier of the member, if it is one.
    pub member_id: Option<String>,
    /// Paths of its symbols: its own, or those of the overloads.
    pub paths: Vec<String>,
    /// Key of the type from which the search starts: the declaring type, or the heir that the request names.
    pub(super) key: String,
    /// The member's name and kind.
    name: Option<(String, String)>,
    /// Key of the overload, if it is one.
    overload: Option<String>,
    /// The declaring type, if the request names another one.
    inherited_from: Option<String>,
}

impl Subject {
    /// Returns the subject of a resolution: the resolved symbol, or the overloads of one name in one type. Fails as
    /// [`Resolution::candidate`] does.
    pub fn from_resolution(found: &Resolution) -> Result<Self, SymbolError> {
        Ok(Self::of_group(found.meant_with_overloads()?))
    }

    pub(super) fn of_type(one: &Candidate) -> Self {
        Self::new(one, one.path.clone(), None)
    }

    /// Returns one symbol, or all overloads of one name in one type, as a subject.
    pub fn of_group(group: &[Candidate]) -> Self {
        let first = &group[0];
        if group.len() == 1 {
            return Self::new(first, first.path.clone(), first.member().map(str::to_owned));
        }
        let resolved = Resolved::of_group(group);
        Self {
            member_id: resolved.member_id,
            paths: group.iter().map(|one| one.path.clone()).collect(),
            ..Self::new(first, resolved.path, None)
        }
    }

    /// Whether the subject is a member, or the overloads of one name.
    pub fn is_member(&self) -> bool {
        self.name.is_some()
    }

    pub(super) fn name_in_uses(&self) -> &str {
        match &self.name {
            Some((name, _)) => short_of(name).unwrap_or(name),
            None => simple_name(&self.key),
        }
    }

    fn declaring(&self) -> &str {
        self.inherited_from.as_ref().unwrap_or(&self.key)
    }

    fn new(one: &Candidate, path: String, overload: Option<String>) -> Self {
        let name = one.member_name().map(|name| (name.to_owned(), one.kind.clone()));
        Self {
            paths: vec![one.path.clone()],
            path,
            type_id: one.type_id.clone(),
            member_id: one.member_id.clone(),
            key: one.inherited_by.clone().unwrap_or_else(|| one.key().to_owned()),
            name,
            overload,
            inherited_from: one.inherited_by.as_ref().map(|_| one.key().to_owned()),
        }
    }
}

/// The places that use a subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usages {
    pub certain: BTreeSet<Place>,
    /// Places that may use the subject, with the reason why that is not certain.
    pub possible: BTreeMap<Place, UseDoubt>,
    /// Number of uses of the name on values of unknown type that cannot refer to the subject, because their code does not see it.
    pub impossible: usize,
    pub called: BTreeSet<Place>,
    /// Labels of targets that could not be built, so that their uses are missing.
    pub unread: Vec<String>,
    /// Code that was not searched, one sentence each.
    pub unseen: Vec<String>,
}

impl Usages {
    /// Removes references in documentation.
    pub fn in_code(mut self) -> Self {
        self.certain.retain(|place| place.kind != UseKind::Cref);
        self.possible.retain(|place, _| place.kind != UseKind::Cref);
        self
    }

    fn note_call(&mut self, place: &Place) {
        if place.call.is_some() {
            self.called.insert(without_call(place.clone()));
        }
    }
}

/// Finds the places that use a subject. `gaps`: projects whose references are not all known, see [`crate::health`].
pub fn usages<O: Outputs>(outputs: &mut O, symbols: &Symbols, subject: &Subject, gaps: &BTreeSet<String>) -> Result<Usages, O::Error> {
    let found = usages_of_all(outputs, symbols, std::slice::from_ref(subject), gaps)?;
    Ok(found.into_iter().next().unwrap_or_default())
}

/// As [`usages`], for several subjects in their order; requests and reads their inputs together.
pub fn usages_of_all<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    subjects: &[Subject],
    gaps: &BTreeSet<String>,
) -> Result<Vec<Usages>, O::Error> {
    if subjects.is_empty() {
        return Ok(Vec::new());
    }
    let mut found: Vec<Usages> = Vec::with_capacity(subjects.len());
    for subject in subjects {
        found.push(Usages {
            unseen: unlisted_uses(symbols, subject).map_err(O::Error::from)?,
            ..Usages::default()
        });
    }
    let (mentioning, naming) = mentioning(outputs, subjects, &mut found)?;
    let labels: BTreeSet<&String> = mentioning.iter().flat_map(BTreeMap::keys).collect();
    let labels: Vec<String> = labels.into_iter().cloned().collect();
    let visibility = match subjects.iter().any(Subject::is_member) || naming.iter().any(|types| !types.is_empty()) {
        true => Visibility::from_outputs(outputs, gaps)?,
        false => Visibility::default(),
    };
    note_unreferenced(symbols, &visibility, subjects, &naming, &mut found)?;
    let searches = Search::all(outputs, symbols, subjects, &visibility)?;
    let wanted: Vec<SearchedName<'_>> = searches.iter().map(|search| search.wanted_by_name(symbols)).collect();
    add_unbound(outputs, &wanted, |at, file| searches[at].is_seen_in(file), &mut found)?;
    let tables = match labels.is_empty() {
        true => Vec::new(),
        false => outputs.read(&labels)?,
    };
    for Output { label, bytes } in tables {
        let user = label.strip_prefix("//types/").and_then(|rest| rest.strip_suffix(":usages"));
        let user = user.map(engine::values::label::unescape).unwrap_or_default();
        for ((search, mentioning), found) in searches.iter().zip(&mentioning).zip(&mut found) {
            let Some(is_near) = mentioning.get(&label) else { continue };
            match &bytes {
                Some(bytes) => search
                    .collect_places(bytes, (&user, *is_near), found)
                    .map_err(|error| error.at_label(&label))?,
                None => found.unread.push(label.clone()),
            }
        }
    }
    for found in &mut found {
        found.possible.retain(|place, _| !found.certain.contains(place));
        // Another project may compile the file with other symbols.
        let spots: BTreeSet<_> = found.certain.iter().map(position_of_place).collect();
        found
            .possible
            .retain(|place, why| *why != UseDoubt::Excluded || !spots.contains(&position_of_place(place)));
    }
    Ok(found)
}

/// Describes uses of a subject that no target lists.
fn unlisted_uses(symbols: &Symbols, subject: &Subject) -> Result<Vec<String>, SymbolError> {
    let word = subject.name_in_uses();
    let Some((_, kind)) = subject.name.as_ref().filter(|_| word != CONSTRUCTOR) else {
        return Ok(Vec::new());
    };
    match kind.as_str() {
        "finalizer" => return Ok(vec!["the runtime calls finalizers; no code does".to_owned()]),
        "indexer" | "operator" | "conversion" => return Ok(Vec::new()),
        _ => {}
    }
    let bases = dotnet_bases_with_member(symbols.declarations(), &subject.key, word).map_err(|_| SymbolError::damaged())?;
    let is_unseen = |base: &&String| !is_dotnet_interface(base) || IMPLIED.contains(&word) && !IMPLIED_OUTSIDE.contains(&word);
    Ok(match bases.iter().find(is_unseen) {
        Some(base) => vec![format!("calls through {base}, which declares it too, are not looked for")],
        None => Vec::new(),
    })
}

/// A subject with the facts that decide its uses.
struct Search<'s> {
    subject: &'s Subject,
    word: &'s str,
    /// The wanted overload; `None` if all are wanted, or there is only one.
    wanted: Option<Overload>,
    /// All overloads of the name in the declaring type.
    overloads: Vec<Overload>,
    /// Bases and heirs that declare the name.
    related: BTreeMap<String, Related>,
    /// Bases of .NET that declare the name.
    outside: Vec<String>,
    visibility: &'s Visibility,
    /// The code that can use the subject.
    audience: Audience,
    /// The code that can use internal members of the subject's type.
    insiders: Audience,
    /// Files that declare the subject's type.
    files: Vec<String>,
    /// The type that declares a private type around the subject, and the files of that type. Only code inside of it sees the subject. `None` without
    /// such a private type.
    confined: Option<(String, Vec<String>)>,
}

/// The declarations of the name in another type.
struct Related {
    /// Overloads of the name in the other type.
    overloads: Vec<Overload>,
    /// The overloads that may be the wanted one; `None` if all may be.
    same: Option<Vec<Overload>>,
    /// The code that can use the other type.
    audience: Audience,
}

impl<'s> Search<'s> {
    /// Returns the searches for subjects, in their order.
    fn all<O: Outputs>(
        outputs: &mut O,
        symbols: &Symbols,
        subjects: &'s [Subject],
        visibility: &'s Visibility,
    ) -> Result<Vec<Self>, O::Error> {
        let mut related_of: Vec<BTreeSet<String>> = Vec::with_capacity(subjects.len());
        for subject in subjects {
            // Constructors are not inherited.
            let owners = match subject.is_member() && subject.name_in_uses() != CONSTRUCTOR {
                true => symbols.owners(subject.name_in_uses()),
                false => Vec::new(),
            };
            let mut related = related_types(symbols.declarations(), &subject.key, &owners).map_err(|_| SymbolError::damaged())?;
            // A member may implement one of an interface that only an heir of its type lists.
            let heirs: Vec<&str> = symbols.all_heirs(&subject.key).into_iter().collect();
            let listed = interfaces_of_heirs(symbols.declarations(), &subject.key, &heirs, &owners);
            related.extend(listed.map_err(|_| SymbolError::damaged())?);
            related_of.push(related);
        }
        let members = subjects.iter().zip(&related_of).filter(|(subject, _)| subject.is_member());
        let keys: BTreeSet<&str> = members
            .flat_map(|(subject, related)| related.iter().map(String::as_str).chain([subject.declaring()]))
            .collect();
        let keys: Vec<&str> = keys.into_iter().collect();
        let mut rows: HashMap<&str, Vec<Overload>> = keys.iter().copied().zip(overloads::read_overloads(outputs, &keys)?).collect();
        for (key, members) in &mut rows {
            overloads::bind(symbols, key, members)?;
            members.extend(overloads::primary_constructors(symbols, key, members)?);
        }
        let searches = subjects.iter().zip(&related_of);
        Ok(searches
            .map(|(subject, related)| Self::new(symbols, subject, related, &rows, visibility))
            .collect::<Result<_, _>>()?)
    }

    /// Returns the search for a subject; `rows`: the members of the declaring type and of `related` ones.
    fn new(
        symbols: &Symbols,
        subject: &'s Subject,
        related: &BTreeSet<String>,
        rows: &HashMap<&str, Vec<Overload>>,
        visibility: &'s Visibility,
    ) -> Result<Self, SymbolError> {
        let (word, declaring) = (subject.name_in_uses(), subject.declaring());
        let files_of = |key: &str| -> Result<Vec<String>, SymbolError> {
            let row = symbols.find(key).map(|at| symbols.type_row(at)).transpose()?;
            Ok(row.map(|row| row.files).unwrap_or_default())
        };
        let confined = match confining_type(symbols, declaring) {
            Some(outer) => Some((symbol_of(&outer).to_owned(), files_of(&outer)?)),
            None => None,
        };
        let mut search = Self {
            subject,
            word,
            wanted: None,
            overloads: Vec::new(),
            related: BTreeMap::new(),
            outside: Vec::new(),
            audience: visibility.audience_of(symbols, declaring)?,
            insiders: Audience {
                is_internal: true,
                ..visibility.audience_of(symbols, declaring)?
            },
            files: files_of(declaring)?,
            confined,
            visibility,
        };
        let Some((name, _)) = &subject.name else { return Ok(search) };
        if !is_nameless(word) {
            search.outside = dotnet_bases_with_member(symbols.declarations(), declaring, word).map_err(|_| SymbolError::damaged())?;
            let is_interface = symbols.find(declaring).is_some_and(|at| symbols.brief(at).kind == "interface");
            let heirs: Vec<&str> = if is_interface {
                Vec::new()
            } else {
                symbols.all_heirs(declaring).into_iter().collect()
            };
            let listed = dotnet_interfaces_of_heirs(symbols.declarations(), &heirs, word).map_err(|_| SymbolError::damaged())?;
            let new: Vec<String> = listed.into_iter().filter(|base| !search.outside.contains(base)).collect();
            search.outside.extend(new);
        }
        let of_type = |key: &str, is_of: &dyn Fn(&&Overload) -> bool| -> Vec<Overload> {
            rows.get(key).into_iter().flatten().filter(is_of).cloned().collect()
        };
        search.overloads = of_type(declaring, &|one| one.name == *name);
        let wanted = search.overloads.iter().find(|one| Some(&one.key) == subject.overload.as_ref());
        search.wanted = wanted.cloned();
        search.audience.is_internal |= search.all_are(is_internal);
        for key in related {
            let overloads = of_type(key, &|one| one.name == word || short_of(&one.name) == Some(word));
            let wanted = search.wanted.as_ref().filter(|_| !overloads.is_empty());
            let same = wanted.map(|wanted| counterparts(wanted, &overloads).into_iter().cloned().collect::<Vec<_>>());
            if search.is_hidden(symbols, key, same.as_deref()) {
                continue;
            }
            let audience = search.visibility.audience_of(symbols, key)?;
            search.related.insert(key.clone(), Related { overloads, same, audience });
        }
        Ok(search)
    }

    /// Returns the description of the subject for names that nothing binds.
    fn wanted_by_name<'a>(&'a self, symbols: &'a Symbols) -> SearchedName<'a> {
        let kin: OnceCell<BTreeSet<String>> = OnceCell::new();
        let may_have = move |name: &str| {
            let kin = kin.get_or_init(|| self.names_of_kin(symbols));
            kin.contains(name) || symbols.types_named(name).next().is_none()
        };
        let is_constructor = self.word == ".ctor";
        let method = self.wanted.as_ref().filter(|one| one.kind == "method" || is_constructor);
        SearchedName {
            word: if is_constructor {
                simple_name(&self.subject.key)
            } else {
                self.word
            },
            method: method.map(|one| one.parameters.as_slice()),
            is_type: self.subject.name.is_none() || is_constructor,
            is_constructor,
            may_have: Box::new(may_have),
            is_extension: symbols.has_extensions(self.word),
        }
    }

    /// Returns the simple names of the declaring type, of its bases and heirs, and of related types.
    fn names_of_kin(&self, symbols: &Symbols) -> BTreeSet<String> {
        let declaring = self.subject.declaring();
        let bases = symbols.bases(declaring);
        let heirs = symbols.all_heirs(declaring).into_iter();
        let all = heirs.chain(bases.iter().chain(self.related.keys()).map(String::as_str));
        all.chain([declaring]).map(|key| simple_name(key).to_owned()).collect()
    }

    /// Whether code in a file may see the subject.
    fn is_seen_in(&self, file: &str) -> bool {
        let is_in = |files: &[String]| files.is_empty() || files.iter().any(|own| own == file);
        self.visibility.sees(file, &self.audience)
            && (!self.is_private() || self.files.iter().any(|own| own == file))
            && self.confined.as_ref().is_none_or(|(_, files)| is_in(files))
    }

    /// Whether the code of a type may see the subject's type.
    fn is_open_to(&self, user: &str) -> bool {
        self.confined.as_ref().is_none_or(|(outer, _)| {
            let rest = symbol_of(user).strip_prefix(outer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
        })
    }

    /// Whether one of two classes hides the members of the other, its base, so that a call refers to the members of its own type.
    fn is_hidden(&self, symbols: &Symbols, other: &str, same: Option<&[Overload]>) -> bool {
        let is_class = |key: &str| symbols.find(key).is_some_and(|at| symbols.brief(at).kind != "interface");
        let declaring = self.subject.declaring();
        let (Some(wanted), Some(same)) = (&self.wanted, same) else {
            return false;
        };
        if same.is_empty() || !is_class(declaring) || !is_class(other) {
            return false;
        }
        let is_base = |of: &str, base: &str| symbols.bases(of).iter().any(|one| one == base);
        let hides = |one: &Overload| !one.is_override;
        let types = |one: &Overload| parameter_types(&one.key).join(",").replace(' ', "");
        if same.iter().any(|one| types(one) != types(wanted)) {
            return false;
        }
        is_base(other, declaring) && same.iter().all(hides) || is_base(declaring, other) && hides(wanted)
    }

    /// Collects the places in the table of the type `user`; `is_near`: its code names the subject's type.
    fn collect_places(&self, bytes: &[u8], (user, is_near): (&str, bool), found: &mut Usages) -> Result<(), SymbolError> {
        let table = Table::open(bytes).ok_or_else(SymbolError::damaged)?;
        let places = |key: &str| -> Result<Vec<Place>, SymbolError> {
            let row = table.get(key).map(serde_json::from_slice);
            row.transpose().map(Option::unwrap_or_default).map_err(|_| SymbolError::damaged())
        };
        if self.subject.name.is_none() {
            for place in places(&self.subject.key)? {
                match place.elsewhere {
                    true => _ = found.possible.entry(without_call(place)).or_insert(UseDoubt::Elsewhere),
                    false => _ = found.certain.insert(without_call(place)),
                }
            }
            return Ok(());
        }
        // Other uses of an explicit implementation than those of `using` are uses of the interface's member.
        let name = self.subject.name.as_ref().map_or(self.word, |(name, _)| name.as_str());
        for place in places(&format!("{}#{name}", self.subject.key))? {
            found.note_call(&place);
            match self.judged(&place) {
                Some(Ok(())) => _ = found.certain.insert(without_call(place)),
                Some(Err(why)) => _ = found.possible.entry(without_call(place)).or_insert(why),
                None => {}
            }
        }
        for (other, related) in &self.related {
            for place in places(&format!("{other}#{}", self.word))? {
                if self.may_be_through(&place, related.same.as_deref(), false) || self.fits_only_wanted(&place, related) {
                    found.note_call(&place);
                    let why = UseDoubt::Through(format!("{other}#{}", self.word));
                    found.possible.entry(without_call(place)).or_insert(why);
                }
            }
        }
        for base in &self.outside {
            for place in places(&format!("~{base}#{}", self.word))? {
                if self.may_be_through(&place, self.wanted.as_ref().map(std::slice::from_ref), false) {
                    found.note_call(&place);
                    found
                        .possible
                        .entry(without_call(place))
                        .or_insert(UseDoubt::Through(format!("{base}#{}", self.word)));
                }
            }
        }
        for place in places(&format!("?#{}", self.word))? {
            let own = self.may_be_through(&place, self.wanted.as_ref().map(std::slice::from_ref), true);
            let sees_own = self.visibility.sees(&place.file, &self.audience)
                && (!self.is_private() || is_same_outermost(user, &self.subject.key))
                && self.is_open_to(user);
            let fitting = self.related.values();
            let fitting = fitting.filter(|related| self.may_be_through(&place, related.same.as_deref(), true));
            let through: Vec<&Related> = fitting.collect();
            let sees = |related: &&&Related| self.visibility.sees(&place.file, &related.audience);
            if own && sees_own || through.iter().any(|related| sees(&related)) {
                found.note_call(&place);
                let why = match is_near {
                    _ if place.call.as_ref().is_some_and(|call| call.extension) => UseDoubt::Extension,
                    true => UseDoubt::UnknownValueNear(simple_name(&self.subject.key).to_owned()),
                    false => UseDoubt::UnknownValue,
                };
                found.possible.entry(without_call(place)).or_insert(why);
            } else if own || !through.is_empty() {
                found.impossible += 1;
            }
        }
        Ok(())
    }

    /// Whether only the subject's own type sees it.
    fn is_private(&self) -> bool {
        self.all_are(|access| access == Access::Private)
    }

    /// Whether all wanted overloads have an accessibility that passes the test.
    fn all_are(&self, is_such: impl Fn(Access) -> bool) -> bool {
        let wanted = self.wanted.as_ref().map(std::slice::from_ref);
        let mut all = wanted.unwrap_or(&self.overloads).iter().peekable();
        all.peek().is_some() && all.all(|one| !one.accessibility.is_empty() && is_such(Access::parse(&one.accessibility)))
    }

    /// Returns whether a use of the name refers to the subject: `Ok` for certainly, the reason for possibly, `None` for not.
    fn judged(&self, place: &Place) -> Option<Result<(), UseDoubt>> {
        let Some(wanted) = self.wanted.as_ref().filter(|_| self.overloads.len() > 1) else {
            return Some(if place.elsewhere { Err(self.doubt_elsewhere()) } else { Ok(()) });
        };
        let Some(call) = &place.call else {
            let written = place.parameters.as_deref();
            return match written.and_then(|written| overloads::with_parameters(&self.overloads, written)) {
                Some(named) => named.iter().any(|one| one.key == wanted.key).then_some(Ok(())),
                None => Some(Err(UseDoubt::Named)),
            };
        };
        let sees = |one: &Overload| {
            let access = (!one.accessibility.is_empty()).then(|| Access::parse(&one.accessibility));
            let may_be_seen = !access.is_some_and(is_internal) || self.visibility.sees(&place.file, &self.insiders);
            let is_seen = access == Some(Access::Internal) && self.visibility.is_compiled_with(&place.file, &self.insiders);
            may_be_seen.then_some(is_seen)
        };
        // Conversions differ by parameter and result; the binder chose one.
        let is_chosen = |one: &&Overload| one.bound == call.arguments && one.bound_result == call.result;
        let is_conversion = !call.result.is_empty() && self.overloads.iter().any(|one| is_chosen(&one));
        let listed = self.overloads.iter().filter(|one| !is_conversion || is_chosen(one));
        let left = possible_of(listed.filter_map(|one| Some((one, sees(one)?))), call);
        if left.is_empty() {
            return Some(Err(UseDoubt::NoneFits));
        }
        if !left.iter().any(|one| one.key == wanted.key) {
            return None;
        }
        let others: Vec<String> = left.iter().filter(|one| one.key != wanted.key).map(|one| one.key.clone()).collect();
        Some(match (others.is_empty(), place.elsewhere) {
            (_, true) => Err(self.doubt_elsewhere()),
            (false, false) => Err(UseDoubt::Overloads(others)),
            (true, false) => Ok(()),
        })
    }

    /// Returns the reason why a place may refer to another type's declaration; the operand of a conversion is unknown.
    fn doubt_elsewhere(&self) -> UseDoubt {
        match self.word {
            IMPLICIT => UseDoubt::UnknownValue,
            _ => UseDoubt::Elsewhere,
        }
    }

    /// Whether a call on a related type fits none of that type's overloads, but does fit the wanted one, which the type inherits.
    fn fits_only_wanted(&self, place: &Place, related: &Related) -> bool {
        let wanted_fits = |call| self.wanted.as_ref().is_some_and(|wanted| can_mean(wanted, call, false));
        let is_of = |call: &&Call| possible_overloads(&related.overloads, call).is_empty();
        place.call.as_ref().filter(is_of).is_some_and(wanted_fits)
    }

    /// Whether a call may refer to one of the overloads that may be the wanted one; always true if none is wanted.
    fn may_be_through(&self, place: &Place, same: Option<&[Overload]>, receiver: bool) -> bool {
        match (&place.call, same) {
            (Some(call), Some(same)) => same.iter().any(|one| can_mean(one, call, receiver)),
            (None, Some(same)) => !same.is_empty(),
            (_, None) => true,
        }
    }
}

fn position_of_place(place: &Place) -> (String, u32, u32) {
    (place.file.clone(), place.line, place.column)
}

fn without_call(mut place: Place) -> Place {
    (place.call, place.elsewhere, place.parameters) = (None, false, None);
    place
}
