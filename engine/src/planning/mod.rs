//! Planning: the inputs of a node and the action key of its result. Pure: no clock, no disk.

pub mod expand;
pub mod key;
pub mod rules;
pub mod symbol;
