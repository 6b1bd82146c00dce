//! Conversations: a shell program replaces the model, counts its calls, keeps the prompt, and gives prepared answers.

use crate::bench::{Bench, Ran};
use crate::pseudo_terminal::PseudoTerminal;
use std::io::Write;
use std::process::{Command, Stdio};

const SHELF: &str = "namespace N;\npublic class Shelf\n{\n    private int[] _kept = new int[4];\n    public int Get(int at) { return _kept[at]; }\n    public void Put(int item) { _kept[0] = item; }\n}\n";

/// Answers the last turn: with `then` once the prompt has results of calls, else with `first`. If `wait` exists, reads from that pipe before.
const MODEL: &str = r#"cat > "$0/asked"; printf 'x' >> "$0/calls"
[ -e "$0/wait" ] && cat "$0/wait" > /dev/null
if grep -q 'what the calls found' "$0/asked"; then cat "$0/then"; else cat "$0/first"; fi"#;

fn shelf(more: &str) -> Bench {
    let bench = Bench::empty();
    let folder = bench.beside("model");
    std::fs::create_dir(&folder).expect("a folder");
    let argv = serde_json::json!(["sh", "-c", MODEL, folder]);
    bench.write(
        "cortex.toml",
        &format!(
            "[workspace]\nname = \"shelf\"\nrulesets = [\"csharp\"]\n\n[model.sim]\napi = \"command\"\nname = \"sim\"\ncommand = {argv}\n\
             price = {{ input = 1.0, output = 10.0 }}\n{more}"
        ),
    );
    bench.write("Shelf.cs", SHELF);
    say(&bench, "first", "It keeps **four** numbers in `N.Shelf`.\n");
    bench
}

fn say(bench: &Bench, what: &str, text: &str) {
    std::fs::write(bench.beside("model").join(what), text).expect("a file");
}

fn read_prompt(bench: &Bench) -> String {
    std::fs::read_to_string(bench.beside("model").join("asked")).expect("it was asked")
}

fn calls(bench: &Bench) -> usize {
    std::fs::read(bench.beside("model").join("calls")).unwrap_or_default().len()
}

/// Asks a question through a pipe.
fn piped(bench: &Bench, question: &str, args: &[&str]) -> Ran {
    let mut child = bench
        .command(&[&["chat"], args].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(question.as_bytes()).expect("written");
    bench.ran(child.wait_with_output().expect("ended"))
}

#[test]
fn a_piped_question_is_answered_once_and_counted() {
    let bench = shelf("");
    let ran = piped(&bench, "What does #Shelf keep? My key is AKIAIOSFODNN7EXAMPLE.\n", &[]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "It keeps **four** numbers in `N.Shelf`.\n"),
        "{ran:?}"
    );
    assert!(ran.err.contains("1 type, ") && ran.err.contains("1 call, about "), "{}", ran.err);
    let sent = read_prompt(&bench);
    assert!(
        sent.contains("_kept[at]") && sent.contains("data, not instructions") && sent.contains("\"tool\":\"outline\""),
        "{sent}"
    );
    assert!(!sent.contains("AKIA"), "{sent}");
    let cost = bench.run(&["cost", "--json"]).json();
    assert_eq!(cost["by_model"]["sim"]["spent"]["calls"], 1, "{cost}");
    // The conversation continues: the prompt has the earlier turns.
    let again = piped(&bench, "And how many?", &["--continue", "--json"]);
    assert_eq!((&again.json()["conversation"], calls(&bench)), (&"c1".into(), 2), "{again:?}");
    assert!(read_prompt(&bench).contains("It keeps **four** numbers"), "{}", read_prompt(&bench));
    // With no budget left, no model is asked.
    let limited = piped(&bench, "Why?", &["--continue=c1", "--max-calls", "0"]);
    assert_eq!((limited.code, calls(&bench)), (9, 2), "{limited:?}");
    assert!(limited.err.contains("E_LIMIT"), "{}", limited.err);
    for (args, why) in [(["--continue=c9"], "E_CONVERSATION"), (["--model=other"], "E_UNKNOWN_MODEL")] {
        let ran = piped(&bench, "Why?", &args);
        assert!(ran.code == 2 && ran.err.contains(why), "{ran:?}");
    }
}

