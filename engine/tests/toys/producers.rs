//! Toy producers: small pure functions whose outputs show what they read and which version made them.

use engine::seams::fold::Fold;
use engine::seams::producer::{Failure, Input, Inputs, Output, ParamError, Params, Pool, Producer, ProducerId, Registry, RowSource, Sees};
use engine::seams::update::{ChangedInput, TableChanges, TableUpdate, UpdatedRows};
use engine::values::digest::Digest;
use engine::values::table::{Table, write_table};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// Everything that a toy reads, without the engine's types, so that a naive builder can run the same function.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// `params.prefix`.
    pub prefix: String,
    /// Role, item, digest as text, bytes.
    pub inputs: Vec<(String, String, String, Vec<u8>)>,
    /// Variables, if the toy sees them.
    pub vars: Vec<(String, String)>,
    /// The label, if the toy sees it.
    pub label: Option<String>,
}

/// Function of a toy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Concatenates all inputs, with roles and items.
    Concat,
    /// Concatenates in upper case.
    Upper,
    /// Removes lines that begin with `#`, so that comment edits stop here.
    Strip,
    /// Converts `key=value` lines to a table of JSON objects.
    Table,
    /// Lists the lines that begin with `@`, without it.
    Links,
    /// Lists the digests of the inputs, not their bytes.
    Digests,
    /// Concat that fails at the word FAIL and panics at PANIC.
    Fragile,
    /// Concat that sees variables and label.
    Named,
    /// Concat in the slow pool; ends when the build is cancelled.
    Slow,
    /// Concat that requests rows: those that its text names, and those that they name.
    Trail,
    /// A fold: the words before `=` of each input, with the items that contain them.
    Tally,
    /// An update: as [`Kind::Tally`], with the row of the table in role `main` under the same key.
    Joined,
}

/// Every kind with its name in the registry.
pub const KINDS: [(Kind, &str); 12] = [
    (Kind::Concat, "concat"),
    (Kind::Upper, "upper"),
    (Kind::Strip, "strip"),
    (Kind::Table, "table"),
    (Kind::Links, "links"),
    (Kind::Digests, "digests"),
    (Kind::Fragile, "fragile"),
    (Kind::Named, "named"),
    (Kind::Slow, "slow"),
    (Kind::Trail, "trail"),
    (Kind::Tally, "tally"),
    (Kind::Joined, "joined"),
];

/// Message of a panicking toy.
pub const PANIC: &str = "toy panic";

impl Kind {
    /// Returns the kind of a registry name.
    pub fn named(name: &str) -> Self {
        KINDS.iter().find(|(_, known)| *known == name).expect("a toy").0
    }

