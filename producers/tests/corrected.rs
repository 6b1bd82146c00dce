//! Answers that a person corrects, or that another answer replaces.

use crate::desk::samples::{CLOCK, LABEL, PAIR, STORE, edited, pair, store};
use crate::desk::{Desk, manifest, whole};
use engine::seams::paid::Notes;
use engine::store::corrections::Words;
use engine::store::superseded;

fn words(pairs: &[(&str, &str)]) -> Words {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_persons_words_are_found_where_the_last_result_is_another() {
    let desk = store("");
    desk.answers(|asked| Ok(if asked.is_patch() { "NO CHANGE".to_owned() } else { whole(asked) }));
    desk.build(LABEL);
    // Corrected on a branch; then back on the first, and merged with a change.
    desk.put("src/Store.cs", &edited(STORE, "Trim(16)", "Trim(17)"));
    let (text, _) = desk.text(LABEL);
    let mut notes = desk.last(LABEL).record.notes;
    notes.insert("mode".into(), "edited".into());
    notes.insert("corrected".into(), "ROLE".into());
    let text = text.replace("- The role of N.Store in few words.", "What a person says.");
    let corrected = desk
        .session()
        .correct(LABEL, text.into_bytes(), notes, words(&[("ROLE", "What a person says.")]));
    corrected.expect("a store").expect("corrected");
    desk.put("src/Store.cs", STORE);
    let (text, asked) = desk.text(LABEL);
    assert!(asked.is_empty() && !text.contains("What a person says"), "{text}");
    let trimmed = |most: u32| edited(STORE, "Trim(16)", &format!("Trim({most})"));
    let stays = |desk: &Desk, mode: &str| {
        let (text, asked) = desk.text(LABEL);
        assert!(text.contains("\nROLE:\nWhat a person says.\n"), "{text}");
        assert_eq!((asked.len(), desk.note(LABEL, "mode").as_str()), (1, mode));
        assert_eq!(desk.note(LABEL, "corrected"), "ROLE");
        assert_eq!(desk.codes(LABEL), ["W_CORRECTED"]);
        asked
    };
    desk.put("src/Store.cs", &trimmed(18));
    let asked = stays(&desk, "patch");
    assert!(asked[0].user.contains("leave them out: ROLE of N.Store"), "{}", asked[0].user);
    // A build with the built-in model in between.
    let mut desk = desk;
    desk.redefine("[workspace]\nrulesets = [\"csharp\"]\n");
    desk.put("src/Store.cs", &trimmed(19));
    assert!(!desk.text(LABEL).0.contains("What a person says"));
    desk.redefine(&manifest("", ""));
    stays(&desk, "patch");
    // Another checkout of the store, whose code was changed before the first build.
    let other = desk.checkout(2, &[("src/Clock.cs", CLOCK), ("src/Store.cs", &trimmed(20))]);
    stays(&other, "patch");
    // A type of the same name in another workspace is a different type.
    let stranger = desk.checkout(3, &[("src/Store.cs", "namespace N; public class Store { public void Sell() { } }")]);
    let (text, _) = stranger.text(LABEL);
    assert!(!text.contains("What a person says"), "{text}");
    assert_eq!(stranger.codes(LABEL), ["W_CORRECTED"]);
    // Once the correction is dropped, the model writes it again, wherever the last result is not the person's.
    let last = other.last(LABEL);
    let mut notes = last.record.notes;
    notes.remove("corrected");
    let bytes = other.text(LABEL).0.into_bytes();
    other
        .session()
        .correct(LABEL, bytes, notes, Words::new())
        .expect("a store")
        .expect("released");
    let third = desk.checkout(4, &[("src/Clock.cs", CLOCK), ("src/Store.cs", &trimmed(21))]);
    assert!(third.text(LABEL).0.contains("The role of N.Store"));
    assert_eq!(third.note(LABEL, "corrected"), "");
}

#[test]
fn an_answer_that_was_replaced_is_still_known() {
    let desk = store("");
    desk.build(LABEL);
    let first = desk.last(LABEL);
    desk.answers(|asked| Ok(whole(asked).replace("few", "other")));
    desk.build_as(LABEL, |options| options.fresh = [LABEL.to_owned()].into_iter().collect());
    let second = desk.last(LABEL);
    assert!(first.result.key == second.result.key && first.result.output != second.result.output);
    let corrected = desk.session().correct(LABEL, b"third".to_vec(), Notes::new(), Words::new());
    corrected.expect("a store").expect("corrected");
    let store = desk.session().engine.store.clone();
    for last in [first, second] {
        let kept = superseded::record_of(&*store, &last.result.key, &last.result.output).expect("a store");
        assert_eq!(kept, Some(last.record));
    }
}

#[test]
fn a_persons_words_stay() {
    let correct = |desk: &Desk, label: &str| {
        let (text, _) = desk.text(label);
        let mut notes = desk.last(label).record.notes;
        notes.insert("mode".into(), "edited".into());
        notes.insert("corrected".into(), "ROLE".into());
        let text = text.replace("- The role of N.Store in few words.", "What a person says [Whatever].");
        desk.session()
            .correct(
                label,
                text.into_bytes(),
                notes,
                words(&[("ROLE", "What a person says [Whatever].")]),
            )
            .expect("a store")
            .expect("corrected");
    };
    for (params, mode) in [("", "patch"), ("params.max_diff = 0.0", "full")] {
        let desk = store(params);
        desk.build(LABEL);
        correct(&desk, LABEL);
        assert_eq!(desk.text(LABEL).1.len(), 0, "a correction stands");
        desk.put("src/Store.cs", &edited(STORE, "Trim(16)", "Trim(17)"));
        desk.answers(|asked| {
            if asked.is_patch() {
                assert!(
                    asked
                        .user
                        .contains("A person wrote these sections; leave them out: ROLE of N.Store")
                );
                Ok("ROLE:\n- Another role altogether.\nLIFECYCLE:\n- Holds 17 at most [Trim].".to_owned())
            } else {
                Ok(whole(asked))
            }
        });
        let (text, asked) = desk.text(LABEL);
        assert_eq!((asked.len(), desk.note(LABEL, "mode").as_str()), (1, mode));
        assert!(text.contains("ROLE:\nWhat a person says [Whatever].\n"), "{text}");
        assert_eq!(
            (desk.codes(LABEL), desk.note(LABEL, "corrected").as_str()),
            (vec!["W_CORRECTED".to_owned()], "ROLE")
        );
        let built = desk.build_as(LABEL, |options| options.fresh = [LABEL.to_owned()].into_iter().collect());
        assert!(built.asked.len() == 1 && desk.text(LABEL).0.contains("What a person says"));
    }
    // In a group, the correction applies to its part.
    let desk = pair("", "");
    let (text, _) = desk.text("//types/N.B:semantic");
    let mut notes = desk.last("//types/N.B:semantic").record.notes;
    notes.insert("corrected".into(), "LIFECYCLE".into());
    let text = text.replace("The lifecycle of N.B in few words.", "Lives long.");
    desk.session()
        .correct(
            "//types/N.B:semantic",
            text.into_bytes(),
            notes,
            words(&[("LIFECYCLE", "- Lives long.")]),
        )
        .expect("a store")
        .expect("corrected");
    desk.put("src/Pair.cs", &edited(PAIR, "return 1;", "return 2;"));
    desk.answers(|_| Ok("NO CHANGE".to_owned()));
    let (text, _) = desk.text("//types/N.B:semantic");
    assert!(text.contains("LIFECYCLE:\n- Lives long.\n"), "{text}");
    assert_eq!(desk.codes("//types/N.B:semantic"), ["W_CORRECTED"]);
}
