//! What an instruction of the text does: its unit, what it reads and writes, its access to memory.
//!
//! ```text
//! (p16) ld8.s r32 = [r5], 8      M; reads p16 r5, writes r32 r5; loads 8 bytes at r5
//! ```
//!
//! By mnemonic and completers, by the files of the operands for `mov`. An instruction that is not in the tables is opaque:
//! it reads and writes everything, and nothing moves across it.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, chapters 2 and 4; volume 1, section 3.4
//! on what may share a group.

mod implied;

use super::names::{Meaning, Names};
use crate::bundle::block::Type;
use crate::mir::{Access, Branch, Class, File, Inst, Memory, Parallel, Reg};
use syntax::ia64::Instruction;

/// Why an instruction is opaque.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opaque {
    pub reason: String,
}

/// What the instruction does with the names in force in front of it. Beside an opaque one, why.
#[must_use]
pub fn decode(text: &Instruction, names: &Names) -> (Inst, Option<Opaque>) {
    match known(text, names) {
        Ok(mut inst) => {
            inst.uses.sort_unstable();
            inst.uses.dedup();
            (inst, None)
        }
        Err(reason) => {
            let mut inst = Inst::new(None, Class::System);
            inst.barrier = true;
            (inst, Some(Opaque { reason }))
        }
    }
}

const A: Option<Type> = Some(Type::A);
const I: Option<Type> = Some(Type::I);
const M: Option<Type> = Some(Type::M);
const F: Option<Type> = Some(Type::F);
const B: Option<Type> = Some(Type::B);
const L: Option<Type> = Some(Type::L);

fn known(text: &Instruction, names: &Names) -> Result<Inst, String> {
    let base = text.base();
    let mut operands = Operands {
        targets: text.targets.iter().map(|one| names.meaning(one)).collect(),
        sources: text.sources.iter().map(|one| names.meaning(one)).collect(),
    };
    let mut inst = match base {
        "mov" => moved(text, &operands)?,
        "nop" | "hint" | "break" => idle(text, base),
        _ => {
            let (unit, class) =
                unit_of(text, base).ok_or_else(|| format!("`{base}` is not known"))?;
            Inst::new(unit, class)
        }
    };
    if let Some(predicate) = &text.predicate {
        match names.meaning(predicate) {
            Meaning::Register(register) if register.file == File::Predicate => {
                inst.predicate = register.number;
                inst.use_of(register);
            }
            _ => return Err("the qualifying predicate is no predicate register".into()),
        }
    }
    match inst.class {
        Class::Branch => branch(text, &operands, &mut inst)?,
        Class::Compare | Class::FloatCompare => compare(text, &operands, &mut inst)?,
        Class::Load
        | Class::FloatLoad
        | Class::Store
        | Class::FloatStore
        | Class::Prefetch
        | Class::Semaphore => memory(text, &mut operands, &mut inst)?,
        _ => {}
    }
    // The count in a register: an operation of the multimedia unit.
    if let ("shl" | "shr", Some(Meaning::Register(_))) = (base, operands.source(1)) {
        inst.class = Class::Multimedia;
    }
    if !matches!(inst.class, Class::Branch) {
        operands.registers(&mut inst);
    }
    implied::implied(text, base, &operands, &mut inst);
    if let (Class::Alu, [Meaning::Register(_)]) = (inst.class, &operands.targets[..]) {
        inst.offset = match (base, &operands.sources[..]) {
            ("add" | "adds" | "addl", [Meaning::Number(by), Meaning::Register(of)])
            | ("add" | "adds" | "addl", [Meaning::Register(of), Meaning::Number(by)]) => {
                Some((*of, *by))
            }
            ("mov", [Meaning::Register(of)]) if of.file == File::General => Some((*of, 0)),
            _ => None,
        };
    }
    Ok(inst)
}

struct Operands {
    targets: Vec<Meaning>,
    sources: Vec<Meaning>,
}

