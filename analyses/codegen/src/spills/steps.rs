//! The steps of a block, with what each reads and writes as far as that is known already.
//!
//! Passes ask for it again and again, and change few steps: it is computed once for each step, and forgotten where the step is
//! replaced.

use super::code::{Step, Touched};
use crate::mir::Target;
use std::cell::OnceCell;
use std::ops::Deref;

#[derive(Clone, Debug)]
pub(crate) struct Steps<T: Target> {
    all: Vec<Step<T>>,
    /// The effects of each step, as soon as they are asked for.
    known: Vec<OnceCell<Touched>>,
    /// The same with what steps in front of each pass on.
    passing: Vec<OnceCell<Touched>>,
}

impl<T: Target> Steps<T> {
    /// The reads and writes of a step by itself.
    pub(super) fn known(&self, at: usize, compute: impl FnOnce() -> Touched) -> &Touched {
        self.known[at].get_or_init(compute)
    }

    /// The same, with what steps in front of it pass on.
    pub(super) fn passing(&self, at: usize, compute: impl FnOnce() -> Touched) -> &Touched {
        self.passing[at].get_or_init(compute)
    }

    pub(crate) fn set(&mut self, at: usize, step: Step<T>) {
        *self.edit(at) = step;
    }

    /// A step that is to be changed.
    pub(crate) fn edit(&mut self, at: usize) -> &mut Step<T> {
        self.known[at].take();
        self.forget_from(at);
        &mut self.all[at]
    }

    pub(super) fn insert(&mut self, at: usize, step: Step<T>) {
        self.all.insert(at, step);
        self.known.insert(at, OnceCell::new());
        self.passing.push(OnceCell::new());
        self.forget_from(at);
    }

    /// Forgets what is passed on to a step and to those behind it.
    fn forget_from(&mut self, at: usize) {
        for known in &mut self.passing[at..] {
            known.take();
        }
    }

    /// Keeps the steps for whose numbers this is true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let mut next = 0;
        let kept: Vec<bool> = (0..self.all.len()).map(&mut keep).collect();
        let Some(first) = kept.iter().position(|kept| !kept) else {
            return;
        };
        self.all.retain(|_| {
            next += 1;
            kept[next - 1]
        });
        let mut kept = kept.into_iter();
        self.known.retain(|_| kept.next().unwrap_or(true));
        self.passing.truncate(self.all.len());
        self.forget_from(first);
    }
}

impl<T: Target> Deref for Steps<T> {
    type Target = [Step<T>];
    fn deref(&self) -> &[Step<T>] {
        &self.all
    }
}

impl<T: Target> Default for Steps<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Target> From<Vec<Step<T>>> for Steps<T> {
    fn from(all: Vec<Step<T>>) -> Self {
        let known = vec![OnceCell::new(); all.len()];
        Steps {
            passing: known.clone(),
            all,
            known,
        }
    }
}

impl<'s, T: Target> IntoIterator for &'s Steps<T> {
    type Item = &'s Step<T>;
    type IntoIter = std::slice::Iter<'s, Step<T>>;
    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}
