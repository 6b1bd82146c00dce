//! HTTP/1.1 for clients on this machine: `cortex mcp --http` and `cortex serve --http` differ only in their [`listen::Routes`].
//!
//! [`gate`] says which requests are let in, [`token`] keeps the secret that they bring, [`listen`] accepts connections, [`answer`] makes plain answers.

pub mod answer;
pub mod gate;
pub mod listen;
pub mod token;
