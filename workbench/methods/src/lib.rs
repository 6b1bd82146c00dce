//! The methods of cortex. Each method has one name, one set of arguments, one answer and one text of the answer. A method uses the desk of its
//! request; its work is done in the crate `workbench`. Nothing here reads flags, prints, or talks to another program.

pub mod catalog;
pub mod code;
pub mod commands;
pub mod desk;
pub mod failed;
pub mod render;
