//! `cortex remote stats`: the use of the remote cache; and the failures of commands about it.

use super::CommandAnswer;
use crate::catalog::since::Since;
use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::{format_count, format_size, moment};
use engine::store::exchange::{self, Exchanged};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;

/// Builds the failure of a manifest without a remote cache.
pub fn no_remote_cache() -> Failed {
    let why = Diagnostic::error(ErrorCode::E_NO_REMOTE, "cortex.toml names no remote cache");
    Failed::new(
        Code::Usage,
        why.hint("write a [remote] table with an endpoint; cortex.toml.example has one"),
    )
}

/// Builds the failure of a remote command with `--offline`.
pub fn offline() -> Failed {
    let error = Diagnostic::error(ErrorCode::E_REMOTE, "--offline forbids to use the remote cache");
    Failed::new(Code::RemoteUnavailable, error.hint("run it without --offline and CORTEX_OFFLINE"))
}

/// Builds the failure of a cache that keeps damaged entries and so does not store what was offered.
pub fn damaged_entries_error(count: usize) -> Failed {
    let error = Diagnostic::error(
        ErrorCode::E_REMOTE,
        "the remote cache did not store everything: it keeps some of it wrong",
    );
    let (count, them) = match count {
        1 => ("one blob or result".to_owned(), "it"),
        count => (format!("{} blobs and results", self::format_count(count as u64)), "them"),
    };
    Failed::new(
        Code::RemoteUnavailable,
        error
            .found(format!("{count}, although they were sent again"))
            .hint(format!("remove {them} from the server's storage: --json names {them}")),
    )
}

/// Returns the share of lookups that hit; `None` without lookups.
pub fn hit_rate(found: u64, missed: u64) -> Option<f64> {
    let all = found + missed;
    (all > 0).then(|| found as f64 / all as f64)
}

/// Sums up this checkout's use of its cache, from `since` on.
pub fn remote_stats(context: &RequestContext, since: Option<Since>) -> Result<CommandAnswer, Failed> {
    let workspace = context.workspace("remote stats")?;
    let engine = &workspace.engine;
    let since = since.map_or(0, |since| since.seconds_since_1970_at(engine.world.now_secs()));
    let days = exchange::days(&*engine.store, engine.view, since)?;
    let mut all = Exchanged::default();
    days.iter().for_each(|(_, day)| all.add_exchange(day));
    let hit_rate = hit_rate(all.hits, all.misses);
    let text = match days.is_empty() {
        true => "No remote cache was used.\n".to_owned(),
        false => traffic_text(&all, hit_rate),
    };
    let row = |(day, figures): &(u64, Exchanged)| {
        let mut row = serde_json::json!(figures);
        row["day"] = calendar_day(*day).into();
        row
    };
    let days: Vec<_> = days.iter().map(row).collect();
    Ok(CommandAnswer::new(
        text,
        &serde_json::json!({"all": all, "hit_rate": hit_rate, "days": days}),
    ))
}

fn traffic_text(all: &Exchanged, hit_rate: Option<f64>) -> String {
    let rate = hit_rate.map(|rate| format!(" ({:.0} %)", rate * 100.0)).unwrap_or_default();
    let mut text = format!(
        "found    {} of {} requested{rate}, {} in {} blobs\nstored   {}, {} in {} blobs\n",
        format_count(all.hits),
        format_count(all.hits + all.misses),
        format_size(all.bytes_down),
        format_count(all.blobs_down),
        format_count(all.stored),
        format_size(all.bytes_up),
        format_count(all.blobs_up),
    );
    if all.shards > 0 {
        text += &format!(
            "workers  {} targets in {} shards, {} returned without a result\n",
            format_count(all.executed),
            format_count(all.shards),
            format_count(all.unmade)
        );
    }
    if all.not_stored > 0 {
        text += &format!("refused  {}\n", format_count(all.not_stored));
    }
    for (lie, times) in &all.lies {
        text += &format!("wrong    {lie}, {} times\n", format_count(*times));
    }
    text
}

/// Formats days since 1970 as `2026-11-22`.
fn calendar_day(day: u64) -> String {
    moment(day * 24 * 60 * 60).chars().take(10).collect()
}
