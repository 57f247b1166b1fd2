//! The answers for aliases (`using A<T> = ...`), kept for one lowering: traits name each other by long chains
//! of them.
//!
//! An alias means the same wherever it is named, for it sees its own scope and its arguments alone. It is not kept when
//! an argument is a value of the function, nor when the answer may owe to a limit or to a substitution that failed.

use super::context::{Const, Context, Local, Number};
use super::types::{CType, StructId};
use syntax::ItemKey;

/// An alias with its arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AliasKey {
    place: AliasPlace,
    arguments: Option<Vec<ArgumentKey>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum AliasPlace {
    Item(ItemKey),
    /// The number of the member.
    Class(StructId, usize),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum ArgumentKey {
    Type(CType),
    Int(CType, i64),
    /// The bits of the number.
    Float(CType, u64),
    Pack(Vec<ArgumentKey>),
}

/// The parts of the state that an alias may change beside its answer, as they were before it.
#[derive(Clone, Copy)]
pub(super) struct BeforeAlias {
    failed: bool,
    assumed: usize,
}

/// Depth of types up to which an answer that is not known owes to the source and not to a limit.
const SHALLOW: u32 = 12;

impl AliasKey {
    pub(super) fn of_item(item: &ItemKey, arguments: Option<&[Local]>) -> Option<AliasKey> {
        Some(AliasKey {
            place: AliasPlace::Item(item.clone()),
            arguments: keys(arguments)?,
        })
    }
    pub(super) fn of_class(
        id: StructId,
        member: usize,
        arguments: Option<&[Local]>,
    ) -> Option<AliasKey> {
        Some(AliasKey {
            place: AliasPlace::Class(id, member),
            arguments: keys(arguments)?,
        })
    }
}

impl Context<'_> {
    pub(super) fn known_alias(&self, key: Option<&AliasKey>) -> Option<CType> {
        self.aliases.get(key?).cloned()
    }

    pub(super) fn before_alias(&mut self) -> BeforeAlias {
        BeforeAlias {
            failed: std::mem::take(&mut self.substitution_failed),
            assumed: self.assumed_types.len(),
        }
    }

    pub(super) fn keep_alias(&mut self, key: Option<AliasKey>, ty: &CType, before: BeforeAlias) {
        let decided = !self.substitution_failed && self.assumed_types.len() == before.assumed;
        self.substitution_failed |= before.failed;
        let known = !matches!(ty.value_type(), CType::Unknown | CType::Opaque(_));
        let limited =
            self.alias_depth > SHALLOW || self.frames.len() > 24 || !self.unbound.is_empty();
        if decided
            && (known || !limited)
            && let Some(key) = key
        {
            self.aliases.insert(key, ty.clone());
        }
    }
}

/// `None` within: no arguments are written.
#[allow(clippy::option_option)]
fn keys(arguments: Option<&[Local]>) -> Option<Option<Vec<ArgumentKey>>> {
    match arguments {
        None => Some(None),
        Some(list) => list.iter().map(key).collect::<Option<Vec<_>>>().map(Some),
    }
}

fn key(local: &Local) -> Option<ArgumentKey> {
    Some(match local {
        Local::Type(ty) => ArgumentKey::Type(ty.clone()),
        Local::Constant(Const { ty, value }) => match value {
            Number::Int(number) => ArgumentKey::Int(ty.clone(), *number),
            Number::Float(number) => ArgumentKey::Float(ty.clone(), number.to_bits()),
        },
        Local::Pack(list) => ArgumentKey::Pack(list.iter().map(key).collect::<Option<_>>()?),
        Local::Variable(_) => return None,
    })
}
