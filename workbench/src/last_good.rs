//! The last good outputs of files that no longer parse.
//!
//! Outputs are pure: while a file does not parse, they contain only what can be read of it now. Earlier knowledge is in the History of each node, as
//! long as the store keeps it. This module finds the files that do not parse, the types that are or were read from them, and the newest version of a
//! target that was built from files that parsed. It only reads the store; it builds and prints nothing.

use crate::build_log::read_build_log;
use engine::build::session::Session;
use engine::planning::symbol::{Resolution, resolve, resolve_inner};
use engine::store::StoreError;
use engine::store::records::HistoryRecord;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, SourceLocation};
use engine::values::digest::Digest;
use engine::values::label::{escape, halves, unescape};
use engine::values::table::{Table, write_table};
use producers::csharp::model::Tier;
use producers::csharp::types::{TypeRow, symbol_of};
use producers::csharp::{syntax, syntax_table};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const TYPES: &str = "//index:types";

/// Limit of steps along a chain of targets of one type; a chain is as long as its rules.
const MOST_STEPS: usize = 32;

/// Files that do not parse now, each with the position of the fault.
pub type Broken = BTreeMap<String, SourceLocation>;

/// A version of a target that was built from files that parsed.
#[derive(Clone, Debug)]
pub struct LastGood {
    /// When it became the target's output, in seconds since 1970.
    pub at: u64,
    pub digest: Digest,
    /// Bytes of the output.
    pub bytes: Arc<[u8]>,
    /// Whether the version is the present output.
    pub present: bool,
}

/// Returns the files whose declarations did not parse when they were last read.
pub fn files_with_errors(session: &Session) -> Result<Broken, StoreError> {
    let mut broken = Broken::new();
    let mut sources: Option<BTreeSet<String>> = None;
    for (label, remark) in session.remarks()? {
        let Some(file) = syntax_file(&label) else { continue };
        // A diagnostic of a removed file is obsolete.
        let sources = sources.get_or_insert_with(|| session.sources.files().into_iter().map(|(path, _)| path).collect());
        if !sources.contains(&file) {
            continue;
        }
        let Some(place) = remark.diagnostics.into_iter().find_map(|said| said.place) else {
            continue;
        };
        let output = session.graph.find(&label).and_then(|id| session.graph.node(id).result);
        if let Some(filed) = output
            && !parses(session, &filed.output)?
        {
            broken.insert(file, place);
        }
    }
    Ok(broken)
}

/// Whether all declarations of the syntax with that digest were read; `false` if the store no longer has it.
fn parses(session: &Session, digest: &Digest) -> Result<bool, StoreError> {
    let blob = session.engine.store.output(digest)?;
    let syntax = blob.and_then(|blob| syntax::decode(&blob).ok());
    Ok(syntax.is_some_and(|syntax| !matches!(syntax.tier, Tier::Partial | Tier::Nothing)))
}

fn syntax_file(label: &str) -> Option<String> {
    label.strip_prefix("//files/")?.strip_suffix(":syntax").map(unescape)
}

/// Returns the tables of types in History, newest first.
fn indexes(session: &Session) -> Result<Vec<Arc<[u8]>>, StoreError> {
    let mut seen = BTreeSet::new();
    let mut tables = Vec::new();
    for version in session.engine.store.history(session.engine.view, TYPES)?.iter().rev() {
        if seen.insert(version.output) {
            tables.extend(session.engine.store.output(&version.output)?);
        }
    }
    Ok(tables)
}

/// Returns, by type, the unparsable files that it is, or was in an earlier state of the workspace, read from; leaves out types without any.
pub fn behind<'b>(
    session: &Session,
    keys: &BTreeSet<String>,
    broken: &'b Broken,
) -> Result<BTreeMap<String, Vec<&'b SourceLocation>>, StoreError> {
    let mut found: BTreeMap<String, BTreeMap<&str, &SourceLocation>> = BTreeMap::new();
    if broken.is_empty() {
        return Ok(BTreeMap::new());
    }
    for table in indexes(session)? {
        let Some(table) = Table::open(&table) else { continue };
        for key in keys {
            let row = table.get(key).and_then(|row| serde_json::from_slice::<TypeRow>(row).ok());
            for file in row.iter().flat_map(|row| &row.files) {
                if let Some((file, place)) = broken.get_key_value(file) {
                    found.entry(key.clone()).or_default().insert(file, place);
                }
            }
        }
    }
    Ok(found
        .into_iter()
        .map(|(key, places)| (key, places.into_values().collect()))
        .collect())
}

