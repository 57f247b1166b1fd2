//! Dense ids, the vectors that they index, and sets of them.

use fixedbitset::FixedBitSet;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense id.
pub trait Entity: Copy + Eq {
    fn new(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl Entity for $name {
            #[inline]
            fn new(index: usize) -> Self { $name(index as u32) }
            #[inline]
            fn index(self) -> usize { self.0 as usize }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, concat!($prefix, "{}"), self.0) }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, concat!($prefix, "{}"), self.0) }
        }
    };
}

entity!(/// An SSA value: one result of an instruction, or one block parameter.
    Value, "v");
entity!(/// A basic block.
    Block, "b");
entity!(/// An instruction.
    Inst, "i");
entity!(/// A variable of the source, by declaration.
    Variable, "x");
entity!(/// A named piece of memory or a named resource.
    Symbol, "s");
entity!(/// A place in the inlining tree; 0 is the function itself.
    Site, "site");
entity!(/// A construct that was not understood.
    UnknownId, "u");

/// A vector indexed by an entity.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EntityVec<K, V> {
    items: Vec<V>,
    key: PhantomData<K>,
}

impl<K: Entity, V> EntityVec<K, V> {
    #[inline]
    pub fn new() -> Self {
        EntityVec {
            items: Vec::new(),
            key: PhantomData,
        }
    }
    #[inline]
    pub fn with_len(value: V, len: usize) -> Self
    where
        V: Clone,
    {
        EntityVec {
            items: vec![value; len],
            key: PhantomData,
        }
    }
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        self.items.reserve_exact(more);
    }
    #[inline]
    pub fn push(&mut self, value: V) -> K {
        let key = K::new(self.items.len());
        self.items.push(value);
        key
    }
    #[inline]
    pub fn get(&self, key: K) -> Option<&V> {
        self.items.get(key.index())
    }
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    #[inline]
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + use<K, V> {
        (0..self.items.len()).map(K::new)
    }
    #[inline]
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.items.iter()
    }
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> {
        self.items.iter().enumerate().map(|(i, v)| (K::new(i), v))
    }
    #[inline]
    pub fn as_slice(&self) -> &[V] {
        &self.items
    }
}

impl<K: Entity, V> Default for EntityVec<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Entity, V> Index<K> for EntityVec<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, key: K) -> &V {
        &self.items[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for EntityVec<K, V> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.items[key.index()]
    }
}

impl<K: Entity + fmt::Debug, V: fmt::Debug> fmt::Debug for EntityVec<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// A set of entities: a bit each, up to the highest that was ever inserted.
#[derive(Clone)]
pub struct EntitySet<K> {
    bits: FixedBitSet,
    key: PhantomData<K>,
}

impl<K: Entity> EntitySet<K> {
    #[inline]
    pub fn new() -> Self {
        Self::with_len(0)
    }
    /// An empty set with room for the first entities.
    #[inline]
    pub fn with_len(len: usize) -> Self {
        EntitySet {
            bits: FixedBitSet::with_capacity(len),
            key: PhantomData,
        }
    }
    /// Makes room for the first entities.
    pub fn reserve(&mut self, len: usize) {
        self.bits.grow(len);
    }
    #[inline]
    pub fn contains(&self, key: &K) -> bool {
        self.bits.contains(key.index())
    }
    /// Returns true for an entity that was not in the set.
    #[inline]
    pub fn insert(&mut self, key: K) -> bool {
        self.bits.grow(key.index() + 1);
        !self.bits.put(key.index())
    }
    /// Returns true for an entity that was in the set.
    #[inline]
    pub fn remove(&mut self, key: &K) -> bool {
        let was = self.contains(key);
        if was {
            self.bits.remove(key.index());
        }
        was
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bits.is_clear()
    }
    #[inline]
    pub fn union_with(&mut self, other: &Self) {
        self.bits.union_with(&other.bits);
    }
    #[inline]
    pub fn intersect_with(&mut self, other: &Self) {
        self.bits.intersect_with(&other.bits);
    }
    /// Ascending.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        self.bits.ones().map(K::new)
    }
    /// The members of both sets, ascending.
    #[inline]
    pub fn common<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = K> + 's {
        self.bits.intersection(&other.bits).map(K::new)
    }
    #[inline]
    pub fn as_bits(&self) -> &FixedBitSet {
        &self.bits
    }
}

impl<K: Entity> Default for EntitySet<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// Sets are equal that have the same members.
impl<K> PartialEq for EntitySet<K> {
    fn eq(&self, other: &Self) -> bool {
        match self.bits.len() == other.bits.len() {
            true => self.bits == other.bits,
            false => self.bits.is_subset(&other.bits) && other.bits.is_subset(&self.bits),
        }
    }
}

impl<K> Eq for EntitySet<K> {}

impl<K: Entity> Extend<K> for EntitySet<K> {
    fn extend<T: IntoIterator<Item = K>>(&mut self, keys: T) {
        keys.into_iter().for_each(|key| {
            self.insert(key);
        });
    }
}

impl<K: Entity> FromIterator<K> for EntitySet<K> {
    fn from_iter<T: IntoIterator<Item = K>>(keys: T) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

impl<K: Entity + fmt::Debug> fmt::Debug for EntitySet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_their_members_whatever_their_length() {
        let mut long: EntitySet<Value> = EntitySet::with_len(900);
        let mut short = EntitySet::new();
        assert!(long.insert(Value(3)) && short.insert(Value(3)) && !short.insert(Value(3)));
        assert_eq!(long, short);
        long.insert(Value(800));
        assert_ne!(long, short);
        assert_ne!(short, long);
        assert!(!short.contains(&Value(800)) && !short.remove(&Value(800)));
        assert_eq!(long.common(&short).collect::<Vec<_>>(), [Value(3)]);
        short.union_with(&long);
        assert_eq!(short.iter().collect::<Vec<_>>(), [Value(3), Value(800)]);
        assert!(short.remove(&Value(800)) && short.remove(&Value(3)) && short.is_empty());
    }
}
