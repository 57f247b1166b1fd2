//! A function in SSA form, and its record of the source: variables, vectors, positions, inlined calls.

use crate::entity::{Block, EntityVec, Inst, Site, Symbol, UnknownId, Value, Variable};
use crate::inst::{Convention, InstData};
use crate::types::{Space, Type};
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::{ItemKey, Span};

/// The functions that an item lowers to: function 0 is the item itself, the others are callees that could not
/// be inlined.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    pub functions: Vec<Function>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    pub name: SmolStr,
    pub kind: FunctionKind,
    pub language: Language,
    /// No other file may name it: `static`.
    pub internal: bool,
    /// Takes further arguments, `...`, which nothing here reads.
    pub variadic: bool,
    pub convention: Convention,
    /// Addresses have 32 bits in memory, not 64: a data model of C whose `long` has 32.
    pub narrow_addresses: bool,
    /// Entry-block parameters correspond to these one to one after flattening: see `ParameterInfo::values`.
    pub parameters: Vec<ParameterInfo>,
    pub returns: Vec<Type>,
    pub launch: LaunchShape,
    pub blocks: EntityVec<Block, BlockData>,
    /// Blocks in reverse post-order of the source; the first is the entry, which has no predecessors.
    pub layout: Vec<Block>,
    pub insts: EntityVec<Inst, InstData>,
    pub values: EntityVec<Value, ValueData>,
    pub symbols: EntityVec<Symbol, SymbolData>,
    /// Inputs of a shader stage, by `Op::StageInput`.
    pub inputs: Vec<StageInput>,
    pub variables: EntityVec<Variable, VariableData>,
    /// The writes and reads of variables, in program order: the bridge from values back to names.
    pub bindings: Vec<Binding>,
    /// Groups of values that were one vector (or matrix) in the source.
    pub vectors: Vec<SmallVec<[Value; 4]>>,
    /// Loops of the source, outermost first.
    pub loops: Vec<SourceLoop>,
    /// The promises of the author about pointers and loops.
    pub promises: Vec<Promise>,
    /// Inlined calls; entry 0 stands for the function itself.
    pub sites: EntityVec<Site, SiteData>,
    /// Private memory that outlives a call, and that all functions of the unit share: `static` variables, one a lane.
    pub statics: Vec<StaticData>,
    /// Functions of the unit that are reached with arguments which no site tells: calls that stay calls, and functions
    /// whose address is taken.
    pub reached: Vec<(ItemKey, SmolStr)>,
    pub unknowns: EntityVec<UnknownId, Unknown>,
    /// The place of the item's name.
    pub name_span: Span,
    /// The whole item.
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FunctionKind {
    /// CUDA `__global__`, PTX `.entry`, HLSL compute shader, µ-SIMD program.
    Kernel,
    Stage(ShaderStage),
    /// Callable from a kernel; its parameters are any values that a caller passes.
    Device,
    Host,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShaderStage {
    Vertex,
    Pixel,
    Geometry,
    Hull,
    Domain,
    Amplification,
    Mesh,
    /// Ray generation, closest hit, any hit, miss, intersection, callable.
    RayTracing,
    /// A function of a file without a recognised entry point.
    Library,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Language {
    Cuda,
    Hlsl,
    Ptx,
    MicroSimd,
    C,
    /// The IR's own text form.
    Text,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ParameterInfo {
    pub name: SmolStr,
    /// The type as written, for people.
    pub type_text: SmolStr,
    /// The entry block's parameters that carry it.
    pub values: SmallVec<[Value; 1]>,
    /// `const T* __restrict__`.
    pub read_only: bool,
    pub no_alias: bool,
    pub loc: Loc,
}

/// The known shape of a launch. `None`: unknown, any value.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LaunchShape {
    /// Workgroup size by axis (`numthreads`, `.reqntid`, configuration).
    pub block: [Option<u32>; 3],
    /// Upper bound on threads of a workgroup (`__launch_bounds__`, `.maxntid`).
    pub max_threads: Option<u32>,
    /// Workgroups that a multiprocessor must have room for (`__launch_bounds__`, `.minnctapersm`).
    pub min_blocks: Option<u32>,
    /// Registers that a compiler gives a thread, at most (`__maxnreg__`, `.maxnreg`).
    pub max_registers: Option<u32>,
    pub grid: [Option<u32>; 3],
    /// Fixed by the program (`[WaveSize(32)]`), else the machine's.
    pub warp_size: Option<u32>,
    /// Helper lanes of pixel shaders take part in operations across lanes (`[WaveOpsIncludeHelperLanes]`).
    pub with_helpers: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct BlockData {
    pub params: Vec<Value>,
    pub insts: Vec<Inst>,
    pub terminator: Terminator,
    /// The place of the terminator: that of its condition.
    pub loc: Loc,
    pub branch: BranchKind,
}

/// The statement of the source that a conditional terminator comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BranchKind {
    /// Not written by the author (lowering of short circuits and the like), or unconditional.
    #[default]
    Implied,
    If,
    /// `[flatten] if`: all lanes execute both sides.
    Flattened,
    /// Decides whether a loop goes on.
    Loop,
    Switch,
    /// `?:`
    Conditional,
    /// `&&`, `||`
    ShortCircuit,
    /// A branch of an assembly language.
    Jump,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Terminator {
    /// Under construction; never in a verified function.
    None,
    Jump(Edge),
    /// `uniform`: the author asserts that all active lanes agree (`bra.uni`).
    Branch {
        condition: Value,
        then: Edge,
        otherwise: Edge,
        uniform: bool,
    },
    Switch {
        value: Value,
        cases: Vec<(i64, Edge)>,
        default: Edge,
    },
    Return(SmallVec<[Value; 4]>),
    /// The lane ends here: HLSL `discard`, PTX `exit`.
    Kill,
    /// The whole grid ends here, and fails: CUDA `__trap()`, PTX `trap`.
    Trap,
    Unreachable,
}

/// Control flows to `block`, whose parameters take the values of `args`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    pub block: Block,
    pub args: SmallVec<[Value; 4]>,
}

impl Edge {
    #[inline]
    pub fn to(block: Block) -> Self {
        Edge {
            block,
            args: SmallVec::new(),
        }
    }
}

impl Terminator {
    #[inline]
    pub fn edges(&self) -> SmallVec<[&Edge; 2]> {
        match self {
            Terminator::Jump(edge) => smallvec::smallvec![edge],
            Terminator::Branch {
                then, otherwise, ..
            } => smallvec::smallvec![then, otherwise],
            Terminator::Switch { cases, default, .. } => cases
                .iter()
                .map(|(_, edge)| edge)
                .chain(std::iter::once(default))
                .collect(),
            _ => SmallVec::new(),
        }
    }
    pub fn edges_mut(&mut self) -> SmallVec<[&mut Edge; 2]> {
        match self {
            Terminator::Jump(edge) => smallvec::smallvec![edge],
            Terminator::Branch {
                then, otherwise, ..
            } => smallvec::smallvec![then, otherwise],
            Terminator::Switch { cases, default, .. } => cases
                .iter_mut()
                .map(|(_, edge)| edge)
                .chain(std::iter::once(default))
                .collect(),
            _ => SmallVec::new(),
        }
    }
    /// The values that it reads itself: the selector, or the results.
    #[inline]
    pub fn reads(&self) -> &[Value] {
        match self {
            Terminator::Branch { condition, .. } => std::slice::from_ref(condition),
            Terminator::Switch { value, .. } => std::slice::from_ref(value),
            Terminator::Return(values) => values,
            _ => &[],
        }
    }
    pub fn reads_mut(&mut self) -> &mut [Value] {
        match self {
            Terminator::Branch { condition, .. } => std::slice::from_mut(condition),
            Terminator::Switch { value, .. } => std::slice::from_mut(value),
            Terminator::Return(values) => values,
            _ => &mut [],
        }
    }
    /// Returns its operands, and the arguments of its edges.
    #[inline]
    pub fn operands(&self) -> impl Iterator<Item = Value> + '_ {
        let args = self.edges().into_iter().flat_map(|edge| &edge.args);
        self.reads().iter().chain(args).copied()
    }
    /// The value that decides where to go.
    pub fn selector(&self) -> Option<Value> {
        match self {
            Terminator::Branch { condition, .. } => Some(*condition),
            Terminator::Switch { value, .. } => Some(*value),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValueData {
    pub ty: Type,
    pub def: ValueDef,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueDef {
    /// Result number `1` of an instruction.
    Result(Inst, u16),
    /// Parameter number `1` of a block.
    Param(Block, u32),
}

/// A position: relative to the item of `site`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Loc {
    pub span: Span,
    pub site: Site,
}

impl Loc {
    pub const NONE: Loc = Loc {
        span: Span::new(0, 0),
        site: Site(0),
    };
    pub const fn here(span: Span) -> Loc {
        Loc {
            span,
            site: Site(0),
        }
    }
}

/// A call that was inlined.
#[derive(Clone, PartialEq, Debug)]
pub struct SiteData {
    /// The item whose text the positions of this site are relative to, `None` for the function's own item.
    pub item: Option<ItemKey>,
    pub callee: SmolStr,
    /// The place of the call.
    pub call: Loc,
    pub parent: Option<Site>,
    /// The values passed, by the callee's parameters (flattened).
    pub arguments: Vec<(SmolStr, SmallVec<[Value; 1]>)>,
}

/// A `static` variable. In a function that others call its address is one of the parameters: its contents are
/// the callers' affair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticData {
    /// The same in all functions of the unit, and of no other variable.
    pub key: SmolStr,
    pub address: Value,
}

#[derive(Clone, PartialEq, Debug)]
pub struct SymbolData {
    pub name: SmolStr,
    pub space: Space,
    pub kind: SymbolKind,
    /// Bytes, when known.
    pub size: Option<u32>,
    pub align: u32,
    /// Never written during the dispatch.
    pub read_only: bool,
    /// Bytes of a constant initialiser; bytes behind them are zero.
    pub initial: Option<Vec<u8>>,
    /// Elements of an array of resources: `Some(None)` is unbounded.
    pub resource_array: Option<Option<u32>>,
    pub definition: Definition,
}

/// The definition of a symbol: its linkage, and the parts of its contents that are no numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Definition {
    pub linkage: Linkage,
    /// Addresses that stand among the initial bytes, which are zero there; by offset, 8 bytes each.
    pub addresses: Vec<Address>,
    /// Bytes of each number among the initial bytes, where all are known to have the same.
    pub width: Option<u32>,
    /// The numbers among the initial bytes, in order, where they are known and not all have the same width; bytes that are no
    /// number's are zero.
    pub numbers: Vec<NumberRun>,
    /// True if there is an initial value, and it is not known here.
    pub opaque: bool,
    /// Each thread of the program has its own.
    pub thread_local: bool,
}

/// Numbers of one width in static storage, one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NumberRun {
    pub offset: u32,
    /// Bytes of each.
    pub bytes: u32,
    pub count: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Linkage {
    /// Other files may name it.
    #[default]
    Global,
    /// `static` variables, and objects without a name.
    Local,
    /// Another file defines it.
    Elsewhere,
}

/// The address of a symbol of the same function, or so many bytes behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    pub offset: u32,
    pub symbol: SmolStr,
    pub addend: i64,
}

/// The symbol of a buffer's hidden counter, which no source can name.
#[must_use]
pub fn counter_name(buffer: &str) -> SmolStr {
    smol_str::format_smolstr!("{buffer}{COUNTER}")
}

/// Returns true if it is the hidden counter of a buffer.
#[must_use]
pub fn is_counter(symbol: &str) -> bool {
    symbol.ends_with(COUNTER)
}

const COUNTER: &str = "#counter";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolKind {
    /// Plain memory with an address.
    Memory,
    /// A buffer resource: an address in `Global` space (structured, typed, byte-address, constant buffers in `Constant`).
    Buffer,
    Texture,
    Sampler,
    /// A function of C whose address is taken.
    Function,
    Other,
}

#[derive(Clone, PartialEq, Debug)]
pub struct StageInput {
    pub name: SmolStr,
    /// `SV_Position`, `TEXCOORD0`: upper case, with index.
    pub semantic: SmolStr,
    pub component: u8,
    pub interpolation: Interpolation,
    pub ty: Type,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Interpolation {
    #[default]
    Perspective,
    Linear,
    /// `nointerpolation`, integers: one value a primitive.
    Flat,
}

#[derive(Clone, PartialEq, Debug)]
pub struct VariableData {
    /// The plain identifier as declared.
    pub name: SmolStr,
    /// The type as written, for people.
    pub type_text: SmolStr,
    /// The identifier's place in the declaration.
    pub declared: Loc,
    pub kind: VariableKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VariableKind {
    Parameter,
    Local,
    /// A register of an assembly language, a µ-SIMD variable.
    Register,
    /// `__shared__`, globals, constant-buffer members, resources.
    Global,
}

/// A variable is declared, written, merged or read here and holds these values (one a component; a structure's
/// members one after the other).
#[derive(Clone, PartialEq, Debug)]
pub struct Binding {
    pub variable: Variable,
    pub kind: BindingKind,
    pub values: SmallVec<[Value; 4]>,
    /// Member path or swizzle when only a part is bound (`.pos.x`), else empty.
    pub part: SmolStr,
    /// The identifier's place.
    pub loc: Loc,
    /// The block in which it happens: a value may be less uniform at a use than where it was computed.
    pub block: Block,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BindingKind {
    /// A declaration with its initial value; without values if there is none.
    Declaration,
    Assignment,
    Read,
}

#[derive(Clone, PartialEq, Debug)]
pub struct SourceLoop {
    /// The block to which the back edge leads.
    pub header: Block,
    /// The keyword with its head (`for (...)`).
    pub loc: Loc,
    /// Requested unrolling: `None` no request, `Some(0)` full.
    pub unroll: Option<u32>,
    /// The pipelining that `#pragma lockstep pipeline(word)` asks for: the word, or `best` where there is
    /// none.
    pub pipeline: Option<SmolStr>,
    /// The source promises that no iteration reads or writes memory that another one writes, in `#pragma
    /// ivdep` or its like.
    pub independent: bool,
}

/// A promise of the source that nothing checks.
#[derive(Clone, PartialEq, Debug)]
pub struct Promise {
    pub kind: PromiseKind,
    pub loc: Loc,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PromiseKind {
    /// The address is a multiple of so many bytes, a power of two, wherever control comes through the block.
    Aligned {
        pointer: Value,
        bytes: u32,
        block: Block,
    },
    /// So many bytes behind the last one that the pointer leads to may be read, wherever control comes through the block.
    Readable {
        pointer: Value,
        bytes: u32,
        block: Block,
    },
    /// Rounds of the loop with this header each time that it is entered.
    Rounds {
        header: Block,
        least: u64,
        most: u64,
        /// The number of rounds is a multiple of this.
        multiple: u64,
    },
}

/// A construct that was not understood: the reason and the place.
#[derive(Clone, PartialEq, Debug)]
pub struct Unknown {
    pub reason: String,
    /// True if it may assign variables: its results are the new values of as many of its last arguments.
    pub assigns: bool,
    pub loc: Loc,
}

impl Function {
    #[inline]
    pub fn entry(&self) -> Block {
        self.layout[0]
    }
    #[inline]
    pub fn ty(&self, value: Value) -> Type {
        self.values[value].ty
    }
    /// The bytes that a value takes in memory.
    #[inline]
    pub fn bytes(&self, value: Value) -> u32 {
        self.bytes_of(self.ty(value))
    }
    /// The bytes that a value of a type takes in memory.
    #[inline]
    pub const fn bytes_of(&self, ty: Type) -> u32 {
        ty.bytes_in_memory(self.narrow_addresses)
    }
    /// The `static` variable whose address a parameter is.
    pub fn static_of(&self, parameter: &ParameterInfo) -> Option<&StaticData> {
        let address = parameter.values.first()?;
        self.statics.iter().find(|known| known.address == *address)
    }
    /// Returns the value of a variable before a function or a text that is not understood, which may have
    /// assigned it, made this result of it.
    pub fn given_by_reference(&self, result: Value) -> Option<Value> {
        let ValueDef::Result(inst, _) = self.values[result].def else {
            return None;
        };
        let data = &self.insts[inst];
        let count = match &data.op {
            crate::Op::CallUnknown { convention, .. } => convention.by_reference.into(),
            crate::Op::Unknown(id) if self.unknowns[*id].assigns => data.results.len(),
            _ => return None,
        };
        let pairs = data.results.iter().rev().zip(data.args.iter().rev());
        let mut references = pairs.take(count);
        references.find_map(|(&after, &before)| (after == result).then_some(before))
    }
    /// The constant that a value is, sign-extended (integers, booleans and pointers only).
    #[inline]
    pub fn int_constant(&self, value: Value) -> Option<i64> {
        match self.values[value].def {
            ValueDef::Result(inst, _) if self.values[value].ty.is_integral() => {
                match self.insts[inst].op {
                    crate::Op::Const(bits) => Some(bits as i64),
                    _ => None,
                }
            }
            _ => None,
        }
    }
    /// The instruction that computes a value.
    #[inline]
    pub fn defining(&self, value: Value) -> Option<&InstData> {
        match self.values[value].def {
            ValueDef::Result(inst, _) => Some(&self.insts[inst]),
            ValueDef::Param(..) => None,
        }
    }
    /// The block in which each value is defined; `None` for values of removed blocks.
    pub fn definition_blocks(&self) -> EntityVec<Value, Option<Block>> {
        let mut blocks = EntityVec::with_len(None, self.values.len());
        for &block in &self.layout {
            for &param in &self.blocks[block].params {
                blocks[param] = Some(block);
            }
            for &inst in &self.blocks[block].insts {
                for &result in &self.insts[inst].results {
                    blocks[result] = Some(block);
                }
            }
        }
        blocks
    }
}
