//! The functions that a module may import from `cortex`. Pointers and lengths refer to its memory, in bytes. A function that returns bytes copies as
//! many as fit into the given room and returns their total number.
//!
//! - `count(role, role_len) -> i32`: the number of inputs of a role.
//! - `item(role, role_len, number, to, room) -> i32`: the name of an input (`{item}` of a list; else empty).
//! - `read(role, role_len, number, to, room) -> i32`: an input's bytes; for indexes the JSON that `show` prints.
//! - `params(to, room) -> i32`: the parameters, a JSON object.
//! - `output(from, len)`: appends to the output.
//! - `warn(from, len)`: adds a warning to the result.
//! - `fail(from, len)`: ends the run without an output, with a reason.

use engine::seams::producer::{Input, Inputs};
use engine::values::table;
use std::collections::BTreeMap;
use std::sync::Arc;
use wasmi::errors::LinkerError;
use wasmi::{Caller, Error, Extern, Linker, Memory, StoreLimits, StoreLimitsBuilder};

/// The name that functions are imported from.
const NAMED: &str = "cortex";
/// Limits of warnings of one run, and of characters of each.
const WARNINGS: usize = 50;
const LONGEST: usize = 2_000;
/// Number of bytes that are copied for one unit of fuel.
const COPIED: u64 = 8;
/// Limit of bytes of a role's name.
const LONGEST_NAME: usize = 1 << 10;

/// The reason why the host ended a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stop {
    /// The module reported a failure.
    #[error("the module failed: {0}")]
    Failed(String),
    /// It used up its fuel.
    #[error("the module used up its fuel")]
    Fuel,
    /// It requested too much memory.
    #[error("the module wants more memory than it may have")]
    Memory,
    /// It referred to bytes outside of its memory.
    #[error("the module named bytes outside of its memory")]
    Outside,
}

/// The state of a run.
pub(super) struct Host {
    roles: BTreeMap<Arc<str>, Vec<Input>>,
    params: Vec<u8>,
    /// Fuel that the module has not received yet.
    fuel: u64,
    /// Limit of bytes of its output.
    room: u64,
    pub(super) limits: StoreLimits,
    pub(super) output: Vec<u8>,
    pub(super) warnings: Vec<String>,
    /// The reason why the host ended the run.
    pub(super) stop: Option<Stop>,
}

impl Host {
    pub(super) fn new(inputs: &Inputs<'_>, fuel: u64, memory: u64) -> Self {
        let most = usize::try_from(memory).unwrap_or(usize::MAX);
        let limits = StoreLimitsBuilder::new().memory_size(most).memories(1).instances(1);
        Self {
            roles: inputs.roles.clone(),
            params: serde_json::json!(inputs.params).to_string().into_bytes(),
            fuel,
            room: memory,
            limits: limits.tables(4).table_elements(100_000).trap_on_grow_failure(true).build(),
            output: Vec::new(),
            warnings: Vec::new(),
            stop: None,
        }
    }

    fn stop_with(&mut self, stop: Stop) -> Error {
        let error = Error::new(stop.to_string());
        self.stop = Some(stop);
        error
    }

    /// Charges fuel for work of the host. Fails when too little fuel is left.
    pub(super) fn charge(&mut self, fuel: u64) -> Result<(), Error> {
        match self.fuel.checked_sub(fuel) {
            Some(left) => self.fuel = left,
            None => return Err(self.stop_with(Stop::Fuel)),
        }
        Ok(())
    }
}

fn memory(caller: &mut Caller<'_, Host>) -> Result<Memory, Error> {
    match caller.get_export("memory").and_then(Extern::into_memory) {
        Some(memory) => Ok(memory),
        None => Err(caller.data_mut().stop_with(Stop::Outside)),
    }
}

/// Reads bytes of the module's memory.
fn read_module_bytes(caller: &mut Caller<'_, Host>, from: i32, len: i32, most: usize) -> Result<Vec<u8>, Error> {
    let (start, len) = (from.cast_unsigned() as usize, len.cast_unsigned() as usize);
    caller.data_mut().charge(1 + len as u64 / COPIED)?;
    let memory = memory(caller)?;
    let bytes = memory.data(&*caller).get(start..start.saturating_add(len));
    match bytes.filter(|bytes| bytes.len() <= most).map(<[u8]>::to_vec) {
        Some(bytes) => Ok(bytes),
        None => Err(caller.data_mut().stop_with(Stop::Outside)),
    }
}

