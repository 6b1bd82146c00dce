//! Builds that a request needs: their requests, what follows each build, and how one ended.

use super::request_context::RequestContext;
use crate::code::Code;
use crate::failed::Failed;
use crate::render::Style;
use crate::render::summary;
use engine::build::request::{Report, Request};
use engine::build::session::Session;
use engine::build::{BuildMode, Options};
use engine::seams::producer::Cancel;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Excerpt, Severity};
use engine::values::digest::Digest;
use engine::values::event::{Event, FinishedJob, Observer, Phase};
use engine::values::pattern::PatternSet;
use workbench::generating::Generating;
use workbench::short_names::expand_short_name;
use workbench::suggestions;

/// Creates the request of patterns without flags. Keeps going after a failure unless the only pattern is a single label.
pub fn default_request(patterns: &[String]) -> Result<Request, Failed> {
    let digest = digest_of_patterns(patterns);
    let patterns = self::patterns(patterns)?;
    let single = patterns.patterns().len() == 1 && patterns.patterns()[0].literal().is_some();
    Ok(Request {
        digest,
        patterns,
        options: Options {
            jobs: default_jobs(),
            keep_going: !single,
            ..Options::default()
        },
        list: false,
        outputs: false,
    })
}

/// Returns the default number of threads.
pub fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Parses patterns, after expanding names to labels. Reports all wrong ones.
pub fn patterns(texts: &[String]) -> Result<PatternSet, Failed> {
    let texts: Vec<String> = texts.iter().map(|text| expand_short_name(text).into_owned()).collect();
    PatternSet::parse(&texts).map_err(|errors| {
        let diagnostics = errors
            .into_iter()
            .map(|(index, error)| {
                let excerpt = Excerpt {
                    text: texts[index].clone(),
                    start: chars_before(&texts[index], error.at),
                    len: 1,
                };
                let diagnostic = Diagnostic::error(ErrorCode::E_LABEL, error.message);
                let diagnostic = Diagnostic {
                    excerpt: Some(excerpt),
                    ..diagnostic
                };
                match error.hint {
                    Some(hint) => diagnostic.hint(hint),
                    None => diagnostic,
                }
            })
            .collect();
        Failed {
            code: Code::Usage,
            diagnostics,
        }
    })
}

fn chars_before(text: &str, at: usize) -> u32 {
    let at = text.floor_char_boundary(at.min(text.len()));
    u32::try_from(text[..at].chars().count()).unwrap_or(u32::MAX)
}

fn digest_of_patterns(patterns: &[String]) -> Digest {
    Digest::of(patterns.join("\0").as_bytes())
}

/// Builds, and reports failures and remarks of producers. Shows the build to the person whose command it is.
pub fn build(context: &RequestContext, session: &mut Session, request: &Request) -> Result<Report, Failed> {
    let report = context.run_observed(|observer, cancel| build_observed(context, session, request, (observer, cancel)))?;
    let changed = report.failures.iter().find(|why| why.code == ErrorCode::E_CHANGED);
    if let Some(changed) = changed.filter(|_| context.is_tried_again()) {
        return Err(Failed::new(Code::TargetFailed, changed.clone()));
    }
    report_findings(context, &report);
    Ok(report)
}

/// Builds under an observer until `cancel`, and does in the checkout what follows each build. Reports nothing.
pub fn build_observed(
    context: &RequestContext,
    session: &mut Session,
    request: &Request,
    (observer, cancel): (&dyn Observer, &Cancel),
) -> Result<Report, Failed> {
    // Other processes see in the checkout which targets wait for a model.
    let generating = context
        .root_around()
        .filter(|_| !context.leaves_checkout())
        .map(|root| Generating::new(&root));
    let noted = generating.as_ref().map(|noted| Both(noted, observer));
    let report = session.build(request, noted.as_ref().map_or(observer, |both| both), cancel);
    context.built();
    let mut report = report?;
    suggestions::order(session, &mut report.refused)?;
    if !report.cancelled {
        delete_remains(context, session);
    }
    Ok(report)
}

