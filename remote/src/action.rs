//! The canonical action: the protocol's action cache stores a result under its digest.
//!
//! The action's salt contains the engine's key, so the action's digest changes exactly when the key does; a tenant's salt in front invalidates all
//! its results at once. The action has no input root, no platform and no path of any machine. A test pins the bytes, because any change leads to an
//! empty cache.

use crate::names::{BlobName, Function};
use bazel_remote_apis::build::bazel::remote::execution::v2::{Action, Command, Directory};
use engine::seams::remote::Wanted;
use prost::Message;

/// Output that each result has besides its own.
pub(crate) const RECORD: &str = ".cortex-record";
/// Prefix of the salt.
const DOMAIN: &[u8] = b"cortex/1\0";

/// An action with the blobs that it names.
pub(crate) struct Canonical {
    /// Name that the result is stored under.
    pub name: BlobName,
    /// Blobs of action, command and empty input root, with their names.
    pub blobs: [(BlobName, Vec<u8>); 3],
}

/// Builds the action of a result.
pub(crate) fn canonical(function: Function, salt: &str, wanted: &Wanted) -> Canonical {
    let command = Command {
        arguments: vec!["cortex".to_owned(), "produce".to_owned(), wanted.producer.clone()],
        output_paths: vec![RECORD.to_owned()],
        ..Command::default()
    };
    let with_name = |bytes: Vec<u8>| (function.name_of_bytes(&bytes), bytes);
    let command = with_name(command.encode_to_vec());
    let root = with_name(Directory::default().encode_to_vec());
    let action = Action {
        command_digest: Some(command.0.as_message()),
        input_root_digest: Some(root.0.as_message()),
        salt: [DOMAIN, salt.as_bytes(), &wanted.key.0.0].concat(),
        ..Action::default()
    };
    let action = with_name(action.encode_to_vec());
    Canonical {
        name: action.0,
        blobs: [action, command, root],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::digest::{ActionKey, Digest};

    fn lookup_of_bytes(key: &[u8]) -> Wanted {
        Wanted {
            key: ActionKey(Digest::of(key)),
            producer: "semantic@4".to_owned(),
        }
    }

    #[test]
    fn the_bytes_are_pinned() {
        let made = canonical(Function::Sha256, "", &lookup_of_bytes(b"key"));
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        insta::assert_snapshot!(hex(&made.blobs[1].1), @"0a06636f727465780a0770726f647563650a0a73656d616e74696340343a0e2e636f727465782d7265636f7264");
        insta::assert_snapshot!(hex(&made.blobs[0].1), @"0a440a4061336363363230363963393837306639366231616639623562646438306464383738373338613732306438313065643237653230653938326539623632333766102d12420a40653362306334343239386663316331343961666266346338393936666239323432376165343165343634396239333463613439353939316237383532623835354a29636f727465782f3100ff8e2bab3b26e0c127002127905539b47eb421de85d554e15f55a446459b52b4");
        insta::assert_snapshot!(made.name.as_message().hash, @"4ef7371fc4cdae7699fbe32c5a6c427f41908aec034c3e1426bb6ccdc0e6fce8");
        insta::assert_snapshot!(canonical(Function::Blake3, "", &lookup_of_bytes(b"key")).name.as_message().hash, @"286999de0f6d389b759a1f44a3cd65191026f62908180959ac201bc9d02bb7a7");
    }

    #[test]
    fn another_key_or_salt_is_another_action() {
        let name = |salt, key| canonical(Function::Sha256, salt, &lookup_of_bytes(key)).name;
        assert_ne!(name("", b"a"), name("", b"b"));
        assert_ne!(name("", b"a"), name("2", b"a"));
        assert_eq!(name("2", b"a"), name("2", b"a"));
    }
}
