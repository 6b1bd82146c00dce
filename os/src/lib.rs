//! Differences between systems, one module per concern. All other crates call the system through the standard library or this crate (except
//! `sandbox`, which is for Linux only), so a port to another system changes only this folder. It knows nothing of builds.

pub mod attributes;
pub mod clocks;
pub mod disks;
pub mod errors;
pub mod folders;
pub mod handles;
pub mod info;
#[cfg(all(test, target_os = "linux"))]
#[allow(dead_code, reason = "the tests here use only some of it")]
mod late_listening;
#[cfg_attr(target_os = "macos", path = "late_listening.rs")]
#[cfg_attr(not(any(target_os = "linux", target_os = "macos")), path = "no_listening.rs")]
pub mod listening;
pub mod modes;
pub mod names;
mod notices;
pub mod plain_files;
pub mod processes;
pub mod sockets;
pub mod terminals;
pub mod wait;
