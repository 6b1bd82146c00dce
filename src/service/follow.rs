//! Operations as streams: the asynchronous enumerations of StreamJsonRpc (`{token, values, finished}`, `$/enumerator/next`,
//! `$/enumerator/abort`), or partial results by `$/progress` for clients that give a `partialResultToken`.

use super::message::{self, code};
use super::peer::Peer;
use engine::seams::producer::Cancel;
use methods::catalog;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Poll interval for new events of an operation.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Limit of open streams per client; a further stream closes the oldest.
const MOST: usize = 64;

/// Position of a client in an operation.
#[derive(Clone, Debug)]
struct StreamPosition {
    op_id: String,
    seen: usize,
}

/// The streams of one client.
#[derive(Clone, Debug, Default)]
pub struct Streams(Arc<Mutex<(u64, HashMap<u64, StreamPosition>)>>);

impl Streams {
    fn lock_places(&self) -> MutexGuard<'_, (u64, HashMap<u64, StreamPosition>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_stream(&self, place: StreamPosition) -> u64 {
        let mut all = self.lock_places();
        all.0 += 1;
        let token = all.0;
        all.1.insert(token, place);
        if all.1.len() > MOST
            && let Some(oldest) = all.1.keys().min().copied()
        {
            all.1.remove(&oldest);
        }
        token
    }
}

impl Peer {
    /// Answers `StreamOp`, `$/enumerator/next` or `$/enumerator/abort`.
    pub(super) async fn follow(&self, id: &Value, method: &str, params: Value, cancel: &Cancel) -> Value {
        let params = match params {
            Value::Array(mut values) if !values.is_empty() => values.swap_remove(0),
            params => params,
        };
        let token = params["token"].as_u64().or_else(|| params.as_u64());
        let unknown = || message::error(id, code::PARAMS, "there is no open stream of this token");
        match method {
            "$/enumerator/abort" => {
                if let Some(token) = token {
                    self.streams.lock_places().1.remove(&token);
                }
                message::answer_message(id, Value::Null)
            }
            "$/enumerator/next" => {
                let Some(token) = token else { return unknown() };
                let Some(place) = self.streams.lock_places().1.get(&token).cloned() else {
                    return unknown();
                };
                match self.news(place, true, cancel).await {
                    Err(failed) => failed.to(id),
                    Ok((place, values, finished)) => {
                        let mut all = self.streams.lock_places();
                        if finished {
                            all.1.remove(&token);
                        } else if let Some(known) = all.1.get_mut(&token) {
                            *known = place;
                        }
                        message::answer_message(id, json!({"values": values, "finished": finished}))
                    }
                }
            }
            _ => {
                let named = params
                    .as_str()
                    .or_else(|| params["opId"].as_str())
                    .or_else(|| params["id"].as_str());
                let place = StreamPosition {
                    op_id: named.unwrap_or_default().to_owned(),
                    seen: params["since"].as_u64().and_then(|seen| usize::try_from(seen).ok()).unwrap_or(0),
                };
                match params.get("partialResultToken").or_else(|| params.get("progressToken")) {
                    Some(token) => self.push_changes(id, token, place, cancel).await,
                    None => self.enumerate(id, place, cancel).await,
                }
            }
        }
    }

    async fn enumerate(&self, id: &Value, place: StreamPosition, cancel: &Cancel) -> Value {
        match self.news(place, false, cancel).await {
            Err(failed) => failed.to(id),
            Ok((_, values, true)) => message::answer_message(id, json!({"values": values, "finished": true})),
            Ok((place, values, false)) => {
                let token = self.streams.open_stream(place);
                message::answer_message(id, json!({"token": token, "values": values, "finished": false}))
            }
        }
    }

    async fn push_changes(&self, id: &Value, token: &Value, mut place: StreamPosition, cancel: &Cancel) -> Value {
        loop {
            match self.news(place, true, cancel).await {
                Err(failed) => return failed.to(id),
                Ok((next, values, finished)) => {
                    if !values.is_empty() {
                        self.queue_message(message::notification("$/progress", json!({"token": token, "value": values})))
                            .await;
                    }
                    if finished {
                        return message::answer_message(id, json!({"values": [], "finished": true}));
                    }
                    place = next;
                }
            }
        }
    }

    /// Returns the new events, the client's next position, and whether the operation finished. With `waits`, waits for an event.
    async fn news(&self, place: StreamPosition, waits: bool, cancel: &Cancel) -> Result<(StreamPosition, Vec<Value>, bool), Stopped> {
        let entry =
            catalog::find_method("operation").ok_or_else(|| Stopped(Box::new(|id| message::error(id, code::METHOD, "no operations"))))?;
        loop {
            let arguments = json!({"opId": place.op_id, "since": place.seen});
            let (host, stop) = (self.shared.host.clone(), cancel.clone());
            let joined = tokio::task::spawn_blocking(move || host.call(entry, arguments, &stop)).await;
            let outcome = joined.map_err(|_| Stopped(Box::new(|id| message::error(id, code::INTERNAL, "a bug of cortex"))))?;
            let answer = match outcome.result {
                Ok(answered) => answered.answer,
                Err(failed) => {
                    return Err(Stopped(Box::new(move |id| {
                        message::error_message(id, &failed, &outcome.diagnostics)
                    })));
                }
            };
            let values = answer["events"].as_array().cloned().unwrap_or_default();
            let finished = answer["finished"] == true;
            if finished || !values.is_empty() || !waits {
                let place = StreamPosition {
                    seen: place.seen + values.len(),
                    ..place
                };
                return Ok((place, values, finished));
            }
            if cancel.is_cancelled() {
                return Err(Stopped(Box::new(|id| message::error(id, code::CANCELLED, "request cancelled"))));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Reason that ends a stream, as the message for a request's id.
struct Stopped(Box<dyn FnOnce(&Value) -> Value + Send>);

impl Stopped {
    fn to(self, id: &Value) -> Value {
        (self.0)(id)
    }
}
