//! Failures of one call, and their messages for people.

use super::call_environment::CallEnvironment;
use super::http::{Broken, Response};
use super::reply::Complaint;
use super::retries::retry_after;
use super::secret::Secrets;
use super::settings::Reach;
use engine::seams::producer::{Cancel, Failure};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::time::Duration;

/// Limit of bytes that are read of an error's body.
const LONGEST_ERROR: usize = 64 << 10;

/// The reason why a call gave no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    Cancelled,
    /// It will fail again.
    Permanent(Box<Diagnostic>),
    /// Every other question to this model will fail too.
    Shut(Box<Diagnostic>),
    /// This question is too long; others may fit.
    Unfit(Box<Diagnostic>),
    /// The server knows no such address or model.
    Absent(Box<Diagnostic>),
    /// The model refused to answer; that was paid for.
    Refused(Box<Diagnostic>),
    /// Nothing was sent, or the failure is already complete.
    Settled(Failure),
    Transient {
        why: Box<Diagnostic>,
        /// The delay that the server requested.
        floor: Option<Duration>,
        /// Whether the server works and only wants fewer calls.
        busy: bool,
    },
}

/// The model that is called, for messages.
#[derive(Clone, Copy)]
pub(super) struct Called<'a> {
    pub(super) reach: &'a Reach<'a>,
    pub(super) name: &'a str,
    pub(super) secrets: &'a Secrets,
}

