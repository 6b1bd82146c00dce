//! `cortex edit-output`: replaces an output with a person's text.

use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::desk::{build, names};
use crate::failed::Failed;
use clap::Args;
use engine::build::Options;
use engine::build::query::NodeState;
use engine::build::request::Request;
use engine::build::session::Session;
use engine::store::corrections;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::digest::Digest;
use std::path::PathBuf;
use workbench::correction::{
    CORRECTED, LONGEST, Refused, compose_correction, corrected_sections, notes_of_correction, release_corrections,
};
use workbench::editor::{self, EditError};
use workbench::short_names::with_target;
use workbench::status::target_status;

/// Correct an output of a model by hand.
///
/// cortex marks your changes and keeps them until you release them. Later answers start from them.
#[derive(Debug, Args)]
pub struct EditOutputArgs {
    /// The target.
    pub label: String,
    /// Read the text from FILE (- for standard input) instead of opening an editor ($VISUAL, $EDITOR).
    #[arg(long, value_name = "FILE", conflicts_with = "version")]
    pub file: Option<PathBuf>,
    /// Restore an earlier version, by its number in `cortex history`.
    #[arg(long, value_name = "N")]
    pub version: Option<u32>,
    /// Release your corrections: the text stays until it is next built, and then contains none of them.
    #[arg(long, conflicts_with_all = ["file", "version"])]
    pub release: bool,
}

/// Result of a correction.
pub struct EditedOutput {
    /// Outcome of the command.
    pub code: Code,
    /// Line for the person: what was corrected.
    pub line: Option<String>,
}

impl Default for EditedOutput {
    fn default() -> Self {
        Self {
            code: Code::Ok,
            line: None,
        }
    }
}

/// Runs `cortex edit-output`.
///
/// `editor`: the program that a person edits with.
/// Fails when the text cannot be read, or the output cannot be corrected.
pub fn run_edit_output(context: &RequestContext, args: &EditOutputArgs, editor: Option<&str>) -> Result<EditedOutput, Failed> {
    let workspace = context.building("edit-output")?;
    let mut session = workspace.session()?;
    context.say_of_manifest(&workspace);
    let text = with_target(&args.label, "semantic");
    let label = names::one_label(&mut session, &text, "corrected")?;
    let nothing = || {
        let why = Diagnostic::error(ErrorCode::E_NO_OUTPUT, "there is no output to correct").label(&label);
        Failed::new(Code::Usage, why.hint(format!("cortex build '{label}'")))
    };
    check_correctable(&session, &label)?;
    let last = session.last(&label)?.ok_or_else(nothing)?;
    let old = session.engine.store.output(&last.result.output)?.ok_or_else(nothing)?;
    let old = String::from_utf8_lossy(&old).into_owned();
    // Editing takes long, so release the store lock. The checkout stays locked, so that the corrected answer remains the latest.
    session.engine.store.release_lock();
    let (new, noted, words) = if args.release {
        (old.clone(), release_corrections(&last.record.notes), corrections::Words::new())
    } else {
        let new = match (args.version, &args.file) {
            (Some(number), _) => version(&mut session, &label, number)?,
            (None, Some(file)) => editor::read_edited_file(file, LONGEST as u64 + 1).map_err(|error| edit_failed(&label, error))?,
            (None, None) => editor::edit(editor, &old, LONGEST as u64 + 1).map_err(|error| edit_failed(&label, error))?,
        };
        let new = compose_correction(&old, &new).map_err(|refused| refuse(&label, refused))?;
        let text = new.summary_file();
        if text == old {
            context.say(&[Diagnostic::new(Severity::Note, ErrorCode::N_SAME, "nothing was changed").label(&label)]);
            return Ok(EditedOutput::default());
        }
        let noted = notes_of_correction(&old, &new, &last.record.notes);
        // Earlier corrections of this checkout that the new version lacks remain in force.
        let before = corrections::list_corrections(&*session.engine.store, &label)?;
        let before = before.into_iter().find(|record| record.view == session.engine.view);
        let mut words = before.map(|record| record.words).unwrap_or_default();
        words.extend(new.words_of_sections(corrected_sections(&noted)));
        (text, noted, words)
    };
    let by_hand = noted.get(CORRECTED).cloned().unwrap_or_default();
    session.correct(&label, new.into_bytes(), noted, words)?.ok_or_else(nothing)?;
    if !last.current {
        let state = target_status(&context.root_around().unwrap_or_default(), &mut session, &label)?.state;
        let why = match state {
            NodeState::MaybeStale => {
                "one of its indirect inputs has changed; if the change reaches it, a build asks for a patch of your text"
            }
            _ => "its inputs have changed; the next build asks for a patch of your text",
        };
        context.say(&[Diagnostic::new(Severity::Note, ErrorCode::N_STALE, why).label(&label)]);
    } else {
        // Lay the file out with the correction.
        let request = Request {
            patterns: build::patterns(std::slice::from_ref(&label))?,
            digest: Digest::of(label.as_bytes()),
            options: Options::default(),
            list: false,
            outputs: false,
        };
        let mut session = workspace.session()?;
        let report = build::build(context, &mut session, &request)?;
        if build::code(&report) != Code::Ok {
            return Ok(EditedOutput {
                code: build::code(&report),
                line: None,
            });
        }
    }
    let what = match (args.release, by_hand.as_str()) {
        (true, _) => "your corrections are released; the next answer replaces them".to_owned(),
        (false, "") => "corrected".to_owned(),
        (false, sections) => format!("corrected; yours now: {}", sections.replace(',', ", ")),
    };
    Ok(EditedOutput {
        code: Code::Ok,
        line: Some(format!("{label}: {what}")),
    })
}

