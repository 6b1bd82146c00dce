//! Members that a query names, by `Type.Member` or by the line of a file, with their sources, which are shown before other parts of their types.

use super::index::Index;
use super::member_spellings::spellings;
use super::mentioned::{Mention, MentionedPart};
use super::named_words::Lines;
use crate::symbols::index::Symbols;
use crate::symbols::meaning::{Candidate, How, Resolution};
use crate::symbols::outputs::{Outputs, SymbolError, file_label, read_one};
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::source::{Source, sources};
use engine::values::label::halves;
use producers::csharp::ids::member_key;
use producers::csharp::model::{Span, Syntax};
use producers::csharp::syntax;
use producers::csharp::types::symbol_of;
use std::collections::BTreeMap;

/// Limit of members that one name may refer to.
const MOST: usize = 32;

/// Resolves the members of each mention. A mention of a member that does not exist gets a note.
pub fn find_members<O: Outputs>(outputs: &mut O, symbols: &Symbols, index: &Index, mentions: &mut [Mention]) -> Result<(), O::Error> {
    for mention in mentions {
        match mention.wanted.clone() {
            MentionedPart::Member(name) => by_name(outputs, symbols, &name, mention)?,
            MentionedPart::Lines(lines) => by_lines(outputs, index, lines, mention)?,
            MentionedPart::All | MentionedPart::File(_) => {}
        }
    }
    Ok(())
}

fn by_name<O: Outputs>(outputs: &mut O, symbols: &Symbols, name: &str, mention: &mut Mention) -> Result<(), O::Error> {
    for name in spellings(name) {
        let options = Options {
            most: MOST,
            ..Options::default()
        };
        let found = resolve(symbols, outputs, &name, &options)?;
        let members: Vec<&Candidate> = found.candidates.iter().filter(|one| is_meant(&found, one)).collect();
        if members.is_empty() {
            continue;
        }
        for member in members {
            if !mention.types.iter().any(|key| key == member.key()) {
                mention.types.push(member.key().to_owned());
            }
            mention.members.push(member.path.clone());
        }
        return Ok(());
    }
    mention.not_shown = Some("its type has no such member".to_owned());
    Ok(())
}

fn is_meant(found: &Resolution, one: &Candidate) -> bool {
    matches!(found.how, Some(How::Exact | How::Suffix)) && one.member().is_some()
}

/// Sets the members of a mention of lines: the types in the lines first, then the innermost members; and the lines without any type.
fn by_lines<O: Outputs>(outputs: &mut O, index: &Index, lines: Lines, mention: &mut Mention) -> Result<(), O::Error> {
    let mut first: Vec<String> = Vec::new();
    let is_other = |at: &usize| index.document(*at).is_some_and(|one| one.language.is_some());
    // Files of other languages are shown as they are.
    for file in mention.files.iter().filter(|file| !index.in_file(file).iter().any(is_other)) {
        let label = file_label(file, "syntax");
        let Some(bytes) = read_one(outputs, label.clone())? else { continue };
        let tree: Syntax = syntax::decode(&bytes).map_err(|_| SymbolError::damaged().at_label(&label))?;
        let keys: BTreeMap<&str, &str> = index
            .in_file(file)
            .iter()
            .map(|at| (symbol_of(index.key(*at)), index.key(*at)))
            .collect();
        let mut types: Vec<(bool, u32, &str)> = Vec::new();
        let mut members: Vec<(Span, String)> = Vec::new();
        for decl in tree.types.iter().filter(|decl| overlaps_lines(&decl.span, lines)) {
            let Some(key) = keys.get(decl.symbol().as_str()) else { continue };
            let here = decl.members.iter().filter(|member| overlaps_lines(&member.span, lines));
            let here: Vec<_> = here.map(|member| (member.span, format!("{key}#{}", member_key(member)))).collect();
            types.push((here.is_empty(), u32::MAX - decl.span.first, key));
            members.extend(here);
        }
        let spans = tree.types.iter().map(|decl| decl.span).filter(|span| overlaps_lines(span, lines));
        let gaps = lines_before_types(spans, lines).into_iter().map(|gap| (file.clone(), gap));
        mention.outside.extend(gaps);
        types.sort_unstable();
        first.extend(types.into_iter().map(|(.., key)| key.to_owned()));
        members.sort();
        mention.members.extend(members.into_iter().map(|(_, path)| path));
    }
    if first.is_empty() {
        mention.outside = mention.files.iter().map(|file| (file.clone(), lines)).collect();
    }
    let others: Vec<String> = mention.types.iter().filter(|key| !first.contains(key)).cloned().collect();
    first.extend(others);
    first.dedup();
    mention.types = first;
    mention.members.truncate(MOST);
    Ok(())
}

