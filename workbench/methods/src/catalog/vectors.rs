//! Shared parts of searches by meaning: the vectors of all types, and the vector of a text.

use super::investigate::as_failed;
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::one_output;
use crate::failed::Failed;
use engine::build::ad_hoc::AdHocRequest;
use engine::build::query::NodeState;
use engine::manifest::model::ProducerDef;
use engine::seams::producer::{Input, Params};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use producers::embedding::vector::Vector;
use producers::embedding::{NAME, QUERY};
use std::collections::BTreeMap;
use std::sync::Arc;
use workbench::symbols::answer_state::{AnswerState, Freshness};

/// Label of the table of all vectors.
const VECTORS: &str = "//index:vectors";

pub(super) struct TypeVectors {
    pub bytes: Arc<[u8]>,
    is_current: bool,
}

impl TypeVectors {
    /// Returns the freshness of an answer that is based on them.
    pub fn state_of_vectors(&self) -> AnswerState {
        match self.is_current {
            true => AnswerState::default(),
            false => AnswerState::default().as_of(
                Freshness::Stale,
                format!("the vectors are those of the last build; `cortex build {VECTORS}` updates them"),
            ),
        }
    }
}

pub(super) struct TextVector {
    pub vector: Vector,
    /// Whether it was stored before.
    pub is_filed: bool,
}

/// Reads the vectors of all types, brought up to date. If a model of the manifest creates them, reads the last ones: a search pays for none.
pub(super) fn vectors(desk: &mut Desk<'_>) -> Result<TypeVectors, Failed> {
    let context = desk.context;
    let (_, session) = desk.open_to_build()?;
    let Some(producer) = producer(session.rules.manifest().producers.iter()) else {
        let why = Diagnostic::error(ErrorCode::E_NO_TARGET, "this workspace has no vectors of its types");
        return Err(Failed::new(
            Code::Usage,
            why.hint("add \"embeddings\" to 'rulesets' of [workspace]"),
        ));
    };
    if !producer.settings.contains_key("model") {
        let bytes = desk.output_of_label(VECTORS)?.bytes;
        return Ok(TypeVectors { bytes, is_current: true });
    }
    let shown = one_output::read_stored_output(context, session, VECTORS, true)?;
    let (shown, state) = shown.expect("invariant: without an output it is an error");
    Ok(TypeVectors {
        bytes: shown.bytes,
        is_current: state == NodeState::Current,
    })
}

/// Returns the vector of a text, from the same producer as the types'. It is cached by text, unless `fresh`.
pub(super) fn vector_of(desk: &mut Desk<'_>, text: &str, fresh: bool) -> Result<TextVector, Failed> {
    let context = desk.context;
    let (_, session) = desk.open_to_build()?;
    let mut params = Params::new();
    if let Some(producer) = producer(session.rules.manifest().producers.iter()) {
        let known = ["dimensions", "most_tokens"];
        params.extend(
            known
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), producer.params.get(*name)?.clone()))),
        );
        params.extend(producer.settings.get("model").map(|model| ("model".to_owned(), model.clone())));
    }
    let bytes: Arc<[u8]> = text.trim().as_bytes().into();
    let digest = Digest::of(&bytes);
    let label = format!("//queries/{digest}:embedding");
    let input = Input {
        item: Arc::from(""),
        digest,
        label: Arc::from(label.as_str()),
        bytes,
        tree: None,
    };
    let roles = BTreeMap::from([(Arc::from(QUERY), vec![input])]);
    let wanted = AdHocRequest {
        label: &label,
        uses: NAME,
        params: &params,
        roles: &roles,
        fresh,
    };
    let made = session.produce_ad_hoc(&wanted, &context.cancel())?.map_err(|failure| {
        let (code, why) = as_failed(failure, &label);
        Failed::new(code, why)
    })?;
    let vector = Vector::from_text(&made.bytes).ok_or_else(|| {
        let why = Diagnostic::error(ErrorCode::E_ANSWER, "the stored vector cannot be read").label(&label);
        Failed::new(Code::TargetFailed, why)
    })?;
    Ok(TextVector {
        vector,
        is_filed: made.cached,
    })
}

fn producer<'m>(mut producers: impl Iterator<Item = &'m ProducerDef>) -> Option<&'m ProducerDef> {
    producers.find(|producer| producer.uses == NAME)
}