/// Refuses targets that no model answers, and summaries of groups.
fn check_correctable(session: &Session, label: &str) -> Result<(), Failed> {
    if !workbench::paid::is_paid(session, label) {
        let why = Diagnostic::error(
            ErrorCode::E_NOT_PAID,
            "no model writes it: the next build would rebuild it from its inputs",
        )
        .label(label);
        return Err(Failed::new(Code::Usage, why.hint("only answers of models can be corrected")));
    }
    if label.starts_with("//groups/") {
        let why = Diagnostic::error(
            ErrorCode::E_GROUP,
            "it is the summary of a group, and groups change with dependencies",
        )
        .label(label);
        return Err(Failed::new(
            Code::Usage,
            why.hint("correct the summary of one of its types: //types/TYPE:semantic"),
        ));
    }
    Ok(())
}

fn edit_failed(label: &str, error: EditError) -> Failed {
    let (code, hint) = match &error {
        EditError::None => (Code::Usage, "set EDITOR, or give the text with --file FILE (- for standard input)"),
        EditError::Ended(_) => (Code::Usage, "nothing was changed; try again"),
        EditError::NotStarted(_) => (Code::Usage, "set EDITOR to an existing program"),
        EditError::Unreadable { .. } => (Code::Io, "give a text file, or - for standard input"),
        EditError::NoPlace(_) => (Code::Io, "check TMPDIR"),
    };
    Failed::new(
        code,
        Diagnostic::error(ErrorCode::E_EDITOR, error.to_string()).label(label).hint(hint),
    )
}

fn refuse(label: &str, refused: Refused) -> Failed {
    let (why, hint) = match refused {
        Refused::Long => (format!("the text is longer than {LONGEST} bytes"), "shorten it".to_owned()),
        Refused::Control(line) => (
            format!("line {line} contains a control character"),
            "write plain text; tabs and line breaks are fine".to_owned(),
        ),
        Refused::Heading(line) => (
            format!("line {line} begins with '#', which would be read as a heading of the file"),
            "write it without '#', or indent it".to_owned(),
        ),
        Refused::Unknown(names) => (
            format!("there is no section {} in it", names.join(", ")),
            "declare your own sections in cortex.toml (params.sections of the producer), or write this as an item of another section"
                .to_owned(),
        ),
        Refused::Twice(name) => (format!("the section {name} occurs twice"), "remove one of them".to_owned()),
        Refused::Empty(name) => (
            format!("the section {name} is empty"),
            "write \"- None.\" if there is nothing to say".to_owned(),
        ),
        Refused::LongSection(name, len) => (
            format!(
                "the section {name} has {len} bytes; {} are the most",
                producers::semantic::LONGEST_SECTION
            ),
            "shorten it".to_owned(),
        ),
        Refused::Missing(names) => (
            format!("the sections {} are missing", names.join(", ")),
            "keep every section's line, such as ROLE:, and write your text below it".to_owned(),
        ),
    };
    Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_CORRECTION, why).label(label).hint(hint))
}

fn version(session: &mut Session, label: &str, number: u32) -> Result<String, Failed> {
    let found = workbench::versions::versions(session, label)?;
    let wanted = found.iter().find(|version| version.number == i64::from(number));
    let blob = workbench::versions::blob_of_version(session, wanted.map(|version| &version.output))?;
    let text = blob.and_then(|blob| String::from_utf8(blob.to_vec()).ok());
    text.ok_or_else(|| {
        let why = Diagnostic::error(ErrorCode::E_NO_VERSION, format!("History does not have version {number} of it")).label(label);
        Failed::new(Code::Usage, why.hint(format!("`cortex history '{label}'` lists its versions")))
    })
}
