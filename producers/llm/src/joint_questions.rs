//! Asks several questions as one: questions of a job group with the same rules are put under headings of their own, and the answer is split at its
//! headings. Each caller gets its part and its share of the cost. A question whose part is missing, doubled, cut, under another name or about
//! another question is asked alone, as if it had no group.

use super::shared_types::{share_changes, share_used_types};
use super::{About, Ask, ModelReply, Question, Role, Turn, TurnPart, Wants};
use engine::seams::job_group::{GroupMember, Submissions};
use engine::seams::joint::{self, QuestionSize};
use engine::seams::paid::Spent;
use engine::seams::producer::{Cancel, Failure, Params};
use engine::values::digest::Digest;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Limit of tokens of jointly asked questions, without their rules.
const MOST_TOKENS: u64 = 12_000;

/// Text after the rules when several questions follow.
const RULES: &str = "\
Answer each \"# QUESTION n: name\" alone, in order, as its \"# TO n\" asks, after \"# ANSWER n: name\".";

/// First words of a patch, before ` about` and the name of its subject.
pub const EARLIER: &str = "Earlier answer";

/// A question as submitted to its group.
struct JointQuestion {
    turns: [Turn; 2],
    size: QuestionSize,
    label: String,
    patch: bool,
}

/// The result of one question of a group.
enum Share {
    Answered(ModelReply),
    Failed(Failure),
    /// The question has to be asked alone; the attempt cost this.
    Alone(Spent),
}

/// Asks a question, together with others of its group if there are any; at most `most` questions are asked as one. Fails as [`Ask::ask`]
/// does.
pub fn ask_together(
    ask: &dyn Ask,
    question: &Question<'_>,
    job_group: Option<&GroupMember>,
    most: usize,
    cancel: &Cancel,
) -> Result<ModelReply, Failure> {
    let Some(member) = job_group else {
        return ask.ask(question, cancel);
    };
    let in_vain = match ask_jointly(ask, question, member, most, cancel) {
        Some(Share::Answered(answer)) => return Ok(answer),
        Some(Share::Failed(failure)) => return Err(failure),
        Some(Share::Alone(spent)) => spent,
        None => Spent::default(),
    };
    let _call = member.call();
    let alone = ask.ask(question, cancel);
    if in_vain == Spent::default() {
        return alone;
    }
    match alone {
        Ok(mut answer) => {
            answer.spent.add(&in_vain);
            Ok(answer)
        }
        Err(failure) => Err(failure.after_spending(Some(&in_vain), "")),
    }
}

/// Returns the result of asking jointly; `None` where the question is to be asked alone.
fn ask_jointly(ask: &dyn Ask, question: &Question<'_>, member: &GroupMember, most: usize, cancel: &Cancel) -> Option<Share> {
    let joins = question.attempt == 0
        && question.wants == Wants::Text
        && ask.joins(question.model, question.settings)
        && !ask.is_handed_over(question.key, question.attempt, question.turns);
    let [system, user] = question.turns else {
        member.leave();
        return None;
    };
    if !joins || (system.role, user.role) != (Role::System, Role::User) {
        member.leave();
        return None;
    }
    let turns = [system.clone(), user.clone()];
    let submissions = member.submit(Arc::new(JointQuestion {
        size: size_of_question(ask, (question.model, question.settings), &turns, question.max_tokens, most),
        turns,
        label: question.about.label.to_owned(),
        patch: question.about.patch,
    }))?;
    let groups = submitted_groups(&submissions);
    let group = groups
        .iter()
        .find(|group| group.iter().any(|(number, _)| *number == member.number()))?;
    let leader = group.first().filter(|_| group.len() > 1)?.0;
    if leader == member.number() {
        lead(ask, question, member, group, cancel);
    }
    let delivery = member.receive(leader)?;
    delivery.downcast::<Share>().ok().map(|share| *share)
}

