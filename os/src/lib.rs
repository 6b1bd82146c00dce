//! What systems do differently, a module for each concern: everything else of cortex calls the system through the standard library or through this
//! crate (`sandbox` is for Linux only, and calls it itself). So a port to another system is a matter of this folder. It knows nothing of builds.

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
