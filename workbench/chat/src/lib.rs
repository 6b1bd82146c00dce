//! Conversations about the code of a workspace. [`opening`] begins or continues one, [`conversation`] answers its questions, [`commands`] obeys the
//! lines that begin with `/`. Nothing here reads flags or knows a terminal: the caller receives events.

pub mod chat_methods;
pub mod commands;
pub mod conversation;
pub mod opening;
mod secrets;
mod tools;
