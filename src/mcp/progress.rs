//! Progress notifications of a request, for a client that passed a token.

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use serve::Host;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

/// Poll interval of the progress.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Sends progress until it is dropped.
pub struct Telling(Option<AbortHandle>);

/// Notifies the client that the request has started, and then of the progress in percent whenever it grows.
pub async fn start_progress(host: Arc<Host>, context: &RequestContext<RoleServer>) -> Telling {
    let Some(token) = context.meta.get_progress_token() else {
        return Telling(None);
    };
    let peer = context.peer.clone();
    // The client may be gone.
    let _ = send_progress(&peer, &token, 0).await;
    Telling(Some(tokio::spawn(follow(host, peer, token)).abort_handle()))
}

async fn follow(host: Arc<Host>, peer: Peer<RoleServer>, token: ProgressToken) {
    let mut reported = 0;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        // Progress must not decrease; while more targets are found, nothing is sent.
        if let Some(percent) = host.load.percent().filter(|percent| *percent > reported) {
            reported = percent;
            if send_progress(&peer, &token, percent).await.is_err() {
                return;
            }
        }
    }
}

async fn send_progress(peer: &Peer<RoleServer>, token: &ProgressToken, percent: u64) -> Result<(), rmcp::ServiceError> {
    let words = if percent == 0 {
        "taken".to_owned()
    } else {
        format!("{percent} % made")
    };
    let progress = ProgressNotificationParam::new(token.clone(), percent as f64);
    peer.notify_progress(progress.with_total(100.0).with_message(words)).await
}

impl Drop for Telling {
    fn drop(&mut self) {
        if let Some(following) = &self.0 {
            following.abort();
        }
    }
}
