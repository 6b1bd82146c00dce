//! Surveys a folder of C# code by names and equal bytes: projects, generated files, tests, copies, probably foreign code. It parses nothing.

use engine::files::disk::Disk;
use engine::seams::world::{SetDef, World};
use engine::values::digest::Digest;
use producers::csharp::generated::is_generated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Names of folders that usually contain foreign code.
const FOREIGN: [&str; 8] = [
    "third_party", "third-party", "thirdparty", "vendor", "vendored", "external", "externals", "submodules",
];

/// Limit of proposed folders.
const PROPOSED: usize = 5;

/// Counts of a survey.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeSurvey {
    /// C# files that the ruleset sees.
    pub files: usize,
    /// Project files.
    pub projects: usize,
    /// C# files that are generated, by their name.
    pub generated: usize,
    /// C# files in folders or projects of tests.
    pub tests: usize,
    /// C# files with the same bytes as another one.
    pub copies: usize,
    /// Folders that are probably not this repository's own code: `folder`, `files` (number of C# files).
    pub foreign: Vec<ForeignFolder>,
}

/// A folder of code that is probably not this repository's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignFolder {
    /// Its path.
    pub folder: String,
    /// Number of its C# files.
    pub files: usize,
}

/// Surveys a folder; skips files that cannot be read.
pub fn survey(root: &Path) -> CodeSurvey {
    let mut sources = Disk::new(root.to_path_buf()).sources(Vec::new());
    if sources.refresh(&[csharp_sources(), project_sources()]).is_err() {
        return CodeSurvey::default();
    }
    let files = sources.set(0);
    let mut of_digest: HashMap<Digest, usize> = HashMap::new();
    for digest in files.iter().filter_map(|path| sources.digest(path)) {
        *of_digest.entry(digest).or_default() += 1;
    }
    CodeSurvey {
        projects: sources.set(1).len(),
        copies: of_digest.values().map(|count| count - 1).sum(),
        ..of_names(&files)
    }
}

/// Counts C# files by their names.
fn of_names(files: &[String]) -> CodeSurvey {
    let mut foreign: BTreeMap<String, usize> = BTreeMap::new();
    let (mut generated, mut tests) = (0, 0);
    for path in files {
        generated += usize::from(is_generated(path, ""));
        tests += usize::from(is_among_tests(path));
        let folders: Vec<&str> = folders_of(path).collect();
        let at = folders.iter().position(|name| FOREIGN.contains(&name.to_lowercase().as_str()));
        if let Some(at) = at {
            *foreign.entry(folders[..=at].join("/")).or_default() += 1;
        }
    }
    let folders = foreign.into_iter().map(|(folder, files)| ForeignFolder { folder, files });
    let mut foreign: Vec<ForeignFolder> = folders.collect();
    foreign.sort_by_key(|one| std::cmp::Reverse(one.files));
    foreign.truncate(PROPOSED);
    CodeSurvey {
        files: files.len(),
        generated,
        tests,
        foreign,
        ..CodeSurvey::default()
    }
}

/// Whether a file is in a folder with a name for tests.
pub fn is_among_tests(path: &str) -> bool {
    folders_of(path).any(is_of_tests)
}

fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit_once('/').map_or("", |(folder, _)| folder).split('/')
}

/// Whether a folder has a name for tests: `test`, `Tests`, `Core.Tests`, `UnitTests`.
fn is_of_tests(folder: &str) -> bool {
    let words: BTreeSet<String> = folder.split(['.', '-', '_']).map(str::to_lowercase).collect();
    let usual = ["test", "tests", "unittests", "integrationtests", "testing", "specs"];
    usual.iter().any(|word| words.contains(*word)) || folder.ends_with("Tests") || folder.ends_with("Test")
}

/// Returns the source set of the C# files that the ruleset sees.
pub(crate) fn csharp_sources() -> SetDef {
    source_set("csharp", &["**/*.cs"])
}

fn project_sources() -> SetDef {
    source_set("projects", &["**/*.csproj"])
}

fn source_set(name: &str, include: &[&str]) -> SetDef {
    SetDef {
        name: name.to_owned(),
        include: include.iter().map(|&glob| glob.to_owned()).collect(),
        exclude: ["**/bin/**", "**/obj/**", "**/*.verified.cs", "**/*.received.cs"]
            .map(str::to_owned)
            .to_vec(),
        gitignore: true,
    }
}

#[cfg(test)]
mod tests {
    use super::{CodeSurvey, ForeignFolder, is_of_tests, survey};

    #[test]
    fn folders_of_tests_are_known_by_their_name() {
        for name in ["test", "Tests", "Core.Tests", "UnitTests", "MyTest", "Core.Test"] {
            assert!(is_of_tests(name), "{name}");
        }
        for name in ["Contest", "Latest", "src", "testament", "Attestation"] {
            assert!(!is_of_tests(name), "{name}");
        }
    }

    #[test]
    fn files_of_a_folder_are_counted() {
        let temp = tempfile::tempdir().expect("folder");
        let files = [
            ("src/A.csproj", "<Project/>"),
            ("src/A.cs", "class A;"),
            ("src/B.Designer.cs", "class B;"),
            ("src/obj/C.cs", "class C;"),
            ("tests/A.Tests/ATests.cs", "class ATests;"),
            ("lib/third_party/x/X.cs", "class A;"),
            ("lib/third_party/y/Y.cs", "class Y;"),
        ];
        for (path, text) in files {
            let path = temp.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, text).expect("file");
        }
        let expected = CodeSurvey {
            files: 5,
            projects: 1,
            generated: 1,
            tests: 1,
            copies: 1,
            foreign: vec![ForeignFolder {
                folder: "lib/third_party".to_owned(),
                files: 2,
            }],
        };
        assert_eq!(survey(temp.path()), expected);
    }
}
