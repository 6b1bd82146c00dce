//! What the remote cache means for one target: whether its result is looked up, and its output fetched.

use super::engine::EngineError;
use super::remote_costs::{LookUp, RemoteChoice};
use super::session::Session;
use super::sharing::is_single;
use crate::seams::remote::prefix;
use crate::store::volumes::{self, KnownVolume};
use crate::store::{Store, exchange};
use crate::values::digest::Digest;
use std::time::Duration;

impl Session {
    /// Returns what the remote cache means for a target whose result took `took_us` to build; `None` without a cache, or for a source.
    pub fn remote_choice(&self, label: &str, output: Option<&Digest>, took_us: Option<u64>) -> Result<Option<RemoteChoice>, EngineError> {
        let manifest = self.rules.manifest();
        let Some((remote, found)) = manifest.remote.as_ref().zip(self.rules.find(label)) else {
            return Ok(None);
        };
        let producer = &manifest.producers[self.rules.rule(found.rule).producer as usize];
        let Some(implementation) = self.engine.registry.get(&producer.uses) else {
            return Ok(None);
        };
        let (store, view): (&dyn Store, _) = (&*self.engine.store, self.engine.view);
        let figures = exchange::days(store, view, 0)?
            .pop()
            .map(|(_, figures)| figures)
            .unwrap_or_default();
        let round_trip = figures.round_trip_us.map(Duration::from_micros);
        let volume = match output {
            Some(output) if !store.has_blob(output)? => {
                let volumes = volumes::list_volumes(store, view)?;
                let has = |volume: &KnownVolume| volume.prefixes().contains(&prefix(output));
                let volume = volumes.iter().find(|(_, volume)| has(volume));
                volume.map(|(_, volume)| volume.cost(round_trip, figures.bytes_per_second))
            }
            _ => None,
        };
        let took = took_us.map(Duration::from_micros);
        let pool = implementation.pool(&producer.params);
        Ok(Some(RemoteChoice {
            look_up: LookUp::choose(pool, is_single(&self.rules, found.rule), took, round_trip, figures.bytes_per_second),
            round_trip_us: figures.round_trip_us,
            is_fetched: volume.is_some_and(|volume| volume.is_fetched(remote.prefer)),
            volume,
        }))
    }
}
