//! The workbench of cortex: what stands between the engine and its users. It finds the workspace and its store, puts engine and
//! producers together, and gives answers as values; it never prints.

pub mod aliases;
pub mod builds;
pub mod care;
pub mod carry;
pub mod checkout;
pub mod context;
pub mod correction;
pub mod editor;
pub mod facts;
pub mod filling;
pub mod finish;
pub mod garbage;
pub mod git;
pub mod handing;
pub mod hold;
pub mod init;
pub mod investigation;
pub mod last_good;
pub mod live;
pub mod location;
mod naming;
pub mod packs;
pub mod paid;
pub mod parsing;
pub mod query;
pub mod report;
pub mod spending;
pub mod status;
pub mod symbols;
pub mod trust;
pub mod versions;
pub mod watch;
pub mod window;
pub mod work;
pub mod workspace;