    /// Runs the function: returns the bytes, or the reason for a failure. Panics for [`Kind::Fragile`] at the word PANIC.
    pub fn apply(self, version: u32, seen: &Seen) -> Result<Vec<u8>, String> {
        let text = |bytes: &[u8]| match Table::open(bytes) {
            Some(table) => table
                .rows()
                .map(|(key, value)| format!("{key}→{}\n", String::from_utf8_lossy(value)))
                .collect(),
            None => String::from_utf8_lossy(bytes).into_owned(),
        };
        let concat = || {
            let mut all = format!("v{version}{}\n", seen.prefix);
            for (role, item, _, bytes) in &seen.inputs {
                let _ = writeln!(all, "[{role} {item}]{}", text(bytes));
            }
            all
        };
        let lines = || {
            seen.inputs
                .iter()
                .flat_map(|(.., bytes)| text(bytes).lines().map(str::to_owned).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        Ok(match self {
            Self::Concat | Self::Slow | Self::Trail => concat().into_bytes(),
            Self::Upper => concat().to_uppercase().into_bytes(),
            Self::Strip => {
                let kept: String = lines()
                    .iter()
                    .filter(|line| !line.starts_with('#'))
                    .map(|line| format!("{line}\n"))
                    .collect();
                kept.into_bytes()
            }
            Self::Table => {
                let rows: BTreeMap<String, String> = lines()
                    .iter()
                    .filter_map(|line| line.split_once('='))
                    .map(|(key, value)| {
                        (
                            key.to_owned(),
                            serde_json::json!({ "value": value, "version": version, "list": [value] }).to_string(),
                        )
                    })
                    .collect();
                write_table(&rows)
            }
            Self::Tally => {
                let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
                for (_, item, _, bytes) in &seen.inputs {
                    for (key, given) in Counted.rows(bytes) {
                        let row = Counted.add_part(&key, rows.get(&key).map(Vec::as_slice), item, &given);
                        rows.insert(key, row);
                    }
                }
                write_table(&rows)
            }
            Self::Joined => {
                let (main, all): (Vec<_>, Vec<_>) = seen.inputs.iter().partition(|(role, ..)| role == "main");
                let main = Table::open(&main[0].3).expect("a table");
                let mut items: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
                for (_, item, _, bytes) in all {
                    for (key, given) in Counted.rows(bytes) {
                        let given = String::from_utf8_lossy(&given).into_owned();
                        items.entry(key).or_default().insert(item.clone(), given);
                    }
                }
                let row = |(key, items)| (String::clone(key), joined_row(items, main.get(key)));
                write_table(&items.iter().map(row).collect::<BTreeMap<_, _>>())
            }
            Self::Links => {
                let mut links: Vec<String> = lines()
                    .iter()
                    .filter_map(|line| line.strip_prefix('@'))
                    .map(|link| format!("{link}\n"))
                    .collect();
                links.sort();
                links.concat().into_bytes()
            }
            Self::Digests => seen
                .inputs
                .iter()
                .map(|(role, item, digest, _)| format!("{role} {item} {digest}\n"))
                .collect::<String>()
                .into_bytes(),
            Self::Fragile => {
                let all = concat();
                assert!(!all.contains("PANIC"), "{PANIC}");
                if all.contains("FAIL") {
                    return Err("an input says FAIL".to_owned());
                }
                all.into_bytes()
            }
            Self::Named => format!("{}{:?} {:?}", concat(), seen.label, seen.vars).into_bytes(),
        })
    }

    /// Returns the facts about the node that the toy sees.
    pub fn sees(self) -> Sees {
        let named = self == Self::Named;
        Sees { vars: named, label: named }
    }
}

/// Fold of [`Kind::Tally`]: a row is an object with the value of each item.
pub struct Counted;

impl Counted {
    fn rows(&self, bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let text = String::from_utf8_lossy(bytes);
        // Long enough that a few of them need tables with several pages.
        let given = |value: &str| format!("\"{}\"", value.replace(['"', '\\'], "").repeat(6_000 / value.len().max(1)));
        let rows = text.lines().filter_map(|line| line.split_once('='));
        rows.map(|(key, value)| (key.to_owned(), given(value).into_bytes())).collect()
    }
}

impl Fold for Counted {
    fn role(&self) -> &'static str {
        "all"
    }

    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        Ok(self.rows(&input.bytes))
    }

    fn remove_part(&self, _: &str, row: &[u8], item: &str, part: &[u8]) -> Option<Vec<u8>> {
        let mut items: BTreeMap<String, String> = serde_json::from_slice(row).expect("a row");
        assert_eq!(items.remove(item).expect("its part").as_bytes(), part);
        (!items.is_empty()).then(|| serde_json::to_vec(&items).expect("a row"))
    }

    fn add_part(&self, _: &str, row: Option<&[u8]>, item: &str, part: &[u8]) -> Vec<u8> {
        let mut items: BTreeMap<String, String> = row.map(|row| serde_json::from_slice(row).expect("a row")).unwrap_or_default();
        items.insert(item.to_owned(), String::from_utf8_lossy(part).into_owned());
        serde_json::to_vec(&items).expect("a row")
    }
}

fn joined_row(items: &BTreeMap<String, String>, main: Option<&[u8]>) -> Vec<u8> {
    let main = main.map(String::from_utf8_lossy);
    serde_json::to_vec(&(items, main)).expect("a row")
}

/// Update of [`Kind::Joined`]: the rows of words in changed inputs, and those whose key changed in the other table.
struct Joined;

impl TableUpdate for Joined {
    fn update(&self, moves: &dyn TableChanges) -> Option<UpdatedRows> {
        let mut keys: BTreeSet<String> = BTreeSet::new();
        let mut given: BTreeMap<Arc<str>, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
        for ChangedInput { item, before, now } in moves.changed_inputs("all")? {
            let rows = |digest: &Option<Digest>| digest.map_or(Some(BTreeMap::new()), |digest| Some(Counted.rows(&moves.bytes(&digest)?)));
            keys.extend(rows(before)?.into_keys());
            keys.extend(rows(now)?.into_keys());
            given.insert(item.clone(), rows(now)?);
        }
        for table in moves.changed_inputs("main")? {
            let changed = moves.changed_rows(&table.before?, &table.now?)?;
            // Most of its rows are not in this table.
            for key in changed {
                if moves.last().row(&key)?.is_some() {
                    keys.insert(key);
                }
            }
        }
        let main = moves.table(&moves.digest("main", "")?)?;
        let mut rows = BTreeMap::new();
        for key in keys {
            let last = moves.last().row(&key)?;
            let mut items: BTreeMap<String, String> = match last {
                Some(row) => serde_json::from_slice::<(_, Option<String>)>(&row).expect("a row").0,
                None => BTreeMap::new(),
            };
            for (item, given) in &given {
                match given.get(&key) {
                    Some(given) => drop(items.insert(item.to_string(), String::from_utf8_lossy(given).into_owned())),
                    None => drop(items.remove(&**item)),
                }
            }
            let main = main.row(&key)?;
            let row = (!items.is_empty()).then(|| joined_row(&items, main.as_deref()));
            rows.insert(key, row);
        }
        Some(UpdatedRows {
            rows,
            ..UpdatedRows::default()
        })
    }
}

