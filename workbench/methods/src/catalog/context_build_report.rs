//! Report of `context build`: the shown items with reasons, the omitted ones with reasons, and completeness.

use crate::desk::workspace_names::WorkspaceNames;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::context::attached::{Attached, Fitted};
use workbench::context::compose_within_budget::{Composed, Placed};
use workbench::context::forms::{Form, TypeTexts};
use workbench::context::package::Grade;
use workbench::context::relevance_factors::{Factors, figure};
use workbench::context::rounds::Inherited;
use workbench::context::type_ranking::{Choice, Chosen, Passed, Question};
use workbench::symbols::answer_state::AnswerState;

/// Limit of omitted types that an answer lists.
pub(super) const LISTED: usize = 20;

/// A type or a file that is shown.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContextItem {
    /// Its path.
    pub path: String,
    pub files: Vec<String>,
    form: Form,
    /// Members shown in full: those that the query names, or those that fit it best.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    members: Vec<String>,
    /// Its tokens in the text.
    tokens: usize,
    /// The score that decided its rank.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub score: f32,
    /// The reason for showing it.
    pub why: String,
    /// The factors, each between 0 and 1.
    factors: Factors,
    /// The contribution of each factor to the score.
    pub gave: Factors,
    /// The earlier round from which it was taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inherited: Option<Inherited>,
}

/// An omitted type or member, or an omitted name of the query.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its path.
    pub path: String,
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub score: f32,
    /// The reason: the budget, a poor fit, or an error.
    pub why: String,
}

/// Returns the item of a shown file.
fn of_file(file: &Attached, fitted: &Fitted) -> ContextItem {
    let mut why = format!("the query names {}", file.mention);
    file.notes.iter().for_each(|note| why.push_str(&format!("; {note}")));
    if let Some((from, to)) = fitted.left_out {
        why.push_str(&format!("; lines {from}-{to} have no room in the budget"));
    }
    ContextItem {
        path: file.path.clone(),
        files: vec![file.path.clone()],
        form: Form::File,
        members: Vec::new(),
        tokens: fitted.tokens,
        score: 0.0,
        why,
        factors: Factors::default(),
        gave: Factors::default(),
        inherited: None,
    }
}

/// Most words of the query that a reason names.
const NAMED: usize = 4;
/// Reason for an omitted item without room.
const NO_ROOM: &str = "there is no room for it in the budget";

/// Input of a report: a question, the choice of types, and the composed text.
#[derive(Clone, Copy)]
pub struct ContextReport<'t> {
    /// The question, with its index.
    pub question: &'t Question<'t>,
    pub choice: &'t Choice,
    /// The possible texts of each chosen type.
    pub texts: &'t [TypeTexts],
    /// Files that the query names.
    pub attached: &'t [Attached],
    pub made: &'t Composed,
    /// Budget of the text, in tokens.
    pub budget: usize,
}

