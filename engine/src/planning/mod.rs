//! Planning: what a node is made of and under which key its result is filed. Pure: no clock, no disk.

pub mod expand;
pub mod key;
pub mod rules;
pub mod symbol;