/// Resolves a name in the newest state of the workspace that had such a type. If the tables of types were evicted, it uses the names in the log of
/// builds, and full names that have History.
pub fn newest_type_of_name(session: &Session, name: &str) -> Result<Option<String>, StoreError> {
    let (store, view) = (&*session.engine.store, session.engine.view);
    for table in indexes(session)? {
        let keys: Vec<String> = Table::open(&table)
            .iter()
            .flat_map(|table| table.keys())
            .map(str::to_owned)
            .collect();
        match resolve(name, &keys) {
            Resolution::One(key) => return Ok(Some(key.to_owned())),
            Resolution::Many(_) => return Ok(None),
            Resolution::None => {}
        }
    }
    let builds = read_build_log(store, view)?;
    let labels = builds.iter().flat_map(|build| &build.gone.labels);
    let keys: BTreeSet<String> = labels.filter_map(|label| Some(parts(label)?.0)).collect();
    let keys: Vec<String> = keys.into_iter().collect();
    match resolve(name, &keys) {
        Resolution::One(key) => return Ok(Some(key.to_owned())),
        Resolution::Many(_) => return Ok(None),
        Resolution::None => {}
    }
    let was_made = !store.history(view, &label_of_type(name, ":complete"))?.is_empty();
    Ok(was_made.then(|| name.to_owned()))
}

/// Whether the newest table of types has a type.
pub fn is_type(session: &Session, key: &str) -> Result<bool, StoreError> {
    let Some(newest) = session.engine.store.history(session.engine.view, TYPES)?.pop() else {
        return Ok(false);
    };
    let table = session.engine.store.output(&newest.output)?;
    Ok(table.as_deref().and_then(Table::open).is_some_and(|table| table.get(key).is_some()))
}

/// Returns the first version of the table of types without a former type; `None` when it is still there, or no stored version had it.
pub fn first_version_without(session: &Session, key: &str) -> Result<Option<HistoryRecord>, StoreError> {
    let mut since = None;
    for version in session.engine.store.history(session.engine.view, TYPES)?.into_iter().rev() {
        let table = session.engine.store.output(&version.output)?;
        let Some(table) = table.as_deref().and_then(Table::open) else {
            break;
        };
        if table.get(key).is_some() {
            return Ok(since);
        }
        since = Some(version);
    }
    Ok(None)
}

/// A former member of a type.
#[derive(Debug)]
pub struct GoneMember {
    /// Name of the member, with parameters if these are known.
    pub name: String,
    /// Target of the type whose versions show that the member is gone.
    pub told_by: String,
    /// The last version of the type that had the member.
    pub last: HistoryRecord,
    /// The first version of the type without the member.
    pub since: HistoryRecord,
}

/// Resolves the name of a former member in a type that has none of that name now; `None` also when no stored version has one.
pub fn gone_member(session: &Session, key: &str, name: &str) -> Result<Option<GoneMember>, StoreError> {
    let store = &*session.engine.store;
    // `:members` has parameters, but is built only when members are requested; `:signatures` is built for every question about names.
    for (target, wanted) in [(":members", name), (":signatures", name.split('(').next().unwrap_or(name))] {
        let told_by = label_of_type(key, target);
        let mut since: Option<HistoryRecord> = None;
        for version in store.history(session.engine.view, &told_by)?.into_iter().rev() {
            let Some(blob) = store.output(&version.output)? else { break };
            let names = match Table::open(&blob) {
                Some(table) => table.keys().map(str::to_owned).collect(),
                None => member_names_of_signatures(&blob),
            };
            let name = match resolve_inner(wanted, &names) {
                Resolution::None => {
                    since = Some(version);
                    continue;
                }
                Resolution::One(name) => name.to_owned(),
                Resolution::Many(_) => wanted.to_owned(),
            };
            if let Some(since) = since {
                return Ok(Some(GoneMember {
                    name,
                    told_by,
                    last: version,
                    since,
                }));
            }
            break;
        }
    }
    Ok(None)
}

