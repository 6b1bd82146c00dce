//! Access control of the HTTP server: checks the host of a request, the origin of its page, and its token. A page from elsewhere can reach
//! local ports in a browser, by the server's name or by DNS rebinding; this gate refuses it.

use super::token::Token;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, ORIGIN};
use hyper::http::uri::{Authority, Uri};
use std::net::{IpAddr, SocketAddr};

/// Access rules of an HTTP server.
pub struct HttpAccessRules {
    /// Allowed names of the server, as in addresses.
    hosts: Vec<String>,
    /// Allowed origins on other machines.
    origins: Vec<String>,
    token: Token,
}

/// Refusal of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub status: StatusCode,
    /// Reason, as a sentence.
    pub why: &'static str,
}

const HOST: Refused = Refused {
    status: StatusCode::FORBIDDEN,
    why: "the request is addressed to another host; --allow-host names further ones",
};
const PAGE: Refused = Refused {
    status: StatusCode::FORBIDDEN,
    why: "pages of this origin may not call; --allow-origin names further ones",
};
const TOKEN: Refused = Refused {
    status: StatusCode::UNAUTHORIZED,
    why: "the token is missing or wrong; send the one in the file that was named when the server began, as 'Authorization: Bearer TOKEN'",
};

impl HttpAccessRules {
    /// Creates the gate of a server at an address. Allows that address, the loopback names if they reach it, and `hosts`.
    pub fn new(at: SocketAddr, hosts: &[String], origins: &[String], token: Token) -> Self {
        let mut names: Vec<String> = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        if at.ip().is_loopback() || at.ip().is_unspecified() {
            names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        if !at.ip().is_unspecified() {
            names.push(match at.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        Self {
            hosts: names,
            origins: origins
                .iter()
                .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase())
                .collect(),
            token,
        }
    }

    /// Checks that a request is addressed to this server, comes from an allowed page and carries the token. Errors: the reason for the
    /// refusal.
    pub fn check_request(&self, headers: &HeaderMap) -> Result<(), Refused> {
        self.check_address(headers)?;
        let given = single_value(headers, &AUTHORIZATION)
            .flatten()
            .and_then(|given| given.split_once(' '));
        match given {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && self.token.matches(token.trim()) => Ok(()),
            _ => Err(TOKEN),
        }
    }

    /// Checks all but the token, for paths that show nothing of the workspace. Errors: the reason for the refusal.
    pub fn check_address(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let host = single_value(headers, &hyper::header::HOST).ok_or(HOST)?.ok_or(HOST)?;
        if !self.is_own(host) {
            return Err(HOST);
        }
        if let Some(origin) = single_value(headers, &ORIGIN).ok_or(PAGE)? {
            let origin = origin.to_ascii_lowercase();
            let local = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            if !self.origins.contains(&origin) && !local.is_some_and(|authority| self.is_own(authority)) {
                return Err(PAGE);
            }
        }
        Ok(())
    }

    /// Returns whether an authority names this server, at any port: ports may be forwarded.
    fn is_own(&self, authority: &str) -> bool {
        let Ok(parsed) = authority.parse::<Authority>() else {
            return false;
        };
        // A user name or password in the authority is never legitimate.
        !authority.contains('@') && self.hosts.iter().any(|host| parsed.host().eq_ignore_ascii_case(host))
    }
}

/// Returns the single value of a header, if present; `None` if it is not text or occurs several times.
fn single_value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<Option<&'h str>> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Some(None),
        (Some(value), None) => value.to_str().ok().map(Some),
        _ => None,
    }
}

