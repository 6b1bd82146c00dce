//! `outline` of containers, `doctor`, and notes about projects with missing references.

use crate::bench::Bench;

#[test]
fn a_folder_without_code_is_said_to_have_none() {
    let bench = Bench::memotree();
    bench.write("qwzx/todo.txt", "later");
    for name in ["qwzx", "qwzx/", "./qwzx"] {
        let ran = bench.run(&["outline", name]);
        let expected = "# folder qwzx/: 0 types\nnote: the workspace reads no C# file in this folder\n";
        assert_eq!((ran.code, ran.out.as_str()), (0, expected), "{name}: {ran:?}");
    }
    let gone = bench.run(&["outline", "gone/"]);
    assert!(gone.code == 2 && gone.err.contains("E_NO_FILE"), "{gone:?}");
    // A workspace without any C# file has nothing to find.
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nrulesets = [\"csharp\"]\n");
    let ran = bench.run(&["outline", "."]);
    assert!(ran.code == 0 && ran.out.starts_with("# folder .: 0 types\n"), "{ran:?}");
    let ran = bench.run(&["outline", "Nobody"]);
    assert!(
        ran.code == 2 && ran.err.contains("SymbolNotFound") && !ran.err.contains("//"),
        "{ran:?}"
    );
}

#[test]
fn outline_of_a_folder_a_namespace_and_a_project() {
    let bench = Bench::memotree();
    let outline = |symbol: &str| {
        let ran = bench.run(&["outline", symbol, "--limit", "3"]);
        assert_eq!(ran.code, 0, "{symbol}: {ran:?}");
        ran.out
    };
    assert_eq!(
        outline("src/MemoTree.Core/Caching"),
        "# folder src/MemoTree.Core/Caching/: 1 type\nsrc/MemoTree.Core/Caching/LruCache.cs:6:14: public class MemoTree.Core.Caching.LruCache`2\n"
    );
    for name in ["MemoTree.Core.Exchange", "Exchange"] {
        let out = outline(name);
        assert!(
            out.starts_with("# namespace MemoTree.Core.Exchange: 5 types\nsrc/MemoTree.Core/Exchange/"),
            "{out}"
        );
        assert!(
            out.ends_with("note: 3 of 5 are shown: raise --limit, or continue with --offset 3\n"),
            "{out}"
        );
    }
    // A namespace takes precedence over the project of the same name, which a note mentions.
    let out = outline("MemoTree.Core");
    assert!(out.starts_with("# namespace MemoTree.Core: "), "{out}");
    assert!(
        out.contains("\nnote: of this name there is also the project src/MemoTree.Core/MemoTree.Core.csproj\n"),
        "{out}"
    );
    for name in ["MemoTree.Core.csproj", "src/MemoTree.Core/MemoTree.Core.csproj"] {
        assert!(
            outline(name).starts_with("# project src/MemoTree.Core/MemoTree.Core.csproj: "),
            "{name}"
        );
    }
    let file = bench.run(&["outline", "src/MemoTree.Core/NodeId.cs", "--json"]).json();
    assert_eq!(
        (&file["entries"][0]["path"], &file["entries"][0]["place"]["line"]),
        (&"MemoTree.Core.NodeId".into(), &7.into())
    );
    assert!(file["total"].as_u64() > Some(9) && file["state"]["complete"] == true, "{file}");
}

#[test]
fn a_project_that_lost_references_is_told_and_explained() {
    let bench = Bench::memotree();
    let healthy = bench.run(&["doctor", "--json"]).json();
    let of = |answer: &serde_json::Value, topic: &str| {
        let findings = answer["findings"].as_array().expect("findings").clone();
        findings.into_iter().find(|one| one["topic"] == topic).unwrap_or_default()
    };
    assert_eq!(
        (&of(&healthy, "references")["level"], &of(&healthy, "names")["level"]),
        (&"good".into(), &"good".into()),
        "{healthy}"
    );
    assert_eq!(bench.run(&["rdeps", "NodeId", "--json"]).json()["state"]["complete"], true);
    let project = "src/MemoTree.Cli/MemoTree.Cli.csproj";
    let text = std::fs::read_to_string(bench.root().join(project)).expect("a project");
    bench.write(project, &text.replace("MemoTree.Core.csproj", "Gone.csproj"));
    let line = "1 of 2 projects lost references";
    let built = bench.run(&["build", "//types/...:deps"]);
    assert!(built.err.contains(line) && built.err.lines().count() <= 15, "{built:?}");
    let status = bench.run(&["status", "--notes"]);
    assert!(
        status.out.contains(line) && status.out.contains("warning[CS-PROJECT-REFERENCE]"),
        "{status:?}"
    );
    let rdeps = bench.run(&["rdeps", "NodeId", "--json"]).json();
    assert!(
        rdeps["state"]["complete"] == false && rdeps["state"]["notes"].to_string().contains(line),
        "{rdeps}"
    );
    let usages = bench.run(&["usages", "NodeStore.Get", "--json"]).json();
    assert_eq!(usages["state"]["complete"], false, "{usages}");
    // For a type in another project nothing is missing.
    assert_eq!(bench.run(&["deps", "NodeId", "--json"]).json()["state"]["complete"], true);
    let ill = bench.run(&["doctor", "--json"]).json();
    let references = of(&ill, "references");
    assert!(
        references["level"] == "problem" && references["cases"][0].to_string().contains("Gone.csproj"),
        "{ill}"
    );
    assert_eq!(of(&ill, "names")["level"], "problem", "{ill}");
    let text = bench.run(&["doctor"]).out;
    assert!(
        text.contains("\nproblem  references  0 of 1 references between projects lead somewhere; 1 project lost some\n"),
        "{text}"
    );
    assert!(text.contains("mend: add the missing project files"), "{text}");
}

