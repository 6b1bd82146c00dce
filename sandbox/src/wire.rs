//! Messages between the processes over their sockets: a length of four bytes (little-endian), then JSON.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// Limit of a message, in bytes.
const LONGEST: usize = 64 << 20;

/// Result, passed from the inner process to the outer one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The level was set up, and there was no program to start.
    Ready,
    /// The level cannot be set up.
    Refused(String),
    /// The program cannot be started; the error number of the system.
    NotStarted(i32),
    /// The program ended with this exit code.
    Exited(i32),
    /// A signal ended the program.
    Signalled(i32),
}

pub(crate) fn write_to_wire(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let len = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut whole = len.to_le_bytes().to_vec();
    whole.extend_from_slice(&text);
    to.write_all(&whole)
}

pub(crate) fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut len = [0; 4];
    from.read_exact(&mut len)?;
    let len = u32::from_le_bytes(len) as usize;
    if len > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; len];
    from.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
