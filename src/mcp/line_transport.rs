//! Transport to a client: one message per line, read and written concurrently.
//!
//! A malformed message gets a JSON-RPC error, under its id if that is readable, and the conversation continues. The transports of `rmcp` skip
//! it silently, and the client waits for ever.

use crate::service::frame::{self, Frame, Framing, Reader};
use crate::service::message::{self, Message, code};
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, mpsc};

type ReceivedMessage = RxJsonRpcMessage<RoleServer>;

/// Limit of a message, in bytes.
const LONGEST: usize = 16 << 20;

/// Byte order mark, with which some programs start a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Transport to one client.
pub struct LineTransport<W> {
    /// Messages from a reading task: a pending receive may be cancelled at any time.
    received: mpsc::Receiver<ReceivedMessage>,
    to: Arc<Mutex<W>>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> LineTransport<W> {
    /// Starts to read messages.
    pub fn new(from: impl AsyncRead + Send + Unpin + 'static, to: W) -> Self {
        let to = Arc::new(Mutex::new(to));
        let (tell, received) = mpsc::channel(1);
        tokio::spawn(pass_messages(Reader::of_lines(from, LONGEST), to.clone(), tell));
        Self { received, to }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for LineTransport<W> {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let to = self.to.clone();
        async move { write_line(&to, &serde_json::to_vec(&message)?).await }
    }

    async fn receive(&mut self) -> Option<ReceivedMessage> {
        self.received.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.received.close();
        Ok(())
    }
}

async fn write_line<W: AsyncWrite + Unpin>(to: &Mutex<W>, message: &[u8]) -> io::Result<()> {
    frame::write_message(&mut *to.lock().await, Framing::Lines, message).await
}

/// Passes messages on until the stream ends or the transport is closed.
async fn pass_messages<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    mut from: Reader<R>,
    to: Arc<Mutex<W>>,
    tell: mpsc::Sender<ReceivedMessage>,
) {
    while let Ok(true) = from.ready().await {
        let parse_message = match from.next().await {
            Ok(Frame::Message(bytes)) => parse_message(&bytes),
            Ok(Frame::TooLong { bytes, begun }) => {
                let why = format!("a message of at least {bytes} bytes is too long; the longest is {LONGEST}");
                Err((message::id_in(&begun), code::REQUEST, why))
            }
            Ok(Frame::Garbage(_) | Frame::End) | Err(_) => return,
        };
        let is_handled = match parse_message {
            Ok(None) => true,
            Ok(Some(message)) => tell.send(*message).await.is_ok(),
            Err((id, code, why)) => write_line(&to, message::error(&id, code, &why).to_string().as_bytes())
                .await
                .is_ok(),
        };
        if !is_handled {
            return;
        }
    }
}

/// Parses a message; `None` for a malformed one without an id to answer to. The error is the id, code and text of a refusal.
fn parse_message(bytes: &[u8]) -> Result<Option<Box<ReceivedMessage>>, (Value, i32, String)> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let parsed = message::parse_message(bytes).map_err(|(id, code, why)| match code {
        code::PARSE => (message::id_in(bytes), code, why),
        _ => (id, code, why),
    })?;
    match (serde_json::from_slice::<ReceivedMessage>(bytes), parsed) {
        (Ok(message), _) => Ok(Some(Box::new(message))),
        (Err(_), Message::Answer | Message::Notification { .. }) => Ok(None),
        (Err(error), Message::Request { id, .. }) => Err((id, code::REQUEST, format!("this is not a request of the protocol: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal_of_line(bytes: &[u8]) -> (Value, i32) {
        let refusal = parse_message(bytes).map(|message| message.is_some());
        refusal.map_err(|(id, code, _)| (id, code)).expect_err("no message")
    }

    #[test]
    fn a_malformed_line_is_refused_under_its_id() {
        assert_eq!(
            refusal_of_line(br#"{"jsonrpc":"2.0","id":7,"method":"ping""#),
            (7.into(), code::PARSE)
        );
        assert_eq!(
            refusal_of_line(b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\xfe\"}}"),
            ("a".into(), code::PARSE)
        );
        assert_eq!(refusal_of_line(br#"{"id":"#), (Value::Null, code::PARSE));
        assert_eq!(refusal_of_line(b"hello"), (Value::Null, code::PARSE));
        assert_eq!(refusal_of_line(b"[]"), (Value::Null, code::REQUEST));
        assert_eq!(refusal_of_line(br#"{"id":1,"method":"ping"}"#), (1.into(), code::REQUEST));
        assert_eq!(
            refusal_of_line(br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#),
            (1.5.into(), code::REQUEST)
        );
    }

    #[test]
    fn messages_are_handed_on_and_what_wants_no_answer_is_passed_over() {
        let is_message = |bytes: &[u8]| parse_message(bytes).expect("no refusal").is_some();
        assert!(is_message(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
        assert!(is_message(b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"));
        assert!(is_message(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
        assert!(!is_message(br#"{"jsonrpc":"2.0","error":3}"#));
    }
}
