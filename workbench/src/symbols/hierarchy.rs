//! Finds the types and members that implement, derive from or override a type or a member.
//!
//! Heirs of a type come from the bases in `//index:declarations`. Members of heirs with the same name and parameters implement a member: of an
//! interface, explicit implementations first, then public members, then inherited ones; of a class, members with `override`.

use super::calls::counterparts;
use super::index::{Symbols, simple_name};
use super::locations::{SourceLocation, declarations_of_paths};
use super::outputs::{Outputs, SymbolError};
use super::overloads::{self, Overload, explicit_interface, is_alike, short_of};
use super::resolve::Candidate;
use super::substituted_parameters::{base_levels, differs_in_result, parameters_differ};
use producers::csharp::deps::lookups::{Lookups, TableRows};
use producers::csharp::deps::resolve::all_parameters;
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::World;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Relation of an heir to a type or member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// A class or struct implements an interface, or its member one of the interface.
    Implements,
    /// A class derives from a class, or an interface from an interface.
    Derives,
    /// A member overrides one of a base class.
    Overrides,
}

impl Relation {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Implements => "implements",
            Self::Derives => "derives",
            Self::Overrides => "overrides",
        }
    }
}

/// An heir or a base of a type or member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// Number of inheritance steps to it.
    pub distance: u32,
    /// Its path.
    pub path: String,
    /// Its relation.
    pub relation: Relation,
    /// The heir that inherits this member and thereby implements the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// Place of its declaration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceLocation>,
}

/// The heirs of all types.
struct Heirs<'w> {
    symbols: &'w Symbols,
    world: World<'w>,
}

impl<'w> Heirs<'w> {
    fn direct_heirs(&self, key: &str) -> impl Iterator<Item = &'w str> {
        self.symbols.heirs(key)
    }

    fn is_interface(&self, key: &str) -> bool {
        self.world.kind(key) == 'i'
    }
}

/// Returns the heirs of a symbol, nearest first, then by path; only direct ones unless `all`. [`locate`] adds their places.
pub fn implementations<O: Outputs>(outputs: &mut O, symbols: &Symbols, of: &Candidate, all: bool) -> Result<Vec<Implementation>, O::Error> {
    let rows = TableRows::read(symbols.declarations()).map_err(|_| SymbolError::damaged())?;
    let lookups = Lookups::new(&rows);
    let heirs = Heirs {
        symbols,
        world: World::new(&lookups),
    };
    match of.member() {
        None => Ok(types(&heirs, of.key(), all)),
        Some(member) => members(outputs, symbols, &heirs, (of.key(), member), all),
    }
}

/// Sets the places of declarations.
pub fn locate<O: Outputs>(outputs: &mut O, symbols: &Symbols, found: &mut [Implementation]) -> Result<(), O::Error> {
    let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
    let places = declarations_of_paths(outputs, symbols, &paths)?;
    for (one, place) in found.iter_mut().zip(places) {
        one.place = place;
    }
    Ok(())
}

fn types(heirs: &Heirs<'_>, key: &str, all: bool) -> Vec<Implementation> {
    let mut seen = BTreeSet::from([key]);
    let (mut found, mut here, mut distance) = (Vec::new(), vec![key], 1);
    while !here.is_empty() {
        let level: BTreeSet<&str> = here.iter().flat_map(|base| heirs.direct_heirs(base)).collect();
        here = level.into_iter().filter(|heir| seen.insert(*heir)).collect();
        found.extend(here.iter().map(|heir| Implementation {
            distance,
            path: (*heir).to_owned(),
            relation: match heirs.is_interface(key) && !heirs.is_interface(heir) {
                true => Relation::Implements,
                false => Relation::Derives,
            },
            through: None,
            place: None,
        }));
        if !all {
            break;
        }
        distance += 1;
    }
    found.sort();
    found
}

