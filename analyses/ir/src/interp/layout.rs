//! Places symbols in memory before a run: one object a name, shared ones in the workgroup's window, the others as
//! buffers. Symbols of several functions that have one name are one object.

use super::launch::{Launch, contents, hash, text};
use super::memory::{BufferState, Window, buffer_address};
use super::plan::SymbolSource;
use crate::function::{Function, SymbolKind};
use crate::types::Space;
use smol_str::SmolStr;

/// Places symbols in memory before the run.
pub(super) struct Layout<'r> {
    pub(super) launch: &'r Launch,
    pub(super) buffers: Vec<BufferState>,
    pub(super) names: Vec<(SmolStr, usize)>,
    pub(super) shared: Window,
    pub(super) shared_initial: Vec<(u64, Vec<u8>)>,
    shared_names: Vec<(SmolStr, u64)>,
    dynamic: Option<u64>,
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
                let size = data.size.or(initial.map(|i| i.len() as u32));
                let Some(size) = size else {
                    let bytes = u64::from(self.launch.dynamic_shared);
                    let (window, align) = (&mut self.shared, data.align);
                    return *self
                        .dynamic
                        .get_or_insert_with(|| window.place(bytes, align));
                };
                let known = self
                    .shared_names
                    .iter()
                    .find(|(name, _)| *name == data.name);
                if let Some(&(_, address)) = known {
                    return address;
                }
                let address = self.shared.place(u64::from(size), data.align);
                self.shared_names.push((data.name.clone(), address));
                if let Some(bytes) = initial {
                    self.shared_initial.push((address, bytes.clone()));
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
                self.names.push((data.name.clone(), self.buffers.len()));
                self.buffers.push(BufferState {
                    bytes,
                    writable: !data.read_only && space != Space::Constant,
                });
                buffer_address(self.buffers.len() - 1, 0)
            }
        }
    }
}

/// The handle of a resource by name.
pub(super) fn handle(name: &str) -> u64 {
    1 << 48 | (text(name) & 0xffff_ffff) << 16
}
