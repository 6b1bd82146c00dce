//! `node near`: the drawable part of the graph near a target, with the position of each node.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::names::one_label;
use crate::failed::Failed;
use crate::render::printable;
use crate::render::report::graph::svg_path;
use crate::render::report::layout::{HEIGHT, WIDTH, layout};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use workbench::report::drawing::draw_near;
use workbench::short_names::expand_short_name;

/// Draw the graph near a target: inputs to the left, readers to the right, at most 120 nodes. Builds nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Near {
    /// A label.
    pub label: String,
}

/// The drawing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drawing {
    /// Label of the target.
    label: String,
    /// Width of the drawing, in pixels.
    width: i32,
    /// Its height.
    height: i32,
    /// Width and height of each node.
    node_size: (i32, i32),
    /// The nodes, the requested one first.
    nodes: Vec<DrawingNode>,
    /// Edges.
    edges: Vec<Edge>,
}

/// A node of a drawing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DrawingNode {
    label: String,
    /// `current`, `stale`, `maybe_stale`, `pending`, `none`; of a file `source`, or `moved` since the last build.
    #[schemars(with = "String")]
    state: Value,
    /// X coordinate of its left side.
    x: i32,
    /// Y coordinate of its upper side.
    y: i32,
    /// Number of its inputs that are not drawn.
    more_inputs: usize,
    /// Number of its readers that are not drawn.
    more_readers: usize,
}

/// An edge of a drawing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Edge {
    /// Index of the input in the list of nodes.
    from: usize,
    /// Index of its reader.
    to: usize,
    /// Its line: path data of SVG.
    path: String,
    /// Whether it is on the path from a changed input to the target.
    way: bool,
}

impl Method for Near {
    const NAME: &'static str = "node near";
    const EFFECT: Effect = Effect::Reads;
    type Answer = Drawing;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Drawing, Failed> {
        let (_, session) = desk.open_to_read()?;
        // A look-up by name would settle the marks of changed files, so a known label is used directly.
        let known = expand_short_name(&self.label);
        let label = match session.graph.find(&known) {
            Some(_) => known.into_owned(),
            None => one_label(session, &self.label, "drawn near")?,
        };
        let Some(near) = draw_near(session, &label)? else {
            let why = Diagnostic::error(
                ErrorCode::E_NO_TARGET,
                "the graph does not have it: it was never built in this checkout",
            );
            return Err(Failed::new(Code::Usage, why.label(&label).hint(format!("cortex build '{label}'"))));
        };
        let drawn = layout(near.nodes.len(), &near.edges);
        let way: BTreeSet<(usize, usize)> = near.way.windows(2).map(|pair| (pair[1], pair[0])).collect();
        let nodes = near.nodes.into_iter().zip(drawn.nodes);
        let edges = near.edges.into_iter().zip(drawn.edges);
        Ok(Drawing {
            label,
            width: drawn.width,
            height: drawn.height,
            node_size: (WIDTH, HEIGHT),
            nodes: nodes
                .map(|(node, (x, y))| DrawingNode {
                    label: node.label.to_string(),
                    state: serde_json::json!(node.state),
                    x,
                    y,
                    more_inputs: node.more_inputs,
                    more_readers: node.more_readers,
                })
                .collect(),
            edges: edges
                .map(|((from, to), points)| Edge {
                    from,
                    to,
                    path: svg_path(&points),
                    way: way.contains(&(from, to)),
                })
                .collect(),
        })
    }

    fn text(answer: &Drawing) -> String {
        let line = |(at, node): (usize, &DrawingNode)| {
            let state = node.state.as_str().unwrap_or_default();
            let reads = answer.edges.iter().filter(|edge| edge.to == at).count() + node.more_inputs;
            format!("{}  {state}, reads {reads}\n", node.label)
        };
        printable(&answer.nodes.iter().enumerate().map(line).collect::<String>())
    }
}
