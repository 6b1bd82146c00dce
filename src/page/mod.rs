//! The live page of `cortex serve --http`: what `cortex report` draws, of the workspace as it is now.
//!
//! [`shell`] is the page itself, which holds nothing of the workspace and needs no token; [`routes`] answers the methods of the table that the page
//! asks, and [`news`] tells it that there is something new to ask. There is no other interface: whatever the page shows is a method's answer.

mod news;
mod routes;
mod shell;

pub use news::News;
pub use routes::serve;
