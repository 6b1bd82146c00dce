//! What a system knows an open file, folder or connection by.

pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
