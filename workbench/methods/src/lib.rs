//! The methods of cortex: what a coder asks, under one name, with one set of arguments, one answer and one text of it. A method works at the desk
//! of its request; what it does belongs to the workbench. Nothing here reads flags, prints, or talks to another program.

pub mod code;
pub mod desk;
pub mod failed;
pub mod render;
pub mod table;
