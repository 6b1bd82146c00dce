//! The resolved symbol in the form of every answer (seed 000 §6).

use crate::desk::Desk;
use crate::failed::Failed;
use engine::values::label::unescape;
use engine::values::table::Table;
use producers::csharp::members::MemberRow;
use producers::csharp::types::TypeRow;
use workbench::last_good::{label_of_type, parts};

pub use workbench::symbols::resolve::Resolved;

/// Resolves the label of a type's or member's target; returns also the files of the type. The identifiers are those of the present sources: a deleted
/// type has none.
pub fn resolve_target(desk: &mut Desk<'_>, target: &str) -> Result<(Resolved, Vec<String>), Failed> {
    let Some((key, rest)) = parts(target) else {
        let resolved = Resolved {
            path: target.to_owned(),
            type_id: String::new(),
            member_id: None,
        };
        return Ok((resolved, Vec::new()));
    };
    let types = desk.output_of_label("//index:types")?.bytes;
    let row = Table::open(&types).and_then(|table| serde_json::from_slice::<TypeRow>(table.get(&key)?).ok());
    let files = row.as_ref().map(|row| row.files.clone()).unwrap_or_default();
    let mut found = Resolved {
        path: key.clone(),
        type_id: row.as_ref().map(|row| row.id.clone()).unwrap_or_default(),
        member_id: None,
    };
    let Some((member, _)) = rest.strip_prefix('#').and_then(|rest| rest.rsplit_once(':')) else {
        return Ok((found, files));
    };
    let member = unescape(member);
    found.path = format!("{key}#{member}");
    if row.is_some() {
        let members = desk.output_of_label(&label_of_type(&key, ":members"))?.bytes;
        let row = Table::open(&members).and_then(|table| serde_json::from_slice::<MemberRow>(table.get(&member)?).ok());
        found.member_id = row.map(|row| format!("{}_{}", found.type_id, row.id));
    }
    Ok((found, files))
}
