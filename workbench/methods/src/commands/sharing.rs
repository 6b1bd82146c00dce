//! The remote cache and its workers in commands: whether a build may read and write them, and the report at its end.

use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::{Style, duration, format_count, format_size, plural, printable};
use engine::build::bundle_import::ImportCounts;
use engine::seams::remote::{RemoteSummary, WrongRemoteAnswer};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::time::Duration;
use workbench::error::WorkbenchError;
use workbench::workspace::Workspace;

/// Duration for which a build waits at its end for pending uploads.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Message for a cache in a program without the feature `remote`.
const LEFT_OUT: &str = "this cortex was built without the feature `remote`";

/// Use of the remote cache by one command.
pub struct Used {
    /// Whether this command writes results to the cache.
    writes: bool,
    /// Counters of the cache.
    pub summary: RemoteSummary,
    /// Whether the command requires the cache and could not use it.
    pub is_missed: bool,
    /// Whether the cache was not used because the user has not trusted it yet.
    waits: bool,
    /// Whether the cache's workers were not used for the same reason.
    workers_wait: bool,
}

/// Message for a cache whose commands and uploads the user has not trusted yet.
const UNTRUSTED: &str = "the remote cache in cortex.toml is not trusted yet, so everything is computed here";
const TRUST: &str = "`cortex trust --list` shows it, `cortex trust` allows it";

/// Builds the failure of a command about the cache in a program without the feature `remote`.
pub fn left_out() -> Failed {
    Failed::new(Code::RemoteUnavailable, Diagnostic::error(ErrorCode::E_REMOTE, LEFT_OUT))
}

/// Builds the failure of a command that requires an untrusted cache.
pub fn untrusted_cache() -> Failed {
    Failed::new(
        Code::RemoteUnavailable,
        Diagnostic::error(ErrorCode::E_UNTRUSTED, UNTRUSTED).hint(TRUST),
    )
}

/// Waits at most `wait` for uploads. Returns how the workspace's cache was used; `None` without a cache. Fails when the manifest is wrong,
/// or the store cannot be written.
pub fn finish_sharing(context: &RequestContext, workspace: &Workspace, wait: Option<Duration>) -> Result<Option<Used>, WorkbenchError> {
    let required = workspace.manifest()?.remote.as_ref().is_some_and(|def| def.required);
    // The program has no client of remote caches.
    if context.settings().connect.is_none() && workspace.manifest()?.remote.is_some() {
        return Ok(Some(Used {
            writes: false,
            summary: RemoteSummary {
                reads_off: Some(LEFT_OUT.to_owned()),
                ..RemoteSummary::default()
            },
            is_missed: required,
            waits: false,
            workers_wait: false,
        }));
    }
    let Some(cache) = workspace.remote()? else {
        let waits = workspace.may_connect() && workspace.remote_waits()?;
        let workers_wait = workspace.may_connect() && workspace.execution_waits()?;
        return Ok((waits || workers_wait).then(|| Used {
            writes: false,
            summary: RemoteSummary::default(),
            is_missed: waits && required,
            waits,
            workers_wait,
        }));
    };
    let summary = workspace.finish_transfers(&*cache, wait)?;
    let is_missed = required && (summary.reads_off.is_some() || !cache.reads() && summary.trouble.is_some());
    Ok(Some(Used {
        writes: cache.writes(),
        summary,
        is_missed,
        waits: false,
        workers_wait: workspace.execution_waits()?,
    }))
}

impl Used {
    /// Returns the exit code of a command that would end with `code` without a cache.
    pub fn code(&self, code: Code) -> Code {
        if self.is_missed && code == Code::Ok {
            Code::RemoteUnavailable
        } else {
            code
        }
    }

