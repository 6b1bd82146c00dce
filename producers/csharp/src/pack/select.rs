//! `csharp/pack-selection`: the types of a pack and their order (seed 000 §10.2, steps 1, 2 and 4).
//!
//! Primaries of a filter:
//! - `namespace:` matches the whole namespace of a type;
//! - `type:` matches its name or symbol path, see [`Glob::matches_type`];
//! - `access:` matches its effective accessibility, with `-` for the space in `protected-internal`;
//! - `tag:` matches the patterns of that tag, each like `type:`;
//! - `depends:` matches the types whose declarations or bodies name a type of this name;
//! - `file:` matches the types with a part in a file of this path.
//!
//! The pack adds the types that the declarations of these name, if they are public or protected and no `!` of the filter names them. So an
//! excluded type does not return as a dependency. Only `file:` selects files of other languages, which the tables `//index/LANGUAGE:names`
//! list. The producer reads indexes and no outline. Its output contains no count, so it changes only with the types of the pack, their
//! order or their ranks.

use super::filter::{self, Expr, Field, Filter, InvalidFilter, Primary};
use super::glob::{Glob, Name};
use super::order::topological;
use crate::dependencies::DependencyRow;
use crate::flags::{check_flags, flag};
use crate::graph::GraphRow;
use crate::types::{TypeRow, symbol_of};
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Sees};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use engine::values::table::Table;
use rustc_hash::FxHashMap;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of patterns of a tag.
const MOST_PATTERNS: usize = 1_000;
/// Maximum number of names without a match that are reported.
const MOST_REPORTED: usize = 5;
/// Names that `access:` may match.
const ACCESS: [&str; 7] = [
    "public", "protected-internal", "protected", "internal", "private-protected", "private", "file",
];

/// A row of `[pack.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackRow {
    pub filter: String,
    /// Token budget of its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Whether it includes the types that declarations name; true by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<bool>,
    /// Whether first sentences of documentation are shown; true by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docs: Option<bool>,
    /// Whether summaries are requested; false by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic: Option<bool>,
}

/// Reason for a type's presence in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Matched,
    /// Declarations of these matched types name it.
    DependencyOf(Vec<String>),
}

/// The output of [`Select`]. Fields are in alphabetical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Token budget of the pack.
    pub budget: Option<u64>,
    /// Whether first sentences of documentation are shown.
    pub docs: bool,
    /// Types excluded from the dependencies by a `!` of the filter, with that `!` as written.
    pub excluded: BTreeMap<String, String>,
    /// Files of other languages, parsed by a grammar.
    pub files: Vec<String>,
    /// The filter in one line.
    pub filter: String,
    /// Files of other languages, from an index.
    pub indexed: Vec<String>,
    /// Keys of types and files ([`file_key`]), in the order in which the budget drops them: dependencies, files, matched types. Types with the
    /// fewest references are first, then the deepest, then the last by name.
    pub least: Vec<String>,
    /// Types whose summary is requested.
    pub semantic: Vec<String>,
    /// The types in the order of the pack.
    pub types: Vec<String>,
    /// Reason for each type.
    pub why: BTreeMap<String, Why>,
}

/// Returns the key of a file of another language. Keys of types never begin with `//`, so the two never collide.
pub fn file_key(path: &str) -> String {
    format!("//files/{path}")
}

/// Returns the path of a [`file_key`]; `None` for a key of a type.
pub fn path_of_key(key: &str) -> Option<&str> {
    key.strip_prefix("//files/")
}

/// The producer `csharp/pack-selection`.
#[derive(Debug)]
pub struct Select;

