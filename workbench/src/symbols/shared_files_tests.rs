//! Uses in files that several projects compile: each project's code means the types that it compiles.

use super::samples::Sample;
use super::usages_tests::{find_usages, possible};

/// Returns a project that compiles the files in `Z` under these symbols.
fn shared_project(symbols: &str) -> String {
    format!(
        "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><DefineConstants>{symbols}</DefineConstants></PropertyGroup>\
         <ItemGroup><Compile Include=\"../Z/*.cs\" /></ItemGroup></Project>"
    )
}

#[test]
fn a_shared_part_is_one_of_each_project_that_has_others() {
    let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><ItemGroup><Compile Include=\"../Z/*.cs\" /></ItemGroup></Project>";
    let mut sample = Sample::from_files(&[
        ("X/X.csproj", project),
        ("Y/Y.csproj", project),
        ("Z/shared.cs", "static partial class T { public static void Help() { } }"),
        ("X/x.cs", "static partial class T { static void M() { Help(); } }"),
        ("Y/y.cs", "Help();\nstatic partial class Program { }"),
        ("Z/program.cs", "static partial class Program { static void Help() { } }"),
    ]);
    for (symbol, file) in [("T#Help", "X/x.cs"), ("Program@Y#Help", "Y/y.cs")] {
        let (_, found) = find_usages(&mut sample, symbol);
        let files: Vec<&str> = found.certain.iter().map(|place| place.file.as_str()).collect();
        assert_eq!(files, [file], "{symbol}");
    }
}

#[test]
fn code_of_a_project_means_the_types_that_it_compiles() {
    let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><ItemGroup><Compile Include=\"../Z/*.cs\" /></ItemGroup></Project>";
    let shared = "public class Shared { public Device Device; }
public partial class Device { const int Most = 1; public class Inner { int M() => Most; } }
";
    let part = |name: &str, call: &str| {
        format!(
            "public partial class Device {{ public void {name}() {{ }} }}
class Use{name} {{ void M(Shared s, Device.Inner i) {{ s.Device.{call}(); }} }}
"
        )
    };
    let (x, y) = (part("OnX", "OnX"), part("OnY", "OnY"));
    let mut sample = Sample::from_files(&[
        ("X/X.csproj", project),
        ("Y/Y.csproj", project),
        ("Z/shared.cs", shared),
        ("X/x.cs", &x),
        ("Y/y.cs", &y),
        (
            "T/T.csproj",
            "<Project Sdk=\"Microsoft.NET.Sdk\"><ItemGroup><ProjectReference Include=\"../Y/Y.csproj\" /></ItemGroup></Project>",
        ),
        ("T/t.cs", "class T { void M(Shared s) { s.Device.OnY(); } }"),
    ]);
    for (symbol, files) in [
        ("Device@X#OnX", vec!["X/x.cs"]),
        ("Device@Y#OnY", vec!["T/t.cs", "Y/y.cs"]),
        ("Device@X#Most", vec!["Z/shared.cs"]),
        ("Device+Inner", vec!["X/x.cs", "Y/y.cs"]),
    ] {
        let (_, found) = find_usages(&mut sample, symbol);
        let mut places: Vec<&str> = found.certain.iter().map(|place| place.file.as_str()).collect();
        places.sort_unstable();
        assert_eq!((places, possible(&found)), (files, Vec::new()), "{symbol}");
    }
}

#[test]
fn a_type_under_the_symbols_of_another_project_is_bound_as_in_that_project() {
    let (own, other) = (shared_project("OWN"), shared_project("OTHER"));
    let shared = "#if OTHER
using Only.Other;
class Late { void M(Kept k) { k.Go(); } }
#endif
";
    let mut sample = Sample::from_files(&[
        ("X/X.csproj", &own),
        ("Y/Y.csproj", &other),
        ("ZZ/ZZ.csproj", &other),
        ("Z/shared.cs", shared),
        ("Y/y.cs", "namespace Only.Other; class Kept { public void Go() { } }"),
        ("ZZ/w.cs", "class UseW { Late late; }"),
    ]);
    for (symbol, file) in [("Late", "ZZ/w.cs"), ("Kept#Go", "Z/shared.cs")] {
        let (_, found) = find_usages(&mut sample, symbol);
        let files: Vec<&str> = found.certain.iter().map(|place| place.file.as_str()).collect();
        assert_eq!(files, [file], "{symbol}");
    }
}

#[test]
fn a_type_that_a_project_compiles_in_another_namespace_is_not_seen_through_it() {
    let (core, common) = (shared_project("CORE"), shared_project("COMMON"));
    let mut sample = Sample::from_files(&[
        ("Core/Core.csproj", &core),
        ("Runner/Runner.csproj", &common),
        (
            "Z/shared.cs",
            "#if COMMON\nnamespace N.Common;\n#else\nnamespace N.Core;\n#endif\npublic partial class Started { public int Name; }",
        ),
        (
            "T/T.csproj",
            "<Project Sdk=\"Microsoft.NET.Sdk\"><ItemGroup><ProjectReference Include=\"../Runner/Runner.csproj\" /></ItemGroup></Project>",
        ),
        (
            "T/t.cs",
            "using N.Common;\nnamespace N.Core;\nclass T { object M() => new Started { Name = 1 }; }",
        ),
    ]);
    for (symbol, files) in [("N.Common.Started#Name", vec!["T/t.cs"]), ("N.Core.Started#Name", vec![])] {
        let (_, found) = find_usages(&mut sample, symbol);
        let certain: Vec<&str> = found.certain.iter().map(|place| place.file.as_str()).collect();
        assert_eq!((certain, possible(&found)), (files, Vec::new()), "{symbol}");
    }
}
