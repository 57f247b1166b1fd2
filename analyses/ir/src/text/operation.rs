//! Words to operations.

use super::lex::Kind;
use super::names::{self, Named};
use super::parse::{Parsed, Parser, read_integer};
use crate::builder;
use crate::entity::{Symbol, UnknownId};
use crate::inst::*;
use crate::types::{Space, Type};
use smallvec::SmallVec;

impl Parser<'_, '_> {
    /// The operation and its properties besides operands; `None` where the words name none.
    pub(super) fn operation(&mut self, words: &[&str], ty: Option<Type>) -> Parsed<Option<Op>> {
        let Some((&first, rest)) = words.split_first() else {
            return Ok(None);
        };
        let op = match (first, rest) {
            ("const", []) => Some(Op::Const(self.literal(ty)?)),
            ("undef", []) => Some(Op::Undef),
            ("unknown", []) => Some(Op::Unknown(UnknownId(self.id("u")?))),
            ("symbol", []) => Some(Op::SymbolAddress(Symbol(self.id("s")?))),
            ("special", []) => {
                let at = self.at;
                let word = self.word()?;
                match names::special_of(word) {
                    Some(special) => Some(Op::Special(special)),
                    None => return self.fail_at(at, format!("`{word}` is no builtin value")),
                }
            }
            ("input", []) => Some(Op::StageInput(self.count()?)),
            ("parameter", []) => Some(Op::Parameter(self.text()?.into())),
            ("icmp", [condition]) => IntCondition::from_name(condition).map(Op::IntCompare),
            ("fcmp", [condition]) => FloatCondition::from_name(condition).map(Op::FloatCompare),
            ("select", []) => Some(Op::Select),
            ("fma", []) => Some(Op::Fma),
            ("ptr_add", []) => Some(Op::PtrAdd),
            ("alloca", []) => Some(Op::Alloca {
                size: self.count()?,
                align: self.count()?,
            }),
            ("load", access) => memory_access(access).map(Op::Load),
            ("store", access) => memory_access(access).map(Op::Store),
            ("atomic", [op, access @ ..]) => AtomicOp::from_name(op)
                .and_then(|op| memory_access(access).map(|access| Op::Atomic(op, access))),
            ("resource_element", rest) => modifiers(rest, ["nonuniform"])
                .map(|[non_uniform_marked]| Op::ResourceElement { non_uniform_marked }),
            ("texture", [op, rest @ ..]) => {
                let op = names::texture_of(op);
                let mut geometry = Geometry::Unknown;
                let mut component = 0;
                let mut plain: SmallVec<[&str; 4]> = SmallVec::new();
                for &word in rest {
                    let wanted = ["red", "green", "blue", "alpha"];
                    if let Some(named) = Geometry::from_name(word) {
                        geometry = named;
                    } else if let Some(number) = wanted.iter().position(|&w| w == word) {
                        component = number as u8;
                    } else {
                        plain.push(word);
                    }
                }
                match op.zip(modifiers(&plain, ["sampler", "offset", "read_only"])) {
                    Some((op, [has_sampler, has_offset, read_only])) => {
                        Some(Op::Texture(TextureAccess {
                            op,
                            coordinates: self.count()?,
                            has_sampler,
                            has_offset,
                            read_only,
                            geometry,
                            component,
                        }))
                    }
                    None => None,
                }
            }
            ("warp", rest) => names::warp_of(rest).and_then(|(kind, rest)| {
                modifiers(rest, ["mask"]).map(|[mask]| Op::Warp(WarpOp { kind, mask }))
            }),
            ("barrier", [name]) => names::barrier_of(name).map(Op::Barrier),
            ("derivative", [name]) => Derivative::from_name(name).map(Op::Derivative),
            ("fence", []) => Some(Op::Fence),
            ("call", []) => Some(Op::Call(self.count()?)),
            ("call_unknown", rest) => {
                let half = |word: &&str| word.strip_prefix("half").map(str::parse::<u16>);
                let references =
                    |word: &&str| word.strip_prefix("references").map(str::parse::<u16>);
                let plain: Vec<&str> = rest
                    .iter()
                    .copied()
                    .filter(|word| half(word).is_none() && references(word).is_none())
                    .collect();
                let halves: Result<_, _> = rest.iter().filter_map(half).collect();
                let by_reference = rest.iter().find_map(references).unwrap_or(Ok(0));
                match (
                    modifiers(&plain, ["pure", "into", "structures"]),
                    halves,
                    by_reference,
                ) {
                    (Some([pure, into, structures]), Ok(halves), Ok(by_reference)) => {
                        Some(Op::CallUnknown {
                            name: self.text()?.into(),
                            pure,
                            convention: Convention {
                                into,
                                structures,
                                halves,
                                by_reference,
                            },
                        })
                    }
                    _ => None,
                }
            }
            ("asm", rest) => match modifiers(rest, ["pure"]) {
                Some([pure]) => Some(Op::Asm {
                    template: self.text()?.into(),
                    pure,
                }),
                None => None,
            },
            (name, rest) => arithmetic(name, rest),
        };
        Ok(op)
    }

