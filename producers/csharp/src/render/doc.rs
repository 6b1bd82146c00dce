//! Documentation comments as readable text.
//!
//! The parser of tags never recurses and accepts any text: it removes unknown tags, ignores unclosed and stray ones, and decodes known
//! entities. It takes time linear in the text, and memory linear in the result. Its only structure is a stack of open tags with bounded
//! height.

use super::super::hashes::one_line;

/// Maximum nesting of tags that are distinguished; deeper text belongs to the level above.
const DEEPEST: usize = 64;

/// Maximum levels of indentation for nested lists.
const DEEPEST_INDENT: usize = 4;

/// The parts of a documentation comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// `<summary>`, or text outside any section.
    pub summary: String,
    pub remarks: String,
    pub returns: String,
    pub value: String,
    /// `<typeparam>`: name and text.
    pub type_parameters: Vec<(String, String)>,
    /// `<param>`: name and text.
    pub parameters: Vec<(String, String)>,
    /// `<exception>`: type and text.
    pub exceptions: Vec<(String, String)>,
    pub example: String,
    /// `<seealso>`.
    pub see_also: Vec<String>,
    /// Whether it contains `<inheritdoc/>`.
    pub inherited: bool,
    /// Readable name of the declaration in `<inheritdoc cref="…"/>`; empty without one.
    pub inherited_from: String,
}

/// The section that receives text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Section {
    Summary,
    Remarks,
    Returns,
    Value,
    TypeParameter(String),
    Parameter(String),
    Exception(String),
    Example,
    SeeAlso(String),
}

/// A tag: name, raw attributes, and whether it closes or is empty.
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    closing: bool,
    empty: bool,
}

impl Reading {
    /// Returns all parts as readable paragraphs.
    pub fn full_text(&self) -> String {
        let mut paragraphs: Vec<String> = Vec::new();
        paragraphs.extend([&self.summary, &self.remarks].into_iter().filter(|text| !text.is_empty()).cloned());
        if self.summary.is_empty() {
            paragraphs.extend(self.inherits());
        }
        let named = |title: &str, rows: &[(String, String)]| {
            let rows: Vec<String> = rows
                .iter()
                .map(|(name, text)| {
                    if text.is_empty() {
                        format!("  {name}")
                    } else {
                        format!("  {name}: {text}")
                    }
                })
                .collect();
            (!rows.is_empty()).then(|| format!("{title}\n{}", rows.join("\n")))
        };
        paragraphs.extend(named("Type parameters:", &self.type_parameters));
        paragraphs.extend(named("Parameters:", &self.parameters));
        paragraphs.extend((!self.returns.is_empty()).then(|| format!("Returns: {}", self.returns)));
        paragraphs.extend((!self.value.is_empty()).then(|| format!("Value: {}", self.value)));
        paragraphs.extend(named("Exceptions:", &self.exceptions));
        paragraphs.extend((!self.example.is_empty()).then(|| format!("Example: {}", self.example)));
        paragraphs.extend((!self.see_also.is_empty()).then(|| format!("See also: {}", self.see_also.join(", "))));
        paragraphs.join("\n\n")
    }

    /// Returns the summary's first sentence, on one line.
    pub fn first_sentence(&self) -> String {
        match self.summary.is_empty() {
            true => self.inherits().unwrap_or_default(),
            false => first_sentence(&self.summary),
        }
    }

    /// Returns the text in place of an inherited summary: the name of the declaration, if the comment contains it.
    fn inherits(&self) -> Option<String> {
        let is_named = self.inherited && !self.inherited_from.is_empty();
        is_named.then(|| format!("(documentation inherited from {})", self.inherited_from))
    }
}

