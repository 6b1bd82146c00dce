//! For any input, reading ends within bounded time with a message.

use super::{EXAMPLE, load_text};
use crate::testing::assert_linear;
use proptest::prelude::*;
use std::fmt::Write as _;

#[test]
fn deep_nesting_is_an_error() {
    let keys = vec!["a"; 79].join(".");
    let inline = |depth: usize| {
        format!(
            "[{keys}]\n{keys} = {}1{}\n",
            format!("{{{keys} = ").repeat(depth),
            "}".repeat(depth)
        )
    };
    let texts = [
        format!("x = {}", "[".repeat(100_000)),
        format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("x = {}", "{a=".repeat(100_000)),
        format!("[{}]", vec!["a"; 100_000].join(".")),
        format!("{} = 1", vec!["a"; 100_000].join(".")),
        "[[".repeat(100_000),
        inline(70),
        format!("[producer.p]\nuses = \"text\"\nparams.x = {}1{}", "[".repeat(70), "]".repeat(70)),
    ];
    // Stack frames without optimisation are several times as large as in the released program.
    let reader = std::thread::Builder::new().stack_size(8 << 20).spawn(move || {
        for text in texts {
            let errors = load_text(&text).expect_err("refused");
            assert!(!errors.is_empty());
        }
    });
    reader.expect("thread").join().expect("no overflow");
}

#[test]
fn long_lines_and_large_files_are_cut() {
    let errors = load_text(&format!("x = \"{}", "y".repeat(200_000))).expect_err("unclosed");
    assert!(format!("{errors:?}").len() < 2000);
    let huge = " ".repeat(super::super::MAX_BYTES + 1);
    let errors = load_text(&huge).expect_err("too large");
    assert_eq!(errors[0].code, "E_SIZE");
}

#[test]
fn thousands_of_errors_are_counted() {
    let mut text = "[producer.p]\nuses = \"text\"\n".to_owned();
    for n in 0..20_000 {
        writeln!(
            text,
            "[[rule]]\ntarget = \"//n/{n}:x\"\nproducer = \"p{n}\"\ninputs.i = \"//m/{n}:y\""
        )
        .expect("written");
    }
    let errors = load_text(&text).expect_err("wrong");
    assert_eq!(errors.len(), 501);
    assert_eq!(errors[500].message, "39500 more errors are not shown");
}

#[test]
fn many_rules_load_in_linear_time() {
    assert_linear(10_000, |count| {
        let mut text = "[producer.p]\nuses = \"command\"\nargv = [\"true\"]\n".to_owned();
        for n in 0..count {
            writeln!(text, "[[rule]]\ntarget = \"//n/{n}:x\"\nproducer = \"p\"\nout = \"n/{n}\"\ninputs = {{ a = \"//n/{}:x\", b = \"//files/{n}.txt:bytes\" }}", n + 1).expect("written");
        }
        writeln!(text, "[[rule]]\ntarget = \"//n/{count}:x\"\nproducer = \"p\"").expect("written");
        assert_eq!(load_text(&text).expect("well-formed").manifest.rules.len(), count + 1);
    });
}

#[test]
fn many_templates_of_one_family_load_in_linear_time() {
    assert_linear(5_000, |count| {
        let mut text = "[producer.p]\nuses = \"command\"\nargv = [\"true\"]\n".to_owned();
        for n in 0..count {
            writeln!(text, "[[rule]]\ntarget = \"//n/{n}/{{v}}:x\"\neach = {{ v = \"glob:**\" }}\nproducer = \"p\"\ninputs = {{ a = \"//n/{n}/a/{{v}}:x\" }}").expect("written");
        }
        assert!(load_text(&text).is_ok());
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn mutated_manifests_never_panic(cuts in prop::collection::vec((0..EXAMPLE.len(), 0_usize..40, any::<char>(), 0_u8..4), 1..6)) {
        let mut text: Vec<char> = EXAMPLE.chars().collect();
        for (at, len, c, kind) in cuts {
            let at = at.min(text.len().saturating_sub(1));
            match kind {
                0 => text.truncate(at.max(1)),
                1 => drop(text.drain(at..(at + len).min(text.len()))),
                2 => text[at] = c,
                _ => {
                    let piece: Vec<char> = text[at..(at + len).min(text.len())].to_vec();
                    text.splice(0..0, piece);
                }
            }
        }
        let _ = load_text(&text.into_iter().collect::<String>());
    }

    #[test]
    fn manifests_of_toml_like_noise_never_panic(text in "([\\[\\]{}=.,\"'#\n a-c0-9/:*-]|rule|producer|each|inputs|target|//a:b|\\{a\\}){0,60}") {
        let _ = load_text(&text);
    }
}
