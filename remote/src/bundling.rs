//! Bundling: results that are filed together, and read back, so that nobody is told that they are there while the server has them wrong.

use crate::account::Doubt;
use crate::blobs::NotTaken;
use crate::bundle::{self, Bundled};
use crate::client::Inner;
use crate::names::Name;
use crate::server::Server;
use engine::seams::remote::{BlobRef, SharedOutput, SharedResult, Wanted};
use engine::values::digest::{ActionKey, Digest};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Gives a blob by its digest.
type Load<'a> = dyn Fn(&Digest) -> Option<Arc<[u8]>> + Sync + 'a;

impl Inner {
    /// Files results together, with those of their blobs that the server lacks. Whether all of it is there, every byte.
    pub(crate) fn offer_bundle(&self, name: &Digest, results: &[SharedResult], load: &Load<'_>) -> bool {
        let Some(server) = self.server().filter(|_| self.writes()) else {
            return false;
        };
        let mut digests: HashMap<Name, Digest> = HashMap::new();
        let mut bundled: Vec<Bundled> = Vec::with_capacity(results.len());
        for result in results {
            let named = result.outputs.iter().map(|output| {
                let name = self.name_of(&server, &output.blob, load)?;
                digests.insert(name, output.blob.digest);
                Some(name.hash)
            });
            let named = named.collect();
            bundled.push((result.clone(), named));
        }
        let names: Vec<Name> = digests.keys().copied().collect();
        let are_sound = self.send_sound(&server, names, &|name| load(digests.get(name)?));
        let are_sound = match are_sound {
            Ok(are_sound) => are_sound,
            Err(not_taken) => {
                self.not_taken(not_taken);
                return false;
            }
        };
        self.unname_missing(&mut bundled);
        let bytes: Arc<[u8]> = bundle::encode(&bundled).into();
        let wanted = bundle::wanted(name);
        let result = SharedResult {
            key: wanted.key,
            producer: wanted.producer,
            outputs: vec![SharedOutput {
                name: bundle::OUTPUT.to_owned(),
                blob: BlobRef::of(&bytes),
            }],
            provenance: Vec::new(),
        };
        let parcel = self.pack(&server, &result, vec![bytes.clone()]);
        let (stored, trouble) = self.ship(&server, vec![parcel]);
        self.account.count(|summary| summary.stored += stored);
        if stored == 0 {
            // Where a name is filed once, somebody else may have filed it.
            let stands = matches!(trouble, Some(NotTaken::This(_))) && self.stands(&result.wanted(), results);
            if !stands {
                trouble.into_iter().for_each(|trouble| self.not_taken(trouble));
            }
            return are_sound && stands;
        }
        let blob = server.terms.function.name(&bytes);
        let is_sound = self.send_sound(&server, vec![blob], &|_| Some(bytes.clone()));
        are_sound && is_sound.unwrap_or(false) && self.holds(&server, &result)
    }

    /// Sends what the server lacks of these, reads back what it has then, and sends what was wrong once more. Whether it has all of them as
    /// they are to be; what nobody has is no fault of the server's.
    fn send_sound(&self, server: &Arc<Server>, names: Vec<Name>, load: &dyn Fn(&Name) -> Option<Arc<[u8]>>) -> Result<bool, NotTaken> {
        self.send_missing(server, names.clone(), load)?;
        let there: Vec<Name> = {
            let present = self.present();
            names
                .into_iter()
                .filter(|name| present.contains(name) || self.is_wrong(name))
                .collect()
        };
        if self.read_back(server, there.iter().copied()) {
            return Ok(true);
        }
        let wrong = there.iter().copied().filter(|name| self.is_wrong(name)).collect();
        self.send_missing(server, wrong, load)?;
        Ok(there.iter().all(|name| name.len == 0 || self.is_sound(name)))
    }

    /// Leaves out names of blobs that are not there, or wrong there: nobody is to look for them.
    fn unname_missing(&self, bundled: &mut [Bundled]) {
        let present = self.present();
        let is_there = |name: Name| name.len == 0 || present.contains(&name) && !self.is_wrong(&name);
        for (result, names) in bundled {
            for (output, name) in result.outputs.iter().zip(names) {
                let len = output.blob.len;
                *name = name.filter(|hash| is_there(Name { hash: *hash, len }));
            }
        }
    }

    /// Whether a bundle is there that lists all of these results.
    fn stands(&self, wanted: &Wanted, results: &[SharedResult]) -> bool {
        let found = self.look(std::slice::from_ref(wanted)).and_then(|mut found| found.pop()).flatten();
        let blob = found.and_then(|found| self.fetch(&[found.outputs.first()?.blob]).pop()?);
        let listed = blob.and_then(|blob| bundle::decode(&blob)).unwrap_or_default();
        let listed: HashSet<&ActionKey> = listed.iter().map(|(result, _)| &result.key).collect();
        results.iter().all(|result| listed.contains(&result.key))
    }

    /// Whether what was just filed is found.
    fn holds(&self, server: &Arc<Server>, result: &SharedResult) -> bool {
        let looking = server
            .clone()
            .look(self.names.clone(), self.def.salt.as_str().into(), vec![result.wanted()]);
        match self.wait(looking).and_then(|mut found| found.pop()) {
            Some(Ok(Some(_))) => true,
            Some(Ok(None)) => {
                self.account.broken(&Doubt::Result(result.key));
                false
            }
            Some(Err(_)) | None => false,
        }
    }
}
