//! Messages that wait to be written to one client. Their bytes are limited, however much the client asks and however slowly it reads.

use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Limit of waiting bytes; beyond it, answers wait for the client. A longer message waits alone.
const ROOM: usize = 256 << 10;
/// Least number of bytes that a message counts as.
const LEAST: usize = 256;

type Waiting = (Vec<u8>, OwnedSemaphorePermit);

/// Sender of messages.
#[derive(Clone, Debug)]
pub struct Outbox {
    room: Arc<Semaphore>,
    to: mpsc::UnboundedSender<Waiting>,
}

/// Receiver of messages. Dropping it ends all waiting for room.
#[derive(Debug)]
pub struct Queue {
    room: Arc<Semaphore>,
    from: mpsc::UnboundedReceiver<Waiting>,
}

/// A message that has its room.
#[derive(Debug)]
pub struct Ready {
    message: Waiting,
    to: mpsc::UnboundedSender<Waiting>,
}

pub fn new() -> (Outbox, Queue) {
    let room = Arc::new(Semaphore::new(ROOM));
    let (to, from) = mpsc::unbounded_channel();
    (Outbox { room: room.clone(), to }, Queue { room, from })
}

impl Outbox {
    /// Waits for room for a message; `None` once the queue is dropped.
    pub async fn ready(&self, message: Value) -> Option<Ready> {
        let bytes = message.to_string().into_bytes();
        // A value takes several times the memory of its text.
        drop(message);
        let size = u32::try_from(bytes.len().clamp(LEAST, ROOM)).ok()?;
        let room = self.room.clone().acquire_many_owned(size).await.ok()?;
        Some(Ready {
            message: (bytes, room),
            to: self.to.clone(),
        })
    }

    /// Sends a message once the queue has room. Drops it if the client is gone.
    pub async fn send_when_there_is_room(&self, message: Value) {
        if let Some(ready) = self.ready(message).await {
            ready.send_ready();
        }
    }
}

impl Ready {
    pub fn send_ready(self) {
        // As in `Outbox::send_when_there_is_room`.
        let _ = self.to.send(self.message);
    }
}

impl Queue {
    /// Takes the next message with its room, which dropping frees. Returns `None` once all senders are dropped.
    pub async fn next_message(&mut self) -> Option<(Vec<u8>, OwnedSemaphorePermit)> {
        self.from.recv().await
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.room.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    /// Polls a future once.
    fn now<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(future)
    }

    #[test]
    fn no_more_waits_than_there_is_room_for() {
        let (outbox, mut queue) = new();
        let small = || Value::from("x");
        for _ in 0..ROOM / LEAST {
            assert_eq!(now(std::pin::pin!(outbox.send_when_there_is_room(small()))), Some(()));
        }
        let mut more = Box::pin(outbox.send_when_there_is_room(small()));
        assert_eq!(now(more.as_mut()), None, "it waits");
        drop(run(queue.next_message()));
        assert_eq!(now(more.as_mut()), Some(()), "there is room again");
    }

    #[test]
    fn a_message_longer_than_the_room_goes_alone() {
        let (outbox, mut queue) = new();
        let long = Value::from("x".repeat(3 * ROOM));
        run(outbox.send_when_there_is_room(long));
        let mut next = Box::pin(outbox.send_when_there_is_room(Value::Null));
        assert_eq!(now(next.as_mut()), None);
        assert_eq!(run(queue.next_message()).map(|(bytes, _)| bytes.len()), Some(3 * ROOM + 2));
        assert_eq!(now(next.as_mut()), Some(()));
    }

    #[test]
    fn messages_to_a_disconnected_client_are_dropped() {
        let (outbox, queue) = new();
        run(outbox.send_when_there_is_room(Value::from("x".repeat(ROOM))));
        let mut more = Box::pin(outbox.ready(Value::Null));
        assert!(now(more.as_mut()).is_none());
        drop(queue);
        assert!(now(more.as_mut()).is_some_and(|ready| ready.is_none()));
    }
}
