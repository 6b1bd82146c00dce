//! The command line from outside: the built program, driven in folders of its own, and what it prints and returns.

#![allow(clippy::print_stderr)]

mod bench;
mod care;
mod context;
mod crash;
mod crowded;
mod edit;
mod errors;
mod foretold;
mod gone;
mod journey;
mod live;
mod live_sessions;
mod looking;
mod mcp;
mod mcp_http;
mod mcp_room;
mod members;
mod misbehaving;
mod models;
mod money;
mod overlay;
mod packs;
mod pairs;
mod programs;
mod projects;
mod reading;
mod report;
mod sandbox;
mod serve;
mod served;
mod server;
mod sharing;
mod states;
mod stopped;
mod store;
mod temporary;
mod tour;
mod trust;
mod unheard;
mod watch;
mod what_if;
mod why;
mod window;
mod work;
