//! Opens, resolves and searches the names of a large synthetic workspace in memory, and prints the times as JSON:
//! `cargo run --release -p workbench --example symbols_bench -- TYPES`.

use engine::values::json;
use engine::values::table::write_table;
use producers::csharp::members::MemberRow;
use producers::csharp::types::TypeRow;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;
use workbench::symbols::index::{Symbols, namespace, simple_name};
use workbench::symbols::outputs::{Output, Outputs, SymbolError};
use workbench::symbols::resolve::{Options, resolve};
use workbench::symbols::search::{Query, search};

fn main() -> Result<(), SymbolError> {
    let types = std::env::args().nth(1).and_then(|types| types.parse().ok()).unwrap_or(20_000);
    let measured = measure(types)?;
    serde_json::to_writer(std::io::stdout(), &measured).expect("invariant: times are JSON");
    Ok(())
}

/// Words for synthetic names.
const WORDS: [&str; 32] = [
    "Node", "Store", "Cache", "Order", "Line", "Customer", "Invoice", "Payment", "Tax", "Rule", "Engine", "Query", "Index", "Page", "Blob",
    "Session", "User", "Role", "Policy", "Event", "Queue", "Message", "Route", "Map", "Layer", "Tile", "Token", "Parser", "Writer",
    "Reader", "Graph", "Key",
];

/// Endings of type names.
const ENDS: [&str; 8] = ["Service", "Factory", "Options", "Handler", "Provider", "Exception", "Builder", ""];

/// Beginnings of member names.
const VERBS: [&str; 12] = [
    "Get", "Set", "TryGet", "Find", "Add", "Remove", "Load", "Save", "Is", "On", "Create", "Count",
];

/// Members of each type.
const MEMBERS: usize = 10;

/// Times of one kind of query, in milliseconds.
#[derive(Serialize)]
struct Times {
    asked: usize,
    p50: f64,
    /// 95th percentile.
    p95: f64,
    max: f64,
    slowest: String,
}

/// Results of the benchmark.
#[derive(Serialize)]
struct Measured {
    /// Number of types.
    types: usize,
    /// Number of distinct member names.
    member_names: usize,
    /// Milliseconds to open the names.
    open: f64,
    /// Times of resolving symbol paths.
    resolve: Times,
    /// Times of pages of 20 hits.
    search: Times,
}

/// Synthetic outputs of types' members, generated when read.
struct MadeUp;

impl Outputs for MadeUp {
    type Error = SymbolError;

    fn read(&mut self, labels: &[String]) -> Result<Vec<Output>, SymbolError> {
        let made = labels.iter().map(|label| {
            let key = label.trim_start_matches("//types/").trim_end_matches(":members");
            let rows: BTreeMap<String, Vec<u8>> = members_of(key)
                .into_iter()
                .map(|name| {
                    let row = MemberRow {
                        accessibility: "public".to_owned(),
                        id: "abcdef".to_owned(),
                        kind: "method".to_owned(),
                        name: name.clone(),
                        ..MemberRow::default()
                    };
                    (format!("{name}(int)"), json::encode(&row))
                })
                .collect();
            Output {
                label: label.clone(),
                bytes: Some(write_table(&rows).into()),
            }
        });
        Ok(made.collect())
    }
}

/// Generates this number of types and queries them. Fails when the synthetic outputs cannot be read: a defect of the program.
fn measure(types: usize) -> Result<Measured, SymbolError> {
    let keys: Vec<String> = (0..types).map(key).collect();
    let (index, members, declarations) = (types_table(&keys), members_table(&keys), declarations_table(&keys));
    let start = Instant::now();
    let symbols = Symbols::open(index, members, declarations)?;
    let open = start.elapsed().as_secs_f64() * 1_000.0;
    let resolve = times(paths(&keys), |path| {
        resolve(&symbols, &mut MadeUp, path, &Options::default()).map(drop)
    })?;
    let search = times(queries(&keys), |text| search(&symbols, &Query::new(text)).map(drop))?;
    Ok(Measured {
        types: symbols.len(),
        member_names: symbols.name_count(),
        open,
        resolve,
        search,
    })
}

fn times(questions: Vec<String>, mut ask: impl FnMut(&str) -> Result<(), SymbolError>) -> Result<Times, SymbolError> {
    let mut taken = Vec::with_capacity(questions.len());
    for question in questions {
        let start = Instant::now();
        ask(&question)?;
        taken.push((start.elapsed().as_secs_f64() * 1_000.0, question));
    }
    taken.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let at = |share: usize| {
        taken
            .get((taken.len() * share / 100).min(taken.len().saturating_sub(1)))
            .map_or(0.0, |(time, _)| *time)
    };
    Ok(Times {
        asked: taken.len(),
        p50: at(50),
        p95: at(95),
        max: at(100),
        slowest: taken.pop().map(|(_, question)| question).unwrap_or_default(),
    })
}

