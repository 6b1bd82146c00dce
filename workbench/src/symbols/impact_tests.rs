//! Impact of changes in small workspaces.

use super::impact::*;
use super::samples::Sample;
use crate::changed_lines::ChangedLines;
use std::collections::BTreeSet;

const CODE: &str = "namespace N;
public interface IShop { int Price(int count); }
public class Shop : IShop {
public int Price(int count) => Tax(count) * 2;
public int Tax(int count) => count;
public virtual int Rest() => 1;
}
public class Market : Shop {
public override int Rest() => Price(1);
}
class Other { dynamic d; void Go() => d.Tax(1); }
";
const TESTS: &str = "namespace T;
class ShopTests {
[Fact] public void Prices() => new N.Shop().Price(1);
[Xunit.TheoryAttribute, InlineData(1)] public void Through(int x) { N.IShop shop = new N.Shop(); shop.Price(x); }
[Fact] public void Nothing() { }
void Helper() => new N.Shop().Price(1);
}
class MarketTests {
N.Market market;
public MarketTests() { market = new N.Market(); market.Rest(); }
[Test] public void First() { }
[TestCase(1)] public void Second<T>(int x) { }
}
";

fn sample() -> Sample {
    Sample::from_files(&[("src/a.cs", CODE), ("t/t.cs", TESTS)])
}

fn reached(changed: &[&str], depth: u32) -> (Vec<String>, String) {
    let mut sample = sample();
    let symbols = sample.names();
    let changed = changed.iter().map(|path| (*path).to_owned()).collect();
    let found = impact(&mut sample, &symbols, &changed, depth, &BTreeSet::new()).expect("an impact");
    let answer = |one: &Affected| {
        let (test, maybe) = (if one.test { " test" } else { "" }, if one.why.is_some() { " maybe" } else { "" });
        format!("{} {} {}{test}{maybe}", one.distance, one.how.as_str(), one.path)
    };
    (found.affected.iter().map(answer).collect(), found.filter())
}

#[test]
fn users_heirs_and_tests_are_reached() {
    let (rows, filter) = reached(&["N.Shop#Tax(int)"], 9);
    assert_eq!(
        rows,
        [
            "0 changed N.Shop#Tax(int)",
            "1 uses N.Other#Go() maybe",
            "1 uses N.Shop#Price(int)",
            "2 uses N.Market#Rest()",
            "2 uses T.ShopTests#Helper()",
            "2 uses T.ShopTests#Prices() test",
            "2 uses T.ShopTests#Through(int) test maybe",
            "3 uses T.MarketTests#.ctor()",
            "4 runs T.MarketTests#First() test",
            "4 runs T.MarketTests#Second`1(int) test",
        ]
    );
    let names = ["MarketTests.", "ShopTests.Prices", "ShopTests.Through"];
    assert_eq!(filter, names.map(|name| format!("FullyQualifiedName~T.{name}")).join("|"));
}

#[test]
fn symbols_beyond_the_depth_are_counted_and_have_no_row() {
    let mut sample = sample();
    let symbols = sample.names();
    let mut at = |depth: u32| {
        let changed = BTreeSet::from(["N.Shop#Tax(int)".to_owned()]);
        let found = impact(&mut sample, &symbols, &changed, depth, &BTreeSet::new()).expect("an impact");
        assert!(
            found.affected.iter().all(|one| one.distance <= depth.max(4)),
            "{:?}",
            found.affected
        );
        (found.affected.len(), found.beyond)
    };
    // Four members use those of the first step; the last is a constructor.
    assert_eq!(at(1), (3, 4));
    assert_eq!(at(2).1, 1);
    assert_eq!((at(3), at(9)), ((10, 0), (10, 0)));
}

#[test]
fn an_impact_of_too_many_members_tells_how_to_narrow_it() {
    let users: String = (0..210).map(|at| format!("int M{at}() => M();\n")).collect();
    let text = format!("class A {{\nint M() => 0;\n{users}}}\n");
    let mut sample = Sample::from_files(&[("a.cs", text.as_str())]);
    let symbols = sample.names();
    let changed = BTreeSet::from(["A#M()".to_owned()]);
    let found = impact(&mut sample, &symbols, &changed, 5, &BTreeSet::new()).expect("an impact");
    let narrower = |why: &&String| why.contains("follows at most 200 members; what uses 11 more") && why.contains("or of a listed member");
    assert_eq!(found.unseen.iter().filter(narrower).count(), 1, "{:?}", found.unseen);
}

