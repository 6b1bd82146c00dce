//! `implementations`, `callers` and `callees` on the fixture.

use crate::bench::Bench;

#[test]
fn implementations_callers_and_callees() {
    let bench = Bench::memotree();
    let types = bench.run(&["implementations", "INodeExporter"]);
    assert_eq!(
        types.out,
        "src/MemoTree.Core/Exchange/JsonExporter.cs:6:21: implements MemoTree.Core.Exchange.JsonExporter
src/MemoTree.Core/Exchange/MarkdownExporter.cs:6:21: implements MemoTree.Core.Exchange.MarkdownExporter\n",
        "{types:?}"
    );
    let members = bench.run(&["implementations", "INodeExporter.Extension"]);
    let explicit = "src/MemoTree.Core/Exchange/MarkdownExporter.cs:8:38: implements MemoTree.Core.Exchange.MarkdownExporter#";
    assert!(members.code == 0 && members.out.contains(explicit), "{members:?}");
    let both = bench.run(&["hierarchy", "INodeExporter"]);
    assert!(
        both.code == 0
            && both.out.starts_with(
                "MemoTree.Core.Exchange.INodeExporter`1\nheirs:\n  src/MemoTree.Core/Exchange/JsonExporter.cs:6:21: implements "
            ),
        "{both:?}"
    );
    let up = bench.run(&["hierarchy", "JsonExporter", "--json"]).json();
    assert_eq!(
        (&up["bases"][0]["relation"], &up["total"]),
        (&"implements".into(), &0.into()),
        "{up}"
    );
    let callers = bench.run(&["callers", "NodeStore.Get"]);
    let caller =
        "src/MemoTree.Core/NodeStore.cs:172:70: MemoTree.Core.NodeStore#Render(NodeId) calls MemoTree.Core.NodeStore#Get(NodeId)\n";
    assert!(callers.code == 0 && callers.out.contains(caller), "{callers:?}");
    let callees = bench.run(&["callees", "NodeStore.Render", "--depth", "2", "--json"]).json();
    let places = callees["places"].as_array().expect("places");
    let has = |from: &str, distance: u64| {
        places
            .iter()
            .any(|edge| edge["from"] == from && edge["distance"] == distance && edge["line"].as_u64() > Some(0))
    };
    assert!(
        has("MemoTree.Core.NodeStore#Render(NodeId)", 1) && has("MemoTree.Core.NodeStore#Get(NodeId)", 2),
        "{callees}"
    );
    let of_type = bench.run(&["callers", "NodeStore"]);
    assert!(of_type.code == 2 && of_type.err.contains("members call members"), "{of_type:?}");
}

#[test]
fn symbols_that_share_a_name_are_answered_together() {
    let bench = Bench::empty();
    let one = "namespace One { public class Du { public virtual void Go() { } } class Heir : Du { public override void Go() { } }";
    let user = "class User { void Use(Du du) { du.Go(); } } }";
    let two = "namespace Two { public interface Du { void Go(); } class Impl : Du { public void Go() { } } }";
    bench.write("a.cs", &format!("{one}\n{user}\n{two}\n"));
    assert_eq!(bench.run(&["init"]).code, 0);
    for (method, symbol, parts) in [
        ("implementations", "Du", ["# One.Du\n", "\n# Two.Du\n"]),
        ("implementations", "Du.Go", ["One.Heir#Go()\n", "Two.Impl#Go()\n"]),
        ("hierarchy", "Du", ["One.Du\nheirs:\n", "Two.Du\nheirs:\n"]),
        ("callers", "Go", ["One.User#Use(Du) calls One.Du#Go()\n", "# Two.Du#Go()\n"]),
        ("callees", "Du.Go", ["# One.Du#Go()\n", "# Two.Du#Go()\n"]),
        ("impact", "Du.Go", ["changed: One.Du#Go(), Two.Du#Go()\n", "Two.Impl#Go()"]),
    ] {
        let ran = bench.run(&[method, symbol]);
        assert!(
            ran.code == 0 && parts.iter().all(|part| ran.out.contains(part)),
            "{method}: {ran:?}"
        );
    }
    let only = bench.run(&["callers", "One.Du.Go"]);
    assert!(only.code == 0 && !only.out.starts_with('#'), "{only:?}");
}
