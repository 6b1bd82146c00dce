//! `cortex usages`: every place that uses a type or a member, what is certain apart from what is possible.

use super::outputs::outputs;
use super::show;
use crate::cli::UsagesArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::printable;
use engine::build::request::Report;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use engine::values::table::Table;
use producers::csharp::deps::index::dotted;
use producers::csharp::types::symbol_of;
use producers::csharp::usages::{Place, declaring, members_of, related};
use std::collections::BTreeSet;
use std::io::Write;

/// Names offered when a symbol means nothing.
const SUGGESTIONS: usize = 5;

/// What is looked for: a type, and maybe a member of it.
struct Wanted {
    key: String,
    member: Option<String>,
}

/// Runs it.
pub fn run(context: &Context, args: &UsagesArgs) -> Outcome {
    let workspace = context.building("usages")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let types = show::output(context, &mut session, "//index:types")?.bytes;
    let members = show::output(context, &mut session, "//index:members")?.bytes;
    let wanted = wanted(&types, &members, &args.symbol)?;
    let word = match &wanted.member {
        Some(member) => member.as_str(),
        None => simple_name(&wanted.key),
    };
    let all = ["//types/...:mentions".to_owned()];
    let (report, mut code) = outputs(context, &mut session, "usages", &all, true)?;
    let mentioning: Vec<String> = made(&report)
        .filter(|(_, bytes)| mentions(bytes, word))
        .filter_map(|(label, _)| Some(format!("{}:usages", label.strip_suffix(":mentions")?)))
        .collect();
    let related = match &wanted.member {
        Some(member) => related(&members, &wanted.key, member).map_err(|_| damaged())?,
        None => BTreeSet::new(),
    };
    let (mut certain, mut possible) = (BTreeSet::new(), BTreeSet::new());
    let mut report = Report::default();
    if !mentioning.is_empty() {
        let (of_types, worse) = outputs(context, &mut session, "usages", &mentioning, true)?;
        (report, code) = (of_types, if worse == Code::Ok { code } else { worse });
    }
    for (label, bytes) in made(&report) {
        let table = Table::open(bytes).ok_or_else(damaged)?;
        let take = |key: &str, into: &mut BTreeSet<Place>| -> Result<(), Failed> {
            if let Some(row) = table.get(key) {
                let places: Vec<Place> = serde_json::from_slice(row).map_err(|_| damaged().at_label(label))?;
                into.extend(places);
            }
            Ok(())
        };
        match &wanted.member {
            None => take(&wanted.key, &mut certain)?,
            Some(member) => {
                take(&format!("{}#{member}", wanted.key), &mut certain)?;
                for other in &related {
                    take(&format!("{other}#{member}"), &mut possible)?;
                }
                take(&format!("?#{member}"), &mut possible)?;
            }
        }
    }
    possible.retain(|place| !certain.contains(place));
    if let Some(member) = &wanted.member
        && certain.is_empty()
        && possible.is_empty()
        && code == Code::Ok
        && !members_of(&members, std::slice::from_ref(&wanted.key))
            .map_err(|_| damaged())?
            .contains(member)
    {
        let symbol = args.symbol.split('(').next().unwrap_or_default();
        let named = symbol.rfind(['#', '.']).map_or("", |at| &symbol[..=at]);
        return Err(no_member(&members, std::slice::from_ref(&wanted.key), member, named, &args.symbol)?);
    }
    print(context, args, &wanted, &certain, &possible)?;
    // What could not be read was said; the list is not whole then.
    Ok(code)
}

/// The targets that have an output, with it.
fn made(report: &Report) -> impl Iterator<Item = (&str, &[u8])> {
    let pairs = report.roots.iter().zip(&report.outputs);
    pairs.filter_map(|(root, bytes)| Some((&*root.label, bytes.as_deref()?)))
}

impl Failed {
    fn at_label(mut self, label: &str) -> Self {
        self.diagnostics = self.diagnostics.into_iter().map(|diagnostic| diagnostic.label(label)).collect();
        self
    }
}

fn damaged() -> Failed {
    Failed::new(
        Code::StoreDamaged,
        Diagnostic::error("E_OUTPUT", "an output is not what its producer writes"),
    )
}

fn keys(types: &[u8]) -> impl Iterator<Item = &str> {
    Table::open(types).into_iter().flat_map(Table::keys)
}

fn simple_name(key: &str) -> &str {
    let symbol = symbol_of(key);
    let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    last.split('`').next().unwrap_or(last)
}

fn mentions(bytes: &[u8], word: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Keys {
        keys: Vec<String>,
    }
    serde_json::from_slice::<Keys>(bytes).is_ok_and(|mentions| mentions.keys.iter().any(|key| key == word))
}

