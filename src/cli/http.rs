//! Flags of servers that listen over HTTP.

#[cfg(feature = "http")]
use crate::http::listen::parse_address;
use clap::Args;
use std::net::SocketAddr;

/// Refuses any address, in a program without the feature `http`.
#[cfg(not(feature = "http"))]
fn parse_address(_: &str) -> Result<SocketAddr, &'static str> {
    Err("this cortex was built without the feature `http`")
}

/// The HTTP address, and the allowed hosts and origins besides this machine.
#[derive(Debug, Args)]
pub struct HttpArgs {
    /// Listen over HTTP: at a PORT of the loopback (0, the default, for a free one), or at ADDRESS:PORT.
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0", value_parser = parse_address)]
    pub http: Option<SocketAddr>,
    /// A host name that clients may use for this server, besides its address.
    #[arg(long, value_name = "HOST", requires = "http")]
    pub allow_host: Vec<String>,
    /// The origin of a web page that may call the server (https://name:port), besides those of this machine.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub allow_origin: Vec<String>,
}
