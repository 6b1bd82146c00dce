//! `usages`: every place that uses a type or a member, divided into certain and possible ones.

use super::paging::{PLACES_FOR_CLIENTS, default_number};
use super::symbols::{OfNamesakes, OfSymbol, answer_each, lines_of_notes, state_of_page, unread_uses};
use super::{AsTool, Effect, Method, other_languages};
use crate::desk::Desk;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::{plural, printable};
use producers::csharp::usages::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::other_languages::usages::usages as other_usages;
use workbench::symbols::answer_state::{AnswerState, Empty};
use workbench::symbols::override_places::override_places;
use workbench::symbols::resolve::Resolved;
use workbench::symbols::unread_files;
use workbench::symbols::usages::{Subject, Usages, UseDoubt, usages};
use workbench::symbols::wired_uses::label_wired;

/// List the places that use a type or a member.
///
/// A place is FILE:LINE:COLUMN with its line. [cref], [implement] or [override] marks references in documentation and members that implement or
/// override it. Places under "possible" have a reason, the likeliest first: they reach the member through a base, an interface or an override, use a
/// member of that name on a value whose type is not known, or their arguments fit several overloads. The heading is the symbol that the name means.
/// Uses of the name in code that cannot see the member are counted, not listed. A name without parameter types means all its overloads; if up to five
/// types or members share a name, the places of each are listed.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsagesOf {
    /// A type or member, by name: NodeStore, Core.NodeStore, NodeStore.Get, NodeStore#Get.
    #[serde(alias = "path", alias = "id")]
    pub symbol: String,
    /// Limit of places of each symbol, certain ones first; all are counted.
    #[arg(long, value_name = "N", default_value_t = USUAL)]
    #[serde(default = "default_number::<PLACES_FOR_CLIENTS>", alias = "maxResults")]
    #[schemars(extend("x-tool" = false))]
    pub limit: usize,
    /// Places to skip: those on earlier pages.
    #[arg(long, value_name = "N", default_value_t)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub offset: usize,
    /// Limit of possible places; all are counted.
    #[arg(long, value_name = "N", default_value_t = USUAL_POSSIBLE)]
    #[serde(default = "default_number::<USUAL_POSSIBLE>")]
    #[schemars(extend("x-tool" = false))]
    pub possible: usize,
}

/// Default number of possible places.
const USUAL_POSSIBLE: usize = 100;

/// Most possible places of one reason that a text shows with their lines.
const MOST_WITH_TEXT: usize = 20;

/// Default number of places on the command line.
const USUAL: usize = 1000;

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
    /// Kind of use: call, construct, cref, implement, name, override, read, write.
    kind: String,
    /// Why the use is not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// The places of one symbol.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Spots {
    resolved: Resolved,
    /// Certain uses.
    certain: Vec<Spot>,
    /// Possible uses.
    possible: Vec<Spot>,
    /// Number of possible places by reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Reason>,
    /// Number of uses of the name in code that cannot see the symbol.
    #[serde(default)]
    impossible: usize,
    /// Total number of places.
    total: usize,
    state: AnswerState,
}

impl OfSymbol for Spots {
    fn state_of_answer(&mut self) -> &mut AnswerState {
        &mut self.state
    }
}

/// A reason why places are possible, with the number of these places.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    why: String,
    places: usize,
}

impl Method for UsagesOf {
    const NAME: &'static str = "usages";
    const ALSO: &'static [&'static str] = &["FindUsages"];
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Under("usages");
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = &["certain", "possible"];
    type Answer = OfNamesakes<Spots>;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<OfNamesakes<Spots>, Failed> {
        if let Some(other) = other_languages::resolve_other(desk, &self.symbol)? {
            let found = other_usages(desk, &other.names, &other.symbol)?;
            let symbols = other.file_symbols(desk)?;
            let state = other.state_of_file(&symbols).unread(&found.unread);
            return Ok(OfNamesakes::of_one(self.page_of(other.resolved(), found, state)));
        }
        let names = desk.workspace_names()?;
        answer_each(desk, &names, &self.symbol, |desk, group, former| {
            let subject = Subject::of_group(group);
            let is_type = !subject.is_member();
            let mut spots = self.spots(desk, &names, subject, former)?;
            if is_type {
                spots.state = spots.state.beside_members(&self.symbol, &names.symbols.owners(&self.symbol));
            }
            Ok(spots)
        })
    }

    fn text(answer: &OfNamesakes<Spots>) -> String {
        let all = std::iter::once(&answer.first).chain(&answer.more);
        let headed = all.map(|one| format!("# {}\n{}", one.resolved.path, one.spots_text()));
        printable(&headed.collect::<Vec<_>>().join("\n"))
    }
}