/// Reports failures, remarks of producers and unknown sets of a build.
pub fn report_findings(context: &RequestContext, report: &Report) {
    context.say(&report.diagnostics);
    context.say(&report.failures);
    context.say(&report.refused);
    context.say(&report.unknown.iter().map(unknown_set).collect::<Vec<_>>());
}

/// Turns an unknown set into a note: a read-only query answers with what is known.
pub fn unknown_set(unknown: &Diagnostic) -> Diagnostic {
    let hint = "`cortex build //...` makes it known; `cortex explain` says what it needs";
    Diagnostic {
        severity: Severity::Note,
        code: ErrorCode::N_UNKNOWN_SET.into(),
        ..unknown.clone()
    }
    .hint(hint)
}

/// Builds all unpaid inputs of these targets. The report lists the model calls that would follow.
pub fn build_free(context: &RequestContext, session: &mut Session, labels: &[String]) -> Result<Report, Failed> {
    let request = Request {
        patterns: patterns(labels)?,
        digest: Digest::of(format!("free\0{}", labels.join("\0")).as_bytes()),
        options: Options {
            jobs: default_jobs(),
            mode: BuildMode::Price,
            keep_going: true,
            own: true,
            ..Options::default()
        },
        list: true,
        outputs: false,
    };
    build(context, session, &request)
}

/// Returns the price of asking models for these targets, in sentences. Builds the unpaid inputs.
pub fn price(context: &RequestContext, session: &mut Session, labels: &[String]) -> Result<String, Failed> {
    let report = build_free(context, session, labels)?;
    let currency = workbench::paid::currency(session);
    let text = summary::prices(&report.plans, 0, currency.as_deref(), Style::plain());
    Ok(summary::as_sentences(&text))
}

/// Observer that passes events to two observers.
pub struct Both<'a>(pub &'a dyn Observer, pub &'a dyn Observer);

impl Observer for Both<'_> {
    fn event(&self, event: &Event<'_>) {
        self.0.event(event);
        self.1.event(event);
    }

    fn job_finished(&self, worked: &FinishedJob<'_>) {
        self.0.job_finished(worked);
        self.1.job_finished(worked);
    }

    fn phase(&self, phase: &Phase) {
        self.0.phase(phase);
        self.1.phase(phase);
    }

    fn laying_out(&self, done: usize, files: usize) {
        self.0.laying_out(done, files);
        self.1.laying_out(done, files);
    }
}

/// Once the checkout is up to date, deletes the remains of merged overlays and closed sessions.
fn delete_remains(context: &RequestContext, session: &Session) {
    if let (false, Some(root)) = (context.leaves_checkout(), context.root_around()) {
        // On an error they stay longer, which is harmless.
        let _ = workbench::overlay::build::release_merged_results(&root, || session.marked().is_empty());
    }
}

/// Returns the exit code of a report.
pub fn code(report: &Report) -> Code {
    if report.cancelled {
        Code::Interrupted
    } else if !report.refused.is_empty() {
        Code::Usage
    } else if report.no_space {
        Code::Io
    } else if report.failures.is_empty() {
        Code::Ok
    } else {
        exit_code_of(&report.failures)
    }
}

/// Returns the exit code of failures: the first code of this list that any failure has, else a general one.
fn exit_code_of(failures: &[Diagnostic]) -> Code {
    let own = [
        (ErrorCode::E_LIMIT, Code::Limit),
        (ErrorCode::E_NOT_REPRODUCIBLE, Code::NotReproducible),
        (ErrorCode::E_SANDBOX, Code::NoSandbox),
        (ErrorCode::E_TMPDIR, Code::Io),
    ];
    let found = own.into_iter().find(|(code, _)| failures.iter().any(|why| why.code == *code));
    match found {
        Some((_, code)) => code,
        // The mistake is in the manifest, or in the file of packs next to it.
        None if failures.iter().all(|why| why.code == ErrorCode::InvalidFilter) => Code::Usage,
        None => Code::TargetFailed,
    }
}
