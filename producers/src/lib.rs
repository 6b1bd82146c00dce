//! The producers of cortex: pure functions from input bytes to output bytes. They read no file, no clock and no environment;
//! what they need is declared in a rule and arrives as bytes.

pub mod csharp;
pub mod rulesets;
pub mod semantic;
