//! Questions asked together: each is stored separately, and a failure of one does not affect the others.

use crate::desk::samples::{edited, error};
use crate::desk::{Asked, Built, Desk, manifest, types, whole};
use engine::seams::producer::Failure;
use engine::values::diagnostic::Diagnostic;

const LABELS: [&str; 3] = ["//types/N.A:semantic", "//types/N.B:semantic", "//types/N.C:semantic"];
const ALL: &str = "//types/...:semantic";

fn code(name: &str, value: u32) -> String {
    // Long enough that a patch is cheaper than a new answer.
    let rest: String = (0..40)
        .map(|n| format!("    public string Name{n}() {{ return \"{name}{n}\".Trim().Substring(1); }}\n"))
        .collect();
    format!("namespace N;\npublic class {name}\n{{\n    public int Get() {{ return {value}; }}\n{rest}}}\n")
}

fn desk(params: &str) -> Desk {
    let desk = Desk::new(params, &[]);
    set_number(&desk, 1);
    desk
}

fn set_number(desk: &Desk, value: u32) {
    for name in ["A", "B", "C"] {
        desk.put(&format!("src/{name}.cs"), &code(name, value));
    }
}

/// Returns the questions of a combined one, with their numbers and names.
fn questions(asked: &Asked) -> Vec<(String, Asked)> {
    let blocks = asked.user.split("# QUESTION ").skip(1);
    blocks
        .map(|block| {
            let (title, user) = block.split_once('\n').expect("a title");
            let one = Asked {
                user: user.to_owned(),
                whole: format!("{}\n\n# QUESTION {title}\n{user}", asked.system),
                ..asked.clone()
            };
            (title.to_owned(), one)
        })
        .collect()
}

fn all_of(asked: &Asked, answer: impl Fn(&Asked) -> String) -> String {
    let questions = questions(asked);
    if questions.is_empty() {
        return answer(asked);
    }
    let one = |(title, one): &(String, Asked)| format!("# ANSWER {title}\n{}\n", answer(one));
    questions.iter().map(one).collect()
}

fn limits(asked: &Asked) -> String {
    format!(
        "LIMITATIONS:\n- Gives another number of {} now [Get].\n",
        asked.types().join(" and ")
    )
}

fn texts(desk: &Desk) -> Vec<String> {
    LABELS.iter().map(|label| desk.text(label).0).collect()
}

/// Checks that the ledger equals the model's payments.
fn assert_paid(desk: &Desk, calls: usize) {
    let ledger = desk.ledger();
    let spent = ledger.iter().filter(|line| line.outcome != engine::store::ledger::Outcome::Saved);
    let sums = spent.fold((0, 0, 0), |sums, line| {
        let tokens = line.spent.input_tokens + 2 * line.spent.output_tokens;
        (
            sums.0 + line.spent.calls as usize,
            sums.1 + tokens,
            sums.2 + line.spent.micros.unwrap_or_else(|| u64::from(!line.spent.is_free())),
        )
    });
    assert_eq!((sums.0, sums.1), (calls, sums.2), "{ledger:#?}");
}

#[test]
fn new_types_and_patches_are_one_question_each_filed_alone() {
    let (many, single) = (desk("params.together = 8"), desk("params.together = 1"));
    for desk in [&many, &single] {
        desk.answers(|asked| Ok(all_of(asked, whole)));
    }
    let asked = many.build(ALL).asked;
    assert_eq!((asked.len(), single.build(ALL).asked.len()), (1, 3));
    let titles: Vec<String> = questions(&asked[0]).into_iter().map(|(title, _)| title).collect();
    let numbered = |(title, number): (&String, u32)| title.starts_with(&format!("{number}: ")) && title.len() == 4;
    assert!(titles.iter().zip(1..).all(numbered), "{titles:?}");
    assert!(
        asked[0]
            .system
            .starts_with(&single.build_as(ALL, |options| options.fresh = [LABELS[0].to_owned()].into()).asked[0].system)
    );
    assert_eq!(texts(&many), texts(&single), "the texts do not depend on the job_group");
    assert_paid(&many, 1);
    set_number(&many, 2);
    set_number(&single, 2);
    for desk in [&many, &single] {
        desk.answers(|asked| Ok(all_of(asked, limits)));
    }
    let asked = many.build(ALL).asked;
    assert_eq!((asked.len(), single.build(ALL).asked.len()), (1, 3));
    assert!(questions(&asked[0]).iter().all(|(_, one)| one.is_patch()), "{}", asked[0].user);
    assert_eq!(texts(&many), texts(&single));
    assert!(LABELS.iter().all(|label| many.note(label, "mode") == "patch"));
    assert_paid(&many, 2);
    assert_eq!(many.build(ALL).asked.len(), 0, "each is filed under its own key");
    many.put("src/B.cs", &code("B", 3));
    let asked = many.build(ALL).asked;
    assert!(
        asked.len() == 1 && questions(&asked[0]).is_empty(),
        "one question needs no job_group"
    );
}