impl Producer for Select {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/pack-selection", 4)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &["include_internal"])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let pack = inputs.var("pack").unwrap_or_default();
        let row: PackRow = decode_json_row(input_table(inputs, "row")?, pack)?
            .ok_or_else(|| Failure::permanent(format!("there is no row of pack {pack}")))?;
        let world = World::from_inputs(inputs)?;
        let wrong = |error: InvalidFilter| Failure::Permanent(Box::new(error.diagnostic(&row.filter)));
        let filter = filter::parse_filter(&row.filter).map_err(wrong)?;
        let sets = world.sets(&filter).map_err(wrong)?;
        let mut matched = evaluate(&filter.root, &sets, world.types.len() + world.files.len());
        let files = world.matched_files(&filter, &sets, &matched.split_off(world.types.len()));
        let internal = flag(inputs.params, "include_internal", false);
        let mut why = world.with_dependencies(&matched, row.dependencies.unwrap_or(true), internal);
        let excluded = world.exclude(&mut why, &filter, &sets);
        let mut diagnostics = world.meaningless(&filter, &sets);
        if why.is_empty() && files.is_empty() {
            let diagnostic = Diagnostic::warning(ErrorCode::CS_PACK_EMPTY, format!("the filter of pack {pack} selects no type"));
            diagnostics.push(diagnostic.hint("'cortex show //index:types' lists all types"));
        }
        let selection = world.selection(row, why, excluded, &files);
        let mut bytes = serde_json::to_vec_pretty(&selection).expect("invariant: our values have text keys");
        bytes.push(b'\n');
        Ok(Output {
            bytes,
            diagnostics,
            ..Output::default()
        })
    }
}

fn input_table<'i>(inputs: &'i Inputs<'_>, role: &'static str) -> Result<Table<'i>, Failure> {
    Table::open(&inputs.single(role)?.bytes).ok_or_else(|| Failure::permanent(format!("input '{role}' is not a table")))
}

fn decode_json_row<T: DeserializeOwned>(table: Table<'_>, key: &str) -> Result<Option<T>, Failure> {
    let read = |value: &[u8]| {
        serde_json::from_slice(value).map_err(|error| Failure::permanent(format!("the row of {key} cannot be read: {error}")))
    };
    table.get(key).map(read).transpose()
}

/// A row of `[language.NAME]`: the source of the definitions in a language's files.
#[derive(Default, Deserialize)]
struct LanguageRow {
    /// Whether an index provides them instead of a grammar.
    #[serde(default)]
    indexed: bool,
}

/// The data that filters test: all types by number, in the order of their keys, then the files of other languages.
struct World<'i> {
    types: Vec<(&'i str, TypeRow, Name)>,
    /// By path, whether an index describes the file.
    files: BTreeMap<String, bool>,
    number: FxHashMap<&'i str, usize>,
    dependencies: Vec<DependencyRow>,
    graph: Vec<GraphRow>,
    tags: BTreeMap<&'i str, Vec<String>>,
}

