//! Keys of services: their sources, and the headers that carry them.

use super::call_environment::CallEnvironment;
use super::program::{self, Program};
use super::secret::{Secret, Secrets, expand};
use super::settings::{Api, Reach};
use engine::seams::producer::{Cancel, Failure};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time limit of a program that prints a key: it may ask a person.
const LONGEST_ASKING: Duration = Duration::from_secs(120);

/// The credentials of a request.
pub(super) struct Access {
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) secrets: Secrets,
}

/// Keys from programs, each of which runs once.
#[derive(Default)]
pub(super) struct Keys(Mutex<BTreeMap<String, Secret>>);

impl Keys {
    /// Returns the headers for a model's requests. Fails when a key is not available.
    pub(super) fn access(
        &self,
        reach: &Reach<'_>,
        api: Api,
        root: &Path,
        world: &dyn CallEnvironment,
        cancel: &Cancel,
    ) -> Result<Access, Failure> {
        let mut access = Access {
            headers: Vec::new(),
            secrets: Secrets::default(),
        };
        for (name, value) in &reach.headers {
            let (value, secrets) = expand(value, world).map_err(|variable| {
                let message = format!(
                    "the header '{name}' of model '{}' needs the variable {variable}, which is not set",
                    reach.label
                );
                key_error(message, format!("export {variable}=…"))
            })?;
            secrets.into_iter().for_each(|secret| access.secrets.add_secret(secret));
            access.headers.push(((*name).to_owned(), Secret::new(&value)));
        }
        let has = |header: &str| reach.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(header));
        if let Some(key) = self.key_for(reach, root, world, cancel)? {
            access.secrets.add_secret(key.clone());
            match api {
                Api::Anthropic if !has("x-api-key") => access.headers.push(("x-api-key".to_owned(), key)),
                Api::OpenAi if !has("authorization") => {
                    access
                        .headers
                        .push(("authorization".to_owned(), Secret::new(&format!("Bearer {}", key.reveal()))));
                }
                _ => {}
            }
        }
        if api == Api::Anthropic && !has("anthropic-version") {
            access
                .headers
                .push(("anthropic-version".to_owned(), Secret::new(super::anthropic::VERSION)));
        }
        Ok(access)
    }

    fn key_for(&self, reach: &Reach<'_>, root: &Path, world: &dyn CallEnvironment, cancel: &Cancel) -> Result<Option<Secret>, Failure> {
        if let Some(name) = reach.api_key_env {
            let key = world.variable(name);
            let Some(key) = key.as_deref().map(str::trim).filter(|key| !key.is_empty()) else {
                let message = format!("the variable {name}, which holds the key of model '{}', is not set", reach.label);
                return Err(key_error(message, format!("export {name}=…, then build again")));
            };
            return fit(key, &format!("the variable {name}")).map(Some);
        }
        let Some(program) = reach.api_key_command.first() else {
            return Ok(None);
        };
        // Locked while the program runs, so that it runs once for all callers.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = reach.api_key_command.join("\0");
        if let Some(key) = known.get(&name) {
            return Ok(Some(key.clone()));
        }
        let printed = program::run_program(
            &Program {
                argv: &reach.api_key_command,
                root,
                input: &[],
                timeout: LONGEST_ASKING,
                longest: 64 << 10,
            },
            cancel,
        );
        let printed = match printed {
            Ok(printed) => printed,
            Err(program::Stop::Cancelled) => return Err(Failure::Cancelled),
            // Show none of its output: that may contain the key.
            Err(stop) => {
                let message = format!(
                    "'{program}' (api_key_command of model '{}') gave no key: {}",
                    reach.label,
                    stop.describe_stop()
                );
                return Err(key_error(message, "run it by hand".to_owned()));
            }
        };
        let text = String::from_utf8_lossy(&printed.bytes);
        let key = fit(
            text.lines().next().unwrap_or_default().trim(),
            &format!("'{program}' (api_key_command)"),
        )?;
        known.insert(name, key.clone());
        Ok(Some(key))
    }
}

fn fit(key: &str, whence: &str) -> Result<Secret, Failure> {
    if key.is_empty() || key.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(key_error(
            format!("what {whence} gives cannot be a key"),
            "a key is one line of plain characters".to_owned(),
        ));
    }
    Ok(Secret::new(key))
}

fn key_error(message: String, hint: String) -> Failure {
    Failure::Limit(Box::new(Diagnostic::error(ErrorCode::E_KEY, message).hint(hint)))
}
