//! `cortex show`: builds a target and prints its output.

use super::last_good;
use super::outputs::outputs;
use crate::cli::ShowArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::printable;
use engine::build::session::Session;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::table::Table;
use std::io::Write;
use std::sync::Arc;

/// Runs it.
pub fn run(context: &Context, args: &ShowArgs) -> Outcome {
    let workspace = context.workspace("show")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    if args.last_good {
        let shown = last_good::find(context, &mut session, "show", &args.label)?;
        return print(context, args, &shown);
    }
    let shown = match output(context, &mut session, &args.label) {
        Ok(shown) => shown,
        Err(failed) => {
            last_good::remark_missing(context, &workspace, &session, "show", &args.label)?;
            return Err(failed);
        }
    };
    last_good::remark(context, &session, "show", std::iter::once(shown.label.as_str()))?;
    print(context, args, &shown)
}

/// An output with its label.
pub struct Shown {
    /// The label it was found under.
    pub label: String,
    /// Its digest.
    pub digest: Digest,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// Builds one label and gives its output.
pub fn output(context: &Context, session: &mut Session, label: &str) -> Result<Shown, Failed> {
    let (report, code) = outputs(context, session, "show", &[label.to_owned()], false)?;
    if code != Code::Ok {
        return Err(Failed {
            code,
            diagnostics: Vec::new(),
        });
    }
    let ([root], [bytes]) = (report.roots.as_slice(), report.outputs.as_slice()) else {
        let why = Diagnostic::error(
            "E_SEVERAL",
            format!("{label} means {} targets, one can be shown", report.roots.len()),
        );
        return Err(Failed::new(Code::Usage, why.hint("name one label, with its ':target'")));
    };
    let gone = || {
        Failed::new(
            Code::Io,
            Diagnostic::error("E_NO_OUTPUT", "the output cannot be read from the store")
                .label(&root.label)
                .hint("run the same command again"),
        )
    };
    let digest = root.output.ok_or_else(gone)?;
    let bytes = bytes.clone().ok_or_else(gone)?;
    Ok(Shown {
        label: root.label.to_string(),
        digest,
        bytes,
    })
}

fn print(context: &Context, args: &ShowArgs, shown: &Shown) -> Outcome {
    let mut out = std::io::stdout().lock();
    let printed = if args.json || context.json() {
        writeln!(
            out,
            "{}",
            serde_json::json!({"label": shown.label, "digest": shown.digest.to_string(), "output": json(&shown.bytes)})
        )
    } else if args.raw {
        out.write_all(&shown.bytes)
    } else if Table::is_table(&shown.bytes) {
        writeln!(out, "{}", serde_json::to_string_pretty(&json(&shown.bytes)).unwrap_or_default())
    } else {
        match std::str::from_utf8(&shown.bytes) {
            Ok(text) => out.write_all(printable(text).as_bytes()),
            // What a pipe leads to is not known, so bytes that are no text go out only when asked for.
            Err(_) => {
                let why = Diagnostic::error("E_BINARY", format!("the output is {} bytes that are no text", shown.bytes.len()))
                    .label(&shown.label);
                return Err(Failed::new(Code::Usage, why.hint("give --raw and send it to a file or a program")));
            }
        }
    };
    written(printed)
}

/// What writing to standard output came to. A reader that goes away has had enough; that is no error.
pub fn written(result: std::io::Result<()>) -> Outcome {
    match result {
        Ok(()) => Ok(Code::Ok),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Code::Ok),
        Err(error) => Err(Failed::new(
            Code::Io,
            Diagnostic::error("E_WRITE", format!("standard output cannot be written: {error}")).hint("make room, or send it elsewhere"),
        )),
    }
}

/// An output as JSON: tables as objects, JSON as it is, text as a string, anything else as its length.
pub fn json(bytes: &[u8]) -> serde_json::Value {
    if let Some(table) = Table::open(bytes) {
        return table
            .rows()
            .map(|(key, value)| (key.to_owned(), json(value)))
            .collect::<serde_json::Map<_, _>>()
            .into();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if text.starts_with(['{', '[']) => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        Ok(text) => text.into(),
        Err(_) => serde_json::json!({ "bytes": bytes.len() }),
    }
}