impl<'i> World<'i> {
    fn from_inputs(inputs: &'i Inputs<'_>) -> Result<Self, Failure> {
        let (types, graph, deps) = (
            input_table(inputs, "types")?,
            input_table(inputs, "graph")?,
            input_table(inputs, "dependencies")?,
        );
        let keys: Vec<&str> = types.keys().collect();
        let named = |key: &&'i str| -> Result<_, Failure> {
            let row: TypeRow = decode_json_row(types, key)?.ok_or_else(|| Failure::permanent(format!("there is no type {key}")))?;
            let name = Name::new(symbol_of(key), &row.namespace);
            Ok((*key, row, name))
        };
        let tags = input_table(inputs, "tags")?;
        let tags = tags.keys().map(|tag| Ok((tag, decode_json_row(tags, tag)?.unwrap_or_default())));
        Ok(Self {
            types: keys.iter().map(named).collect::<Result<_, _>>()?,
            dependencies: keys
                .iter()
                .map(|key| Ok(decode_json_row(deps, key)?.unwrap_or_default()))
                .collect::<Result<_, Failure>>()?,
            graph: keys
                .iter()
                .map(|key| Ok(decode_json_row(graph, key)?.unwrap_or_default()))
                .collect::<Result<_, Failure>>()?,
            number: keys.iter().enumerate().map(|(number, key)| (*key, number)).collect(),
            files: other_files(inputs)?,
            tags: tags.collect::<Result<_, Failure>>()?,
        })
    }

    /// Returns the types that each primary of a filter matches.
    fn sets(&self, filter: &Filter) -> Result<Vec<Vec<bool>>, InvalidFilter> {
        filter
            .primaries
            .iter()
            .map(|primary| {
                let mut set = self.select_primary(primary)?;
                set.extend(
                    self.files
                        .keys()
                        .map(|path| primary.field == Field::File && primary.glob.matches(path)),
                );
                Ok(set)
            })
            .collect()
    }

    /// Returns the files of other languages that a filter selects, with whether an index describes them. A `!` alone selects none.
    fn matched_files(&self, filter: &Filter, sets: &[Vec<bool>], matched: &[bool]) -> Vec<(&str, bool)> {
        let including = filter.root.including();
        let named = |number: usize| including.iter().any(|&primary| sets[primary][self.types.len() + number]);
        let files = self.files.iter().enumerate();
        let meant = files.filter(|(number, _)| matched[*number] && named(*number));
        meant.map(|(_, (path, indexed))| (path.as_str(), *indexed)).collect()
    }

    fn select_primary(&self, primary: &Primary) -> Result<Vec<bool>, InvalidFilter> {
        let Primary { field, glob, .. } = primary;
        let of_rows = |means: &dyn Fn(&TypeRow) -> bool| self.types.iter().map(|(_, row, _)| means(row)).collect();
        Ok(match field {
            Field::Namespace => {
                let spaces: BTreeSet<&str> = self.types.iter().map(|(_, row, _)| row.namespace.as_str()).collect();
                let meant: BTreeSet<&str> = spaces.into_iter().filter(|space| glob.matches(space)).collect();
                of_rows(&|row| meant.contains(row.namespace.as_str()))
            }
            Field::Type => self.types_matching(std::slice::from_ref(glob)),
            Field::Access => {
                name_exists(primary, &[])?;
                of_rows(&|row| glob.matches(&row.accessibility.replace(' ', "-")))
            }
            Field::Tag => self.types_matching(&self.patterns(primary)?),
            Field::File => of_rows(&|row| row.files.iter().any(|file| glob.matches(file))),
            Field::Depends => {
                let meant = self.types_matching(std::slice::from_ref(glob));
                let names_one = |row: &DependencyRow| {
                    let mut named = row.structure.iter().chain(&row.body);
                    named.any(|key| self.number.get(key.as_str()).is_some_and(|&number| meant[number]))
                };
                self.dependencies.iter().map(names_one).collect()
            }
        })
    }

    fn types_matching(&self, globs: &[Glob]) -> Vec<bool> {
        self.types
            .iter()
            .map(|(_, _, name)| globs.iter().any(|glob| glob.matches_type(name)))
            .collect()
    }

    /// Returns the patterns of the tags that a primary names.
    fn patterns(&self, primary: &Primary) -> Result<Vec<Glob>, InvalidFilter> {
        name_exists(primary, &self.tags.keys().copied().collect::<Vec<_>>())?;
        let tags = self.tags.iter().filter(|(tag, _)| primary.glob.matches(tag));
        let patterns: Vec<&String> = tags.flat_map(|(_, patterns)| patterns).collect();
        let len = primary.token.len();
        if patterns.len() > MOST_PATTERNS {
            let message = format!("this tag has {} patterns; a tag has at most {MOST_PATTERNS}", patterns.len());
            return Err(InvalidFilter::new(primary.at, len, message, "join them by wildcards"));
        }
        if let Some(long) = patterns.iter().find(|pattern| pattern.len() > super::glob::LONGEST) {
            let start: String = long.chars().take(20).collect();
            let message = format!("a pattern of this tag, '{start}…', is longer than {} bytes", super::glob::LONGEST);
            return Err(InvalidFilter::new(primary.at, len, message, "use a wildcard"));
        }
        Ok(patterns.into_iter().map(|pattern| Glob::new(pattern)).collect())
    }

    /// Returns the types of the pack: the matched types, and the types that their declarations name.
    fn with_dependencies(&self, matched: &[bool], wanted: bool, internal: bool) -> BTreeMap<usize, Why> {
        let mut readers: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        let mut why: BTreeMap<usize, Why> = BTreeMap::new();
        for number in (0..matched.len()).filter(|&number| matched[number]) {
            why.insert(number, Why::Matched);
            for named in self.structure(number).filter(|&named| wanted && !matched[named]) {
                let access = self.types[named].1.accessibility.as_str();
                if matches!(access, "public" | "protected" | "protected internal") || internal && access == "internal" {
                    readers.entry(named).or_default().insert(self.types[number].0);
                }
            }
        }
        let of = |readers: BTreeSet<&str>| Why::DependencyOf(readers.into_iter().map(str::to_owned).collect());
        why.extend(readers.into_iter().map(|(named, readers)| (named, of(readers))));
        why
    }

    /// Removes and returns the dependencies that a `!` of the filter names.
    fn exclude(&self, why: &mut BTreeMap<usize, Why>, filter: &Filter, sets: &[Vec<bool>]) -> BTreeMap<String, String> {
        let not = filter.root.excluding();
        let mut excluded = BTreeMap::new();
        why.retain(|&number, why| {
            let by = not.iter().find(|&&primary| *why != Why::Matched && sets[primary][number]);
            if let Some(&primary) = by {
                excluded.insert(self.types[number].0.to_owned(), format!("!{}", filter.primaries[primary]));
            }
            by.is_none()
        });
        excluded
    }

    /// Returns the types that the declarations of a type name.
    fn structure(&self, number: usize) -> impl Iterator<Item = usize> {
        self.dependencies[number]
            .structure
            .iter()
            .filter_map(|key| self.number.get(key.as_str()).copied())
    }

    fn selection(&self, row: PackRow, why: BTreeMap<usize, Why>, excluded: BTreeMap<String, String>, files: &[(&str, bool)]) -> Selection {
        let chosen: Vec<usize> = why.keys().copied().collect();
        let place: FxHashMap<usize, usize> = chosen.iter().enumerate().map(|(place, number)| (*number, place)).collect();
        let below: Vec<Vec<usize>> = chosen
            .iter()
            .map(|&number| self.structure(number).filter_map(|named| place.get(&named).copied()).collect())
            .collect();
        let keys = |numbers: Vec<usize>| -> Vec<String> { numbers.into_iter().map(|number| self.types[number].0.to_owned()).collect() };
        let types = keys(topological(&below).into_iter().map(|place| chosen[place]).collect());
        let mut least = chosen;
        least.sort_by_key(|&number| {
            let GraphRow { references, depth, .. } = self.graph[number];
            (why[&number] == Why::Matched, references, Reverse(depth), Reverse(number))
        });
        let matched = least.partition_point(|number| why[number] != Why::Matched);
        let mut least = keys(least);
        // No type depends on a file, so the budget drops files before all matched types.
        least.splice(matched..matched, files.iter().rev().map(|(path, _)| file_key(path)));
        let known_by = |index: bool| {
            files
                .iter()
                .filter(move |file| file.1 == index)
                .map(|file| file.0.to_owned())
                .collect()
        };
        Selection {
            budget: row.budget,
            docs: row.docs.unwrap_or(true),
            excluded,
            filter: row.filter.split_whitespace().collect::<Vec<_>>().join(" "),
            files: known_by(false),
            indexed: known_by(true),
            least,
            semantic: if row.semantic == Some(true) { types.clone() } else { Vec::new() },
            why: why
                .into_iter()
                .map(|(number, why)| (self.types[number].0.to_owned(), why))
                .collect(),
            types,
        }
    }

    /// Warns about primaries, and patterns of their tags, that match nothing, with likely intended names.
    fn meaningless(&self, filter: &Filter, sets: &[Vec<bool>]) -> Vec<Diagnostic> {
        let empty = filter.primaries.iter().zip(sets).filter(|(_, set)| !set.contains(&true));
        let primaries = empty.map(|(primary, _)| {
            let known: Vec<&str> = match primary.field {
                Field::Namespace => self.types.iter().map(|(_, row, _)| row.namespace.as_str()).collect(),
                Field::Tag => Vec::new(),
                Field::File => {
                    let of_types = self.types.iter().flat_map(|(_, row, _)| row.files.iter());
                    self.files.keys().chain(of_types).map(String::as_str).collect()
                }
                _ => self.selectable_symbols().collect(),
            };
            nothing(primary.to_string(), &primary.token, known.into_iter())
        });
        let patterns = self.empty_patterns(filter).into_iter();
        let patterns = patterns.map(|(tag, pattern)| nothing(format!("'{pattern}' of tag:{tag}"), pattern, self.selectable_symbols()));
        primaries.chain(patterns).take(MOST_REPORTED).collect()
    }

    fn selectable_symbols(&self) -> impl Iterator<Item = &'i str> {
        self.types.iter().map(|(key, _, _)| symbol_of(key))
    }

    /// Returns the patterns without a matching type, of the tags that a filter names.
    fn empty_patterns(&self, filter: &Filter) -> Vec<(&'i str, &str)> {
        let is_requested = |tag: &str| filter.primaries.iter().any(|one| one.field == Field::Tag && one.glob.matches(tag));
        let tags = self.tags.iter().filter(|(tag, _)| is_requested(tag));
        let patterns = tags.flat_map(|(tag, patterns)| patterns.iter().map(move |pattern| (*tag, pattern.as_str())));
        let means = |glob: &Glob| self.types.iter().any(|(_, _, name)| glob.matches_type(name));
        patterns.filter(|(_, pattern)| !means(&Glob::new(pattern))).collect()
    }
}

