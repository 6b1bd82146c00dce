//! Single messages, as over HTTP: no progress, streams or earlier requests. A client that disconnects cancels its request.

use super::message::{self, Message, code};
use super::peer::{MethodCall, STOP, Shared, reply_to};
use engine::seams::producer::Cancel;
use serde_json::Value;
use serve::host::{Asker, CancelOnDrop, Patience};

impl Shared {
    /// Answers a message; `None` for a notification.
    pub async fn answer_message(&self, bytes: &[u8]) -> Option<Value> {
        let (id, method, params) = match message::parse_message(bytes) {
            Ok(Message::Request { id, method, params }) => (id, method, params),
            Ok(Message::Notification { .. } | Message::Answer) => return None,
            Err((id, code, why)) => return Some(message::error(&id, code, &why)),
        };
        if let Some(answer) = self.answer_about_service(&id, &method) {
            if method == STOP {
                self.stop.notify_one();
            }
            return Some(answer);
        }
        Some(match MethodCall::from_request(&method, params) {
            Ok(call) => self.answer_request(&id, call).await,
            Err((code, why)) => message::error(&id, code, &why),
        })
    }

    async fn answer_request(&self, id: &Value, call: MethodCall) -> Value {
        let Ok(_worker) = self.workers.acquire().await else {
            return message::error(id, code::BUSY, "the service ends");
        };
        let cancel = CancelOnDrop(Cancel::default());
        let (host, stop) = (self.host.clone(), cancel.0.clone());
        let MethodCall { entry, arguments, cli, .. } = call;
        let answering = move || host.call_with(entry, arguments, &stop, Asker::with_patience(Patience::Long));
        match tokio::task::spawn_blocking(answering).await {
            Ok(outcome) => reply_to(id, outcome, cli),
            Err(_) => message::error(id, code::INTERNAL, "a bug of cortex: the request came to no end"),
        }
    }
}