/// Copies as many bytes as fit and returns their total number.
fn copy_to_module(caller: &mut Caller<'_, Host>, bytes: &[u8], to: i32, room: i32) -> Result<i32, Error> {
    let (start, room) = (to.cast_unsigned() as usize, room.cast_unsigned() as usize);
    let fits = &bytes[..bytes.len().min(room)];
    caller.data_mut().charge(1 + fits.len() as u64 / COPIED)?;
    let memory = memory(caller)?;
    let place = memory.data_mut(&mut *caller).get_mut(start..start.saturating_add(fits.len()));
    match (place, i32::try_from(bytes.len())) {
        (Some(place), Ok(len)) => {
            place.copy_from_slice(fits);
            Ok(len)
        }
        (None, _) => Err(caller.data_mut().stop_with(Stop::Outside)),
        (_, Err(_)) => Err(caller.data_mut().stop_with(Stop::Memory)),
    }
}

/// Reads a text of the module for people.
fn read_module_text(caller: &mut Caller<'_, Host>, from: i32, len: i32) -> Result<String, Error> {
    let bytes = read_module_bytes(caller, from, len, usize::MAX)?;
    Ok(String::from_utf8_lossy(&bytes).chars().take(LONGEST).collect())
}

/// Returns an input that the module names; the clone shares its bytes.
fn input(caller: &mut Caller<'_, Host>, (role, role_len): (i32, i32), number: i32) -> Result<Input, Error> {
    let role = read_module_bytes(caller, role, role_len, LONGEST_NAME)?;
    let inputs = std::str::from_utf8(&role).ok().and_then(|role| caller.data().roles.get(role));
    let input = usize::try_from(number).ok().and_then(|number| inputs?.get(number)).cloned();
    input.ok_or_else(|| caller.data_mut().stop_with(Stop::Outside))
}

/// Defines the functions. Fails when one is defined already.
pub(super) fn link(linker: &mut Linker<Host>) -> Result<(), LinkerError> {
    linker.func_wrap(NAMED, "count", |mut caller: Caller<'_, Host>, role: i32, role_len: i32| {
        let role = read_module_bytes(&mut caller, role, role_len, LONGEST_NAME)?;
        let role = std::str::from_utf8(&role).unwrap_or_default();
        let inputs = caller.data().roles.get(role).map_or(0, Vec::len);
        Ok::<i32, Error>(i32::try_from(inputs).unwrap_or(i32::MAX))
    })?;
    linker.func_wrap(
        NAMED,
        "item",
        |mut caller: Caller<'_, Host>, role: i32, role_len: i32, number: i32, to: i32, room: i32| {
            let input = input(&mut caller, (role, role_len), number)?;
            copy_to_module(&mut caller, input.item.as_bytes(), to, room)
        },
    )?;
    linker.func_wrap(
        NAMED,
        "read",
        |mut caller: Caller<'_, Host>, role: i32, role_len: i32, number: i32, to: i32, room: i32| {
            let input = input(&mut caller, (role, role_len), number)?;
            copy_to_module(&mut caller, &table::readable_blob(&input.bytes), to, room)
        },
    )?;
    linker.func_wrap(NAMED, "params", |mut caller: Caller<'_, Host>, to: i32, room: i32| {
        let params = caller.data().params.clone();
        copy_to_module(&mut caller, &params, to, room)
    })?;
    linker.func_wrap(NAMED, "output", |mut caller: Caller<'_, Host>, from: i32, len: i32| {
        let bytes = read_module_bytes(&mut caller, from, len, usize::MAX)?;
        let host = caller.data_mut();
        if (host.output.len() + bytes.len()) as u64 > host.room {
            return Err(host.stop_with(Stop::Memory));
        }
        host.output.extend(bytes);
        Ok(())
    })?;
    linker.func_wrap(NAMED, "warn", |mut caller: Caller<'_, Host>, from: i32, len: i32| {
        let said = read_module_text(&mut caller, from, len)?;
        let warnings = &mut caller.data_mut().warnings;
        if warnings.len() < WARNINGS {
            warnings.push(said);
        }
        Ok::<(), Error>(())
    })?;
    linker.func_wrap(NAMED, "fail", |mut caller: Caller<'_, Host>, from: i32, len: i32| {
        let said = read_module_text(&mut caller, from, len)?;
        Err::<(), Error>(caller.data_mut().stop_with(Stop::Failed(said)))
    })?;
    Ok(())
}