impl UsagesOf {
    /// Returns the places of one of the resolved symbols.
    fn spots(&self, desk: &mut Desk<'_>, names: &WorkspaceNames, subject: Subject, former: Option<&str>) -> Result<Spots, Failed> {
        let health = desk.health()?;
        let mut found = usages(desk, &names.symbols, &subject, &health.gaps())?;
        let one = (std::slice::from_ref(&subject), std::slice::from_mut(&mut found));
        label_wired(desk, &names.symbols, one.0, &health.gaps(), one.1)?;
        found.certain.extend(override_places(desk, &names.symbols, &subject)?);
        let state = AnswerState::default()
            .of_workspace(&names.flaws)
            .of_projects(&health)
            .unread(&found.unread)
            .lacking(&found.unseen)
            .with_former_name(former, &subject.path);
        let unread = unread_uses(desk, &[&subject.path])?;
        let resolved = Resolved {
            type_id: subject.type_id,
            path: subject.path,
            member_id: subject.member_id,
        };
        let mut spots = self.page_of(resolved, found, state);
        spots.state = spots.state.beside_unread(&unread);
        Ok(spots)
    }

    fn page_of(&self, resolved: Resolved, found: Usages, mut state: AnswerState) -> Spots {
        let total = found.certain.len() + found.possible.len();
        if total == 0 {
            state = state.empty(Empty::None);
        }
        let behind = self.offset.saturating_sub(found.certain.len());
        let certain = found.certain.into_iter().skip(self.offset).take(self.limit);
        let certain: Vec<Spot> = certain.map(|place| spot_of_place(place, None)).collect();
        let mut ordered: Vec<(UseDoubt, Place)> = found.possible.into_iter().map(|(place, why)| (why, place)).collect();
        ordered.sort();
        let mut reasons: Vec<Reason> = Vec::new();
        for (why, _) in &ordered {
            let why = why.to_string();
            match reasons.last_mut().filter(|last| last.why == why) {
                Some(last) => last.places += 1,
                None => reasons.push(Reason { why, places: 1 }),
            }
        }
        let room = (self.limit - certain.len()).min(self.possible);
        let possible = ordered.into_iter().skip(behind).take(room);
        let possible: Vec<Spot> = possible.map(|(why, place)| spot_of_place(place, Some(&why))).collect();
        let shown = certain.len() + possible.len();
        let capped = if shown < self.limit {
            "`possible`"
        } else {
            "`limit` and `possible`"
        };
        let more = format!("raise {capped}, or continue with `offset` {}", self.offset + shown);
        let state = match shown > 0 && possible.len() == self.possible {
            true => state.page(self.offset, shown, total, &more),
            false => state_of_page(state, (self.offset, shown), total),
        };
        Spots {
            resolved,
            state,
            certain,
            possible,
            reasons,
            impossible: found.impossible,
            total,
        }
    }
}

/// Lists places without their text: a line for each file, with its line numbers.
fn lines_by_file(spots: &[&Spot]) -> String {
    let mut files: Vec<(&str, Vec<String>)> = Vec::new();
    for spot in spots {
        let line = spot.line.to_string();
        match files.last_mut().filter(|(file, _)| *file == spot.file) {
            Some((_, lines)) if lines.last() == Some(&line) => {}
            Some((_, lines)) => lines.push(line),
            None => files.push((&spot.file, vec![line])),
        }
    }
    files
        .iter()
        .map(|(file, lines)| format!("{file}: {}\n", lines.join(", ")))
        .collect()
}