impl Called<'_> {
    /// Returns for instance `model 'team' at http://127.0.0.1:8080`.
    pub(super) fn describe_model(&self) -> String {
        format!("model '{}' at {}", self.reach.label, self.secrets.scrub(host(self.reach.base_url)))
    }

    fn error(&self, code: ErrorCode, message: String, found: &str, hint: &str) -> Box<Diagnostic> {
        let why = Diagnostic::error(code, message).hint(hint);
        let found = self.secrets.redacted_line(found);
        Box::new(if found.is_empty() { why } else { why.found(found) })
    }

    fn transient(&self, message: String, found: &str, hint: &str) -> Trouble {
        Trouble::Transient {
            why: self.error(ErrorCode::E_PROVIDER, message, found, hint),
            floor: None,
            busy: false,
        }
    }

    pub(super) fn connection_failed(&self, broken: Broken) -> Trouble {
        match broken {
            Broken::Cancelled => Trouble::Cancelled,
            Broken::TimedOut => self.transient(
                format!(
                    "{} gave no whole answer within {} s",
                    self.describe_model(),
                    self.reach.timeout.as_secs_f64()
                ),
                "",
                "raise timeout_seconds of the model, or try again",
            ),
            Broken::Unfit(why) => Trouble::Shut(self.error(
                ErrorCode::E_PROVIDER,
                format!("{} cannot be called", self.describe_model()),
                &why,
                "look at base_url and headers of the model, and at its key",
            )),
            Broken::Lost(why) => self.transient(
                format!("{} cannot be reached, or broke off", self.describe_model()),
                &why,
                "see that the server runs and that base_url is its address, then build again",
            ),
        }
    }

    /// Describes a stream that ended before the answer did.
    pub(super) fn truncated(&self) -> Trouble {
        self.transient(
            format!("{} broke off in the middle of its answer", self.describe_model()),
            "",
            "build again; a server's log may say why",
        )
    }

    /// Describes an answer that is a web page.
    pub(super) fn web_page_trouble(&self) -> Trouble {
        Trouble::Permanent(self.error(
            ErrorCode::E_PROVIDER,
            format!("{} answered with a web page", self.describe_model()),
            "",
            "base_url must lead to a language model's interface, often with /v1 at its end, past pages to log in at",
        ))
    }

    /// Describes an answer that exceeds every limit.
    pub(super) fn endless(&self, bytes: usize) -> Trouble {
        Trouble::Permanent(self.error(
            ErrorCode::E_PROVIDER,
            format!("{} sent more than {bytes} bytes without coming to an end", self.describe_model()),
            "",
            "see that base_url leads to a language model's server",
        ))
    }

    /// Reads the body of a refusal and interprets it.
    pub(super) fn read_refusal(&self, response: &mut Response, world: &dyn CallEnvironment, cancel: &Cancel) -> Trouble {
        let after = response.header("retry-after").and_then(|value| retry_after(value, world.today()));
        let location = response.header("location").unwrap_or_default().to_owned();
        let body = match response.read_body(LONGEST_ERROR, cancel) {
            Ok((body, _)) => body,
            Err(Broken::Cancelled) => return Trouble::Cancelled,
            // The status is enough.
            Err(_) => Vec::new(),
        };
        if (300..400).contains(&response.status) {
            let message = format!(
                "{} leads elsewhere, and a key is sent nowhere but to the address in the manifest",
                self.describe_model()
            );
            return Trouble::Shut(self.error(ErrorCode::E_PROVIDER, message, &location, "write the new address as base_url"));
        }
        self.complaint(&Complaint::from_body(response.status, &body), after)
    }

    /// Interprets a provider's complaint.
    pub(super) fn complaint(&self, complaint: &Complaint, after: Option<Duration>) -> Trouble {
        if let Some((requested, fits)) = complaint.context() {
            return Trouble::Unfit(self.context(requested, fits, &complaint.message));
        }
        let status = complaint.status;
        let found = format!("{} {}", complaint.kind, complaint.message);
        let answered = match status {
            0 => format!("{} answered what cannot be read", self.describe_model()),
            status => format!("{} answered {status}", self.describe_model()),
        };
        let error = |code: ErrorCode, hint: &str| self.error(code, answered.clone(), &found, hint);
        let permanent = |code: ErrorCode, hint: &str| Trouble::Permanent(error(code, hint));
        match (status, complaint.kind.as_str()) {
            (_, kind) if kind.contains("insufficient_quota") => {
                Trouble::Shut(error(ErrorCode::E_QUOTA, "add credit to the account of this key, then build again"))
            }
            (400, "content_filter" | "refusal") => Trouble::Refused(self.error(
                ErrorCode::E_REFUSED,
                format!("{} refused to answer", self.describe_model()),
                &complaint.message,
                "build again, or choose another model",
            )),
            (0, "no_choices" | "no_content") => {
                permanent(ErrorCode::E_PROVIDER, "see that base_url leads to a server that speaks this 'api'")
            }
            (401, _) => Trouble::Shut(error(ErrorCode::E_KEY, &self.key_hint())),
            // Gateways also refuse single questions with this.
            (403, _) => permanent(ErrorCode::E_KEY, &self.key_hint()),
            (404, _) => Trouble::Absent(self.error(
                ErrorCode::E_PROVIDER,
                answered,
                &found,
                &format!("see that base_url is right and that the server has a model '{}'", self.name),
            )),
            (0 | 408 | 425 | 429 | 500..=599, _) => Trouble::Transient {
                why: self.error(ErrorCode::E_PROVIDER, answered, &found, "wait a little and build again"),
                floor: after,
                busy: status == 429,
            },
            _ => permanent(
                ErrorCode::E_PROVIDER,
                "the request was refused as it is: look at name, params and headers of the model",
            ),
        }
    }

    /// Describes a question that is too long for the model.
    pub(super) fn context(&self, requested: u64, fits: u64, found: &str) -> Box<Diagnostic> {
        let numbers = match (requested, fits) {
            (0, 0) => String::new(),
            (0, fits) => format!(": {fits} tokens fit"),
            (requested, fits) => format!(": {requested} tokens, and {fits} fit"),
        };
        let hint = "set context_tokens of the model to what its server allows, lower max_tokens, or choose a model with a longer context";
        self.error(
            ErrorCode::E_CONTEXT,
            format!("the question is too long for {}{numbers}", self.describe_model()),
            found,
            hint,
        )
    }

    fn key_hint(&self) -> String {
        match (self.reach.api_key_env, self.reach.api_key_command.first()) {
            (Some(name), _) => format!("see that the variable {name} holds a valid key for this address: export {name}=…"),
            (None, Some(program)) => format!("see that '{program}' (api_key_command) prints a valid key for this address"),
            (None, None) => "name the variable that holds the key: api_key_env = \"TEAM_LLM_KEY\"".to_owned(),
        }
    }
}

/// Returns an address without its path.
fn host(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}