/// Returns the lines before each type in a range that belong to none. After the last type nothing is declared.
fn lines_before_types(spans: impl Iterator<Item = Span>, (from, _): Lines) -> Vec<Lines> {
    let mut spans: Vec<Span> = spans.collect();
    spans.sort_unstable();
    let mut from = from.max(1);
    let mut gaps = Vec::new();
    for span in spans {
        let first = u64::from(span.first);
        if from < first {
            gaps.push((from, first - 1));
        }
        from = from.max(u64::from(span.last) + 1);
    }
    gaps
}

fn overlaps_lines(span: &Span, (from, to): Lines) -> bool {
    u64::from(span.first) <= to && from <= u64::from(span.last)
}

/// The source of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberText {
    pub path: String,
    /// `FILE:START-END` of each part.
    pub places: Vec<String>,
    /// Lines of the member.
    pub text: String,
    /// Fit of the member to the query, relative to the best member.
    pub fit: f32,
}

impl MemberText {
    /// Creates the text from the source of a member.
    pub fn from_source(source: &Source) -> Self {
        Self {
            path: source.path.clone(),
            places: source.parts.iter().map(|part| part.file_and_lines()).collect(),
            text: source.readable(),
            fit: 0.0,
        }
    }

    /// Returns the simple name of the member.
    pub fn name(&self) -> &str {
        self.member().split(['(', '<', '`']).next().unwrap_or_default()
    }

    /// Returns the key of the member inside its type.
    pub fn member(&self) -> &str {
        halves(&self.path).map_or(&self.path, |(_, member)| member)
    }
}

