//! Memory of an execution: bytes by address, in several memories, between which no access crosses.
//!
//! Accesses that the source promises to be apart are given different memories; others share one where they can.

use super::value::{Style, mix};
use crate::target::ia64::code::{Function, Object, Reference};
use ir::Type;
use rustc_hash::FxHashMap;
use std::rc::Rc;

type Kind = (Object, Option<Type>);

/// The memory of each kind of access.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Spaces {
    given: FxHashMap<Kind, u8>,
}

fn is_apart(left: &Kind, right: &Kind) -> bool {
    let typed = match (&left.1, &right.1) {
        (Some(left), Some(right)) => left != right,
        _ => false,
    };
    typed || left.0.is_apart(&right.0)
}

fn kind(memory: Option<&Reference>) -> Kind {
    memory.map_or((Object::Unknown, None), |memory| {
        (memory.object.clone(), memory.accessed_as)
    })
}

impl Spaces {
    /// Memories for all accesses of the functions; the seed says which of those that can't be all in one are.
    pub(crate) fn new(functions: &[&Function], seed: u64) -> Spaces {
        let mut kinds: Vec<Kind> = vec![kind(None)];
        for function in functions {
            let operations = function.blocks.iter().flat_map(|it| &it.operations);
            for memory in operations.filter_map(|it| it.memory.as_ref()) {
                let own = kind(Some(memory));
                if !kinds.contains(&own) {
                    kinds.push(own);
                }
            }
        }
        kinds.sort_by_cached_key(|own| mix(seed, super::value::mix_text(&format!("{own:?}"))));
        let mut spaces: Vec<Vec<Kind>> = Vec::new();
        let mut given = FxHashMap::default();
        for own in kinds {
            let fits = |space: &Vec<Kind>| !space.iter().any(|other| is_apart(&own, other));
            let at = spaces.iter().position(fits).unwrap_or(spaces.len());
            if at == spaces.len() {
                spaces.push(Vec::new());
            }
            spaces[at].push(own.clone());
            given.insert(own, at as u8);
        }
        Spaces { given }
    }

    pub(super) fn of(&self, memory: Option<&Reference>) -> u8 {
        self.given.get(&kind(memory)).copied().unwrap_or(0)
    }
}

/// Eight bytes, and which of them were written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Word {
    bytes: [u8; 8],
    written: u8,
}

/// A volatile access: a store, its memory, address, bytes and number.
pub(crate) type Event = (bool, u8, u64, u32, u64);

/// All memories.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    seed: u64,
    style: Style,
    spaces: Rc<Spaces>,
    /// Keyed by memory and address of eight bytes: those that were written.
    pub(crate) words: FxHashMap<(u8, u64), Word>,
    /// Words that were accessed, by accesses that may fault.
    pub(crate) touched: FxHashMap<(u8, u64), ()>,
    pub(crate) events: Vec<Event>,
    /// All accesses, where they are wanted.
    pub(crate) log: Option<Vec<Accessed>>,
}

/// An access: a store, its memory, address and bytes.
pub(crate) type Accessed = (bool, u8, u64, u32);

impl Image {
    pub(super) fn new(seed: u64, style: Style, spaces: Rc<Spaces>) -> Image {
        Image {
            seed,
            style,
            spaces,
            words: FxHashMap::default(),
            touched: FxHashMap::default(),
            events: Vec::new(),
            log: None,
        }
    }

    pub(super) fn space(&self, memory: Option<&Reference>) -> u8 {
        self.spaces.of(memory)
    }

    fn initial(&self, space: u8, word: u64) -> [u8; 8] {
        let random = mix(mix(self.seed, u64::from(space) + 5), word);
        match self.style {
            Style::Wide => random.to_le_bytes(),
            // Small numbers, whatever their size is; negative ones come from registers.
            style => {
                let number = match style {
                    Style::Signed(count) => random % count,
                    style => style.number(random),
                };
                let mut out = number.to_le_bytes();
                if random >> 40 & 1 != 0 {
                    out[4] = (random >> 41 & 7) as u8;
                }
                out
            }
        }
    }

    pub(super) fn load(&self, space: u8, address: u64, bytes: u32) -> u64 {
        let mut out = 0;
        for at in 0..u64::from(bytes.min(8)) {
            let address = address.wrapping_add(at);
            let (word, place) = (address >> 3, (address & 7) as usize);
            let byte = match self.words.get(&(space, word)) {
                Some(known) if known.written >> place & 1 != 0 => known.bytes[place],
                _ => self.initial(space, word)[place],
            };
            out |= u64::from(byte) << (8 * at);
        }
        out
    }

    pub(super) fn store(&mut self, space: u8, address: u64, bytes: u32, bits: u64) {
        for at in 0..u64::from(bytes.min(8)) {
            let address = address.wrapping_add(at);
            let (word, place) = (address >> 3, (address & 7) as usize);
            let known = self.words.entry((space, word)).or_default();
            known.bytes[place] = (bits >> (8 * at)) as u8;
            known.written |= 1 << place;
        }
    }

    pub(super) fn touch(&mut self, stores: bool, space: u8, address: u64, bytes: u32) {
        if let Some(log) = &mut self.log {
            log.push((stores, space, address, bytes));
        }
        let last = address.wrapping_add(u64::from(bytes.max(1)) - 1);
        for word in [address >> 3, last >> 3] {
            self.touched.insert((space, word), ());
        }
    }
}
