//! `cortex diff`: what two versions of a target differ in.

use super::{history, show};
use crate::cli::DiffArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::versions::{self, Difference};
use engine::values::diagnostic::Diagnostic;
use std::io::Write;
use workbench::versions::{Version, blob, input_changes};

/// Runs it.
pub fn run(context: &Context, args: &DiffArgs) -> Outcome {
    let workspace = context.workspace("diff")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let (label, found) = history::of(context, &workspace, &mut session, &args.label)?;
    let none = |number: i64| {
        let numbers: Vec<String> = found.iter().map(|version| version.number.to_string()).collect();
        let why = Diagnostic::error("E_NO_VERSION", format!("there is no version {number} of it")).label(&label);
        Failed::new(Code::Usage, why.hint(format!("there are {}", numbers.join(", "))))
    };
    let at = |number: i64| {
        found
            .iter()
            .position(|version| version.number == number)
            .ok_or_else(|| none(number))
    };
    let to = args.to.map_or(Ok(found.len() - 1), at)?;
    let from = match args.from {
        Some(number) => at(number)?,
        None => to.checked_sub(1).ok_or_else(|| {
            let why = Diagnostic::error("E_NO_VERSION", "there is no earlier version to compare with").label(&label);
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
            blob(&session, change.from.as_ref())?,
            blob(&session, change.to.as_ref())?,
        ));
    }
    let difference = Difference {
        label: &label,
        from,
        to,
        outputs: (blob(&session, Some(&from.output))?, blob(&session, Some(&to.output))?),
        inputs,
        known: changes.is_some(),
    };
    let text = if context.json() {
        format!("{:#}\n", versions::difference_json(&difference))
    } else {
        versions::difference(&difference, context.out)
    };
    show::written(write!(context.stdout(), "{text}"))
}