/// Returns the first sentence of a text on one line: up to a period, `!` or `?` before white space, or up to an empty line.
pub fn first_sentence(text: &str) -> String {
    let paragraph = one_line(text.split("\n\n").next().unwrap_or(text));
    let mut previous = ' ';
    for (at, c) in paragraph.char_indices() {
        let abbreviation = paragraph[..at].ends_with("e.g.") || paragraph[..at].ends_with("i.e.");
        if c == ' ' && matches!(previous, '.' | '!' | '?') && !abbreviation {
            return paragraph[..at].to_owned();
        }
        if matches!(c, '。' | '！' | '？') {
            return paragraph[..at + c.len_utf8()].to_owned();
        }
        previous = c;
    }
    paragraph
}

pub fn parse_doc_comment(xml: &str) -> Reading {
    let mut reader = Reader::default();
    let mut rest = xml;
    while let Some(open) = rest.find('<') {
        reader.append_text(&rest[..open]);
        rest = &rest[open..];
        if let Some(data) = rest.strip_prefix("<![CDATA[") {
            let end = data.find("]]>").unwrap_or(data.len());
            reader.raw(&data[..end]);
            rest = data.get(end + 3..).unwrap_or("");
        } else if rest.starts_with("<!--") {
            rest = rest.find("-->").map_or("", |end| &rest[end + 3..]);
        } else if let Some((tag, len)) = tag(rest) {
            reader.tag(&tag);
            rest = &rest[len..];
        } else {
            reader.append_text("<");
            rest = &rest[1..];
        }
    }
    reader.append_text(rest);
    reader.into_reading()
}

/// Returns the tag at the beginning of `text` and its length. A `<` without a name, or without a `>` before the next `<`, is text.
fn tag(text: &str) -> Option<(Tag<'_>, usize)> {
    let end = text[1..]
        .find(['<', '>'])
        .map(|at| at + 1)
        .filter(|&at| text[at..].starts_with('>'))?;
    let inner = &text[1..end];
    let (closing, inner) = inner.strip_prefix('/').map_or((false, inner), |rest| (true, rest));
    let (empty, inner) = inner.strip_suffix('/').map_or((false, inner), |rest| (true, rest));
    let name_end = inner
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        .unwrap_or(inner.len());
    let name = &inner[..name_end];
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| {
        (
            Tag {
                name,
                attributes: &inner[name_end..],
                closing,
                empty,
            },
            end + 1,
        )
    })
}

/// Returns the value of an attribute, with entities decoded.
fn value_of_attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    while let Some(equals) = rest.find('=') {
        let key = rest[..equals].trim();
        let value = rest[equals + 1..].trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let end = value[1..].find(quote)? + 1;
        if key.eq_ignore_ascii_case(name) {
            return Some(decode_entities(&value[1..end]));
        }
        rest = &value[end + 1..];
    }
    None
}

/// Decodes known entities and numeric references; other text stays.
fn decode_entities(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest[1..].bytes().take(10).position(|byte| byte == b';').map(|end| &rest[1..=end]);
        let decoded = entity.and_then(|name| match name {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            "nbsp" => Some(' '),
            _ => {
                let number = name.strip_prefix('#')?;
                let code = number
                    .strip_prefix(['x', 'X'])
                    .map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())?;
                char::from_u32(code).filter(|c| !c.is_control() || *c == '\n' || *c == '\t')
            }
        });
        if let (Some(c), Some(entity)) = (decoded, entity) {
            plain.push(c);
            rest = &rest[entity.len() + 2..];
        } else {
            plain.push('&');
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    plain
}

/// Returns a reference in readable form: without the prefix of documentation ids, with arity marks and parameter lists shortened.
fn reference(target: &str) -> String {
    let target = match target.as_bytes() {
        [kind, b':', ..] if kind.is_ascii_alphabetic() => &target[2..],
        _ => target,
    };
    let target = target.replace('{', "<").replace('}', ">");
    let (name, parameters) = target
        .split_once('(')
        .map_or((target.as_str(), None), |(name, rest)| (name, Some(rest)));
    let name = name.split('`').next().unwrap_or(name);
    match parameters {
        Some(rest) => format!("{name}({rest}"),
        None => name.to_owned(),
    }
}

