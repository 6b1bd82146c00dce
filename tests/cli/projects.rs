//! Projects from outside: what an edit of a project file or a new source file makes again, and where left-out files are shown.

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

/// The labels that a build makes again.
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