#[test]
fn symbols_reached_through_a_possible_use_are_possible() {
    let text = "namespace N;
public interface IShop { int Price(); }
public class Shop : IShop { public int Price() => 1; }
class Far { public int Maybe(IShop shop) => shop.Price(); public int Next(IShop shop) => Maybe(shop); public int Last(IShop shop) => Next(shop); }
class Near { public int Sure() => new Shop().Price() + new Far().Last(null); public int Both(Far far) => Sure() + far.Maybe(null); }
class FarTests { public FarTests() { new Far().Maybe(null); } [Fact] public void Runs() { } }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let symbols = sample.names();
    let changed = BTreeSet::from(["N.Shop#Price()".to_owned()]);
    let found = impact(&mut sample, &symbols, &changed, 9, &BTreeSet::new()).expect("an impact");
    let why = |path: &str| {
        let one = found.affected.iter().find(|one| one.path == path);
        one.unwrap_or_else(|| panic!("{path}: {:?}", found.affected)).why.clone()
    };
    let through = |path: &str| Some(format!("reached only through {path}, which is itself possible"));
    assert_eq!(why("N.Far#Maybe(IShop)").as_deref(), Some("through N.IShop#Price"));
    assert_eq!(why("N.Far#Next(IShop)"), through("N.Far#Maybe(IShop)"));
    assert_eq!(why("N.Far#Last(IShop)"), through("N.Far#Next(IShop)"));
    assert_eq!(why("N.FarTests#Runs()"), through("N.FarTests#.ctor()"));
    // A member reached both ways is certain, and so are its users.
    assert_eq!((why("N.Near#Sure()"), why("N.Near#Both(Far)")), (None, None));
}

#[test]
fn a_call_of_any_of_the_overloads_that_changed_is_followed() {
    let text = "class P { public void Get(int x) { } public void Get(string x) { } public void Get(bool x) { } }
class U { public void One(object o) => new P().Get((dynamic)o); }
class V { void X() => new U().One(1); }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let symbols = sample.names();
    let mut reached = |changed: &[&str]| -> Vec<String> {
        let changed = changed.iter().map(|path| (*path).to_owned()).collect();
        let before = sample.asked.len();
        let found = impact(&mut sample, &symbols, &changed, 5, &BTreeSet::new()).expect("an impact");
        let patterns = sample.asked[before..].iter().filter(|label| label.contains("...:mentions")).count();
        assert!(patterns <= 5, "one question for each step");
        let rows = found.affected.into_iter().filter(|one| one.how == Reached::Uses);
        rows.map(|one| format!("{} {} {}", one.distance, one.path, one.why.unwrap_or_default()))
            .collect()
    };
    let all = ["P#Get(int)", "P#Get(string)", "P#Get(bool)"];
    assert_eq!(reached(&all), ["1 U#One(object) ", "2 V#X() "]);
    assert_eq!(reached(&all[..2]), ["1 U#One(object) the arguments also fit 2 overloads"]);
    assert_eq!(reached(&all[..1]), ["1 U#One(object) the arguments also fit 2 overloads"]);
}

#[test]
fn implementations_and_overrides_of_a_changed_member_are_reached() {
    let (rows, _) = reached(&["N.IShop#Price(int)", "N.Shop#Rest()"], 1);
    assert!(rows.contains(&"1 implements N.Shop#Price(int)".to_owned()), "{rows:?}");
    assert!(rows.contains(&"1 overrides N.Market#Rest()".to_owned()), "{rows:?}");
}

#[test]
fn lines_are_those_of_members() {
    let mut sample = sample();
    let symbols = sample.names();
    let mut at = |lines: &[(u32, u32)]| {
        let lines = ChangedLines::from([("src/a.cs".to_owned(), lines.to_vec()), ("README.md".to_owned(), vec![(1, 1)])]);
        at_lines(&mut sample, &symbols, &lines)
            .expect("members")
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(at(&[(4, 4)]), ["N.Shop#Price(int)"]);
    assert_eq!(at(&[(3, 5)]), ["N.Shop#Price(int)", "N.Shop#Tax(int)"]);
    assert_eq!(at(&[(3, 3)]), ["N.Shop"]);
    assert!(at(&[(1, 1)]).is_empty());
}

#[test]
fn inherited_tests_run_in_the_classes_that_inherit_them() {
    let code = "namespace T; class Shop { public int Tax() => 1; public int Rest() => 2; }
public abstract class Base { protected Base() { new Shop().Rest(); } [Fact] public void InBase() => new Shop().Tax(); }
public class First : Base { [Fact] public void Own() { } } public class Second : First { }";
    let filter_of = |changed: &str| {
        let mut sample = Sample::from_files(&[("a.cs", code)]);
        let symbols = sample.names();
        let changed = BTreeSet::from([changed.to_owned()]);
        impact(&mut sample, &symbols, &changed, 9, &BTreeSet::new())
            .expect("an impact")
            .filter()
    };
    let all = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("FullyQualifiedName~T.{name}"))
            .collect::<Vec<_>>()
            .join("|")
    };
    let of_base = ["Base.InBase", "First.InBase", "Second.InBase"];
    assert_eq!(filter_of("T.Shop#Tax()"), all(&of_base));
    assert_eq!(filter_of("T.Shop#Rest()"), all(&["Base.InBase", "First.", "Second."]));
}