/// Returns the sources of the members of mentions, in order, each once; fields of one declaration share the first one's.
pub fn mentioned_members<O: Outputs>(outputs: &mut O, index: &Index, mentions: &[Mention]) -> Result<Vec<MemberText>, O::Error> {
    let mut wanted: Vec<Candidate> = Vec::new();
    for path in mentions.iter().flat_map(|mention| &mention.members) {
        let document = index.find(path).and_then(|at| index.document(at));
        if let Some(document) = document.filter(|_| !wanted.iter().any(|known| known.path == *path)) {
            wanted.push(Candidate::from_path(path, &document.files));
        }
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut found: Vec<MemberText> = Vec::new();
    for source in sources(outputs, &wanted.iter().collect::<Vec<_>>(), usize::MAX)? {
        let places: Vec<String> = source.parts.iter().map(|part| part.file_and_lines()).collect();
        if !places.is_empty() && !found.iter().any(|known| known.places == places) {
            found.push(MemberText::from_source(&source));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::mentioned::mentions;
    use super::*;
    use crate::other_languages::names::OtherNames;
    use crate::symbols::samples::Sample;

    fn member_texts_of_query(query: &str) -> (Vec<Mention>, Vec<MemberText>) {
        named_in(Sample::default(), query)
    }

    fn named_in(mut sample: Sample, query: &str) -> (Vec<Mention>, Vec<MemberText>) {
        let symbols = sample.names();
        let index = Index::from_outputs(&mut sample, &symbols, &OtherNames::default(), |_| None, Default::default()).expect("an index");
        let mut mentions = mentions(query, &index);
        find_members(&mut sample, &symbols, &index, &mut mentions).expect("members");
        let member_texts = mentioned_members(&mut sample, &index, &mentions).expect("sources");
        (mentions, member_texts)
    }

    fn member_texts(query: &str) -> Vec<String> {
        let (_, member_texts) = member_texts_of_query(query);
        let place = |one: &MemberText| format!("{} {}", one.path, one.places.join(" "));
        member_texts.iter().map(place).collect()
    }

    #[test]
    fn members_are_named_by_types_and_by_lines() {
        for (query, expected) in [
            ("Store.Get(int) fails", vec!["Box.Store#Get(int) src/Store.cs:6-12"]),
            ("at Box.Store.Get(Int32 id)", vec!["Box.Store#Get(int) src/Store.cs:6-12"]),
            (
                "Store.Get(string? name, int most = 3)",
                vec!["Box.Store#Get(string?,int) src/Store.cs:14-14"],
            ),
            (
                "Box.Store.Get of it",
                vec![
                    "Box.Store#Get(int) src/Store.cs:6-12",
                    "Box.Store#Get(string?,int) src/Store.cs:14-14",
                ],
            ),
            (
                "Store.Get(Nothing) of Box.Store#Get(int)",
                vec![
                    "Box.Store#Get(int) src/Store.cs:6-12",
                    "Box.Store#Get(string?,int) src/Store.cs:14-14",
                ],
            ),
            ("src/Store.cs:10", vec!["Box.Store#Get(int) src/Store.cs:6-12"]),
            (
                "Store.cs:12-14",
                vec![
                    "Box.Store#Get(int) src/Store.cs:6-12",
                    "Box.Store#Get(string?,int) src/Store.cs:14-14",
                ],
            ),
            ("Store.cs(22,9)", vec!["Box.Store+Entry`1#Value src/Store.cs:22-22"]),
            ("Cache<K, V>.Hits", vec!["Box.Cache`2#Hits src/Stores.cs:12-12"]),
            ("BigStore.Count", vec!["Box.Store#Count src/Stores.cs:8-8"]),
            ("at Box.Store.get_Count()", vec!["Box.Store#Count src/Stores.cs:8-8"]),
            (
                "at Box.Store.<Get>b__3_0(Int32 x)",
                vec![
                    "Box.Store#Get(int) src/Store.cs:6-12",
                    "Box.Store#Get(string?,int) src/Store.cs:14-14",
                ],
            ),
            ("Store.Nope, Store.cs:99, Store.cs:1", vec![]),
        ] {
            assert_eq!(member_texts(query), expected, "{query}");
        }
    }

    #[test]
    fn members_without_names_of_their_own_are_named_as_source_and_stack_traces_do() {
        let source = "namespace My.Core;\npublic interface IThing { void Do(); }\npublic class Thing<T> : IThing\n{\n    public int this[int at] => at;\n    ~Thing() { }\n    public static Thing<T> operator +(Thing<T> a, int b) => a;\n    public static bool operator ==(Thing<T> a, int b) => true;\n    void IThing.Do() { }\n}\n";
        for (query, expected) in [
            ("`Thing.this[int]` fails", "My.Core.Thing`1#this[](int)"),
            ("Thing.this[int], Thing<T>", "My.Core.Thing`1#this[](int)"),
            ("Thing.Item", "My.Core.Thing`1#this[](int)"),
            ("at My.Core.Thing`1.get_Item(Int32 i)", "My.Core.Thing`1#this[](int)"),
            ("Thing.~Thing", "My.Core.Thing`1#Finalize()"),
            ("(see Thing.operator +)", "My.Core.Thing`1#op_Addition(Thing<T>,int)"),
            (
                "Thing.operator ==(Thing<T> a, int b) is",
                "My.Core.Thing`1#op_Equality(Thing<T>,int)",
            ),
            ("Thing.IThing.Do", "My.Core.Thing`1#IThing.Do()"),
            ("at My.Core.Thing`1.My.Core.IThing.Do()", "My.Core.Thing`1#IThing.Do()"),
        ] {
            let (mentions, member_texts) = named_in(Sample::from_files(&[("src/Thing.cs", source)]), query);
            let paths: Vec<&str> = member_texts.iter().map(|one| one.path.as_str()).collect();
            assert_eq!(paths, [expected], "{query}: {mentions:?}");
        }
    }

    #[test]
    fn missing_members_are_reported_and_bases_come_with_inherited_members() {
        let (mentions, _) = member_texts_of_query("BigStore.Nope");
        assert_eq!(mentions[0].not_shown.as_deref(), Some("its type has no such member"));
        let (mentions, _) = member_texts_of_query("BigStore.Count at Store.cs:23");
        assert_eq!(mentions[0].types, ["Box.BigStore", "Box.Store"]);
        assert_eq!(mentions[1].types[..3], ["Box.Store+Entry`1+Kind", "Box.Store+Entry`1", "Box.Store"]);
    }

    #[test]
    fn lines_in_which_no_type_stands_are_told() {
        for (query, expected) in [
            ("Store.cs:99", vec![("src/Store.cs", (99, 99))]),
            ("Store.cs:1-2", vec![("src/Store.cs", (1, 2))]),
            // The documentation of a type belongs to the type.
            ("Store.cs:0-8", vec![("src/Store.cs", (1, 2))]),
            ("Store.cs:6-8", vec![]),
            ("Stores.cs:5-", vec![("src/Stores.cs", (13, 13))]),
            ("Stores.cs:1-4", vec![("src/Stores.cs", (1, 2))]),
        ] {
            let (mentions, _) = member_texts_of_query(query);
            let outside = mentions[0].outside.iter().map(|(file, lines)| (file.as_str(), *lines));
            assert_eq!(outside.collect::<Vec<_>>(), expected, "{query}");
            assert_eq!(mentions[0].not_shown, None, "{query}");
        }
    }
}
