//! The elements of a project file: output of `csharp/project-xml`, input of evaluation.
//!
//! They omit comments, white space between elements, encodings and quote styles of attributes; they keep lines, because diagnostics name them. Files
//! that are not XML, have a DTD (and with it entities), nest too deeply or are too large give no element but a diagnostic.

use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use minicbor::{Decode, Encode};
use roxmltree::{Document, Node};

/// Maximum size of a project file, in bytes.
pub const LARGEST: usize = 4 << 20;

/// Maximum nesting of elements; real projects stay below ten.
const DEEPEST: usize = 100;

/// An element, its text and its children.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Element {
    /// Name without a namespace prefix.
    #[n(0)]
    pub name: String,
    /// Attributes in source order.
    #[n(1)]
    pub attributes: Vec<(String, String)>,
    /// Its own text, if it has no children.
    #[n(2)]
    pub text: String,
    #[n(3)]
    pub children: Vec<Element>,
    /// Line of its start, from 1.
    #[n(4)]
    pub line: u32,
}

impl Element {
    /// Returns the value of an attribute; names ignore case.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Whether it has that name, ignoring case.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns the element without parts that concern only items and targets; properties and imports remain.
    pub fn skeleton(&self) -> Self {
        let is_kept = |child: &&Self| {
            !["ItemGroup", "Target", "ItemDefinitionGroup", "UsingTask"]
                .iter()
                .any(|name| child.is_named(name))
        };
        Self {
            children: self.children.iter().filter(is_kept).map(Self::skeleton).collect(),
            ..Self {
                name: self.name.clone(),
                attributes: self.attributes.clone(),
                text: self.text.clone(),
                children: Vec::new(),
                line: self.line,
            }
        }
    }
}

/// Parses a file. Errors: a diagnostic with the reason why it cannot be read.
pub fn parse_xml(bytes: &[u8], path: &str) -> Result<Element, Box<Diagnostic>> {
    let broken = |message: String, line: u32, column: u32| {
        Box::new(
            Diagnostic::warning(ErrorCode::CS_PROJECT_XML, message)
                .at(path, line, column)
                .hint("the file counts as empty; a project falls back to the SDK's defaults"),
        )
    };
    if bytes.len() > LARGEST {
        let message = format!("the file is larger than {} MiB and was not read", LARGEST >> 20);
        return Err(broken(message, 0, 0));
    }
    let (text, _) = text::decode(bytes, path);
    if let Some(at) = text.find("<!DOCTYPE") {
        let line = line_of(&text, at);
        return Err(broken("the file has a DTD and was not read".into(), line, 0));
    }
    if let Some(at) = too_deep(&text) {
        let line = line_of(&text, at);
        return Err(broken(format!("elements are nested more than {DEEPEST} deep"), line, 0));
    }
    let document = Document::parse(&text).map_err(|error| {
        let place = error.pos();
        broken(format!("the file is not well-formed XML: {error}"), place.row, place.col)
    })?;
    let mut lines = Lines {
        text: &text,
        at: 0,
        line: 1,
    };
    Ok(element(document.root_element(), &mut lines))
}

fn line_of(text: &str, at: usize) -> u32 {
    1 + u32::try_from(text[..at].matches('\n').count()).unwrap_or(u32::MAX - 1)
}

/// Converts ascending offsets to line numbers in one pass.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl Lines<'_> {
    fn line_at(&mut self, offset: usize) -> u32 {
        let passed = self.text.as_bytes()[self.at..offset].iter().filter(|byte| **byte == b'\n').count();
        self.line += u32::try_from(passed).unwrap_or_default();
        self.at = offset;
        self.line
    }
}

