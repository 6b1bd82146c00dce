//! Projects by the command line: targets that a changed project file or a new source file invalidates, and reports of excluded files.

use crate::bench::Bench;
use std::collections::BTreeSet;

const PROPS: &str = "<Project>\n  <PropertyGroup>\n    <TargetFramework>net8.0</TargetFramework>\n  </PropertyGroup>\n</Project>\n";
const A: &str = "<Project Sdk=\"Microsoft.NET.Sdk\">\n  <ItemGroup>\n    <PackageReference Include=\"X\" Version=\"1\" />\n  </ItemGroup>\n</Project>\n";
const B: &str = "<Project Sdk=\"Microsoft.NET.Sdk\">\n  <ItemGroup>\n    <ProjectReference Include=\"../A/A.csproj\" />\n    <Compile Remove=\"out.cs\" />\n  </ItemGroup>\n</Project>\n";

fn two_projects() -> Bench {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"two\"\nrulesets = [\"csharp\"]\n");
    bench.write("Directory.Build.props", PROPS);
    bench.write("A/A.csproj", A);
    bench.write("A/a.cs", "class A { }\n");
    bench.write("B/B.csproj", B);
    bench.write("B/b.cs", "#if NET8_0_OR_GREATER\nclass B { }\n#else\nclass Old { }\n#endif\n");
    bench.write("B/out.cs", "class Out { }\n");
    assert_eq!(bench.run(&["build", "//...", "-j1"]).code, 0);
    bench
}

/// Returns the labels that a build runs again.
fn ran(bench: &Bench) -> BTreeSet<String> {
    let text = bench.run(&["build", "//...", "-v", "-j1"]).err;
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("ran "));
    lines.filter_map(|line| line.trim().split(' ').next().map(str::to_owned)).collect()
}

fn set(labels: &[&str]) -> BTreeSet<String> {
    labels.iter().map(|label| (*label).to_owned()).collect()
}

#[test]
fn symbols_of_the_project_decide_what_is_declared() {
    let bench = two_projects();
    let types = bench.run(&["show", "//index:types", "--json"]).json();
    let types: Vec<&String> = types["output"].as_object().expect("a table").keys().collect();
    assert_eq!(types, ["A", "B", "Out"]);
    bench.write("Directory.Build.props", &PROPS.replace("net8.0", "net6.0"));
    let types = bench.run(&["show", "//index:types", "--json"]).json();
    let types: Vec<&String> = types["output"].as_object().expect("a table").keys().collect();
    assert_eq!(types, ["A", "Old", "Out"]);
}

#[test]
fn an_edit_of_a_package_version_stops_at_the_evaluation() {
    let bench = two_projects();
    bench.write("A/A.csproj", &A.replace("Version=\"1\"", "Version=\"2\""));
    assert_eq!(
        ran(&bench),
        set(&[
            "//projects/A/A.csproj:xml",
            "//projects/A/A.csproj:skeleton",
            "//projects/A/A.csproj:evaluation"
        ])
    );
}

#[test]
fn a_comment_in_shared_properties_stops_at_its_elements() {
    let bench = two_projects();
    bench.write("Directory.Build.props", &PROPS.replace("<Project>", "<Project><!-- why -->"));
    assert_eq!(ran(&bench), set(&["//projects/Directory.Build.props:xml"]));
}

