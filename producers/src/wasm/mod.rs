//! `wasm`: a producer in a WebAssembly module, the only kind whose purity is enforced everywhere: a module sees only its inputs and parameters, so it
//! needs no trust, and its output is the same on every machine.
//!
//! The module is the input of the role `module`; its digest is in the key like that of any input. It exports its `memory` and `run`, and may import
//! the functions of [`host`]; there is no WASI. `fuel` (about one per instruction) and `memory` bound it and are in no key. Every other parameter is
//! the module's own.

mod host;
#[cfg(test)]
mod tests;

use engine::seams::producer::{Bound, Cancel, Failure, Inputs, Output, ParamError, ParamErrors, Params, Producer, ProducerId, Sees};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::quantity;
use host::{Host, Stop};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use wasmi::errors::ErrorKind;
use wasmi::{CompilationMode, Config, Engine, Linker, Module, Store, TrapCode, TypedResumableCall};

/// The role of the module.
const MODULE: &str = "module";
/// Parameters that bound a run.
const BOUNDS: [&str; 2] = ["fuel", "memory"];
const DEFAULT_FUEL: u64 = 20_000_000_000;
const DEFAULT_MEMORY: u64 = 256 << 20;
/// Fuel between two checks for cancellation.
const SLICE: u64 = 20_000_000;

/// Runs modules.
#[derive(Default)]
pub struct WasmProducer {
    /// Created when the first module runs.
    machine: OnceLock<Machine>,
    /// The module that was last used: the next node usually has the same.
    last: Mutex<Option<(Digest, Module)>>,
}

struct Machine {
    engine: Engine,
    linker: Linker<Host>,
}

impl Machine {
    fn new() -> Self {
        let mut config = Config::default();
        config.consume_fuel(true).compilation_mode(CompilationMode::LazyTranslation);
        let engine = Engine::new(&config);
        let mut linker = Linker::new(&engine);
        host::link(&mut linker).expect("invariant: no function is defined twice");
        Self { engine, linker }
    }
}

impl Producer for WasmProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("wasm", 1)
    }

    fn bind(&self, params: &Params, _: &BTreeMap<String, Params>) -> Bound {
        let (settings, params) = params.clone().into_iter().partition(|(name, _)| BOUNDS.contains(&name.as_str()));
        Bound { params, settings }
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: false, label: false }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let mut errors = ParamErrors::default();
        if params.get("fuel").is_some_and(|fuel| fuel.as_u64().is_none_or(|fuel| fuel == 0)) {
            errors.add(
                "fuel",
                "'fuel' must be a whole number of instructions",
                "write params.fuel = 20000000000",
            );
        }
        if params.get("memory").is_some_and(|text| memory_bytes(text).is_none()) {
            errors.add("memory", "'memory' must be a size", "write params.memory = \"256 MB\"");
        }
        errors.into_result()
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let module = inputs.single(MODULE)?;
        let machine = self.machine.get_or_init(Machine::new);
        let module = self.module(&machine.engine, module.digest, &module.bytes)?;
        let fuel = inputs.settings.get("fuel").and_then(Value::as_u64).unwrap_or(DEFAULT_FUEL);
        let memory = inputs.settings.get("memory").and_then(memory_bytes).unwrap_or(DEFAULT_MEMORY);
        let host = Host::new(inputs, fuel, memory);
        let mut store = Store::new(&machine.engine, host);
        store.limiter(|host| &mut host.limits);
        let ran = run_module(&machine.linker, &mut store, &module, inputs.cancel);
        let host = store.into_data();
        match (ran, host.stop) {
            (Ok(()), None) => Ok(Output {
                diagnostics: host
                    .warnings
                    .into_iter()
                    .map(|said| Diagnostic::warning(ErrorCode::W_MODULE, said))
                    .collect(),
                ..Output::new(host.output)
            }),
            (Err(Ended::Cancelled), _) => Err(Failure::Cancelled),
            (_, Some(stop)) => Err(failure_of_stop(&stop)),
            (Err(Ended::Trapped(error)), None) => Err(trap_failure(&error)),
        }
    }
}

