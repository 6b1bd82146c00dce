//! Outlines from text to Markdown and JSON: every kind of member, the published schema, options, conditions, inherited documentation.

use super::fixture::{World, blob, run};
use super::outline_info::Info;
use super::parse::read;
use engine::seams::producer::Input;
use serde_json::Value;
use std::collections::BTreeSet;

const EVERYTHING: &str = r#"
namespace N;
public delegate bool Check<in T>(T value);
[Flags] public enum Mode : byte { None, Fast = 1, Slow = 2 }
/// <summary>Everything there is. And more.</summary>
/// <remarks>Long.</remarks>
public abstract class All<T> : Base, IAll where T : struct
{
    public const int Most = 8;
    public static readonly T Zero;
    protected internal int Kept;
    private int _own = 1;
    internal string? Inside { get; set; }
    public required string Name { get; init; }
    [Old] public int Size { [Slow] get; private set; }
    public T this[int at, [Odd] params string[] more] { get => default; }
    public event EventHandler? Changed;
    event Action IAll.Done { add { } remove { } }
    static All() { }
    protected All(int size = 4) { }
    ~All() { }
    public abstract ref readonly T At(in int index, out string text, ref T value);
    public bool TryGet<K>(K key, [NotNullWhen(true)] out T? value) where K : notnull { value = null; return false; }
    public bool TryGet(string key) => false;
    void IAll.Run() { }
    public static All<T> operator +(All<T> a, All<T> b) => a;
    public static bool operator true(All<T> a) => true;
    public static bool operator false(All<T> a) => false;
    public static explicit operator checked int(All<T> a) => 1;
    public static implicit operator T(All<T> a) => default;
    public sealed class Nested { public record struct Deep(int X, string Y); }
#if NET
    /// <inheritdoc/>
    public void OnlyNet() { }
#endif
}
public static class Extensions
{
    extension<T>(IEnumerable<T> source) { public bool IsEmpty => true; }
    public static int Count(this string text) => 0;
}
public interface IAll { event Action Done; void Run(); }
public class Base { /// <summary>From the base.</summary>
    /// <returns>Nothing.</returns>
    public virtual void OnlyNet() { } }
"#;

fn world() -> World {
    let (syntax, diagnostics) = read(EVERYTHING, &BTreeSet::from(["NET".to_owned()]), "a.cs");
    assert_eq!(diagnostics, []);
    World::new(&[("src/a.cs", syntax)], &[("src/App.csproj", "{}")])
}

/// Returns the facts of a type, with its inherited documentation, under parameters.
fn info(world: &World, key: &str, params: &str) -> Input {
    let one = |name: &str| vec![blob("", world.output(name, key).bytes)];
    let mut all = vec![("complete", one("complete")), ("deps", one("api-deps"))];
    let inherited = world.inherited(&all[1].1[0]);
    all.push(("inherited", inherited));
    all.push(("type", vec![World::slice(&world.types, &[key.to_owned()])]));
    blob("", run(&super::outline_info::OutlineInfo, key, params, all).expect("facts").bytes)
}

