//! Configuration of MCP clients: adds the server of this workspace to the text of a client's file. The rest of the file, including comments and
//! order, stays unchanged.

use crate::code_text::lines::{Ends, fit};
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use jsonc_parser::{ParseOptions, json};
use toml::Table;

/// A client that starts the server by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Claude,
    Codex,
    VsCode,
    Cursor,
    Gemini,
}

/// The name of the server in the client's configuration.
const NAME: &str = "cortex";

/// The file with guidance for agents of any client.
pub const GUIDE: &str = "AGENTS.md";

const GUIDANCE: &str = "For C# code ask the `cortex` tools before grep and before reading whole files: `search` and `outline` to find, `usages` before \
a change, `context` for what belongs to a task, `edit` to change by symbol. They are true for the files as they are and say when an answer is incomplete.\n";

/// The reason why a file cannot be configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unconfigured {
    /// The file cannot be read.
    #[error("{0} cannot be read: {1}")]
    Unread(&'static str, String),
    /// Another server has the name.
    #[error("{0} already has another server '{NAME}'")]
    Taken(&'static str),
}

impl Client {
    /// Returns the path of the client's configuration, below the workspace's root.
    pub fn config_path(self) -> &'static str {
        match self {
            Self::Claude => ".mcp.json",
            Self::Codex => ".codex/config.toml",
            Self::VsCode => ".vscode/mcp.json",
            Self::Cursor => ".cursor/mcp.json",
            Self::Gemini => ".gemini/settings.json",
        }
    }

    /// Returns the table of servers in the configuration, and the entry of this one.
    fn entry(self) -> (&'static str, CstInputValue) {
        match self {
            Self::VsCode => (
                "servers",
                json!({"type": "stdio", "command": NAME, "args": ["-C", "${workspaceFolder}", "mcp"]}),
            ),
            Self::Cursor => (
                "mcpServers",
                json!({"type": "stdio", "command": NAME, "args": ["-C", "${workspaceFolder}", "mcp"]}),
            ),
            Self::Codex => ("mcp_servers", json!({"command": NAME, "args": ["mcp"]})),
            Self::Claude | Self::Gemini => ("mcpServers", json!({"command": NAME, "args": ["mcp"]})),
        }
    }

    /// Returns the text of the client's file with the server; the present text if it has the server already. Fails when the file cannot be
    /// parsed, or another server has the name.
    pub fn configured(self, text: Option<&str>) -> Result<String, Unconfigured> {
        match self {
            Self::Codex => self.in_toml(text.unwrap_or_default()),
            _ => self.in_json(text.unwrap_or_default()),
        }
    }

    fn in_json(self, text: &str) -> Result<String, Unconfigured> {
        let unread = |why: String| Unconfigured::Unread(self.config_path(), why);
        let is_empty = text.trim().is_empty();
        let before = if is_empty { "{}\n" } else { text };
        let options = ParseOptions {
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            ..ParseOptions::default()
        };
        let root = CstRootNode::parse(before, &options).map_err(|error| unread(error.to_string()))?;
        let (table, entry) = self.entry();
        let object = root.object_value().ok_or_else(|| unread("it is not an object".to_owned()))?;
        let servers = object.object_value_or_create(table);
        let servers = servers.ok_or_else(|| unread(format!("'{table}' is not an object")))?;
        let Some(own) = servers.get(NAME) else {
            servers.append(NAME, entry);
            return Ok(root.to_string());
        };
        match own.to_string().contains("\"mcp\"") {
            true => Ok(text.to_owned()),
            false => Err(Unconfigured::Taken(self.config_path())),
        }
    }

    fn in_toml(self, text: &str) -> Result<String, Unconfigured> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| Unconfigured::Unread(self.config_path(), error.message().to_owned()))?;
        let own = table.get("mcp_servers").and_then(|servers| servers.get(NAME));
        match own.map(|own| own.get("args").is_some_and(|args| args.to_string().contains("\"mcp\""))) {
            Some(true) => return Ok(text.to_owned()),
            Some(false) => return Err(Unconfigured::Taken(self.config_path())),
            None => {}
        }
        let entry = format!("[mcp_servers.{NAME}]\ncommand = \"{NAME}\"\nargs = [\"mcp\"]\n");
        let made = below(text, &entry);
        // `mcp_servers = {…}` allows no table in addition.
        match made.parse::<Table>() {
            Ok(_) => Ok(made),
            Err(error) => Err(Unconfigured::Unread(self.config_path(), error.message().to_owned())),
        }
    }
}