/// Returns the size of a question by which it is grouped.
pub fn size_of_question(
    ask: &dyn Ask,
    (model, settings): (&Params, &Params),
    [system, user]: &[Turn; 2],
    answer_tokens: u64,
    most: usize,
) -> QuestionSize {
    let room = |name: &str| model.get(name).and_then(Value::as_u64).unwrap_or(u64::MAX);
    let rules = format!(
        "{}\n{}\n{}",
        Value::Object(model.clone()),
        Value::Object(settings.clone()),
        system.text()
    );
    QuestionSize {
        rules: Digest::of(rules.as_bytes()).to_string(),
        tokens: ask.count(model, &user.text()).tokens,
        answer_tokens,
        most_answer_tokens: room("max_tokens"),
        most_context_tokens: room("context_tokens"),
        most_tokens: MOST_TOKENS,
        most,
    }
}

/// Groups the submitted questions, in the order of the members.
fn submitted_groups(submissions: &Submissions) -> Vec<Vec<(usize, &JointQuestion)>> {
    let handed: Vec<(usize, &JointQuestion)> = submissions
        .iter()
        .filter_map(|(number, handed)| Some((*number, handed.downcast_ref::<JointQuestion>()?)))
        .collect();
    let sizes: Vec<&QuestionSize> = handed.iter().map(|(_, question)| &question.size).collect();
    let members = |group: Vec<usize>| group.into_iter().map(|at| handed[at]).collect();
    joint::groups(&sizes).into_iter().map(members).collect()
}

/// Asks the questions of a group as one and delivers each share. If the limits of the run do not cover them, asks each half of them as one.
fn lead(ask: &dyn Ask, question: &Question<'_>, member: &GroupMember, group: &[(usize, &JointQuestion)], cancel: &Cancel) {
    if let [(number, _)] = group {
        member.deliver(*number, Box::new(Share::Alone(Spent::default())));
        return;
    }
    let turns = joint_conversation(group);
    let why = format!("{} questions are asked as one", group.len());
    let led = {
        let _call = member.call();
        let joined = Question {
            turns: &turns,
            max_tokens: group.iter().map(|(_, handed)| handed.size.answer_tokens).sum(),
            about: About {
                patch: group.iter().all(|(_, handed)| handed.patch),
                why: &why,
                ..question.about
            },
            ..*question
        };
        ask.ask(&joined, cancel)
    };
    let shares: Vec<Share> = match led {
        Ok(answer) => {
            let shares = shares(answer, group);
            if !shares.iter().any(|share| matches!(share, Share::Answered(_))) {
                ask.give_up_joining(question.model);
            }
            shares
        }
        Err(Failure::Cancelled) => group.iter().map(|_| Share::Failed(Failure::Cancelled)).collect(),
        Err(Failure::Limit(_)) if group.len() > 2 => {
            let (one, other) = group.split_at(group.len() / 2);
            lead(ask, question, member, one, cancel);
            return lead(ask, question, member, other, cancel);
        }
        Err(failure) => {
            // Report the cost once. A joint question that is too large says nothing about a single one.
            let mut first = matches!(failure, Failure::Rejected(_)).then_some(failure);
            let share = |_| first.take().map_or_else(|| Share::Alone(Spent::default()), Share::Failed);
            group.iter().map(share).collect()
        }
    };
    for ((number, _), share) in group.iter().zip(shares) {
        member.deliver(*number, Box::new(share));
    }
}