/// Returns the names of members in the text of a type's signatures, in order.
fn member_names_of_signatures(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let names = text.lines().filter_map(|line| line.strip_prefix('\t')?.split('\t').next());
    let names: BTreeSet<&str> = names.collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Resolves the name of a member in the newest state of a type that had one of that name.
pub fn meant_member(session: &Session, key: &str, name: &str) -> Result<Option<String>, StoreError> {
    let members = label_of_type(key, ":members");
    for version in session.engine.store.history(session.engine.view, &members)?.iter().rev() {
        let blob = session.engine.store.output(&version.output)?;
        let table = blob.as_deref().and_then(Table::open);
        let keys: Vec<String> = table.iter().flat_map(|table| table.keys()).map(str::to_owned).collect();
        match resolve_inner(name, &keys) {
            Resolution::One(member) => return Ok(Some(member.to_owned())),
            Resolution::Many(_) => return Ok(None),
            Resolution::None => {}
        }
    }
    Ok(None)
}

/// Splits a label of the family `types` into the type and the rest (`#member:target`, `:target`).
pub fn parts(label: &str) -> Option<(String, &str)> {
    let (package, _) = label.strip_prefix("//types/")?.rsplit_once(':')?;
    let named = halves(package).map_or(package, |(named, _)| named);
    Some((unescape(named), &label["//types/".len() + named.len()..]))
}

/// Returns the label of a type's target.
pub fn label_of_type(key: &str, rest: &str) -> String {
    format!("//types/{}{rest}", escape(key))
}

/// Returns the newest version of a type's target that was built from files that parsed.
pub fn last_good(session: &Session, label: &str) -> Result<Option<LastGood>, StoreError> {
    let Some((key, _)) = parts(label) else { return Ok(None) };
    let mut lineage = Lineage {
        session,
        own: self::label_of_type(&key, ":"),
        member: None,
        known: BTreeMap::new(),
    };
    lineage.member = label
        .strip_prefix(lineage.own.trim_end_matches(':'))
        .and_then(|rest| rest.strip_prefix('#')?.rsplit_once(':'))
        .map(|(member, _)| unescape(member));
    let present = session
        .graph
        .find(label)
        .and_then(|id| session.graph.node(id).result)
        .map(|filed| filed.output);
    for version in session.engine.store.history(session.engine.view, label)?.iter().rev() {
        if lineage.version(version, MOST_STEPS)?
            && let Some(bytes) = session.engine.store.output(&version.output)?
        {
            return Ok(Some(LastGood {
                at: version.at,
                digest: version.output,
                bytes,
                present: present == Some(version.output),
            }));
        }
    }
    Ok(None)
}

/// Traces the outputs of one type's targets to files, by the records of the store.
struct Lineage<'s> {
    session: &'s Session,
    /// The beginning of the labels of the type's targets.
    own: String,
    member: Option<String>,
    known: BTreeMap<(Arc<str>, Digest), bool>,
}

impl Lineage<'_> {
    /// Whether a version was built from files that parsed; `false` if its record is no longer stored.
    fn version(&mut self, version: &HistoryRecord, steps: usize) -> Result<bool, StoreError> {
        let Some(record) = self.session.engine.store.action(&version.key)? else {
            return Ok(false);
        };
        for input in &record.inputs {
            let ours = input.label.starts_with(&self.own) || syntax_file(&input.label).is_some();
            if ours && !self.is_output_good(&input.label, &input.digest, steps)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether an output of a target was, at least once, built from files that parsed.
    fn is_output_good(&mut self, label: &Arc<str>, digest: &Digest, steps: usize) -> Result<bool, StoreError> {
        if syntax_file(label).is_some() {
            return self.is_of_whole_syntax(label, digest);
        }
        let Some(steps) = steps.checked_sub(1) else { return Ok(false) };
        let place = (label.clone(), *digest);
        if let Some(known) = self.known.get(&place) {
            return Ok(*known);
        }
        let mut good = false;
        for version in self.session.engine.store.history(self.session.engine.view, label)?.iter().rev() {
            if (version.output == *digest || self.is_row_of(&version.output, digest)?) && self.version(version, steps)? {
                good = true;
                break;
            }
        }
        self.known.insert(place, good);
        Ok(good)
    }

    /// Whether rows of a file's syntax belong, at least once, to a syntax whose declarations were all read.
    fn is_of_whole_syntax(&self, label: &str, digest: &Digest) -> Result<bool, StoreError> {
        let type_key = parts(&format!("{}x", self.own)).map(|(key, _)| key).unwrap_or_default();
        let rows = [symbol_of(&type_key), syntax_table::USINGS];
        for version in self.session.engine.store.history(self.session.engine.view, label)?.iter().rev() {
            let mut is_read = version.output == *digest;
            for row in rows {
                is_read = is_read || self.is_row(row, &version.output, digest)?;
            }
            if is_read && parses(self.session, &version.output)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a digest is that of the member's row alone in a table.
    fn is_row_of(&self, table: &Digest, digest: &Digest) -> Result<bool, StoreError> {
        let Some(member) = &self.member else { return Ok(false) };
        self.is_row(member, table, digest)
    }

    /// Whether a digest is that of one row alone in a table.
    fn is_row(&self, key: &str, table: &Digest, digest: &Digest) -> Result<bool, StoreError> {
        let blob = self.session.engine.store.output(table)?;
        let row = blob.as_deref().and_then(Table::open).and_then(|table| table.get(key));
        Ok(row.is_some_and(|row| Digest::of(&write_table(&BTreeMap::from([(key, row)]))) == *digest))
    }
}

/// Returns the note that a type's present outputs may lack parts of a file that stopped parsing.
pub fn note_of_lost_parts(label: &str, files: &[&SourceLocation], retry: &str) -> Option<Diagnostic> {
    let first = files.first()?;
    let others = match files.len() {
        1 => String::new(),
        more => format!(" (and {} more)", more - 1),
    };
    let message = format!("{} does not parse{others}; this is what can be read of it now", first.file);
    let note = Diagnostic::new(engine::values::diagnostic::Severity::Note, ErrorCode::N_NOT_WHOLE, message);
    let note = note.label(label).at(first.file.clone(), first.line, first.column);
    Some(note.hint(format!("`{retry}` shows the last version from before")))
}