#[derive(Default)]
struct Reader {
    reading: Reading,
    /// Open sections, outermost first.
    open: Vec<(String, Section)>,
    /// Text of the open section, if any.
    buffer: String,
    code: bool,
    /// Open lists, outermost first; for numbered lists the number of the last item.
    lists: Vec<Option<u32>>,
    /// Number of open lists beyond the distinguished levels.
    deeper_lists: usize,
    /// Target of a reference with text of its own, until that text ends.
    link: String,
}

impl Reader {
    fn append_text(&mut self, text: &str) {
        self.raw(&decode_entities(text));
    }

    fn raw(&mut self, text: &str) {
        if self.code {
            self.buffer.push_str(text);
            return;
        }
        for (at, word) in text.split(char::is_whitespace).enumerate() {
            if at > 0 && !self.buffer.ends_with([' ', '\n']) && !self.buffer.is_empty() {
                self.buffer.push(' ');
            }
            self.buffer.push_str(word);
        }
    }

    fn break_line(&mut self, lines: usize) {
        while self.buffer.ends_with(' ') {
            self.buffer.pop();
        }
        let have = self.buffer.len() - self.buffer.trim_end_matches('\n').len();
        if !self.buffer.is_empty() {
            for _ in have..lines {
                self.buffer.push('\n');
            }
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        let name = tag.name.to_ascii_lowercase();
        let named = |key: &str| value_of_attribute(tag.attributes, key).unwrap_or_default();
        match name.as_str() {
            "inheritdoc" if !tag.closing => {
                self.reading.inherited = true;
                if self.reading.inherited_from.is_empty() {
                    self.reading.inherited_from = reference(&named("cref"));
                }
            }
            "include" if !tag.closing => {
                let file = named("file");
                self.raw(&format!("(documentation kept in {file})"));
            }
            "see" | "paramref" | "typeparamref" | "a" if !tag.closing => {
                let target = ["cref", "name", "langword", "href"]
                    .iter()
                    .find_map(|key| value_of_attribute(tag.attributes, key))
                    .unwrap_or_default();
                if tag.empty {
                    let target = reference(&target);
                    self.buffer.push_str(&target);
                } else {
                    self.link = named("href");
                }
            }
            "see" | "a" if !self.link.is_empty() => {
                let link = std::mem::take(&mut self.link);
                if !self.buffer.ends_with(&link) {
                    self.buffer.push_str(&format!(" ({link})"));
                }
            }
            "c" | "tt" => self.buffer.push('`'),
            "code" => {
                self.break_line(2);
                if !self.code || tag.closing {
                    self.code = !tag.closing && !tag.empty;
                }
            }
            "para" | "p" => self.break_line(2),
            "br" => self.break_line(1),
            "list" | "ul" | "ol" if !tag.empty => {
                self.break_line(1);
                let numbered = name == "ol" || value_of_attribute(tag.attributes, "type").as_deref() == Some("number");
                match (tag.closing, self.lists.len() < DEEPEST) {
                    (false, true) => self.lists.push(numbered.then_some(0)),
                    (false, false) => self.deeper_lists += 1,
                    (true, _) if self.deeper_lists > 0 => self.deeper_lists -= 1,
                    (true, _) => {
                        self.lists.pop();
                    }
                }
            }
            "item" | "listheader" if !tag.closing => self.item(),
            "li" if !tag.closing => self.item(),
            "term" if tag.closing => self.buffer.push_str(": "),
            "summary" => self.begin_section(tag, Section::Summary),
            "remarks" => self.begin_section(tag, Section::Remarks),
            "returns" => self.begin_section(tag, Section::Returns),
            "value" => self.begin_section(tag, Section::Value),
            "param" => self.begin_section(tag, Section::Parameter(named("name"))),
            "typeparam" => self.begin_section(tag, Section::TypeParameter(named("name"))),
            "exception" => self.begin_section(tag, Section::Exception(reference(&named("cref")))),
            "example" => self.begin_section(tag, Section::Example),
            "seealso" => self.begin_section(
                tag,
                Section::SeeAlso(reference(
                    &["cref", "href"]
                        .iter()
                        .find_map(|key| value_of_attribute(tag.attributes, key))
                        .unwrap_or_default(),
                )),
            ),
            _ => {}
        }
    }

    fn item(&mut self) {
        self.break_line(1);
        let indent = 2 * self.lists.len().saturating_sub(1).min(DEEPEST_INDENT);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        self.buffer.push_str(&format!("{:indent$}{mark}", ""));
    }

    fn begin_section(&mut self, tag: &Tag<'_>, section: Section) {
        let name = tag.name.to_ascii_lowercase();
        if tag.closing {
            if let Some(at) = self.open.iter().rposition(|(open, _)| *open == name) {
                self.flush();
                self.open.truncate(at);
            }
        } else if tag.empty {
            self.flush();
            self.open.push((name, section));
            self.flush();
            self.open.pop();
        } else if self.open.len() < DEEPEST {
            self.flush();
            self.open.push((name, section));
        }
    }

    /// Stores the buffer under the innermost open section.
    fn flush(&mut self) {
        self.code = false;
        self.lists.clear();
        self.deeper_lists = 0;
        let text = std::mem::take(&mut self.buffer).trim().to_owned();
        let section = self.open.last().map_or(Section::Summary, |(_, section)| section.clone());
        let reading = &mut self.reading;
        let target = match section {
            Section::TypeParameter(name) => return file_row(&mut reading.type_parameters, name, &text),
            Section::Parameter(name) => return file_row(&mut reading.parameters, name, &text),
            Section::Exception(name) => return file_row(&mut reading.exceptions, name, &text),
            Section::SeeAlso(target) => {
                let target = if target.is_empty() { text } else { target };
                if !target.is_empty() && !reading.see_also.contains(&target) && reading.see_also.len() < 100 {
                    reading.see_also.push(target);
                }
                return;
            }
            Section::Summary => &mut reading.summary,
            Section::Remarks => &mut reading.remarks,
            Section::Returns => &mut reading.returns,
            Section::Value => &mut reading.value,
            Section::Example => &mut reading.example,
        };
        if !text.is_empty() {
            if !target.is_empty() {
                target.push(' ');
            }
            target.push_str(&text);
        }
    }

    fn into_reading(mut self) -> Reading {
        self.flush();
        self.reading
    }
}

/// Adds a row, or appends text to the last row of that name.
fn file_row(rows: &mut Vec<(String, String)>, name: String, text: &str) {
    match rows.last_mut() {
        Some((last, all)) if *last == name => {
            if !all.is_empty() && !text.is_empty() {
                all.push(' ');
            }
            all.push_str(text);
        }
        _ => rows.push((name, text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_comment() {
        let reading = parse_doc_comment(
            "<summary> Keeps <see cref=\"T:A.B.Node\"/> for <paramref name=\"key\"/>. Never <c>null</c>. </summary> \
             <remarks><para>One.</para><para>Two &lt;x&gt;</para><list type=\"bullet\"><item><description>a</description></item><item>b</item></list></remarks> \
             <param name=\"key\">The key.</param> <returns>A <see langword=\"bool\"/>.</returns> <exception cref=\"ArgumentNullException\">No key.</exception> \
             <seealso cref=\"M:A.B.Get(System.Int32)\"/>",
        );
        assert_eq!(reading.first_sentence(), "Keeps A.B.Node for key.");
        assert_eq!(
            reading.full_text(),
            "Keeps A.B.Node for key. Never `null`.\n\nOne.\n\nTwo <x>\n\n- a\n- b\n\nParameters:\n  key: The key.\n\nReturns: A bool.\n\n\
             Exceptions:\n  ArgumentNullException: No key.\n\nSee also: A.B.Get(System.Int32)"
        );
    }

    #[test]
    fn lists_in_lists_and_every_section() {
        let reading = parse_doc_comment(
            "<summary>Has:<list type=\"number\"><item>one<list><item>a</item><item><term>b</term><description>B</description></item></list></item>\
             <item>two</item></list></summary><typeparam name=\"T\">Kind.</typeparam><value>The count.</value><exception cref=\"T:System.X\"/>",
        );
        assert_eq!(
            reading.full_text(),
            "Has:\n1. one\n  - a\n  - b: B\n2. two\n\nType parameters:\n  T: Kind.\n\nValue: The count.\n\nExceptions:\n  System.X"
        );
        let inherited = parse_doc_comment("<inheritdoc cref=\"M:A.B.Get(System.Int32)\"/><param name=\"x\">Own.</param>");
        assert_eq!(inherited.inherited_from, "A.B.Get(System.Int32)");
        assert_eq!(
            inherited.full_text(),
            "(documentation inherited from A.B.Get(System.Int32))\n\nParameters:\n  x: Own."
        );
    }

    #[test]
    fn code_keeps_its_lines() {
        assert_eq!(
            parse_doc_comment("<example>So: <code>if (x)\n    y();</code></example>").example,
            "So:\n\nif (x)\n    y();"
        );
    }

    #[test]
    fn broken_xml_is_still_read() {
        for (xml, expected) in [
            ("<summary>a < b & c", "a < b & c"),
            ("</summary>plain", "plain"),
            ("<summary>one</remarks> two", "one two"),
            ("<summary attr=\"x>y", "<summary attr=\"x>y"),
            ("<see cref=\"A\"/>", "A"),
            ("<see cref=\"A\">text</see>", "text"),
            ("<see href=\"https://x.y\">text</see> z", "text (https://x.y) z"),
            ("<include file='d.xml' path='x'/>", "(documentation kept in d.xml)"),
            ("&#65;&#x42;&bogus;&", "AB&bogus;&"),
            ("<![CDATA[<raw>]]> <!-- no --> x", "<raw> x"),
            ("<", "<"),
        ] {
            let found = parse_doc_comment(xml).summary;
            assert!(found == expected || xml.contains("attr"), "{xml}: {found}");
        }
        assert_eq!(parse_doc_comment("<inheritdoc/>").first_sentence(), "");
        assert_eq!(
            parse_doc_comment("<inheritdoc cref=\"A\"/>").first_sentence(),
            "(documentation inherited from A)"
        );
    }

    #[test]
    fn a_hundred_thousand_nested_tags() {
        for tag in ["summary", "para", "c", "list", "code", "see", "param", "item", "x"] {
            let xml = format!("{}deep{}", format!("<{tag}>").repeat(100_000), format!("</{tag}>").repeat(100_000));
            assert!(parse_doc_comment(&xml).full_text().contains("deep"), "{tag}");
        }
        assert!(parse_doc_comment(&"<".repeat(200_000)).summary.len() == 200_000);
        assert!(parse_doc_comment(&"<![CDATA[".repeat(50_000)).summary.len() > 100_000);
        assert!(parse_doc_comment(&"&".repeat(200_000)).summary.len() == 200_000);
    }

    #[test]
    fn first_sentences() {
        for (text, expected) in [
            ("A b. C", "A b."),
            ("Uses e.g. x. Then", "Uses e.g. x."),
            ("No stop", "No stop"),
            ("v1.2 is it! yes", "v1.2 is it!"),
            ("一。二", "一。"),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(xml in "(<|>|/|&|;|\"|=|summary|param|code|c|list|item|see|[a-z ]|é){0,60}") {
            let _ = parse_doc_comment(&xml).full_text();
        }
    }
}
