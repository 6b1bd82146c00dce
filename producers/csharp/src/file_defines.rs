//! Producer `csharp/defines`: the `#if` symbols of a project, and those of a file.

use super::{defines, preprocess};
use engine::seams::producer::{Failure, Inputs, Output, Params, Producer, ProducerId, Sees};
use engine::values::json;
use msbuild::facts::Evaluated;
use msbuild::files::FileRow;
use msbuild::producers::{from_json, only_row};
use std::collections::{BTreeMap, BTreeSet};

/// `csharp/defines`: without `bytes`, the symbols of a project by framework (the main one under `""`). With it, only the symbols that the
/// file's conditions mention, so that other symbols cannot affect the file.
pub(crate) struct Defines;

impl Producer for Defines {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/defines", 4)
    }

    fn reads_at_most(&self) -> usize {
        text::LARGEST
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let Some(source) = inputs.maybe("bytes") else {
            let evaluated: Evaluated = from_json(&inputs.single("evaluation")?.bytes, "the evaluation")?;
            let main = evaluated.frameworks.first().map(|main| ("", &main.defines));
            let named = evaluated
                .frameworks
                .iter()
                .filter_map(|one| Some((one.tfm.as_deref()?, &one.defines)));
            let by_framework: BTreeMap<&str, &Vec<String>> = main.into_iter().chain(named).collect();
            return Ok(Output::new(json::encode(&by_framework)));
        };
        let file = inputs.var("file").unwrap_or_default();
        let row: FileRow = only_row(inputs.single("row")?, file)?;
        let defined: BTreeSet<String> = match inputs.all("project") {
            [project] => {
                let by_framework: BTreeMap<String, BTreeSet<String>> = from_json(&project.bytes, "the symbols")?;
                let framework = row.tfm.unwrap_or_default();
                by_framework
                    .get(&framework)
                    .or_else(|| by_framework.get(""))
                    .cloned()
                    .unwrap_or_default()
            }
            _ => ["DEBUG", "TRACE"].map(str::to_owned).into(),
        };
        // The producer that parses the file reports undecodable text.
        let (text, _) = text::decode(&source.bytes, file);
        let mentioned = preprocess::mentioned(&text);
        let both = |defined: &BTreeSet<String>| -> Vec<String> {
            let both = mentioned.iter().filter(|symbol| defined.contains(**symbol));
            both.map(|symbol| (*symbol).to_owned()).collect()
        };
        let own = both(&defined);
        let mut others: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
        for other in inputs.all("others").iter().filter(|_| !mentioned.is_empty()) {
            let by_framework: BTreeMap<String, BTreeSet<String>> = from_json(&other.bytes, "the symbols")?;
            let symbols = by_framework.get("").map(&both).unwrap_or_default();
            if symbols != own {
                others.entry(symbols).or_default().push(other.item.to_string());
            }
        }
        others.values_mut().for_each(|projects| projects.sort());
        Ok(Output::new(defines::serialize_symbols(&own, &others)))
    }
}