#[test]
fn a_part_that_fails_is_asked_alone_and_takes_none_with_it() {
    let desk = desk("params.together = 8");
    desk.answers(|asked| Ok(all_of(asked, whole)));
    desk.build(ALL);
    set_number(&desk, 2);
    desk.answers(|asked| {
        let questions = questions(asked);
        let Some(((first, _), rest)) = questions.split_first() else {
            return Ok(limits(asked));
        };
        // The first is missing, the second occurs twice in different words, the third is right.
        assert!(first.starts_with("1: "));
        let part = |(title, one): &(String, Asked)| format!("# ANSWER {title}\n{}\n", limits(one));
        let second = part(&rest[0]);
        Ok(format!("{second}{second}- More.\n{}", part(&rest[1])))
    });
    let built = desk.build(ALL);
    assert!(built.failures().is_empty());
    let alone = built.asked.iter().filter(|asked| questions(asked).is_empty()).count();
    assert_eq!((built.asked.len(), alone), (3, 2));
    for (label, text) in LABELS.iter().zip(texts(&desk)) {
        let name = &label[8..11];
        assert!(text.contains(&format!("Gives another number of {name} now [Get]")), "{text}");
        assert_eq!(desk.note(label, "mode"), "patch");
    }
    assert_paid(&desk, 4);
    // A malformed part gets its own repair turn.
    set_number(&desk, 3);
    desk.answers(|asked| {
        let rubbish = |one: &Asked| match one.types()[0].as_str() {
            "N.B" => "Well.".to_owned(),
            _ => "NO CHANGE".to_owned(),
        };
        match asked.attempt {
            0 => Ok(all_of(asked, rubbish)),
            _ => Ok("NO CHANGE".to_owned()),
        }
    });
    let built = desk.build(ALL);
    assert!(built.failures().is_empty());
    let attempts: Vec<u32> = built.asked.iter().map(|asked| asked.attempt).collect();
    assert_eq!(attempts, [0, 1]);
    assert!(built.asked[1].types() == ["N.B"] && built.asked[1].whole.contains("Well."));
    assert_paid(&desk, 6);
}

#[test]
fn questions_too_large_together_are_asked_one_by_one() {
    let desk = desk("params.together = 2");
    desk.answers(|asked| match questions(asked).len() {
        0 => Ok(whole(asked)),
        2 => Err(error("E_CONTEXT")),
        _ => panic!("two are the most"),
    });
    let built = desk.build(ALL);
    assert!(built.failures().is_empty());
    assert_eq!(built.asked.len(), 4, "two together, then each");
    assert_paid(&desk, 3);
}

#[test]
fn a_build_that_is_stopped_in_a_question_for_many_files_what_was_answered() {
    let desk = desk("params.together = 2");
    desk.answers(|asked| match asked.types()[0].as_str() {
        _ if questions(asked).len() == 2 => Ok(all_of(asked, whole)),
        _ => Err(Failure::Cancelled),
    });
    let asked = desk.build(ALL).asked;
    assert_eq!(asked.iter().filter(|asked| questions(asked).len() == 2).count(), 1);
    desk.answers(|asked| Ok(whole(asked)));
    assert_eq!(desk.build(ALL).asked.len(), 1, "only what had not come is asked for again");
}

/// Two types. The second uses the first. An edit changes their numbers; they have other members, too.
fn put_tool_and_user(desk: &Desk, value: u32, more: &str) {
    desk.put(
        "src/A.cs",
        &edited(&code("A", value), "public int Get()", &format!("{more}public int Get()")),
    );
    desk.put(
        "src/B.cs",
        &edited(&code("B", value), "public int Get()", "private A _a;\n    public int Get()"),
    );
}

#[test]
fn a_reader_is_asked_about_with_what_it_reads() {
    let desk = Desk::new("params.together = 8", &[]);
    put_tool_and_user(&desk, 1, "");
    desk.answers(|asked| Ok(all_of(asked, whole)));
    assert_eq!(desk.build(ALL).asked.len(), 2, "the reader's first question shows the other's role");
    put_tool_and_user(&desk, 2, "");
    desk.answers(|asked| Ok(all_of(asked, limits)));
    let built = desk.build(ALL);
    assert_eq!((built.failures(), built.asked.len()), (vec![], 1));
    assert_eq!(questions(&built.asked[0]).len(), 2, "{}", built.asked[0].user);
    assert!(LABELS[..2].iter().all(|label| desk.note(label, "mode") == "patch"));
    assert!(
        desk.text(LABELS[1]).0.contains("another number of N.B"),
        "{}",
        desk.text(LABELS[1]).0
    );
    assert_paid(&desk, 3);
    assert_eq!(desk.build(ALL).asked.len(), 0, "nothing is left to do");
}

