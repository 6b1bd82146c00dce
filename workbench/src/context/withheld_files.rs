//! Files that no model may see, also through links, and the types with such a file. The reason for an excluded type names the file and the glob.

use super::index::Index;
use engine::build::session::Session;
use engine::manifest::model::Manifest;
use producers::semantic::Withheld;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The globs of withheld files, in a workspace.
#[derive(Debug)]
pub struct WithheldFiles {
    globs: Withheld,
    /// The workspace's root, without links.
    root: PathBuf,
}

impl WithheldFiles {
    /// Creates the rules from these globs and the built-in ones.
    pub fn new(root: &Path, never_send: &[String]) -> Self {
        Self {
            globs: Withheld::new(never_send),
            root: root.canonicalize().unwrap_or_default(),
        }
    }

    /// Returns the glob that withholds a file, or the target of a link.
    pub fn by(&self, file: &str) -> Option<&str> {
        let linked = || {
            let real = self.root.join(file).canonicalize().ok()?;
            self.globs.by(real.strip_prefix(&self.root).ok()?.to_str()?)
        };
        self.globs.by(file).or_else(linked)
    }
}

/// Returns the globs of files that are never sent to a model, from the summaries' producer.
pub fn never_send(session: &Session) -> Vec<String> {
    never_send_of(session.rules.manifest())
}

/// Returns the globs of files that are never sent to a model, from the summaries' producer of a manifest.
pub fn never_send_of(manifest: &Manifest) -> Vec<String> {
    let summaries = manifest.producers.iter().filter(|producer| producer.uses == "semantic");
    let globs = summaries.flat_map(|producer| [&producer.params, &producer.settings]);
    let globs = globs.filter_map(|params| params.get("never_send")?.as_array());
    globs.flatten().filter_map(|glob| glob.as_str().map(str::to_owned)).collect()
}

/// The withheld files, and the known results for the types of one index.
#[derive(Debug)]
pub struct Secrets {
    globs: WithheldFiles,
    known: Mutex<FxHashMap<usize, Option<Arc<str>>>>,
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new(WithheldFiles::new(Path::new(""), &[]))
    }
}

impl Secrets {
    /// Creates an empty cache over the withheld files.
    pub fn new(globs: WithheldFiles) -> Self {
        Self {
            globs,
            known: Mutex::default(),
        }
    }

    /// Returns why the type at an index is not shown, if it is not.
    pub fn reason_to_hide(&self, index: &Index, at: usize) -> Option<Arc<str>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = || {
            let files = &index.document(at)?.files;
            let (file, glob) = files.iter().find_map(|file| Some((file, self.globs.by(file)?)))?;
            Some(format!("{file} is hidden from models by {glob}").into())
        };
        known.entry(at).or_insert_with(found).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::samples::{document, index_of};
    use super::super::mentioned::mentions;
    use super::super::relevance_factors::{Log, WEIGHTS};
    use super::super::rounds::Inheritance;
    use super::super::type_ranking::{Question, choose};
    use super::super::words::distinct;
    use super::*;

    #[test]
    fn withheld_types_are_counted_and_not_chosen() {
        let index = index_of(vec![
            document("Net.Retry", "retry a call", &["Net.Key"]),
            document("Net.Key", "retry with a secret", &["Net.Retry"]),
            document("Net.secrets", "retry", &[]),
        ]);
        let chosen = |query: &str, secrets: &Secrets| {
            let (words, mentions) = (distinct(query), mentions(query, &index));
            let question = Question {
                index: &index,
                secrets,
                words: &words,
                mentions: &mentions,
                packages: &[],
                log: &Log::default(),
                inheritance: &Inheritance::default(),
                weights: &WEIGHTS,
            };
            let choice = choose(&question, 9, 1000, 9);
            assert!(choice.others.is_empty(), "{choice:?}");
            let mut keys: Vec<&str> = choice.chosen.iter().map(|one| index.key(one.at)).collect();
            keys.sort_unstable();
            (keys.join(" "), choice.withheld)
        };
        assert_eq!(
            chosen("retry it", &Secrets::default()),
            ("Net.Key Net.Retry".to_owned(), 1),
            "secrets.*"
        );
        let secrets = Secrets::new(WithheldFiles::new(Path::new(""), &["src/Net/Key.cs".to_owned()]));
        for _ in 0..2 {
            assert_eq!(chosen("retry it", &secrets), ("Net.Retry".to_owned(), 2));
            assert_eq!(
                chosen("a call by `Net.Key`", &secrets),
                ("Net.Retry".to_owned(), 2),
                "also when it is named"
            );
        }
        let why = secrets.reason_to_hide(&index, index.find("Net.Key").expect("a type"));
        assert_eq!(why.as_deref(), Some("src/Net/Key.cs is hidden from models by src/Net/Key.cs"));
    }

    #[test]
    fn a_link_to_a_file_that_is_kept_from_models_is_kept_too() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join("Key.cs"), "").expect("file");
        std::os::unix::fs::symlink("Key.cs", folder.path().join("Link.cs")).expect("link");
        let withheld = WithheldFiles::new(folder.path(), &["Key.cs".to_owned()]);
        assert_eq!([withheld.by("Link.cs"), withheld.by("Other.cs")], [Some("Key.cs"), None]);
    }
}
