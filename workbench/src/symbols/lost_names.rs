//! Names that an edit leaves without a meaning: unbound names in its new text, and code elsewhere that names what the edit removed. Checks the
//! types that the edit touched and those that name them, after the edit; a comparison of the texts decides whether the edit is the cause.

use super::edit_distance::Word;
pub use super::edited_file::EditedFile;
use super::edited_file::{count_of_word, with_moved_texts};
use super::index::Symbols;
use super::lost_calls::{Calls, changed_members, is_new, misfits};
use super::lost_types::{duplicates, files_with_packages, may_have_generated_members, newly_unimplemented, unknown_types};
use super::lost_usings::{GlobalUsings, RemovedUsings};
use super::outputs::{Outputs, SymbolError, type_label};
use super::unbound::Bound;
use super::undeclared_qualifiers::{UndeclaredQualifier, undeclared_qualifiers};
use crate::code_text::declared::declared_names;
use engine::seams::world::World;
use engine::values::label::{halves, unescape};
use engine::values::table::Table;
use producers::csharp::usages::{NOTHING, Place, UseKind};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Most types that are checked beside the edited ones.
pub const MOST_READERS: usize = 200;

/// Most places that are listed per name.
const MOST_PLACES: usize = 5;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostNames {
    /// A sentence for each name, with its places: file, line and column.
    pub lost: Vec<String>,
    /// Names that the edit adds and nothing in the workspace declares; a package may declare them.
    pub undeclared: Vec<UndeclaredQualifier>,
    /// Number of types that were not checked.
    pub left_out: usize,
}

/// Declarations that the edit removed from the files.
#[derive(Default)]
struct Gone {
    /// Members by the symbols of their types.
    members: BTreeMap<String, BTreeSet<String>>,
    types: BTreeSet<String>,
}

impl Gone {
    fn from_edits(files: &[EditedFile]) -> Self {
        let mut gone = Self::default();
        let all = |text: fn(&EditedFile) -> &str| {
            files
                .iter()
                .flat_map(move |file| declared_names(text(file)))
                .collect::<BTreeSet<_>>()
        };
        let (before, after) = (all(|file| &file.before), all(|file| &file.after));
        for name in before.difference(&after) {
            match halves(name) {
                None => drop(gone.types.insert(name.clone())),
                Some((owner, member)) => {
                    let same = |other: &String| halves(other).is_some_and(|(of, other)| of == owner && simple(other) == simple(member));
                    // An overload of the same name may remain.
                    if !after.iter().any(same) {
                        gone.members.entry(owner.to_owned()).or_default().insert(member.to_owned());
                    }
                }
            }
        }
        // A removed type includes its members.
        gone.members.retain(|owner, _| !gone.types.contains(owner));
        gone
    }

    fn is_nothing(&self) -> bool {
        self.members.is_empty() && self.types.is_empty()
    }
}

