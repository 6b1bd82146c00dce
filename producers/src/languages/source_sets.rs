//! `tags/files`: the files that a grammar reads, each with its language: those of source sets named after languages.

use super::grammar::{LANGUAGES, language};
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::values::table::write_table;
use std::collections::BTreeMap;

/// The producer `tags/files`.
#[derive(Debug)]
pub struct Files;

impl Producer for Files {
    fn id(&self) -> ProducerId {
        ProducerId::new("tags/files", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut rows: BTreeMap<&str, &str> = BTreeMap::new();
        for set in inputs.all("files") {
            if language(&set.item).is_none() {
                let names: Vec<&str> = LANGUAGES.iter().map(|language| language.name).collect();
                let why = format!(
                    "there is no grammar of [grammar.{}]; there are those of {}",
                    set.item,
                    names.join(", ")
                );
                return Err(Failure::permanent(why));
            }
            let files = std::str::from_utf8(&set.bytes).map_err(|_| Failure::permanent("the list of sources is not text"))?;
            for file in files.lines() {
                rows.entry(file).or_insert(&set.item);
            }
        }
        Ok(Output::new(write_table(&rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{blob, run};
    use engine::values::table::Table;

    #[test]
    fn files_of_several_languages_are_one_table() {
        let sets = vec![blob("python", "a.py\nb.x\n"), blob("typescript", "b.x\nc.ts\n")];
        let made = run(&Files, "", "{}", vec![("files", sets)]).expect("a table").bytes;
        let table = Table::open(&made).expect("a table");
        let rows: Vec<String> = table
            .rows()
            .map(|(file, language)| format!("{file} {}", String::from_utf8_lossy(language)))
            .collect();
        assert_eq!(rows, ["a.py python", "b.x python", "c.ts typescript"]);
        assert!(run(&Files, "", "{}", vec![("files", vec![blob("cobol", "")])]).is_err());
    }
}
