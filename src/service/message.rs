//! JSON-RPC 2.0: the messages, and the form of cortex errors in them (seed 000 §6.1, §16).

use crate::exit::exit_number;
use engine::values::codes::ErrorCode;
use methods::code::Code;
use methods::failed::Failed;
use methods::render::diagnostic;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::fmt;

/// Error codes of the specification and of the Language Server Protocol.
pub mod code {
    /// The message is not JSON.
    pub const PARSE: i32 = -32700;
    /// The message is not a request.
    pub const REQUEST: i32 = -32600;
    /// The method does not exist.
    pub const METHOD: i32 = -32601;
    /// The method does not take these arguments.
    pub const PARAMS: i32 = -32602;
    /// A bug of cortex.
    pub const INTERNAL: i32 = -32603;
    /// The method failed; `data` says why.
    pub const FAILED: i32 = -32000;
    /// The service is busy with other requests.
    pub const BUSY: i32 = -32001;
    /// The client cancelled the request.
    pub const CANCELLED: i32 = -32800;
}

/// A message that a peer sent.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// A call with an answer.
    Request {
        id: Value,
        method: String,
        /// Arguments of the method.
        params: Value,
    },
    /// A call without an answer.
    Notification {
        method: String,
        /// Arguments of the method.
        params: Value,
    },
    /// An answer, although the service sends no requests.
    Answer,
}

/// Reason why bytes are not a message: the id to answer to, the code, a sentence.
pub type Malformed = (Value, i32, String);

/// Parses a message. Fails when the bytes are not a message.
pub fn parse_message(bytes: &[u8]) -> Result<Message, Malformed> {
    #[derive(Deserialize)]
    struct Raw {
        jsonrpc: Option<Value>,
        #[serde(default, deserialize_with = "read_present")]
        id: Option<Value>,
        method: Option<Value>,
        params: Option<Value>,
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| (Value::Null, code::PARSE, format!("not valid JSON: {error}")))?;
    if value.is_array() {
        let why = "a message may contain only one request: send one message for each";
        return Err((Value::Null, code::REQUEST, why.to_owned()));
    }
    let id = value
        .get("id")
        .filter(|id| id.is_string() || id.is_number())
        .cloned()
        .unwrap_or(Value::Null);
    let answers = value.get("result").is_some() || value.get("error").is_some();
    let raw: Raw = serde_json::from_value(value).map_err(|_| (id.clone(), code::REQUEST, "a message is an object".to_owned()))?;
    if raw.jsonrpc.as_ref().and_then(Value::as_str) != Some("2.0") {
        return Err((id, code::REQUEST, "a message says \"jsonrpc\": \"2.0\"".to_owned()));
    }
    let Some(method) = raw.method else {
        if answers {
            return Ok(Message::Answer);
        }
        return Err((id, code::REQUEST, "a request names a method".to_owned()));
    };
    let Value::String(method) = method else {
        return Err((id, code::REQUEST, "the name of a method is a string".to_owned()));
    };
    let params = raw.params.unwrap_or(Value::Null);
    if !matches!(params, Value::Null | Value::Object(_) | Value::Array(_)) {
        return Err((id, code::REQUEST, "params are an object or an array".to_owned()));
    }
    match raw.id {
        None => Ok(Message::Notification { method, params }),
        Some(id @ (Value::String(_) | Value::Number(_) | Value::Null)) => Ok(Message::Request { id, method, params }),
        Some(_) => Err((Value::Null, code::REQUEST, "an id is a string or a number".to_owned())),
    }
}

/// Returns the id of a malformed or truncated message; `null` if the id does not precede the error.
pub fn id_in(bytes: &[u8]) -> Value {
    struct Id<'v>(&'v mut Value);

    impl<'de> Visitor<'de> for Id<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a message")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            let mut found = Value::Null;
            while let Some(key) = map.next_key::<String>()? {
                // A following token proves that the id is complete.
                if !found.is_null() {
                    *self.0 = found.take();
                }
                match key.as_str() {
                    "id" => found = map.next_value()?,
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
                if found.is_string() {
                    *self.0 = found.take();
                }
            }
            Ok(())
        }
    }

    let mut id = Value::Null;
    // Parsing stops at the error.
    let _ = serde_json::Deserializer::from_slice(bytes).deserialize_map(Id(&mut id));
    if id.is_string() || id.is_number() { id } else { Value::Null }
}

/// Reads a field that is present, also as `null`: a request with the id `null` gets an answer, a message without an id does not.
fn read_present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

