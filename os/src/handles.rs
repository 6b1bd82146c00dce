//! Handles of open files, folders and connections.

pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