/// Finds names that edits of files leave without a meaning.
pub fn lost_names<O: Outputs>(outputs: &mut O, symbols: &Symbols, disk: &dyn World, files: &[EditedFile]) -> Result<LostNames, O::Error> {
    let (files, former_paths) = with_moved_texts(files);
    let files = files.as_slice();
    let touched: BTreeSet<String> = files
        .iter()
        .flat_map(|file| symbols.types_of_file(&file.path))
        .map(str::to_owned)
        .collect();
    let gone = Gone::from_edits(files);
    let mut found = LostNames::default();
    let mut looked: BTreeSet<String> = touched.clone();
    let globals = GlobalUsings::from_symbols(outputs)?;
    let with_packages = files_with_packages(symbols, files, &globals);
    let removed = RemovedUsings::from_edits(files, &former_paths, &globals, &with_packages);
    let changed: BTreeSet<String> = changed_members(files).into_iter().map(|(owner, _)| owner).collect();
    if !gone.is_nothing() || !changed.is_empty() {
        let bound = Bound::from_outputs(outputs)?;
        let named: BTreeSet<String> = gone.members.keys().cloned().chain(changed).collect();
        let readers: Vec<String> = bound.naming(&named).into_iter().collect();
        found.left_out = readers.len().saturating_sub(MOST_READERS);
        looked.extend(readers.into_iter().take(MOST_READERS));
        for one in bound.unbound.iter().filter(|one| one.meanings.is_empty()) {
            let mut is_gone = false;
            for gone in gone.types.iter().filter(|gone| last_name(gone) == last_name(&one.name)) {
                is_gone |= one.may_have_meant(gone, outputs, symbols, &globals)?;
            }
            if is_gone {
                found.lost.push(format!("{} names {}, which no longer exists", one.of, one.name));
            }
        }
    }
    let cause = Cause {
        gone: &gone,
        removed: &removed,
        files,
    };
    let (places, calls) = unresolved_uses(outputs, symbols, &looked, &cause, &with_packages)?;
    let messages: BTreeSet<String> = places
        .into_iter()
        .map(|(name, places)| cause.describe_loss(symbols, &name, &places))
        .collect();
    found.lost.extend(messages);
    found.lost.extend(unknown_types(
        outputs,
        symbols,
        &touched,
        files,
        &with_packages,
        (&globals, &removed),
    )?);
    found.lost.extend(misfits(outputs, symbols, &calls, files)?);
    found.lost.extend(newly_unimplemented(outputs, symbols, disk, &touched, files)?);
    found.lost.extend(duplicates(files));
    let undeclared = undeclared_qualifiers(outputs, symbols, disk, files, &with_packages)?;
    // A name is reported once: as lost if it is.
    let is_reported = |one: &UndeclaredQualifier| found.lost.iter().any(|lost| lost.contains(&format!("{} ", one.name)));
    found.undeclared = undeclared.into_iter().filter(|one| !is_reported(one)).collect();
    Ok(found)
}

/// What edits removed.
struct Cause<'e> {
    gone: &'e Gone,
    removed: &'e RemovedUsings,
    files: &'e [EditedFile],
}

/// Places of unresolved names.
type PlacesByName = BTreeMap<String, BTreeSet<Place>>;

/// Reads the uses of these types. Returns the places of unresolved names that the edits caused, by name, and the places of calls.
fn unresolved_uses<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    types: &BTreeSet<String>,
    cause: &Cause<'_>,
    with_packages: &BTreeSet<String>,
) -> Result<(PlacesByName, Calls), O::Error> {
    let (gone, files) = (cause.gone, cause.files);
    let mut places: PlacesByName = BTreeMap::new();
    // A name that one bound of a type parameter may have, and the others lack, has a meaning.
    let mut generated: PlacesByName = BTreeMap::new();
    let mut calls = Calls::new();
    let labels: Vec<String> = types.iter().map(|key| type_label(key, "usages")).collect();
    for output in outputs.read(&labels)? {
        let Some(bytes) = output.bytes else { continue };
        let damaged = || SymbolError::damaged().at_label(&output.label);
        let table = Table::open(&bytes).ok_or_else(damaged)?;
        for (key, value) in table.rows() {
            let Some((owner, name)) = halves(key) else { continue };
            let Some(receiver) = owner.strip_prefix(NOTHING) else {
                if !owner.starts_with(['~', '?', '^']) {
                    let all: Vec<Place> = serde_json::from_slice(value).map_err(|_| damaged())?;
                    calls.entry((owner.to_owned(), name.to_owned())).or_default().extend(all);
                }
                continue;
            };
            let all: Vec<Place> = serde_json::from_slice(value).map_err(|_| damaged())?;
            // Where packages are imported, a call may refer to an extension method of one, unless the edit removed a member of that name.
            let is_of_package = |place: &Place| place.kind == UseKind::Call && with_packages.contains(&place.file);
            let is_closed = |place: &Place| cause.removed.target_with_member(symbols, &place.file, name).is_some();
            let is_new =
                |place: &Place| gone.has_member(name) || is_closed(place) || !is_of_package(place) && came_with(files, place, name);
            let all: Vec<Place> = all.into_iter().filter(is_new).collect();
            if !all.is_empty() && !gone.has_member(name) {
                let user = output.label.strip_prefix("//types/").and_then(|rest| rest.strip_suffix(":usages"));
                let of = if receiver.is_empty() {
                    user.map(unescape).unwrap_or_default()
                } else {
                    receiver.to_owned()
                };
                if may_have_generated_members(outputs, symbols, &of)? {
                    generated.entry(name.to_owned()).or_default().extend(all);
                    continue;
                }
            }
            if !all.is_empty() {
                places.entry(name.to_owned()).or_default().extend(all);
            }
        }
    }
    for (name, places) in &mut places {
        places.retain(|place| generated.get(name).is_none_or(|generated| !generated.contains(place)));
    }
    places.retain(|_, places| !places.is_empty());
    Ok((places, calls))
}

