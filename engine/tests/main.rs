//! Tests of the engine from outside, in one program: it links once, and the long model test runs beside the others.

mod answers;
mod differences;
mod farm;
mod invariants;
mod listed;
mod model;
mod overtaken;
mod paid;
mod reasons;
mod remembered;
mod reservations;
mod scheduling;
mod sharing;
mod stopped;
mod toys;