impl Operands {
    fn source(&self, index: usize) -> Option<&Meaning> {
        self.sources.get(index)
    }
    /// Targets are written, sources read; an address is read wherever it stands.
    fn registers(&self, inst: &mut Inst) {
        for source in &self.sources {
            match source {
                Meaning::Register(register)
                | Meaning::Memory(register)
                | Meaning::Indirect(register) => {
                    inst.use_of(*register);
                }
                Meaning::Number(_) | Meaning::Symbol => {}
            }
        }
        let predicates = matches!(inst.class, Class::Compare | Class::FloatCompare);
        for target in &self.targets {
            match target {
                Meaning::Register(register)
                    if !(predicates && register.file == File::Predicate) =>
                {
                    inst.def_of(*register, Parallel::Alone, false);
                }
                Meaning::Memory(register) | Meaning::Indirect(register) => inst.use_of(*register),
                _ => {}
            }
        }
    }
}

/// `nop.m`, `hint.i`, `break.b`; without a letter in any slot.
fn idle(text: &Instruction, base: &str) -> Inst {
    let unit = text.completers().next().and_then(|letter| match letter {
        "m" => M,
        "i" => I,
        "f" => F,
        "b" => B,
        "x" => L,
        _ => None,
    });
    let mut inst = Inst::new(
        unit,
        if base == "nop" {
            Class::Nop
        } else {
            Class::System
        },
    );
    inst.barrier = base == "break";
    inst
}

/// Unit and class of all but `mov`, `nop`, `hint` and `break`.
fn unit_of(text: &Instruction, base: &str) -> Option<(Option<Type>, Class)> {
    Some(match base {
        "add" | "adds" | "addl" | "sub" | "shladd" | "shladdp4" | "addp4" => (A, Class::Alu),
        "and" | "andcm" | "or" | "xor" => (A, Class::Logic),
        "cmp" | "cmp4" => (A, Class::Compare),
        "tbit" | "tnat" | "tf" => (I, Class::Compare),
        "movl" => (L, Class::LongMove),
        "sxt1" | "sxt2" | "sxt4" | "zxt1" | "zxt2" | "zxt4" => (I, Class::Extend),
        "shl" | "shr" | "shrp" | "extr" | "dep" => (I, Class::Shift),
        "popcnt" | "pmpy2" | "pmpyshr2" | "mpy4" | "mpyshl4" => (I, Class::ParallelMultiply),
        "clz" | "czx1" | "czx2" | "mux1" | "mux2" => (I, Class::Multimedia),
        _ if is_parallel_alu(base) => (A, Class::Multimedia),
        _ if is_parallel_integer(base) => (I, Class::Multimedia),
        "ld1" | "ld2" | "ld4" | "ld8" | "ld16" => (M, Class::Load),
        "st1" | "st2" | "st4" | "st8" | "st16" => (M, Class::Store),
        "lfetch" => (M, Class::Prefetch),
        "xchg1" | "xchg2" | "xchg4" | "xchg8" | "cmpxchg1" | "cmpxchg2" | "cmpxchg4"
        | "cmpxchg8" | "cmp8xchg16" | "fetchadd4" | "fetchadd8" => (M, Class::Semaphore),
        _ if base.starts_with("ldf") && float_bytes(text).is_some() => (M, Class::FloatLoad),
        _ if base.starts_with("stf") && float_bytes(text).is_some() => (M, Class::FloatStore),
        "setf" => (M, Class::ToFloat),
        "getf" => (M, Class::FromFloat),
        "alloc" => (M, Class::Alloc),
        "chk" => match text.completers().collect::<Vec<_>>()[..] {
            ["s", "i", ..] => (I, Class::Check),
            ["s", "m", ..] => (M, Class::Check),
            ["a", ..] => (M, Class::CheckAdvanced),
            // In front of a floating-point register it is an M; that is a case of it.
            ["s", ..] => (A, Class::Check),
            _ => return None,
        },
        "br" | "brl" => (if base == "brl" { L } else { B }, Class::Branch),
        "brp" => (B, Class::System),
        "fma" | "fms" | "fnma" | "fmpy" | "fnmpy" | "fadd" | "fsub" | "fnorm" | "fpma" | "fpms"
        | "fpnma" | "fpmpy" | "fpnmpy" => (F, Class::FloatArithmetic),
        "xma" | "xmpy" => (F, Class::IntegerMultiply),
        "fcmp" | "fclass" => (F, Class::FloatCompare),
        "fcvt" | "fpcvt" => (F, Class::FloatConvert),
        "fmin" | "fmax" | "famin" | "famax" | "fpmin" | "fpmax" | "fpamin" | "fpamax" | "fpcmp"
        | "fmerge" | "fpmerge" | "fmix" | "fsxt" | "fpack" | "fswap" | "fselect" | "fand"
        | "fandcm" | "for" | "fxor" | "fabs" | "fneg" | "fnegabs" | "fpabs" | "fpneg"
        | "fpnegabs" | "frcpa" | "frsqrta" | "fprcpa" | "fprsqrta" => (F, Class::FloatMisc),
        "fsetc" | "fclrf" | "fchkf" => (F, Class::System),
        "cover" | "clrrrb" | "rfi" | "bsw" | "epc" | "vmsw" => (B, Class::System),
        "mf" | "srlz" | "sync" | "fwb" | "invala" | "flushrs" | "loadrs" | "rsm" | "ssm"
        | "sum" | "rum" | "itc" | "itr" | "ptc" | "ptr" | "tak" | "thash" | "tpa" | "ttag"
        | "probe" | "fc" | "halt" => (M, Class::System),
        _ => return None,
    })
}

