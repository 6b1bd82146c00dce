//! A bound model in the form that providers read. The manifest has been checked before, so values of another type count as absent.

use engine::seams::producer::Params;
use serde_json::Value;
use std::time::Duration;

/// Default number of tries of a call.
const DEFAULT_RETRIES: u32 = 3;
/// Default time limit of a call. Models on a laptop think for minutes.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// Address of Anthropic's own interface.
const ANTHROPIC: &str = "https://api.anthropic.com";

/// The interface of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    OpenAi,
    Anthropic,
    Replay,
    Command,
    Agent,
}

/// The parameters that may influence an answer.
#[derive(Clone, Debug)]
pub(super) struct Model<'a> {
    pub(super) api: Api,
    /// Name of the model at the provider; empty when it has none.
    pub(super) name: &'a str,
    pub(super) context_tokens: Option<u64>,
    pub(super) temperature: Option<&'a Value>,
    /// Further parameters of the request's body.
    pub(super) params: Option<&'a Params>,
    pub(super) command: Vec<&'a str>,
}

/// The parameters of access.
#[derive(Clone, Debug)]
pub(super) struct Reach<'a> {
    /// Its name in the manifest.
    pub(super) label: &'a str,
    /// Address without a slash at its end.
    pub(super) base_url: &'a str,
    pub(super) api_key_env: Option<&'a str>,
    pub(super) api_key_command: Vec<&'a str>,
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    pub(super) stream: bool,
    pub(super) requests_per_minute: Option<u64>,
    pub(super) tokens_per_minute: Option<u64>,
    pub(super) headers: Vec<(&'a str, &'a str)>,
    pub(super) recording: Option<&'a str>,
    pub(super) record: Option<&'a str>,
    /// The part that needs the user's approval before anything is sent.
    pub(super) sent: Option<Params>,
}

impl<'a> Model<'a> {
    /// Reads a model; `None` for an unknown interface.
    pub(super) fn from_params(params: &'a Params) -> Option<Self> {
        let api = match text_setting(params, "api")? {
            "openai" => Api::OpenAi,
            "anthropic" => Api::Anthropic,
            "replay" => Api::Replay,
            "command" => Api::Command,
            "agent" => Api::Agent,
            _ => return None,
        };
        let command = texts(params, "command");
        Some(Self {
            api,
            name: text_setting(params, "name").unwrap_or_default(),
            context_tokens: params.get("context_tokens").and_then(Value::as_u64),
            temperature: params.get("temperature").filter(|value| value.is_number()),
            params: params.get("params").and_then(Value::as_object),
            command,
        })
    }

    /// Returns a name for people: the model's, or the program's. It shows that a replayed model was not asked.
    pub(super) fn display_name(&self) -> String {
        if self.api == Api::Replay && !self.name.is_empty() {
            return format!("{} (replay)", self.name);
        }
        match (self.name, self.command.first()) {
            ("", Some(program)) => (*program).to_owned(),
            ("", None) if self.api == Api::Agent => "agent".to_owned(),
            ("", None) => "replay".to_owned(),
            (name, _) => name.to_owned(),
        }
    }
}

impl<'a> Reach<'a> {
    pub(super) fn from_settings(settings: &'a Params, api: Api) -> Self {
        let seconds = settings.get("timeout_seconds").and_then(Value::as_f64);
        let timeout = seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|timeout| !timeout.is_zero());
        let retries = settings.get("retries").and_then(Value::as_u64);
        let count = |name: &str| settings.get(name).and_then(Value::as_u64);
        let base_url = text_setting(settings, "base_url").unwrap_or(if api == Api::Anthropic { ANTHROPIC } else { "" });
        let headers = settings.get("headers").and_then(Value::as_object);
        Self {
            label: text_setting(settings, "model").unwrap_or("?"),
            base_url: base_url.trim_end_matches('/'),
            api_key_env: text_setting(settings, "api_key_env"),
            api_key_command: texts(settings, "api_key_command"),
            timeout: timeout.unwrap_or(DEFAULT_TIMEOUT),
            retries: retries
                .and_then(|tries| u32::try_from(tries).ok())
                .unwrap_or(DEFAULT_RETRIES)
                .max(1),
            stream: settings.get("stream").and_then(Value::as_bool).unwrap_or(true),
            requests_per_minute: count("requests_per_minute"),
            tokens_per_minute: count("tokens_per_minute"),
            headers: headers
                .into_iter()
                .flatten()
                .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
                .collect(),
            recording: text_setting(settings, "recording"),
            record: text_setting(settings, "record"),
            sent: command::settings_to_approve(settings),
        }
    }

    /// Returns an address below the base, which may or may not end in the version that `path` begins with.
    pub(super) fn url(&self, path: &str) -> String {
        let base = match path.strip_prefix("/v1/") {
            Some(_) => self.base_url.strip_suffix("/v1").unwrap_or(self.base_url),
            None => self.base_url,
        };
        format!("{base}{path}")
    }
}

fn text_setting<'a>(params: &'a Params, name: &str) -> Option<&'a str> {
    params.get(name)?.as_str()
}

fn texts<'a>(params: &'a Params, name: &str) -> Vec<&'a str> {
    let list = params.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}