/// A toy with a version.
pub struct Toy {
    /// Its function.
    pub kind: Kind,
    /// Its name.
    pub name: &'static str,
    /// Its version, which its output contains.
    pub version: u32,
}

impl Producer for Toy {
    fn id(&self) -> ProducerId {
        ProducerId::new(self.name, self.version)
    }

    fn check(&self, _: &Params) -> Result<(), Vec<ParamError>> {
        Ok(())
    }

    fn pool(&self, _: &Params) -> Pool {
        if self.kind == Kind::Slow { Pool::Slow } else { Pool::Cpu }
    }

    fn sees(&self, _: &Params) -> Sees {
        self.kind.sees()
    }

    fn fold(&self) -> Option<&dyn Fold> {
        (self.kind == Kind::Tally).then_some(&Counted)
    }

    fn update(&self) -> Option<&dyn TableUpdate> {
        (self.kind == Kind::Joined).then_some(&Joined)
    }

    fn ask(&self, inputs: &Inputs<'_>, _: &str, rows: &dyn RowSource) -> Result<Option<Output>, Failure> {
        let own = inputs.single("own")?;
        let found = trail(&own.bytes, |key| rows.get(key).map(|row| row.to_vec()));
        // For every other text, the output is given at once.
        let tells = own.bytes.len().is_multiple_of(2);
        let mut roles = inputs.roles.clone();
        roles.insert("rows".into(), vec![Input::of("", write_table(&found))]);
        let all = Inputs {
            roles: &roles,
            ..Inputs::bare(inputs.label, inputs.params, &roles, inputs.vars, inputs.cancel)
        };
        tells.then(|| self.produce(&all)).transpose()
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        if self.kind == Kind::Slow && inputs.cancel.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        self.kind
            .apply(self.version, &seen(inputs, self.kind.sees()))
            .map(Output::new)
            .map_err(Failure::permanent)
    }
}

/// Returns the rows that [`Kind::Trail`] requests: those of the words before `=` in a text, and recursively those in each row's list.
pub fn trail(text: &[u8], mut row: impl FnMut(&str) -> Option<Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let text = String::from_utf8_lossy(text);
    let mut open: Vec<String> = text
        .lines()
        .map(|line| line.split('=').next().unwrap_or_default().to_owned())
        .collect();
    let mut found = BTreeMap::new();
    while let Some(key) = open.pop().filter(|_| found.len() < 20) {
        if let Some(value) = row(&key).filter(|_| !found.contains_key(&key)) {
            let read: serde_json::Value = serde_json::from_slice(&value).unwrap_or_default();
            let list = read["list"].as_array().cloned().unwrap_or_default();
            open.extend(list.iter().filter_map(|item| item.as_str().map(str::to_owned)));
            found.insert(key, value);
        }
    }
    found
}

/// Converts a producer's inputs to [`Seen`].
pub fn seen(inputs: &Inputs<'_>, sees: Sees) -> Seen {
    let each = |(role, all): (&Arc<str>, &Vec<engine::seams::producer::Input>)| {
        let role = role.to_string();
        all.iter()
            .map(move |input| (role.clone(), input.item.to_string(), input.digest.to_string(), input.bytes.to_vec()))
            .collect::<Vec<_>>()
    };
    Seen {
        prefix: inputs
            .params
            .get("prefix")
            .and_then(|prefix| prefix.as_str())
            .unwrap_or_default()
            .to_owned(),
        inputs: inputs.roles.iter().flat_map(each).collect(),
        vars: inputs
            .vars
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        label: sees.label.then(|| inputs.label.to_owned()),
    }
}

/// Returns all toys at version 1, except those given.
pub fn registry(versions: &BTreeMap<&'static str, u32>) -> Registry {
    quiet();
    let mut registry = Registry::default();
    for (kind, name) in KINDS {
        registry.add(Toy {
            kind,
            name,
            version: versions.get(name).copied().unwrap_or(1),
        });
    }
    registry
}

/// Silences the panics of toys, which are part of the tests.
fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<&str>() != Some(&PANIC)
                && panic.payload().downcast_ref::<String>().map(String::as_str) != Some(PANIC)
            {
                usual(panic);
            }
        }));
    });
}