fn element(node: Node<'_, '_>, lines: &mut Lines<'_>) -> Element {
    let line = lines.line_at(node.range().start);
    let children: Vec<Element> = node
        .children()
        .filter(Node::is_element)
        .map(|child| element(child, lines))
        .collect();
    let text = if children.is_empty() {
        let texts = node.children().filter(Node::is_text).filter_map(|text| text.text());
        texts.collect::<String>()
    } else {
        String::new()
    };
    Element {
        name: node.tag_name().name().to_owned(),
        attributes: node
            .attributes()
            .map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned()))
            .collect(),
        text,
        children,
        line,
    }
}

/// Returns the offset where elements nest too deeply; protects the recursive parser. For text that is no XML the result is arbitrary.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(open) = text[at..].find('<') {
        at += open;
        let rest = &text[at..];
        let section = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
            .into_iter()
            .find(|(start, _)| rest.starts_with(start));
        if let Some((start, end)) = section {
            at += rest[start.len()..]
                .find(end)
                .map_or(rest.len(), |found| start.len() + found + end.len());
            continue;
        }
        let end = tag_end(rest);
        let tag = &rest[..end];
        if tag.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else if !tag.ends_with('/') {
            depth += 1;
            if depth > DEEPEST {
                return Some(at);
            }
        }
        at += end;
    }
    None
}

/// Returns the `>` of the tag at the start of the text, ignoring quoted text.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equivalent_xml_parses_to_the_same_elements() {
        let first = parse_xml(
            b"<Project Sdk='S'><!-- a --><A Condition=\"x\"> t&amp;<![CDATA[<]]> </A></Project>",
            "p",
        )
        .expect("xml");
        let utf16: Vec<u8> = "\u{feff}<Project   Sdk=\"S\"><A Condition='x'> t&amp;&lt; </A>\t</Project>"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(parse_xml(&utf16, "p").expect("xml"), first);
        assert_eq!(first.attribute("sdk"), Some("S"));
        assert_eq!((first.children[0].text.as_str(), first.children[0].line), (" t&< ", 1));
        assert_ne!(
            parse_xml(b"<Project Sdk='S'>\n<A Condition=\"x\"> t&amp;&lt; </A></Project>", "p").expect("xml"),
            first
        );
    }

    #[test]
    fn refused_by_name_and_place() {
        let deep = "<a>\n".repeat(100_000);
        let bomb = "<!DOCTYPE x [<!ENTITY a \"bb\"><!ENTITY b \"&a;&a;\">]><Project>&b;</Project>";
        let large = vec![b' '; LARGEST + 1];
        for (bytes, line, words) in [
            (&b"<Project>\n<PropertyGroup></Project>"[..], 2, "not well-formed"),
            (b"", 1, "not well-formed"),
            (b"MZ\0\0", 1, "not well-formed"),
            (bomb.as_bytes(), 1, "DTD"),
            (deep.as_bytes(), 101, "deep"),
            (&large, 0, "4 MiB"),
        ] {
            let diagnostic = parse_xml(bytes, "a/P.csproj").expect_err(words);
            let place = diagnostic.place.clone().expect("a place");
            assert_eq!((place.file.as_str(), place.line), ("a/P.csproj", line), "{words}");
            assert!(diagnostic.message.contains(words), "{}", diagnostic.message);
        }
    }

    #[test]
    fn a_skeleton_has_no_items() {
        let whole = parse_xml(
            b"<Project><ItemGroup><A/></ItemGroup><Choose><When Condition='1'><ItemGroup/><PropertyGroup><P>1</P></PropertyGroup></When></Choose><Target/></Project>",
            "p",
        )
        .expect("xml");
        let skeleton = whole.skeleton();
        assert_eq!(skeleton.children.len(), 1);
        assert_eq!(skeleton.children[0].children[0].children.len(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            let _ = parse_xml(&bytes, "p");
        }

        #[test]
        fn any_tags(text in "(<[ab/]{0,3} ?(x='<')?/?>|<!--|-->|t){0,20}") {
            let _ = parse_xml(text.as_bytes(), "p");
        }
    }
}
