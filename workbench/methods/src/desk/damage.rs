//! Damage of the store that a request met.

use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;

/// Limit of damaged rows reported one by one.
const MOST_DAMAGE: usize = 5;

/// Describes the first damaged rows, and the number of all.
pub fn describe_damage(met: Vec<String>) -> Vec<Diagnostic> {
    let count = met.len();
    let mut diagnostics: Vec<Diagnostic> = met
        .into_iter()
        .take(MOST_DAMAGE)
        .map(|words| Diagnostic::warning(ErrorCode::W_STORE_DAMAGED, words))
        .collect();
    if count > MOST_DAMAGE {
        let more = format!("{} more rows of the store are damaged and read as absent", count - MOST_DAMAGE);
        let why = Diagnostic::warning(ErrorCode::W_STORE_DAMAGED, more);
        diagnostics.push(why.hint("`cortex store verify --repair` lists and drops them"));
    }
    diagnostics
}