/// Returns the files of other languages with definitions. If a grammar and an index describe a file, the index wins.
fn other_files(inputs: &Inputs<'_>) -> Result<BTreeMap<String, bool>, Failure> {
    let languages = input_table(inputs, "languages")?;
    let mut files = BTreeMap::new();
    for input in inputs.all("names") {
        let LanguageRow { indexed } = decode_json_row(languages, &input.item)?.unwrap_or_default();
        let names = Table::open(&input.bytes).ok_or_else(|| Failure::permanent("input 'names' is not a table"))?;
        for name in names.keys() {
            let definitions: BTreeMap<String, IgnoredAny> = decode_json_row(names, name)?.unwrap_or_default();
            definitions.into_keys().for_each(|path| *files.entry(path).or_default() |= indexed);
        }
    }
    Ok(files)
}

/// Builds the warning about a name without a match, with the most similar names.
fn nothing<'k>(what: String, token: &str, known: impl Iterator<Item = &'k str>) -> Diagnostic {
    let candidates = nearest(token, known, 3);
    let diagnostic = Diagnostic::warning(ErrorCode::CS_PACK_NOTHING, format!("{what} selects no type"));
    let diagnostic = match candidates.first() {
        Some(best) => diagnostic.hint(format!("did you mean '{best}'?")),
        None => diagnostic,
    };
    diagnostic.candidates(candidates)
}