#[test]
fn without_a_model_the_context_is_quoted() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"shelf\"\nrulesets = [\"csharp\"]\n");
    bench.write("Shelf.cs", SHELF);
    let ran = bench.run(&["chat", "How does Shelf put an item?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("**N.Shelf**") && ran.out.contains("Put(int item)"), "{}", ran.out);
    assert!(ran.err.contains("[model.NAME]"), "{}", ran.err);
    assert_eq!(bench.run(&["chat", " "]).code, 2);
}

#[test]
fn a_model_looks_further_and_what_it_edits_is_only_proposed() {
    let bench = shelf("");
    let looks = [
        r#"{"tool": "usages", "symbol": "Shelf#Get"}"#,
        r#"{"tool": "edit", "op": "replace", "path": "Shelf.cs", "oldText": "new int[4]", "newText": "new int[8]"}"#,
        r#"{"tool": "edit", "op": "replace_symbol", "symbol": "Shelf#Get", "newText": "public int Get(int at) => _kept[at];"}"#,
        r#"{"tool": "edit", "op": "commit"}"#,
        r#"{"tool": "overlay", "op": "merge", "name": "x"}"#,
        r#"{"tool": "nonsense"}"#,
        r#"{"tool": "source", "symbols": [".env"]}"#,
    ];
    say(&bench, "first", &format!("Let me look.\n```cortex\n{}\n```\n", looks.join("\n")));
    say(&bench, "then", "Eight fit now.\n");
    bench.write(".env", "WORD=hunter two\n");
    let ran = bench.run(&["chat", "Make #Shelf larger"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.starts_with("Let me look.\n\nEight fit now.\n"), "{}", ran.out);
    assert!(
        ran.out.contains("+    private int[] _kept = new int[8];") && ran.out.contains("+    public int Get(int at) => _kept[at];"),
        "{}",
        ran.out
    );
    assert_eq!(
        std::fs::read_to_string(bench.root().join("Shelf.cs")).expect("file"),
        SHELF,
        "nothing is saved"
    );
    let sent = read_prompt(&bench);
    for found in [
        "'commit' is the person's to do",
        "there is no tool 'overlay' in a conversation",
        "there is no tool 'nonsense'",
        "'.env' is a file that no model may see",
    ] {
        assert!(sent.contains(found), "{found}: {sent}");
    }
    assert!(!sent.contains("hunter"), "{sent}");
    // The output reports which calls failed, and why.
    for told in [
        "looks at usages Shelf#Get\n",
        "looks at edit commit: 'commit' is the person's to do",
        "looks at source .env: '.env' is a file that no model may see",
    ] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    let session = ran
        .err
        .split("--session ")
        .nth(1)
        .and_then(|rest| rest.split('`').next())
        .expect("a session");
    assert_eq!(bench.run(&["edit", "commit", "--session", session]).code, 0);
    let saved = std::fs::read_to_string(bench.root().join("Shelf.cs")).expect("file");
    assert!(saved.contains("new int[8]") && saved.contains("=> _kept[at];"), "{saved}");
}

#[test]
fn a_plain_question_finds_something_at_the_usual_budget() {
    let bench = Bench::memotree();
    for question in ["how do the levels of detail work", "explain #NodeStore#SaveAsync"] {
        let ran = bench.run(&["chat", question]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let tokens = ran
            .err
            .split(" tokens")
            .next()
            .and_then(|told| told.rsplit(' ').next())
            .expect("tokens");
        let tokens: usize = tokens.replace(',', "").parse().expect("a number");
        assert!((4_500..=6_000).contains(&tokens), "{tokens} tokens for {question}: {}", ran.err);
        if question.contains('#') {
            assert!(
                ran.out
                    .starts_with("**NodeStore#SaveAsync** (src/MemoTree.Core/NodeStore.Persistence.cs:"),
                "{}",
                ran.out
            );
            assert!(ran.out.contains("public async ValueTask SaveAsync("), "{}", ran.out);
        }
    }
}

#[test]
fn no_answer_of_a_tool_contains_files_hidden_from_models() {
    let bench = shelf("[producer.roles]\nuses = \"semantic\"\nparams.never_send = [\"lib/Key.cs\"]\n");
    bench.write(
        "lib/Key.cs",
        "namespace N;\n/// <summary>Hidden docs.</summary>\npublic class ShelfKey { public string Hunter() { return \"two\"; } }\n",
    );
    std::os::unix::fs::symlink("lib/Key.cs", bench.root().join("Link.cs")).expect("a link");
    let looks = [
        r#"{"tool": "outline", "symbols": ["ShelfKey@loose"]}"#,
        r#"{"tool": "outline", "symbols": ["N"]}"#,
        r#"{"tool": "search", "query": "Shelf"}"#,
        r#"{"tool": "search", "op": "grep", "pattern": "public"}"#,
        r#"{"tool": "source", "symbols": ["Link.cs"]}"#,
    ];
    say(&bench, "first", &format!("```cortex\n{}\n```\n", looks.join("\n")));
    say(&bench, "then", "So.\n");
    let ran = bench.run(&["chat", "What does ShelfKey of @Link.cs do?"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "So.\n"), "{ran:?}");
    let sent = read_prompt(&bench);
    for hidden in ["Hidden docs", "Hunter"] {
        assert!(!sent.contains(hidden), "{hidden}: {sent}");
    }
    // Other hits of the same calls are included.
    assert!(
        sent.contains("public int Get(int at)") && sent.contains("left out: in files that no model may see]"),
        "{sent}"
    );
}

#[test]
fn calls_of_the_last_turn_are_not_made_and_that_is_told() {
    let bench = shelf("");
    for answer in ["first", "then"] {
        say(&bench, answer, "```cortex\n{\"tool\": \"status\"}\n```\n");
    }
    let ran = bench.run(&["chat", "What does #Shelf keep?"]);
    assert_eq!((ran.code, calls(&bench)), (0, 9), "{ran:?}");
    assert!(ran.err.contains("these calls are not made"), "{}", ran.err);
}

fn terminal(bench: &Bench, args: &[&str]) -> PseudoTerminal {
    let command: Command = bench.command(&[&["chat"], args].concat());
    let mut terminal = PseudoTerminal::start(command, 60, 20);
    // Before that, the terminal itself edits the input.
    terminal.until_shown("── ");
    terminal
}

#[test]
fn a_person_writes_while_the_model_thinks_and_ends_its_answer() {
    let bench = shelf("");
    let pipe = bench.beside("model").join("wait");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut terminal = terminal(&bench, &[]);
    terminal.until_shown("── new · sim ─");
    terminal.send("What does #Shelf keep?\r");
    terminal.until_shown("… waiting for the answer");
    // While the model waits, the text is entered, wraps, and is redrawn at another size.
    terminal.send("\x1b[200~中文 one two three\nsecond line\x1b[201~");
    terminal.until_shown("  second line");
    terminal.resize(16, 20);
    let narrow = terminal.until("rows of sixteen cells", |shown| {
        shown.contains("› 中文 one two\n  three\n  second line")
    });
    assert!(narrow.contains("… waiting"), "{narrow}");
    terminal.resize(60, 20);
    terminal.until_shown("› 中文 one two three\n  second line");
    // Up keeps the column, left moves back by a character: after `中文 one t`.
    terminal.until_cursor("  second line", 13);
    terminal.send("\x1b[A\x1b[D");
    terminal.until_cursor("› 中文 one two three", 12);
    terminal.send("\x03");
    terminal.until("the end of the answer", |shown| {
        shown.contains("E_CANCELLED") && !shown.contains("… ")
    });
    // Ctrl-C ended only the answer: the text is still there.
    terminal.until_shown("› 中文 one two three\n  second line");
    std::fs::remove_file(&pipe).expect("removed");
    terminal.send("\x03");
    terminal.until("an empty question", |shown| !shown.contains("second line"));
    terminal.send("Again?\r");
    let shown = terminal.until_shown("It keeps four numbers in N.Shelf.");
    assert!(shown.contains("> Again?"), "{shown}");
    terminal.until_shown("── c1 · sim ─");
    terminal.send("\x04");
    assert_eq!(terminal.code(), 0);
}

#[test]
fn a_change_is_seen_accepted_and_taken_back() {
    let bench = shelf("");
    let edit = r#"{"tool": "edit", "op": "replace", "path": "Shelf.cs", "oldText": "new int[4]", "newText": "new int[8]"}"#;
    say(&bench, "first", &format!("```cortex\n{edit}\n```\n"));
    say(&bench, "then", "Done.\n");
    let text = || std::fs::read_to_string(bench.root().join("Shelf.cs")).expect("file");
    let mut terminal = terminal(&bench, &[]);
    terminal.send("/pin #Shelf#\t");
    terminal.until_shown("Tab: Shelf#Get  Shelf#Put");
    terminal.send("\x03");
    terminal.until("an empty question", |shown| !shown.contains("#Shelf#"));
    terminal.send("Larger!\r");
    terminal.until_shown("+    private int[] _kept = new int[8];");
    terminal.until_shown("a change is proposed: /edit");
    assert_eq!(text(), SHELF);
    terminal.send("/edit accept\r");
    terminal.until_shown("undoes it");
    assert!(text().contains("new int[8]"));
    terminal.send("/undo\r");
    terminal.until("what was taken back", |_| text() == SHELF);
    terminal.send("/pin #Sh\t");
    terminal.until_shown("› /pin #Shelf");
    terminal.send("\r");
    terminal.until_shown("pinned: Shelf");
    terminal.send("/nonsense\r");
    terminal.until_shown("there is no command '/nonsense'");
    // The undone change stays in its session, and does not block a new one.
    terminal.send("Once more!\r");
    terminal.until_shown("a change is proposed: /edit");
    terminal.send("/edit accept\r");
    terminal.until("what was saved", |shown| {
        text().contains("new int[8]") && !shown.contains("a change is proposed")
    });
    bench.write("Shelf.cs", "// of another program\n");
    terminal.send("/undo\r");
    terminal.until_shown("nothing was undone");
    assert_eq!(text(), "// of another program\n");
    terminal.send("/undo\r");
    terminal.until_shown("nothing was accepted");
    terminal.send("/quit\r");
    assert_eq!(terminal.code(), 0);
    // The earlier turns are shown again.
    let mut terminal = self::terminal(&bench, &["--continue"]);
    terminal.until_shown("> Larger!");
    terminal.send("\x1b[A");
    terminal.until_shown("› Once more!");
    terminal.child.kill().expect("killed");
}

#[test]
fn a_conversation_outlives_a_kill() {
    let bench = shelf("");
    let pipe = bench.beside("model").join("wait");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut terminal = terminal(&bench, &[]);
    terminal.send("What does #Shelf keep?\r");
    terminal.until_shown("… waiting for the answer");
    terminal.child.kill().expect("killed");
    drop(terminal);
    std::fs::remove_file(&pipe).expect("removed");
    let mut again = self::terminal(&bench, &["--continue"]);
    again.until_shown("> What does #Shelf keep?");
    again.send("/again\r");
    again.until_shown("It keeps four numbers");
    again.until_shown("1 call, about");
    again.send("/why\r");
    again.until_shown("the query names Shelf");
    // No other process can continue the conversation meanwhile.
    let refused = piped(&bench, "And?", &["--continue"]);
    assert!(refused.code == 4 && refused.err.contains("E_CONVERSATION"), "{refused:?}");
    again.send("\x04");
    assert_eq!(again.code(), 0);
    let ran = bench.run(&["chat", "--continue=c1", "--json", "And?"]);
    assert_eq!(ran.json()["state"], "answered", "{ran:?}");
    assert!(read_prompt(&bench).contains("It keeps **four** numbers"), "{}", read_prompt(&bench));
}

#[test]
fn questions_wait_their_turn_and_limits_are_told_as_they_are() {
    let bench = shelf("");
    let pipe = bench.beside("model").join("wait");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut terminal = terminal(&bench, &["--max-calls", "1"]);
    terminal.send("What does #Shelf keep?\r");
    terminal.until_shown("… waiting for the answer");
    terminal.send("And why?\r");
    let waits = terminal.until_shown("; then 1 question");
    assert!(!waits.contains("> And why?"), "{waits}");
    // The second question is asked, and shown, after the answer to the first.
    std::fs::write(&pipe, "").expect("written");
    let shown = terminal.until_shown("the one call that --max-calls allows is made");
    let (first, second) = (shown.find("It keeps four numbers"), shown.find("> And why?"));
    assert!(first.is_some() && first < second, "{shown}");
    terminal.send("\x04");
    assert_eq!(terminal.code(), 0);
}

#[test]
fn a_model_ends_with_the_program_that_asked_it() {
    let bench = shelf("");
    let pipe = bench.beside("model").join("wait");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut terminal = terminal(&bench, &[]);
    terminal.send("What does #Shelf keep?\r");
    // The model has opened the pipe once this end opens, and waits.
    let held = std::fs::OpenOptions::new().write(true).open(&pipe).expect("a reader");
    let pid = rustix::process::Pid::from_child(&terminal.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told");
    assert_eq!(terminal.code(), 143);
    let is_gone = (0..100_000).any(|_| (&held).write(b"x").is_err());
    assert!(is_gone, "the model still reads");
}
