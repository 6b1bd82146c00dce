//! One summary to be made: who answers for it, and if that is a model, everything that it could be shown.

use super::decide::{self, Base, Way};
use super::document::Head;
use super::parameters::Wishes;
use super::prompt::Material;
use super::renames::Renames;
use super::slots::Slot;
use super::subject::{self, Subject};
use super::template::Template;
use engine::seams::producer::{Failure, Inputs};

/// Who answers for a summary.
pub(super) enum Case {
    /// Its group, which is asked about as one.
    PartOfGroup(Subject, Wishes),
    /// Nobody: its source is never sent, or it is generated code.
    Withheld(Subject, Wishes),
    /// A model.
    Asked(Box<SummaryCase>),
}

/// A summary that a model answers for.
pub(super) struct SummaryCase {
    /// How it is wanted.
    pub(super) wishes: Wishes,
    /// What it is about.
    pub(super) subject: Subject,
    /// The words of the question.
    pub(super) template: Template,
    /// What of the subject a model may see.
    pub(super) heads: Vec<Head>,
    /// The texts to show.
    pub(super) slots: Vec<Slot>,
}

impl Case {
    /// Reads inputs and parameters.
    ///
    /// # Errors
    /// When an input or the template is wrong.
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, Failure> {
        let wishes = Wishes::read(inputs.params, inputs.settings);
        let subject = Subject::read(inputs, &wishes)?;
        if !inputs.all("grouped").is_empty() {
            return Ok(Self::PartOfGroup(subject, wishes));
        }
        let heads = subject.visible_heads();
        if heads.is_empty() {
            return Ok(Self::Withheld(subject, wishes));
        }
        let template = subject::template(inputs, &wishes)?;
        let slots = subject.slots(&subject.blobs)?;
        Ok(Self::Asked(Box::new(SummaryCase {
            wishes,
            subject,
            template,
            heads,
            slots,
        })))
    }
}

impl SummaryCase {
    /// What prompts are made of.
    pub(super) fn material(&self) -> Material<'_> {
        Material {
            template: &self.template,
            wishes: &self.wishes,
            heads: &self.heads,
            slots: &self.slots,
        }
    }

    /// The earlier answer, if a model or a person gave one.
    pub(super) fn base(&self, inputs: &Inputs<'_>) -> Option<Base> {
        let previous = inputs.previous.as_ref()?;
        Base::read(previous, &self.subject, &self.material(), &Renames::of(inputs.former))
    }

    /// What is to be done, with the full prompt of now.
    ///
    /// # Errors
    /// When an earlier input is not of our making.
    pub(super) fn way(&self, inputs: &Inputs<'_>, base: Option<&mut Base>) -> Result<(Way, String), Failure> {
        let material = self.material();
        let prompt = decide::full_prompt(&material);
        let renames = Renames::of(inputs.former);
        Ok((decide::decide(inputs, &self.subject, &material, base, &prompt, &renames)?, prompt))
    }
}
