//! A bucket of an object store as a cache, by the interface of S3. Objects are written atomically.
//!
//! Requests are signed with the keys of the environment, or of the file that AWS tools share; without keys, a public bucket can be read. Each
//! signed address is valid for a few minutes, and never shown.

use crate::credentials::Variables;
use crate::objects::Objects;
use crate::request_sender::Deadlines;
use rusty_s3::actions::S3Action;
use rusty_s3::{Credentials, UrlStyle};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tonic::{Code, Status};
use ureq::Agent;
use ureq::http::StatusCode;
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};

/// Validity of a signed address.
const SIGNED_FOR: Duration = Duration::from_secs(300);
/// Number of parallel requests.
const AT_ONCE: usize = 16;

/// A bucket, and the names in it that the cache uses.
pub(crate) struct Bucket {
    bucket: rusty_s3::Bucket,
    credentials: Option<Credentials>,
    /// Prefix of the names: empty, or ending with `/`.
    prefix: String,
    /// Whether the keys may not list the bucket: a store then answers that missing objects are forbidden.
    hides_missing: bool,
    agent: Agent,
}

impl Bucket {
    /// Opens the bucket of `s3://NAME/PREFIX`. Errors: a sentence, when the bucket does not exist or may not be used.
    pub(crate) fn open_bucket(endpoint: &str, variables: &Variables, deadlines: &Deadlines) -> Result<Result<Self, String>, Status> {
        let mut bucket = match Self::from_endpoint(endpoint, variables, deadlines) {
            Ok(bucket) => bucket,
            Err(why) => return Ok(Err(why)),
        };
        let question = bucket.bucket.head_bucket(bucket.credentials.as_ref()).sign(SIGNED_FOR);
        let answer = bucket.agent.head(question.as_str()).call().map_err(to_status)?;
        Ok(match answer.status() {
            StatusCode::NOT_FOUND => Err("there is no such bucket".to_owned()),
            // Keys may be allowed to use objects, but not to inspect the bucket.
            StatusCode::FORBIDDEN if bucket.credentials.is_some() => {
                bucket.hides_missing = true;
                Ok(bucket)
            }
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => {
                Err("its bucket is not open to all, and AWS_ACCESS_KEY_ID is not set".to_owned())
            }
            code if code.is_server_error() => return Err(Status::unavailable(format!("it answered {code}"))),
            _ => Ok(bucket),
        })
    }

    fn from_endpoint(endpoint: &str, variables: &Variables, deadlines: &Deadlines) -> Result<Self, String> {
        let place = endpoint.strip_prefix("s3://").unwrap_or(endpoint);
        let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
        let prefix = match prefix.trim_matches('/') {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        let variable = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let other = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        let (address, style) = match other {
            Some(address) => (address, UrlStyle::Path),
            None => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::VirtualHost),
        };
        let address = address.parse().map_err(|_| "AWS_ENDPOINT_URL is not an address".to_owned())?;
        let bucket = rusty_s3::Bucket::new(address, style, name.to_owned(), region);
        Ok(Self {
            bucket: bucket.map_err(|_| "AWS_ENDPOINT_URL is not the address of an object store".to_owned())?,
            credentials: credentials(&variable)?,
            prefix,
            hides_missing: false,
            agent: agent(deadlines),
        })
    }

    fn object_key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn is_missing(&self, code: StatusCode) -> bool {
        code == StatusCode::NOT_FOUND || (code == StatusCode::FORBIDDEN && self.hides_missing)
    }
}

impl Objects for Bucket {
    fn length(&self, name: &str) -> Result<Option<u64>, Status> {
        let key = self.object_key(name);
        let question = self.bucket.head_object(self.credentials.as_ref(), &key).sign(SIGNED_FOR);
        let answer = self.agent.head(question.as_str()).call().map_err(to_status)?;
        if self.is_missing(answer.status()) {
            return Ok(None);
        }
        refuse(answer.status())?;
        let length = answer.headers().get("content-length").and_then(|length| length.to_str().ok());
        Ok(length.and_then(|length| length.parse().ok()))
    }

    fn read(&self, name: &str, most: u64) -> Result<Vec<u8>, Status> {
        let key = self.object_key(name);
        let question = self.bucket.get_object(self.credentials.as_ref(), &key).sign(SIGNED_FOR);
        let mut answer = self.agent.get(question.as_str()).call().map_err(to_status)?;
        if self.is_missing(answer.status()) {
            return Err(Status::not_found("there is no such object"));
        }
        refuse(answer.status())?;
        let mut bytes = Vec::new();
        let read = answer.body_mut().as_reader().take(most).read_to_end(&mut bytes);
        read.map_err(|_| Status::unavailable("the connection ended"))?;
        Ok(bytes)
    }

    fn write(&self, name: &str, bytes: &[u8], _: &str) -> Result<(), Status> {
        let key = self.object_key(name);
        let question = self.bucket.put_object(self.credentials.as_ref(), &key).sign(SIGNED_FOR);
        let answer = self.agent.put(question.as_str()).send(bytes).map_err(to_status)?;
        refuse(answer.status())
    }

