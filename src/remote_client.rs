//! Client of the remote cache and workers that the manifest names.

use crate::worker;
use engine::build::sharing::Sharing;
use engine::manifest::remote::{RemoteDef, Write};
use engine::seams::farm::Farm;
use remote::{CacheUse, Client, Deadlines, Surroundings};
use std::path::Path;
use std::sync::Arc;
use workbench::nearby_trees::GitTrees;
use workbench::workspace::Connect;

/// Returns whether this process may read and write the cache.
pub fn usage(def: &RemoteDef) -> CacheUse {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    let write = match def.write {
        Write::Never => false,
        Write::Ci => is_ci,
        Write::Always => true,
    };
    CacheUse { read: def.read, write }
}

/// Creates the client of the cache that the manifest at `root` names.
pub fn client(def: &RemoteDef, root: &Path, usage: CacheUse) -> std::io::Result<Client> {
    let around = Surroundings {
        folder: root.to_path_buf(),
        variables: Arc::new(|name| std::env::var(name).ok()),
        deadlines: Deadlines::default(),
    };
    Client::new(def.clone(), usage, around)
}

/// Returns a function that connects builds to the cache and the workers of their manifest, as far as it allows.
pub fn connect() -> Connect {
    Arc::new(|def, root| {
        let usage = usage(def);
        let used = usage.read || usage.write || def.execute;
        let client = used.then(|| client(def, root, usage).ok()).flatten()?;
        let workers = def
            .execute
            .then(|| Arc::new(client.workers(worker::program(def, root))) as Arc<dyn Farm>);
        Some(Sharing {
            cache: Arc::new(client),
            farm: workers,
            nearby: Some(Arc::new(GitTrees {
                root: root.to_path_buf(),
                variables: Arc::new(|name| std::env::var(name).ok()),
            })),
            prefer: def.prefer,
        })
    })
}