fn members<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    heirs: &Heirs<'_>,
    (key, member): (&str, &str),
    all: bool,
) -> Result<Vec<Implementation>, O::Error> {
    let Some(mut wanted) = overloads::read_overload(outputs, key, member)? else {
        return Ok(Vec::new());
    };
    overloads::bind(symbols, key, std::slice::from_mut(&mut wanted))?;
    let mut search = Search {
        symbols,
        of_interface: heirs.is_interface(key),
        contract: key,
        known: BTreeMap::new(),
        wanted,
    };
    let mut seen = BTreeSet::from([key]);
    let mut found = BTreeMap::new();
    let (mut here, mut distance) = (vec![key], 1);
    while !here.is_empty() {
        let steps: BTreeSet<(&str, bool)> = here
            .iter()
            .flat_map(|base| heirs.direct_heirs(base).map(|heir| (heir, heirs.is_interface(base))))
            .filter(|(heir, _)| !seen.contains(heir))
            .collect();
        let keys: Vec<&str> = steps.iter().map(|(heir, _)| *heir).collect();
        search.open_types(outputs, &keys)?;
        here = Vec::new();
        for (heir, from_interface) in steps.into_iter().rev() {
            // A type that names the interface among its own bases implements it again.
            if !seen.insert(heir) {
                continue;
            }
            let met = search.met(
                outputs,
                (heir, &base_levels(&heirs.world, heir, key)),
                from_interface && search.of_interface,
                heirs.is_interface(heir),
            )?;
            let is_met = !met.is_empty();
            let is_explicit = is_met && met.iter().all(|(path, ..)| is_explicit(path));
            for (path, relation, through) in met {
                let one = Implementation {
                    distance,
                    path,
                    relation,
                    through,
                    place: None,
                };
                match found.get_mut(&one.path) {
                    None => _ = found.insert(one.path.clone(), one),
                    // A type with the base itself takes precedence over one that inherits the member.
                    Some(known) if known.through.is_some() && one.through.is_none() => *known = one,
                    Some(_) => {}
                }
            }
            // If a member of this type hides the wanted one (`new`), heirs of the type override the hiding member.
            let levels = base_levels(&heirs.world, heir, key);
            if !is_met && !search.of_interface && search.hides(heir, &levels) {
                continue;
            }
            // No member overrides an explicit implementation, but a type may implement again what an interface implements.
            if all && (!is_explicit || heirs.is_interface(heir)) || !is_met {
                here.push(heir);
            }
        }
        distance += 1;
    }
    let mut found: Vec<Implementation> = found.into_values().collect();
    found.sort();
    Ok(found)
}

/// The search for implementations of a member.
struct Search<'s> {
    symbols: &'s Symbols,
    wanted: Overload,
    of_interface: bool,
    /// Key of the declaring type.
    contract: &'s str,
    known: BTreeMap<String, Vec<Overload>>,
}

/// A member that implements or overrides the wanted one, its relation, and the heir that inherits it from a base.
type Answering = (String, Relation, Option<String>);

