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
        ("D/d.cs", "[assembly: InternalsVisibleTo(Names.All)] class Open { internal void Wide() { } }"),
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
