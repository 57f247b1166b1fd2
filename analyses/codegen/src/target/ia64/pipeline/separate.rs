//! A test in front of a loop that accesses of it never meet: where it holds, the pipelined loop executes, else the loop's own
//! code.
//!
//! ```text
//! y[i] += k * x[i], n times      [y, y + 8n) and [x, x + 8n) share no byte: x is not written, and nothing orders the two
//! ```
//!
//! Accesses whose addresses are one sum of registers, with one step, are a *stream*: it covers the bytes from its least
//! address to its greatest, over all iterations. Two streams of different sums are apart if neither begins within the other.
//! Addresses are numbers modulo 2^64, and so is their difference: with `d` the start of the second less that of the first,
//! they are apart where `d >= length of the first` and `-d >= length of the second`, unsigned, wherever they wrap around. A
//! length does not wrap, since counts of more than `2^COUNT` leave the loop as it is.
//!
//! Pairs are tested whose sums differ and of which nothing else is known; a pair with an address that is
//! loaded, or with one sum and two steps, keeps its order. More than `PAIRS` are not tested: that takes as
//! long as a short loop.
//!
//! Source: Bernstein, Cohen and Maydan, *Dynamic memory disambiguation for array references*, MICRO-27, 1994.

use super::address::{Met, Progression, Term, Touch};
use super::report::Alias;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Operand, Operation, Virtual};
use isa::ia64::File;
use isa::ia64::Mnemonic;
use isa::ia64::register::Reg;
use rustc_hash::FxHashMap;

/// Pairs of streams that are tested.
const PAIRS: usize = 8;

/// Registers that an address is a sum of.
const TERMS: usize = 4;

/// log2 of the greatest step, and of the distance of constants of one stream.
const FAR: u32 = 20;

/// log2 of the iterations up to which the loop is tested.
const COUNT: i64 = 40;

/// Accesses along one line of addresses.
#[derive(Clone, PartialEq, Debug)]
struct Stream {
    /// The least address of the stream, as far up as is known.
    address: Progression,
    /// The same by registers in front of the loop.
    start: Progression,
    /// Bytes of one iteration from there on.
    bytes: u64,
}

/// Pairs of streams that must be apart.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Test {
    streams: Vec<Stream>,
    pairs: Vec<(usize, usize)>,
    /// Addresses that must be multiples of a power of two.
    aligned: Vec<(Progression, u32)>,
}

/// Returns the accesses that still meet if a test in front of the loop holds; `None`: there is nothing to
/// test, or too much.
pub(super) fn tested(touches: &[Touch], meetings: &[Met]) -> Option<(Vec<Met>, Test)> {
    let mut test = Test::default();
    let mut kept = Vec::new();
    for met in meetings {
        let (left, right) = (&touches[met.first as usize], &touches[met.second as usize]);
        let unknown = matches!(met.how.why, Alias::Base | Alias::Within);
        let known = |touch: &Touch| touch.address.is_regular() && is_computable(&touch.front);
        if !unknown
            || !known(left)
            || !known(right)
            || left.address.start.terms == right.address.start.terms
        {
            kept.push(met.clone());
            continue;
        }
        let pair = (test.stream(left)?, test.stream(right)?);
        let pair = (pair.0.min(pair.1), pair.0.max(pair.1));
        if !test.pairs.contains(&pair) {
            test.pairs.push(pair);
        }
    }
    (!test.pairs.is_empty() && test.pairs.len() <= PAIRS).then_some((kept, test))
}

/// Returns true if it is made of a few registers and small numbers.
pub(super) fn is_computable(front: &Progression) -> bool {
    front.start.terms.len() <= TERMS
        && front.step.unsigned_abs() < 1 << FAR
        && front.start.terms.iter().all(|(term, count)| {
            matches!(term, Term::Initial(_)) && count.unsigned_abs().is_power_of_two()
        })
}