    /// Returns the diagnostics about the cache: errors if the command requires it.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let summary = &self.summary;
        let mut diagnostics = Vec::new();
        if self.waits {
            let diagnostic = match self.is_missed {
                true => Diagnostic::error(ErrorCode::E_UNTRUSTED, UNTRUSTED),
                false => Diagnostic::warning(ErrorCode::W_UNTRUSTED, UNTRUSTED),
            };
            return vec![diagnostic.hint(TRUST)];
        }
        let workers = self.of_workers();
        let why = summary.reads_off.as_ref().or(summary.trouble.as_ref());
        // If cache and workers share a dead server, one warning is enough.
        let is_reported = workers.as_ref().is_some_and(|workers| workers.code == ErrorCode::W_WORKERS);
        if let Some(why) = why.filter(|_| !is_reported || self.is_missed) {
            let what = match self.is_missed {
                true => Diagnostic::error(ErrorCode::E_REMOTE, "the remote cache, which is required, cannot be used"),
                false => Diagnostic::warning(
                    ErrorCode::W_REMOTE,
                    "the remote cache did not answer some requests; those results were built here",
                ),
            };
            diagnostics.push(what.found(why.clone()).hint("`cortex remote ping` asks it"));
        }
        if let Some(why) = summary.writes_off.as_ref().filter(|_| summary.reads_off.is_none()) {
            let refused = Diagnostic::warning(ErrorCode::W_REMOTE_WRITE, "the remote cache does not store offered results");
            diagnostics.push(
                refused
                    .found(why.clone())
                    .hint("`cortex remote ping` asks it; write = \"never\" in [remote] if it is for others to fill"),
            );
        }
        diagnostics.extend(workers.filter(|_| !self.is_missed));
        diagnostics.extend(self.of_wrong_answers());
        if summary.too_large > 0 {
            let left_out = format!("{} of 128 MiB or more left out of the bundle", plural(summary.too_large, "output"));
            diagnostics
                .push(Diagnostic::warning(ErrorCode::W_REMOTE_LIMIT, left_out).hint("each machine builds them again when they are read"));
        }
        diagnostics.extend(self.of_broken_blobs());
        diagnostics
    }

    /// Returns one diagnostic about the cache's wrong answers, if there were any.
    fn of_wrong_answers(&self) -> Option<Diagnostic> {
        let summary = &self.summary;
        if summary.lies.is_empty() {
            return None;
        }
        let lies: Vec<String> = summary.lies.iter().map(|(lie, times)| format!("{lie} ({times})")).collect();
        let healed = match summary.healed {
            0 => String::new(),
            healed => format!("; {} sent again, and right now", format_count(healed)),
        };
        let is_only = |wrong_answer: WrongRemoteAnswer| summary.lies.keys().all(|found| *found == wrong_answer);
        let lied = Diagnostic::warning(
            ErrorCode::W_REMOTE_LIES,
            match is_only(WrongRemoteAnswer::MissingBlob) {
                true => "the remote cache lost some blobs that it lists; those results were built here",
                false => "some answers of the remote cache were wrong; those results were built here",
            },
        );
        let hint = match self.writes {
            _ if is_only(WrongRemoteAnswer::Untrusted) => {
                "`trusted_keys` in [remote] lists the public keys whose results are used; `cortex remote ping` prints the key of a job that signs"
            }
            _ if is_only(WrongRemoteAnswer::MissingBlob) => "files of the cache are gone; a job that writes fills it again: `cortex warm`",
            true => "another `salt` in [remote] ignores the results stored there",
            false => "a job that writes repairs it: `cortex warm` reads back another 8 MB each time, and with an empty store all of it",
        };
        Some(lied.found(lies.join(", ") + &healed).hint(hint))
    }

    /// Returns one diagnostic about blobs that the cache keeps wrong, if there are any.
    fn of_broken_blobs(&self) -> Option<Diagnostic> {
        let summary = &self.summary;
        let first = summary.broken.first()?;
        let more = match summary.broken.len() {
            1 => String::new(),
            all => format!(", and {} more", format_count(all as u64 - 1)),
        };
        let broken = Diagnostic::warning(
            ErrorCode::W_REMOTE_BROKEN,
            "the remote cache kept wrong blobs, although the right ones were sent again",
        );
        let hint = "`cortex warm` stores its results under another name; remove the wrong entry from the server's storage, or use another `instance` in [remote]";
        Some(broken.found(format!("{first}{more}")).hint(hint))
    }

    /// Returns one diagnostic about the workers, if they were not used or failed.
    fn of_workers(&self) -> Option<Diagnostic> {
        if self.workers_wait {
            let wait = Diagnostic::warning(ErrorCode::W_UNTRUSTED, "workers are not used: this workspace is not trusted yet");
            return Some(wait.hint(TRUST));
        }
        let why = self.summary.execute_off.as_ref().or(self.summary.execute_trouble.as_ref())?;
        let unmade = Diagnostic::warning(
            ErrorCode::W_WORKERS,
            "workers did not build everything sent to them; this machine built the rest",
        );
        Some(unmade.found(why.clone()).hint("`cortex remote ping` asks for them"))
    }

    /// Formats the summary line; `None` if no result was transferred.
    pub fn format_transfers(&self, brought: ImportCounts, style: Style) -> Option<String> {
        let summary = &self.summary;
        let mut parts = Vec::new();
        if brought.count() > 0 {
            let tree = if brought.is_near {
                "a similar tree that was warmed"
            } else {
                "a warmed tree"
            };
            parts.push(format!("{} known from {tree}", plural(brought.count() as u64, "result")));
        }
        if summary.hits > 0 && brought.count() == 0 {
            parts.push(format!("{} found in the cache", plural(summary.hits, "result")));
        }
        if summary.bytes_down > 0 {
            parts.push(format!("{} received", format_size(summary.bytes_down)));
        }
        if summary.volumes_left > 0 {
            let volumes = summary.volumes + summary.volumes_left;
            parts.push(format!(
                "{} of {} volumes not fetched, because making their outputs takes less time",
                format_count(summary.volumes_left),
                format_count(volumes)
            ));
        }
        if summary.executed > 0 {
            parts.push(format!(
                "{} made by workers, in {} shards: {} of computing",
                format_count(summary.executed),
                format_count(summary.shards),
                duration(summary.executed_us)
            ));
        }
        if summary.bytes_up > 0 {
            parts.push(format!("{} sent", format_size(summary.bytes_up)));
        }
        if summary.not_stored > 0 {
            parts.push(format!("{} refused by the cache", plural(summary.not_stored, "result")));
        }
        (!parts.is_empty()).then(|| format!("  {} {}", style.dim("remote  "), printable(&parts.join("; "))))
    }
}