/// The type or member that a symbol means.
fn wanted(types: &[u8], members: &[u8], symbol: &str) -> Result<Wanted, Failed> {
    let (named, member) = match symbol.split_once('#') {
        Some((named, member)) => (named, Some(member.split('(').next().unwrap_or(member))),
        None => (symbol, None),
    };
    let found = matching(types, named);
    if found.is_empty()
        && member.is_none()
        && let Some((outer, last)) = named.rsplit_once('.')
    {
        let last = last.split('(').next().unwrap_or(last);
        let declared = declaring(members, last).map_err(|_| damaged())?;
        let named = matching(types, outer);
        let mut owners: Vec<String> = named.iter().filter(|key| declared.contains(*key)).cloned().collect();
        if owners.is_empty() {
            // An inherited member: its uses are those of the base that declares it.
            for key in named {
                if !related(members, &key, last).map_err(|_| damaged())?.is_empty() {
                    owners.push(key);
                }
            }
        }
        if owners.is_empty() {
            let named = matching(types, outer);
            if !named.is_empty() {
                return Err(no_member(members, &named, last, &format!("{outer}."), symbol)?);
            }
        }
        return one(owners, symbol, types).map(|key| Wanted {
            key,
            member: Some(last.to_owned()),
        });
    }
    one(found, symbol, types).map(|key| Wanted {
        key,
        member: member.map(str::to_owned),
    })
}

/// The error that types have no such member, with those that are spelled alike. `named`: what was written before the member.
fn no_member(members: &[u8], types: &[String], member: &str, named: &str, symbol: &str) -> Result<Failed, Failed> {
    let known = members_of(members, types).map_err(|_| damaged())?;
    let near = nearest(member, known.iter().map(String::as_str), SUGGESTIONS);
    let near: Vec<String> = near.iter().map(|name| format!("{named}{name}")).collect();
    let hint = match near.first() {
        Some(first) => format!("did you mean {first}?"),
        None => format!("`cortex outline '{}'` lists its members", named.trim_end_matches(['#', '.'])),
    };
    let error = Diagnostic::error("SymbolNotFound", "the type has no member of this name").found(symbol);
    Ok(Failed::new(Code::Usage, error.hint(hint).candidates(near)))
}

/// Keys of the types that a name means: all of it, or its end at a dot.
fn matching(types: &[u8], named: &str) -> Vec<String> {
    let ends = |whole: &str| {
        whole
            .strip_suffix(named)
            .is_some_and(|before| before.is_empty() || before.ends_with(['.', '+']))
    };
    let fits = |key: &&str| ends(key) || ends(symbol_of(key)) || ends(&dotted(symbol_of(key)));
    let exact: Vec<String> = keys(types)
        .filter(|key| *key == named || symbol_of(key) == named)
        .map(str::to_owned)
        .collect();
    if exact.is_empty() {
        keys(types).filter(fits).map(str::to_owned).collect()
    } else {
        exact
    }
}

fn one(mut found: Vec<String>, symbol: &str, types: &[u8]) -> Result<String, Failed> {
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let (named, member) = symbol.split_at(symbol.find('#').unwrap_or(symbol.len()));
            let near = if matching(types, named).is_empty() {
                nearest(named, keys(types).map(symbol_of), SUGGESTIONS)
            } else {
                Vec::new()
            };
            let hint = match near.first() {
                Some(first) => format!("did you mean {first}{member}?"),
                None => "write Type, Namespace.Type, Type.Member or Type#Member".to_owned(),
            };
            let error = Diagnostic::error("SymbolNotFound", "no type or member of this name is known").found(symbol);
            Err(Failed::new(Code::Usage, error.hint(hint).candidates(near)))
        }
        _ => Err(Failed::new(
            Code::Usage,
            Diagnostic::error("AmbiguousSymbol", "several types have this name")
                .found(symbol)
                .candidates(found)
                .hint("write enough of the name for one of them to be meant"),
        )),
    }
}

fn print(context: &Context, args: &UsagesArgs, wanted: &Wanted, certain: &BTreeSet<Place>, possible: &BTreeSet<Place>) -> Outcome {
    let mut out = context.stdout();
    if args.json || context.json() {
        let symbol = match &wanted.member {
            Some(member) => format!("{}#{member}", wanted.key),
            None => wanted.key.clone(),
        };
        let document = serde_json::json!({"symbol": symbol, "certain": certain, "possible": possible});
        return show::written(writeln!(out, "{document:#}"));
    }
    let mut text = String::new();
    for place in certain {
        text.push_str(&format!("{}:{}:{}: {}\n", place.file, place.line, place.column, place.text));
    }
    if !possible.is_empty() {
        text.push_str("possible:\n");
        for place in possible {
            text.push_str(&format!("{}:{}:{}: {}\n", place.file, place.line, place.column, place.text));
        }
    }
    show::written(write!(out, "{}", printable(&text)))
}
