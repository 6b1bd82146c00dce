//! Chooses the proxy for an address, by the usual variables of the environment.

/// Returns the proxy for an address: `https_proxy`, `http_proxy` by its scheme, else `all_proxy`, unless `no_proxy` names the host. Both spellings
/// count, lower case first. Services on this machine are never reached through a proxy.
pub(super) fn proxy_for(url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let either = |name: &str| {
        variable(name)
            .or_else(|| variable(&name.to_ascii_uppercase()))
            .filter(|value| !value.trim().is_empty())
    };
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let host = host.to_ascii_lowercase();
    let is_here = host == "localhost" || host == "::1" || host.starts_with("127.");
    if is_here || either("no_proxy").is_some_and(|list| list.split(',').any(|entry| covers_host(entry.trim(), &host))) {
        return None;
    }
    either(&format!("{scheme}_proxy")).or_else(|| either("all_proxy"))
}

/// Whether an entry of `no_proxy` is the host or one of its domains.
fn covers_host(entry: &str, host: &str) -> bool {
    let entry = entry.to_ascii_lowercase();
    let entry = entry.split(':').next().unwrap_or_default();
    let domain = entry.trim_start_matches("*.").trim_start_matches('.');
    entry == "*" || (!domain.is_empty() && (host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_chosen_by_scheme_and_host() {
        let with = |url: &str, variables: &[(&str, &str)]| {
            proxy_for(url, |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let both = [
            ("HTTPS_PROXY", "http://a:1"),
            ("http_proxy", "http://b:2"),
            ("NO_PROXY", "intern.example, .corp:8080"),
        ];
        assert_eq!(with("https://api.example/v1", &both).as_deref(), Some("http://a:1"));
        assert_eq!(with("http://api.example:80", &both).as_deref(), Some("http://b:2"));
        for here in [
            "http://127.0.0.1:8080/v1", "http://localhost/", "http://[::1]:1", "https://x.intern.example/", "http://a.corp",
        ] {
            assert_eq!(with(here, &both), None, "{here}");
        }
        assert_eq!(with("https://notintern.example", &both).as_deref(), Some("http://a:1"));
        assert_eq!(with("http://x", &[("all_proxy", "socks5://p:1")]).as_deref(), Some("socks5://p:1"));
        assert_eq!(with("http://x", &[("ALL_PROXY", "p:1"), ("no_proxy", "*")]), None);
        assert_eq!(with("http://x", &[]), None);
    }
}
