//! One summary: its author, and for a model everything that it may be shown.

use super::answer_plan::{self, AnswerPlan, Base};
use super::document::SummaryHead;
use super::parameters::SummaryParameters;
use super::prompt::Material;
use super::prompt_slots::Slot;
use super::renames::Renames;
use super::subject::{self, Subject};
use super::template::Template;
use engine::seams::producer::{Failure, Inputs};

/// The author of a summary.
pub(super) enum Author {
    /// Its group, which is summarised as one.
    PartOfGroup(Subject, SummaryParameters),
    /// No model: its source is never sent, or it is generated code.
    Withheld(Subject, SummaryParameters),
    Asked(Box<SummaryCase>),
}

/// A summary by a model.
pub(super) struct SummaryCase {
    pub(super) parameters: SummaryParameters,
    pub(super) subject: Subject,
    /// The template of the question.
    pub(super) template: Template,
    /// The heads of the subject that a model may see.
    pub(super) heads: Vec<SummaryHead>,
    /// The texts to show.
    pub(super) slots: Vec<Slot>,
}

impl Author {
    /// Reads inputs and parameters. Fails when an input or the template is wrong.
    pub(super) fn from_inputs(inputs: &Inputs<'_>) -> Result<Self, Failure> {
        let parameters = SummaryParameters::from_params(inputs.params, inputs.settings);
        let subject = Subject::from_inputs(inputs, &parameters)?;
        if !inputs.all("grouped").is_empty() {
            return Ok(Self::PartOfGroup(subject, parameters));
        }
        let heads = subject.visible_heads();
        if heads.is_empty() {
            return Ok(Self::Withheld(subject, parameters));
        }
        let template = subject::template(inputs, &parameters)?;
        let slots = subject.slots(&subject.blobs)?;
        Ok(Self::Asked(Box::new(SummaryCase {
            parameters,
            subject,
            template,
            heads,
            slots,
        })))
    }
}

impl SummaryCase {
    pub(super) fn material(&self) -> Material<'_> {
        Material {
            template: &self.template,
            parameters: &self.parameters,
            heads: &self.heads,
            slots: &self.slots,
        }
    }

    /// Returns the earlier answer, if a model or a person wrote one.
    pub(super) fn base(&self, inputs: &Inputs<'_>) -> Option<Base> {
        let previous = inputs.previous.as_ref()?;
        Base::from_previous(previous, &self.subject, &self.material(), &Renames::from_former(inputs.former))
    }

    /// Decides how to answer, and returns that with the present full prompt.
    pub(super) fn plan_answer(&self, inputs: &Inputs<'_>, base: Option<&mut Base>) -> Result<(AnswerPlan, String), Failure> {
        let material = self.material();
        let prompt = answer_plan::full_prompt(&material);
        let renames = Renames::from_former(inputs.former);
        Ok((
            answer_plan::decide(inputs, &self.subject, &material, base, &prompt, &renames)?,
            prompt,
        ))
    }
}