pub fn answer_message(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

pub fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Builds the message of a failed method; `diagnostics` are its other diagnostics.
pub fn error_message(id: &Value, failed: &Failed, diagnostics: &[engine::values::diagnostic::Diagnostic]) -> Value {
    let data = error_object(failed, diagnostics);
    let message = data["message"].as_str().unwrap_or("it failed").to_owned();
    let code = match (failed.code, data["code"].as_str().and_then(ErrorCode::parse)) {
        (_, Some(ErrorCode::E_PARAM)) => code::PARAMS,
        (Code::Busy, _) => code::BUSY,
        (Code::Internal, _) => code::INTERNAL,
        (Code::Interrupted, _) => code::CANCELLED,
        _ => code::FAILED,
    };
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}})
}

/// Builds the error that all programs get: the deciding error, and the other diagnostics.
pub fn error_object(failed: &Failed, diagnostics: &[engine::values::diagnostic::Diagnostic]) -> Value {
    use engine::values::diagnostic::{Diagnostic, Severity};
    let all: Vec<&Diagnostic> = failed.diagnostics.iter().chain(diagnostics).collect();
    let first = all.iter().position(|one| one.severity == Severity::Error);
    let mut data = match first {
        Some(at) => diagnostic::diagnostic_json(all[at]),
        None => json!({"severity": "error", "code": ErrorCode::E_FAILED.as_str(), "message": "the method gave no answer"}),
    };
    let others: Vec<Value> = (0..all.len())
        .filter(|at| Some(*at) != first)
        .map(|at| diagnostic::diagnostic_json(all[at]))
        .collect();
    if !others.is_empty() {
        data["others"] = others.into();
    }
    data["exitCode"] = exit_number(failed.code).into();
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal_of_message(text: &str) -> (Value, i32) {
        parse_message(text.as_bytes())
            .map_err(|(id, code, _)| (id, code))
            .expect_err("no message")
    }

    #[test]
    fn messages() {
        let request = parse_message(br#"{"jsonrpc":"2.0","id":7,"method":"Status"}"#).expect("a request");
        assert_eq!(
            request,
            Message::Request {
                id: 7.into(),
                method: "Status".to_owned(),
                params: Value::Null
            }
        );
        let nameless = parse_message(br#"{"jsonrpc":"2.0","id":null,"method":"Status"}"#).expect("a request");
        assert!(matches!(nameless, Message::Request { id: Value::Null, .. }), "{nameless:?}");
        let said = parse_message(br#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}"#).expect("a notification");
        assert_eq!(
            said,
            Message::Notification {
                method: "$/cancelRequest".to_owned(),
                params: json!({"id": 7})
            }
        );
        assert_eq!(
            parse_message(br#"{"jsonrpc":"2.0","id":1,"result":null}"#).expect("an answer"),
            Message::Answer
        );
        assert_eq!(
            parse_message(br#"{"jsonrpc":"2.0","id":1,"result":[]}"#).expect("an answer"),
            Message::Answer
        );
    }

    #[test]
    fn ids_of_broken_messages() {
        for (broken, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"x""#, Value::from(7)),
            (r#"{"id":"a""#, "a".into()),
            (r#"{"params":[[1,{"id":2}]],"id":3,"method"#, Value::Null),
            (r#"{"params":[[1,{"id":2}]],"id":3,"method":"#, 3.into()),
            // More digits may follow.
            (r#"{"id":12"#, Value::Null),
            (r#"{"id":{},"method":"x"#, Value::Null),
            (r#"{"method":"x"#, Value::Null),
            ("x", Value::Null),
        ] {
            assert_eq!(id_in(broken.as_bytes()), id, "{broken}");
        }
        assert_eq!(id_in(b"{\"params\":\"\xff\",\"id\":5,\"x\":1}"), 5);
    }

    #[test]
    fn malformed_messages_are_refused_with_the_id_they_have() {
        assert_eq!(refusal_of_message("{"), (Value::Null, code::PARSE));
        assert_eq!(refusal_of_message("[]"), (Value::Null, code::REQUEST));
        assert_eq!(refusal_of_message("3"), (Value::Null, code::REQUEST));
        assert_eq!(refusal_of_message(r#"{"id":1,"method":"x"}"#), (1.into(), code::REQUEST));
        assert_eq!(
            refusal_of_message(r#"{"jsonrpc":"2.0","id":"a","method":3}"#),
            ("a".into(), code::REQUEST)
        );
        assert_eq!(
            refusal_of_message(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":3}"#),
            (1.into(), code::REQUEST)
        );
        assert_eq!(
            refusal_of_message(r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#),
            (Value::Null, code::REQUEST)
        );
        assert_eq!(refusal_of_message(&"[".repeat(100_000)), (Value::Null, code::PARSE));
    }
}