impl Gone {
    fn has_member(&self, name: &str) -> bool {
        self.members.values().flatten().any(|member| simple(member) == name)
    }
}

/// Whether an edit added the word, or removed a declaration that it may have referred to, such as a local or a parameter.
fn came_with(files: &[EditedFile], place: &Place, name: &str) -> bool {
    let Some(file) = files.iter().find(|file| file.path == place.file) else {
        return false;
    };
    match count_of_word(&file.after, name).cmp(&count_of_word(&file.before, name)) {
        Ordering::Less => true,
        Ordering::Equal => false,
        Ordering::Greater => is_new(files, place),
    }
}

/// Returns a similar name that the files declare.
fn nearest(files: &[EditedFile], name: &str) -> Option<String> {
    let wanted = Word::new(name);
    let declared = files.iter().flat_map(|file| declared_names(&file.after));
    let names = declared.filter_map(|path| Some(simple(halves(&path)?.1).to_owned()));
    let near = names.filter_map(|other| Some((wanted.edits(&other)?, other)));
    near.filter(|(_, near)| near != name).min().map(|(_, other)| other)
}

impl Cause<'_> {
    /// Describes a lost name with its places.
    fn describe_loss(&self, symbols: &Symbols, name: &str, places: &BTreeSet<Place>) -> String {
        let shown = places.iter().take(MOST_PLACES);
        let mut at: Vec<String> = shown
            .map(|place| format!("{}:{}:{}", place.file, place.line, place.column))
            .collect();
        if places.len() > MOST_PLACES {
            at.push(format!("{} more places", places.len() - MOST_PLACES));
        }
        let at = at.join(", ");
        if self.gone.has_member(name) {
            return format!("{name} no longer exists, and is named at {at}");
        }
        let target = |place: &Place| self.removed.target_with_member(symbols, &place.file, name);
        if let Some(target) = places.iter().find_map(target) {
            let of_type = if symbols.find(target).is_some() { "static " } else { "" };
            return format!("{name} needs `using {of_type}{target};` at {at}");
        }
        match nearest(self.files, name) {
            Some(near) => format!("{name} is not defined at {at} (did you mean {near}?)"),
            None => format!("{name} is not defined at {at}"),
        }
    }
}

fn simple(member: &str) -> &str {
    let end = member.find(['`', '(']).unwrap_or(member.len());
    let name = &member[..end];
    name.rsplit('.').next().unwrap_or(name)
}

