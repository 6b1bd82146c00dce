//! Call graph of members over several steps: callers and callees.
//!
//! Callers are the members around the places that [`super::usages`] reports. Callees come from the rows of a type's `:usages` for the places in a
//! member. Only certain uses are followed further.

use super::calls::possible_overloads;
use super::index::Symbols;
use super::outputs::{Outputs, SymbolError, read_one, type_label};
use super::overloads::{self, Overload};
use super::resolve::Candidate;
use super::source::{Enclosing, enclosing};
use super::usages::{Subject, UseDoubt, usages_of_all};
use engine::values::label::halves;
use engine::values::table::Table;
use producers::csharp::usages::{Place, UseKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most members that a walk follows; the answer reports how many it skips.
const MOST_FOLLOWED: usize = 100;

/// The kind of a use of a member by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// A call.
    Calls,
    /// A read, a write, or a mention of its name.
    Uses,
}

/// A place where one member uses another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// Steps from the requested member.
    pub distance: u32,
    /// The using member, or the type if the code is in no member.
    pub from: String,
    /// The used member; `?#Name` for a member of a value of unknown type.
    pub to: String,
    /// Kind of the use.
    pub relation: Relation,
    /// Path of the file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The line without the white space around it.
    pub text: String,
    /// Why the use is not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkEdges {
    /// The edges: nearest first, certain ones before others, then in the order of places.
    pub edges: Vec<Edge>,
    /// Labels of targets that could not be built.
    pub unread: BTreeSet<String>,
    /// Gaps of the search, one sentence each.
    pub unseen: BTreeSet<String>,
}

impl WalkEdges {
    fn sort(&mut self) {
        self.edges.sort_by(|a, b| {
            let key = |edge: &Edge| (edge.distance, edge.why.is_some(), edge.file.clone(), edge.line, edge.column);
            key(a).cmp(&key(b)).then_with(|| a.cmp(b))
        });
        self.edges.dedup();
    }

    fn add_edge(&mut self, distance: u32, (from, to): (String, String), relation: Relation, place: Place, why: Option<String>) {
        self.edges.push(Edge {
            distance,
            from,
            to,
            relation,
            file: place.file,
            line: place.line,
            column: place.column,
            text: place.text,
            why,
        });
    }

    /// Takes the members to follow from one level, up to the limit.
    fn follow(&mut self, level: BTreeSet<String>, followed: &mut usize) -> Vec<String> {
        let room = MOST_FOLLOWED.saturating_sub(*followed);
        if level.len() > room {
            let left = level.len() - room;
            self.unseen
                .insert(format!("{left} members are not followed further: {MOST_FOLLOWED} are at most"));
        }
        *followed += level.len().min(room);
        level.into_iter().take(room).collect()
    }
}

/// Returns the members that use a member, in at most `depth` steps; `gaps` as for [`super::usages::usages`].
pub fn callers<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    subject: Subject,
    depth: u32,
    gaps: &BTreeSet<String>,
) -> Result<WalkEdges, O::Error> {
    let mut walk = WalkEdges::default();
    let mut seen = BTreeSet::from([subject.path.clone()]);
    let (mut here, mut followed) = (vec![subject], 0);
    for distance in 1..=depth {
        let mut next = BTreeSet::new();
        let found = usages_of_all(outputs, symbols, &here, gaps)?;
        let mut all: Vec<(&Subject, Place, Option<String>, Relation)> = Vec::new();
        for (subject, found) in here.iter().zip(found) {
            let found = found.in_code();
            walk.unread.extend(found.unread);
            walk.unseen.extend(found.unseen);
            let certain = found.certain.into_iter().map(|place| (place, None));
            let possible = found.possible.into_iter().map(|(place, why)| (place, Some(why.to_string())));
            all.extend(certain.chain(possible).map(|(place, why)| {
                let relation = match found.called.contains(&place) {
                    true => Relation::Calls,
                    false => Relation::Uses,
                };
                (subject, place, why, relation)
            }));
        }
        let around = enclosing(outputs, &all.iter().map(|(_, place, ..)| place).collect::<Vec<_>>())?;
        for ((subject, place, why, relation), around) in all.into_iter().zip(around) {
            let from = path_of(symbols, &place.file, around);
            if why.is_none() && halves(&from).is_some() && !seen.contains(&from) {
                next.insert(from.clone());
            }
            walk.add_edge(distance, (from, subject.path.clone()), relation, place, why);
        }
        seen.extend(next.iter().cloned());
        if distance == depth {
            break;
        }
        here = subjects_of(outputs, symbols, &walk.follow(next, &mut followed))?;
    }
    walk.sort();
    Ok(walk)
}

