//! `csharp/members`: the members of one type as a table, key → JSON object. A row has identifier, signature, documentation and code. It
//! also has digests of the API, the implementation and the documentation, so that a change can name its members.
//!
//! One node per type, built only on request: no other node reads it. The table includes members outside the accessible API, but no line
//! numbers: an edit elsewhere in the file does not change it.
//!
//! `csharp/member`: one of these rows for readers, as outline, code or JSON. Its only input is that row, so an edit of one member leaves the
//! nodes of other members unchanged.

use super::code;
use super::complete::{self, Complete};
use super::defaults;
use super::hashes::{member_access, signature};
use super::ids::{member_key, member_kind_word, short_hash};
use super::implementation::{ImplHeader, ImplMember};
use super::model::{Member, MemberKind};
use super::render::doc;
use super::structure::member_ids;
use super::xmldoc::normal;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, ParamErrors, Params, Producer, ProducerId, Sees};
use engine::values::digest::Digest;
use engine::values::json;
use engine::values::table::{Table, write_table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A row: one member. Fields are in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberRow {
    pub accessibility: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<String>,
    /// Declaration with body, initializer and default values, as canonical text.
    pub code: String,
    /// The `#if` condition under which it is compiled; omitted if only its type has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Documentation as readable text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
    /// The declaring file; the first of a partial member.
    pub file: String,
    /// Sorted files that declare a partial member, if several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Member part of the identifier.
    pub id: String,
    /// Digest of body, initializer and default values.
    pub impl_hash: String,
    pub kind: String,
    pub name: String,
    /// Parameters in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterRow>,
    /// One-line declaration with the attributes of parameters.
    pub signature: String,
    /// Signature with default values of parameters, or with the member's value; omitted if it has neither.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shown: String,
    /// Digest of declaration, attributes and accessibility.
    pub structure_hash: String,
    /// First sentence of the documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Digest of the documentation.
    pub xml_doc_hash: String,
}

/// A parameter of a member. Fields are in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterRow {
    /// Type as written, including modifiers such as `ref`.
    pub kind: String,
    pub name: String,
    /// Whether it has a default value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Whether it takes any number of arguments: `params`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub params: bool,
    /// Whether it is the receiver of an extension method: `this`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub this: bool,
}

impl MemberRow {
    /// Returns the member's outline as in its type's outline, with its full documentation.
    pub fn outline(&self, type_key: &str, key: &str) -> String {
        let attributes: String = self.attributes.iter().map(|attribute| format!("[{attribute}] ")).collect();
        let condition = if self.condition.is_empty() {
            String::new()
        } else {
            format!("#if {}: ", self.condition)
        };
        let files = match self.files.is_empty() {
            true => self.file.clone(),
            false => self.files.join(", "),
        };
        let mut text = format!(
            "# {type_key}#{key} {}\nKind: {} | File: {} | StructureHash: {} | ImplHash: {}\nXmlDocHash: {}\n\n  + {condition}{attributes}{}\n",
            self.id,
            self.kind,
            files,
            self.structure_hash,
            self.impl_hash,
            self.xml_doc_hash,
            if self.shown.is_empty() { &self.signature } else { &self.shown }
        );
        if !self.doc.is_empty() {
            text.push('\n');
            text.push_str(&self.doc);
            text.push('\n');
        }
        text
    }
}

/// The producer `csharp/members`.
#[derive(Debug)]
pub struct Members;

impl Producer for Members {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/members", 4)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let whole = complete::decode_complete(inputs.single("complete")?)?;
        let rows: BTreeMap<String, Vec<u8>> = member_rows(&whole)
            .iter()
            .map(|(key, row)| (key.clone(), json::encode(row)))
            .collect();
        Ok(Output::new(write_table(&rows)))
    }
}

/// Returns the implementation of a type as `csharp/impl` writes it, with whole declarations as bodies, from an output of [`Members`]; `None` of other
/// bytes.
pub fn implementation_of(table: &[u8]) -> Option<Vec<u8>> {
    let mut lines = json::encode(&ImplHeader::default());
    for (key, row) in Table::open(table)?.rows() {
        let row: MemberRow = serde_json::from_slice(row).ok()?;
        let line = ImplMember {
            kind: row.kind,
            name: row.name,
            key: key.to_owned(),
            accessible: true,
            modifiers: Vec::new(),
            signature: String::new(),
            attributes: Vec::new(),
            body: row.code,
            follows: None,
        };
        lines.push(b'\n');
        lines.extend(json::encode(&line));
    }
    lines.push(b'\n');
    Some(lines)
}