impl Test {
    /// The same with the addresses that must be multiples.
    pub(super) fn and_aligned(mut self, mut aligned: Vec<(Progression, u32)>) -> Test {
        aligned.dedup_by_key(|(front, bytes)| {
            (
                front.start.terms.clone(),
                front.start.constant % i64::from(*bytes),
            )
        });
        self.aligned = aligned;
        self
    }

    /// Pairs that are compared.
    pub(super) fn pairs(&self) -> u32 {
        self.pairs.len() as u32
    }

    /// The stream of an access; `None`: its accesses are too far from each other.
    fn stream(&mut self, touch: &Touch) -> Option<usize> {
        let constant = touch.address.start.constant;
        let mut known = self.streams.iter();
        let found = known.position(|it| it.address.is_parallel(&touch.address));
        let Some(at) = found else {
            self.streams.push(Stream {
                address: touch.address.clone(),
                start: touch.front.clone(),
                bytes: touch.bytes.into(),
            });
            return Some(self.streams.len() - 1);
        };
        let stream = &mut self.streams[at];
        let first = i128::from(stream.address.start.constant);
        let last =
            (first + i128::from(stream.bytes)).max(i128::from(constant) + i128::from(touch.bytes));
        if i128::from(constant) < first {
            stream.address.start.constant = constant;
            stream.start = touch.front.clone();
        }
        let bytes = u64::try_from(last - first.min(constant.into())).ok()?;
        stream.bytes = bytes;
        (bytes < 1 << FAR).then_some(at)
    }

    /// Writes the test: control goes to `otherwise` where streams share a byte. `count`: the last iteration's number, from
    /// 0; `small`: it is known to have at most 32 bits.
    pub(super) fn write(
        &self,
        function: &mut Function,
        count: &Operand,
        small: bool,
        otherwise: u32,
        out: &mut Vec<Operation>,
    ) {
        let mut writer = Writer {
            function,
            out,
            way: FxHashMap::default(),
        };
        for (front, bytes) in &self.aligned {
            let start = writer.address(front);
            let mask = Operand::Number(i64::from(bytes - 1));
            let rest = writer.put(op!("and"), vec![mask, Operand::register(start)]);
            let sources = vec![Operand::Number(0), Operand::register(rest)];
            writer.leave(op!("cmp.ne"), sources, otherwise);
        }
        if !small && !self.pairs.is_empty() {
            let high = writer.put(op!("shr.u"), vec![count.clone(), Operand::Number(COUNT)]);
            let sources = vec![Operand::Number(0), Operand::register(high)];
            writer.leave(op!("cmp.ne"), sources, otherwise);
        }
        let mut known: Vec<Option<(Virtual, Virtual)>> = vec![None; self.streams.len()];
        for at in self.pairs.iter().flat_map(|pair| [pair.0, pair.1]) {
            if known[at].is_none() {
                known[at] = Some(writer.extent(&self.streams[at], count));
            }
        }
        for &(left, right) in &self.pairs {
            let (Some(first), Some(other)) = (known[left], known[right]) else {
                continue;
            };
            for (from, to) in [(first, other), (other, first)] {
                let start = vec![Operand::register(to.0), Operand::register(from.0)];
                let apart = writer.put(op!("sub"), start);
                let sources = vec![Operand::register(apart), Operand::register(from.1)];
                writer.leave(op!("cmp.ltu"), sources, otherwise);
            }
        }
    }
}

/// Writes the address of the first iteration.
pub(super) fn address(
    function: &mut Function,
    front: &Progression,
    out: &mut Vec<Operation>,
) -> Virtual {
    let mut writer = Writer {
        function,
        out,
        way: FxHashMap::default(),
    };
    writer.address(front)
}

struct Writer<'w> {
    function: &'w mut Function,
    out: &'w mut Vec<Operation>,
    /// For each step, the distance that all iterations but the first go on by.
    way: FxHashMap<u64, Virtual>,
}