impl Spots {
    fn spots_text(&self) -> String {
        let mut text = String::new();
        for spot in &self.certain {
            text.push_str(&spot.spot_line());
        }
        // Group possible places by reason, the likeliest first.
        for reason in &self.reasons {
            let shown: Vec<&Spot> = self.possible.iter().filter(|spot| spot.why.as_ref() == Some(&reason.why)).collect();
            if shown.is_empty() {
                let count = plural(reason.places as u64, "possible use");
                text.push_str(&format!("{count}, {} (not shown)\n", reason.why));
                continue;
            }
            let of = match reason.places - shown.len().min(reason.places) {
                0 => String::new(),
                _ => format!(" ({} of {} shown)", shown.len(), reason.places),
            };
            let kind = if reason.why.starts_with("wired: ") { "" } else { "possible, " };
            text.push_str(&format!("{kind}{}{of}:\n", reason.why));
            match shown.len() > MOST_WITH_TEXT {
                true => text.push_str(&lines_by_file(&shown)),
                false => shown.iter().for_each(|spot| text.push_str(&spot.spot_line())),
            }
        }
        if self.impossible > 0 {
            let word = unread_files::word_of(&self.resolved.path).unwrap_or_default();
            let (places, s) = match self.impossible {
                1 => ("place", "s"),
                _ => ("places", ""),
            };
            let subject = if self.resolved.member_id.is_some() || self.resolved.path.contains('#') {
                "member"
            } else {
                "type"
            };
            text.push_str(&format!(
                "{} other {places} use{s} the name `{word}` in code that cannot see this {subject}; not listed\n",
                self.impossible
            ));
        }
        text + &lines_of_notes(&self.state)
    }
}

impl Spot {
    /// Formats the place and its line; uses outside of code start with their kind.
    fn spot_line(&self) -> String {
        let kind = match self.kind.as_str() {
            kind @ ("cref" | "implement" | "override") => format!("[{kind}] "),
            _ => String::new(),
        };
        format!("{}:{}:{}: {kind}{}\n", self.file, self.line, self.column, self.text)
    }
}

fn spot_of_place(place: Place, why: Option<&UseDoubt>) -> Spot {
    Spot {
        file: place.file,
        line: place.line,
        column: place.column,
        text: place.text,
        kind: place.kind.as_str().to_owned(),
        why: why.map(UseDoubt::to_string),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use producers::csharp::usages::UseKind;

    fn page(arguments: serde_json::Value, certain: u32, possible: u32) -> Spots {
        let asked: UsagesOf = serde_json::from_value(arguments).expect("arguments");
        let place = |line| Place {
            file: "a.cs".to_owned(),
            line,
            column: 1,
            text: "A".to_owned(),
            kind: UseKind::Name,
            call: None,
            elsewhere: false,
            parameters: None,
        };
        let found = Usages {
            certain: (1..=certain).map(place).collect(),
            possible: (1..=possible).map(|line| (place(certain + line), UseDoubt::UnknownValue)).collect(),
            ..Usages::default()
        };
        let resolved = Resolved {
            type_id: "A".to_owned(),
            path: "A".to_owned(),
            member_id: None,
        };
        asked.page_of(resolved, found, AnswerState::default())
    }

    #[test]
    fn a_client_that_sets_no_limit_gets_a_hundred_places() {
        let first = page(serde_json::json!({"symbol": "A"}), 1_000, 50);
        assert_eq!((first.certain.len(), first.possible.len(), first.total), (100, 0, 1_050));
        let text = first.spots_text();
        assert!(
            text.contains("100 of 1050 are shown: raise `limit`, or continue with `offset` 100"),
            "{text}"
        );
        let all = page(serde_json::json!({"symbol": "A", "limit": 2_000}), 1_000, 50);
        assert_eq!((all.certain.len(), all.possible.len()), (1_000, 50));
    }

    #[test]
    fn many_possible_places_of_one_reason_are_listed_by_file() {
        let few = page(serde_json::json!({"symbol": "A"}), 0, 20).spots_text();
        assert!(
            few.starts_with("possible, the type of the value is unknown:\na.cs:1:1: A\n"),
            "{few}"
        );
        let many = page(serde_json::json!({"symbol": "A"}), 1, 21).spots_text();
        let lines: Vec<String> = (2..=22).map(|line: u32| line.to_string()).collect();
        let expected = format!(
            "a.cs:1:1: A\npossible, the type of the value is unknown:\na.cs: {}\n",
            lines.join(", ")
        );
        assert_eq!(many, expected);
    }

    #[test]
    fn a_page_that_lacks_possible_places_tells_which_limit_to_raise() {
        for (arguments, limit) in [
            (serde_json::json!({"symbol": "A"}), "`limit` and `possible`"),
            (serde_json::json!({"symbol": "A", "limit": 1_000}), "`possible`"),
        ] {
            let text = page(arguments, 0, 200).spots_text();
            assert!(
                text.contains(&format!("100 of 200 are shown: raise {limit}, or continue")),
                "{text}"
            );
        }
    }
}