impl ContextReport<'_> {
    /// Returns the shown items in the order of the text.
    pub fn items(&self) -> Vec<ContextItem> {
        let index = self.question.index;
        let files = self.made.files.iter().map(|(at, fitted)| of_file(&self.attached[*at], fitted));
        let types = self.made.placed.iter().map(|placed| {
            let chosen = &self.choice.chosen[placed.at];
            let text = &self.texts[placed.at];
            ContextItem {
                path: text.key.clone(),
                files: index.document(chosen.at).map(|one| one.files.clone()).unwrap_or_default(),
                form: placed.form,
                members: placed.members.iter().map(|at| text.members[*at].path.clone()).collect(),
                tokens: placed.tokens,
                score: chosen.score,
                why: self.describe_choice(chosen, text, placed),
                factors: chosen.factors,
                gave: chosen.factors.by(self.question.weights),
                inherited: chosen.inherited.clone(),
            }
        });
        files.chain(types).collect()
    }

    /// Returns the omitted items, named ones before matching ones, and their total; `most` is the wanted number of types.
    pub fn left_out(&self, most: usize) -> (Vec<LeftOut>, usize) {
        let named = self.unshown();
        let total = named.len() + self.made.left_out.len() + self.choice.others_total;
        let left = |at: usize, score: f32, why: &str| LeftOut {
            path: self.question.index.key(at).to_owned(),
            score,
            why: why.to_owned(),
        };
        let no_room = self.made.left_out.iter().map(|at| &self.choice.chosen[*at]);
        // Named items are always listed.
        let limit = LISTED.max(named.len() + no_room.clone().filter(|chosen| chosen.mention.is_some()).count());
        let no_room = no_room.map(|chosen| left(chosen.at, chosen.score, NO_ROOM));
        let full = format!("the budget allows {most} types, and better ones were chosen");
        let others = self.choice.others.iter().map(|(at, score, passed)| {
            let why = match passed {
                Passed::Full => &full,
                Passed::Little => "it matches the query too little",
                Passed::Nothing => "no counted factor favours it",
            };
            left(*at, *score, why)
        });
        (named.into_iter().chain(no_room).chain(others).take(limit).collect(), total)
    }

    /// Returns the items that the query names and the text omits, with reasons.
    fn unshown(&self) -> Vec<LeftOut> {
        let left = |path: &str, why: &str| LeftOut {
            path: path.to_owned(),
            score: 0.0,
            why: why.to_owned(),
        };
        let mentions = self.question.mentions.iter();
        let not_there = mentions.filter_map(|mention| Some(left(&mention.text, mention.not_shown.as_deref()?)));
        let is_shown = |at: &usize| self.made.files.iter().any(|(shown, _)| shown == at);
        let files = self.attached.iter().enumerate().filter(|(at, _)| !is_shown(at));
        let files = files.map(|(_, file)| left(&file.path, NO_ROOM));
        let members = self.texts.iter().enumerate().flat_map(|(at, text)| {
            let placed = self.made.placed.iter().find(|placed| placed.at == at);
            let is_shown = move |member: &usize| placed.is_some_and(|placed| placed.members.contains(member));
            text.members[..text.named]
                .iter()
                .enumerate()
                .filter(move |(member, _)| !is_shown(member))
        });
        let members = members.map(|(_, member)| left(&member.path, NO_ROOM));
        not_there.chain(files).chain(members).collect()
    }

    pub fn completeness(&self, names: &WorkspaceNames, items: &[ContextItem], left_out: usize) -> AnswerState {
        let (index, withheld) = (self.question.index, self.choice.withheld);
        let no_room = self.made.left_out.len();
        let cut = self.made.files.iter().filter(|(_, fitted)| fitted.left_out.is_some()).count();
        let mut state = names
            .state_of_symbols(items.iter().flat_map(|item| &item.files))
            .unread(&index.unread);
        if no_room > 0 {
            let types = if no_room == 1 {
                "1 chosen type is".to_owned()
            } else {
                format!("{no_room} chosen types are")
            };
            state = state.lacking(&[format!("{types} not shown because of the budget")]);
        }
        if withheld > 0 {
            let types = if withheld == 1 {
                "1 type that contains a word of the query is in a file that is".to_owned()
            } else {
                format!("{withheld} types that contain a word of the query are in files that are")
            };
            state = state.lacking(&[format!("{types} never sent, and not shown")]);
        }
        let not_shown = self.question.mentions.iter().filter(|mention| mention.not_shown.is_some());
        let not_shown: Vec<&str> = not_shown.map(|mention| mention.text.as_str()).collect();
        if !not_shown.is_empty() {
            let named = not_shown[..not_shown.len().min(NAMED)].join(", ");
            let all = if not_shown.len() > NAMED { " and more" } else { "" };
            state = state.lacking(&[format!(
                "of what the query names {named}{all} cannot be shown: see what is left out"
            )]);
        }
        if cut > 0 {
            let files = if cut == 1 {
                "1 file is".to_owned()
            } else {
                format!("{cut} files are")
            };
            state = state.lacking(&[format!("{files} cut to fit the budget")]);
        }
        if items.is_empty() && left_out == 0 && withheld == 0 {
            state.notes.push("no type of the workspace contains a word of the query".to_owned());
        }
        if self.choice.chosen.is_empty() && self.choice.others_total > 0 {
            let counted = "no type is chosen: no type that contains a word of the query scores in the counted factors";
            state.notes.push(counted.to_owned());
        }
        state
    }

    /// Describes why a type was chosen, and why a named one is not shown whole.
    fn describe_choice(&self, chosen: &Chosen, text: &TypeTexts, placed: &Placed) -> String {
        let (index, words) = (self.question.index, self.question.words);
        let mut reasons = Vec::new();
        reasons.extend(chosen.mention.as_ref().map(|text| format!("the query names {text}")));
        reasons.extend(self.no_room(chosen, text, placed));
        let members = placed.members.iter().map(|at| text.members[*at].member());
        let members: Vec<&str> = members.take(NAMED).collect();
        if !members.is_empty() {
            reasons.push(format!("{} in full", members.join(", ")));
        }
        if let Some(from) = &chosen.inherited {
            reasons.push(format!("round {} had it and is {:.2} relevant", from.round, from.relevance));
        }
        let mut words_found: Vec<&String> = words.iter().filter(|word| index.has_word(chosen.at, word)).collect();
        words_found.sort_by(|one, other| index.rarity(other).total_cmp(&index.rarity(one)));
        let words_found: Vec<&str> = words_found.into_iter().take(NAMED).map(String::as_str).collect();
        if !words_found.is_empty() {
            reasons.push(format!("says {}", words_found.join(", ")));
        }
        if let Some((package, grade)) = &chosen.package {
            let how = match grade {
                Grade::Exact => "is of",
                Grade::Whole => "is within",
                Grade::Part => "is near",
            };
            reasons.push(format!("{how} package {package}"));
        }
        if let Some(near) = chosen.beside.first() {
            let uses = index.uses(chosen.at).iter().any(|edge| edge.to == *near);
            reasons.push(format!("{} {}", if uses { "uses" } else { "is used by" }, index.key(*near)));
        }
        if chosen.factors.access > 0.0 {
            reasons.push("was shown or looked at before".to_owned());
        }
        reasons.join("; ")
    }

    /// Describes the part of a named type that has no room, unless the query means members that are shown.
    fn no_room(&self, chosen: &Chosen, text: &TypeTexts, placed: &Placed) -> Option<String> {
        // A short source without text could not be read.
        let is_long = text.code.is_some() || text.size > self.budget;
        if chosen.mention.is_none() || placed.form == Form::Code || !placed.members.is_empty() || !is_long {
            return None;
        }
        let what = match placed.form {
            Form::Brief => "and its outline have",
            _ => "has",
        };
        Some(format!("its source (about {} tokens) {what} no room in the budget", text.size))
    }
}
