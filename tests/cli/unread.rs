//! Razor pages, which cortex does not parse: answers and edits about C# report their possible uses.

use crate::bench::Bench;

fn pages() -> Bench {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"pages\"\nrulesets = [\"csharp\"]\n");
    bench.write(
        "Toasts.cs",
        "namespace N;\npublic class ToastService\n{\n    public void Success(string text) { }\n    private void Hide() { }\n    public void Unused() { }\n}\n",
    );
    bench.write(
        "Home.razor",
        "@inject N.ToastService Toasts\n<button @onclick=\"() => Toasts.Success(1)\"/>\n<p>Hide</p>\n",
    );
    bench.write("obj/Made.razor", "ToastService\n");
    bench
}

#[test]
fn answers_count_the_lines_of_pages() {
    let bench = pages();
    let note = "1 line in 1 .razor file holds the word ToastService; cortex does not read this file";
    for method in ["usages", "rdeps"] {
        let ran = bench.run(&[method, "ToastService"]);
        assert!(ran.code == 0 && ran.out.contains(note), "{method}: {ran:?}");
    }
    for method in ["usages", "callers", "impact"] {
        let ran = bench.run(&[method, "ToastService.Success"]);
        assert!(ran.code == 0 && ran.out.contains("holds the word Success"), "{method}: {ran:?}");
    }
    let state = bench.run(&["usages", "ToastService", "--json"]).json();
    assert_eq!(state["state"]["complete"], false, "{state}");
    let unused = bench.run(&["usages", "ToastService.Unused"]);
    assert!(!unused.out.contains("razor"), "{unused:?}");
}

#[test]
fn edits_stop_at_the_lines_of_pages() {
    let bench = pages();
    let line = "Home.razor:2: possible use, in a file that cortex does not read: <button";
    let renamed = bench.run(&["rename", "ToastService.Success", "Good"]);
    assert!(renamed.code != 0 && renamed.err.contains(line), "{renamed:?}");
    let deleted = bench.run(&["edit", "safe_delete", "--symbol", "ToastService.Success"]);
    assert!(deleted.code != 0 && deleted.err.contains(line), "{deleted:?}");
    let left = bench.run(&["rename", "ToastService.Success", "Good", "--leave-possible"]);
    assert!(left.code == 0 && left.out.contains(&format!("left as it is: {line}")), "{left:?}");
    // Only the page of its own class can see a private member.
    let private = bench.run(&["rename", "ToastService.Hide", "Close"]);
    assert_eq!(private.code, 0, "{private:?}");
}

#[test]
fn files_of_no_source_set_are_named_as_such() {
    let bench = pages();
    bench.write("settings.json", "{}\n");
    for path in ["./Home.razor", "Home.razor", "settings.json"] {
        let outline = bench.run(&["outline", path]);
        assert!(
            outline.code == 2 && outline.err.contains("this file is in no source set"),
            "{outline:?}"
        );
    }
    let grep = bench.run(&["grep", "Hide", "--path", "Home.razor"]);
    assert!(grep.out.contains("Home.razor is in no source set"), "{grep:?}");
    let glob = bench.run(&["grep", "Hide", "--path", "*.razor"]);
    assert!(glob.out.contains("only files of source sets are searched"), "{glob:?}");
}

#[test]
fn implementations_say_how_many_are_further_down() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"heirs\"\nrulesets = [\"csharp\"]\n");
    bench.write(
        "A.cs",
        "class A { public virtual void M() { } } class B : A { public override void M() { } } class C : B { public override void M() { } } class D : C { }\n",
    );
    let types = bench.run(&["implementations", "A"]).out;
    assert!(types.contains("note: 2 more at 2 to 3 steps: --all\n"), "{types}");
    let members = bench.run(&["implementations", "A.M"]).out;
    assert!(members.contains("note: 1 more at 2 steps: --all\n"), "{members}");
    assert!(!bench.run(&["implementations", "A", "--all"]).out.contains("note:"));
}
