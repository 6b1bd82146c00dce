//! `cortex cost`: what models cost this checkout.

use super::show;
use crate::cli::{CostArgs, Since};
use crate::context::{Context, Failed, Outcome};
use crate::render::money::{amount, spent};
use crate::render::{Style, count, duration, moment, printable};
use engine::build::session::Session;
use engine::store::ledger::Outcome as Became;
use serde_json::Value;
use std::io::Write;
use workbench::spending::{Spending, Sum, spending};

/// Targets listed by what they cost; --json has all.
const DEAREST: usize = 10;

/// Runs it.
pub fn run(context: &Context, args: &CostArgs) -> Outcome {
    let workspace = context.workspace("cost")?;
    let session = workspace.session()?;
    context.say(workspace.warnings());
    let (text, document) = pages(&session, args.since, context.out)?;
    let text = if context.json() { format!("{document:#}\n") } else { text };
    show::written(write!(context.stdout(), "{text}"))
}

/// What models cost since a time, for people and for programs.
pub fn pages(session: &Session, since: Option<Since>, style: Style) -> Result<(String, Value), Failed> {
    let since = since.map_or(0, |since| since.at(session.engine.world.now_secs()));
    let found = spending(session, since)?;
    let mut document = serde_json::json!(found);
    document["since"] = since.into();
    document["currency"] = serde_json::json!(workbench::paid::currency(session));
    Ok((text(&found, style), document))
}

/// `0.0213 EUR and 1.50 USD and 3 without a price`; `nothing` where nobody was asked. Currencies are not added.
fn money(sum: &Sum) -> String {
    let known = sum.money.iter().map(|(currency, micros)| format!("{} {currency}", amount(*micros)));
    let unpriced = match sum.unpriced {
        0 => None,
        number if number == sum.times => Some("(no price known)".to_owned()),
        number => Some(format!("{} without a price", count(number))),
    };
    let agents = match sum.agents {
        0 => None,
        number if number == sum.times => Some("no money".to_owned()),
        number => Some(format!("{} by agents", count(number))),
    };
    let all: Vec<String> = known.chain(unpriced).chain(agents).collect();
    if all.is_empty() {
        return "nothing".to_owned();
    }
    all.join(" and ")
}

fn text(found: &Spending, style: Style) -> String {
    let Some(first) = found.first else {
        return "No model was asked, and no filed answer used.\n".to_owned();
    };
    let mut text = format!("{} {}\n", style.bold("spent"), money(&found.spent));
    let mut line = |name: &str, sum: &Sum| {
        let mut cost = sum.spent.clone();
        cost.micros = None;
        text.push_str(&format!(
            "  {name:<28} {:>5} × {}, {} {}\n",
            count(sum.times),
            spent(&cost),
            money(sum),
            style.dim(&format!("({})", duration(sum.took_us)))
        ));
    };
    for (outcome, name) in [
        (Became::Full, "new answers"),
        (Became::Patch, "patches"),
        (Became::Unchanged, "found to hold"),
        (Became::Rejected, "answers of no use"),
    ] {
        if let Some(sum) = found.by_outcome.get(&outcome) {
            line(name, sum);
        }
    }
    if found.by_model.len() > 1 {
        for (model, sum) in &found.by_model {
            line(&printable(model), sum);
        }
    }
    if let Some(saved) = found.by_outcome.get(&Became::Saved) {
        text.push_str(&format!("{} {}\n", style.bold("saved"), money(saved)));
        text.push_str(&format!(
            "  filed answers                {:>5} × {}\n",
            count(saved.times),
            spent(&engine::seams::paid::Spent {
                micros: None,
                ..saved.spent.clone()
            })
        ));
    }
    if !found.targets.is_empty() {
        text.push_str(&format!("{}\n", style.bold("dearest")));
    }
    for (label, sum) in found.targets.iter().take(DEAREST) {
        text.push_str(&format!("  {} {}\n", style.cyan(&printable(label)), style.dim(&money(sum))));
    }
    text.push_str(&style.dim(&format!("since {}\n", moment(first))));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_spent_is_said() {
        let mut found = Spending {
            first: Some(0),
            ..Spending::default()
        };
        found.by_outcome.insert(Became::Saved, Sum::default());
        let told = text(&found, Style::plain());
        assert!(told.starts_with("spent nothing\nsaved nothing\n"), "{told}");
    }
}
