//! Progress of a request, told to a client that asked for it by a token.

use crate::service::Host;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

/// How often progress is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Progress is told while this lives.
pub struct Telling(Option<AbortHandle>);

/// Tells that the request was taken, and from then on, whenever it has come further, how far in percent.
pub async fn start_progress(host: Arc<Host>, context: &RequestContext<RoleServer>) -> Telling {
    let Some(token) = context.meta.get_progress_token() else {
        return Telling(None);
    };
    let peer = context.peer.clone();
    // Who does not hear it any more needs no progress.
    let _ = send_progress(&peer, &token, 0).await;
    Telling(Some(tokio::spawn(follow(host, peer, token)).abort_handle()))
}

async fn follow(host: Arc<Host>, peer: Peer<RoleServer>, token: ProgressToken) {
    let mut told = 0;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        // Progress only grows: while more is found to do, nothing is told.
        if let Some(percent) = host.load.percent().filter(|percent| *percent > told) {
            told = percent;
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