fn word_at(at: usize) -> &'static str {
    WORDS[at % WORDS.len()]
}

fn key(n: usize) -> String {
    let around = format!("Company.{}.{}{}", word_at(n / 7), word_at(n / 50), n / 1_600);
    let name = format!(
        "{}{}{}",
        word_at(n * 13 + n / 32),
        word_at(n * 5 + n / 1_024 + 3),
        ENDS[(n / 3) % ENDS.len()]
    );
    match n % 20 {
        // Some are nested, some generic; a number keeps them distinct.
        0 => format!("{around}.{name}{n}+Entry"),
        1 => format!("{around}.{name}{n}`1"),
        _ => format!("{around}.{name}{n}"),
    }
}

fn members_of(key: &str) -> Vec<String> {
    let seed = key
        .bytes()
        .fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let name = |at: usize| {
        let n = seed.wrapping_add(at * 7_919);
        format!(
            "{}{}{}",
            VERBS[n % VERBS.len()],
            word_at(n / 5),
            if n % 3 == 0 { word_at(n / 77) } else { "" }
        )
    };
    (0..MEMBERS).map(name).collect()
}

fn types_table(keys: &[String]) -> Arc<[u8]> {
    let rows: BTreeMap<&String, Vec<u8>> = keys
        .iter()
        .enumerate()
        .map(|(n, key)| {
            let row = TypeRow {
                generated: false,
                accessibility: if n % 3 == 0 { "internal" } else { "public" }.to_owned(),
                arity: 0,
                assembly: "Company".to_owned(),
                files: vec![format!("src/{}/{}.cs", namespace(key).replace('.', "/"), simple_name(key))],
                id: format!("T_{n:08}"),
                kind: if n % 9 == 0 { "interface" } else { "class" }.to_owned(),
                namespace: namespace(key).to_owned(),
                project: Some("P1".to_owned()),
                symbol: key.clone(),
                widened: false,
            };
            (key, json::encode(&row))
        })
        .collect();
    write_table(&rows).into()
}

/// Declarations table as `csharp/declarations` writes it; each type has one base.
fn declarations_table(keys: &[String]) -> Arc<[u8]> {
    let row = |(n, key): (usize, &String)| (key.clone(), format!("c\t{}\tT_{n:08}\t{}", namespace(key), keys[n / 2]));
    write_table(&keys.iter().enumerate().map(row).collect::<BTreeMap<_, _>>()).into()
}

/// Member table as `csharp/member-index` writes it.
fn members_table(keys: &[String]) -> Arc<[u8]> {
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for key in keys {
        rows.entry(simple_name(key).to_owned()).or_default();
        for name in members_of(key) {
            let row = rows.entry(name).or_default();
            writeln!(row, "{key}\tm\t0\t~System.Void\t~System.Int32").expect("invariant: writing to memory cannot fail");
        }
    }
    write_table(&rows).into()
}

/// Returns typical queries in turn: whole names, endings, wrong case, members in several forms, patterns, typos, no match.
fn paths(keys: &[String]) -> Vec<String> {
    let of = |n: usize| {
        let key = &keys[(n * 7_919) % keys.len()];
        let (name, members) = (simple_name(key), members_of(key));
        match n % 12 {
            0 => key.clone(),
            1 | 2 => name.to_owned(),
            3 => name.to_lowercase(),
            4 => format!("{key}.{}", members[0]),
            5 => format!("{name}#{}(int)", members[1]),
            6 => format!("{name}.{}", members_of(&keys[((n * 7_919) % keys.len()) / 2])[2]),
            7 => format!("{}.*{}", namespace(key), &name[name.len() - 2..]),
            8 => format!("{}{}", &name[..2], &name[3..]),
            9 => members[0].clone(),
            10 => format!("{}.{}x", namespace(key), name),
            _ => format!("Nothing{n}"),
        }
    };
    (0..1_200).map(of).collect()
}

fn queries(keys: &[String]) -> Vec<String> {
    let of = |n: usize| {
        let key = &keys[(n * 7_919) % keys.len()];
        let (name, members) = (simple_name(key), members_of(key));
        let humps: String = name.chars().filter(|c| c.is_uppercase()).collect();
        match n % 12 {
            0 => name.to_owned(),
            1 => name.chars().take(5).collect(),
            2 => humps,
            3 => humps.to_lowercase(),
            4 => members[0].clone(),
            5 => members[1].chars().take(4).collect(),
            6 => members[2].chars().filter(|c| c.is_uppercase()).collect(),
            7 => format!("{}.{}", word_at(n), &name[..3]),
            8 => format!("{}{}", &name[..2], &name[3..]),
            9 => name[name.len() / 2..].to_owned(),
            10 => format!("*{}*", word_at(n)),
            _ => word_at(n).chars().take(1 + n % 3).collect(),
        }
    };
    (0..1_200).map(of).collect()
}
