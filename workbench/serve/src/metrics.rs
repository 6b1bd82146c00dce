//! Figures of the host in the text format of Prometheus.

use methods::desk::figures::{Figures, Service};

/// Content type of the text.
pub const MIME: &str = "text/plain; version=0.0.4; charset=utf-8";

pub fn format_metrics(service: &Service) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: Vec<(String, f64)>| {
        text.push_str(&format!("# HELP cortex_{name} {help}\n# TYPE cortex_{name} {kind}\n"));
        for (labels, value) in lines {
            text.push_str(&format!("cortex_{name}{labels} {value}\n"));
        }
    };
    let whole = |value: u64| vec![(String::new(), value as f64)];
    for (name, help, value) in [
        ("uptime_seconds", "Seconds since the server began.", service.uptime_sec),
        ("memory_megabytes", "Resident memory.", service.memory_mb),
        ("requests", "Requests being answered or waiting.", service.requests as u64),
    ] {
        family(name, "gauge", help, whole(value));
    }
    for (name, help, value) in [
        (
            "semantic_queue_length",
            "Requested summaries that were missing.",
            service.semantic_queue_length,
        ),
        (
            "recent_semantic_failures",
            "Summaries whose last attempt failed.",
            service.recent_semantic_failures,
        ),
        ("types_indexed", "Types that are known.", service.types_indexed),
        ("projects", "Projects of the workspace.", service.projects),
        (
            "alarms",
            "Thresholds that are passed; `cortex status` names them.",
            service.alarms.len(),
        ),
    ] {
        family(name, "gauge", help, whole(value as u64));
    }
    family(
        "hit_ratio",
        "gauge",
        "Answers that were known, of calls that look.",
        vec![(String::new(), service.hit_ratio)],
    );
    let edits = &service.edits;
    family(
        "edit_apply_success_rate",
        "gauge",
        "Share of successful edits among the attempted ones of this checkout.",
        edits.success_rate().map(|rate| (String::new(), rate)).into_iter().collect(),
    );
    family(
        "edit_rollback_count",
        "counter",
        "Edits of this checkout that were undone.",
        whole(edits.rolled_back),
    );
    let by_method = |value: fn(&Figures) -> u64| {
        let line = |(name, figures): (&String, &Figures)| (format!("{{method=\"{name}\"}}"), value(figures) as f64);
        service.methods.iter().map(line).collect::<Vec<_>>()
    };
    family(
        "failed_total",
        "counter",
        "Calls without an answer.",
        by_method(|figures| figures.failed),
    );
    family(
        "known_total",
        "counter",
        "Calls whose answer was known.",
        by_method(|figures| figures.warm),
    );
    let calls = by_method(|figures| figures.calls);
    push_durations(&mut text, service, &calls);
    text
}

/// Adds how long calls took, by method. `calls`: labels and number of calls of each.
fn push_durations(text: &mut String, service: &Service, calls: &[(String, f64)]) {
    text.push_str(
        "# HELP cortex_call_seconds How long calls took; quantiles are those of the last 1,024.\n# TYPE cortex_call_seconds summary\n",
    );
    for ((labels, count), (name, figures)) in calls.iter().zip(&service.methods) {
        for (quantile, ms) in [("0.5", figures.p50_ms), ("0.95", figures.p95_ms)] {
            text.push_str(&format!(
                "cortex_call_seconds{{method=\"{name}\",quantile=\"{quantile}\"}} {}\n",
                ms / 1e3
            ));
        }
        text.push_str(&format!(
            "cortex_call_seconds_sum{labels} {}\ncortex_call_seconds_count{labels} {count}\n",
            figures.total_s
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workbench::edit::edit_counts::EditCounts;

    #[test]
    fn figures_as_text() {
        let figures = Figures {
            calls: 4,
            failed: 1,
            warm: 2,
            p50_ms: 1.5,
            p95_ms: 20.0,
            total_s: 0.25,
        };
        let service = Service {
            uptime_sec: 60,
            memory_mb: 64,
            requests: 1,
            hit_ratio: 0.5,
            semantic_queue_length: 60,
            recent_semantic_failures: 2,
            types_indexed: 67,
            projects: 3,
            alarms: vec!["60 summaries wait, more than 50".to_owned()],
            methods: [("outline".to_owned(), figures)].into(),
            edits: EditCounts {
                applied: 3,
                failed: 1,
                rolled_back: 2,
            },
            ..Service::default()
        };
        assert_eq!(
            format_metrics(&service),
            "# HELP cortex_uptime_seconds Seconds since the server began.\n\
             # TYPE cortex_uptime_seconds gauge\n\
             cortex_uptime_seconds 60\n\
             # HELP cortex_memory_megabytes Resident memory.\n\
             # TYPE cortex_memory_megabytes gauge\n\
             cortex_memory_megabytes 64\n\
             # HELP cortex_requests Requests being answered or waiting.\n\
             # TYPE cortex_requests gauge\n\
             cortex_requests 1\n\
             # HELP cortex_semantic_queue_length Requested summaries that were missing.\n\
             # TYPE cortex_semantic_queue_length gauge\n\
             cortex_semantic_queue_length 60\n\
             # HELP cortex_recent_semantic_failures Summaries whose last attempt failed.\n\
             # TYPE cortex_recent_semantic_failures gauge\n\
             cortex_recent_semantic_failures 2\n\
             # HELP cortex_types_indexed Types that are known.\n\
             # TYPE cortex_types_indexed gauge\n\
             cortex_types_indexed 67\n\
             # HELP cortex_projects Projects of the workspace.\n\
             # TYPE cortex_projects gauge\n\
             cortex_projects 3\n\
             # HELP cortex_alarms Thresholds that are passed; `cortex status` names them.\n\
             # TYPE cortex_alarms gauge\n\
             cortex_alarms 1\n\
             # HELP cortex_hit_ratio Answers that were known, of calls that look.\n\
             # TYPE cortex_hit_ratio gauge\n\
             cortex_hit_ratio 0.5\n\
             # HELP cortex_edit_apply_success_rate Share of successful edits among the attempted ones of this checkout.\n\
             # TYPE cortex_edit_apply_success_rate gauge\n\
             cortex_edit_apply_success_rate 0.75\n\
             # HELP cortex_edit_rollback_count Edits of this checkout that were undone.\n\
             # TYPE cortex_edit_rollback_count counter\n\
             cortex_edit_rollback_count 2\n\
             # HELP cortex_failed_total Calls without an answer.\n\
             # TYPE cortex_failed_total counter\n\
             cortex_failed_total{method=\"outline\"} 1\n\
             # HELP cortex_known_total Calls whose answer was known.\n\
             # TYPE cortex_known_total counter\n\
             cortex_known_total{method=\"outline\"} 2\n\
             # HELP cortex_call_seconds How long calls took; quantiles are those of the last 1,024.\n\
             # TYPE cortex_call_seconds summary\n\
             cortex_call_seconds{method=\"outline\",quantile=\"0.5\"} 0.0015\n\
             cortex_call_seconds{method=\"outline\",quantile=\"0.95\"} 0.02\n\
             cortex_call_seconds_sum{method=\"outline\"} 0.25\n\
             cortex_call_seconds_count{method=\"outline\"} 4\n"
        );
    }
}
