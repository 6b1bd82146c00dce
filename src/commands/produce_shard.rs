//! `cortex produce-shard`: the work of a worker. It has no workspace and no store, asks no model and runs no program.

use crate::cli::ProduceShardArgs;
use engine::build::shard;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::failed::{Failed, Outcome};
use producers::command::Nothing;
use producers::llm::Refusing;
use std::io;
use std::sync::Arc;
use workbench::workspace::registry;

/// Builds the outputs that the shard asks for.
pub fn run_produce_shard(args: &ProduceShardArgs) -> Outcome {
    let trouble = |what: &str, error: io::Error| {
        let why = Diagnostic::error(ErrorCode::E_IO, format!("{what}: {error}"));
        Failed::new(
            Code::Io,
            why.hint("this command is for workers; pass the shard that was sent to them"),
        )
    };
    let bytes = std::fs::read(&args.shard).map_err(|error| trouble("the shard cannot be read", error))?;
    let made = shard::run_shard(&bytes, &registry(Arc::new(Refusing), Arc::new(Nothing))).ok_or_else(|| {
        let why = Diagnostic::error(
            ErrorCode::E_SHARD,
            "this is not a shard, or it is from another version of this program",
        );
        Failed::new(
            Code::Usage,
            why.hint("workers run the program that `worker` in [remote] names: rebuild it"),
        )
    })?;
    std::fs::write(&args.out, made).map_err(|error| trouble("the results cannot be written", error))?;
    Ok(Code::Ok)
}