/// Returns the members that members use, in at most `depth` steps.
pub fn callees<O: Outputs>(outputs: &mut O, symbols: &Symbols, of: &[Candidate], depth: u32) -> Result<WalkEdges, O::Error> {
    let mut walk = WalkEdges::default();
    let mut seen: BTreeSet<String> = of.iter().map(|one| one.path.clone()).collect();
    let mut here: Vec<String> = seen.iter().cloned().collect();
    let mut followed = 0;
    for distance in 1..=depth {
        let mut next = BTreeSet::new();
        for from in here {
            for (to, place, why) in used_members(outputs, symbols, &from, &mut walk)? {
                if why.is_none() && !seen.contains(&to) {
                    next.insert(to.clone());
                }
                let relation = if place.call.is_some() { Relation::Calls } else { Relation::Uses };
                walk.add_edge(distance, (from.clone(), to), relation, place, why);
            }
        }
        seen.extend(next.iter().cloned());
        if distance == depth {
            break;
        }
        here = walk.follow(next, &mut followed);
    }
    walk.sort();
    Ok(walk)
}

/// A used member, the place of the use, and the reason when the use is only possible.
type UsedMember = (String, Place, Option<String>);

/// Returns the members that a member uses, with places and reasons.
fn used_members<O: Outputs>(outputs: &mut O, symbols: &Symbols, path: &str, walk: &mut WalkEdges) -> Result<Vec<UsedMember>, O::Error> {
    let Some((key, _)) = halves(path) else { return Ok(Vec::new()) };
    let label = type_label(key, "usages");
    let Some(bytes) = read_one(outputs, label.clone())? else {
        walk.unread.insert(label);
        return Ok(Vec::new());
    };
    let table = Table::open(&bytes).ok_or_else(SymbolError::damaged)?;
    let mut all: Vec<(&str, &str, Place)> = Vec::new();
    for (row, places) in table.rows() {
        let Some((owner, name)) = halves(row) else { continue };
        let places: Vec<Place> = serde_json::from_slice(places).map_err(|_| SymbolError::damaged().at_label(&label))?;
        let in_code = places
            .into_iter()
            .filter(|place| place.kind != UseKind::Cref && !owner.starts_with('~'));
        all.extend(in_code.map(|place| (owner, name, place)));
    }
    let around = enclosing(outputs, &all.iter().map(|(_, _, place)| place).collect::<Vec<_>>())?;
    let inside = all.into_iter().zip(around);
    let own: Vec<(&str, &str, Place)> = inside
        .filter(|((_, _, place), around)| path_of(symbols, &place.file, around.clone()) == path)
        .map(|(one, _)| one)
        .collect();
    let owners: BTreeSet<&str> = own.iter().map(|(owner, _, _)| *owner).filter(|owner| *owner != "?").collect();
    let owners: Vec<&str> = owners.into_iter().collect();
    let mut members: BTreeMap<&str, Vec<Overload>> = owners.iter().copied().zip(overloads::read_overloads(outputs, &owners)?).collect();
    for (key, members) in &mut members {
        overloads::bind(symbols, key, members)?;
    }
    let mut found = Vec::with_capacity(own.len());
    for (owner, name, place) in own {
        let Some(rows) = members.get(owner) else {
            let why = match place.call.as_ref().is_some_and(|call| call.extension) {
                true => UseDoubt::Extension,
                false => UseDoubt::UnknownValue,
            };
            found.push((format!("?#{name}"), place, Some(why.to_string())));
            continue;
        };
        let rows: Vec<Overload> = rows.iter().filter(|one| one.name == name).cloned().collect();
        let left: Vec<&Overload> = match &place.call {
            Some(call) if rows.len() > 1 => possible_overloads(&rows, call),
            _ => rows.iter().collect(),
        };
        let (to, why) = match left.as_slice() {
            [one] => (format!("{owner}#{}", one.key), None),
            [] => (format!("{owner}#{name}"), Some("the arguments fit no known overload".to_owned())),
            several => {
                let keys: Vec<&str> = several.iter().map(|one| one.key.as_str()).collect();
                (format!("{owner}#{name}"), Some(format!("one of {}", keys.join(" and "))))
            }
        };
        let why = why.or_else(|| {
            place
                .elsewhere
                .then(|| "the arguments also fit an overload that another type declares".to_owned())
        });
        found.push((to, place, why));
    }
    Ok(found)
}

/// Returns the path of the type or member around a place in a file.
pub(super) fn path_of(symbols: &Symbols, file: &str, around: Option<Enclosing>) -> String {
    let Some(around) = around else { return file.to_owned() };
    let is_of_file = |at: &usize| symbols.type_row(*at).is_ok_and(|row| row.files.iter().any(|own| own == file));
    let key = match symbols.find(&around.symbol) {
        Some(_) => around.symbol.clone(),
        None => {
            let marked = symbols.containing(&format!("{}@", around.symbol));
            let found = marked
                .into_iter()
                .filter(|at| symbols.key(*at).starts_with(&format!("{}@", around.symbol)))
                .find(is_of_file);
            found.map_or_else(|| around.symbol.clone(), |at| symbols.key(at).to_owned())
        }
    };
    match around.member {
        Some(member) => format!("{key}#{member}"),
        None => key,
    }
}

