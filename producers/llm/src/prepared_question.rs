//! A question about to be asked: its model, the way to it, its price, and the usage of its answer.

use super::call_environment::CallEnvironment;
use super::call_failures::Called;
use super::exchange::ServerCall;
use super::keys::Access;
use super::price::Price;
use super::reply::{Reply, Usage};
use super::secret::Secrets;
use super::settings::{Model, Reach};
use super::spending_limits::{Amount, Hold};
use super::tokens;
use super::{Count, ModelReply, Question, Wants};
use engine::seams::paid::Spent;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;

/// A question with its model, way of access, price and token count resolved.
pub(super) struct PreparedQuestion<'a> {
    pub(super) question: &'a Question<'a>,
    pub(super) model: Model<'a>,
    pub(super) reach: Reach<'a>,
    pub(super) price: Option<Price>,
    /// Tokens of the question.
    pub(super) input: Count,
}

/// Usage of tries that broke off.
#[derive(Clone, Copy, Default)]
pub(super) struct FailedTryUsage {
    pub(super) usage: Usage,
    pub(super) calls: u32,
}

impl PreparedQuestion<'_> {
    pub(super) fn most_tokens(&self) -> u64 {
        self.input.tokens.saturating_add(self.question.max_tokens)
    }

    pub(super) fn called<'a>(&'a self, secrets: &'a Secrets) -> Called<'a> {
        Called {
            reach: &self.reach,
            name: self.model.name,
            secrets,
        }
    }

    pub(super) fn line_to_provider<'a>(&'a self, access: &'a Access, world: &'a dyn CallEnvironment) -> ServerCall<'a> {
        ServerCall {
            api: self.model.api,
            reach: &self.reach,
            access,
            called: self.called(&access.secrets),
            world,
        }
    }

    /// Returns the usage of a reply: the provider's count if it is plausible, else an estimate.
    pub(super) fn usage(&self, reply: &Reply) -> (Usage, bool) {
        // A token has at least one byte; the allowance covers formats, gateways and hidden thoughts.
        let parts = self.question.turns.iter().flat_map(|turn| &turn.parts);
        let sent: u64 = parts.map(|part| part.text.len() as u64).sum();
        let received = reply.text.len() as u64;
        let most = self.question.max_tokens.saturating_mul(16).saturating_add(received);
        if self.question.wants == Wants::Vector {
            let counted = reply
                .usage
                .map(|usage| usage.input)
                .filter(|input| *input > 0 && *input <= sent.saturating_add(16_384));
            let input = counted.unwrap_or(self.input.tokens);
            return (Usage { input, ..Usage::default() }, counted.is_none());
        }
        let can_be = |usage: &Usage| usage.input <= sent.saturating_add(16_384) && usage.output <= most;
        match reply.usage.filter(can_be) {
            Some(usage) if usage.input > 0 && (usage.output > 0 || reply.text.is_empty()) => (usage, false),
            counted => {
                let counted = counted.unwrap_or_default();
                let output = tokens::count_for_model(self.model.name, &reply.text).tokens;
                let usage = Usage {
                    input: counted.input.max(self.input.tokens),
                    output: counted.output.max(output),
                    ..counted
                };
                (usage, true)
            }
        }
    }

    /// Returns the answer, with the usage of earlier failed tries.
    pub(super) fn answer_from_reply(
        &self,
        reply: Reply,
        (usage, estimated): (Usage, bool),
        vain: FailedTryUsage,
        batch: bool,
    ) -> ModelReply {
        let mut remarks = Vec::new();
        if reply.mended {
            remarks.push(Diagnostic::warning(
                ErrorCode::W_ENCODING,
                "the answer contained bytes that are not text; they were replaced by '\u{fffd}'",
            ));
        }
        ModelReply {
            text: reply.text,
            cut: reply.cut,
            spent: self.spent(usage.plus(vain.usage), 1 + vain.calls, estimated || vain.calls > 0, batch),
            remarks,
        }
    }

    pub(super) fn spent(&self, usage: Usage, calls: u32, estimated: bool, batch: bool) -> Spent {
        Spent {
            model: self.model.display_name(),
            calls,
            input_tokens: usage.input,
            cached_tokens: usage.cached,
            output_tokens: usage.output,
            micros: self.price.as_ref().map(|price| price.micros(usage, batch)),
            estimated,
            currency: self.price.as_ref().map(|price| price.currency.clone()).unwrap_or_default(),
            ..Spent::default()
        }
    }

    pub(super) fn settle_usage(&self, hold: Hold<'_>, reply: Reply) -> ModelReply {
        let (usage, estimated) = self.usage(&reply);
        let answer = self.answer_from_reply(reply, (usage, estimated), FailedTryUsage::default(), false);
        hold.record_usage(Amount {
            calls: 1,
            tokens: usage.input.saturating_add(usage.output),
            micros: answer.spent.micros.unwrap_or_default(),
        });
        answer
    }
}
