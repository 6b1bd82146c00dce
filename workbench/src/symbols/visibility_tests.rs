//! Which code can use a symbol: what is internal is seen by friends alone.

use super::resolve::{Options, resolve};
use super::samples::Sample;
use super::usages::{Subject, usages};
use std::collections::BTreeSet;

#[test]
fn what_is_internal_only_friends_use() {
    let project = |items: &str| {
        let properties = "<PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>";
        format!("<Project Sdk=\"Microsoft.NET.Sdk\">{properties}<ItemGroup>{items}</ItemGroup></Project>")
    };
    let reference = |item: &str| project(&format!("<ProjectReference Include=\"../A/A.csproj\" />{item}"));
    let user = "class C { void M(dynamic d) { d.Go(); d.Hide(); d.Heir(); d.Deep(); d.Wide(); } }";
    let mut sample = Sample::of(&[
        ("A/A.csproj", &project("<InternalsVisibleTo Include=\"B\" />")),
        (
            "A/a.cs",
            "public class T { public void Go() { } internal void Hide() { } protected internal void Heir() { } }
internal class In { public class Nested { public void Deep() { } } }",
        ),
        ("B/B.csproj", &reference("")),
        ("B/b.cs", user),
        ("C/C.csproj", &reference("")),
        ("C/c.cs", user),
        ("D/D.csproj", &project("")),
        (
            "D/d.cs",
            "[assembly: InternalsVisibleTo(Names.All)] class Open { internal void Wide() { } }",
        ),
        ("E/E.csproj", &project("<ProjectReference Include=\"../D/D.csproj\" />")),
        ("E/e.cs", user),
    ]);
    let symbols = sample.names();
    let mut found = |symbol: &str| {
        let meaning = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let subject = Subject::of(&meaning).expect("a subject");
        let found = usages(&mut sample, &symbols, &subject, &BTreeSet::new()).expect("places");
        found.possible.keys().map(|place| place.file.clone()).collect::<Vec<String>>()
    };
    assert_eq!(found("T.Go"), ["B/b.cs", "C/c.cs"]);
    assert_eq!(found("T.Hide"), ["B/b.cs"]);
    assert_eq!(found("T.Heir"), ["B/b.cs", "C/c.cs"]);
    assert_eq!(found("In.Nested.Deep"), ["B/b.cs"]);
    // Which assemblies are friends of D its text does not say.
    assert_eq!(found("Open.Wide"), ["E/e.cs"]);
}

#[test]
fn a_project_that_names_a_type_without_a_reference_is_told() {
    let project = |items: &str| {
        format!(
            "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>{items}</Project>"
        )
    };
    let reference = |condition: &str| {
        project(&format!(
            "<ItemGroup {condition}><ProjectReference Include=\"../A/A.csproj\" /></ItemGroup>"
        ))
    };
    let user = "using Acme.Core; namespace U; class C { void M() { new Tool().Go(); } }";
    let mut sample = Sample::of(&[
        ("A/A.csproj", &project("")),
        ("A/a.cs", "namespace Acme.Core; public class Tool { public void Go() { } }"),
        ("B/B.csproj", &reference("")),
        ("B/b.cs", user),
        ("C/C.csproj", &reference("Condition=\"'$(Mode)' == 'full'\"")),
        ("C/c.cs", user),
        // It has that namespace from another project, and means something else by the name.
        ("D/D.csproj", &project("")),
        (
            "D/d.cs",
            "using Acme.Core; namespace V { class E { void Go() { Tool(); } void Tool() { } } } namespace Acme.Core { class F { } }",
        ),
    ]);
    let symbols = sample.names();
    for symbol in ["Tool", "Tool.Go"] {
        let meaning = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let subject = Subject::of(&meaning).expect("a subject");
        let found = usages(&mut sample, &symbols, &subject, &BTreeSet::new()).expect("places");
        let told: Vec<&String> = found.unseen.iter().filter(|why| why.contains("reference")).collect();
        assert_eq!(told.len(), 1, "{:?}", found.unseen);
        assert!(told[0].starts_with("C/C.csproj opens Acme.Core and names"), "{told:?}");
    }
}