/// Resolves paths of members and types to search subjects; skips paths that no longer resolve.
pub(super) fn subjects_of<O: Outputs>(outputs: &mut O, symbols: &Symbols, paths: &[String]) -> Result<Vec<Subject>, O::Error> {
    let mut subjects = Vec::with_capacity(paths.len());
    overloads::read_ahead(outputs, paths)?;
    for path in paths {
        let found = super::resolve::resolve(symbols, outputs, path, &super::resolve::Options::default())?;
        subjects.extend(Subject::from_resolution(&found).ok());
    }
    Ok(subjects)
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::*;

    const TEXT: &str = "class A {
public int Count;
public void One() { Two(); Count = 1; }
public void Two() { Three(1); } public void Größe() { Three(2); }
public void Three(int x) { One(); }
public void Three(string x) { }
}
class B {
[System.Obsolete] int n = new A().Count;
void Go(A a, dynamic d) { a.One(); d.Two(); a.Three(d); System.Action f = a.Two; }
}
";

    fn rows_of(walk: &WalkEdges) -> Vec<String> {
        let line = |edge: &Edge| {
            let why = edge.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            let relation = if edge.relation == Relation::Calls { "calls" } else { "uses" };
            format!(
                "{} {} {relation} {} {}:{}{why}",
                edge.distance, edge.from, edge.to, edge.line, edge.column
            )
        };
        walk.edges.iter().map(line).collect()
    }

    fn callers_of(symbol: &str, depth: u32) -> Vec<String> {
        let mut sample = Sample::from_files(&[("a.cs", TEXT)]);
        let symbols = sample.names();
        let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        rows_of(
            &callers(
                &mut sample,
                &symbols,
                Subject::from_resolution(&found).expect("one"),
                depth,
                &BTreeSet::new(),
            )
            .expect("a walk"),
        )
    }

    fn callees_of(symbol: &str, depth: u32) -> Vec<String> {
        let mut sample = Sample::from_files(&[("a.cs", TEXT)]);
        let symbols = sample.names();
        let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let of = found.meant_with_overloads().expect("one").to_vec();
        rows_of(&callees(&mut sample, &symbols, &of, depth).expect("a walk"))
    }

    #[test]
    fn callers_to_a_depth() {
        let unknown = "(the type of the value is unknown, in code that names A)";
        assert_eq!(
            callers_of("A.Two", 1),
            [
                "1 A#One() calls A#Two() 3:21".to_owned(),
                "1 B#Go(A,dynamic) uses A#Two() 10:77".to_owned(),
                format!("1 B#Go(A,dynamic) calls A#Two() 10:38 {unknown}")
            ]
        );
        let deep = callers_of("A#Three(int)", 3);
        assert!(deep.contains(&"1 A#Größe() calls A#Three(int) 4:55".to_owned()), "{deep:?}");
        assert!(deep.contains(&"2 A#One() calls A#Two() 3:21".to_owned()), "{deep:?}");
        assert!(deep.contains(&"3 A#Three(int) calls A#One() 5:28".to_owned()), "{deep:?}");
        // A member that was already visited is not visited again.
        assert_eq!(callers_of("A#Three(int)", 3), callers_of("A#Three(int)", 9));
        assert_eq!(callers_of("A.Count", 1), ["1 A#One() uses A#Count 3:28", "1 B#n uses A#Count 9:35"]);
    }

    #[test]
    fn callees_to_a_depth() {
        assert_eq!(
            callees_of("A.One", 1),
            ["1 A#One() calls A#Two() 3:21", "1 A#One() uses A#Count 3:28"]
        );
        assert_eq!(
            callees_of("A.One", 9),
            [
                "1 A#One() calls A#Two() 3:21",
                "1 A#One() uses A#Count 3:28",
                "2 A#Two() calls A#Three(int) 4:21",
                "3 A#Three(int) calls A#One() 5:28"
            ]
        );
        let of_go = callees_of("B.Go", 1);
        assert!(
            of_go.contains(&"1 B#Go(A,dynamic) calls ?#Two 10:38 (the type of the value is unknown)".to_owned()),
            "{of_go:?}"
        );
        let left = "1 B#Go(A,dynamic) calls A#Three 10:47 (one of Three(int) and Three(string))".to_owned();
        assert!(of_go.contains(&left), "{of_go:?}");
    }
}