/// Returns the conversation in which a group is asked.
fn joint_conversation(group: &[(usize, &JointQuestion)]) -> Vec<Turn> {
    let mut system = group[0].1.turns[0].clone();
    system.parts.push(TurnPart {
        text: RULES.to_owned(),
        stable: true,
    });
    let texts: Vec<String> = group.iter().map(|(_, handed)| handed.turns[1].text()).collect();
    let mut data = Vec::new();
    let mut instructions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (number, ((_, handed), text)) in (1_usize..).zip(group.iter().zip(&texts)) {
        let (question, instruction) = split_instruction(text);
        data.push(without_name(question, &handed.label));
        instructions.entry(instruction).or_default().push(number.to_string());
    }
    let changes = share_changes(&mut data);
    let shared = share_used_types(&mut data);
    let questions = (1_usize..)
        .zip(group.iter().zip(&data))
        .map(|(number, ((_, handed), question))| format!("# QUESTION {number}: {}\n\n{question}", name_of(&handed.label)));
    let instructions = instructions
        .into_iter()
        .filter(|(instruction, _)| !instruction.is_empty())
        .map(|(instruction, numbers)| format!("# TO {}\n\n{instruction}", numbers.join(", ")));
    let user = Turn {
        role: Role::User,
        parts: vec![TurnPart {
            text: changes
                .into_iter()
                .chain(shared)
                .chain(questions)
                .chain(instructions)
                .collect::<Vec<_>>()
                .join("\n\n"),
            stable: false,
        }],
    };
    vec![system, user]
}

/// Splits a question at its last paragraph: the instruction, which is the same in questions of one kind. The instruction is empty if data come last.
fn split_instruction(text: &str) -> (&str, &str) {
    let parts = text.trim_end().rsplit_once("\n\n");
    parts.filter(|(_, last)| !last.contains("```")).unwrap_or((text.trim_end(), ""))
}

/// Returns a question without the name of its subject, which its heading has.
fn without_name(question: &str, label: &str) -> String {
    let package = label.rsplit_once(':').map_or(label, |(package, _)| package);
    let named = question.strip_prefix(EARLIER).and_then(|rest| rest.strip_prefix(" about "));
    let rest = package
        .rsplit_once('/')
        .and_then(|(_, name)| named?.strip_prefix(name))
        .filter(|rest| rest.starts_with([':', ',']));
    rest.map_or_else(|| question.to_owned(), |rest| format!("{EARLIER}{rest}"))
}

/// Returns the name of a question, from its label: the type without its namespace, and its member.
fn name_of(label: &str) -> &str {
    let package = label.rsplit_once(':').map_or(label, |(package, _)| package);
    let of_type = package.split_once('#').map_or(package, |(of_type, _)| of_type);
    let start = of_type.rfind(['/', '.']).map_or(0, |at| at + 1);
    &package[start..]
}

/// Whether a heading has the name of a question, as it was asked or without the numbers of type parameters.
fn is_named(heading: &str, label: &str) -> bool {
    let [heading, name] = [heading, label].map(name_of);
    heading == name
        || name
            .split_once('`')
            .is_some_and(|(bare, arity)| heading == bare && !arity.contains(['+', '#']))
}

/// Splits the answer into the shares of a group.
fn shares(answer: ModelReply, group: &[(usize, &JointQuestion)]) -> Vec<Share> {
    let labels: Vec<&str> = group.iter().map(|(_, handed)| handed.label.as_str()).collect();
    let texts: Vec<String> = group.iter().map(|(_, handed)| handed.turns[1].text()).collect();
    let mut parts = split_answer(&answer.text, &labels, answer.cut);
    drop_exchanged_parts(&mut parts, &texts);
    let prompt_tokens: Vec<u64> = group.iter().map(|(_, handed)| handed.size.tokens).collect();
    let answered: Vec<u64> = parts.iter().map(|part| part.as_deref().map_or(0, str::len) as u64).collect();
    let costs = split_cost(&answer.spent, &prompt_tokens, &answered);
    let share = |(part, spent): (Option<String>, Spent)| match part {
        None => Share::Alone(spent),
        Some(text) => Share::Answered(ModelReply {
            text,
            cut: false,
            spent,
            remarks: answer.remarks.clone(),
        }),
    };
    parts.into_iter().zip(costs).map(share).collect()
}

/// The answer to a patch that changes nothing.
const NO_CHANGE: &str = "NO CHANGE";

