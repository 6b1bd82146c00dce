//! Seams: the traits through which the engine uses the world, producers, machines and caches without knowing them.

pub mod annotate;
pub mod farm;
pub mod fold;
pub mod job_group;
pub mod joint;
pub mod lineage;
pub mod nearby;
pub mod paid;
pub mod priority;
pub mod producer;
pub mod remote;
pub mod update;
pub mod world;
