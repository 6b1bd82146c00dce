//! Types and members around source lines that contain words of a query, used if no document contains them: documents lack comments.

use super::mentioned::Mention;
use crate::symbols::grep::{Hit, Query, grep, locate};
use crate::symbols::index::Symbols;
use crate::symbols::outputs::Outputs;
use engine::seams::world::World;
use engine::values::label::halves;
use std::collections::{BTreeMap, BTreeSet};

/// Limits of examined lines, and of reported types and members.
const MOST: (usize, usize) = (200, 8);

/// Finds the symbols around the lines of `files` with most of the words: one mention, or none.
pub fn mention_by_comments<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    world: &dyn World,
    files: &[String],
    words: &[String],
) -> Result<Option<Mention>, O::Error> {
    let is_plain = |word: &&String| word.chars().all(|c| c.is_alphanumeric() || c == '_');
    let plain: Vec<&str> = words.iter().filter(is_plain).map(String::as_str).collect();
    if plain.is_empty() {
        return Ok(None);
    }
    // All files are read once for all words.
    let query = Query {
        pattern: &plain.join("|"),
        fixed: false,
        ignore_case: true,
        word: false,
    };
    let mut hits: Vec<Hit> = grep(world, files, &query.matcher()?).hits;
    hits.truncate(MOST.0);
    locate(outputs, symbols, &mut hits)?;
    // By surrounding symbol: the words on all its lines.
    let mut around: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for hit in &hits {
        let Some(within) = &hit.within else { continue };
        let line = hit.text.to_lowercase();
        let on_line = plain.iter().filter(|word| line.contains(**word));
        around.entry(within).or_default().extend(on_line.copied());
    }
    let mut ranked: Vec<(&str, usize)> = around.into_iter().map(|(path, words)| (path, words.len())).collect();
    ranked.sort_by_key(|(path, count)| (std::cmp::Reverse(*count), *path));
    let most = ranked.first().map_or(0, |(_, count)| *count);
    let mut mention = Mention {
        text: words.join(" "),
        ..Mention::default()
    };
    for (path, _) in ranked.into_iter().filter(|(_, count)| count * 2 > most).take(MOST.1) {
        let key = halves(path).map_or(path, |(key, _)| key);
        if symbols.find(key).is_none() {
            continue;
        }
        if !mention.types.iter().any(|known| known == key) {
            mention.types.push(key.to_owned());
        }
        if key != path {
            mention.members.push(path.to_owned());
        }
    }
    Ok((!mention.types.is_empty()).then_some(mention))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::samples::Sample;

    #[test]
    fn members_around_comments() {
        let text = "class Tax {\n    // 计算税率\n    int Rate() => 1;\n    int Sum() {\n        // frobnicate the quux\n        return 2;\n    }\n}\nclass Other { /* the quux */ }\n";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        let symbols = sample.names();
        let world = sample.world();
        let mut found = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let found = mention_by_comments(&mut sample, &symbols, &*world, &["a.cs".to_owned()], &words).expect("an answer");
            found.map(|one| (one.types, one.members))
        };
        let strings = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        assert_eq!(found(&["计算", "税率"]), Some((strings(&["Tax"]), Vec::new())));
        assert_eq!(found(&["frobnic", "quux"]), Some((strings(&["Tax"]), strings(&["Tax#Sum()"]))));
        assert_eq!((found(&["nowhere"]), found(&["c++"])), (None, None));
    }
}
