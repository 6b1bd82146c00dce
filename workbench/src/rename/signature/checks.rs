//! What stands in the way of other parameters besides the uses: texts that would parse no more.

use crate::rename::{InTheWay, Rewritten};
use crate::symbols::outputs::{Outputs, file_label};
use producers::csharp::model::Tier;
use producers::csharp::{defines, parse};
use std::collections::BTreeSet;

/// Refuses changed files that parsed before and would parse no more.
pub(super) fn check_texts<O: Outputs>(outputs: &mut O, files: &[Rewritten], way: &mut InTheWay) -> Result<(), O::Error> {
    let labels: Vec<String> = files.iter().map(|file| file_label(&file.path, "defines")).collect();
    for (file, output) in files.iter().zip(outputs.read(&labels)?) {
        let known = output.bytes.and_then(|bytes| defines::read(&bytes).ok());
        let defines: BTreeSet<String> = known.map(|known| known.own.into_iter().collect()).unwrap_or_default();
        let (before, after) = (
            file.before.as_deref().unwrap_or_default(),
            file.after.as_deref().unwrap_or_default(),
        );
        if !parses(before, &defines) || parses(after, &defines) {
            continue;
        }
        let changed = after.lines().zip(before.lines()).position(|(new, old)| new != old);
        let line = changed.unwrap_or_default();
        let shown = after.lines().nth(line).unwrap_or_default().trim();
        way.add(format!(
            "{}:{}: the file would parse no more; its first changed line would be: {shown}",
            file.path,
            line + 1
        ));
    }
    Ok(())
}

/// Whether a text is read without errors.
pub(super) fn parses(text: &str, defines: &BTreeSet<String>) -> bool {
    matches!(parse::read(text, defines, "").0.tier, Tier::Whole | Tier::Repaired)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::samples::Sample;

    #[test]
    fn texts_that_would_parse_no_more_are_refused() {
        let (good, bad) = ("class C {\n int M(int a) => a;\n}\n", "class C {\n int M(int a => a;\n}\n");
        let mut sample = Sample::of(&[("src/c.cs", good)]);
        for (before, after, told) in [(good, bad, 1), (good, good, 0), (bad, bad, 0)] {
            let files = [Rewritten::of("src/c.cs", before, after.to_owned())];
            let mut way = InTheWay::default();
            check_texts(&mut sample, &files, &mut way).expect("outputs");
            assert_eq!(way.0.len(), told, "{way:?}");
            assert!(way.0.iter().all(|one| one.starts_with("src/c.cs:2: ")), "{way:?}");
        }
    }
}