/// Parallel operations of the A type.
fn is_parallel_alu(base: &str) -> bool {
    matches!(
        base,
        "padd1"
            | "padd2"
            | "padd4"
            | "psub1"
            | "psub2"
            | "psub4"
            | "pavg1"
            | "pavg2"
            | "pavgsub1"
            | "pavgsub2"
            | "pcmp1"
            | "pcmp2"
            | "pcmp4"
            | "pshladd2"
            | "pshradd2"
    )
}

/// Parallel operations of the I type.
fn is_parallel_integer(base: &str) -> bool {
    matches!(
        base,
        "mix1"
            | "mix2"
            | "mix4"
            | "pack2"
            | "pack4"
            | "unpack1"
            | "unpack2"
            | "unpack4"
            | "psad1"
            | "pmin1"
            | "pmin2"
            | "pmax1"
            | "pmax2"
            | "pshl2"
            | "pshl4"
            | "pshr2"
            | "pshr4"
    )
}

/// Bytes of a floating-point load or store.
fn float_bytes(text: &Instruction) -> Option<u32> {
    Some(match text.base() {
        "ldfs" | "stfs" => 4,
        "ldfd" | "stfd" | "ldf8" | "stf8" | "ldfps" => 8,
        // Ten bytes are written of sixteen that are spoken of.
        "ldfe" | "stfe" | "ldf" | "stf" | "ldfpd" | "ldfp8" => 16,
        _ => return None,
    })
}

