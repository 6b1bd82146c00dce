//! Code that can use a symbol: only friend assemblies see internal ones.

use super::resolve::{Options, resolve};
use super::samples::Sample;
use super::usages::{Subject, usages};
use super::usages_tests::{find_usages, possible};
use std::collections::BTreeSet;

#[test]
fn internal_members_are_used_by_friends_only() {
    let project = |items: &str| {
        let properties = "<PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>";
        format!("<Project Sdk=\"Microsoft.NET.Sdk\">{properties}<ItemGroup>{items}</ItemGroup></Project>")
    };
    let reference = |item: &str| project(&format!("<ProjectReference Include=\"../A/A.csproj\" />{item}"));
    let user = "class C { void M(dynamic d) { d.Go(); d.Hide(); d.Heir(); d.Deep(); d.Wide(); d.Go2(); } }";
    let mut sample = Sample::from_files(&[
        ("A/A.csproj", &project("<InternalsVisibleTo Include=\"B\" />")),
        (
            "A/a.cs",
            "public class T { public void Go() { } internal void Hide() { } protected internal void Heir() { }
private class Own { public void Go2() { } } }
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
        let subject = Subject::from_resolution(&meaning).expect("a subject");
        let found = usages(&mut sample, &symbols, &subject, &BTreeSet::new()).expect("places");
        found.possible.keys().map(|place| place.file.clone()).collect::<Vec<String>>()
    };
    assert_eq!(found("T.Go"), ["B/b.cs", "C/c.cs"]);
    assert_eq!(found("T.Hide"), ["B/b.cs"]);
    assert_eq!(found("T.Heir"), ["B/b.cs", "C/c.cs"]);
    assert_eq!(found("In.Nested.Deep"), ["B/b.cs"]);
    // A friend does not see what a private type declares.
    assert_eq!(found("T.Own.Go2"), Vec::<String>::new());
    // The friends of D are unknown, so every project may see it.
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
    let mut sample = Sample::from_files(&[
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
        let subject = Subject::from_resolution(&meaning).expect("a subject");
        let found = usages(&mut sample, &symbols, &subject, &BTreeSet::new()).expect("places");
        let message: Vec<&String> = found.unseen.iter().filter(|why| why.contains("reference")).collect();
        assert_eq!(message.len(), 1, "{:?}", found.unseen);
        assert!(message[0].starts_with("C/C.csproj opens Acme.Core and names"), "{message:?}");
    }
}

#[test]
fn code_inside_of_a_namespace_that_names_a_type_without_a_reference_is_told() {
    let project = |items: &str| {
        format!(
            "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>{items}</Project>"
        )
    };
    let inside = |code: &str| format!("namespace Acme.Core.Deep; class Inside {{ void M() {{ {code} }} }}");
    let tools = |names: &str| format!("namespace Acme.Core; {names}");
    let mut sample = Sample::from_files(&[
        ("A/A.csproj", &project("")),
        (
            "A/a.cs",
            &tools("public class Tool { public static int Size; } public class Path { public static int Size; }"),
        ),
        ("B/B.csproj", &project("")),
        ("B/b.cs", &inside("_ = Tool.Size; _ = Path.Size;")),
        // C declares the name itself.
        ("C/C.csproj", &project("")),
        ("C/c.cs", &inside("_ = Tool.Size;")),
        ("C/tool.cs", &tools("class Holder { class Tool { } }")),
        ("D/D.csproj", &project("<ItemGroup><Using Include=\"Acme.Core\" /></ItemGroup>")),
        ("D/d.cs", "namespace Other; class Opened { int M() => Tool.Size; }"),
        ("E/E.csproj", &project("")),
        ("E/e.cs", "namespace Other; class Closed { int M() => Tool.Size; }"),
    ]);
    let symbols = sample.names();
    let mut found = |symbol: &str| {
        let meaning = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let subject = Subject::from_resolution(&meaning).expect("a subject");
        usages(&mut sample, &symbols, &subject, &BTreeSet::new()).expect("places").unseen
    };
    let behind = "without a reference to a project that compiles it; what it uses there is not known";
    assert_eq!(
        found("Acme.Core.Tool.Size"),
        [format!("B/B.csproj (and 1 more) has code in Acme.Core and names Size {behind}")]
    );
    // The name may be that of a type of .NET.
    assert_eq!(found("Acme.Core.Path.Size"), Vec::<String>::new());
}

#[test]
fn types_that_no_project_compiles_come_last() {
    let mut sample = Sample::from_files(&[
        ("A/A.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\" />"),
        ("A/a.cs", "namespace Acme; public class Tool { public void Go() { } }"),
        (
            "A/b.cs",
            "using Acme; using System.IO; class B { void M(Tool t, StringReader r) { t.Go(); r.Read(); } } class D : StringReader { }",
        ),
        // The global namespace comes before namespaces of using directives.
        (
            "loose.cs",
            "public class Tool { public void Go() { } } public class StringReader { public void Read() { } }",
        ),
    ]);
    let symbols = sample.names();
    let mut certain = |symbol: &str| {
        let meaning = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let subject = Subject::from_resolution(&meaning).expect("a subject");
        let found = usages(&mut sample, &symbols, &subject, &BTreeSet::new()).expect("places");
        found.certain.len()
    };
    let found = ["Acme.Tool#Go", "StringReader#Read", "StringReader"].map(&mut certain);
    assert_eq!(found, [1, 0, 0]);
}

#[test]
fn an_internal_overload_is_chosen_where_it_is_seen_and_by_value_goes_before_in() {
    let text = "public class Wide { public Wide(int a, int b) { } }\nstruct Thin { public Thin(int a, int b) { } }\npublic class Log\n{\npublic void Add(Wide one) { }\ninternal void Add(in Thin one) { }\nvoid M(Thin thin) { Add(thin); }\nvoid N() { Add(new(1, 2)); }\n}\n";
    let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>";
    for (symbol, line) in [("Log#Add(Thin)", 7), ("Log#Add(Wide)", 8)] {
        let mut sample = Sample::from_files(&[("p/p.csproj", project), ("p/a.cs", text)]);
        let (_, found) = find_usages(&mut sample, symbol);
        let lines: Vec<u32> = found.certain.iter().map(|place| place.line).collect();
        assert_eq!((lines, possible(&found)), (vec![line], Vec::new()), "{symbol}");
    }
}