/// The producer `csharp/member`.
#[derive(Debug)]
pub struct OneMember;

/// Forms in which `csharp/member` shows a member.
const FORMS: [&str; 3] = ["code", "info", "outline"];

/// A member in the JSON form.
#[derive(Serialize)]
struct MemberInfo<'a> {
    /// Key in `//index:types`.
    r#type: &'a str,
    /// Key inside the type.
    key: &'a str,
    #[serde(flatten)]
    row: &'a MemberRow,
}

impl Producer for OneMember {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/member", 3)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let mut errors = ParamErrors::default();
        let is_known = |value: &serde_json::Value| value.as_str().is_some_and(|value| FORMS.contains(&value));
        if params.get("form").is_some_and(|value| !is_known(value)) {
            let hint = format!("known: {}", FORMS.join(", "));
            errors.add("form", "'form' has an unknown value", &hint);
        }
        errors.add_unknown(params, &["form"]);
        errors.into_result()
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let (symbol, key) = (inputs.var("type").unwrap_or_default(), inputs.var("member").unwrap_or_default());
        let table = Table::open(&inputs.single("row")?.bytes);
        let row = table.and_then(|table| serde_json::from_slice::<MemberRow>(table.get(key)?).ok());
        let row = row.ok_or_else(|| Failure::permanent(format!("the input 'row' has no member '{key}'")))?;
        let text = match inputs.params.get("form").and_then(serde_json::Value::as_str) {
            Some("code") => format!("{}\n", row.code).into_bytes(),
            Some("info") => json::encode(&MemberInfo {
                r#type: symbol,
                key,
                row: &row,
            }),
            _ => row.outline(symbol, key).into_bytes(),
        };
        Ok(Output::new(text))
    }
}

/// Returns the members of a type by key. If malformed code declares a member twice, later keys end with a number.
pub fn member_rows(whole: &Complete) -> BTreeMap<String, MemberRow> {
    let ids = member_ids(whole);
    let mut rows = BTreeMap::new();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let ordinals = defaults::ordinals(whole.members.iter().map(|placed| &placed.member));
    for (placed, id) in whole.members.iter().zip(ids.into_iter().zip(ordinals)) {
        let file = |part: u32| whole.parts.get(part as usize).map_or("", |part| &part.file);
        let mut files: Vec<&str> = std::iter::once(&placed.part)
            .chain(placed.others.iter().flatten())
            .map(|part| file(*part))
            .collect();
        files.sort_unstable();
        files.dedup();
        let key = member_key(&placed.member);
        let count = times.entry(key.clone()).or_default();
        *count += 1;
        let key = if *count > 1 { format!("{key}~{count}") } else { key };
        rows.insert(key, member_row(whole, &placed.member, &files, id));
    }
    rows
}

/// Returns the parameters of a member: types from its key; names and other facts from its header and default values.
fn parameters(member: &Member) -> Vec<ParameterRow> {
    let header = code::signature(member.kind, &member.signature).parameters;
    let kinds = &member.parameters;
    // Only the header has the receiver of an extension block.
    let further = header.len().saturating_sub(kinds.len());
    let many = header.last().is_some_and(|last| last.many);
    let required = header
        .len()
        .saturating_sub(defaults::count_defaults(&member.body) as usize + usize::from(many));
    let row = |(at, parameter): (usize, &code::ast::Parameter)| ParameterRow {
        kind: at.checked_sub(further).and_then(|at| kinds.get(at)).cloned().unwrap_or_default(),
        name: parameter.name.clone(),
        optional: at >= required && !parameter.many,
        params: parameter.many,
        this: parameter.receiver,
    };
    header.iter().enumerate().map(row).collect()
}

