//! Impact of changed members: the members that use them over several steps, their overriding and implementing members, and the tests among these.
//!
//! Certain uses, uses through a base or an interface, and uses by a framework are followed; other possible uses are only reported. A member reached
//! only through a possible use is itself possible. A test is a method with an attribute of xUnit, NUnit or MSTest; a method that runs before each
//! test of a class reaches all of them. The walk looks one step past its depth, to report how much lies beyond.

use super::call_graph::{path_of, subjects_of};
use super::hierarchy::{Relation, implementations};
use super::index::Symbols;
use super::outputs::{Outputs, SymbolError, file_label};
use super::overloads::read_ahead;
use super::source::{Enclosing, enclosing};
use super::usages::{UseDoubt, usages_of_all};
use super::wired_uses::label_wired;
use crate::changed_lines::ChangedLines;
use engine::values::label::halves;
use producers::csharp::attributes::{attribute_name, is_of_test};
use producers::csharp::ids::member_key;
use producers::csharp::model::{Member, MemberKind, Span, Syntax};
use producers::csharp::syntax;
use producers::csharp::types::symbol_of;
use producers::csharp::usages::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most members that a walk follows; the answer reports how many it skips.
const MOST_FOLLOWED: usize = 200;

/// Attribute names of methods that run before or after each test.
const AROUND: [&str; 8] = [
    "SetUp", "TearDown", "OneTimeSetUp", "OneTimeTearDown", "TestInitialize", "TestCleanup", "ClassInitialize", "ClassCleanup",
];

/// The way in which a member is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reached {
    /// It changed.
    Changed,
    /// It uses one that is reached.
    Uses,
    /// It overrides one that changed.
    Overrides,
    /// It implements one that changed.
    Implements,
    /// It is a type derived from one that changed.
    Derives,
    /// It is a test, and a reached method runs before it.
    Runs,
    /// It names a declaration that the change removed.
    Lost,
}

impl Reached {
    /// Returns the word for the relation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Uses => "uses",
            Self::Overrides => "overrides",
            Self::Implements => "implements",
            Self::Derives => "derives from",
            Self::Runs => "runs",
            Self::Lost => "names the removed",
        }
    }
}

/// A member that a change reaches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Affected {
    /// Number of steps from a change.
    pub distance: u32,
    /// Its path; the type or file of code outside of every member.
    pub path: String,
    /// The way in which it is reached.
    pub how: Reached,
    /// The member through which it is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Path of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether it is a test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
    /// The reason why it is not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Members and types that a change reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// The nearest first; a member that both overrides or implements and uses a change has a row for each.
    pub affected: Vec<Affected>,
    /// Labels of targets that could not be built.
    pub unread: BTreeSet<String>,
    /// Gaps of the search, one sentence each.
    pub unseen: BTreeSet<String>,
    /// Number of members and types that one more step would reach; none of them has a row.
    pub beyond: usize,
    /// The reached tests in each class that inherits them, as test runners name them.
    pub inherited_tests: BTreeSet<String>,
    /// Classes with several tests if the change reaches each of these, as test runners name them.
    pub whole_classes: BTreeSet<String>,
}

impl Impact {
    /// Returns the selector of the reached tests for `dotnet test --filter`; one part selects all tests of a class.
    pub fn filter(&self) -> String {
        let of_class = |name: String| match name.rsplit_once('.') {
            Some((class, _)) if self.whole_classes.contains(class) => format!("{class}."),
            _ => name,
        };
        let selected: BTreeSet<String> = self.test_names().into_iter().map(of_class).collect();
        let selected: Vec<String> = selected.iter().map(|name| format!("FullyQualifiedName~{name}")).collect();
        selected.join("|")
    }

    /// Returns the reached tests, as test runners name them.
    fn test_names(&self) -> BTreeSet<String> {
        let tests = self.affected.iter().filter(|one| one.test);
        let own = tests.map(|one| full_name(&one.path));
        own.chain(self.inherited_tests.iter().cloned()).collect()
    }
}

/// Explains a member that is reached only through a possible one.
fn only_through(path: &str) -> String {
    format!("reached only through {path}, which is itself possible")
}

