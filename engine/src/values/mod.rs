//! Plain values of the build domain: no disk, no clock, no state.

pub mod case_folding;
pub mod cbor;
pub mod codes;
pub mod diagnostic;
pub mod digest;
pub mod event;
pub mod json;
pub mod label;
pub mod long_text;
pub mod pages;
pub mod pattern;
pub mod pieces;
pub mod quantity;
pub mod suggest;
pub mod table;
pub mod tree;
pub mod visible;
pub mod wildcard;
