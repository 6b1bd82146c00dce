//! `cortex usages`: every place that uses a type or a member, what is certain apart from what is possible.

use super::outputs::outputs;
use super::show;
use crate::cli::UsagesArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::printable;
use engine::build::session::Session;
use std::io::Write;
use workbench::symbols::outputs::{Output, Outputs, SymbolError, Trouble};
use workbench::symbols::usages::{Usages, usages};

/// Runs it.
pub fn run(context: &Context, args: &UsagesArgs) -> Outcome {
    let workspace = context.building("usages")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let mut built = Built {
        context,
        session: &mut session,
        worst: Code::Ok,
    };
    let found = usages(&mut built, &args.symbol)?;
    let code = built.worst;
    print(context, args, &found)?;
    // What could not be read was said; the list is not whole then.
    Ok(code)
}

/// Outputs, built first. What cannot be made is said on the way.
struct Built<'b> {
    context: &'b Context,
    session: &'b mut Session,
    worst: Code,
}

impl Outputs for Built<'_> {
    type Error = Failed;

    fn read(&mut self, labels: &[String]) -> Result<Vec<Output>, Failed> {
        // Without an index there is nothing to look in.
        if let [label] = labels
            && label.starts_with("//index:")
        {
            let shown = show::output(self.context, self.session, label)?;
            return Ok(vec![Output {
                label: shown.label,
                bytes: Some(shown.bytes),
            }]);
        }
        let (report, code) = outputs(self.context, self.session, "usages", labels, true)?;
        if code != Code::Ok {
            self.worst = code;
        }
        let labels = report.roots.iter().map(|root| root.label.to_string());
        Ok(labels.zip(report.outputs).map(|(label, bytes)| Output { label, bytes }).collect())
    }
}

impl From<SymbolError> for Failed {
    fn from(error: SymbolError) -> Self {
        let code = match error.trouble {
            Trouble::Damaged => Code::StoreDamaged,
            Trouble::Asked | Trouble::NotFound | Trouble::Ambiguous => Code::Usage,
        };
        Self::new(code, *error.diagnostic)
    }
}

fn print(context: &Context, args: &UsagesArgs, found: &Usages) -> Outcome {
    let mut out = context.stdout();
    if args.json || context.json() {
        let document = serde_json::json!(found);
        return show::written(writeln!(out, "{document:#}"));
    }
    let mut text = String::new();
    for place in &found.certain {
        text.push_str(&format!("{}:{}:{}: {}\n", place.file, place.line, place.column, place.text));
    }
    if !found.possible.is_empty() {
        text.push_str("possible:\n");
        for place in &found.possible {
            text.push_str(&format!("{}:{}:{}: {}\n", place.file, place.line, place.column, place.text));
        }
    }
    show::written(write!(out, "{}", printable(&text)))
}
