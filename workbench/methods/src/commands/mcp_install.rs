//! `cortex mcp install`: plans the change of a client's configuration that adds the server, and writes it.

use crate::code::Code;
use crate::desk::clock::current_seconds;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use serde::Serialize;
use workbench::code_text::encoding::decode;
use workbench::code_text::merge::unified_diff;
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::edit::order::{EditRequest, Order};
use workbench::edit::perform::perform;
use workbench::edit::state::Status;
use workbench::mcp_clients::{Client, GUIDE, with_guidance};

/// The planned change.
pub struct InstallPlan {
    disk: Disk,
    pub config_path: &'static str,
    /// Changes of files; none if the server is in the configuration already.
    pub changes: Vec<FileRewrite>,
}

/// Plans the change of a client's configuration, and with `agents_md` that of the guide for agents. Fails when a file cannot be read, or
/// has no place for the server.
pub fn plan_install(context: &RequestContext, client: Client, agents_md: bool) -> Result<InstallPlan, Failed> {
    let root = context.workspace("mcp install")?.root.clone();
    context.release_locks_to_reopen();
    let disk = Disk::new(&root);
    let before = read_if_exists(&disk, client.config_path())?;
    let configured = client.configured(before.as_deref()).map_err(|why| {
        let why = Diagnostic::error(ErrorCode::E_CLIENT, why.to_string());
        Failed::new(
            Code::Usage,
            why.hint("fix the file, or add the server by hand as in docs/agents.md"),
        )
    })?;
    let mut files = vec![(client.config_path(), before, configured)];
    if agents_md {
        let before = read_if_exists(&disk, GUIDE)?;
        let after = with_guidance(before.as_deref());
        files.push((GUIDE, before, after));
    }
    files.retain(|(_, before, after)| before.as_ref() != Some(after));
    Ok(InstallPlan {
        disk,
        config_path: client.config_path(),
        changes: files.into_iter().map(FileRewrite::from_files).collect(),
    })
}

impl InstallPlan {
    /// Writes a change, and returns it with the edit session that reverts it.
    pub fn write_change(&mut self, at: usize) -> Result<&FileRewrite, Failed> {
        self.changes[at].write_change(&self.disk)?;
        Ok(&self.changes[at])
    }
}

/// Change of one file.
#[derive(Serialize)]
pub struct FileRewrite {
    pub path: &'static str,
    /// The change, as a diff.
    pub diff: String,
    #[serde(skip)]
    after: String,
    /// Edit session that reverts the change, once it is written.
    pub session: Option<String>,
}

impl FileRewrite {
    fn from_files((path, before, after): (&'static str, Option<String>, String)) -> Self {
        let old = if before.is_some() { path } else { "/dev/null" };
        Self {
            path,
            diff: unified_diff(before.as_deref().unwrap_or_default(), &after, old, path),
            after,
            session: None,
        }
    }

    fn write_change(&mut self, disk: &Disk) -> Result<(), Failed> {
        let path = self.path;
        let request = EditRequest {
            order: Order::Write(self.after.clone()),
            session: None,
            path: Some(path.to_owned()),
            mode: None,
            fit: false,
        };
        let response = perform(disk, &request, current_seconds());
        if response.status != Status::Success {
            let why = Diagnostic::error(ErrorCode::E_WRITE, format!("{path} was not written: {}", response.summary));
            return Err(Failed::new(
                Code::Io,
                why.hint("check the permissions of the folder, then run this again"),
            ));
        }
        self.session = response.session;
        Ok(())
    }
}

/// Reads a file, if it exists.
fn read_if_exists(disk: &Disk, path: &str) -> Result<Option<String>, Failed> {
    let unread = |why: String| {
        let why = Diagnostic::error(ErrorCode::E_READ, format!("{path} cannot be read: {why}"));
        Failed::new(Code::Io, why.hint("the configuration of a client is a text file of the workspace"))
    };
    let resolved = disk.resolve(path).map_err(|why| unread(why.to_string()))?;
    let found = disk.read(&resolved).map_err(|error| unread(error.to_string()))?;
    let decoded = found.map(|found| decode(&found.bytes).map(|(text, _)| text));
    decoded.transpose().map_err(|why| unread(why.to_string()))
}
