//! Certain and possible uses of overloads, which arguments, literals and documentation select.

use super::samples::Sample;
use super::usages::Usages;
use super::usages_tests::{certain, find_usages, possible};

#[test]
fn references_in_documentation_select_overloads_by_their_parameters() {
    let text = "class A {
public void Get(int x) { }
public void Get(string x, System.Collections.Generic.List<int> y) { }
}
/// <see cref=\"A.Get(int)\"/>
/// <see cref=\"A.Get(string, System.Collections.Generic.List{int})\"/>
/// <see cref=\"A.Get\"/>
class B { }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "A#Get(int)");
    assert_eq!(certain(&found), ["5:/// <see cref=\"A.Get(int)\"/>"]);
    assert_eq!(
        (found.possible.len(), found.possible.keys().map(|place| place.line).next()),
        (1, Some(7))
    );
}

#[test]
fn overloads_are_told_apart_by_arguments() {
    let text = "class A {
public void Get(int x) { }
public void Get(string x, int y = 3) { }
public void Get(string[] all) { }
public int Count; }
class B : A { public void Get(bool deep) { } }
static class E { public static void Put(this A a, int x) { } public static void Put(this A a, int x, int y) { } }
class C {
void M(A a, B b, object o) {
a.Get(1);
a.Get(\"s\");
a.Get(o);
a.Get(y: 2, x: null);
System.Action<int> f = a.Get;
a.Put(1);
E.Put(a, 1, 2);
b.Get(true);
b.Get(2);
a.Count = 1;
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let answer = |sample: &mut Sample, symbol: &str| {
        let (_, found) = find_usages(sample, symbol);
        (certain(&found), possible(&found))
    };
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
    let named = "14:System.Action<int> f = a.Get; the code names the method without calling it, and does not say which overload it means";
    let (sure, maybe) = answer(&mut sample, "A#Get(int)");
    assert_eq!(sure, ["10:a.Get(1);", "18:b.Get(2);"]);
    assert_eq!(maybe, lines(&["12:a.Get(o); the arguments also fit 2 overloads", named]));
    let (sure, maybe) = answer(&mut sample, "A#Get(string,int)");
    assert_eq!(sure, ["11:a.Get(\"s\");", "13:a.Get(y: 2, x: null);"]);
    assert_eq!(maybe, lines(&["12:a.Get(o); the arguments also fit 2 overloads", named]));
    // Of the name alone all of them are uses.
    let (subject, all) = find_usages(&mut sample, "A.Get");
    assert_eq!((subject.path.as_str(), subject.member_id, all.certain.len()), ("A#Get", None, 6));
    assert_eq!(possible(&all), ["17:b.Get(true); through B#Get"]);
    assert_eq!(answer(&mut sample, "E#Put(A,int)"), (lines(&["15:a.Put(1);"]), Vec::new()));
    assert_eq!(
        answer(&mut sample, "E#Put(A,int,int)"),
        (lines(&["16:E.Put(a, 1, 2);"]), Vec::new())
    );
    assert_eq!(answer(&mut sample, "B#Get(bool)"), (lines(&["17:b.Get(true);"]), Vec::new()));
    assert_eq!(answer(&mut sample, "A.Count"), (lines(&["19:a.Count = 1;"]), Vec::new()));
}

#[test]
fn arguments_of_the_very_type_choose_an_overload() {
    let text = "using System; using System.Threading; using Nowhere;
class Base { } class Heir : Base { public CancellationToken Token; public static Heir operator +(Heir a, Base b) => a; }
class P {
public void Get(CancellationToken t = default) { }
public void Get(string s, CancellationToken t = default) { }
public void Get(Base b) { }
public void Get(Heir h) { }
public void Get(Package p) { }
public void Get(object o) { }
}
class C { Package own; void M(P p, CancellationToken t, Base b, Heir h, bool c) {
p.Get(t);
p.Get(CancellationToken.None);
p.Get(h.Token);
p.Get(h?.Token);
p.Get(b);
p.Get(c ? h : b);
p.Get(h ?? b);
p.Get(h);
p.Get(own);
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let lines = |found: &Usages| found.certain.iter().map(|place| place.line).collect::<Vec<u32>>();
    let maybe = |found: &Usages| found.possible.keys().map(|place| place.line).collect::<Vec<u32>>();
    for (symbol, sure, possible) in [
        ("P#Get(CancellationToken)", &[12, 13, 14][..], &[15][..]),
        ("P#Get(Base)", &[16, 17, 18], &[15]),
        ("P#Get(Heir)", &[19], &[15]),
        ("P#Get(Package)", &[20], &[15]),
        ("P#Get(object)", &[], &[15]),
    ] {
        let (_, found) = find_usages(&mut sample, symbol);
        assert_eq!((lines(&found), maybe(&found)), (sure.to_vec(), possible.to_vec()), "{symbol}");
    }
}

#[test]
fn the_types_of_arguments_exclude_overloads_of_other_types() {
    let text = "class X { } interface I { }
static class One { public static void Put(this X x, X y) { } }
static class Two { public static void Put(this X x, object y) { } }
class C { void M(X x, object o) {
x.Put(x);
x.Put(o);
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "One#Put(X,X)");
    assert_eq!((certain(&found), possible(&found)), (vec!["5:x.Put(x);".to_owned()], Vec::new()));
    let (_, found) = find_usages(&mut sample, "Two#Put(X,object)");
    assert_eq!(certain(&found), ["6:x.Put(o);"]);
}

#[test]
fn a_call_that_fits_no_overload_of_the_heir_means_the_base() {
    let text = "class P { public void Go(string s, int n = 3) { } }
class Q : P { public void Go(int x) { } public void Go(params string[] all) { } }
class C { void M(Q q) {
q.Go(\"a\", n: 5);
q.Go(s: \"a\");
q.Go(1);
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "P#Go(string,int)");
    assert_eq!(possible(&found), [""; 0]);
    assert_eq!(certain(&found), ["4:q.Go(\"a\", n: 5);", "5:q.Go(s: \"a\");"]);
}

#[test]
fn literals_decide_among_numbers() {
    let text = "class A { public void F(int x) { } public void F(long x) { } public void F(double x) { } }
class C { void M(A a) {
a.F(1);
a.F(-0x7fff_ffff);
a.F('c');
a.F(1L);
a.F(3000000000);
a.F(1u);
a.F(1.0);
a.F(-1e3f);
a.F(a.GetHashCode());
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let mut lines = |symbol: &str| {
        let (_, found) = find_usages(&mut sample, symbol);
        let certain: Vec<u32> = found.certain.iter().map(|place| place.line).collect();
        let possible: Vec<u32> = found.possible.keys().map(|place| place.line).collect();
        (certain, possible)
    };
    // Of a value the type is not as certain as of a literal.
    assert_eq!(lines("A#F(int)"), (vec![3, 4, 5], vec![11]));
    assert_eq!(lines("A#F(long)"), (vec![6, 7, 8], vec![11]));
    assert_eq!(lines("A#F(double)"), (vec![9, 10], vec![11]));
}

#[test]
fn a_named_argument_out_of_its_position_before_a_positional_one_excludes_an_overload() {
    let text = "class Q { public void Put(string a, bool b, string c, int d) { } }
static class X { public static void Put(this Q q, string a, bool b, int d, object e) { } }
class C { void M(Q q) {
q.Put(\"a\", b: true, d: 1, new object());
q.Put(\"a\", d: 1, b: true, c: \"c\");
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let lines = |found: &Usages| found.certain.iter().map(|place| place.line).collect::<Vec<u32>>();
    assert_eq!(lines(&find_usages(&mut sample, "X.Put").1), [4]);
    assert_eq!(lines(&find_usages(&mut sample, "Q.Put").1), [5]);
}

#[test]
fn an_override_is_not_called_where_another_member_of_its_type_fits() {
    let text = "class Base { public virtual void V(int i) { } }
class Derived : Base { public override void V(int i) { } public void V(long l) { } }
class User {
void T(Derived d) {
d.V(3);
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "Derived.V(long)");
    assert_eq!(certain(&found), ["5:d.V(3);"]);
    let (_, found) = find_usages(&mut sample, "Derived.V(int)");
    assert_eq!((certain(&found), possible(&found)), (Vec::new(), Vec::new()));
}

#[test]
fn conversions_are_told_apart_by_parameter_and_result() {
    let text = "struct Code {
public static implicit operator int(Code code) => 1;
public static implicit operator string(Code code) => \"\";
public static implicit operator Code(int number) => default; }
class User {
void Text(string text) { }
void T(Code code) {
Code other = 5;
Text(code);
int number = code;
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    for (symbol, line) in [
        ("Code#op_Implicit(Code)->string", "9:Text(code);"),
        ("Code#op_Implicit(Code)->int", "10:int number = code;"),
        ("Code#op_Implicit(int)->Code", "8:Code other = 5;"),
    ] {
        let (_, found) = find_usages(&mut sample, symbol);
        assert_eq!((certain(&found), possible(&found)), (vec![line.to_owned()], Vec::new()), "{symbol}");
    }
}
