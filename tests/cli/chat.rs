//! Conversations: a program stands in for the model, counts its calls, keeps what it was asked, and answers what it is told to.

use crate::bench::{Bench, Ran};
use crate::pseudo_terminal::PseudoTerminal;
use std::io::Write;
use std::process::{Command, Stdio};

const SHELF: &str = "namespace N;\npublic class Shelf\n{\n    private int[] _kept = new int[4];\n    public int Get(int at) { return _kept[at]; }\n    public void Put(int item) { _kept[0] = item; }\n}\n";

/// Answers the last turn: with `then` once it was shown what calls found, else with `first`. Where `wait` is, it first reads from that pipe.
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
    // The conversation goes on: the model is sent what was said.
    let again = piped(&bench, "And how many?", &["--continue", "--json"]);
    assert_eq!((&again.json()["conversation"], calls(&bench)), (&"c1".into(), 2), "{again:?}");
    assert!(read_prompt(&bench).contains("It keeps **four** numbers"), "{}", read_prompt(&bench));
    // Nothing may be spent any more: nothing is asked.
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

fn terminal(bench: &Bench, args: &[&str]) -> PseudoTerminal {
    let command: Command = bench.command(&[&["chat"], args].concat());
    let mut terminal = PseudoTerminal::start(command, 60, 20);
    // Before that the terminal itself edits what is typed.
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
    // The model waits; the text is written, wraps, and is drawn anew at another size.
    terminal.send("\x1b[200~中文 one two three\nsecond line\x1b[201~");
    terminal.until_shown("  second line");
    terminal.resize(16, 20);
    let narrow = terminal.until("rows of sixteen cells", |shown| {
        shown.contains("› 中文 one two\n  three\n  second line")
    });
    assert!(narrow.contains("… waiting"), "{narrow}");
    terminal.resize(60, 20);
    terminal.until_shown("› 中文 one two three\n  second line");
    // Up keeps the column, left goes back by a character: behind `中文 one t`.
    terminal.until_cursor("  second line", 13);
    terminal.send("\x1b[A\x1b[D");
    terminal.until_cursor("› 中文 one two three", 12);
    terminal.send("\x03");
    terminal.until("the end of the answer", |shown| {
        shown.contains("E_CANCELLED") && !shown.contains("… ")
    });
    // Ctrl-C ended the answer alone: the text is still there.
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
    terminal.send("Larger!\r");
    terminal.until_shown("+    private int[] _kept = new int[8];");
    terminal.until_shown("a change is proposed: /edit");
    assert_eq!(text(), SHELF);
    terminal.send("/edit accept\r");
    terminal.until_shown("takes it back");
    assert!(text().contains("new int[8]"));
    terminal.send("/undo\r");
    terminal.until("what was taken back", |_| text() == SHELF);
    terminal.send("/pin #Sh\t");
    terminal.until_shown("› /pin #Shelf");
    terminal.send("\r");
    terminal.until_shown("pinned: Shelf");
    terminal.send("/nonsense\r");
    terminal.until_shown("there is no command '/nonsense'");
    terminal.send("/quit\r");
    assert_eq!(terminal.code(), 0);
    // What was said is there again.
    let mut terminal = self::terminal(&bench, &["--continue"]);
    terminal.until_shown("> Larger!");
    terminal.send("\x1b[A");
    terminal.until_shown("› Larger!");
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
    again.send("\x04");
    assert_eq!(again.code(), 0);
    let ran = bench.run(&["chat", "--continue=c1", "--json", "And?"]);
    assert_eq!(ran.json()["state"], "answered", "{ran:?}");
    assert!(read_prompt(&bench).contains("It keeps **four** numbers"), "{}", read_prompt(&bench));
}
