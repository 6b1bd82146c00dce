//! Layout: outputs as readable files under `.cortex/out/`, at the paths that rules specify.

use super::blobs::{PagedBlobs, WholeOutput};
use super::finish::Finish;
use super::run::{Run, RunError};
use super::state::CurrentRequest;
use crate::graph::NodeId;
use crate::graph::stale::NodeSet;
use crate::manifest::model::{OutSpec, Rule, SetSpec};
use crate::manifest::template::{Piece, Vars};
use crate::planning::expand::{self, ExpandError};
use crate::seams::world::{ExportOutcome, Exports, WorldError};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use crate::values::event::Event;
use crate::values::label::Label;
use crate::values::long_text;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of files written between two releases of the store.
const FILES: usize = 64;

/// Number of files whose outputs are received from a cache together.
const RECEIVED: usize = 4_096;

/// Number of files checked between two checks for a stop.
const CHECKED_TOGETHER: usize = 8_192;

/// Outcome of laying out files.
#[derive(Clone, Debug, Default)]
pub struct LayoutResult {
    /// The nodes that have a file now.
    pub nodes: Vec<u32>,
    /// The nodes whose file contains more than its blob; a new file contains only the blob so far.
    pub finished: Vec<u32>,
    /// The nodes of `finished` whose file is new.
    pub placed: Vec<u32>,
    /// Whether a file of `finished` may differ from its output with the states that it last showed.
    pub has_outdated: bool,
    /// Whether the request was current before, and nothing was committed since.
    pub follows_current: bool,
    /// Number of files written.
    pub written: usize,
    /// Reasons why files could not be written, one for each cause.
    pub failures: Vec<Diagnostic>,
    /// Number of files that could not be written.
    pub refused: usize,
    /// Whether the disk is full.
    pub no_space: bool,
}

/// Reason why a file could not be written.
struct Refusal {
    why: Diagnostic,
    /// The cause that other files may share.
    cause: Option<String>,
}

impl From<Diagnostic> for Refusal {
    fn from(why: Diagnostic) -> Self {
        Self { why, cause: None }
    }
}

/// Refusals; those with the same cause are counted together.
#[derive(Default)]
struct Refusals {
    reported: Vec<(Refusal, usize)>,
}

impl Refusals {
    fn add_refusal(&mut self, refusal: impl Into<Refusal>) {
        let refusal = refusal.into();
        let same = |(reported, _): &&mut (Refusal, usize)| {
            reported.cause.is_some() && reported.cause == refusal.cause && reported.why.code == refusal.why.code
        };
        match self.reported.iter_mut().find(same) {
            Some((_, others)) => *others += 1,
            None => self.reported.push((refusal, 0)),
        }
    }

    fn report_refusals(self, laid: &mut LayoutResult) {
        for (Refusal { mut why, .. }, others) in self.reported {
            match others {
                0 => {}
                1 => why.message.push_str("; so it is with 1 other file"),
                _ => why.message.push_str(&format!("; so it is with {others} other files")),
            }
            laid.no_space |= why.code == ErrorCode::E_NO_SPACE;
            laid.refused += 1 + others;
            laid.failures.push(why);
        }
    }
}

/// A request whose files were laid out before.
#[derive(Clone, Copy)]
pub struct KnownFiles<'a> {
    /// The request when it was last current.
    pub known: &'a CurrentRequest,
    /// Whether a watcher saw none of the files change since.
    pub are_watched: bool,
    /// Whether files that contain more than their blob are compared with their outputs even if these did not change.
    pub compares_finished: bool,
    /// Roots added since then.
    pub added: &'a FxHashSet<NodeId>,
}

/// A file to lay out: the node, its output, and the path.
type PlannedFile = (NodeId, Digest, String);

/// Destination of one output.
struct Destination<'a> {
    path: &'a str,
    exports: &'a dyn Exports,
}

