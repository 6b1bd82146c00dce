//! News for open pages: changed sources, finished builds, progress of the current build. Server-sent events, each with the whole state, so that
//! a page may miss some.

use engine::seams::producer::Cancel;
use engine::watch::Batch;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame};
use methods::catalog;
use serde::Serialize;
use serde_json::json;
use serve::Host;
use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};
use tokio::sync::{mpsc, watch};

/// Poll interval for the progress of a build, and for writes to the store.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Time without news after which a comment is sent, to notice a closed page.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// Limit of paths of the last change.
const PATHS: usize = 20;
/// Limit of events that wait for a page that does not read.
const WAITING: usize = 4;

/// State that a page compares with the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageState {
    /// Number of changes of sources since the service began.
    moves: u64,
    /// First paths of the last change.
    paths: Vec<String>,
    /// Number of the newest build.
    build: u64,
    /// Progress of the current build, in percent.
    percent: Option<u64>,
    /// Whether another process builds; its progress is unknown.
    elsewhere: bool,
}

#[derive(Clone)]
pub struct News(Arc<watch::Sender<PageState>>);

impl Default for News {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(PageState::default())))
    }
}

impl News {
    pub fn note_edits(&self, batch: &Batch) {
        self.0.send_modify(|state| {
            state.moves += 1;
            state.paths = batch.paths.iter().take(PATHS).cloned().collect();
        });
    }

    /// Polls for builds while the runtime runs, if any page listens.
    pub(super) async fn follow_builds(self, host: Arc<Host>, store: Option<PathBuf>) {
        let stamp = || {
            let about = store.as_ref()?.join(engine::store::disk::DATABASE).metadata().ok()?;
            Some((about.len(), about.modified().ok()?))
        };
        let mut seen: Option<(u64, SystemTime)> = None;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if self.0.receiver_count() == 0 {
                continue;
            }
            let percent = host.percent();
            let elsewhere = percent.is_none() && built_elsewhere(host.clone()).await;
            let now = stamp();
            let build = match now == seen {
                true => None,
                false => newest_build(host.clone()).await,
            };
            if build.is_some() {
                seen = now;
            }
            self.0.send_if_modified(|state| {
                let before = (state.build, state.percent, state.elsewhere);
                state.build = build.unwrap_or(state.build);
                (state.percent, state.elsewhere) = (percent, elsewhere);
                before != (state.build, state.percent, state.elsewhere)
            });
        }
    }

    /// Returns the news as the body of an answer, from the current state on.
    pub(super) fn stream_news(&self) -> crate::http::answer::Body {
        let (to, from) = mpsc::channel(WAITING);
        tokio::spawn(send_news(self.0.subscribe(), to));
        Events(from).boxed()
    }
}

/// Returns whether another process builds.
async fn built_elsewhere(host: Arc<Host>) -> bool {
    tokio::task::spawn_blocking(move || host.is_built_elsewhere())
        .await
        .unwrap_or(false)
}

/// Returns the number of the newest build; `None` if it is not available now.
async fn newest_build(host: Arc<Host>) -> Option<u64> {
    let read_newest = move || {
        let entry = catalog::find_method("log")?;
        let answered = host.call(entry, json!({"count": 1}), &Cancel::default()).result.ok()?;
        let builds = answered.answer["builds"].as_array()?.clone();
        Some(builds.first().map_or(0, |build| build["number"].as_u64().unwrap_or(0)))
    };
    tokio::task::spawn_blocking(read_newest).await.ok().flatten()
}

/// Sends the news to one page until it closes.
async fn send_news(mut states: watch::Receiver<PageState>, to: mpsc::Sender<Bytes>) {
    loop {
        let event = {
            let now = states.borrow_and_update();
            format!("event: standing\ndata: {}\n\n", json!(&*now))
        };
        if to.send(event.into()).await.is_err() {
            return;
        }
        loop {
            tokio::select! {
                changed = states.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
                () = tokio::time::sleep(ALIVE_EVERY) => {
                    if to.send(Bytes::from_static(b": alive\n\n")).await.is_err() {
                        return;
                    }
                }
                () = to.closed() => return,
            }
        }
    }
}

/// Events of one page.
struct Events(mpsc::Receiver<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_hears_how_things_stand_and_then_what_changes() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("runtime");
        runtime.block_on(hears());
    }

    async fn hears() {
        let news = News::default();
        let mut body = news.stream_news();
        let event = next(&mut body).await;
        assert!(
            event.starts_with("event: standing\ndata: {") && event.contains("\"moves\":0"),
            "{event}"
        );
        let paths = ["a\nb.cs".to_owned()].into();
        news.note_edits(&Batch { paths, ..Batch::default() });
        let event = next(&mut body).await;
        assert!(event.contains("\"moves\":1") && event.contains("a\\nb.cs"), "{event}");
        assert_eq!(event.matches('\n').count(), 3, "a name cannot begin a line: {event}");
    }

    async fn next(body: &mut crate::http::answer::Body) -> String {
        let frame = body.frame().await.expect("an event").expect("infallible");
        String::from_utf8(frame.into_data().expect("data").to_vec()).expect("UTF-8")
    }
}