fn outline(world: &World, key: &str, params: &str) -> String {
    let info = super::outline_info::decode_info(&info(world, key, params)).expect("facts");
    let digest = engine::values::digest::Digest::of(b"");
    let text = super::outline::markdown(&info, &digest, &digest, &digest, true);
    text.lines().skip(3).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_kind_of_member() {
    insta::assert_snapshot!(outline(&world(), "N.All`1", "{}"), @"
    XMLDOC: Everything there is.

    Public API:
      + public abstract class All<T> : Base, IAll where T : struct
      + public sealed class Nested
      + public const int Most = 8
      + public static readonly T Zero
      + protected internal int Kept
      + public required string Name { get; init; }
      + [Old] public int Size { [Slow] get; private set; }
      + public T this[int at, [Odd] params string[] more] { get; }
      + public event EventHandler? Changed
      + protected All(int size = 4)
      + public abstract ref readonly T At(in int index, out string text, ref T value)
      + public bool TryGet<K>(K key, [NotNullWhen(true)] out T? value) where K : notnull
      + public bool TryGet(string key)
      + public static All<T> operator +(All<T> a, All<T> b)
      + public static bool operator true(All<T> a)
      + public static bool operator false(All<T> a)
      + public static explicit operator checked int(All<T> a)
      + public static implicit operator T(All<T> a)
      + #if NET: public void OnlyNet()  — From the base.

    Implements: IAll
    DependsOn: N.Base, N.IAll
    ");
    let of = |key: &str| {
        let text = outline(&world(), key, "{}");
        let lines = text.lines().filter(|line| line.starts_with("  +"));
        lines.map(str::trim).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(of("N.Check`1"), "+ public delegate bool Check<in T>(T value)");
    assert_eq!(
        of("N.Mode"),
        "+ [Flags] public enum Mode : byte; + None = 0; + Fast = 1; + Slow = 2"
    );
    assert_eq!(
        of("N.All`1+Nested"),
        "+ public sealed class Nested; + public record struct Deep(int X, string Y)"
    );
    assert_eq!(
        of("N.All`1+Nested+Deep"),
        "+ public record struct Deep(int X, string Y); + public int X { get; set; }; + public string Y { get; set; }"
    );
    assert_eq!(
        of("N.Extensions"),
        "+ public static class Extensions; + public bool extension<T>(IEnumerable<T> source).IsEmpty { get; }; + public static int Count(this string text)"
    );
}

#[test]
fn members_outside_the_api_on_request() {
    let world = world();
    let shown = |params: &str| -> BTreeSet<String> {
        outline(&world, "N.All`1", params)
            .lines()
            .map(|line| line.trim().to_owned())
            .collect()
    };
    let more = |params: &str| -> Vec<String> { shown(params).difference(&shown("{}")).cloned().collect() };
    assert_eq!(more(r#"{"access":"internal"}"#), ["+ internal string? Inside { get; set; }"]);
    assert_eq!(
        more(r#"{"access":"all"}"#),
        [
            "+ internal string? Inside { get; set; }",
            "- event Action IAll.Done",
            "- private int _own",
            "- static All()",
            "- void IAll.Run()",
            "- ~All()"
        ]
    );
}

#[test]
fn documentation_is_inherited_from_the_base_that_has_it() {
    let world = world();
    let facts: Info = serde_json::from_slice(&info(&world, "N.All`1", "{}").bytes).expect("facts");
    let member = facts.members.iter().find(|member| member.name == "OnlyNet").expect("a member");
    assert_eq!(
        (member.summary.as_str(), member.doc.as_str(), member.condition.as_str()),
        ("From the base.", "From the base.\n\nReturns: Nothing.", "NET")
    );
    let text = r#"
interface IBox<T> { /// <summary>Puts.</summary>
 void Put(T item); /// <summary>Takes.</summary>
 T Take(); }
class Box : IBox<int> { /// <inheritdoc/>
 public void Put(int item) { } /// <inheritdoc cref="IBox{T}.Take"/>
 public int Get() => 1; /// <inheritdoc/>
 public void Unknown() { } }"#;
    let (syntax, _) = read(text, &BTreeSet::new(), "a.cs");
    let world = World::new(&[("a.cs", syntax)], &[]);
    let facts: Info = serde_json::from_slice(&info(&world, "Box", "{}").bytes).expect("facts");
    let summaries: Vec<(&str, &str)> = facts
        .members
        .iter()
        .map(|member| (member.name.as_str(), member.summary.as_str()))
        .collect();
    assert_eq!(summaries, [("Put", "Puts."), ("Get", "Takes."), ("Unknown", "")]);
}

#[test]
fn documentation_is_inherited_through_any_number_of_bases() {
    let mut text = String::from(
        "interface IRead<T> { /// <summary>Gets.</summary>\n T Get(int key); /// <inheritdoc/>\n void Nowhere(); }
interface IStore : IRead<int> { }
class Base : IStore { public virtual int Get(int key) => 1; public virtual void Nowhere() { }
/// <summary>Of the base.</summary>\n protected virtual void Own() { } }\n",
    );
    let mut base = "Base".to_owned();
    for number in 0..9 {
        text.push_str(&format!("class Step{number} : {base} {{ }}\n"));
        base = format!("Step{number}");
    }
    text.push_str(&format!(
        "/// <inheritdoc/>\npublic class Last : {base} {{ /// <inheritdoc/>\n public override int Get(int key) => 2; /// <inheritdoc/>
 public override void Nowhere() {{ }} /// <inheritdoc/>\n protected override void Own() {{ }} }}
class Round : Other {{ /// <inheritdoc/>\n public void Get() {{ }} }} class Other : Round {{ }}"
    ));
    insta::assert_snapshot!(api_of(&text, "Last"), @"
    Public API:
      + public class Last : Step8
      + public override int Get(int key)  — Gets.
      + public override void Nowhere()
      + protected override void Own()  — Of the base.

    Implements: none
    DependsOn: Step8
    ");
    assert!(api_of(&text, "Round").contains("+ public void Get()\n"));
}

/// Returns the outline of a type of one file, without its head.
fn api_of(text: &str, key: &str) -> String {
    let world = World::of_texts(&[("a.cs", text)]);
    let facts: Info = serde_json::from_slice(&info(&world, key, "{}").bytes).expect("facts");
    super::outline::api(&facts, true)
}

#[test]
fn values_order_and_aliases() {
    let text = r#"
using Map = System.Collections.Generic.Dictionary<string, int>;
using Unused = System.Int32;
namespace N;
public record Box<T>(int Size = 4, string? Name = null)
{
    public Map Of(int zeta, [Odd] bool alpha = false) => null;
    public const string Zone = "z";
    public int Last;
    /// <summary>Beside the first of its name.</summary>
    public Map Of() => null;
    public int First;
    Unused hidden;
}
public enum Level { Low = -1, None, High = 0x10, Higher }"#;
    insta::assert_snapshot!(api_of(text, "N.Box`1"), @r#"
    Public API:
      + public record Box<T>(int Size = 4, string? Name = null)
      + public int Size { get; init; }
      + public string? Name { get; init; }
      + public Map Of(int zeta, [Odd] bool alpha = false)
      + public Map Of()  — Beside the first of its name.
      + public const string Zone = "z"
      + public int Last
      + public int First

    Implements: none
    DependsOn: none
    Aliases: Map = System.Collections.Generic.Dictionary<string, int>
    "#);
    insta::assert_snapshot!(api_of(text, "N.Level"), @"
    Public API:
      + public enum Level
      + Low = -1
      + None = 0
      + High = 0x10
      + Higher = 17

    Implements: none
    DependsOn: none
    ");
}

#[test]
fn a_type_that_is_not_public_shows_all_its_members() {
    let text = r#"
class Store
{
    [System.Obsolete] readonly int size = 3;
    private sealed class Page { }
    public Store(int size = 8) { }
    /// <summary>For the assembly.</summary>
    internal void Grow() { }
    /// <summary>For itself.</summary>
    void Shrink() { }
}"#;
    insta::assert_snapshot!(api_of(text, "Store"), @"
    Public API:
      + internal class Store
      - private sealed class Page
      - readonly int size
      + public Store(int size = 8)
      + internal void Grow()  — For the assembly.
      - void Shrink()

    Implements: none
    DependsOn: none
    ");
}

#[test]
fn access_is_one_of_three_words() {
    use engine::seams::producer::{Params, Producer};
    let check = |params: &str| super::outline::Outline.check(&serde_json::from_str::<Params>(params).expect("an object"));
    for params in [
        "{}",
        r#"{"access":"public"}"#,
        r#"{"access":"internal","docs":false}"#,
        r#"{"access":"all"}"#,
    ] {
        assert_eq!(check(params), Ok(()), "{params}");
    }
    for params in [
        r#"{"access":"private"}"#, r#"{"access":1}"#, r#"{"include_private":true}"#, r#"{"docs":1}"#,
    ] {
        assert_eq!(check(params).expect_err(params).len(), 1, "{params}");
    }
}

/// Seventy-nine methods of an interface, most of them with default bodies under `#if`: the shape of Serilog's `ILogger`.
#[test]
fn an_interface_with_conditions_between_its_members() {
    let mut text = String::from("public interface ILogger {\n");
    for number in 0..79 {
        text.push_str(&format!(
            "/// <summary>Writes {number}.</summary>\n#if FEATURE\n[Default]\n#endif\nvoid Write{number}<T0, T1>(string template, T0 a, T1 b)\n#if FEATURE\n=> Go(template, [a, b])\n#endif\n;\n"
        ));
    }
    text.push('}');
    for defines in [BTreeSet::new(), BTreeSet::from(["FEATURE".to_owned()])] {
        let (syntax, diagnostics) = read(&text, &defines, "a.cs");
        assert_eq!(diagnostics, []);
        let world = World::new(&[("a.cs", syntax)], &[]);
        let facts: Info = serde_json::from_slice(&world.output("outline-info", "ILogger").bytes).expect("facts");
        assert_eq!(facts.members.len(), 79);
        assert!(
            facts
                .members
                .iter()
                .all(|member| member.condition.is_empty() && member.summary.starts_with("Writes"))
        );
    }
}

#[test]
fn outline_facts_keep_to_the_published_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../schemas/outline-info.json")).expect("JSON");
    let world = world();
    for key in world.keys() {
        for params in ["{}", r#"{"access":"all"}"#] {
            let value: Value = serde_json::from_slice(&info(&world, &key, params).bytes).expect("JSON");
            let errors = violations(&schema, &value, &key);
            assert!(errors.is_empty(), "{errors:#?}");
        }
    }
    let broken = serde_json::json!({"id": 1, "colour": "red", "members": [{"kind": "colour"}]});
    let errors = violations(&schema, &broken, "x");
    for part in [
        "x.id: not a string", "x.colour: unknown", "x.members.0.kind: not one of", "x.fqn: missing",
    ] {
        assert!(errors.iter().any(|error| error.starts_with(part)), "{part}: {errors:#?}");
    }
}

/// Returns the violations of a schema in a value. Supports only the keywords of the published schema; panics on any other.
fn violations(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, rule) in schema.as_object().expect("a schema") {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "required" | "properties" | "items" => {}
            "type" => {
                let fits = match rule.as_str() {
                    Some("string") => value.is_string(),
                    Some("array") => value.is_array(),
                    Some("object") => value.is_object(),
                    Some("integer") => value.is_u64(),
                    Some("boolean") => value.is_boolean(),
                    other => panic!("type {other:?}"),
                };
                if !fits {
                    found.push(format!("{at}: not a {}", rule.as_str().unwrap_or_default()));
                }
            }
            "enum" => {
                if !rule.as_array().is_some_and(|choices| choices.contains(value)) {
                    found.push(format!("{at}: not one of {rule}"));
                }
            }
            "pattern" => {
                if !value
                    .as_str()
                    .is_some_and(|text| text.starts_with(rule.as_str().unwrap_or_default().trim_start_matches('^')))
                {
                    found.push(format!("{at}: does not begin with {rule}"));
                }
            }
            "additionalProperties" => {
                for name in value.as_object().into_iter().flat_map(serde_json::Map::keys) {
                    if schema["properties"].get(name).is_none() {
                        found.push(format!("{at}.{name}: unknown"));
                    }
                }
            }
            other => panic!("keyword {other}"),
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            found.push(format!("{at}.{name}: missing"));
        }
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(name) {
            found.extend(violations(inner, value, &format!("{at}.{name}")));
        }
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        for (number, value) in values.iter().enumerate() {
            found.extend(violations(items, value, &format!("{at}.{number}")));
        }
    }
    found
}