/// Checks that all tags and accessibilities in a filter exist; needs no type. Errors: the first unknown name.
pub fn names_exist(filter: &Filter, tags: &[&str]) -> Result<(), InvalidFilter> {
    filter.primaries.iter().try_for_each(|primary| name_exists(primary, tags))
}

fn name_exists(primary: &Primary, tags: &[&str]) -> Result<(), InvalidFilter> {
    let (what, names): (_, &[&str]) = match primary.field {
        Field::Access => ("accessibility", &ACCESS),
        Field::Tag => ("tag", tags),
        Field::Namespace | Field::Type | Field::Depends | Field::File => return Ok(()),
    };
    if names.iter().any(|name| primary.glob.matches(name)) {
        return Ok(());
    }
    let near = nearest(&primary.token, names.iter().copied(), 3);
    let hint = match (near.first(), names) {
        (Some(best), _) => format!("did you mean '{best}'?"),
        (None, []) => format!("there is no {what}; write [tags] NAME = [\"Pattern\"] in cortex.toml"),
        (None, names) => format!("there are {}", names[..names.len().min(20)].join(", ")),
    };
    let message = format!("there is no {what} of this name");
    let mut error = InvalidFilter::new(primary.at, primary.token.len(), message, hint);
    error.candidates = near;
    Err(error)
}

/// Evaluates an expression for each of `count` types. The parser bounds its depth.
fn evaluate(expr: &Expr, sets: &[Vec<bool>], count: usize) -> Vec<bool> {
    let join = |parts: &[Expr], start: bool, with: fn(bool, bool) -> bool| {
        let mut all = vec![start; count];
        for part in parts {
            let part = evaluate(part, sets, count);
            all.iter_mut().zip(part).for_each(|(one, other)| *one = with(*one, other));
        }
        all
    };
    match expr {
        Expr::Any(parts) => join(parts, false, |one, other| one | other),
        Expr::All(parts) => join(parts, true, |one, other| one & other),
        Expr::Is { primary, not } => sets[*primary].iter().map(|is| is ^ not).collect(),
    }
}

/// Reads the blob of [`Select`].
pub fn read_selection(bytes: &[u8]) -> Result<Selection, Failure> {
    serde_json::from_slice(bytes).map_err(|error| Failure::permanent(format!("a selection cannot be read: {error}")))
}
