//! `cortex outline`: builds and prints the outlines of types.

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
    let workspace = context.workspace("outline")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let (report, code) = outputs(context, &mut session, "outline", &labels, true)?;
    let shown: Vec<_> = report
        .roots
        .iter()
        .zip(&report.outputs)
        .filter_map(|(root, bytes)| Some((root, bytes.as_ref()?)))
        .collect();
    let mut out = std::io::stdout().lock();
    if json {
        let mut outputs: Vec<serde_json::Value> = shown.iter().map(|(_, bytes)| show::json(bytes)).collect();
        let document = if labels.len() == 1 && outputs.len() == 1 {
            outputs.remove(0)
        } else {
            outputs.into()
        };
        show::written(writeln!(out, "{document:#}"))?;
        return Ok(code);
    }
    for (at, (root, bytes)) in shown.iter().enumerate() {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(Failed::new(
                Code::Usage,
                Diagnostic::error("E_BINARY", "the output is no text")
                    .label(&root.label)
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