    fn literal(&mut self, ty: Option<Type>) -> Parsed<u64> {
        let bits = match (&self.peek().kind, ty) {
            (Kind::Word("true"), Some(Type::Bool)) => Some(1),
            (Kind::Word("false"), Some(Type::Bool)) => Some(0),
            (Kind::Number(number), _) if number.starts_with("0x") => {
                u64::from_str_radix(&number[2..], 16).ok()
            }
            (Kind::Number(number), Some(ty)) if ty.is_float() => read_float(number, ty),
            (Kind::Number(number), _) => read_integer(number).map(|value| value as u64),
            _ => None,
        };
        match bits {
            Some(bits) => {
                self.bump();
                Ok(bits)
            }
            None => self.fail("a literal of the result's type"),
        }
    }
}

fn arithmetic(name: &str, rest: &[&str]) -> Option<Op> {
    if let Some(op) = BinaryOp::from_name(name) {
        let [no_signed, no_unsigned, separate] = modifiers(rest, ["nsw", "nuw", "separate"])?;
        let wrap = Wrap {
            no_signed,
            no_unsigned,
            separate,
        };
        return Some(Op::Binary(op, wrap));
    }
    if !rest.is_empty() {
        return None;
    }
    UnaryOp::from_name(name)
        .map(Op::Unary)
        .or_else(|| TernaryOp::from_name(name).map(Op::Ternary))
        .or_else(|| Convert::from_name(name).map(Op::Convert))
}

fn memory_access(words: &[&str]) -> Option<MemoryAccess> {
    let (space, rest) = words.split_first()?;
    let space = Space::from_name(space)?;
    let known = [
        "volatile",
        "read_only",
        "checked",
        "untyped",
        "ahead",
        "check",
    ];
    let [volatile, read_only, checked, untyped, ahead, check] = modifiers(rest, known)?;
    Some(MemoryAccess {
        space,
        volatile,
        read_only,
        checked,
        untyped,
        speculation: match (ahead, check) {
            (false, false) => None,
            (true, false) => Some(Speculation::Ahead),
            (false, true) => Some(Speculation::Check),
            (true, true) => return None,
        },
    })
}

/// Returns which of the allowed words are present; `None` if there is another word.
fn modifiers<const N: usize>(words: &[&str], allowed: [&str; N]) -> Option<[bool; N]> {
    let known = words.iter().all(|word| allowed.contains(word));
    known.then(|| allowed.map(|word| words.contains(&word)))
}

fn read_float(number: &str, ty: Type) -> Option<u64> {
    Some(match ty {
        Type::F32 => number.parse::<f32>().ok()?.to_bits().into(),
        Type::F64 => number.parse::<f64>().ok()?.to_bits(),
        Type::F16 => builder::f32_to_f16(number.parse().ok()?).into(),
        _ => builder::f32_to_bf16(number.parse().ok()?).into(),
    })
}