/// `mov` is many instructions: the files of its operands say which.
fn moved(text: &Instruction, operands: &Operands) -> Result<Inst, String> {
    let register = |one: Option<&Meaning>| match one {
        Some(Meaning::Register(register)) => Some(*register),
        _ => None,
    };
    let (to, from) = (
        register(operands.targets.first()),
        register(operands.source(0)),
    );
    if let Some(Meaning::Indirect(_)) = operands.targets.first().or(operands.source(0)) {
        return Ok(system());
    }
    if let Some(Meaning::Indirect(_)) = operands.source(0) {
        return Ok(system());
    }
    let to = to.ok_or("the target of `mov` is no register that is known")?;
    let application = |number: u8, class: Class| {
        let unit = match () {
            () if text.has("m") => M,
            () if text.has("i") => I,
            () if number < 64 => M,
            () => I,
        };
        // Those of the register stack, the counters and IA-32 change by themselves.
        let quiet = matches!(number, 25 | 32 | 36 | 40 | 64..=66);
        let mut inst = Inst::new(unit, class);
        let kernel = number < 8 && class == Class::FromApplication;
        inst.barrier = !(quiet || kernel);
        implied::application(number, &mut inst);
        inst
    };
    Ok(match (to.file, from.map(|from| from.file)) {
        (File::General, None | Some(File::General)) => Inst::new(A, Class::Alu),
        (File::Float, Some(File::Float)) => Inst::new(F, Class::FloatMisc),
        (File::General, Some(File::Branch)) => Inst::new(I, Class::FromBranch),
        (File::Branch, _) => Inst::new(I, Class::ToBranch),
        (File::General, Some(File::Application)) => {
            application(from.map_or(0, |from| from.number), Class::FromApplication)
        }
        (File::Application, _) => application(to.number, Class::ToApplication),
        (File::General, Some(File::Special)) => match from {
            Some(Reg::PR) => {
                let mut inst = Inst::new(I, Class::FromPredicates);
                inst.uses.extend((1..64).map(Reg::predicate));
                inst
            }
            Some(Reg::IP) => Inst::new(I, Class::FromBranch),
            _ => system(),
        },
        (File::Special, _) if to == Reg::PR => {
            let mut inst = Inst::new(I, Class::ToPredicates);
            let mask = match operands.source(1) {
                Some(Meaning::Number(mask)) => *mask,
                // Without a mask all are meant.
                None => -1,
                Some(_) => return Err("the mask of `mov pr` is not known".into()),
            };
            // Bit 16 stands for all rotating ones.
            for number in 1..64u8 {
                if mask >> number.min(16) & 1 != 0 {
                    inst.def_of(Reg::predicate(number), Parallel::Alone, false);
                }
            }
            inst
        }
        (File::Special, _) if to == Reg::PR_ROT => {
            let mut inst = Inst::new(I, Class::ToPredicates);
            for number in 16..64 {
                inst.def_of(Reg::predicate(number), Parallel::Alone, false);
            }
            inst
        }
        (File::Special | File::Control, _) | (_, Some(File::Control)) => system(),
        _ => return Err(format!("`mov` from {from:?} to {to} is not known")),
    })
}

fn system() -> Inst {
    let mut inst = Inst::new(M, Class::System);
    inst.barrier = true;
    inst
}

fn branch(text: &Instruction, operands: &Operands, inst: &mut Inst) -> Result<(), String> {
    for source in &operands.sources {
        if let Meaning::Register(register) = source {
            inst.use_of(*register);
        }
    }
    let kind = text.completers().next().unwrap_or("cond");
    inst.branch = Some(match kind {
        "call" => {
            for target in &operands.targets {
                if let Meaning::Register(register) = target {
                    inst.def_of(*register, Parallel::Alone, false);
                }
            }
            for register in [Reg::PFS, Reg::CFM] {
                inst.def_of(register, Parallel::Alone, false);
            }
            inst.uses.extend([Reg::EC, Reg::CFM]);
            Branch::Call
        }
        "ret" => {
            inst.uses.push(Reg::PFS);
            for register in [Reg::EC, Reg::CFM] {
                inst.def_of(register, Parallel::Alone, false);
            }
            Branch::Return
        }
        "cloop" => {
            inst.uses.push(Reg::LC);
            inst.def_of(Reg::LC, Parallel::Alone, false);
            Branch::Counted
        }
        "ctop" | "cexit" | "wtop" | "wexit" => {
            let counted = kind.starts_with('c');
            let more: &[Reg] = if counted { &[Reg::LC] } else { &[] };
            for register in [Reg::EC, Reg::CFM, Reg::predicate(63)].iter().chain(more) {
                inst.uses.push(*register);
                inst.def_of(*register, Parallel::Alone, true);
            }
            match counted {
                true => Branch::CountedRotating,
                false => Branch::WhileRotating,
            }
        }
        "cond" | "few" | "many" | "sptk" | "spnt" | "dptk" | "dpnt" => Branch::Jump,
        "ia" => return Err("IA-32 code is not known".into()),
        other => return Err(format!("`br.{other}` is not known")),
    });
    Ok(())
}