impl Writer<'_> {
    fn operation(&mut self, mnemonic: Mnemonic, targets: Vec<Operand>, sources: Vec<Operand>) {
        self.out.push(Operation::plain(mnemonic, targets, sources));
    }
    fn put_into(&mut self, file: File, mnemonic: Mnemonic, sources: Vec<Operand>) -> Virtual {
        let target = self.function.register(file);
        self.operation(mnemonic, vec![Operand::register(target)], sources);
        target
    }
    fn put(&mut self, mnemonic: Mnemonic, sources: Vec<Operand>) -> Virtual {
        self.put_into(File::General, mnemonic, sources)
    }
    fn leave(&mut self, relation: Mnemonic, sources: Vec<Operand>, to: u32) {
        let meets = self.function.register(File::Predicate);
        let targets = vec![Operand::register(meets), Operand::fixed(Reg::P0)];
        self.operation(relation, targets, sources);
        self.operation(op!("br.cond.spnt"), Vec::new(), vec![Operand::Block(to)]);
        if let Some(last) = self.out.last_mut() {
            last.predicate = Some(meets);
        }
    }
    fn plus(&mut self, to: Virtual, constant: i64) -> Virtual {
        let to = Operand::register(to);
        match constant {
            0 => self.put(op!("mov"), vec![to]),
            near @ -8192..8192 => self.put(op!("adds"), vec![Operand::Number(near), to]),
            far => {
                let far = self.put(op!("movl"), vec![Operand::Number(far)]);
                self.put(op!("add"), vec![to, Operand::register(far)])
            }
        }
    }
    fn way(&mut self, step: u64, count: &Operand) -> Virtual {
        if let Some(&known) = self.way.get(&step) {
            return known;
        }
        let way = match step {
            0 => self.put(op!("mov"), vec![Operand::fixed(Reg::R0)]),
            1 => self.put(op!("mov"), vec![count.clone()]),
            step if step.is_power_of_two() => {
                let by = Operand::Number(step.trailing_zeros().into());
                self.put(op!("shl"), vec![count.clone(), by])
            }
            step => {
                let step = self.put(op!("movl"), vec![Operand::Number(step as i64)]);
                let step =
                    self.put_into(File::Float, op!("setf.sig"), vec![Operand::register(step)]);
                let count = self.put_into(File::Float, op!("setf.sig"), vec![count.clone()]);
                let factors = vec![Operand::register(count), Operand::register(step)];
                let product = self.put_into(File::Float, op!("xmpy.l"), factors);
                self.put(op!("getf.sig"), vec![Operand::register(product)])
            }
        };
        self.way.insert(step, way);
        way
    }
    /// The address of the first iteration.
    fn address(&mut self, front: &Progression) -> Virtual {
        let mut sum: Option<Virtual> = None;
        for &(term, factor) in &front.start.terms {
            let Term::Initial(register) = term else {
                continue;
            };
            let shift = factor.unsigned_abs().trailing_zeros();
            let part = match shift {
                0 => register,
                by => {
                    let by = Operand::Number(by.into());
                    self.put(op!("shl"), vec![Operand::register(register), by])
                }
            };
            let before = match sum {
                Some(sum) => Operand::register(sum),
                None => Operand::fixed(Reg::R0),
            };
            let mnemonic = if factor < 0 { op!("sub") } else { op!("add") };
            sum = Some(self.put(mnemonic, vec![before, Operand::register(part)]));
        }
        let sum = match sum {
            Some(sum) => sum,
            None => self.put(op!("mov"), vec![Operand::fixed(Reg::R0)]),
        };
        self.plus(sum, front.start.constant)
    }
    /// Returns where a stream begins, and its bytes.
    fn extent(&mut self, stream: &Stream, count: &Operand) -> (Virtual, Virtual) {
        let step = stream.start.step;
        let mut start = self.address(&stream.start);
        let way = self.way(step.unsigned_abs(), count);
        if step < 0 {
            let parts = vec![Operand::register(start), Operand::register(way)];
            start = self.put(op!("sub"), parts);
        }
        (start, self.plus(way, stream.bytes as i64))
    }
}