/// Returns the name of a method as test runners write it.
fn full_name(path: &str) -> String {
    let plain = path.split('(').next().unwrap_or(path);
    let (key, member) = halves(plain).unwrap_or((plain, ""));
    let member = member.split('`').next().unwrap_or(member);
    format!("{}.{member}", class_name(key))
}

/// Returns the name of a type as test runners write it.
fn class_name(key: &str) -> &str {
    key.split('@').next().unwrap_or(key)
}

/// Finds the members and types at the given lines.
pub fn at_lines<O: Outputs>(outputs: &mut O, symbols: &Symbols, lines: &ChangedLines) -> Result<BTreeSet<String>, O::Error> {
    let files: Vec<(&String, &Vec<(u32, u32)>)> = lines.iter().filter(|(file, _)| file.ends_with(".cs")).collect();
    let labels: Vec<String> = files.iter().map(|(file, _)| file_label(file, "syntax")).collect();
    let mut found = BTreeSet::new();
    if labels.is_empty() {
        return Ok(found);
    }
    for ((file, stretches), output) in files.into_iter().zip(outputs.read(&labels)?) {
        let Some(bytes) = output.bytes else { continue };
        let tree = syntax::decode(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
        for (first, last) in stretches {
            for line in *first..=*last {
                let around = at_line(&tree, line).into_iter();
                found.extend(around.map(|around| path_of(symbols, file, Some(around))));
            }
        }
    }
    // When a member changed, its type does not count as changed.
    let of_member: BTreeSet<String> = found.iter().filter_map(|path| Some(halves(path)?.0.to_owned())).collect();
    found.retain(|path| halves(path).is_some() || !of_member.contains(path));
    Ok(found)
}

/// Returns the members at a line of the innermost type there, or that type.
fn at_line(tree: &Syntax, line: u32) -> Vec<Enclosing> {
    let holds = |span: &Span| (span.first..=span.last).contains(&line);
    let Some(decl) = tree.types.iter().rfind(|decl| holds(&decl.span)) else {
        return Vec::new();
    };
    let symbol = decl.symbol();
    let members = decl.members.iter().filter(|member| holds(&member.span));
    let of = |member: Option<String>| Enclosing {
        symbol: symbol.clone(),
        member,
    };
    let members: Vec<Enclosing> = members.map(|member| of(Some(member_key(member)))).collect();
    if members.is_empty() { vec![of(None)] } else { members }
}

/// Returns what the changes reach in at most `depth` steps, and the count of one more step; `gaps` as for [`super::usages::usages`].
pub fn impact<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    changed: &BTreeSet<String>,
    depth: u32,
    gaps: &BTreeSet<String>,
) -> Result<Impact, O::Error> {
    impact_with_users(outputs, symbols, changed, Vec::new(), depth, gaps)
}

/// As [`impact`], with users of removed declarations ([`super::removed_uses`]), which are one step away.
pub fn impact_with_users<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    changed: &BTreeSet<String>,
    former_users: Vec<Affected>,
    depth: u32,
    gaps: &BTreeSet<String>,
) -> Result<Impact, O::Error> {
    let mut former_users = former_users;
    let mut walk = ImpactWalk {
        symbols,
        gaps,
        impact: Impact::default(),
        seen: changed.clone(),
        doubtful: BTreeSet::new(),
        trees: BTreeMap::new(),
    };
    for path in changed {
        walk.add_affected(Affected::new(0, path, Reached::Changed, None));
    }
    read_ahead(outputs, changed)?;
    for path in changed {
        walk.heirs(outputs, path)?;
    }
    let mut here: Vec<String> = changed.iter().cloned().collect();
    let (mut followed, mut left) = (0, 0);
    for distance in 1..=depth.saturating_add(1) {
        let room = MOST_FOLLOWED - followed;
        if here.len() > room {
            left += here.len() - room;
            here.truncate(room);
        }
        followed += here.len();
        if distance > depth {
            walk.look_beyond(outputs, &here, distance)?;
            break;
        }
        let mut next = walk.users(outputs, &here, distance)?;
        next.extend(walk.add_former_users(std::mem::take(&mut former_users)));
        here = next.into_iter().collect();
        if here.is_empty() {
            break;
        }
    }
    if left > 0 {
        let limit = format!("impact follows at most {MOST_FOLLOWED} members; what uses {left} more of them is missing");
        let why = format!("{limit}: ask for the impact of one overload, or of a listed member, to see the rest");
        walk.impact.unseen.insert(why);
    }
    walk.find_tests(outputs)?;
    let mut impact = walk.impact;
    impact.affected.sort();
    Ok(impact)
}

