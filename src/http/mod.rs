//! HTTP/1.1 for clients on this machine: `cortex mcp --http` and `cortex serve --http` differ only in their [`listen::Routes`].
//!
//! [`access_rules`] decides which requests are allowed, [`token`] keeps their secret, [`listen`] accepts connections, [`answer`] builds plain answers.

pub mod access_rules;
pub mod answer;
pub mod listen;
pub mod token;
