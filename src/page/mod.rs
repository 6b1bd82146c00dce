//! The live page of `cortex serve --http`: the drawings of `cortex report`, for the current state of the workspace.
//!
//! [`shell`] is the page itself, which contains nothing of the workspace and needs no token. [`routes`] answers the page's method calls, and
//! [`event_stream`] notifies it of changes. There is no other interface: all that the page shows is the answer of a method.

mod event_stream;
mod routes;
mod shell;

pub use event_stream::News;
pub use routes::serve;
