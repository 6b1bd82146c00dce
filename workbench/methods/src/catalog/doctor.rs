//! `doctor`: possible problems of a workspace, with remedies.

use super::{AsTool, Effect, Method};
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{Style, printable};
use producers::msbuild::facts::Facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::doctor::{self, Finding, Level};
use workbench::symbols::outputs::Outputs;
use workbench::trust::Trusted;

fn of_projects(desk: &mut Desk<'_>) -> Result<Vec<Finding>, Failed> {
    let (mut projects, mut resolved) = (0, 0);
    // The index of projects keeps the request non-empty if there are no projects.
    let wanted = ["//projects/...:project", "//index:projects"].map(str::to_owned);
    let read = Outputs::read(desk, &wanted)?;
    for project in read.into_iter().filter(|output| output.label.ends_with(":project")) {
        let facts = project.bytes.and_then(|bytes| serde_json::from_slice::<Facts>(&bytes).ok());
        projects += 1;
        resolved += facts.map_or(0, |facts| facts.references.len());
    }
    Ok(doctor::projects(&desk.health()?, projects, resolved))
}

/// Limit of watched folders per user.
const WATCHES: &str = "/proc/sys/fs/inotify/max_user_watches";

/// Diagnose the workspace, with remedies: projects and their references, unevaluated parts, loose files, duplicates, unbound names,
/// watch limits, store, trust, remote cache. Changes nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Doctor {
    /// Check only built targets, and count no names.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    quick: bool,
}

/// The findings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    findings: Vec<Finding>,
    /// Number of problems among them.
    problems: usize,
}

impl Method for Doctor {
    const NAME: &'static str = "doctor";
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Under("status");
    type Answer = Findings;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Findings, Failed> {
        let names = desk.workspace_names()?;
        let is_csharp = desk.reads_csharp()?;
        let mut findings = match is_csharp {
            true => of_projects(desk)?,
            false => Vec::new(),
        };
        let bound = match self.quick || names.symbols.is_empty() {
            true => None,
            false => Some(doctor::bound(desk, &names.symbols)?),
        };
        let watches = std::fs::read_to_string(WATCHES).ok().and_then(|text| text.trim().parse().ok());
        let context = desk.context;
        let (workspace, session) = desk.open_to_build()?;
        findings.extend(doctor::report_diagnostics(session, names.flaws.len())?);
        findings.extend(bound.as_ref().map(doctor::report_unresolved));
        let trusted = Trusted::in_repository(context.settings().trust.clone(), &workspace.root);
        findings.extend(doctor::surroundings(workspace, session, &trusted, watches)?);
        Ok(Findings {
            problems: findings.iter().filter(|one| one.level == Level::Problem).count(),
            findings,
        })
    }

    fn text(answer: &Findings) -> String {
        Self::styled(answer, Style::plain())
    }

    fn styled(answer: &Findings, style: Style) -> String {
        let width = answer.findings.iter().map(|one| one.topic.len()).max().unwrap_or(0);
        let mut text = String::new();
        for one in &answer.findings {
            let word = match one.level {
                Level::Good => style.dim("ok     "),
                Level::Note => style.bold("note   "),
                Level::Problem => style.yellow("problem"),
            };
            let indent = width + 11;
            let mut line = |line: String, further: usize| text.push_str(&format!("{}\n", style.fitted(&line, indent + further)));
            line(format!("{word}  {:width$}  {}", one.topic, printable(&one.found)), 0);
            for case in &one.cases {
                line(format!("{:indent$}  {}", "", printable(case)), 4);
            }
            if let Some(mend) = &one.mend {
                line(format!("{:indent$}{} {}", "", style.dim("mend:"), printable(mend)), 6);
            }
        }
        text
    }
}
