//! Reports: one page with the store's data, in which no displayed text is interpreted as markup or script.

use crate::bench::Bench;
use std::collections::BTreeMap;

/// The parsed page: every element with its attributes, and the text outside of style, script and data.
struct Page {
    text: String,
    elements: Vec<(String, BTreeMap<String, String>)>,
    words: String,
}

impl Page {
    fn of(bench: &Bench, args: &[&str]) -> Self {
        let path = bench.beside("report.html");
        let path = path.to_str().expect("a path");
        let ran = bench.run(&[&["report", path], args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        Self::parse(std::fs::read_to_string(path).expect("the page"))
    }

    /// Parses the page strictly; panics on any deviation.
    fn parse(text: String) -> Self {
        let (mut elements, mut words) = (Vec::new(), String::new());
        let mut open: Vec<String> = Vec::new();
        let mut rest = text.strip_prefix("<!doctype html>\n").expect("a document");
        while let Some(at) = rest.find('<') {
            words.push_str(&rest[..at]);
            let end = rest.find('>').expect("an end");
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "{tag}");
                continue;
            }
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let empty = attributes.ends_with('/') || tag.ends_with('/') || matches!(name, "meta" | "input");
            let name = name.trim_end_matches('/').to_owned();
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{tag}");
            let mut found = BTreeMap::new();
            let mut left = attributes.trim_end_matches('/');
            while !left.trim().is_empty() {
                let piece = left.trim_start();
                let stop = piece.find(['=', ' ']).unwrap_or(piece.len());
                let (key, tail) = piece.split_at(stop);
                let (value, tail) = match tail.strip_prefix("=\"") {
                    Some(value) => value.split_once('"').expect("a quote"),
                    None => ("", tail),
                };
                assert!(found.insert(key.to_owned(), value.to_owned()).is_none(), "{tag}");
                left = tail;
            }
            if matches!(name.as_str(), "style" | "script") {
                let inside = rest.find("</").expect("an end");
                rest = &rest[inside..];
                assert!(rest.starts_with(&format!("</{name}>")), "{name} ends early");
            }
            if !empty {
                open.push(name.clone());
            }
            elements.push((name, found));
        }
        assert_eq!(open, Vec::<String>::new());
        words.push_str(rest);
        Self { text, elements, words }
    }

    fn count(&self, wanted: &str) -> usize {
        self.elements.iter().filter(|(name, _)| name == wanted).count()
    }

    fn drawn(&self) -> usize {
        self.elements
            .iter()
            .filter(|(_, attributes)| attributes.contains_key("data-node"))
            .count()
    }

    /// Checks that the page contains only the expected elements.
    fn check(&self) {
        let scripts: Vec<_> = self.elements.iter().filter(|(name, _)| name == "script").collect();
        let kinds: Vec<Option<&str>> = scripts
            .iter()
            .map(|(_, attributes)| attributes.get("type").map(String::as_str))
            .collect();
        assert_eq!(kinds, [Some("application/json"), None]);
        for (name, attributes) in &self.elements {
            assert!(
                !matches!(
                    name.as_str(),
                    "img" | "iframe" | "object" | "embed" | "base" | "form" | "link" | "foreignObject"
                ),
                "{name}"
            );
            for (key, value) in attributes {
                assert!(
                    !key.starts_with("on") && !matches!(key.as_str(), "style" | "src" | "srcdoc" | "action"),
                    "{name} {key}"
                );
                assert!(key != "href" || value.starts_with('#'), "{value}");
            }
        }
        let unseen = |c: char| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}' | '\u{feff}')
        };
        assert_eq!(self.text.find(unseen), None);
        assert!(self.drawn() <= 120, "{} nodes", self.drawn());
        let policy = self
            .elements
            .iter()
            .find(|(_, attributes)| attributes.contains_key("http-equiv"))
            .expect("a policy");
        assert!(
            policy.1["content"].starts_with("default-src &#39;none&#39;; style-src &#39;sha256-"),
            "{policy:?}"
        );
    }
}

