//! Tests of the crate from outside, in one program, so that it links once.

mod garbage;
mod library;