impl Affected {
    pub(super) fn new(distance: u32, path: &str, how: Reached, by: Option<&str>) -> Self {
        Self {
            distance,
            path: path.to_owned(),
            how,
            by: by.map(str::to_owned),
            file: None,
            line: None,
            test: false,
            why: None,
        }
    }
}

struct ImpactWalk<'w> {
    symbols: &'w Symbols,
    gaps: &'w BTreeSet<String>,
    impact: Impact,
    seen: BTreeSet<String>,
    /// The visited members that are reached only through a possible use.
    doubtful: BTreeSet<String>,
    trees: BTreeMap<String, Syntax>,
}

impl ImpactWalk<'_> {
    fn add_affected(&mut self, one: Affected) {
        self.impact.affected.push(one);
    }

    /// Adds the users of members and types; returns those to follow further.
    fn users<O: Outputs>(&mut self, outputs: &mut O, of: &[String], distance: u32) -> Result<BTreeSet<String>, O::Error> {
        let subjects = subjects_of(outputs, self.symbols, of)?;
        let mut found = usages_of_all(outputs, self.symbols, &subjects, self.gaps)?;
        label_wired(outputs, self.symbols, &subjects, self.gaps, &mut found)?;
        let mut all: Vec<(&str, Place, Option<UseDoubt>)> = Vec::new();
        for (subject, found) in subjects.iter().zip(found) {
            let found = found.in_code();
            self.impact.unread.extend(found.unread);
            self.impact.unseen.extend(found.unseen);
            let certain = found.certain.into_iter().map(|place| (place, None));
            let possible = found.possible.into_iter().map(|(place, why)| (place, Some(why)));
            all.extend(certain.chain(possible).map(|(place, why)| (subject.path.as_str(), place, why)));
        }
        let around = enclosing(outputs, &all.iter().map(|(_, place, _)| place).collect::<Vec<_>>())?;
        let mut next = BTreeSet::new();
        for ((used, place, why), around) in all.into_iter().zip(around) {
            let user = path_of(self.symbols, &place.file, around);
            let why = why.filter(|why| !self.reaches_all(used, why));
            let goes_on = matches!(why, None | Some(UseDoubt::Through(_) | UseDoubt::Wired(_)));
            let why = why.map(|why| why.to_string());
            let why = why.or_else(|| self.doubtful.contains(used).then(|| only_through(used)));
            let is_news = goes_on && self.seen.insert(user.clone());
            // A user known as possible is now reached for certain, and so are its own users.
            let is_surer = why.is_none() && self.doubtful.remove(&user);
            if is_news || is_surer {
                self.impact.affected.retain(|one| one.path != user || one.how != Reached::Uses);
                if why.is_some() {
                    self.doubtful.insert(user.clone());
                }
                if halves(&user).is_some() {
                    next.insert(user.clone());
                }
            } else if goes_on || self.impact.affected.iter().any(|one| one.path == user) {
                continue;
            }
            self.add_affected(Affected {
                file: Some(place.file),
                line: Some(place.line),
                why,
                ..Affected::new(distance, &user, Reached::Uses, Some(used))
            });
        }
        Ok(next)
    }

    /// Adds the users of removed declarations; returns those to follow further.
    fn add_former_users(&mut self, users: Vec<Affected>) -> BTreeSet<String> {
        let mut next = BTreeSet::new();
        for one in users {
            if self.seen.insert(one.path.clone()) && halves(&one.path).is_some() {
                next.insert(one.path.clone());
            }
            self.add_affected(one);
        }
        next
    }

    /// Counts the members that one more step would reach, without adding rows.
    fn look_beyond<O: Outputs>(&mut self, outputs: &mut O, here: &[String], distance: u32) -> Result<(), O::Error> {
        let before = self.impact.clone();
        self.users(outputs, here, distance)?;
        let known: BTreeSet<&str> = before.affected.iter().map(|one| one.path.as_str()).collect();
        let further = self.impact.affected.iter().map(|one| one.path.as_str());
        let beyond = further.filter(|path| !known.contains(path)).collect::<BTreeSet<_>>().len();
        self.impact = Impact { beyond, ..before };
        Ok(())
    }

    /// Whether a use is certain because every overload that it may refer to is reached.
    fn reaches_all(&self, used: &str, why: &UseDoubt) -> bool {
        let (UseDoubt::Overloads(others), Some((key, _))) = (why, halves(used)) else {
            return false;
        };
        others.iter().all(|other| self.seen.contains(&format!("{key}#{other}")))
    }

    /// Adds the members and types that override, implement or derive from a changed one.
    fn heirs<O: Outputs>(&mut self, outputs: &mut O, path: &str) -> Result<(), O::Error> {
        let found = super::resolve::resolve(self.symbols, outputs, path, &super::resolve::Options::default())?;
        let Ok(candidate) = found.candidate().cloned() else { return Ok(()) };
        let mut heirs = implementations(outputs, self.symbols, &candidate, true)?;
        super::hierarchy::locate(outputs, self.symbols, &mut heirs)?;
        for heir in heirs {
            let how = match heir.relation {
                Relation::Implements => Reached::Implements,
                Relation::Overrides => Reached::Overrides,
                _ => Reached::Derives,
            };
            if self.seen.contains(&heir.path) {
                continue;
            }
            let (file, line) = heir.place.map_or((None, None), |place| (Some(place.file), Some(place.line)));
            self.add_affected(Affected {
                file,
                line,
                ..Affected::new(heir.distance, &heir.path, how, Some(path))
            });
        }
        Ok(())
    }

    /// Marks the tests among the reached members, and adds the tests of classes with a reached setup method.
    fn find_tests<O: Outputs>(&mut self, outputs: &mut O) -> Result<(), O::Error> {
        let mut affected = std::mem::take(&mut self.impact.affected);
        self.read_trees(outputs, affected.iter().filter_map(|one| Some(halves(&one.path)?.0)))?;
        let mut around: Vec<Affected> = Vec::new();
        for one in &mut affected {
            let Some((key, member)) = halves(&one.path) else { continue };
            let role = self
                .members(key)?
                .into_iter()
                .find(|(known, _)| known == member)
                .map(|(_, role)| role);
            one.test = role == Some(Role::Test);
            if role == Some(Role::Around) && (one.why.is_none() || self.doubtful.contains(&one.path)) {
                around.push(one.clone());
            }
        }
        let mut more: Vec<Affected> = Vec::new();
        for one in around {
            let Some((key, _)) = halves(&one.path) else { continue };
            let heirs = self.all_heirs(key);
            self.read_trees(outputs, heirs.iter().map(String::as_str))?;
            for class in heirs.iter().map(String::as_str).chain([key]) {
                let members = self.members(class)?.into_iter();
                let tests = members.filter(|(_, role)| *role == Role::Test);
                more.extend(tests.map(|(test, _)| Affected {
                    test: true,
                    why: one.why.as_ref().map(|_| only_through(&one.path)),
                    ..Affected::new(one.distance + 1, &format!("{class}#{test}"), Reached::Runs, Some(&one.path))
                }));
            }
        }
        for test in more {
            match affected.iter_mut().find(|known| known.path == test.path) {
                Some(known) if (known.why.is_some(), known.distance) > (test.why.is_some(), test.distance) => *known = test,
                Some(_) => {}
                None => affected.push(test),
            }
        }
        for (key, member) in affected.iter().filter(|one| one.test).filter_map(|one| halves(&one.path)) {
            let names = self.all_heirs(key).into_iter().map(|heir| full_name(&format!("{heir}#{member}")));
            self.impact.inherited_tests.extend(names);
        }
        self.impact.affected = affected;
        self.find_whole_classes(outputs)
    }

    /// Finds the classes with several own or inherited tests if the change reaches each of these.
    fn find_whole_classes<O: Outputs>(&mut self, outputs: &mut O) -> Result<(), O::Error> {
        let reached = self.impact.test_names();
        let with_tests = self.impact.affected.iter().filter(|one| one.test);
        let own: BTreeSet<String> = with_tests.filter_map(|one| Some(halves(&one.path)?.0.to_owned())).collect();
        let heirs: Vec<String> = own.iter().flat_map(|key| self.all_heirs(key)).collect();
        let classes: BTreeSet<String> = own.into_iter().chain(heirs).collect();
        for class in classes {
            let family: Vec<String> = std::iter::once(class.clone()).chain(self.symbols.bases(&class)).collect();
            self.read_trees(outputs, family.iter().map(String::as_str))?;
            let mut tests = BTreeSet::new();
            for key in &family {
                let members = self.members(key)?.into_iter().filter(|(_, role)| *role == Role::Test);
                tests.extend(members.map(|(member, _)| full_name(&format!("{class}#{member}"))));
            }
            if tests.len() > 1 && tests.is_subset(&reached) {
                self.impact.whole_classes.insert(class_name(&class).to_owned());
            }
        }
        Ok(())
    }

    /// Returns the types that derive from a type at any distance, up to about [`MOST_FOLLOWED`].
    fn all_heirs(&self, key: &str) -> BTreeSet<String> {
        let (mut found, mut next) = (BTreeSet::new(), vec![key.to_owned()]);
        while let Some(base) = next.pop().filter(|_| found.len() < MOST_FOLLOWED) {
            let new = self.symbols.heirs(&base).filter(|heir| !found.contains(*heir)).map(str::to_owned);
            let new: Vec<String> = new.collect();
            found.extend(new.iter().cloned());
            next.extend(new);
        }
        found
    }

    /// Reads the syntax of the files that declare types.
    fn read_trees<'k, O: Outputs>(&mut self, outputs: &mut O, of: impl Iterator<Item = &'k str>) -> Result<(), O::Error> {
        let mut files: BTreeSet<String> = BTreeSet::new();
        for at in of.filter_map(|key| self.symbols.find(key)) {
            files.extend(self.symbols.type_row(at)?.files);
        }
        files.retain(|file| !self.trees.contains_key(file));
        let labels: Vec<String> = files.iter().map(|file| file_label(file, "syntax")).collect();
        if labels.is_empty() {
            return Ok(());
        }
        for (file, output) in files.into_iter().zip(outputs.read(&labels)?) {
            let Some(bytes) = output.bytes else { continue };
            let tree = syntax::decode(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
            self.trees.insert(file, tree);
        }
        Ok(())
    }

    /// Returns the members of a type with their roles in tests.
    fn members(&self, key: &str) -> Result<Vec<(String, Role)>, SymbolError> {
        let Some(at) = self.symbols.find(key) else { return Ok(Vec::new()) };
        let files = self.symbols.type_row(at)?.files;
        let symbol = symbol_of(key);
        let trees = files.iter().filter_map(|file| self.trees.get(file));
        let decls = trees.flat_map(|tree| &tree.types).filter(|decl| decl.symbol() == symbol);
        Ok(decls
            .flat_map(|decl| &decl.members)
            .map(|member| (member_key(member), Role::from_member(member)))
            .collect())
    }
}

/// Role of a member in tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The member is a test.
    Test,
    /// The member runs before or after each test of its class.
    Around,
    /// The member is neither.
    Other,
}

impl Role {
    fn from_member(member: &Member) -> Self {
        let mut names = member.attributes.iter().map(|attribute| attribute_name(attribute));
        if member.kind == MemberKind::Method && names.clone().any(is_of_test) {
            Self::Test
        } else if member.kind == MemberKind::Constructor || names.any(|name| AROUND.contains(&name)) {
            Self::Around
        } else {
            Self::Other
        }
    }
}

/// Whether an attribute, in its canonical text, makes a framework or the runtime run the method: a test, a method around tests, or a module
/// initializer.
pub(crate) fn runs_by_attribute(attribute: &str) -> bool {
    let name = attribute_name(attribute);
    is_of_test(name) || AROUND.contains(&name) || name == "ModuleInitializer"
}