#[test]
fn a_new_source_file_evaluates_no_project() {
    let bench = two_projects();
    bench.write("A/new.cs", "class New { }\n");
    let ran = ran(&bench);
    assert!(
        ran.contains("//projects/A/A.csproj:files") && ran.contains("//types/New:outline"),
        "{ran:?}"
    );
    let wrong: Vec<&String> = ran
        .iter()
        .filter(|label| label.ends_with(":evaluation") || label.ends_with(":project") || label.contains("a.cs") || label.contains("b.cs"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn files_in_no_project_are_named() {
    let bench = two_projects();
    let files = bench.run(&["show", "//index:files", "--json"]).json();
    assert_eq!(files["output"]["B/b.cs"]["project"][0], "B/B.csproj");
    assert_eq!(files["output"]["B/out.cs"]["left_out"], "removed");
}

#[test]
fn files_of_a_source_generator_belong_to_its_project() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"g\"\nrulesets = [\"csharp\"]\n");
    let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework>\
        <EmitCompilerGeneratedFiles>true</EmitCompilerGeneratedFiles><CompilerGeneratedFilesOutputPath>Generated</CompilerGeneratedFilesOutputPath>\
        </PropertyGroup><ItemGroup><Compile Remove=\"$(CompilerGeneratedFilesOutputPath)/**/*.cs\" /></ItemGroup></Project>";
    bench.write("P/P.csproj", project);
    bench.write(
        "P/Color.cs",
        "namespace N;\npublic partial struct Color { public static Color Pick() => Color.Red; }\n",
    );
    bench.write(
        "P/Generated/Gen/Color.cs",
        "namespace N;\npublic partial struct Color { public static Color Red => default; }\n",
    );
    bench.write("P/Generated/Gen/Made.cs", "namespace N;\npublic class Made { }\n");
    let usages = bench.run(&["usages", "Color.Red"]);
    assert_eq!(
        usages.out,
        "# N.Color#Red\nP/Color.cs:2:67: public partial struct Color { public static Color Pick() => Color.Red; }\n"
    );
    let types = bench.run(&["show", "//index:types", "--json"]).json()["output"].clone();
    let keys: Vec<&String> = types.as_object().expect("a table").keys().collect();
    assert_eq!(keys, ["N.Color", "N.Made"]);
    // All parts are generated, whatever the file's name; a handwritten part makes the type handwritten.
    assert_eq!(
        (&types["N.Made"]["generated"], types["N.Color"].get("generated")),
        (&true.into(), None)
    );
    let files = bench.run(&["show", "//index:files", "--json"]).json()["output"].clone();
    assert_eq!(files["P/Generated/Gen/Color.cs"]["project"][0], "P/P.csproj");
}

#[test]
fn params_that_nothing_reads_are_told() {
    let bench = two_projects();
    let manifest = "[workspace]\nname = \"two\"\nrulesets = [\"csharp\"]\n";
    let check = |more: &str| {
        bench.write("cortex.toml", &format!("{manifest}{more}"));
        bench.run(&["check"])
    };
    for (more, says) in [
        (
            "[producer.project.params.projects.\"A/A.csproj\"]\ninclde = [\"x/**\"]\n",
            "did you mean 'include'?",
        ),
        (
            "[producer.project]\nparams.proprties = { A = \"1\" }\n",
            "did you mean 'properties'?",
        ),
        ("[producer.types]\nparams.docs = true\n", "it has no parameters"),
        ("[producer.text]\nparams.docs = true\n", "it has no parameters"),
    ] {
        let ran = check(more);
        assert!(
            ran.code == 2 && ran.err.contains("error[E_PARAM]") && ran.err.contains(says),
            "{more}: {ran:?}"
        );
    }
    assert_eq!(
        check("[producer.project.params.projects.\"A/a.csproj\"]\ninclude = [\"B/out.cs\"]\n").code,
        0
    );
    let stderr = bench.run(&["build", "//index:projects"]).err;
    assert!(
        stderr.contains("CS-PROJECT-PARAMS") && stderr.contains("did you mean A/A.csproj?"),
        "{stderr}"
    );
    assert_eq!(
        check("[producer.project.params.projects.\"A/A.csproj\"]\ninclude = [\"B/out.cs\"]\n").code,
        0
    );
    let files = bench.run(&["show", "//index:files", "--json"]).json();
    assert_eq!(files["output"]["B/out.cs"]["project"][0], "A/A.csproj");
}

#[test]
fn a_type_of_two_frameworks_names_the_file_of_the_other_one() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"n\"\nrulesets = [\"csharp\"]\n");
    let project = r#"<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFrameworks>net8.0;netstandard2.0</TargetFrameworks></PropertyGroup>
        <ItemGroup><Compile Remove="Old/**" /></ItemGroup>
        <ItemGroup Condition="'$(TargetFramework)' == 'netstandard2.0'"><Compile Include="Old/Stubs.cs" /></ItemGroup></Project>"#;
    bench.write("Lib/Lib.csproj", project);
    bench.write("Lib/Pen.cs", "public class Pen { public void Draw() { } }\npublic class Ink { }\n");
    bench.write(
        "Lib/Old/Stubs.cs",
        "public partial class Pen { public void Draw() { } }\npublic partial class Ink { }\n",
    );
    let ran = bench.run(&["build", "//types/...:outline"]);
    let note = "note[CS-DECLARED-TWICE] //index:types: 2 types are declared again in files that only other target frameworks compile; \
        their parts were merged (the first is Ink); 2 of them are in Lib/Old/Stubs.cs\n  \
        help: if answers for the main framework are enough, add \"Lib/Old/Stubs.cs\" to exclude under [sources.csharp]\n";
    assert!(ran.code == 0 && ran.err.contains(note), "{}", ran.err);
}
