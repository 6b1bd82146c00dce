//! Types to summarise, and desks with them.

use super::{Desk, manifest};
use engine::seams::producer::Failure;
use engine::values::diagnostic::Diagnostic;

pub const CLOCK: &str = "namespace N;\n/// <summary>Tells the time.</summary>\npublic interface IClock { long Now { get; } }\n";
pub const STORE: &str = r#"
namespace N;
/// <summary>Keeps things. DOCWORD.</summary>
public sealed class Store
{
    private readonly IClock _clock;
    private readonly object _gate = new();
    private int _count;
    public Store(IClock clock) { _clock = clock ?? throw new ArgumentNullException(nameof(clock)); }
    public int Count => _count;
    public void Put(string key) { lock (_gate) { _count++; _last = _clock.Now; Trim(16); } }
    public string Get(string key) { if (key == null) { throw new ArgumentNullException(nameof(key)); } return key; }
    private void Trim(int most) { while (_count > most) { _count--; } }
    private long _last;
}
"#;
pub const PAIR: &str = "namespace N;\npublic class A { public B Other { get; } public IClock Clock { get; } public void OfA() { } }\npublic class B { public A Other { get; } public int OfB() { return 1; } }\n";
pub const LABEL: &str = "//types/N.Store:semantic";

pub fn store(params: &str) -> Desk {
    Desk::new(params, &[("src/Clock.cs", CLOCK), ("src/Store.cs", STORE)])
}

pub fn edited(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

pub fn error(code: &str) -> Failure {
    Failure::Permanent(Box::new(Diagnostic::error(code, "no")))
}

pub fn pair(params: &str, model: &str) -> Desk {
    Desk::with(&manifest(params, model), &[("src/Clock.cs", CLOCK), ("src/Pair.cs", PAIR)])
}
