//! Plans a summary without asking: the question that would be sent and its cost, with exactly its turns counted.

use super::answer_plan::AnswerPlan;
use super::author::{Author, SummaryCase};
use super::changed_texts::ChangedTexts;
use super::context_sizes::LearntContextSizes;
use super::conversation::{GUESSED_ANSWER, GUESSED_PATCH, ModelConversation, guessed_patch, names_of_corrections};
use super::parameters::{self, SummaryParameters};
use super::prompt;
use super::splice;
use super::subject::Withholding;
use engine::seams::joint::JointPlan;
use engine::seams::paid::{Plan, Spent};
use engine::seams::producer::{Failure, Inputs};
use llm::{Ask, Turn, joint_questions};

/// Estimated tokens of a ROLE that is not known yet.
const GUESSED_ROLE: u64 = 60;

/// Returns the plan. Fails when an input or the template is wrong, or no prompt fits.
pub(super) fn plan_question(inputs: &Inputs<'_>, ask: &dyn Ask, rooms: &LearntContextSizes) -> Result<Plan, Failure> {
    let case = match Author::from_inputs(inputs)? {
        Author::PartOfGroup(_, parameters) => return Ok(free_plan(&parameters, inputs, ask, "part", "its group is asked about as one")),
        Author::Withheld(subject, parameters) => {
            let reason = subject.withheld.values().next().map(Withholding::reason).unwrap_or_default();
            return Ok(free_plan(&parameters, inputs, ask, "withheld", &reason));
        }
        Author::Asked(case) => case,
    };
    let SummaryCase {
        parameters,
        template,
        heads,
        slots,
        ..
    } = &*case;
    let material = case.material();
    let mut base = case.base(inputs);
    let (way, _) = case.plan_answer(inputs, base.as_mut())?;
    let conversation = ModelConversation::new(inputs, ask, rooms, parameters, template);
    let way = conversation.cheapest(&material, base.as_ref(), way);
    let mut types = heads.len();
    let (mode, why, questions, guess) = match way {
        // If inputs must be built first, the earlier answer may be invalid afterwards: plan the more expensive case.
        AnswerPlan::Unchanged(_) | AnswerPlan::Carried(_) if inputs.unknown > 0 => {
            let why = format!("{} of its inputs must be built first", inputs.unknown);
            let old = base.as_ref().map(|base| base.summaries.clone()).unwrap_or_default();
            (
                "patch",
                why,
                vec![material.patch(&old, &ChangedTexts::default(), &[])],
                GUESSED_PATCH,
            )
        }
        AnswerPlan::Unchanged(why) => {
            return Ok(free_plan(parameters, inputs, ask, "unchanged", &why));
        }
        AnswerPlan::Carried(why) => {
            return Ok(free_plan(parameters, inputs, ask, "carried", &why));
        }
        AnswerPlan::Patch(changes, why) => {
            let base = base.as_ref().expect("invariant: a patch has a base");
            let turns = material.patch(&base.summaries, &changes, &names_of_corrections(&base.corrected));
            let shown = splice::without_unshown(&base.summaries, &material.unshown(&base.summaries, &changes));
            types = material.concerned_heads(&shown, &changes).len();
            ("patch", why, vec![turns], guessed_patch(&changes))
        }
        AnswerPlan::Full(why, _) => {
            let parts = conversation.parts(heads, slots, 0)?;
            let questions = parts
                .iter()
                .map(|part| conversation.material(&part.heads, &part.slots).full())
                .collect();
            ("full", why, questions, GUESSED_ANSWER)
        }
    };
    let (mut cost, shown) = count_questions(inputs, ask, parameters, &questions);
    if cost.calls == 0 {
        return Ok(Plan {
            prompt: format!("{}\n", shown.trim_end()),
            ..free_plan(parameters, inputs, ask, "pending", "it was handed over in a batch")
        });
    }
    cost.input_tokens += inputs.unknown as u64 * GUESSED_ROLE;
    let each = if mode == "full" { guess * heads.len() as u64 } else { guess };
    cost.output_tokens = each.min(parameters.answer_tokens(types));
    cost.micros = ask.price(inputs.settings, cost.input_tokens, 0, cost.output_tokens);
    let joint = match &questions[..] {
        [turns] => joint(inputs, ask, parameters, turns, types),
        _ => None,
    };
    Ok(Plan {
        mode: mode.to_owned(),
        why,
        prompt: format!("{}\n", shown.trim_end()),
        cost,
        joint,
    })
}

/// Counts the tokens of questions that are not handed over yet. Returns the cost without answers, and the texts of all.
fn count_questions(inputs: &Inputs<'_>, ask: &dyn Ask, parameters: &SummaryParameters, questions: &[Vec<Turn>]) -> (Spent, String) {
    let mut cost = Spent {
        model: parameters.model_name().to_owned(),
        calls: u32::try_from(questions.len()).unwrap_or(u32::MAX),
        ..Spent::default()
    };
    let mut shown = String::new();
    for (attempt, turns) in (0_u32..).zip(questions) {
        let text = prompt::conversation_text(turns);
        if ask.is_handed_over(inputs.key, attempt, turns) {
            cost.calls -= 1;
            shown.push_str(&text);
            continue;
        }
        let count = ask.count(&parameters.model, &text);
        cost.input_tokens += count.tokens;
        cost.estimated |= !count.exact || inputs.unknown > 0;
        shown.push_str(&text);
    }
    (cost, shown)
}

/// Returns how a question can be asked with others; `None` if it is asked alone.
fn joint(inputs: &Inputs<'_>, ask: &dyn Ask, parameters: &SummaryParameters, turns: &[Turn], types: usize) -> Option<JointPlan> {
    let turns: &[Turn; 2] = turns.try_into().ok().filter(|_| parameters.together > 1)?;
    if !ask.joins(&parameters.model, inputs.settings) {
        return None;
    }
    let rules = ask.count(&parameters.model, &prompt::conversation_text(&turns[..1])).tokens;
    Some(JointPlan {
        size: joint_questions::size_of_question(
            ask,
            (&parameters.model, inputs.settings),
            turns,
            parameters.answer_tokens(types),
            parameters.together,
        ),
        rules: Spent {
            input_tokens: rules,
            micros: ask.price(inputs.settings, rules, 0, 0),
            ..Spent::default()
        },
        is_edit: inputs.previous.is_some(),
        needs_edit: parameters::max_joint_questions(inputs.settings).is_none(),
    })
}

/// Returns a plan without a question.
fn free_plan(parameters: &SummaryParameters, inputs: &Inputs<'_>, ask: &dyn Ask, mode: &str, why: &str) -> Plan {
    Plan {
        mode: mode.to_owned(),
        why: why.to_owned(),
        prompt: String::new(),
        cost: Spent {
            model: parameters.model_name().to_owned(),
            micros: ask.price(inputs.settings, 0, 0, 0),
            ..Spent::default()
        },
        joint: None,
    }
}
