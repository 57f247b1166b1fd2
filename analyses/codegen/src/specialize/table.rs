//! Sets and maps of a function's entities as tables: as long as the function has entities, and asked without hashing.
//! Entities that came later are in none of them.

use ir::{Block, Inst, Value};
use std::marker::PhantomData;

/// What a table is numbered by.
pub trait Key: Copy {
    fn number(self) -> usize;
    fn of(number: usize) -> Self;
}

impl Key for Value {
    fn number(self) -> usize {
        self.0 as usize
    }
    fn of(number: usize) -> Self {
        Value(number as u32)
    }
}

impl Key for Inst {
    fn number(self) -> usize {
        self.0 as usize
    }
    fn of(number: usize) -> Self {
        Inst(number as u32)
    }
}

impl Key for Block {
    fn number(self) -> usize {
        self.0 as usize
    }
    fn of(number: usize) -> Self {
        Block(number as u32)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Map<K, V> {
    items: Vec<Option<V>>,
    key: PhantomData<K>,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Map {
            items: Vec::new(),
            key: PhantomData,
        }
    }
}

impl<K: Key, V: Copy> Map<K, V> {
    #[must_use]
    pub fn with_len(len: usize) -> Self {
        Map {
            items: vec![None; len],
            key: PhantomData,
        }
    }
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.items.get(key.number())?.as_ref()
    }
    /// What was there before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if key.number() >= self.items.len() {
            self.items.resize(key.number() + 1, None);
        }
        self.items[key.number()].replace(value)
    }
    /// Ascending.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        let known =
            |(number, value): (usize, &'_ Option<V>)| value.is_some().then(|| K::of(number));
        let keys = self.items.iter().enumerate().filter_map(known);
        keys.zip(self.items.iter().flatten())
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set<K> {
    items: Vec<bool>,
    key: PhantomData<K>,
}

impl<K> Default for Set<K> {
    fn default() -> Self {
        Set {
            items: Vec::new(),
            key: PhantomData,
        }
    }
}

impl<K: Key> Set<K> {
    #[must_use]
    pub fn with_len(len: usize) -> Self {
        Set {
            items: vec![false; len],
            key: PhantomData,
        }
    }
    #[must_use]
    pub fn contains(&self, key: &K) -> bool {
        self.items.get(key.number()).copied().unwrap_or(false)
    }
    /// Whether it was not in the set.
    pub fn insert(&mut self, key: K) -> bool {
        if key.number() >= self.items.len() {
            self.items.resize(key.number() + 1, false);
        }
        !std::mem::replace(&mut self.items[key.number()], true)
    }
    /// Ascending.
    pub fn iter(&self) -> impl Iterator<Item = K> {
        let members = self.items.iter().enumerate().filter(|(_, there)| **there);
        members.map(|(number, _)| K::of(number))
    }
}

impl<K: Key> Extend<K> for Set<K> {
    fn extend<T: IntoIterator<Item = K>>(&mut self, keys: T) {
        for key in keys {
            self.insert(key);
        }
    }
}

impl<K: Key> FromIterator<K> for Set<K> {
    fn from_iter<T: IntoIterator<Item = K>>(keys: T) -> Self {
        let mut set = Set::default();
        set.extend(keys);
        set
    }
}