fn compare(text: &Instruction, operands: &Operands, inst: &mut Inst) -> Result<(), String> {
    if operands.targets.is_empty() || operands.targets.len() > 2 {
        return Err("a compare has one or two targets".into());
    }
    let completers: Vec<&str> = text.completers().collect();
    let parallel = |target: u8| {
        completers
            .windows(2)
            .find_map(|pair| match pair {
                ["or", "andcm"] => Some(if target == 0 {
                    Parallel::DeMorganOr
                } else {
                    Parallel::DeMorganAnd
                }),
                ["and", "orcm"] => Some(if target == 0 {
                    Parallel::DeMorganAnd
                } else {
                    Parallel::DeMorganOr
                }),
                _ => None,
            })
            .or_else(|| {
                completers.iter().find_map(|one| match *one {
                    "and" | "andcm" => Some(Parallel::And),
                    "or" | "orcm" => Some(Parallel::Or),
                    _ => None,
                })
            })
            .unwrap_or(Parallel::Alone)
    };
    for (at, target) in operands.targets.iter().enumerate() {
        match target {
            Meaning::Register(register) if register.file == File::Predicate => {
                inst.def_of(*register, parallel(at as u8), text.has("unc"));
            }
            _ => return Err("a target of the compare is no predicate register".into()),
        }
    }
    Ok(())
}

fn memory(text: &Instruction, operands: &mut Operands, inst: &mut Inst) -> Result<(), String> {
    let store = matches!(inst.class, Class::Store | Class::FloatStore);
    let access = match inst.class {
        Class::Semaphore => Access::Both,
        Class::Prefetch => Access::Prefetch,
        _ if store => Access::Store,
        _ => Access::Load,
    };
    let places = if store {
        &operands.targets
    } else {
        &operands.sources
    };
    let base = places.iter().find_map(|one| match one {
        Meaning::Memory(base) => Some(*base),
        _ => None,
    });
    let base = base.ok_or("the address is no register that is known")?;
    // Behind the address, or behind what is stored, stands what is added to the base.
    let step = match access {
        Access::Both => None,
        _ => operands.source(1),
    };
    let stepped = step.is_some();
    let step = match step {
        Some(Meaning::Number(by)) => Some(*by),
        Some(Meaning::Register(_) | Meaning::Symbol) | None => None,
        Some(_) => return Err("what is added to the address is not known".into()),
    };
    if stepped {
        inst.def_of(base, Parallel::Alone, false);
    }
    let bytes = match text.base() {
        "ld1" | "st1" | "xchg1" | "cmpxchg1" => 1,
        "ld2" | "st2" | "xchg2" | "cmpxchg2" => 2,
        "ld4" | "st4" | "xchg4" | "cmpxchg4" | "fetchadd4" => 4,
        "ld8" | "st8" | "xchg8" | "cmpxchg8" | "fetchadd8" => 8,
        "lfetch" => 0,
        _ => float_bytes(text).unwrap_or(16),
    };
    let ordered = text
        .completers()
        .any(|one| matches!(one, "acq" | "rel" | "bias" | "a" | "sa" | "c"))
        || access == Access::Both;
    inst.memory = Some(Memory {
        access,
        base,
        bytes,
        ordered,
        confirms: text.has("c") && access == Access::Load,
        step,
    });
    Ok(())
}
