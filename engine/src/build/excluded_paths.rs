//! Reasons why a path is no source: which rule of the source sets excludes it. Called only when a build fails for lack of the file.

use crate::seams::world::{SetDef, Sources};

/// Reason why a path is no source, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// The reason, to follow the path in a sentence.
    pub why: String,
    /// The hint: the next step.
    pub hint: String,
}

/// Finds the rule that excludes a path, by matching again without each rule.
pub fn explain_exclusion(sources: &dyn Sources, sets: &[SetDef], path: &str) -> Exclusion {
    let holder = |sets: &[SetDef]| {
        let bits = sources.sets_of_paths(sets, &[path]).ok()?.first().copied().unwrap_or(0);
        sets.get(bits.trailing_zeros() as usize).map(|set| set.name.clone())
    };
    let answer = |why: String, hint: &str| Exclusion {
        why,
        hint: hint.to_owned(),
    };
    if let Some(set) = holder(sets) {
        let why = format!("does not exist or cannot be read; the set {set} would contain it");
        return answer(why, "check the path and its permissions");
    }
    if !sources.lies_at(path) {
        return answer("does not exist".to_owned(), "check the path");
    }
    let unignored = without(sets, |set| set.gitignore = false);
    if let Some(set) = holder(&unignored) {
        let why = format!("is excluded from the set {set} by a .gitignore, an .ignore or .git/info/exclude");
        return answer(
            why,
            "`git check-ignore -v` names the line; remove it, or set `gitignore = false` for the set",
        );
    }
    for (number, set) in sets.iter().enumerate() {
        for glob in &set.exclude {
            let mut kept = unignored.clone();
            kept[number].exclude.retain(|other| other != glob);
            if holder(&kept).is_some() {
                let why = format!("is excluded from the set {} by its exclude glob '{glob}'", set.name);
                return answer(why, "narrow that glob in cortex.toml");
            }
        }
    }
    if let Some(set) = holder(&without(&unignored, |set| set.exclude.clear())) {
        let why = format!("is excluded from the set {set} by several of its exclude globs");
        return answer(why, "narrow those globs in cortex.toml");
    }
    answer(
        "is in no source set".to_owned(),
        "add it to the include globs of a source set in cortex.toml",
    )
}

fn without(sets: &[SetDef], change: impl Fn(&mut SetDef)) -> Vec<SetDef> {
    let mut changed = sets.to_vec();
    changed.iter_mut().for_each(change);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::disk::Disk;
    use crate::seams::world::World;

    #[test]
    fn the_rule_that_leaves_a_file_out_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".gitignore"), "*.log\n").unwrap();
        let set = |name: &str, include: &str, exclude: &[&str]| SetDef {
            name: name.to_owned(),
            include: vec![include.to_owned()],
            exclude: exclude.iter().map(ToString::to_string).collect(),
            gitignore: true,
        };
        let sets = [
            set("code", "src/**/*.cs", &["src/gen/**", "**/*.g.cs"]),
            set("logs", "logs/**", &["logs/old/**"]),
        ];
        let sources = Disk::new(folder.path()).sources(Vec::new());
        for path in [
            "a.txt", "logs/a.log", "src/gen/A.cs", "src/A.g.cs", "logs/old/a.log", "src/gen/A.g.cs",
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        for (path, why) in [
            ("b.txt", "does not exist"),
            ("src/gen/B.cs", "does not exist"),
            ("src/A.cs", "does not exist or cannot be read; the set code would contain it"),
            ("a.txt", "is in no source set"),
            (
                "logs/a.log",
                "is excluded from the set logs by a .gitignore, an .ignore or .git/info/exclude",
            ),
            ("src/gen/A.cs", "is excluded from the set code by its exclude glob 'src/gen/**'"),
            ("src/A.g.cs", "is excluded from the set code by its exclude glob '**/*.g.cs'"),
            ("logs/old/a.log", "is excluded from the set logs by its exclude glob 'logs/old/**'"),
            ("src/gen/A.g.cs", "is excluded from the set code by several of its exclude globs"),
        ] {
            assert_eq!(explain_exclusion(&*sources, &sets, path).why, why, "{path}");
        }
    }
}
