//! HTML writer for all text that is not compiled in: it shows any text and never interprets it as markup.
//!
//! Names of elements and attributes are constants. Texts and attribute values are escaped; characters that are invisible, or that reverse the
//! order of others, are written as escapes (`\u{202e}`). Scripts and styles are only those compiled in; the page's policy lists them by digest
//! and allows nothing else.

use engine::values::visible::is_invisible;
use std::fmt::Write;

/// A page, or a part of one, while it is written.
#[derive(Default)]
pub struct Html {
    text: String,
}

/// An attribute: its name, a constant, and its untrusted value.
pub type Attribute<'a> = (&'static str, &'a str);

impl Html {
    pub fn into_html(self) -> String {
        self.text
    }

    /// Writes an element with the contents that `inner` writes.
    pub fn element(&mut self, name: &'static str, attributes: &[Attribute<'_>], inner: impl FnOnce(&mut Self)) {
        self.open_element(name, attributes);
        self.text.push('>');
        inner(self);
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push('>');
    }

    /// Writes an element with one line of text.
    pub fn write_line(&mut self, name: &'static str, attributes: &[Attribute<'_>], text: &str) {
        self.element(name, attributes, |html| html.write_text(text));
    }

    /// Writes an element without contents.
    pub fn void(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.open_element(name, attributes);
        self.text.push_str(if matches!(name, "meta" | "input" | "br" | "col") {
            ">"
        } else {
            "/>"
        });
    }

    /// Writes a link to a place on the same page; there are no other links.
    pub fn link(&mut self, place: &str, attributes: &[Attribute<'_>], inner: impl FnOnce(&mut Self)) {
        let href = format!("#{place}");
        let mut all = vec![("href", href.as_str())];
        all.extend_from_slice(attributes);
        self.element("a", &all, inner);
    }

    /// Writes text within a line; line breaks and tabs become visible.
    pub fn write_text(&mut self, text: &str) {
        escape(text, false, &mut self.text);
    }

    /// Writes text of many lines, for elements that keep line breaks.
    pub fn write_lines(&mut self, text: &str) {
        escape(text, true, &mut self.text);
    }

    /// Writes a line break into the source of the page, for readability.
    pub fn newline(&mut self) {
        self.text.push('\n');
    }

    /// Writes the document type.
    pub fn doctype(&mut self) {
        self.text.push_str("<!doctype html>\n");
    }

    /// Writes a style that is compiled in.
    pub fn style(&mut self, style: &'static str) {
        debug_assert!(!style.contains("</"), "a style would end early");
        self.text.push_str("<style>");
        self.text.push_str(style);
        self.text.push_str("</style>");
    }

    /// Writes a script that is compiled in.
    pub fn script(&mut self, script: &'static str) {
        debug_assert!(!script.contains("</") && !script.contains("<!--"), "a script would end early");
        self.text.push_str("<script>");
        self.text.push_str(script);
        self.text.push_str("</script>");
    }

    /// Writes data for the script: JSON in which nothing can end the element or begin a comment.
    pub fn data(&mut self, id: &'static str, value: &serde_json::Value) {
        let json = value.to_string();
        self.open_element("script", &[("type", "application/json"), ("id", id)]);
        self.text.push('>');
        for c in json.chars() {
            match c {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    let _ = write!(self.text, "\\u{:04x}", c as u32);
                }
                c => self.text.push(c),
            }
        }
        self.text.push_str("</script>");
    }

    fn open_element(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        debug_assert!(is_plain_name(name), "{name} is no element");
        self.text.push('<');
        self.text.push_str(name);
        for (name, value) in attributes {
            debug_assert!(
                is_plain_name(name) && !name.starts_with("on") && *name != "style",
                "{name} is no attribute for a page"
            );
            self.text.push(' ');
            self.text.push_str(name);
            if !value.is_empty() {
                self.text.push_str("=\"");
                escape(value, false, &mut self.text);
                self.text.push('"');
            }
        }
    }
}

fn is_plain_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Returns whether a character is invisible, or changes how others are shown.
fn is_hidden_character(c: char) -> bool {
    is_invisible(c)
        // Noncharacters are not valid HTML.
        || (c as u32 & 0xfffe) == 0xfffe
        || ('\u{fdd0}'..='\u{fdef}').contains(&c)
}

/// Writes invisible characters as escapes. The result still needs HTML escaping.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden_character(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn escape(text: &str, lines: bool, to: &mut String) {
    for c in text.chars() {
        match c {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\'' => to.push_str("&#39;"),
            '\n' | '\t' if lines => to.push(c),
            c if is_hidden_character(c) => to.extend(c.escape_default()),
            c => to.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_values_stay_texts_and_values() {
        let mut html = Html::default();
        html.element("p", &[("title", "\" onclick=\"x\n'<&>"), ("hidden", "")], |html| {
            html.write_text("</p><script>alert(1)</script>\u{0}\u{202e}é\t'\"");
            html.write_lines("a\n\tb\r");
        });
        html.data("d", &serde_json::json!({"a": "</script><!--\u{2028}&"}));
        assert_eq!(
            html.into_html(),
            "<p title=\"&quot; onclick=&quot;x\\n&#39;&lt;&amp;&gt;\" hidden>&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u{0}\\u{202e}é\\t&#39;&quot;a\n\tb\\r</p>\
             <script type=\"application/json\" id=\"d\">{\"a\":\"\\u003c/script\\u003e\\u003c!--\\u2028\\u0026\"}</script>"
        );
    }

    #[test]
    fn every_character_that_means_something_to_a_parser_is_escaped() {
        for c in (0..=0x10ffff).filter_map(char::from_u32) {
            let mut shown = String::new();
            escape(&c.to_string(), true, &mut shown);
            let harmless = !shown.contains(['<', '>', '"', '\'', '\0', '\r', '\u{202e}', '\u{2066}', '\u{feff}']);
            assert!(harmless, "{:x}", c as u32);
            assert!(!shown.is_empty());
        }
    }
}