#[test]
fn doctor_looks_at_workspaces_without_projects() {
    let bench = Bench::empty();
    let manifest = |rulesets: &str| bench.write("cortex.toml", &format!("[workspace]\nname = \"p\"\nrulesets = [\"{rulesets}\"]\n"));
    for (rulesets, file) in [("csharp", "A.cs"), ("typescript", "a.ts")] {
        manifest(rulesets);
        bench.write(file, "class A { }\n");
        let ran = bench.run(&["doctor"]);
        assert!(ran.code == 0 && !ran.all().contains("error["), "{rulesets}: {ran:?}");
    }
}

#[test]
fn usages_of_a_type_name_members_of_that_name() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"n\"\nrulesets = [\"csharp\"]\n");
    bench.write(
        "a.cs",
        "namespace N;\nenum Color { Red }\nclass Pen { public Color Color; Color Same() => Color; }\nclass Ink { int Color; }\n",
    );
    let note = "note: this is the type; a member of that name is another symbol: N.Ink#Color (and 1 more)\n";
    let of_type = bench.run(&["usages", "Color"]);
    assert!(of_type.out.ends_with(note), "{of_type:?}");
    for other in ["Pen.Color", "Pen", "Same"] {
        let ran = bench.run(&["usages", other]);
        assert!(ran.code == 0 && !ran.out.contains("is another symbol"), "{ran:?}");
    }
}

#[test]
fn a_search_answers_files_folders_and_declarations() {
    let bench = Bench::memotree();
    let file = bench.run(&["search", "NodeId.cs"]);
    let note = "note: src/MemoTree.Core/NodeId.cs is a file: `outline src/MemoTree.Core/NodeId.cs` lists its types and their members\n";
    assert!(
        file.code == 0 && file.out.starts_with("MemoTree.Core.NodeId  ") && file.out.ends_with(note),
        "{file:?}"
    );
    let unknown = bench.run(&["search", "NodeId.cs", "--kind", "clas"]);
    assert!(
        unknown.code == 2 && unknown.err.contains("no symbol is of this kind"),
        "{unknown:?}"
    );
    let folder = bench.run(&["search", "src/MemoTree.Core/"]).out;
    assert!(
        folder.contains("is a folder: `outline src/MemoTree.Core/` lists its contents"),
        "{folder}"
    );
    let nothing = bench.run(&["search", "NodeIt.cs"]).out;
    assert!(nothing.contains("there is no such file in the workspace"), "{nothing}");
    bench.write("notes.abc", "one\n");
    let unread = bench.run(&["search", "notes.abc"]).out;
    assert!(unread.contains("this file is in no source set of the workspace"), "{unread}");
    let other = bench.run(&["usages", "NodeId.cs"]);
    assert!(
        other.code == 2 && other.err.contains("this names a file or folder, and no type or member"),
        "{other:?}"
    );
    let kind = bench.run(&["search", "class INodeStore"]).out;
    assert!(
        kind.starts_with("MemoTree.Core.INodeStore  ") && kind.contains("no class has this name; these are of other kinds"),
        "{kind}"
    );
    let words = bench.run(&["search", "where is qqqq stored"]).out;
    assert!(words.contains("`grep` finds words in code"), "{words}");
    let keyword = bench.run(&["usages", "string"]);
    assert!(
        keyword.code == 2 && keyword.err.contains("`string` is a keyword of C# for System.String"),
        "{keyword:?}"
    );
}
