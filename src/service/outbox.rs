//! What waits to be written to one client: bytes, and no more of them than there is room for, whatever it asks and however little it reads.

use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// So many bytes wait; then answers wait for the client. One that is longer waits alone.
const ROOM: usize = 256 << 10;
/// A message takes at least so many bytes of the room.
const LEAST: usize = 256;

type Waiting = (Vec<u8>, OwnedSemaphorePermit);

/// Where messages are put.
#[derive(Clone, Debug)]
pub struct Outbox {
    room: Arc<Semaphore>,
    to: mpsc::UnboundedSender<Waiting>,
}

/// Where they are taken out. When it goes, nothing waits for room any more.
#[derive(Debug)]
pub struct Queue {
    room: Arc<Semaphore>,
    from: mpsc::UnboundedReceiver<Waiting>,
}

/// A message for which there is room.
#[derive(Debug)]
pub struct Ready {
    message: Waiting,
    to: mpsc::UnboundedSender<Waiting>,
}

/// Both ends.
pub fn new() -> (Outbox, Queue) {
    let room = Arc::new(Semaphore::new(ROOM));
    let (to, from) = mpsc::unbounded_channel();
    (Outbox { room: room.clone(), to }, Queue { room, from })
}

impl Outbox {
    /// Waits until there is room for a message; `None` when nobody takes messages out any more.
    pub async fn ready(&self, message: Value) -> Option<Ready> {
        let bytes = message.to_string().into_bytes();
        // A value takes several times the room of its text.
        drop(message);
        let size = u32::try_from(bytes.len().clamp(LEAST, ROOM)).ok()?;
        let room = self.room.clone().acquire_many_owned(size).await.ok()?;
        Some(Ready {
            message: (bytes, room),
            to: self.to.clone(),
        })
    }

    /// Puts a message in as soon as there is room. Who does not read any more needs no answer.
    pub async fn send_when_there_is_room(&self, message: Value) {
        if let Some(ready) = self.ready(message).await {
            ready.send();
        }
    }
}

impl Ready {
    /// Puts it in.
    pub fn send(self) {
        // As in `Outbox::send_when_there_is_room`.
        let _ = self.to.send(self.message);
    }
}

impl Queue {
    /// The next message, and its room, which is free again when it is dropped. `None` when there will be none.
    pub async fn take(&mut self) -> Option<(Vec<u8>, OwnedSemaphorePermit)> {
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

    /// What a future has come to by now.
    fn now<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    /// Waits for it.
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
        drop(run(queue.take()));
        assert_eq!(now(more.as_mut()), Some(()), "there is room again");
    }

    #[test]
    fn a_message_longer_than_the_room_goes_alone() {
        let (outbox, mut queue) = new();
        let long = Value::from("x".repeat(3 * ROOM));
        run(outbox.send_when_there_is_room(long));
        let mut next = Box::pin(outbox.send_when_there_is_room(Value::Null));
        assert_eq!(now(next.as_mut()), None);
        assert_eq!(run(queue.take()).map(|(bytes, _)| bytes.len()), Some(3 * ROOM + 2));
        assert_eq!(now(next.as_mut()), Some(()));
    }

    #[test]
    fn who_waits_for_a_client_that_went_waits_no_longer() {
        let (outbox, queue) = new();
        run(outbox.send_when_there_is_room(Value::from("x".repeat(ROOM))));
        let mut more = Box::pin(outbox.ready(Value::Null));
        assert!(now(more.as_mut()).is_none());
        drop(queue);
        assert!(now(more.as_mut()).is_some_and(|ready| ready.is_none()));
    }
}