/// Returns whether a text is an origin as browsers send it.
pub fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.trim_end_matches('/').parse::<Uri>() else {
        return false;
    };
    uri.scheme().is_some() && uri.authority().is_some() && matches!(uri.path(), "" | "/") && uri.query().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(at: &str, hosts: &[&str], origins: &[&str]) -> HttpAccessRules {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        HttpAccessRules::new(
            at.parse().expect("an address"),
            &owned(hosts),
            &owned(origins),
            Token::from_text("secret"),
        )
    }

    fn check(gate: &HttpAccessRules, headers: &[(&str, &str)]) -> Result<(), Refused> {
        gate.check_request(&map(headers))
    }

    fn map(headers: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().expect("a name");
            map.append(name, value.parse().expect("a value"));
        }
        map
    }

    #[test]
    fn hosts_are_our_own() {
        let local = gate("127.0.0.1:80", &["proxy.example"], &[]);
        let asks = |gate: &HttpAccessRules, host: &str| check(gate, &[("host", host), ("authorization", "Bearer secret")]);
        for own in ["localhost", "LOCALHOST:80", "127.0.0.1:1234", "[::1]:80", "proxy.example:443"] {
            assert_eq!(asks(&local, own), Ok(()), "{own}");
        }
        for other in [
            "evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "", "evil.example:80", "::1", "localhost.", "a b",
        ] {
            assert_eq!(asks(&local, other), Err(HOST), "{other}");
        }
        assert_eq!(check(&local, &[("authorization", "Bearer secret")]), Err(HOST));
        let twice = [("host", "localhost"), ("host", "evil.example"), ("authorization", "Bearer secret")];
        assert_eq!(check(&local, &twice), Err(HOST));
        let outside = gate("192.0.2.7:80", &[], &[]);
        assert_eq!(asks(&outside, "192.0.2.7:80"), Ok(()));
        assert_eq!(asks(&outside, "localhost"), Err(HOST));
        assert_eq!(asks(&gate("0.0.0.0:80", &["build.example"], &[]), "build.example:80"), Ok(()));
    }

    #[test]
    fn pages_are_of_this_machine_or_named() {
        let gate = gate("127.0.0.1:80", &[], &["https://tools.example:8443/"]);
        let asks = |origin: &str| {
            check(
                &gate,
                &[("host", "localhost"), ("origin", origin), ("authorization", "Bearer secret")],
            )
        };
        for own in [
            "http://localhost:6274", "https://127.0.0.1", "http://[::1]:80", "https://tools.example:8443",
        ] {
            assert_eq!(asks(own), Ok(()), "{own}");
        }
        for other in [
            "http://evil.example",
            "null",
            "",
            "https://tools.example",
            "file://",
            "http://localhost.evil.example",
            "http://a@localhost",
        ] {
            assert_eq!(asks(other), Err(PAGE), "{other}");
        }
    }

    #[test]
    fn the_token_is_needed() {
        let gate = gate("127.0.0.1:80", &[], &[]);
        assert_eq!(check(&gate, &[("host", "localhost")]), Err(TOKEN));
        for wrong in [
            "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret", "secret", "Bearer secret x",
        ] {
            assert_eq!(
                check(&gate, &[("host", "localhost"), ("authorization", wrong)]),
                Err(TOKEN),
                "{wrong}"
            );
        }
        assert_eq!(check(&gate, &[("host", "localhost"), ("authorization", "bearer secret")]), Ok(()));
    }

    #[test]
    fn requests_without_a_token_are_still_checked_for_host_and_origin() {
        let gate = gate("127.0.0.1:80", &[], &[]);
        let asks = |headers: &[(&str, &str)]| gate.check_address(&map(headers));
        assert_eq!(asks(&[("host", "localhost")]), Ok(()));
        assert_eq!(asks(&[("host", "evil.example")]), Err(HOST));
        assert_eq!(asks(&[("host", "localhost"), ("origin", "http://evil.example")]), Err(PAGE));
    }

    #[test]
    fn origins_are_told_from_other_texts() {
        assert!(is_origin("https://tools.example:8443") && is_origin("http://localhost/"));
        assert!(!is_origin("tools.example") && !is_origin("https://tools.example/path") && !is_origin("*"));
    }
}