/// Whether an answer states that nothing changes, in any formatting.
pub fn is_no_change(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.collect::<Vec<_>>().join(" ").to_uppercase();
    words == NO_CHANGE || words == "NO CHANGES"
}

/// Returns the text under each heading, or [`NO_CHANGE`] for all if the answer is nothing else; `None` for a question whose answer is missing, empty,
/// there twice in different words, under another name, or cut.
fn split_answer(text: &str, labels: &[&str], is_cut: bool) -> Vec<Option<String>> {
    if is_no_change(text) && !is_cut {
        return vec![Some(NO_CHANGE.to_owned()); labels.len()];
    }
    let mut found: Vec<Vec<String>> = vec![Vec::new(); labels.len()];
    let mut spoilt = vec![false; labels.len()];
    let mut at: Option<usize> = None;
    let mut is_fenced = false;
    for line in text.lines() {
        if let Some((number, name)) = heading(line) {
            at = number.checked_sub(1).filter(|at| *at < labels.len());
            if let Some(at) = at {
                spoilt[at] |= !(name.is_empty() || is_named(name, labels[at]));
                found[at].push(String::new());
            }
            continue;
        }
        match at {
            Some(at) => found[at].last_mut().into_iter().for_each(|part| {
                part.push_str(line);
                part.push('\n');
            }),
            None => is_fenced |= line.trim_start().starts_with("```"),
        }
    }
    let last = at.and_then(|at| found[at].last_mut());
    // A fence around the whole answer ends here.
    if let Some(last) = last.filter(|last| is_fenced && last.trim_end().ends_with("```")) {
        let end = last.trim_end().trim_end_matches('`').len();
        last.truncate(end);
    }
    if let Some(at) = at.filter(|_| is_cut) {
        spoilt[at] = true;
    }
    let whole = |(mut parts, spoilt): (Vec<String>, bool)| {
        parts.dedup_by(|one, other| one.trim() == other.trim());
        let part = parts.pop().filter(|_| parts.is_empty());
        part.filter(|part| !spoilt && !part.trim().is_empty())
    };
    found.into_iter().zip(spoilt).map(whole).collect()
}

/// Drops the parts that are about another question.
fn drop_exchanged_parts(parts: &mut [Option<String>], questions: &[String]) {
    let words: Vec<BTreeSet<&str>> = questions.iter().map(|text| words_of(text).collect()).collect();
    for (part, own) in parts.iter_mut().zip(&words) {
        if part.as_deref().is_some_and(|part| is_about_another(part, own, &words)) {
            *part = None;
        }
    }
}

/// Whether one other question contains all names that the claims of a part give as evidence, and its own none.
fn is_about_another(part: &str, own: &BTreeSet<&str>, questions: &[BTreeSet<&str>]) -> bool {
    let names = evidence_names(part);
    !names.is_empty() && names.is_disjoint(own) && questions.iter().any(|other| names.is_subset(other))
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// Returns the simple names in the brackets at the ends of claims.
fn evidence_names(part: &str) -> BTreeSet<&str> {
    let bracket = |line: &str| -> Option<(usize, usize)> {
        let end = line.trim_end_matches(['.', ' ']).strip_suffix(']')?.len();
        Some((line[..end].rfind('[')? + 1, end))
    };
    let items = part.lines().filter_map(|line| bracket(line).map(|(start, end)| &line[start..end]));
    let names = items
        .flat_map(|items| items.split(','))
        .filter_map(|item| words_of(item.split('(').next().unwrap_or(item)).last());
    names.filter(|name| !name.starts_with(|c: char| c.is_ascii_digit())).collect()
}

/// Parses number and name of a heading such as `# ANSWER 2: //types/N.A:semantic`, in the variations that models write.
fn heading(line: &str) -> Option<(usize, &str)> {
    let bare = line.trim();
    let inner = bare.trim_start_matches(['#', '*']);
    let is_decorated = inner.len() < bare.len();
    let (word, rest) = inner.trim_start().split_once(' ')?;
    if !(word == "ANSWER" || is_decorated && word.eq_ignore_ascii_case("ANSWER")) {
        return None;
    }
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, name) = rest.split_at(digits);
    let name = name.trim_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '*' | '`'));
    Some((number.parse().ok()?, name))
}