    fn at_once(&self) -> usize {
        AT_ONCE
    }
}

/// Returns the keys of the environment, or of the profile in the file that AWS tools share.
fn credentials(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Credentials>, String> {
    let named = |key: Option<String>, secret: Option<String>, token: Option<String>| match (key, secret) {
        (Some(key), Some(secret)) => Some(match token {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        }),
        _ => None,
    };
    let of_environment = named(
        variable("AWS_ACCESS_KEY_ID"),
        variable("AWS_SECRET_ACCESS_KEY"),
        variable("AWS_SESSION_TOKEN"),
    );
    if of_environment.is_some() {
        return Ok(of_environment);
    }
    let named_file = variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
    let Some(path) = named_file.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".aws/credentials"))) else {
        return Ok(None);
    };
    let profile = variable("AWS_PROFILE");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return match profile {
            Some(_) => Err("AWS_PROFILE is set, and the file with its keys cannot be read".to_owned()),
            None => Ok(None),
        };
    };
    let of = |key: &str| value_of(&text, profile.as_deref().unwrap_or("default"), key);
    let found = named(of("aws_access_key_id"), of("aws_secret_access_key"), of("aws_session_token"));
    match (found, profile) {
        (None, Some(_)) => Err("the profile that AWS_PROFILE names has no keys".to_owned()),
        (found, _) => Ok(found),
    }
}

/// Returns a value of a section in a file like `~/.aws/credentials`.
fn value_of(text: &str, section: &str, key: &str) -> Option<String> {
    let mut is_within = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_within = name.trim() == section;
        } else if let Some((name, value)) = line.split_once('=')
            && is_within
            && name.trim() == key
        {
            return Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        }
    }
    None
}

fn agent(deadlines: &Deadlines) -> Agent {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::PlatformVerifier)
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        // A signature is valid for one address only.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(deadlines.connect))
        .timeout_global(Some(deadlines.batch))
        .user_agent(concat!("cortex/", env!("CARGO_PKG_VERSION")))
        .build();
    config.new_agent()
}

/// Converts the status of an answer without a body to that of a server.
fn refuse(code: StatusCode) -> Result<(), Status> {
    let kind = match code {
        code if code.is_success() => return Ok(()),
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => Code::PermissionDenied,
        StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
        code if code.is_server_error() => Code::Unavailable,
        _ => Code::FailedPrecondition,
    };
    Err(Status::new(kind, format!("it answered {code}")))
}

/// Converts a failed request. Reports only the error's kind, because the error may contain the signed address.
fn to_status(error: ureq::Error) -> Status {
    Status::unavailable(match error {
        ureq::Error::Timeout(_) => "it gave no answer in time",
        ureq::Error::HostNotFound => "the name of its host is not known (DNS)",
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "its certificate is not accepted",
        _ => "the connection failed",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[default]\naws_access_key_id = AK1\naws_secret_access_key=S1\n\n[ci]\naws_access_key_id = AK2\naws_secret_access_key = S=2\naws_session_token = T2\n[half]\naws_access_key_id = AK3\n";

    fn keys_of(pairs: &[(&str, &str)]) -> Result<Option<(String, String, Option<String>)>, String> {
        let variable = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
        let plain = |found: Credentials| (found.key().to_owned(), found.secret().to_owned(), found.token().map(str::to_owned));
        credentials(&variable).map(|found| found.map(plain))
    }

    #[test]
    fn keys_come_from_the_environment_or_the_file_of_profiles() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        std::fs::write(&path, FILE).unwrap();
        let file = ("AWS_SHARED_CREDENTIALS_FILE", path.to_str().unwrap());
        let keys = |key: &str, secret: &str, token: Option<&str>| Ok(Some((key.to_owned(), secret.to_owned(), token.map(str::to_owned))));
        assert_eq!(keys_of(&[]), Ok(None));
        assert_eq!(keys_of(&[file]), keys("AK1", "S1", None));
        assert_eq!(keys_of(&[file, ("AWS_PROFILE", "ci")]), keys("AK2", "S=2", Some("T2")));
        let both = [file, ("AWS_ACCESS_KEY_ID", "AK0"), ("AWS_SECRET_ACCESS_KEY", "S0")];
        assert_eq!(keys_of(&both), keys("AK0", "S0", None));
        assert!(keys_of(&[file, ("AWS_PROFILE", "half")]).is_err());
        assert!(keys_of(&[("AWS_PROFILE", "ci"), ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")]).is_err());
        std::fs::create_dir(folder.path().join(".aws")).unwrap();
        std::fs::write(folder.path().join(".aws/credentials"), FILE).unwrap();
        assert_eq!(keys_of(&[("HOME", folder.path().to_str().unwrap())]), keys("AK1", "S1", None));
    }

    #[test]
    fn errors_show_no_signed_address() {
        let error = ureq::Error::BadUri("https://bucket/?X-Amz-Signature=secret".to_owned());
        assert!(!to_status(error).message().contains("secret"));
    }
}