/// The reason why a run failed.
enum Ended {
    Cancelled,
    Trapped(wasmi::Error),
}

impl From<wasmi::Error> for Ended {
    fn from(error: wasmi::Error) -> Self {
        Self::Trapped(error)
    }
}

impl WasmProducer {
    fn module(&self, engine: &Engine, digest: Digest, bytes: &[u8]) -> Result<Module, Failure> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, module)) = last.as_ref().filter(|(known, _)| *known == digest) {
            return Ok(module.clone());
        }
        let module = Module::new(engine, bytes).map_err(|error| {
            let why = Diagnostic::error(ErrorCode::E_MODULE, "its input 'module' is no WebAssembly module").found(error.to_string());
            Failure::Permanent(Box::new(why.hint("compile it for wasm32-unknown-unknown")))
        })?;
        *last = Some((digest, module.clone()));
        Ok(module)
    }
}

/// Runs a module to its end, with checks for cancellation in between.
fn run_module(linker: &Linker<Host>, store: &mut Store<Host>, module: &Module, cancel: &Cancel) -> Result<(), Ended> {
    burn(store, SLICE)?;
    let instance = linker.instantiate_and_start(&mut *store, module)?;
    let run = instance.get_typed_func::<(), ()>(&*store, "run")?;
    let mut call = run.call_resumable(&mut *store, ())?;
    loop {
        match call {
            TypedResumableCall::Finished(()) => return Ok(()),
            TypedResumableCall::HostTrap(_) => return Err(wasmi::Error::new("the host stopped it").into()),
            TypedResumableCall::OutOfFuel(state) => {
                if cancel.is_cancelled() {
                    return Err(Ended::Cancelled);
                }
                burn(store, state.required_fuel().max(SLICE))?;
                call = state.resume(&mut *store)?;
            }
        }
    }
}

/// Gives a run the next slice of its fuel.
fn burn(store: &mut Store<Host>, wanted: u64) -> Result<(), Ended> {
    store.data_mut().charge(wanted)?;
    let left = store.get_fuel()?;
    Ok(store.set_fuel(left.saturating_add(wanted))?)
}

fn memory_bytes(text: &Value) -> Option<u64> {
    quantity::parse_bytes(text.as_str()?).ok().filter(|bytes| *bytes > 0)
}

fn failure_of_stop(stop: &Stop) -> Failure {
    let why = Diagnostic::error(ErrorCode::E_MODULE, stop.to_string());
    Failure::Permanent(Box::new(match stop {
        Stop::Failed(_) => why,
        Stop::Fuel => why.hint("give it more with `params.fuel`, if it is not caught in a loop"),
        Stop::Memory => why.hint("give it more with `params.memory`"),
        Stop::Outside => why.hint("a pointer or a length that it gave is wrong"),
    }))
}

fn trap_failure(error: &wasmi::Error) -> Failure {
    let (what, hint) = match (error.as_trap_code(), error.kind()) {
        (Some(TrapCode::GrowthOperationLimited), _) => return failure_of_stop(&Stop::Memory),
        (Some(TrapCode::OutOfFuel), _) => return failure_of_stop(&Stop::Fuel),
        (Some(_), _) => ("the module trapped", "run it by hand on the same inputs"),
        (None, ErrorKind::Linker(_)) => (
            "the module imports what there is not",
            "it may import count, item, read, params, output, warn and fail of \"cortex\", and nothing of WASI",
        ),
        (None, _) => (
            "the module cannot be run",
            "it must export `memory` and a function `run` without parameters and results",
        ),
    };
    let why = Diagnostic::error(ErrorCode::E_MODULE, what).found(error.to_string());
    Failure::Permanent(Box::new(why.hint(hint)))
}