/// Splits a cost into shares that add up to it: tokens by the length of question and answer; the call counts for the first question.
fn split_cost(spent: &Spent, prompt_tokens: &[u64], answered: &[u64]) -> Vec<Spent> {
    let both: Vec<u64> = prompt_tokens
        .iter()
        .zip(answered)
        .map(|(prompt_tokens, answered)| prompt_tokens + answered)
        .collect();
    let input = split_by_weight(spent.input_tokens, prompt_tokens);
    let cached = split_by_weight(spent.cached_tokens, prompt_tokens);
    let output = split_by_weight(spent.output_tokens, answered);
    let micros = spent.micros.map(|micros| split_by_weight(micros, &both));
    let one = |at: usize| Spent {
        calls: if at == 0 { spent.calls } else { 0 },
        input_tokens: input[at],
        cached_tokens: cached[at],
        output_tokens: output[at],
        micros: micros.as_ref().map(|micros| micros[at]),
        ..spent.clone()
    };
    (0..prompt_tokens.len()).map(one).collect()
}

/// Splits a number by weight; the first part gets the remainder.
fn split_by_weight(all: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let part = |weight: &u64| {
        let part = u128::from(all) * u128::from(*weight);
        part.checked_div(sum).and_then(|part| u64::try_from(part).ok()).unwrap_or(0)
    };
    let mut parts: Vec<u64> = weights.iter().map(part).collect();
    let rest = all - parts.iter().sum::<u64>();
    if let Some(first) = parts.first_mut() {
        *first += rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LABELS: [&str; 3] = ["//types/N.A:semantic", "//types/N.B:semantic", "//types/N.C:semantic"];

    fn read(text: &str) -> Vec<Option<String>> {
        split_answer(text, &LABELS, false)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn an_answer_is_cut_at_its_headings() {
        let whole = "Here you are:\n# ANSWER 1: //types/N.A:semantic\nROLE:\n- a\n## ANSWER 2\nNO CHANGE\n**ANSWER 3: `//types/N.C:semantic`**\n- c\n";
        let expected = [some("ROLE:\n- a\n"), some("NO CHANGE\n"), some("- c\n")];
        assert_eq!(read(whole), expected);
        assert_eq!(read(&format!("```\n{}```\n", &whole[14..])), expected, "in a fence");
        assert_eq!(read(&whole.replace("ANSWER", "Answer")), expected, "in other letters");
        let none = some(NO_CHANGE);
        assert_eq!(read("No change\n"), [none.clone(), none.clone(), none]);
    }

    #[test]
    fn common_data_of_joint_questions_are_sent_once() {
        let handed = |label: &str, user: &str| JointQuestion {
            turns: [Role::System, Role::User].map(|role| Turn {
                role,
                parts: vec![TurnPart {
                    text: if role == Role::User { user.to_owned() } else { "Rules.".to_owned() },
                    stable: role == Role::System,
                }],
            }),
            size: QuestionSize::default(),
            label: label.to_owned(),
            patch: true,
        };
        let data = "Code (data):\n```\na\n\nb\n```";
        let all = [
            handed(LABELS[0], &format!("{data}\n\nPatch it.")),
            handed("//types/N.T+In#M(int):semantic", &format!("x\n\n{data}")),
            handed(LABELS[2], "c\n\nPatch it.\n"),
        ];
        let group: Vec<(usize, &JointQuestion)> = all.iter().enumerate().collect();
        let expected = format!(
            "# QUESTION 1: A\n\n{data}\n\n# QUESTION 2: T+In#M(int)\n\nx\n\n{data}\n\n# QUESTION 3: C\n\nc\n\n# TO 1, 3\n\nPatch it."
        );
        assert_eq!(joint_conversation(&group)[1].text(), expected);
        let used = "Used types:\n```\n// D: Is used.\nclass D\n```";
        let all = ["a", "b"].map(|text| handed(LABELS[0], &format!("{text}\n\n{used}\n\nPatch it.")));
        let group: Vec<(usize, &JointQuestion)> = all.iter().enumerate().collect();
        let expected = format!("{used}\n\n# QUESTION 1: A\n\na\n\n# QUESTION 2: A\n\nb\n\n# TO 1, 2\n\nPatch it.");
        assert_eq!(joint_conversation(&group)[1].text(), expected, "used types");
    }

    #[test]
    fn a_heading_names_the_subject_of_its_question() {
        let named = |question: &str| without_name(question, "//types/N.A:semantic");
        assert_eq!(named("Earlier answer about N.A:\nx"), "Earlier answer:\nx");
        assert_eq!(named("Earlier answer about N.A, no claims"), "Earlier answer, no claims");
        for other in ["Earlier answer about N.AB:\nx", "Earlier answer about B:\nx", "Summarise:\n- N.A"] {
            assert_eq!(named(other), other);
        }
    }

    #[test]
    fn a_part_that_fails_takes_none_with_it() {
        let (a, b, c) = (some("a\n"), some("b\n"), some("c\n"));
        assert_eq!(read("# ANSWER 1\na\n# ANSWER 3\nc\n"), [a.clone(), None, c.clone()], "missing");
        let doubled = |second: &str| read(&format!("# ANSWER 1\na\n# ANSWER 2\nb\n# ANSWER 2\n{second}\n"));
        assert_eq!(doubled("c"), [a.clone(), None, None], "doubled in other words");
        assert_eq!(doubled("b"), [a.clone(), b.clone(), None], "doubled word for word");
        let other = "# ANSWER 1: //types/N.B:semantic\na\n# ANSWER 2\nb\n# ANSWER 3\n\n";
        assert_eq!(read(other), [None, b.clone(), None], "another's name, and an empty one");
        assert_eq!(
            read("# ANSWER 4\nx\n# ANSWER 0\nx\n# ANSWER 2\nb\n"),
            [None, b, None],
            "numbers of nothing"
        );
        assert_eq!(read("rubbish\n"), [None, None, None]);
        assert_eq!(split_answer("# ANSWER 1\na\n# ANSWER 2\nb", &LABELS, true), [a, None, None], "cut");
    }

    #[test]
    fn a_part_about_another_question_is_no_answer() {
        let questions = ["class A { void Get() }", "class B { void Put(A one) }"].map(str::to_owned);
        let left = |parts: [&str; 2]| {
            let mut parts = parts.map(some);
            drop_exchanged_parts(&mut parts, &questions);
            parts.map(|part| part.is_some())
        };
        assert_eq!(left(["- Gets [A.Get].", "- Puts [Put(A)]."]), [true, true]);
        assert_eq!(left(["- Puts [Put(A)].", "- Gets [Get]"]), [false, false]);
        assert_eq!(
            left(["- Puts [Put].\n- Gets [Get].", "NO CHANGE"]),
            [true, true],
            "one name is its own"
        );
        assert_eq!(left(["- Lies [Gone].", "- See [line 3]."]), [true, true], "names of nothing");
    }

    proptest! {
        #[test]
        fn shares_add_up(all in 0_u64..1_000_000, weights in proptest::collection::vec(0_u64..10_000, 1..9)) {
            prop_assert_eq!(split_by_weight(all, &weights).iter().sum::<u64>(), all);
        }

        /// Any text of a model parses, and every question gets an entry.
        #[test]
        fn any_text_is_read(text in "(# ANSWER [0-9]{1,22}|\n|```|: //types/N.A:semantic|x){0,30}", is_cut: bool) {
            prop_assert_eq!(split_answer(&text, &LABELS, is_cut).len(), LABELS.len());
        }
    }
}