fn member_row(whole: &Complete, member: &Member, files: &[&str], (id, ordinal): (String, Option<i128>)) -> MemberRow {
    let access = member_access(member, whole.kind);
    let modifiers: Vec<String> = member.modifiers.iter().filter(|word| *word != "partial").cloned().collect();
    let shown = if member.attributed.is_empty() {
        &member.signature
    } else {
        &member.attributed
    };
    let signature = signature(
        shown,
        &member.modifiers,
        &super::hashes::api_modifiers(modifiers.iter().map(String::as_str)),
    );
    let xml = normal(&member.doc);
    let reading = doc::parse_doc_comment(&xml);
    let is_value = matches!(member.kind, MemberKind::Field | MemberKind::Constant | MemberKind::EnumMember)
        || member.kind == MemberKind::Event && member.has_value;
    let code = match (member.body.is_empty(), member.body.starts_with(['{', '=', ':'])) {
        (true, _) => signature.clone(),
        _ if is_value => format!("{signature} = {}", member.body),
        (false, true) => format!("{signature} {}", member.body),
        (false, false) => format!("{signature}\n{}", member.body),
    };
    let structure = json::encode(&(access.as_csharp(), &signature, &member.attributes, &member.condition));
    let implementation = json::encode(&(&member.body, super::hashes::impl_modifiers(modifiers.iter().map(String::as_str))));
    MemberRow {
        accessibility: access.as_csharp().to_owned(),
        attributes: member.attributes.clone(),
        code,
        condition: member.condition.clone(),
        doc: reading.full_text(),
        file: files.first().copied().unwrap_or_default().to_owned(),
        files: match files {
            [_] => Vec::new(),
            several => several.iter().map(|file| (*file).to_owned()).collect(),
        },
        id,
        impl_hash: short_hash(&Digest::of(&implementation)),
        kind: member_kind_word(member.kind).to_owned(),
        name: member.name.clone(),
        parameters: parameters(member),
        structure_hash: short_hash(&Digest::of(&structure)),
        shown: Some(defaults::with_values(&signature, member, ordinal))
            .filter(|shown| *shown != signature)
            .unwrap_or_default(),
        signature,
        summary: reading.first_sentence(),
        xml_doc_hash: short_hash(&Digest::of(xml.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{World, blob, run};
    use super::*;

    fn of(text: &str) -> BTreeMap<String, MemberRow> {
        let (syntax, _) = super::super::parse::read(text, &std::collections::BTreeSet::new(), "a.cs");
        let complete = World::new(&[("a.cs", syntax)], &[]).output("complete", "A").bytes;
        let bytes = run(&Members, "A", "{}", vec![("complete", vec![blob("", complete)])])
            .expect("members")
            .bytes;
        let table = Table::open(&bytes).expect("a table");
        table
            .rows()
            .map(|(key, value)| (key.to_owned(), serde_json::from_slice(value).expect("a row")))
            .collect()
    }

    const TEXT: &str = "public class A {\n/// <summary>Gets. It does.</summary>\n/// <param name=\"x\">Which.</param>\n[Old] public int Get(int x = 1) { return x; }\nint Get(string x) => 2; int count = 3; public int Size { get; set; } }";

    #[test]
    fn a_member_has_outline_and_code() {
        let rows = of(TEXT);
        assert_eq!(
            rows.keys().map(String::as_str).collect::<Vec<_>>(),
            ["Get(int)", "Get(string)", "Size", "count"]
        );
        let get = &rows["Get(int)"];
        assert_eq!(get.code, "public int Get(int x)\nx = 1\n{ return x; }");
        assert_eq!(rows["Get(string)"].code, "int Get(string x) => 2");
        assert_eq!(
            (rows["count"].code.as_str(), rows["count"].accessibility.as_str()),
            ("int count = 3", "private")
        );
        let outline = get.outline("A", "Get(int)");
        assert!(
            outline.starts_with(&format!("# A#Get(int) {}\nKind: method | File: a.cs | StructureHash: ", get.id)),
            "{outline}"
        );
        assert!(
            outline.ends_with("\n\n  + [Old] public int Get(int x = 1)\n\nGets. It does.\n\nParameters:\n  x: Which.\n"),
            "{outline}"
        );
    }

    #[test]
    fn a_change_names_its_members() {
        let before = of(TEXT);
        for (from, to, expected) in [
            ("return x;", "return -x;", "Get(int) impl"),
            ("x = 1", "x = 5", "Get(int) impl"),
            ("[Old] ", "", "Get(int) structure"),
            ("Gets.", "Fetches.", "Get(int) doc"),
            ("get; set;", "get; init;", "Size structure"),
            ("=> 2", "=> 3", "Get(string) impl"),
            ("int count = 3;", "\n\n// moved\nint count = 3;", ""),
        ] {
            let after = of(&TEXT.replace(from, to));
            let changes: Vec<String> = before
                .iter()
                .flat_map(|(key, old)| {
                    let new = &after[key];
                    [
                        (old.structure_hash != new.structure_hash, "structure"),
                        (old.impl_hash != new.impl_hash, "impl"),
                        (old.xml_doc_hash != new.xml_doc_hash, "doc"),
                    ]
                    .into_iter()
                    .filter(|(differs, _)| *differs)
                    .map(move |(_, what)| format!("{key} {what}"))
                })
                .collect();
            assert_eq!(changes.join(", "), expected, "{from} → {to}");
        }
    }

    #[test]
    fn parameters_are_told_one_by_one() {
        let rows = of(
            "public static class A { static int M<T>(this T on, ref int a, [Old] string? b = null, int c = 1, params long[] more) => 1;\nint P { get; set; } public int this[int at, string of = \"\"] => 1; }",
        );
        let listed = |key: &str| -> Vec<String> {
            let mark = |set: bool, word: &str| if set { format!(" {word}") } else { String::new() };
            let parameters = rows[key].parameters.iter();
            let line = |one: &ParameterRow| {
                let marks = [mark(one.this, "this"), mark(one.optional, "optional"), mark(one.params, "params")].concat();
                format!("{}: {}{marks}", one.name, one.kind)
            };
            parameters.map(line).collect()
        };
        assert_eq!(
            listed("M`1(T,ref int,string?,int,long[])"),
            [
                "on: T this", "a: ref int", "b: string? optional", "c: int optional", "more: long[] params"
            ]
        );
        assert_eq!(listed("this[](int,string)"), ["at: int", "of: string optional"]);
        assert!(listed("P").is_empty());
    }

    #[test]
    fn one_declared_twice_hides_none() {
        assert_eq!(of("class A { void M() { } void M() { } }").len(), 2);
    }

    #[test]
    fn one_member_is_made_of_its_row_and_keeps_to_the_published_schema() {
        let all = of(TEXT);
        let schema: serde_json::Value = serde_json::from_str(include_str!("../../schemas/member-info.json")).expect("JSON");
        let show = |form: &str, key: &str| {
            let params: Params = serde_json::from_str(&format!("{{\"form\":\"{form}\"}}")).expect("an object");
            OneMember.check(&params).expect("a form");
            let rows = write_table(&BTreeMap::from([(key, json::encode(&all[key]))]));
            let roles = BTreeMap::from([("row".into(), vec![blob("", rows)])]);
            let vars = BTreeMap::from([("type".into(), "N.A".into()), ("member".into(), key.into())]);
            let bytes = OneMember
                .produce(&Inputs::bare(
                    "//t:t",
                    &params,
                    &roles,
                    &vars,
                    &engine::seams::producer::Cancel::default(),
                ))
                .expect("a member")
                .bytes;
            String::from_utf8(bytes).expect("text")
        };
        assert_eq!(show("code", "Get(string)"), "int Get(string x) => 2\n");
        assert!(show("outline", "Size").starts_with("# N.A#Size "));
        for key in all.keys() {
            let info: serde_json::Value = serde_json::from_str(&show("info", key)).expect("JSON");
            assert_eq!((&info["type"], &info["key"]), (&"N.A".into(), &key.as_str().into()));
            let named = info.as_object().expect("an object");
            assert!(named.keys().all(|name| schema["properties"].get(name).is_some()), "{info}");
            let required = schema["required"]
                .as_array()
                .expect("a list")
                .iter()
                .filter_map(|name| name.as_str());
            assert!(
                required.clone().count() == 12 && required.clone().all(|name| named.contains_key(name)),
                "{info}"
            );
        }
        let params = |text: &str| serde_json::from_str::<Params>(text).expect("an object");
        assert!(
            OneMember
                .check(&params("{\"form\":\"odd\",\"more\":1}"))
                .is_err_and(|errors| errors.len() == 2)
        );
    }
}
