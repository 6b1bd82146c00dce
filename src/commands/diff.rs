//! `cortex diff`: what two versions of a target differ in.

use super::{history, show};
use crate::cli::DiffArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::versions::{self, Difference};
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::io::Write;
use workbench::versions::{Version, blob, input_changes};
use workbench::workspace::Workspace;

/// Runs it.
pub fn run(context: &Context, args: &DiffArgs) -> Outcome {
    let workspace = context.workspace("diff")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let asked = (args.label.as_str(), args.from, args.to);
    let text = compare_versions(context, &workspace, &mut session, asked, |difference| match context.json() {
        true => format!("{:#}\n", versions::difference_json(difference)),
        false => versions::difference(difference, context.out),
    })?;
    show::written(write!(context.stdout(), "{text}"))
}

/// What two versions of a target differ in, by label and numbers, as `page` writes it.
pub fn compare_versions<T>(
    context: &Context,
    workspace: &Workspace,
    session: &mut Session,
    (label, from, to): (&str, Option<i64>, Option<i64>),
    page: impl FnOnce(&Difference<'_>) -> T,
) -> Result<T, Failed> {
    let (label, found) = history::of(context, workspace, session, label)?;
    let none = |number: i64| {
        let numbers: Vec<String> = found.iter().map(|version| version.number.to_string()).collect();
        let why = Diagnostic::error(ErrorCode::E_NO_VERSION, format!("there is no version {number} of it")).label(&label);
        Failed::new(Code::Usage, why.hint(format!("there are {}", numbers.join(", "))))
    };
    let at = |number: i64| {
        found
            .iter()
            .position(|version| version.number == number)
            .ok_or_else(|| none(number))
    };
    let to = to.map_or(Ok(found.len() - 1), at)?;
    let from = match from {
        Some(number) => at(number)?,
        None => to.checked_sub(1).ok_or_else(|| {
            let why = Diagnostic::error(ErrorCode::E_NO_VERSION, "there is no earlier version to compare with").label(&label);
            Failed::new(Code::Usage, why.hint(format!("`cortex history '{label}'` lists what there is")))
        })?,
    };
    let (from, to): (&Version, &Version) = (&found[from], &found[to]);
    let changes = match (&from.record, &to.record) {
        (Some(from), Some(to)) => Some(input_changes(from, to)),
        _ => None,
    };
    let mut inputs = Vec::new();
    for change in changes.iter().flatten() {
        inputs.push((
            change.clone(),
            blob(session, change.from.as_ref())?,
            blob(session, change.to.as_ref())?,
        ));
    }
    let difference = Difference {
        label: &label,
        from,
        to,
        outputs: (blob(session, Some(&from.output))?, blob(session, Some(&to.output))?),
        inputs,
        known: changes.is_some(),
    };
    Ok(page(&difference))
}
