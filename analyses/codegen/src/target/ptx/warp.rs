//! Builtin values, barriers, operations across lanes.

use super::emit::{Emitter, refuse, refuse_type};
use super::registers::{Class, Register};
use crate::refusal::Refusal;
use ir::lower::ptx::registers;
use ir::*;
use smol_str::SmolStr;

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
            Special::WarpSlot => "%warpid".into(),
            Special::WarpSize => "WARP_SZ".into(),
            Special::WarpId | Special::WarpCount => {
                let word = self.fresh(Class::Word);
                self.warp_number(word, special == Special::WarpCount);
                self.widen(result, word, false);
                return Ok(());
            }
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
                match registers::name_of(special) {
                    Some((name, least)) if self.target.sm >= least => name,
                    Some((name, _)) => return Err(refuse_type(&name, self.ty(result))),
                    None => return Err(refuse(&format!("{special:?}"), "any type")),
                }
            }
        };
        let own = match (special, self.ty(result)) {
            (_, Type::I32) => Some("u32"),
            // Registers of 64 bits and predicates are read as they are.
            (Special::OtherWorkgroup(_) | Special::OtherDispatch(_), Type::I64) => Some("u64"),
            (Special::OtherWorkgroup(_) | Special::OtherDispatch(_), Type::Bool) => Some("pred"),
            _ => None,
        };
        if let Some(ty) = own {
            let to = self.register(result);
            self.plain(format_args!("mov.{ty} {to}, {name}"));
            return Ok(());
        }
        let word = self.fresh(Class::Word);
        self.plain(format_args!("mov.u32 {word}, {name}"));
        self.widen(result, word, false);
        Ok(())
    }

    /// The number of the warp in its block, or of the block's warps, from `%tid` and `%ntid`: `%warpid` is the place on
    /// the multiprocessor and may change, `%nwarpid` the machine's most (PTX ISA, special registers).
    fn warp_number(&mut self, to: Register, count: bool) {
        let block = self.function.launch.block;
        let of = if count { "%ntid" } else { "%tid" };
        self.plain(format_args!("mov.u32 {to}, {of}.x"));
        // A row of one thread adds nothing to the index, and nothing to the count.
        if block[1..] != [Some(1), Some(1)] {
            let [a, b] = [(); 2].map(|()| self.fresh(Class::Word));
            if count {
                self.plain(format_args!("mov.u32 {a}, %ntid.y"));
                self.plain(format_args!("mov.u32 {b}, %ntid.z"));
                self.plain(format_args!("mul.lo.s32 {to}, {to}, {a}"));
                self.plain(format_args!("mul.lo.s32 {to}, {to}, {b}"));
            } else {
                let [y, z] = [(); 2].map(|()| self.fresh(Class::Word));
                self.plain(format_args!("mov.u32 {a}, %ntid.y"));
                self.plain(format_args!("mov.u32 {b}, %ntid.x"));
                self.plain(format_args!("mov.u32 {y}, %tid.y"));
                self.plain(format_args!("mov.u32 {z}, %tid.z"));
                self.plain(format_args!("mad.lo.s32 {y}, {z}, {a}, {y}"));
                self.plain(format_args!("mad.lo.s32 {to}, {y}, {b}, {to}"));
            }
        }
        let size = self.fresh(Class::Word);
        self.plain(format_args!("mov.u32 {size}, WARP_SZ"));
        if count {
            self.plain(format_args!("add.s32 {to}, {to}, {size}"));
            self.plain(format_args!("sub.s32 {to}, {to}, 1"));
        }
        self.plain(format_args!("div.u32 {to}, {to}, {size}"));
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

    pub(super) fn active_mask(&mut self) -> Register {
        let mask = self.fresh(Class::Word);
        self.line(format_args!("activemask.b32 {mask}"));
        mask
    }

    /// The mask operand, or the active lanes.
    fn mask(&mut self, data: &InstData, op: &WarpOp) -> Result<SmolStr, Refusal> {
        match data.args.last() {
            Some(&mask) if op.mask => {
                if self.ty(mask) != Type::I32 {
                    return Err(refuse_type("a mask of lanes", self.ty(mask)));
                }
                Ok(self.operand(mask))
            }
            _ => Ok(smol_str::format_smolstr!("{}", self.active_mask())),
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
                self.shuffle(data, mode, &lane, &c, mask)
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
                if let Some(width) = self.function.int_constant(data.args[2]) {
                    let lane = self.word(data.args[1])?;
                    let c = ((32 - width) << 8) as u32 | clamp;
                    return self.shuffle(data, mode, &lane, &c.to_string(), mask);
                }
                let (lane, width) = (self.word(data.args[1])?, self.word(data.args[2])?);
                let c = self.fresh(Class::Word);
                self.plain(format_args!("sub.s32 {c}, 32, {width}"));
                self.plain(format_args!("shl.b32 {c}, {c}, 8"));
                self.plain(format_args!("or.b32 {c}, {c}, {clamp}"));
                self.shuffle(data, mode, &lane, &c.to_string(), mask)
            }
            WarpKind::ReadLaneAt => {
                let mask = self.mask(data, op)?;
                let lane = self.word(data.args[1])?;
                self.shuffle(data, "idx", &lane, "31", mask)
            }
            WarpKind::QuadReadAcrossX
            | WarpKind::QuadReadAcrossY
            | WarpKind::QuadReadAcrossDiagonal => {
                let mask = self.mask(data, op)?;
                let by = match op.kind {
                    WarpKind::QuadReadAcrossX => "1",
                    WarpKind::QuadReadAcrossY => "2",
                    _ => "3",
                };
                self.shuffle(data, "bfly", by, "31", mask)
            }
            WarpKind::QuadReadLaneAt => {
                let mask = self.mask(data, op)?;
                let number = self.word(data.args[1])?;
                let [own, first, lane] = [(); 3].map(|()| self.fresh(Class::Word));
                self.plain(format_args!("mov.u32 {own}, %laneid"));
                self.plain(format_args!("and.b32 {first}, {own}, -4"));
                self.plain(format_args!("or.b32 {lane}, {first}, {number}"));
                self.shuffle(data, "idx", &lane.to_string(), "31", mask)
            }
            WarpKind::PrefixCountBits => {
                let mask = self.mask(data, op)?;
                let p = self.register(data.args[0]);
                let [word, below, lower] = [(); 3].map(|()| self.fresh(Class::Word));
                self.line(format_args!("vote.sync.ballot.b32 {word}, {p}, {mask}"));
                self.plain(format_args!("mov.u32 {below}, %lanemask_lt"));
                self.plain(format_args!("and.b32 {lower}, {word}, {below}"));
                self.plain(format_args!("popc.b32 {word}, {lower}"));
                self.widen(data.results[0], word, false);
                Ok(())
            }
            WarpKind::Reduce(reduce)
                if self.ty(data.args[0]) == Type::I32
                    && self.target.sm >= 80
                    && reduce != ReduceOp::Mul =>
            {
                let name = match reduce {
                    ReduceOp::Add => "add.u32",
                    ReduceOp::MinSigned => "min.s32",
                    ReduceOp::MaxSigned => "max.s32",
                    ReduceOp::MinUnsigned => "min.u32",
                    ReduceOp::MaxUnsigned => "max.u32",
                    ReduceOp::And => "and.b32",
                    ReduceOp::Or => "or.b32",
                    ReduceOp::Xor => "xor.b32",
                    _ => return Err(no_form()),
                };
                let mask = self.mask(data, op)?;
                let value = self.register(data.args[0]);
                let to = self.register(data.results[0]);
                self.line(format_args!("redux.sync.{name} {to}, {value}, {mask}"));
                Ok(())
            }
            WarpKind::Reduce(reduce) => self.lane_by_lane(data, op, reduce, true, false),
            WarpKind::PrefixExclusive(reduce) => self.lane_by_lane(data, op, reduce, false, false),
            WarpKind::PrefixInclusive(reduce) => self.lane_by_lane(data, op, reduce, false, true),
            _ => Err(no_form()),
        }
    }

    /// A reduction over whichever lanes take part, in their order: a loop over the bits of the mask.
    fn lane_by_lane(
        &mut self,
        data: &InstData,
        op: &WarpOp,
        reduce: ReduceOp,
        all: bool,
        inclusive: bool,
    ) -> Result<(), Refusal> {
        let ty = self.ty(data.args[0]);
        let no_form = || refuse_type(&format!("{:?}", op.kind), ty);
        let (name, neutral) = match (reduce, ty) {
            (ReduceOp::Add, Type::I32) => ("add.s32", "0"),
            (ReduceOp::Mul, Type::I32) => ("mul.lo.s32", "1"),
            (ReduceOp::MinSigned, Type::I32) => ("min.s32", "0x7fffffff"),
            (ReduceOp::MaxSigned, Type::I32) => ("max.s32", "0x80000000"),
            (ReduceOp::MinUnsigned, Type::I32) => ("min.u32", "0xffffffff"),
            (ReduceOp::MaxUnsigned, Type::I32) => ("max.u32", "0"),
            (ReduceOp::And, Type::I32) => ("and.b32", "0xffffffff"),
            (ReduceOp::Or, Type::I32) => ("or.b32", "0"),
            (ReduceOp::Xor, Type::I32) => ("xor.b32", "0"),
            (ReduceOp::FloatAdd, Type::F32) => ("add.rn.f32", "0f80000000"),
            (ReduceOp::FloatMul, Type::F32) => ("mul.rn.f32", "0f3F800000"),
            (ReduceOp::FloatMin, Type::F32) => ("min.f32", "0f7F800000"),
            (ReduceOp::FloatMax, Type::F32) => ("max.f32", "0fFF800000"),
            (ReduceOp::Add, Type::I64) => ("add.s64", "0"),
            (ReduceOp::Mul, Type::I64) => ("mul.lo.s64", "1"),
            (ReduceOp::MinSigned, Type::I64) => ("min.s64", "0x7fffffffffffffff"),
            (ReduceOp::MaxSigned, Type::I64) => ("max.s64", "0x8000000000000000"),
            (ReduceOp::MinUnsigned, Type::I64) => ("min.u64", "0xffffffffffffffff"),
            (ReduceOp::MaxUnsigned, Type::I64) => ("max.u64", "0"),
            (ReduceOp::And, Type::I64) => ("and.b64", "0xffffffffffffffff"),
            (ReduceOp::Or, Type::I64) => ("or.b64", "0"),
            (ReduceOp::Xor, Type::I64) => ("xor.b64", "0"),
            (ReduceOp::FloatAdd, Type::F64) => ("add.rn.f64", "0d8000000000000000"),
            (ReduceOp::FloatMul, Type::F64) => ("mul.rn.f64", "0d3FF0000000000000"),
            (ReduceOp::FloatMin, Type::F64) => ("min.f64", "0d7FF0000000000000"),
            (ReduceOp::FloatMax, Type::F64) => ("max.f64", "0dFFF0000000000000"),
            _ => return Err(no_form()),
        };
        let mask = self.mask(data, op)?;
        let value = self.register(data.args[0]);
        let to = self.register(data.results[0]);
        let number = self.calls;
        self.calls += 1;
        let [rest, reversed, lane, lowest] = [(); 4].map(|()| self.fresh(Class::Word));
        let [other, sum] = [(); 2].map(|()| self.fresh(value.class));
        let more = self.fresh(Class::Predicate);
        let bits = value.class.type_name();
        self.plain(format_args!("mov.b32 {rest}, {mask}"));
        self.plain(format_args!("mov.{bits} {to}, {neutral}"));
        self.label(format_args!("$L{number}"));
        self.plain(format_args!("brev.b32 {reversed}, {rest}"));
        self.plain(format_args!("clz.b32 {lane}, {reversed}"));
        self.exchange(other, value, "", "idx.b32", &format!("{lane}, 31, {mask}"))?;
        self.plain(format_args!("{name} {sum}, {to}, {other}"));
        if all {
            self.plain(format_args!("mov.{bits} {to}, {sum}"));
        } else {
            let (own, counts) = (self.fresh(Class::Word), self.fresh(Class::Predicate));
            let relation = if inclusive { "ge" } else { "gt" };
            self.plain(format_args!("mov.u32 {own}, %laneid"));
            self.plain(format_args!("setp.{relation}.u32 {counts}, {own}, {lane}"));
            self.plain(format_args!("selp.{bits} {to}, {sum}, {to}, {counts}"));
        }
        self.plain(format_args!("sub.s32 {lowest}, {rest}, 1"));
        self.plain(format_args!("and.b32 {rest}, {rest}, {lowest}"));
        self.plain(format_args!("setp.ne.s32 {more}, {rest}, 0"));
        self.plain(format_args!("@{more} bra $L{number}"));
        self.forget_constants();
        Ok(())
    }

    /// A number of 32 bits at most.
    fn word(&mut self, value: Value) -> Result<SmolStr, Refusal> {
        match Class::of(self.ty(value)) {
            Class::Word => Ok(self.operand(value)),
            _ => Err(refuse_type("a lane number", self.ty(value))),
        }
    }

    fn masks(&mut self, data: &InstData, word: Register) -> Result<(), Refusal> {
        if self.ty(data.results[0]) != Type::I32 {
            return Err(refuse("a mask of lanes", "more than 32 bits"));
        }
        self.widen(data.results[0], word, false);
        // Of a mask in four words the first has all lanes that there are.
        for &word in &data.results[1..] {
            let to = self.register(word);
            self.plain(format_args!("mov.b32 {to}, 0"));
        }
        Ok(())
    }

    /// One shuffle for each 32 bits of the value.
    fn shuffle(
        &mut self,
        data: &InstData,
        mode: &str,
        lane: &str,
        c: &str,
        mask: SmolStr,
    ) -> Result<(), Refusal> {
        let from = self.register(data.args[0]);
        let to = self.register(data.results[0]);
        let range = match data.results.get(1) {
            Some(&value) => format!("|{}", self.register(value)),
            None => String::new(),
        };
        self.exchange(
            to,
            from,
            &range,
            &format!("{mode}.b32"),
            &format!("{lane}, {c}, {mask}"),
        )
    }

    /// The same for registers: `how` is the mode with its type, `which` the lane, the clamp and the mask.
    fn exchange(
        &mut self,
        to: Register,
        from: Register,
        range: &str,
        how: &str,
        which: &str,
    ) -> Result<(), Refusal> {
        match to.class {
            Class::Word | Class::Float => {
                self.line(format_args!("shfl.sync.{how} {to}{range}, {from}, {which}"));
            }
            Class::Double | Class::DoubleFloat => {
                let halves = [(); 4].map(|()| self.fresh(Class::Word));
                let [low, high, new_low, new_high] = halves;
                self.plain(format_args!("mov.b64 {{{low}, {high}}}, {from}"));
                self.line(format_args!(
                    "shfl.sync.{how} {new_low}{range}, {low}, {which}"
                ));
                self.line(format_args!("shfl.sync.{how} {new_high}, {high}, {which}"));
                self.plain(format_args!("mov.b64 {to}, {{{new_low}, {new_high}}}"));
            }
            Class::Half => {
                let (word, new) = (self.fresh(Class::Word), self.fresh(Class::Word));
                self.plain(format_args!("cvt.u32.u16 {word}, {from}"));
                self.line(format_args!(
                    "shfl.sync.{how} {new}{range}, {word}, {which}"
                ));
                self.plain(format_args!("cvt.u16.u32 {to}, {new}"));
            }
            Class::Predicate => return Err(refuse("a shuffle", "bool")),
        }
        Ok(())
    }
}