pub(super) fn last_name(name: &str) -> &str {
    let end = name.rsplit(['.', '+', ':']).next().unwrap_or(name);
    end.split(['`', '<']).next().unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::samples::Sample;

    const ID: &str = "namespace N;\npublic class Id\n{\n    public int Value;\n    public bool IsNone => Value == 0;\n    public int Twice() => Value * 2;\n}\n";
    const USER: &str = "namespace N;\nclass User\n{\n    int M(Id id) => id.Value + id.Twice();\n    object Other => Package.Make(id: 1).Value;\n    string F(int value) { var local = nameof(value); return $\"{local}\"; }\n}\n";

    /// Returns the names that an edit of the first file leaves unresolved.
    fn lost(after: &str) -> Vec<String> {
        lost_between(ID, after)
    }

    /// Returns the names that an edit between two texts leaves unresolved.
    fn lost_between(before: &str, after: &str) -> Vec<String> {
        let mut sample = Sample::from_files(&[("id.cs", after), ("user.cs", USER)]);
        let symbols = sample.names();
        let file = EditedFile {
            path: "id.cs".to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
        };
        let disk = sample.world();
        lost_names(&mut sample, &symbols, &*disk, &[file]).expect("outputs").lost
    }

    #[test]
    fn names_that_mean_nothing_are_told_with_their_places() {
        assert_eq!(
            lost(&ID.replace("IsNone => Value", "IsNone => Valu")),
            ["Valu is not defined at id.cs:5:27 (did you mean Value?)"]
        );
        assert_eq!(
            lost(&ID.replace("Value * 2", "Half(this.Values)")),
            [
                "Half is not defined at id.cs:6:27",
                "Values is not defined at id.cs:6:37 (did you mean Value?)"
            ]
        );
        for fine in [
            ID.replace("Value * 2", "{ }").replace(
                "=> { }",
                "{ if (\"\" is string text && text.Length > 0) { return text.Length; } return Value; }",
            ),
            ID.replace(
                "Value * 2",
                "System.Math.Abs(Value) + Newtonsoft.Json.Parse(Json.Of(nameof(Value)))",
            ),
            ID.replace(
                "Value * 2",
                "new System.Collections.Generic.List<int> { Value }.Where(x => x > 1).Sum(y => y)",
            ),
        ] {
            assert_eq!(lost(&fine), Vec::<String>::new(), "{fine}");
        }
    }

    #[test]
    fn types_calls_arguments_and_locals_that_are_lost_are_told() {
        let twice = "public int Twice() => Value * 2;";
        for (new, found) in [
            (
                "public int Twice() => new Idd().Value * 2;",
                "Idd is not a known type at id.cs:6:31 (did you mean Id?)",
            ),
            (
                "public int Twice() { Nowhere x = null; return 1; }",
                "Nowhere is not a known type at id.cs:6:26",
            ),
            ("public int Twice() => Id.Missing() * 2;", "Missing is not defined at id.cs:6:30"),
            ("public int Twice() => this.Missing() * 2;", "Missing is not defined at id.cs:6:32"),
            (
                "public int Twice() => Plus(one: 1); int Plus(int two) => two;",
                "no Plus takes the arguments at id.cs:6:27 (there is Plus(int))",
            ),
            (
                "public int Twice() => Plus(1, 2); int Plus(int two) => two;",
                "no Plus takes the arguments at id.cs:6:27 (there is Plus(int))",
            ),
            (
                "public int Twice(int by) => Value * by;",
                "no Twice takes the arguments at user.cs:4:35 (there is Twice(int))",
            ),
            (
                "public int Twice() => Value * 2;\n    public int Twice() => 1;",
                "N.Id#Twice() is declared again at id.cs:7",
            ),
            (
                "public int Twice() { int total = 1; return count; }",
                "count is not defined at id.cs:6:48",
            ),
        ] {
            assert_eq!(lost(&ID.replace(twice, new)), [found], "{new}");
        }
        for fine in [
            "public int Twice(int by = 2) => Value * by;",
            "public int Twice() => System.Linq.Enumerable.Count(new[] { 1 });",
            "public int Twice() { System.Func<int, int> f = x => x; return f(1) + new Id().Value; }",
            "public int Twice() => Sum(first: 1, 2); static int Sum(int first, int second) => first;",
            "public int Twice() { var (one, two) = Make(); return one; static (int, int) Make() { return (1, 2); } }",
            "public int Twice() => Sum(1, 2, 3) + Sum(); static int Sum(params int[] all) => all.Length;",
            "[Newest] public int Twice() => Take(\"\"[1..]); static int Take(string text) => 1;",
        ] {
            assert_eq!(lost(&ID.replace(twice, fine)), Vec::<String>::new(), "{fine}");
        }
    }

    #[test]
    fn a_member_that_one_bound_of_a_type_parameter_may_have_is_not_lost() {
        let types = "\ninterface IOne { int First { get; } }\n[System.Obsolete] partial class Made { }\n";
        let lost_with = |bounds: &str| {
            let new = format!("public int Twice() => 1; int M<T>(T one) where T : {bounds} => one.Second;");
            let after = format!("{}{types}", ID.replace("public int Twice() => Value * 2;", &new));
            lost_between(&format!("{ID}{types}"), &after)
        };
        assert_eq!(lost_with("IOne"), ["Second is not defined at id.cs:6:68"]);
        assert_eq!(lost_with("Made, IOne"), [""; 0]);
    }

    #[test]
    fn arguments_of_types_that_no_overload_takes_are_told() {
        let twice = "public int Twice() => Value * 2;";
        let lost_with = |more: &str, call: &str| {
            let types = "\nclass Shop : IShop { public static implicit operator int(Shop one) => 1; }\nclass Big : Till { }\nclass Till { }\ninterface IShop { }\nenum Kind { A }\nclass Half : Package.Base { }\n[System.Obsolete] partial class Made { }\n";
            let after = format!(
                "{}{types}",
                ID.replace(twice, &format!("public int Twice() => {call};\n    static int F({more}) => 1;"))
            );
            lost_between(&format!("{ID}{types}"), &after)
        };
        for (parameters, call) in [
            ("Id one", "F(\"x\")"),
            ("Id one", "F(1)"),
            ("string one", "F(1)"),
            ("bool one", "F(\"x\")"),
            ("string one", "F(this)"),
            ("int one", "F(Kind.A)"),
            ("Till one", "F(this)"),
            ("Big one", "F(new Till())"),
            ("IShop one", "F(new Till())"),
            ("params Till[] all", "F(new Till(), this)"),
        ] {
            let message = lost_with(parameters, call);
            assert!(
                message.len() == 1 && message[0].starts_with("no F takes the arguments at id.cs:6:27"),
                "{parameters} {call} {message:?}"
            );
        }
        for (parameters, call) in [
            ("int one", "F(new Shop())"),
            ("Shop one", "F(null)"),
            ("Till one", "F(new Big())"),
            ("IShop one", "F(new Shop())"),
            ("Kind one", "F(0)"),
            ("object one", "F(this)"),
            ("Package.Thing one", "F(this)"),
            ("Till[] all", "F(new Till[2][1..])"),
            ("Till one", "F(new Half())"),
            ("Till one", "F(new Made())"),
            ("System.IComparable one", "F(\"x\")"),
            ("params Till[] all", "F(new Till[0])"),
            ("long one", "F(1)"),
            ("Till one = null, object other = null", "F(other: this)"),
            ("Till one, int x = 1) => 1; static int F(Id one", "F(this)"),
        ] {
            assert_eq!(lost_with(parameters, call), Vec::<String>::new(), "{parameters} {call}");
        }
    }

    #[test]
    fn an_unknown_name_in_a_type_with_attributes_may_be_generated() {
        let plain = "namespace N;\npublic partial class Id { public int Value; int One() => 1; }\n";
        let of_plain = lost_between(plain, &plain.replace("=> 1", "=> Valu + 1"));
        assert_eq!(of_plain, ["Valu is not defined at id.cs:2:58 (did you mean Value?)"]);
        let before = plain.replace("public partial", "[System.Obsolete] public partial");
        let before = before.as_str();
        let after = before.replace("=> 1", "=> Made + this.Made + 1");
        assert_eq!(lost_between(before, &after), Vec::<String>::new());
        assert_eq!(
            lost_between(&before.replace("partial ", ""), &after.replace("partial ", "")).len(),
            1
        );
        let owing = after
            .replace("class Id {", "class Id : System.IDisposable {")
            .replace("Made + this.Made + ", "");
        assert_eq!(lost_between(before, &owing), Vec::<String>::new());
        assert_eq!(
            lost_between(&before.replace("partial ", ""), &owing.replace("partial ", "")),
            ["N.Id lacks System.IDisposable#Dispose()"]
        );
        let user = before.replace("int One()", "public int Twice() => 1; }\nclass Go { Id id; int One()");
        assert_eq!(
            lost_between(&user, &user.replace("One() => 1", "One() => id.Made")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn members_of_other_types_are_told_beside_a_generated_one() {
        let types = "[System.Obsolete] public partial class Made { public int A; }\npublic class Plain { public int Size; public Plain Next() => this; public static Made Get() => null; }\nclass Heir : Made { }\n";
        let go = "class Go { Plain own; Made made; int One(Plain given, Made other, Heir heir, Made[] all) => 1; }\n";
        let before = format!("namespace N;\n{types}{go}");
        let lost_with = |body: &str| lost_between(&before, &before.replace("=> 1;", body));
        for body in [
            "=> own.Sise;",
            "=> this.own.Sise;",
            "=> given.Sise;",
            "=> given!.Sise;",
            "=> given.Next().Sise;",
            "=> new Plain().Sise;",
            "=> this.Sise;",
            "{ var plain = new Plain(); return plain.Sise; }",
            "{ Plain plain = null; return plain.Sise; }",
        ] {
            let message = lost_with(body);
            assert!(
                message.iter().any(|one| one.starts_with("Sise is not defined at id.cs:5:")),
                "{body} {message:?}"
            );
        }
        for body in [
            "=> made.Sise;",
            "=> other.Sise;",
            "=> heir.Sise;",
            "=> new Made().Sise;",
            "=> Plain.Get().Sise;",
            "{ var made = new Made(); return made.Sise; }",
            "{ var some = Plain.Get(); return some.Sise; }",
            "{ foreach (var one in all) { return one.Sise; } return 1; }",
        ] {
            assert_eq!(lost_with(body), Vec::<String>::new(), "{body}");
        }
    }

    #[test]
    fn a_renamed_local_is_missed_where_it_is_used() {
        let before = ID.replace(
            "public int Twice() => Value * 2;",
            "public int Twice() { int count = 1; return count + 1; }",
        );
        assert_eq!(
            lost_between(&before, &before.replace("int count", "int total")),
            ["count is not defined at id.cs:6:48"]
        );
    }

    #[test]
    fn members_that_are_owed_since_the_edit_are_told() {
        let before = "namespace N;\npublic interface IGo { void Go(); }\npublic class Id : IGo { public void Go() { } public int Value; public int Twice() => 1; }\n";
        assert_eq!(
            lost_between(before, &before.replace("Go(); }", "Go(); int Stop(); }")),
            ["N.Id lacks N.IGo#Stop()"]
        );
        assert_eq!(
            lost_between(before, &before.replace("public void Go() { }", "public void Went() { }")),
            ["N.Id lacks N.IGo#Go()"]
        );
        let apart = before.replace(" : IGo", "").replace("public void Go() { }", "");
        assert_eq!(
            lost_between(&apart, &apart.replace("class Id", "class Id : IGo")),
            ["N.Id lacks N.IGo#Go()"]
        );
        assert_eq!(
            lost_between(&apart, &apart.replace("void Go();", "void Go(); void Stop();")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_removed_declaration_is_reported_where_it_is_named() {
        assert_eq!(
            lost(&ID.replace("public int Value;", "public int Number;").replace("Value ", "Number ")),
            ["Value no longer exists, and is named at user.cs:4:24"]
        );
        let without = ID.replace("    public int Twice() => Value * 2;\n", "");
        assert_eq!(lost(&without), ["Twice no longer exists, and is named at user.cs:4:35"]);
        assert_eq!(
            lost(&ID.replace("class Id", "class Key")),
            ["N.User names Id, which no longer exists"]
        );
        assert_eq!(lost(&ID.replace("Twice()", "Twice(int more = 0)")), Vec::<String>::new());
    }
}
