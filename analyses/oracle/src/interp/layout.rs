//! Places symbols in memory before a run: one object a name, shared ones in the workgroup's window, the others as
//! buffers. Symbols of several functions that have one name are one object.

use super::launch::{Launch, contents, hash, text};
use super::memory::{BufferState, NarrowAddresses, Window, buffer_address};
use super::plan::SymbolSource;
use ir::function::{Function, SymbolKind};
use ir::types::Space;
use smol_str::SmolStr;

/// Places symbols in memory before the run.
pub(super) struct Layout<'r> {
    pub(super) launch: &'r Launch,
    pub(super) buffers: Vec<BufferState>,
    pub(super) names: Vec<(SmolStr, usize)>,
    pub(super) shared: Window,
    pub(super) shared_initial: Vec<(u64, Vec<u8>)>,
    /// Address and size by name.
    pub(super) shared_names: Vec<(SmolStr, u64, u64)>,
    dynamic: Option<u64>,
    pub(super) narrow: NarrowAddresses,
    /// The bytes of all buffers, including those that were too large to be made.
    pub(super) bytes: u64,
}

impl<'r> Layout<'r> {
    pub(super) fn new(launch: &'r Launch) -> Self {
        Layout {
            launch,
            buffers: launch
                .buffers
                .iter()
                .map(|b| BufferState {
                    bytes: b.bytes.clone(),
                    writable: b.writable,
                })
                .collect(),
            names: launch.bindings.clone(),
            shared: Window::default(),
            shared_initial: Vec::new(),
            shared_names: Vec::new(),
            dynamic: None,
            narrow: NarrowAddresses::default(),
            bytes: launch.buffers.iter().map(|b| b.bytes.len() as u64).sum(),
        }
    }
}

impl SymbolSource for Layout<'_> {
    fn address(&mut self, function: &Function, symbol: usize) -> u64 {
        let data = &function.symbols.as_slice()[symbol];
        let initial = data.initial.as_ref();
        match (data.kind, data.space) {
            (SymbolKind::Texture | SymbolKind::Sampler | SymbolKind::Other, _) => {
                handle(&data.name)
            }
            (SymbolKind::Memory, Space::Shared) => {
                let known = self
                    .shared_names
                    .iter()
                    .find(|(name, ..)| *name == data.name);
                if let Some(&(_, address, _)) = known {
                    return address;
                }
                let size = data.size.or(initial.map(|i| i.len() as u32));
                let bytes = u64::from(size.unwrap_or(self.launch.dynamic_shared));
                let window = &mut self.shared;
                let address = match size {
                    Some(_) => window.place(bytes, data.align),
                    None => *self
                        .dynamic
                        .get_or_insert_with(|| window.place(bytes, data.align)),
                };
                self.shared_names.push((data.name.clone(), address, bytes));
                let given = self
                    .launch
                    .shared
                    .iter()
                    .find(|(name, _)| *name == data.name);
                if let Some(contents) = given.map(|(_, contents)| contents).or(initial) {
                    let count = contents.len().min(bytes as usize);
                    self.shared_initial
                        .push((address, contents[..count].to_vec()));
                }
                address
            }
            (kind, space) => {
                let known = self.names.iter().find(|(name, _)| *name == data.name);
                if let Some(&(_, buffer)) = known
                    && buffer < self.buffers.len()
                {
                    return buffer_address(buffer, 0);
                }
                let size = data
                    .size
                    .or(initial.map(|i| i.len() as u32))
                    .unwrap_or(self.launch.default_bytes) as usize;
                self.bytes += size as u64;
                let fits = self.bytes <= self.launch.limits.memory;
                let size = if fits { size } else { 0 };
                let mut bytes = match kind {
                    SymbolKind::Buffer => {
                        contents(hash(&[self.launch.seed, text(&data.name)]), size)
                    }
                    _ => vec![0; size],
                };
                if let Some(initial) = initial {
                    let count = initial.len().min(bytes.len());
                    bytes[..count].copy_from_slice(&initial[..count]);
                }
                let buffer = self.buffers.len();
                self.names.push((data.name.clone(), buffer));
                self.buffers.push(BufferState {
                    bytes,
                    writable: !data.read_only && space != Space::Constant,
                });
                for each in &data.definition.addresses {
                    let mut symbols = function.symbols.values();
                    let Some(symbol) = symbols.position(|other| other.name == each.symbol) else {
                        continue;
                    };
                    let address = self
                        .address(function, symbol)
                        .wrapping_add_signed(each.addend);
                    let at = each.offset as usize;
                    let (address, bytes) = match function.narrow_addresses {
                        true => (self.narrow.narrow(address), 4),
                        false => (address, 8),
                    };
                    if let Some(place) = self.buffers[buffer].bytes.get_mut(at..at + bytes) {
                        place.copy_from_slice(&address.to_le_bytes()[..bytes]);
                    }
                }
                buffer_address(buffer, 0)
            }
        }
    }
}

/// The handle of a resource by name, which texture queries have.
pub fn handle(name: &str) -> u64 {
    1 << 48 | (text(name) & 0xffff_ffff) << 16
}