#[test]
fn a_page_tells_of_builds_graph_versions_and_targets() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let source = std::fs::read_to_string(bench.root().join("src/MemoTree.Core/NodeStore.cs")).expect("source");
    bench.write(
        "src/MemoTree.Core/NodeStore.cs",
        &source.replace("Nodes cannot be moved yet", "Moving is for later"),
    );
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let near = ["--near", "//types/NodeStore:semantic"];
    let page = Page::of(&bench, &near);
    page.check();
    assert_eq!(page.text, Page::of(&bench, &near).text, "the same store, the same page");
    for words in [
        "as of build 2, ",
        "//types/MemoTree.Core.NodeStore",
        "Nodes cannot be moved yet",
        "Moving is for later",
        "src/MemoTree.Core/NodeStore.cs",
    ] {
        assert!(page.words.contains(words), "{words}");
    }
    assert!(page.drawn() > 12, "{} nodes", page.drawn());
    assert!(!page.text.contains(&*bench.root().to_string_lossy()), "no place of this machine");

    bench.write(
        "src/MemoTree.Core/NodeStore.cs",
        &source.replace("Nodes cannot be moved yet", "Never"),
    );
    let stale = Page::of(&bench, &near);
    stale.check();
    assert!(
        stale.words.contains("src/MemoTree.Core/NodeStore.cs changed ("),
        "the way ends at the file"
    );
    assert!(
        stale
            .elements
            .iter()
            .any(|(_, attributes)| attributes.get("class").is_some_and(|class| class == "edge way"))
    );
    let json = bench
        .run(&["--output", "json", "report", bench.beside("r.html").to_str().expect("a path")])
        .json();
    assert_eq!(
        (json["builds"].as_u64(), json["bytes"].as_u64().map(|bytes| bytes > 10_000)),
        (Some(2), Some(true)),
        "{json}"
    );
}

#[test]
fn a_page_escapes_the_text_that_it_shows() {
    let bench = Bench::empty();
    let evil = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)> \\\" ' & \u{202e}gnp";
    let name = serde_json::to_string(&format!("{evil}\u{2028}")).expect("JSON");
    let manifest = format!(
        r#"[workspace]
name = {name}
rulesets = []
[producer.show]
uses = "command"
argv = ["cat", "{{in.text}}"]
sandbox = "off"
[producer.fail]
uses = "command"
argv = ["sh", "-c", "cat \"$1\" >&2; exit 3", "{{in.text}}", "</pre><script>alert(2)</script>"]
sandbox = "off"
[[rule]]
target = "//docs/{{doc}}:copy"
each = {{ doc = "glob:docs/**/*.md" }}
producer = "show"
inputs = {{ text = "//files/{{doc}}:bytes" }}
[[rule]]
target = "//index:broken"
producer = "fail"
inputs = {{ text = "//files/docs/a.md:bytes" }}
"#
    );
    bench.write("cortex.toml", &manifest);
    bench.write("docs/a.md", &format!("{evil}\n\u{1b}[31m\u{0}<!-- ]]>\n"));
    bench.write("docs/<b onmouseover=alert(3)>/script><svg onload=alert(4)>&quot;'`.md", "one\n");
    bench.write("docs/\u{202e}dm.exe\u{2066}.md", "one\n");
    bench.run(&["build", "//docs/..."]);
    bench.write("docs/a.md", &format!("{evil}{evil}\n"));
    bench.run(&["build", "//..."]);
    let page = Page::of(&bench, &["--near", "//docs/docs/a.md:copy"]);
    page.check();
    assert_eq!((page.count("script"), page.count("title") > 0), (2, true));
    assert!(
        page.words.contains("&lt;/script&gt;&lt;script&gt;document.title="),
        "shown as it is"
    );
    assert!(page.words.contains("\\u{202e}"), "what turns the order around is written out");
    assert!(page.words.contains("svg onload"), "the hostile name is there: {}", page.words.len());
}

#[test]
fn a_report_without_builds_or_a_writable_path_says_so() {
    let bench = Bench::documents();
    let page = Page::of(&bench, &[]);
    page.check();
    assert!(page.words.contains("Nothing was built in this checkout yet"));
    let place = bench.beside("none.html");
    let ran = bench.run(&["report", place.to_str().expect("a path"), "--near", "//docs/docs/zzz.md:words"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("error[E_"), "{ran:?}");
    assert!(!place.exists(), "nothing is written");
    let ran = bench.run(&["report", "no/such/folder/r.html"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.err.contains("error[E_WRITE]") && ran.err.contains("help:"), "{ran:?}");
    let folder = bench.run(&["report", "docs"]);
    assert_eq!(folder.code, 5, "{folder:?}");
    let piped = bench.run(&["report", "/dev/null"]);
    assert_eq!(piped.code, 0, "{piped:?}");
    assert!(
        std::path::Path::new("/dev/null").metadata().is_ok_and(|found| !found.is_file()),
        "it is still no file"
    );
}