impl Run<'_> {
    /// Lays out the settled `roots` whose rule specifies a path, unless the file is in place, unchanged, and of the present output. `known`: the
    /// request, if it was current before.
    pub fn lay_out(
        &mut self,
        roots: &[NodeId],
        exports: &dyn Exports,
        finish: &dyn Finish,
        known: Option<KnownFiles<'_>>,
    ) -> Result<LayoutResult, RunError> {
        let mut laid = LayoutResult {
            follows_current: known.is_some(),
            ..LayoutResult::default()
        };
        let roots = self.nodes_to_check(roots, exports, known, &mut laid)?;
        let mut room = self.is_stopped().then_some(FILES);
        let mut refusals = Refusals::default();
        let mut lookups = BTreeMap::new();
        let mut wanted: Vec<PlannedFile> = Vec::new();
        for id in roots {
            if room.is_none() && self.is_stopped() {
                break;
            }
            let (Some(output), Some(rule)) = (self.output(id), self.rule_with_out(id)) else {
                continue;
            };
            let label = self.graph.node(id).label.clone();
            match self.out_path(rule, &label, &mut lookups)? {
                Ok(path) => wanted.push((id, output, path)),
                Err(why) => refusals.add_refusal(why),
            }
        }
        // Files whose path changed release their old paths before any new one is claimed.
        for (id, _, path) in &wanted {
            if exports.path(id.0).is_some_and(|former| former != *path)
                && let Err(error) = exports.remove(id.0)
            {
                refusals.add_refusal(layout_refusal(&error, &self.graph.node(*id).label));
            }
        }
        self.retain_outdated(&mut wanted, exports, finish, &mut laid);
        let files = wanted.len();
        let outputs: Vec<Digest> = wanted.iter().map(|(_, output, _)| *output).collect();
        for (done, file) in wanted.into_iter().enumerate() {
            if done % RECEIVED == 0 && !self.is_stopped() {
                self.context.shared.blobs.fetch_all(&outputs[done..files.min(done + RECEIVED)])?;
            }
            if self.is_stopped() {
                // A stopped build still writes a few files, which takes hardly any time.
                let left = room.get_or_insert(FILES);
                if *left == 0 {
                    break;
                }
                *left -= 1;
            } else if done % FILES == FILES - 1 {
                self.release_if_wanted()?;
            }
            self.context.observer.laying_out(done, files);
            if let Err(refusal) = self.lay_out_planned(&file, exports, &mut lookups, &mut laid)? {
                refusals.add_refusal(refusal);
            }
        }
        refusals.report_refusals(&mut laid);
        laid.nodes.sort_unstable();
        Ok(laid)
    }

    /// Retains the files that must be written; lists those in place in `laid`.
    fn retain_outdated(&mut self, wanted: &mut Vec<PlannedFile>, exports: &dyn Exports, finish: &dyn Finish, laid: &mut LayoutResult) {
        let mut check: Vec<u32> = Vec::new();
        for (id, output, _) in wanted.iter() {
            if finish.labels().contains(&&*self.graph.node(*id).label) {
                laid.finished.push(id.0);
                laid.has_outdated = true;
            } else if exports.digest(id.0) == Some(*output) {
                check.push(id.0);
            }
        }
        laid.finished.sort_unstable();
        check.sort_unstable();
        let broken = self.changed_exports(exports, &check);
        wanted.retain(|(id, _, path)| {
            let is_intact = check.binary_search(&id.0).is_ok() && broken.binary_search(&id.0).is_err();
            // A file that contains more than its blob is brought up to date later.
            let is_finished = || laid.finished.binary_search(&id.0).is_ok() && exports.path(id.0).as_ref() == Some(path);
            let is_in_place = is_intact || is_finished();
            if is_in_place {
                laid.nodes.push(id.0);
            }
            !is_in_place
        });
    }

    /// Writes one file and counts it in `laid`.
    fn lay_out_planned(
        &mut self,
        (id, output, path): &PlannedFile,
        exports: &dyn Exports,
        lookups: &mut BTreeMap<String, Arc<[u8]>>,
        laid: &mut LayoutResult,
    ) -> Result<Result<(), Refusal>, RunError> {
        let is_finished = laid.finished.binary_search(&id.0).is_ok();
        let label = self.graph.node(*id).label.clone();
        let outcome = match self.lay_out_one(*id, &label, *output, &Destination { path, exports }, lookups)? {
            Ok(outcome) => outcome,
            Err(refusal) => return Ok(Err(refusal)),
        };
        laid.nodes.push(id.0);
        let written = outcome == ExportOutcome::Written;
        laid.written += usize::from(written && !is_finished);
        if is_finished {
            laid.placed.push(id.0);
        } else if written {
            self.context.observer.event(&Event::Exported { path });
        }
        Ok(Ok(()))
    }

    /// Returns the roots, and the nodes laid out with them, without those whose file is known to be in place.
    fn nodes_to_check(
        &mut self,
        roots: &[NodeId],
        exports: &dyn Exports,
        known: Option<KnownFiles<'_>>,
        laid: &mut LayoutResult,
    ) -> Result<Vec<NodeId>, RunError> {
        if self.is_stopped() {
            // After a stop, lay out the outputs just built; the next build does the rest.
            let made = roots.iter().copied().filter(|&id| self.was_made(id));
            return Ok(made.take(FILES).collect());
        }
        let along = self.laid_with_readers(roots, known.as_ref())?;
        let all: Vec<NodeId> = roots.iter().chain(&along).copied().collect();
        let Some((known, changed)) = known.and_then(|known| Some((known, self.nodes_with_changed_path()?))) else {
            return Ok(all);
        };
        Ok(self.retain_changed(&all, &along, known, &changed, exports, laid))
    }

    /// Returns the nodes other than `roots` that are laid out because the roots read them: present inputs of changed roots, and those laid
    /// out before.
    fn laid_with_readers(&mut self, roots: &[NodeId], known: Option<&KnownFiles<'_>>) -> Result<FxHashSet<NodeId>, RunError> {
        let mut along = FxHashSet::default();
        let rules = &self.context.rules.manifest().rules;
        let is_along = |rule: &Rule| rule.out.as_ref().is_some_and(|out| out.with_readers);
        if !rules.iter().any(is_along) {
            return Ok(along);
        }
        let changed = roots.iter().filter(|&&id| known.is_none() || !self.is_unchanged(id));
        let read = changed.flat_map(|&id| self.graph.node(id).reads());
        let before = known.into_iter().flat_map(|known| &known.known.exported).map(|&id| NodeId(id));
        let requested: NodeSet = roots.iter().copied().collect();
        let candidates: FxHashSet<NodeId> = read.chain(before).filter(|id| !requested.contains(*id)).collect();
        for id in candidates {
            let found = self.graph.get(id).and_then(|node| self.context.rules.find(&node.label));
            // A changed target that no request named may no longer have an output.
            let has_output = self.is_unchanged(id) || self.output(id).is_some();
            if has_output && found.is_some_and(|found| is_along(self.context.rules.rule(found.rule))) {
                along.insert(id);
            }
        }
        let wanted: Vec<NodeId> = along.iter().copied().collect();
        self.settle_all(&wanted)?;
        Ok(along)
    }

    /// Returns the nodes whose path may have changed, because the table that determines it did; `None` if these may be all.
    fn nodes_with_changed_path(&mut self) -> Option<FxHashSet<NodeId>> {
        let rules = self.context.rules;
        let mut changed = FxHashSet::default();
        for (number, rule) in (0u32..).zip(&rules.manifest().rules) {
            for (_, set) in rule.out.iter().flat_map(|out| &out.vars) {
                // If the node depends on the target, its path is computed each time.
                let Some(label) = expand::set_node(set, &Vars::new()).ok()? else {
                    continue;
                };
                let id = self.graph.find(label.as_str())?;
                if self.is_unchanged(id) {
                    continue;
                }
                let rows = self.changed_rows(id).filter(|_| is_by_own_row(rule, set))?;
                let labels = rows.iter().filter_map(|(key, _)| rules.label(number, key));
                changed.extend(labels.filter_map(|label| self.graph.find(label.as_str())));
            }
        }
        Some(changed)
    }

    /// Records roots that were laid out before with unchanged output and path and whose file is in place; returns the others. A node laid out
    /// `along` may be new there without a change of its own.
    fn retain_changed(
        &mut self,
        roots: &[NodeId],
        along: &FxHashSet<NodeId>,
        KnownFiles {
            known,
            are_watched,
            compares_finished,
            added,
        }: KnownFiles<'_>,
        changed: &FxHashSet<NodeId>,
        exports: &dyn Exports,
        laid: &mut LayoutResult,
    ) -> Vec<NodeId> {
        let had_file: NodeSet = known
            .exported
            .iter()
            .copied()
            .map(NodeId)
            .filter(|&id| self.graph.exists(id))
            .collect();
        // Most roots pass these tests: a bit answers each.
        let moved: NodeSet = added.iter().chain(changed).copied().collect();
        let along: NodeSet = along.iter().copied().collect();
        let (mut check, mut rest): (Vec<u32>, Vec<NodeId>) = Default::default();
        for &id in roots {
            let stands = self.is_unchanged(id) && !moved.contains(id);
            match had_file.contains(id) {
                true if stands => check.push(id.0),
                false if stands && !along.contains(id) => {}
                _ => rest.push(id),
            }
        }
        check.sort_unstable();
        let broken = if are_watched {
            Vec::new()
        } else {
            self.changed_exports(exports, &check)
        };
        for id in check {
            let is_finished = known.finished.binary_search(&id).is_ok();
            if broken.binary_search(&id).is_ok() || is_finished && compares_finished {
                rest.push(NodeId(id));
                continue;
            }
            laid.nodes.push(id);
            if is_finished {
                laid.finished.push(id);
            }
        }
        rest
    }

    /// Returns the nodes whose file differs from the bytes written; `nodes` are sorted. Stops checking when the build is stopped.
    fn changed_exports(&mut self, exports: &dyn Exports, nodes: &[u32]) -> Vec<u32> {
        let mut broken = Vec::new();
        for some in nodes.chunks(CHECKED_TOGETHER) {
            if self.is_stopped() {
                break;
            }
            broken.extend(exports.verify(some));
        }
        broken
    }

    fn lay_out_one(
        &mut self,
        id: NodeId,
        label: &str,
        output: Digest,
        place: &Destination<'_>,
        lookups: &mut BTreeMap<String, Arc<[u8]>>,
    ) -> Result<Result<ExportOutcome, Refusal>, RunError> {
        let Destination { path, exports } = *place;
        let blob = match self.context.shared.blobs.held_text(&output) {
            Some(text) => Some(WholeOutput::Text(text)),
            None => self.blob(id)?.map(WholeOutput::Stored),
        };
        let Some(blob) = blob else {
            return Ok(Err(Diagnostic::error(ErrorCode::E_LAYOUT, "the output is nowhere to be found")
                .label(label)
                .hint("build it again")
                .into()));
        };
        let digest = self.digest_of_file(output, &blob)?;
        let mut written = exports.write(id.0, path, digest, &blob);
        if let Err(WorldError::Claimed { first, .. }) = written
            && !self.is_still_owner(NodeId(first), path, lookups)?
        {
            written = exports.remove(first).and_then(|()| exports.write(id.0, path, digest, &blob));
        }
        Ok(written.map_err(|error| layout_refusal(&error, label)))
    }

    /// Returns the digest of the file of an output. It differs from the output's digest only for a long text.
    fn digest_of_file(&self, output: Digest, bytes: &[u8]) -> Result<Digest, RunError> {
        if bytes.len() <= long_text::LARGEST_WHOLE {
            return Ok(output);
        }
        let root = self.context.shared.blobs.get(&output)?;
        Ok(root.and_then(|root| long_text::digest_of_text(&root)).unwrap_or(output))
    }

    /// Whether the node that has a path would be laid out there now, as far as this run knows.
    fn is_still_owner(&mut self, id: NodeId, path: &str, lookups: &mut BTreeMap<String, Arc<[u8]>>) -> Result<bool, RunError> {
        let Some(label) = self.graph.get(id).map(|node| node.label.clone()) else {
            return Ok(false);
        };
        let Some(rule) = self.rule_with_out(id) else { return Ok(false) };
        let rules = self.context.rules;
        let vars = rules.vars(rule, rules.find(&label).map_or("", |found| found.value));
        if let Ok(Some((set, value))) = rules.membership(rule, &vars)
            && let Some(items) = self.known_items(&set)?
            && items.binary_search_by(|item| item.as_str().cmp(&*value)).is_err()
        {
            return Ok(false);
        }
        Ok(self.out_path(rule, &label, lookups)?.is_ok_and(|own| own == path))
    }

    fn rule_with_out(&self, id: NodeId) -> Option<u32> {
        let found = self.context.rules.find(&self.graph.node(id).label)?;
        self.context.rules.rule(found.rule).out.is_some().then_some(found.rule)
    }

    fn out_path(
        &mut self,
        rule: u32,
        label: &str,
        lookups: &mut BTreeMap<String, Arc<[u8]>>,
    ) -> Result<Result<String, Diagnostic>, RunError> {
        let rules = self.context.rules;
        let value = rules.find(label).map_or("", |found| found.value);
        let mut vars = rules.vars(rule, value);
        let Some(out) = &rules.rule(rule).out else {
            return Ok(Err(path_error("the rule lays nothing out")));
        };
        if let Err(why) = self.out_vars(out, &mut vars, lookups)? {
            return Ok(Err(why.label(label)));
        }
        let path = out.path.fill(|name| vars.get(name).map(|value| &**value));
        Ok(path.map_err(|name| path_error(format!("the path's variable '{name}' has no value")).label(label)))
    }

    fn out_vars(
        &mut self,
        out: &OutSpec,
        vars: &mut Vars,
        lookups: &mut BTreeMap<String, Arc<[u8]>>,
    ) -> Result<Result<(), Diagnostic>, RunError> {
        for (name, set) in &out.vars {
            let node = expand::set_node(set, vars).ok().flatten();
            if let Some(node) = &node
                && !lookups.contains_key(node.as_str())
                && let Some(root) = self.settled_root(node)?
            {
                lookups.insert(node.to_string(), root);
            }
            let mut items = self.items_by_page(set, vars, lookups)?;
            if let (Err(ExpandError::Lost { .. }), Some(node)) = (&items, &node)
                && let Some(whole) = self.settled_blob(node)?
            {
                lookups.insert(node.to_string(), whole);
                items = self.items_by_page(set, vars, lookups)?;
            }
            match items.as_deref() {
                Ok([one]) => {
                    vars.insert(name.clone(), one.as_str().into());
                }
                Ok(items) => {
                    return Ok(Err(path_error(format!(
                        "the path's variable '{name}' has {} values, not one",
                        items.len()
                    ))));
                }
                Err(error) => return Ok(Err(path_error(error.to_string()))),
            }
        }
        Ok(Ok(()))
    }

    /// Returns the items of a set; of a table in pages, it reads only the pages on the way to the requested row.
    fn items_by_page(
        &self,
        set: &SetSpec,
        vars: &Vars,
        roots: &BTreeMap<String, Arc<[u8]>>,
    ) -> Result<Result<Vec<String>, ExpandError>, RunError> {
        let paged = PagedBlobs::new(&self.context.shared.blobs, roots);
        let items = expand::items(set, vars, &paged);
        match paged.into_store_error() {
            Some(error) => Err(error.into()),
            None => Ok(items),
        }
    }

    /// Returns the output of a node, after building it; of a table in pages only the root.
    fn settled_root(&mut self, label: &Label) -> Result<Option<Arc<[u8]>>, RunError> {
        let id = self.graph.intern(label.as_str());
        self.settle_all(&[id])?;
        let root = match self.output(id) {
            Some(output) => self.context.shared.blobs.get(&output)?,
            None => None,
        };
        match root {
            Some(root) => Ok(Some(root)),
            None => self.blob(id),
        }
    }

    fn settled_blob(&mut self, label: &Label) -> Result<Option<Arc<[u8]>>, RunError> {
        let id = self.graph.intern(label.as_str());
        self.settle_all(&[id])?;
        self.blob(id)
    }
}

