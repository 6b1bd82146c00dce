//! The live page before its first request: markup, style and script that are compiled in. It contains nothing of the workspace.

use methods::render::report::{COMMON, STYLE, source_of};
use std::sync::LazyLock;

const MARKUP: &str = include_str!("page.html");
const OWN_STYLE: &str = include_str!("page.css");

/// Scripts in the order in which they run: one program, split by purpose.
const SCRIPTS: [&str; 7] = [
    COMMON,
    include_str!("ask.js"),
    include_str!("parts.js"),
    include_str!("drawing.js"),
    include_str!("symbol.js"),
    include_str!("views.js"),
    include_str!("page.js"),
];

/// The page and its policy.
pub struct Shell {
    pub page: String,
    /// Content-Security-Policy: the page's own style and script, by digest, and requests to its own server.
    pub policy: String,
}

/// The page.
pub static SHELL: LazyLock<Shell> = LazyLock::new(|| {
    let style = format!("{STYLE}{OWN_STYLE}");
    let script = format!("\"use strict\";\n(() => {{\n{}}})();\n", SCRIPTS.concat());
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        source_of(&style),
        source_of(&script)
    );
    let page = MARKUP.replacen("{style}", &style, 1).replacen("{script}", &script, 1);
    Shell { page, policy }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_allows_what_came_with_the_page_and_nothing_else() {
        let policy = &SHELL.policy;
        assert_eq!(policy.matches("'sha256-").count(), 2, "{policy}");
        assert!(
            !policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'),
            "{policy}"
        );
    }

    #[test]
    fn texts_become_text_nodes_and_nothing_else() {
        for word in [
            "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "XMLHttp", "import(", "srcdoc", "http:",
            "https:", ".style", "cssText", "localStorage", "document.cookie",
        ] {
            for script in SCRIPTS {
                // The only address in a script names SVG, and is never fetched.
                let script = script.replacen("http://www.w3.org/2000/svg", "", 1);
                assert!(!script.contains(word), "{word}");
            }
        }
        for script in SCRIPTS {
            assert!(!script.contains("</") && !script.contains("<!--"));
        }
        assert!(!OWN_STYLE.contains("</") && !OWN_STYLE.contains("url(") && !OWN_STYLE.contains("@import"));
        assert_eq!(SHELL.page.matches("<script").count(), 1);
        assert!(!SHELL.page.contains(" style=") && !SHELL.page.contains(" onclick="));
    }
}
