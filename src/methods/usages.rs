//! `usages`: every place that uses a type or a member, what is certain apart from what is possible.

use super::symbols::notes;
use super::{Effect, Method};
use crate::context::Failed;
use crate::desk::Desk;
use crate::render::printable;
use producers::csharp::usages::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::symbols::resolve::Resolved;
use workbench::symbols::state::{Empty, State};
use workbench::symbols::usages::usages;

/// List the places that use a type or a member.
///
/// Places are FILE:LINE:COLUMN and the line. Those under "possible" reach the member through a base, an interface or an override, or
/// use a member of that name on a value whose type is not known.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsagesOf {
    /// A type or member by any unambiguous name: NodeStore, Core.NodeStore, NodeStore.Get, NodeStore#Get.
    #[serde(alias = "path", alias = "id")]
    pub symbol: String,
    /// Places at most, certain ones first; all are counted.
    #[arg(long, value_name = "N", default_value_t = USUAL)]
    #[serde(default = "usual", alias = "maxResults")]
    pub limit: usize,
}

/// Places unless told.
const USUAL: usize = 1000;

fn usual() -> usize {
    USUAL
}

/// A place in a file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Spot {
    /// Path of the file.
    file: String,
    /// Line, from 1.
    line: u32,
    /// Column in characters, from 1.
    column: u32,
    /// The line without the white space around it.
    text: String,
}

/// The places.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Spots {
    resolved: Resolved,
    /// Places that use it.
    certain: Vec<Spot>,
    /// Places that may use it.
    possible: Vec<Spot>,
    /// How many there are in all.
    total: usize,
    state: State,
}

impl Method for UsagesOf {
    const NAME: &'static str = "usages";
    const ALSO: &'static [&'static str] = &["FindUsages"];
    const EFFECT: Effect = Effect::Looks;
    type Answer = Spots;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Spots, Failed> {
        let names = desk.names()?;
        let found = usages(desk, &self.symbol)?;
        let key = found.symbol.split('#').next().unwrap_or_default();
        let row = names.symbols.find(key).map(|at| names.symbols.row(at)).transpose()?;
        let total = found.certain.len() + found.possible.len();
        let mut state = State::default().of_workspace(&names.flaws).unread(&found.unread);
        if total == 0 {
            state = state.empty(Empty::None);
        }
        let certain = spots(found.certain, self.limit);
        let possible = spots(found.possible, self.limit - certain.len());
        Ok(Spots {
            resolved: Resolved {
                type_id: row.map(|row| row.id).unwrap_or_default(),
                path: found.symbol,
                member_id: None,
            },
            state: state.cut(certain.len() + possible.len(), total, "raise the limit"),
            certain,
            possible,
            total,
        })
    }

    fn text(answer: &Spots) -> String {
        let mut text = String::new();
        let mut line = |spot: &Spot| text.push_str(&format!("{}:{}:{}: {}\n", spot.file, spot.line, spot.column, spot.text));
        answer.certain.iter().for_each(&mut line);
        if !answer.possible.is_empty() {
            text.push_str("possible:\n");
            let mut line = |spot: &Spot| text.push_str(&format!("{}:{}:{}: {}\n", spot.file, spot.line, spot.column, spot.text));
            answer.possible.iter().for_each(&mut line);
        }
        printable(&format!("{text}{}", notes(&answer.state)))
    }
}

fn spots(places: impl IntoIterator<Item = Place>, most: usize) -> Vec<Spot> {
    let spot = |place: Place| Spot {
        file: place.file,
        line: place.line,
        column: place.column,
        text: place.text,
    };
    places.into_iter().take(most).map(spot).collect()
}