#[test]
fn a_reader_of_a_changed_role_keeps_the_answer_with_the_last_one() {
    let desk = Desk::new("params.together = 8", &[]);
    put_tool_and_user(&desk, 1, "");
    desk.answers(|asked| Ok(all_of(asked, whole)));
    desk.build(ALL);
    let more: String = (0..15).map(|n| format!("public int More{n}() {{ return {n}; }}\n    ")).collect();
    put_tool_and_user(&desk, 2, &more);
    desk.answers(|asked| {
        Ok(all_of(asked, |one| match one.types()[0].as_str() {
            "N.A" => "ROLE:\n- Does more [More1].\n".to_owned(),
            _ => limits(one),
        }))
    });
    let built = desk.build(ALL);
    assert!(built.failures().is_empty());
    assert!(desk.text(LABELS[0]).0.contains("Does more [More1]"), "{}", desk.text(LABELS[0]).0);
    let about_reader = built.asked.iter().filter(|asked| asked.types().contains(&"N.B".to_owned()));
    assert_eq!((built.asked.len(), about_reader.count()), (1, 1));
    assert!(
        desk.text(LABELS[1]).0.contains("another number of N.B"),
        "{}",
        desk.text(LABELS[1]).0
    );
    assert_eq!(desk.note(LABELS[1], "mode"), "unchanged");
    assert_paid(&desk, 3);
    assert_eq!(desk.build(ALL).asked.len(), 0, "nothing is left to do");
}

/// Writes `A`, and `B`, which reads it.
fn set_reader(desk: &Desk, result: &str, value: u32) {
    desk.put(
        "src/A.cs",
        &edited(&code("A", 1), "public int Get()", &format!("public {result} Get()")),
    );
    let member = "public A Other { get; }\n    public int Get()";
    desk.put("src/B.cs", &edited(&code("B", value), "public int Get()", member));
}

/// Two types with summaries. One type reads the other.
fn reader() -> Desk {
    let desk = Desk::new("params.together = 8", &[]);
    set_reader(&desk, "int", 1);
    desk.answers(|asked| Ok(all_of(asked, whole)));
    desk.build(ALL);
    desk
}

fn is_about(asked: &Asked, key: &str) -> bool {
    asked.types() == [key]
}

#[test]
fn an_edited_reader_is_asked_about_with_what_it_reads() {
    let desk = reader();
    set_reader(&desk, "long", 2);
    let kept = |one: &Asked| {
        if is_about(one, "N.A") {
            "NO CHANGE".to_owned()
        } else {
            limits(one)
        }
    };
    desk.answers(move |asked| Ok(all_of(asked, kept)));
    let built = desk.build(ALL);
    assert_eq!((built.failures(), types(&built)), (vec![], vec!["N.A+N.B".to_owned()]));
    assert_paid(&desk, 3);
    assert!(desk.text(LABELS[1]).0.contains("Gives another number of N.B now"));
    assert_eq!(desk.build(ALL).asked.len(), 0);
}

#[test]
fn a_reader_is_asked_about_once_if_what_it_reads_has_another_role() {
    let desk = reader();
    set_reader(&desk, "long", 2);
    let other = |one: &Asked| match is_about(one, "N.A") {
        true => "ROLE:\n- Counts the apples of a garden [Get].\n".to_owned(),
        false => limits(one),
    };
    desk.answers(move |asked| Ok(all_of(asked, other)));
    let built = desk.build(ALL);
    assert_eq!((built.failures(), types(&built)), (vec![], vec!["N.A+N.B".to_owned()]));
    assert_paid(&desk, 3);
    assert!(desk.text(LABELS[1]).0.contains("Gives another number of N.B now"));
    let role = desk.text(LABELS[0]).0;
    assert!(role.contains("- Counts the apples of a garden [Get]."), "{role}");
    assert_eq!(desk.build(ALL).asked.len(), 0);
}

#[test]
fn what_a_limit_left_is_asked_as_one() {
    let limit = |_: &Asked| Err(Failure::Limit(Box::new(Diagnostic::error("E_LIMIT", "no more"))));
    let mut desk = reader();
    set_reader(&desk, "long", 2);
    desk.answers(limit);
    assert!(!desk.build(ALL).asked.is_empty());
    desk.answers(|asked| Ok(all_of(asked, |_| "NO CHANGE".to_owned())));
    assert_eq!(types(&desk.build(ALL)), ["N.A+N.B"]);
    // The role that another model wrote is not assumed.
    desk.redefine(&manifest("params.together = 8", "").replace("oracle-1", "oracle-2"));
    desk.answers(limit);
    assert!(!desk.build(ALL).asked.is_empty());
    desk.answers(|asked| Ok(all_of(asked, whole)));
    assert_eq!(types(&desk.build(ALL)), ["N.A", "N.B"]);
}

#[test]
fn an_unusable_answer_about_a_reader_is_one_try() {
    let about_reader = |built: &Built| {
        built
            .asked
            .iter()
            .filter(|asked| asked.types().iter().any(|key| key == "N.B"))
            .count()
    };
    let rubbish = |one: &Asked| if is_about(one, "N.B") { "Well." } else { "NO CHANGE" }.to_owned();
    let (alone, together) = (reader(), reader());
    for desk in [&alone, &together] {
        desk.answers(move |asked| Ok(all_of(asked, rubbish)));
    }
    set_reader(&alone, "int", 2);
    set_reader(&together, "long", 2);
    let (alone, together) = (alone.build(ALL), together.build(ALL));
    assert_eq!(together.failures(), alone.failures());
    assert_eq!(about_reader(&together), about_reader(&alone), "{:?}", types(&together));
}