/// Whether a set is the row of a table whose key is the rule's only variable.
fn is_by_own_row(rule: &Rule, set: &SetSpec) -> bool {
    let (Some((variable, _)), None, SetSpec::Node { row: Some(row), .. }) = (&rule.each, &rule.inner, set) else {
        return false;
    };
    matches!(&row.pieces[..], [Piece::Var(name)] if **name == **variable)
}

/// Returns the diagnostic of a file that is not written, with a hint: the next build tries again.
pub(super) fn unwritten_file_error(error: &WorldError, label: &str) -> Diagnostic {
    let (code, hint) = match error {
        WorldError::Io { no_space: true, .. } => (
            ErrorCode::E_NO_SPACE,
            "free some space on the disk, then run the same command again",
        ),
        WorldError::Claimed { .. } => (ErrorCode::E_LAYOUT, "give one of the two rules another `out`"),
        WorldError::Leaves { .. } => (ErrorCode::E_LAYOUT, "change the rule's `out`: paths stay below .cortex/out/"),
        _ => (
            ErrorCode::E_LAYOUT,
            "remove the obstacle or fix its permissions, then run the same command again; the output itself is in the store",
        ),
    };
    Diagnostic::error(code, error.to_string()).hint(hint).label(label)
}

fn layout_refusal(error: &WorldError, label: &str) -> Refusal {
    let cause = match error {
        WorldError::Io { what, reason, .. } => Some(format!("{what}: {reason}")),
        WorldError::Leaves { out_of, .. } => Some((*out_of).to_owned()),
        _ => None,
    };
    let why = unwritten_file_error(error, label);
    Refusal { why, cause }
}

fn path_error(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(ErrorCode::E_LAYOUT, message)
        .hint("correct the rule's `out` in cortex.toml: each variable of its path must have one value")
}