impl Search<'_> {
    fn open_types<O: Outputs>(&mut self, outputs: &mut O, keys: &[&str]) -> Result<(), O::Error> {
        let new: Vec<&str> = keys.iter().copied().filter(|key| !self.known.contains_key(*key)).collect();
        let name = &self.wanted.name;
        for (key, mut rows) in new.iter().zip(overloads::read_overloads(outputs, &new)?) {
            rows.retain(|one| one.name == *name || short_of(&one.name) == Some(name));
            overloads::bind(self.symbols, key, &mut rows)?;
            self.known.insert((*key).to_owned(), rows);
        }
        Ok(())
    }

    /// Returns the members of a type that override or implement the wanted one, up to `times`. `levels`: the base with the type arguments of the
    /// type.
    fn implementing_members(&self, key: &str, levels: &[Shape], times: usize, fits: impl Fn(&Overload) -> bool) -> Vec<String> {
        let known = self.known.get(key).into_iter().flatten();
        // The implementation of an interface's member has exactly its result type.
        let has_other_result = |one: &Overload| self.of_interface && differs_in_result(&self.wanted, levels, one);
        let may_be = |one: &&Overload| fits(one) && !parameters_differ(&self.wanted, levels, one) && !has_other_result(one);
        let rows: Vec<Overload> = known.filter(may_be).cloned().collect();
        let found = counterparts(&self.wanted, &rows);
        // Each of several overloads that differ only by type parameters may implement it.
        let is_one = !self.wanted.bound.is_empty() || self.wanted.parameters.is_empty();
        let times = if is_one || times == 0 { times } else { found.len() };
        found.iter().take(times).map(|one| format!("{key}#{}", one.key)).collect()
    }

    /// Whether a type declares a member that hides the wanted one of a base class from its heirs.
    fn hides(&self, key: &str, levels: &[Shape]) -> bool {
        let is_new = |one: &&Overload| one.name == self.wanted.name && !one.is_override && one.accessibility != "private";
        let own = self.known.get(key).into_iter().flatten().filter(is_new);
        let rows: Vec<Overload> = own.filter(|one| !parameters_differ(&self.wanted, levels, one)).cloned().collect();
        counterparts(&self.wanted, &rows).iter().any(|one| one.bound == self.wanted.bound)
    }

    /// Whether a member implements the contract's member of the wanted name explicitly.
    fn is_explicit(&self, one: &Overload) -> bool {
        let arity = all_parameters(self.contract.rsplit(['.', '+']).next().unwrap_or_default()) as usize;
        short_of(&one.name) == Some(self.wanted.name.as_str())
            && explicit_interface(&one.name) == simple_name(self.contract)
            && type_arguments(&one.name) == arity
    }

    /// Returns the members by which an heir implements or overrides the wanted one, with relations, and the heir itself if it inherits the member
    /// from a base. `levels`: the base with the heir's type arguments.
    fn met<O: Outputs>(
        &mut self,
        outputs: &mut O,
        (heir, levels): (&str, &[Shape]),
        implements: bool,
        is_interface: bool,
    ) -> Result<Vec<Answering>, O::Error> {
        let name = self.wanted.name.clone();
        let with = |relation: Relation| move |path: String| (path, relation, None);
        let of_class = |one: &Overload| one.name == name && one.is_override;
        if !implements && !is_interface {
            let found = self.implementing_members(heir, levels, 1, of_class).into_iter();
            return Ok(found.map(with(Relation::Overrides)).collect());
        }
        let public = |one: &Overload| one.name == name && one.accessibility == "public";
        let own = self.known.get(heir).into_iter().flatten();
        let has_same = own.filter(|one| public(one)).any(|one| is_alike(one, &self.wanted));
        // Exclude explicit implementations of another overload.
        let explicit = |one: &Overload| self.is_explicit(one) && (!has_same || is_alike(one, &self.wanted));
        let times = levels.len().max(1);
        let mut found = self.implementing_members(heir, levels, times, explicit);
        if !is_interface {
            found.extend(self.implementing_members(heir, levels, times - found.len(), public));
        }
        if is_interface || !found.is_empty() {
            return Ok(found.into_iter().map(with(Relation::Implements)).collect());
        }
        for base in self.symbols.bases(heir) {
            if !self.symbols.declares(&base, &name) {
                continue;
            }
            self.open_types(outputs, &[&base])?;
            let is_class = self
                .symbols
                .find(&base)
                .is_some_and(|at| self.symbols.brief(at).kind != "interface");
            // The parameters of an inherited member are in terms of the heir's base.
            let level = [Shape::of_key(self.contract)];
            let levels = if all_parameters(self.contract) == 0 { &level[..] } else { &[] };
            let found = self.implementing_members(&base, levels, times, |one| public(one) || self.is_explicit(one));
            if is_class && !found.is_empty() {
                let through = |path: String| (path, Relation::Implements, Some(heir.to_owned()));
                return Ok(found.into_iter().map(through).collect());
            }
        }
        Ok(Vec::new())
    }
}