/// Returns the text of the file for agents with its guidance; the same text if it has the guidance already.
pub fn with_guidance(text: Option<&str>) -> String {
    let text = text.unwrap_or_default();
    match text.contains("`cortex` tools") {
        true => text.to_owned(),
        false => below(text, GUIDANCE),
    }
}

/// Appends a paragraph to a text, with the text's line ends.
fn below(text: &str, paragraph: &str) -> String {
    let end = Ends::from_text(text).most_frequent();
    let between = match text {
        "" => "",
        text if text.ends_with(['\n', '\r']) => end,
        _ => &end.repeat(2),
    };
    format!("{text}{between}{}", fit(paragraph, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Client; 5] = [Client::Claude, Client::Codex, Client::VsCode, Client::Cursor, Client::Gemini];

    #[test]
    fn a_new_file_has_the_server_alone_and_stays_so() {
        for client in ALL {
            let made = client.configured(None).expect("made");
            assert!(
                made.contains(NAME) && made.contains("mcp") && made.ends_with('\n'),
                "{client:?}: {made}"
            );
            assert_eq!(client.configured(Some(&made)), Ok(made.clone()), "{client:?}");
        }
        insta::assert_snapshot!(Client::VsCode.configured(None).expect("made"), @r#"
        {
          "servers": {
            "cortex": {
              "type": "stdio",
              "command": "cortex",
              "args": ["-C", "${workspaceFolder}", "mcp"]
            }
          }
        }
        "#);
    }

    #[test]
    fn existing_settings_of_clients_stay() {
        let before =
            "// mine\r\n{\r\n  \"theme\": \"dark\", // yes\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"a\"}\r\n  }\r\n}\r\n";
        let made = Client::Gemini.configured(Some(before)).expect("made");
        let added: Vec<&str> = made.lines().filter(|line| !before.contains(line.trim_end_matches(','))).collect();
        assert!(
            made.starts_with("// mine\r\n{\r\n  \"theme\": \"dark\", // yes\r\n") && !added.is_empty(),
            "{made}"
        );
        assert!(!made.replace("\r\n", "").contains('\n'), "line ends are the file's: {made:?}");
        let toml = "model = \"x\" # mine\n\n[mcp_servers.a]\ncommand = \"a\"";
        let made = Client::Codex.configured(Some(toml)).expect("made");
        assert_eq!(
            made,
            format!("{toml}\n\n[mcp_servers.cortex]\ncommand = \"cortex\"\nargs = [\"mcp\"]\n")
        );
        let guide = with_guidance(Some("# Agents\r\n"));
        assert!(guide.starts_with("# Agents\r\n\r\nFor C#") && guide.ends_with(".\r\n"), "{guide:?}");
        assert_eq!(with_guidance(Some(&guide)), guide);
    }

    #[test]
    fn malformed_settings_of_clients_are_refused() {
        for (client, text) in [
            (Client::Claude, "{"),
            (Client::Claude, "[]"),
            (Client::Claude, "{\"mcpServers\": 3}"),
            (Client::Claude, "{\"mcpServers\": {\"cortex\": {\"command\": \"other\"}}}"),
            (Client::Codex, "= 3"),
            (Client::Codex, "mcp_servers = {}"),
            (Client::Codex, "mcp_servers = 3"),
            (Client::Codex, "[mcp_servers.cortex]\ncommand = \"other\""),
        ] {
            assert!(client.configured(Some(text)).is_err(), "{client:?} {text}");
        }
    }
}
