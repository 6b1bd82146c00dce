//! `cortex outline`: builds and prints the outlines of types.

use super::last_good;
use super::outputs::outputs;
use super::show;
use crate::cli::OutlineArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::printable;
use engine::values::diagnostic::Diagnostic;
use std::io::Write;

/// Runs it.
pub fn run(context: &Context, args: &OutlineArgs) -> Outcome {
    let json = args.json || context.json();
    let labels: Vec<String> = args.symbols.iter().map(|symbol| label(symbol, json)).collect();
    let workspace = context.building("outline")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    if args.last_good {
        let mut found = Vec::new();
        for label in &labels {
            found.push(last_good::find(context, &mut session, "outline", label)?);
        }
        let shown: Vec<(&str, &[u8])> = found.iter().map(|found| (found.label.as_str(), &*found.bytes)).collect();
        return print(context, &shown, json, labels.len(), Code::Ok);
    }
    let (report, code) = match outputs(context, &mut session, "outline", &labels, true) {
        Ok(made) => made,
        Err(failed) => {
            for label in &labels {
                last_good::remark_missing(context, &workspace, &session, Some("outline"), label)?;
            }
            return Err(failed);
        }
    };
    let shown: Vec<(&str, &[u8])> = report
        .roots
        .iter()
        .zip(&report.outputs)
        .filter_map(|(root, bytes)| Some((&*root.label, bytes.as_deref()?)))
        .collect();
    last_good::remark(context, &session, "outline", shown.iter().map(|(label, _)| *label))?;
    print(context, &shown, json, labels.len(), code)
}

/// Prints outlines; `asked` is how many symbols were named.
fn print(context: &Context, shown: &[(&str, &[u8])], json: bool, asked: usize, code: Code) -> Outcome {
    let mut out = context.stdout();
    if json {
        let mut outputs: Vec<serde_json::Value> = shown.iter().map(|(_, bytes)| show::json(bytes)).collect();
        let document = if asked == 1 && outputs.len() == 1 {
            outputs.remove(0)
        } else {
            outputs.into()
        };
        show::written(writeln!(out, "{document:#}"))?;
        return Ok(code);
    }
    for (at, (label, bytes)) in shown.iter().enumerate() {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(Failed::new(
                Code::Usage,
                Diagnostic::error("E_BINARY", "the output is no text")
                    .label(label)
                    .hint("use `cortex show --raw`"),
            ));
        };
        let gap = if at > 0 { "\n" } else { "" };
        show::written(write!(out, "{gap}{}", printable(text)))?;
    }
    Ok(code)
}

/// The label that a symbol or label means; as JSON the outline's data are meant.
fn label(symbol: &str, json: bool) -> String {
    let target = if json { "outline-info" } else { "outline" };
    match symbol.strip_suffix(":outline").filter(|_| json) {
        Some(package) if symbol.starts_with("//") => format!("{package}:{target}"),
        _ if symbol.starts_with("//") => symbol.to_owned(),
        _ => format!("//types/{symbol}:{target}"),
    }
}