/// Whether the path of a member is that of an explicit implementation.
fn is_explicit(path: &str) -> bool {
    let member = path.split_once('#').map_or("", |(_, member)| member);
    short_of(member.split('(').next().unwrap_or(member)).is_some()
}

/// Returns the number of type arguments of the interface that an explicit implementation names.
fn type_arguments(name: &str) -> usize {
    let Some(short) = short_of(name) else { return 0 };
    let before = &name[..name.len() - short.len() - 1];
    let Some(inner) = before.strip_suffix('>') else { return 0 };
    let (mut depth, mut count) = (1_usize, 1);
    for c in inner.chars().rev() {
        match c {
            '>' | ')' | ']' => depth += 1,
            '<' | '(' | '[' => depth -= 1,
            ',' if depth == 1 => count += 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::*;

    fn rows_of(sample: &mut Sample, symbol: &str, all: bool) -> Vec<String> {
        let symbols = sample.names();
        let found = resolve(&symbols, sample, symbol, &Options::default()).expect("a resolution");
        let of = found.candidate().expect("one").clone();
        let mut found = implementations(sample, &symbols, &of, all).expect("an answer");
        locate(sample, &symbols, &mut found).expect("places");
        let line = |one: &Implementation| {
            let through = one.through.as_ref().map(|by| format!(" through {by}")).unwrap_or_default();
            let place = one.place.as_ref().map_or_else(String::new, ToString::to_string);
            format!("{} {} {}{through} {place}", one.distance, one.relation.as_str(), one.path)
        };
        found.iter().map(line).collect()
    }

    #[test]
    fn a_new_virtual_member_ends_the_overrides_of_the_hidden_one() {
        let text = "class A { public virtual void V() { } }\nclass B : A { public new virtual void V() { } }\nclass C : B { public override void V() { } }\n";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(rows_of(&mut sample, "A.V", true), Vec::<String>::new());
        assert_eq!(rows_of(&mut sample, "B.V", true), ["1 overrides C#V() a.cs:3:36"]);
    }

    #[test]
    fn types_that_implement_and_derive() {
        let text = "interface I { }\ninterface J : I { }\nclass A : J { }\nclass B : A { }\nstruct S : I { }\n[System.Obsolete]\npublic sealed class C<T> : I { }\n";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(
            rows_of(&mut sample, "I", false),
            ["1 implements C`1 a.cs:7:21", "1 derives J a.cs:2:11", "1 implements S a.cs:5:8"]
        );
        assert_eq!(
            rows_of(&mut sample, "I", true),
            [
                "1 implements C`1 a.cs:7:21", "1 derives J a.cs:2:11", "1 implements S a.cs:5:8", "2 implements A a.cs:3:7",
                "3 implements B a.cs:4:7"
            ]
        );
        assert_eq!(rows_of(&mut sample, "A", true), ["1 derives B a.cs:4:7"]);
        assert_eq!(rows_of(&mut sample, "S", true), [""; 0]);
    }

    #[test]
    fn members_that_implement_and_override() {
        let text = "interface I { void Go(int x); void Go(string x); }
interface J { void Go(int x); }
class A : I, J {
public virtual void Go(int x) { }
void I.Go(string x) { }
void J.Go(int x) { }
public void Go(string x) { } }
class B : A { public override void Go(int x) { } }
class C : B {
/// <summary>Go.</summary>
[System.Obsolete]
public sealed override void Go(int x) { } }
class D : A { public new void Go(int x) { } }
class P { public void Go(int x) { } }
class Q : P, J { }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(rows_of(&mut sample, "I#Go(int)", false), ["1 implements A#Go(int) a.cs:4:21"]);
        assert_eq!(
            rows_of(&mut sample, "I#Go(int)", true),
            [
                "1 implements A#Go(int) a.cs:4:21",
                "2 overrides B#Go(int) a.cs:8:36",
                "3 overrides C#Go(int) a.cs:12:29"
            ]
        );
        assert_eq!(
            rows_of(&mut sample, "I#Go(string)", false),
            ["1 implements A#I.Go(string) a.cs:5:8"]
        );
        assert_eq!(
            rows_of(&mut sample, "J.Go", false),
            ["1 implements A#J.Go(int) a.cs:6:8", "1 implements P#Go(int) through Q a.cs:14:23"]
        );
        assert_eq!(rows_of(&mut sample, "A#Go(int)", false), ["1 overrides B#Go(int) a.cs:8:36"]);
        assert_eq!(rows_of(&mut sample, "D.Go", true), [""; 0]);
    }

    #[test]
    fn an_explicit_implementation_of_another_overload_is_none() {
        let text = "interface I { void Go(string a, bool b); void Go(string a, System.Exception b); }
class A : I { public void Go(string a, bool b) { } void I.Go(string a, System.Exception b) { } }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(
            rows_of(&mut sample, "I#Go(string,bool)", false),
            ["1 implements A#Go(string,bool) a.cs:2:27"]
        );
        assert_eq!(
            rows_of(&mut sample, "I#Go(string,System.Exception)", false),
            ["1 implements A#I.Go(string,System.Exception) a.cs:2:59"]
        );
    }

    #[test]
    fn nothing_overrides_an_explicit_implementation() {
        let text = "interface I { void Set(int at, object value); }
abstract class A<T> : I { void I.Set(int at, object value) { } public abstract void Set(int at, T value); }
class B : A<string> { public override void Set(int at, string value) { } }
interface J { T Add<T>(string key, T value); T Add<T>(string key, System.Func<string, T> make); void Add(string key, int value); }
class C : J { public T Add<T>(string key, T value) => value; public void Add(string key, int value) { }
public void Add(string key, int? value) { }
public T Add<T>(string key, System.Func<string, T> make) => make(key); }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(
            rows_of(&mut sample, "I.Set", true),
            ["1 implements A`1#I.Set(int,object) a.cs:2:34"]
        );
        assert_eq!(
            rows_of(&mut sample, "J#Add`1(string,T)", true),
            ["1 implements C#Add`1(string,T) a.cs:5:24"]
        );
        let made = rows_of(&mut sample, "J#Add`1(string,System.Func<string,T>)", true);
        assert_eq!(made, ["1 implements C#Add`1(string,System.Func<string, T>) a.cs:7:10"]);
        assert_eq!(
            rows_of(&mut sample, "J#Add(string,int)", true),
            ["1 implements C#Add(string,int) a.cs:5:74"]
        );
    }

    #[test]
    fn types_implement_again_what_an_interface_implements() {
        let text = "interface I { void Go(); }
interface J : I { void I.Go() { } }
interface K : J { abstract void I.Go(); }
class A : J { }
class B : K { void I.Go() { } }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        let expected = [
            "1 implements J#I.Go() a.cs:2:26",
            "2 implements K#I.Go() a.cs:3:35",
            "3 implements B#I.Go() a.cs:5:22",
        ];
        assert_eq!(rows_of(&mut sample, "I.Go", true), expected);
    }

    #[test]
    fn the_header_that_is_compiled_has_the_name() {
        let text = "interface I { string Show(int value); }
class A : I {
#if OTHER
    public string Show(long value)
#else
    public string Show(int value)
#endif
    { return null; } }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(rows_of(&mut sample, "I.Show", true), ["1 implements A#Show(int) a.cs:6:19"]);
    }

    #[test]
    fn overrides_of_a_member_beside_an_explicit_implementation_are_none() {
        let text = "interface I { string Get(string x); }
abstract class A : I { string I.Get(string x) => Get(x); protected virtual string Get(string x) => x; }
interface J : I { }
abstract class B : A, J { }
class C : B { protected override string Get(string x) => x; }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(rows_of(&mut sample, "I.Get", true), ["1 implements A#I.Get(string) a.cs:2:33"]);
    }

    #[test]
    fn members_of_other_results_implement_no_interface() {
        let text = "interface IA { IA Clear(); object Un(); }\ninterface IA<T> : IA { new T Un(); }\n\
                    class B : IA { IA IA.Clear() => Clear(); public virtual B Clear() => this; public object Un() => 1; }\n\
                    class C : B, IA<string> { public override B Clear() => this; public new string Un() => \"\"; object IA.Un() => 2; }\n";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(rows_of(&mut sample, "IA#Clear", true), ["1 implements B#IA.Clear() a.cs:3:22"]);
        assert_eq!(
            rows_of(&mut sample, "IA#Un", true),
            ["1 implements B#Un() a.cs:3:90", "2 implements C#IA.Un() a.cs:4:102"]
        );
        assert_eq!(rows_of(&mut sample, "IA`1#Un", true), ["1 implements C#Un() a.cs:4:80"]);
    }

    #[test]
    fn type_arguments_in_the_place_of_type_parameters() {
        let text = "class Context<T> { }
abstract class A<T, P> { public abstract bool Go(Context<T> of, P value); public abstract bool Go(System.Collections.Generic.List<P> of); }
abstract class B<T, P> : A<T, P> {
public sealed override bool Go(Context<T> of, P value) => true;
public abstract bool Go(P value, P other); }
class C<T, P> : B<T, P> {
public override bool Go(P value, P other) => true;
public override bool Go(System.Collections.Generic.List<P> of) => true; }
class D : A<int, string> {
public override bool Go(Context<int> of, string value) => true;
public override bool Go(System.Collections.Generic.List<string> of) => true; }
interface I { int Count { get; } }
interface J : I { }
abstract class E : J { public abstract int Count { get; } }
class F : E, I { public override int Count => 1; }
class G : E, I { }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(
            rows_of(&mut sample, "A#Go(Context<T>,P)", true),
            [
                "1 overrides B`2#Go(Context<T>,P) a.cs:4:29",
                "1 overrides D#Go(Context<int>,string) a.cs:10:22"
            ]
        );
        assert_eq!(
            rows_of(&mut sample, "I.Count", true),
            ["1 implements F#Count a.cs:15:38", "2 implements E#Count a.cs:14:44"]
        );
    }

    #[test]
    fn parameters_of_a_generic_contract() {
        let text = "interface I<T> { T Get(T x); int Count { get; } }
class A : I<int> { public int Get(int x) => x; public int Count => 1; }
class B : I<string> { string I<string>.Get(string x) => x; int I<string>.Count => 2; }
abstract class R : I<int> { public abstract int Get(int x); public abstract int Count { get; } }
class S : R { public override int Get(int x) => x; public override int Count => 3; }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(
            rows_of(&mut sample, "I.Count", true),
            [
                "1 implements A#Count a.cs:2:59",
                "1 implements B#I<string>.Count a.cs:3:74",
                "1 implements R#Count a.cs:4:81",
                "2 overrides S#Count a.cs:5:72"
            ]
        );
        let get = rows_of(&mut sample, "I.Get", false);
        assert_eq!(get.len(), 3, "{get:?}");
        let text = "interface I<T> { T Get(T x); int Count { get; } }
class M : I<int>, I<string> { public int Get(int x) => x; public string Get(string x) => x; public int Count => 1; int I<string>.Count => 2; }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        assert_eq!(
            rows_of(&mut sample, "I.Get", false),
            ["1 implements M#Get(int) a.cs:2:42", "1 implements M#Get(string) a.cs:2:73"]
        );
        assert_eq!(
            rows_of(&mut sample, "I.Count", false),
            ["1 implements M#Count a.cs:2:104", "1 implements M#I<string>.Count a.cs:2:130"]
        );
    }
}
