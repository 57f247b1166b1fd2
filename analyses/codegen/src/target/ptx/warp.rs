//! Builtin values, barriers, operations across lanes.

use super::emit::{Emitter, refuse};
use super::registers::{Class, Register};
use crate::refusal::Refusal;
use ir::*;

impl Emitter<'_> {
    pub(super) fn special(&mut self, result: Value, special: Special) -> Result<(), Refusal> {
        const AXES: [char; 3] = ['x', 'y', 'z'];
        let axis = |name: &str, axis: u8| format!("{name}.{}", AXES[usize::from(axis.min(2))]);
        let name = match special {
            Special::ThreadId(a) => axis("%tid", a),
            Special::BlockDim(a) => axis("%ntid", a),
            Special::BlockId(a) => axis("%ctaid", a),
            Special::GridDim(a) => axis("%nctaid", a),
            Special::LaneId => "%laneid".into(),
            Special::WarpId => "%warpid".into(),
            Special::WarpSize => "WARP_SZ".into(),
            Special::WarpCount => "%nwarpid".into(),
            Special::LaneMaskEq => "%lanemask_eq".into(),
            Special::LaneMaskLt => "%lanemask_lt".into(),
            Special::LaneMaskLe => "%lanemask_le".into(),
            Special::LaneMaskGt => "%lanemask_gt".into(),
            Special::LaneMaskGe => "%lanemask_ge".into(),
            Special::SmId => "%smid".into(),
            Special::Clock if self.ty(result) == Type::I64 => {
                let to = self.register(result);
                self.plain(format_args!("mov.u64 {to}, %clock64"));
                return Ok(());
            }
            Special::Clock => "%clock".into(),
            Special::OtherWorkgroup(_) | Special::OtherDispatch(_) | Special::MicroSimdTid => {
                return Err(refuse(&format!("{special:?}"), "any type"));
            }
        };
        let word = self.fresh(Class::Word);
        self.plain(format_args!("mov.u32 {word}, {name}"));
        self.widen(result, word, false);
        Ok(())
    }

    pub(super) fn barrier(&mut self, data: &InstData, barrier: Barrier) -> Result<(), Refusal> {
        match barrier {
            Barrier::Workgroup => self.line("bar.sync 0"),
            Barrier::WorkgroupAnd | Barrier::WorkgroupOr | Barrier::WorkgroupCount => {
                let p = self.register(data.args[0]);
                if barrier == Barrier::WorkgroupCount {
                    let word = self.fresh(Class::Word);
                    self.line(format_args!("bar.red.popc.u32 {word}, 0, {p}"));
                    if let Some(&result) = data.results.first() {
                        if self.ty(result) == Type::Bool {
                            return Err(refuse("WorkgroupCount", "bool"));
                        }
                        self.widen(result, word, false);
                    }
                    return Ok(());
                }
                let name = if barrier == Barrier::WorkgroupAnd {
                    "and"
                } else {
                    "or"
                };
                let all = self.fresh(Class::Predicate);
                self.line(format_args!("bar.red.{name}.pred {all}, 0, {p}"));
                if let Some(&result) = data.results.first() {
                    self.write_predicate(result, all);
                }
            }
            Barrier::Named { arrive } => {
                let operands: Vec<String> = data
                    .args
                    .iter()
                    .map(|&v| self.register(v).to_string())
                    .collect();
                let name = if arrive { "arrive" } else { "sync" };
                self.line(format_args!("bar.{name} {}", operands.join(", ")));
            }
            Barrier::Warp => {
                let mask = match data.args.first() {
                    Some(&mask) => self.register(mask),
                    None => self.active_mask(),
                };
                self.line(format_args!("bar.warp.sync {mask}"));
            }
            Barrier::Grid | Barrier::MicroSimd => {
                return Err(refuse(&format!("{barrier:?} barrier"), "any type"));
            }
        }
        Ok(())
    }

    fn write_predicate(&mut self, result: Value, p: Register) {
        if self.ty(result) == Type::Bool {
            let to = self.register(result);
            self.plain(format_args!("mov.pred {to}, {p}"));
            return;
        }
        let word = self.fresh(Class::Word);
        self.plain(format_args!("selp.b32 {word}, 1, 0, {p}"));
        self.widen(result, word, false);
    }

    fn active_mask(&mut self) -> Register {
        let mask = self.fresh(Class::Word);
        self.line(format_args!("activemask.b32 {mask}"));
        mask
    }

    /// The mask operand, or the active lanes.
    fn mask(&mut self, data: &InstData, op: &WarpOp) -> Result<Register, Refusal> {
        match data.args.last() {
            Some(&mask) if op.mask => {
                if self.ty(mask) != Type::I32 {
                    return Err(refuse("a mask of lanes", &self.ty(mask).to_string()));
                }
                Ok(self.register(mask))
            }
            _ => Ok(self.active_mask()),
        }
    }

    pub(super) fn warp(&mut self, data: &InstData, op: &WarpOp) -> Result<(), Refusal> {
        let no_form = || refuse(&format!("{:?}", op.kind), "any type");
        match op.kind {
            WarpKind::ActiveMask => {
                let mask = self.active_mask();
                self.masks(data, mask)
            }
            WarpKind::VoteAll | WarpKind::VoteAny | WarpKind::VoteUniform => {
                let mask = self.mask(data, op)?;
                let name = match op.kind {
                    WarpKind::VoteAll => "all",
                    WarpKind::VoteAny => "any",
                    _ => "uni",
                };
                let p = self.register(data.args[0]);
                let to = self.register(data.results[0]);
                self.line(format_args!("vote.sync.{name}.pred {to}, {p}, {mask}"));
                Ok(())
            }
            WarpKind::Ballot | WarpKind::CountBits => {
                let mask = self.mask(data, op)?;
                let p = self.register(data.args[0]);
                let word = self.fresh(Class::Word);
                self.line(format_args!("vote.sync.ballot.b32 {word}, {p}, {mask}"));
                if op.kind == WarpKind::CountBits {
                    self.plain(format_args!("popc.b32 {word}, {word}"));
                    self.widen(data.results[0], word, false);
                    return Ok(());
                }
                self.masks(data, word)
            }
            WarpKind::MatchAny | WarpKind::MatchAll | WarpKind::AllEqual => {
                let mask = self.mask(data, op)?;
                let value = self.register(data.args[0]);
                let ty = match value.class {
                    Class::Word | Class::Float => "b32",
                    Class::Double | Class::DoubleFloat => "b64",
                    _ => return Err(no_form()),
                };
                let word = self.fresh(Class::Word);
                if op.kind == WarpKind::MatchAny {
                    self.line(format_args!("match.any.sync.{ty} {word}, {value}, {mask}"));
                    return self.masks(data, word);
                }
                let all = self.fresh(Class::Predicate);
                self.line(format_args!(
                    "match.all.sync.{ty} {word}|{all}, {value}, {mask}"
                ));
                if op.kind == WarpKind::AllEqual {
                    self.write_predicate(data.results[0], all);
                    return Ok(());
                }
                if self.ty(data.results[0]) != Type::I32 {
                    return Err(refuse("a mask of lanes", "more than 32 bits"));
                }
                self.widen(data.results[0], word, false);
                if let Some(&result) = data.results.get(1) {
                    self.write_predicate(result, all);
                }
                Ok(())
            }
            WarpKind::IsFirstLane => {
                let mask = self.mask(data, op)?;
                let (below, active) = (self.fresh(Class::Word), self.fresh(Class::Word));
                let to = self.register(data.results[0]);
                self.plain(format_args!("mov.u32 {below}, %lanemask_lt"));
                self.plain(format_args!("and.b32 {active}, {below}, {mask}"));
                self.plain(format_args!("setp.eq.s32 {to}, {active}, 0"));
                Ok(())
            }
            WarpKind::ReadFirstLane => {
                let mask = self.mask(data, op)?;
                let (reversed, lane) = (self.fresh(Class::Word), self.fresh(Class::Word));
                self.plain(format_args!("brev.b32 {reversed}, {mask}"));
                self.plain(format_args!("clz.b32 {lane}, {reversed}"));
                self.shuffle(data, "idx", &lane.to_string(), "31", mask)
            }
            WarpKind::ShufflePtx(mode) => {
                let mask = self.mask(data, op)?;
                let mode = match mode {
                    ShuffleMode::Index => "idx",
                    ShuffleMode::Up => "up",
                    ShuffleMode::Down => "down",
                    ShuffleMode::Butterfly => "bfly",
                };
                let (lane, c) = (self.word(data.args[1])?, self.word(data.args[2])?);
                self.shuffle(data, mode, &lane.to_string(), &c.to_string(), mask)
            }
            WarpKind::ShuffleIndex
            | WarpKind::ShuffleUp
            | WarpKind::ShuffleDown
            | WarpKind::ShuffleXor => {
                let mask = self.mask(data, op)?;
                let (mode, clamp) = match op.kind {
                    WarpKind::ShuffleIndex => ("idx", 31),
                    WarpKind::ShuffleUp => ("up", 0),
                    WarpKind::ShuffleDown => ("down", 31),
                    _ => ("bfly", 31),
                };
                // The segment mask of a width: (32 - width) << 8, beside the clamp.
                let (lane, width) = (self.word(data.args[1])?, self.word(data.args[2])?);
                let c = self.fresh(Class::Word);
                self.plain(format_args!("sub.s32 {c}, 32, {width}"));
                self.plain(format_args!("shl.b32 {c}, {c}, 8"));
                self.plain(format_args!("or.b32 {c}, {c}, {clamp}"));
                self.shuffle(data, mode, &lane.to_string(), &c.to_string(), mask)
            }
            _ => Err(no_form()),
        }
    }

    fn word(&mut self, value: Value) -> Result<Register, Refusal> {
        let register = self.register(value);
        if register.class == Class::Word {
            Ok(register)
        } else {
            Err(refuse("a lane number", &self.ty(value).to_string()))
        }
    }

    fn masks(&mut self, data: &InstData, word: Register) -> Result<(), Refusal> {
        if data.results.len() != 1 || self.ty(data.results[0]) != Type::I32 {
            return Err(refuse("a mask of lanes", "more than 32 bits"));
        }
        self.widen(data.results[0], word, false);
        Ok(())
    }

    /// One shuffle for each 32 bits of the value.
    fn shuffle(
        &mut self,
        data: &InstData,
        mode: &str,
        lane: &str,
        c: &str,
        mask: Register,
    ) -> Result<(), Refusal> {
        let from = self.register(data.args[0]);
        let to = self.register(data.results[0]);
        let range = match data.results.get(1) {
            Some(&value) => format!("|{}", self.register(value)),
            None => String::new(),
        };
        match to.class {
            Class::Word | Class::Float => {
                self.line(format_args!(
                    "shfl.sync.{mode}.b32 {to}{range}, {from}, {lane}, {c}, {mask}"
                ));
            }
            Class::Double | Class::DoubleFloat => {
                let halves = [(); 4].map(|()| self.fresh(Class::Word));
                let [low, high, new_low, new_high] = halves;
                self.plain(format_args!("mov.b64 {{{low}, {high}}}, {from}"));
                self.line(format_args!(
                    "shfl.sync.{mode}.b32 {new_low}{range}, {low}, {lane}, {c}, {mask}"
                ));
                self.line(format_args!(
                    "shfl.sync.{mode}.b32 {new_high}, {high}, {lane}, {c}, {mask}"
                ));
                self.plain(format_args!("mov.b64 {to}, {{{new_low}, {new_high}}}"));
            }
            Class::Half => {
                let (word, new) = (self.fresh(Class::Word), self.fresh(Class::Word));
                self.plain(format_args!("cvt.u32.u16 {word}, {from}"));
                self.line(format_args!(
                    "shfl.sync.{mode}.b32 {new}{range}, {word}, {lane}, {c}, {mask}"
                ));
                self.plain(format_args!("cvt.u16.u32 {to}, {new}"));
            }
            Class::Predicate => return Err(refuse("a shuffle", "bool")),
        }
        Ok(())
    }
}
