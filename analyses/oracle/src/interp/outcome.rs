//! Sets a run up and collects what it leaves.

use super::error::{Error, Event};
use super::launch::{Argument, Launch};
use super::layout::Layout;
use super::machine::Machine;
use super::memory::buffer_address;
use super::observe::Observer;
use super::plan::FunctionPlan;
use ir::checkpoint::Checkpoint;
use ir::function::{Function, Module};
use ir::inst::{Barrier, Op};
use ir::numbers;
use ir::types::Type;
use smol_str::SmolStr;

/// The state that a run leaves. Equal runs have equal outcomes.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Values that the lanes returned: by result, then by lane of the grid; 0 for lanes that did not return.
    pub returned: Vec<Vec<u64>>,
    pub return_types: Vec<Type>,
    pub buffers: Vec<BufferAfter>,
    /// Shared symbols of workgroup 0 when it ended, in the order of their addresses.
    pub shared: Vec<BufferAfter>,
    /// Values stored to textures, by handle and coordinates.
    pub texels: Vec<Texel>,
    pub events: Vec<Event>,
    /// Instructions executed by warps.
    pub steps: u64,
    /// Instructions executed by lanes.
    pub lane_steps: u64,
    pub error: Option<Error>,
}

/// A buffer after the run: those of the launch first, then those of symbols.
#[derive(Clone, PartialEq, Debug)]
pub struct BufferAfter {
    /// The name of the symbol that names it.
    pub name: Option<SmolStr>,
    pub bytes: Vec<u8>,
    /// The type of an element as the buffer was described, for showing it.
    pub element: Option<Type>,
    /// The members of one element in order, where it is a structure of several types.
    pub record: Vec<Type>,
}

impl BufferAfter {
    /// Little-endian 32-bit words.
    pub fn words(&self) -> Vec<u32> {
        let word = |c: &[u8]| c.iter().rev().fold(0, |w, &b| w << 8 | u32::from(b));
        self.bytes.chunks_exact(4).map(word).collect()
    }
    pub fn floats(&self) -> Vec<f32> {
        self.words().into_iter().map(f32::from_bits).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Texel {
    pub handle: u64,
    pub coordinates: [i64; 4],
    pub values: [u64; 4],
}

impl Outcome {
    fn failed(error: Error) -> Self {
        Outcome {
            returned: Vec::new(),
            return_types: Vec::new(),
            buffers: Vec::new(),
            shared: Vec::new(),
            texels: Vec::new(),
            events: Vec::new(),
            steps: 0,
            lane_steps: 0,
            error: Some(error),
        }
    }
    /// The effects that a transformation must keep: returned values, memory, textures, and whether it failed.
    pub fn same_effects(&self, other: &Outcome) -> bool {
        self.returned == other.returned
            && self.buffers == other.buffers
            && self.texels == other.texels
            && self.error.is_some() == other.error.is_some()
    }
}

pub(super) fn run<O: Observer>(
    module: &Module,
    launch: &Launch,
    observer: &mut O,
    checkpoint: &dyn Checkpoint,
) -> Outcome {
    let threads = match check(module, launch) {
        Ok(threads) => threads,
        Err(error) => return Outcome::failed(error),
    };
    let mut layout = Layout::new(launch);
    let plans: Vec<FunctionPlan<'_>> = module
        .functions
        .iter()
        .map(|function| FunctionPlan::new(function, &mut layout))
        .collect();
    let kernel = &module.functions[0];
    let mut names: Vec<Option<SmolStr>> = vec![None; layout.buffers.len()];
    for (name, buffer) in &layout.names {
        if let Some(place) = names.get_mut(*buffer) {
            *place = Some(name.clone());
        }
    }
    let mut places = layout.shared_names.clone();
    places.sort_by_key(|&(_, address, _)| address);
    let mut machine = match Machine::new(&plans, layout, observer) {
        Ok(machine) => machine,
        Err(error) => return Outcome::failed(error),
    };
    machine.arguments = arguments(kernel, launch);
    let together = module.functions.iter().any(uses_grid_barrier);
    let returned = kernel.returns.len() as u64 * threads * 8;
    let error = machine
        .charge(returned)
        .and_then(|()| {
            machine.returned = vec![vec![0; threads as usize]; kernel.returns.len()];
            machine.run_grid(together, checkpoint)
        })
        .err();
    let mut texels: Vec<Texel> = machine
        .texels
        .iter()
        .map(|(&(handle, coordinates), &values)| Texel {
            handle,
            coordinates,
            values,
        })
        .collect();
    texels.sort_by_key(|t| (t.handle, t.coordinates));
    let shared = places
        .into_iter()
        .filter_map(|(name, address, size)| {
            let range = address as usize..(address + size) as usize;
            Some(BufferAfter {
                name: Some(name),
                bytes: machine.shared_after.get(range)?.to_vec(),
                element: None,
                record: Vec::new(),
            })
        })
        .collect();
    names.resize(machine.buffers.len(), None);
    Outcome {
        returned: machine.returned,
        return_types: kernel.returns.clone(),
        buffers: machine
            .buffers
            .into_iter()
            .zip(names)
            .map(|(state, name)| BufferAfter {
                name,
                bytes: state.bytes,
                element: None,
                record: Vec::new(),
            })
            .collect(),
        shared,
        texels,
        events: machine.events,
        steps: machine.steps,
        lane_steps: machine.lane_steps,
        error,
    }
}

/// The number of lanes of the grid.
fn check(module: &Module, launch: &Launch) -> Result<u64, Error> {
    let fail = |reason: String| Err(Error::Launch(reason));
    if module.functions.is_empty() || module.functions.iter().any(|f| f.layout.is_empty()) {
        return fail("the module has no function with a body".into());
    }
    if !(1..=64).contains(&launch.warp_size) {
        return fail(format!("warp size {} is not in 1 to 64", launch.warp_size));
    }
    let sizes = launch.grid.iter().chain(&launch.block);
    let threads = sizes.fold(1u128, |product, &size| {
        product.saturating_mul(u128::from(size))
    });
    if threads == 0 {
        return fail("the grid is empty".into());
    }
    if threads > u128::from(launch.limits.lanes) {
        return fail(format!(
            "{threads} lanes are more than {}",
            launch.limits.lanes
        ));
    }
    Ok(threads as u64)
}

fn uses_grid_barrier(function: &Function) -> bool {
    let is_grid = |op: &Op| matches!(op, Op::Barrier(Barrier::Grid));
    function.insts.values().any(|data| is_grid(&data.op))
}

fn arguments(kernel: &Function, launch: &Launch) -> Vec<u64> {
    let params = &kernel.blocks[kernel.entry()].params;
    params
        .iter()
        .enumerate()
        .map(|(number, &param)| {
            let ty = kernel.ty(param);
            match launch.parameters.get(number) {
                Some(Argument::Bits(bits)) => numbers::canonical(ty, *bits),
                Some(Argument::Float(value)) => numbers::from_f64(ty, *value),
                Some(Argument::Pointer { buffer, offset }) => buffer_address(*buffer, *offset),
                Some(Argument::Handle(handle)) => u64::from(*handle),
                None => 0,
            }
        })
        .collect()
}
