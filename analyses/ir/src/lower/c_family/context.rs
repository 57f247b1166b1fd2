//! The state of one lowering: the function being built, the inlined calls on the way (`Frame`), names in
//! scope, and the findings of earlier attempts (`Demotions`).
//!
//! A variable starts in slots, a pointer in the memory space of its first value. When the text that follows shows
//! that it needs memory (its address escapes, an array is indexed by a variable) or another space, the fact is noted
//! and the whole function is lowered again with it: notes only grow, so this ends; the last attempt puts every pointer
//! into the generic space.

use super::env::Environment;
use super::types::*;
use super::value::*;
use super::{Bodies, LowerOptions};
use crate::builder::{FunctionBuilder, Slot};
use crate::entity::{Block, EntitySet, Site, Value, Variable};
use crate::function::*;
use crate::inst::*;
use crate::types::{Space, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::rc::Rc;
use std::sync::Arc;
use syntax::c_family::ast;
use syntax::{ItemKey, Problem, ProblemKind, Span};

/// The meaning of a name inside a function.
#[derive(Clone, Debug)]
pub enum Local {
    Variable(LValue),
    Constant(Const),
    Type(CType),
    /// A parameter pack, with its elements.
    Pack(Vec<Local>),
}

/// A compile-time number.
#[derive(Clone, Debug, PartialEq)]
pub struct Const {
    pub ty: CType,
    pub value: Number,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Sign-extended or zero-extended to 64 bits by its type.
    Int(i64),
    Float(f64),
}

impl Const {
    pub fn int(value: i64, ty: CType) -> Const {
        Const {
            ty,
            value: Number::Int(value),
        }
    }
    pub fn bool(value: bool) -> Const {
        Const::int(value as i64, CType::Bool)
    }
    pub fn as_int(&self) -> i64 {
        match self.value {
            Number::Int(value) => value,
            Number::Float(value) => value as i64,
        }
    }
    pub fn as_float(&self) -> f64 {
        match self.value {
            Number::Int(value) if self.ty.is_signed() => value as f64,
            Number::Int(value) => value as u64 as f64,
            Number::Float(value) => value,
        }
    }
    pub fn truth(&self) -> bool {
        match self.value {
            Number::Int(value) => value != 0,
            Number::Float(value) => value != 0.0,
        }
    }
}

pub type Scope = FxHashMap<SmolStr, Local>;

/// The place that receives returned values.
#[derive(Clone, Debug)]
pub enum ReturnPlace {
    /// Not known yet: `auto`, or a reference that binds to the place that the only `return` names.
    Undecided,
    Place(LValue),
    /// A reference result: the place that the `return` named.
    Reference(LValue),
    Void,
}

/// One function body being lowered: the item's own, or an inlined call.
#[derive(Debug)]
pub struct Frame {
    pub site: Site,
    /// The item whose text positions are relative to.
    pub item: ItemKey,
    /// The name in keys of demotions: the item and the structure path.
    pub label: SmolStr,
    pub namespace: Vec<SmolStr>,
    pub scopes: Vec<Scope>,
    pub this: Option<LValue>,
    /// `None`: deduced from the first `return`.
    pub return_type: Option<CType>,
    pub returns: ReturnPlace,
    /// The block that `return` leads to; `None` in the function itself.
    pub exit: Option<Block>,
    /// The exit is reached by some `return` that was lowered.
    pub exit_used: bool,
    /// The blocks that `break` leads to, each with the number of scopes open there.
    pub breaks: Vec<(Block, usize)>,
    pub continues: Vec<(Block, usize)>,
    /// Loops whose bodies are being lowered, innermost last.
    pub loops: Vec<super::leaving::OpenLoop>,
    /// Objects with destructors, in the order of declaration.
    pub owned: Vec<super::lifetimes::Owned>,
    pub labels: FxHashMap<SmolStr, Block>,
    /// The places of the labels of the body.
    pub label_places: Vec<(SmolStr, Span)>,
    /// Scopes around a lambda.
    pub captured: Option<Rc<Vec<Scope>>>,
    /// The class whose names are visible.
    pub class: Option<StructId>,
    /// The declaration of the result's place, for demotions.
    pub return_key: Span,
    /// Places of the caller that take the final value of a parameter (`out` arguments of another type).
    pub copy_out: Vec<(LValue, LValue)>,
    /// Open `switch` statements, innermost last.
    pub switches: Vec<SwitchLabels>,
}

/// Labels of a `switch` seen so far.
#[derive(Clone, Debug)]
pub struct SwitchLabels {
    pub ty: CType,
    pub cases: Vec<(i64, Block)>,
    /// Labels whose numbers are not known, with the upper ends of ranges: compared one by one.
    pub compared: Vec<(ast::Expr, Option<ast::Expr>, Block)>,
    pub default: Option<Block>,
}

/// Structures that are declared and have no layout yet.
#[derive(Default, Debug)]
pub struct Postponed {
    pub(super) structs: Vec<(StructId, Arc<ast::Struct>, Frame)>,
    /// The ids of the postponed structures.
    pub(super) waiting: EntitySet<StructId>,
    /// The type of a member is being resolved, and how many pointers deep.
    pub(super) in_member: bool,
    pub(super) pointers: u32,
    /// They are being looked at.
    pub(super) finishing: bool,
}

/// A lambda expression with the names that it can see.
#[derive(Debug)]
pub struct Closure {
    pub lambda: Arc<ast::Lambda>,
    pub scopes: Rc<Vec<Scope>>,
    pub this: Option<LValue>,
    pub site: Site,
    pub item: ItemKey,
    pub label: SmolStr,
    pub namespace: Vec<SmolStr>,
    pub class: Option<StructId>,
    pub span: Span,
}

/// A place in the text that outlives one attempt.
pub type DemotionKey = (SmolStr, Span);

#[derive(Clone, Debug, Default)]
pub struct Demotions {
    /// Variables that need memory.
    pub memory: FxHashSet<DemotionKey>,
    /// Parameters that are written although their body does not say so directly.
    pub storage: FxHashSet<DemotionKey>,
    /// Pointers whose space is not that of their first value.
    pub spaces: FxHashMap<(DemotionKey, u32), Space>,
    /// Functions with a reference result that return different places.
    pub pointer_results: FxHashSet<DemotionKey>,
    pub all_generic: bool,
}

#[derive(Clone, Debug)]
struct SlotOrigin {
    key: DemotionKey,
    part: u32,
}

pub struct Context<'a> {
    pub builder: FunctionBuilder,
    pub env: &'a Environment,
    pub bodies: &'a dyn Bodies,
    pub options: &'a LowerOptions,
    pub language: Language,
    pub structs: StructTable,
    pub frames: Vec<Frame>,
    pub problems: Vec<Problem>,
    /// Functions that are called, declared, and defined in another translation unit; sorted.
    pub external: Vec<SmolStr>,
    /// Calls of functions not entered that may assign private globals.
    pub(super) reaches_globals: Vec<crate::entity::Inst>,
    pub demotions: Demotions,
    /// True if something was added to `demotions`: lower again.
    pub again: bool,
    /// The place of a result that no registers hold, where the function being built writes it.
    pub result_place: Option<LValue>,
    pub closures: Vec<Rc<Closure>>,
    /// Nesting of expressions and statements.
    pub depth: u32,
    pub(super) fetched: FxHashMap<ItemKey, Option<Arc<ast::ParsedItem>>>,
    pub(super) instances: FxHashMap<(StructSource, String), CType>,
    pub(super) sources: Vec<Rc<super::classes::StructOrigin>>,
    pub(super) globals: FxHashMap<SmolStr, LValue>,
    /// Copies of parameters in memory, by address.
    pub(super) spilled: FxHashMap<Value, LValue>,
    pub(super) alias_depth: u32,
    /// Members of classes whose values are being computed.
    pub(super) open_symbols: Vec<(super::types::StructId, SmolStr)>,
    pub(super) symbols_computed: u32,
    /// Expressions whose type alone was asked for (`decltype`).
    pub(super) types_asked: u32,
    /// Types of expressions that are being asked for, one inside the other.
    pub(super) unevaluated: u32,
    /// The types that functions return, as far as they were asked for.
    pub(super) returned_types: FxHashMap<super::outlined::CalleeId, CType>,
    /// Instructions of the functions of the module that were lowered before.
    pub(super) spent: usize,
    /// True if it was reported that the budget is spent.
    pub(super) budget_told: bool,
    /// True if it was reported that no more types of expressions are found.
    pub(super) types_told: bool,
    /// True if the function being lowered is called by the module's first function.
    pub(super) of_module: bool,
    origins: FxHashMap<Slot, SlotOrigin>,
    written: FxHashSet<Slot>,
    /// Functions that remain calls: their names, and the module's functions to be lowered.
    pub(super) outlined: Vec<super::outlined::Outlined>,
    pub(super) callees: Vec<super::outlined::CalleeId>,
    /// Results of calls whose type is not known either.
    pub(super) guesses: FxHashSet<Value>,
    /// The expression that was last made a value of a type was of an unknown type.
    pub(super) made_of_guess: bool,
    /// HLSL: something that is `precise` was declared, so that no arithmetic of the function is contracted.
    pub(super) precise: bool,
    /// Problems reported once: message.
    said: FxHashSet<String>,
    pub(super) counter: u32,
    /// The object of static storage whose initial value is looked at, and how many strings that has so far.
    pub(super) initialised: Option<(SmolStr, u32)>,
    pub(super) global_variables: FxHashMap<SmolStr, (Variable, LValue)>,
    pub(super) resolving_struct: u32,
    /// Structures that members point to, whose own members are looked at when those that hold each other are complete.
    pub(super) postponed: Postponed,
    pub(super) substitution_failed: bool,
    pub(super) converting: u32,
    /// Template arguments of functions used as values, with their text: `CType::Function` counts them from 1.
    pub(super) function_arguments: Vec<(String, Vec<Local>)>,
    pub(super) runtime_structs: FxHashMap<SmolStr, CType>,
    /// Instances of templates that have specialisations alone, by name and arguments.
    pub(super) undecided: FxHashMap<SmolStr, CType>,
    pub(super) shared: super::root::Shared,
    pub(super) changed: FxHashMap<DemotionKey, Rc<super::arguments::Changed>>,
    /// Type parameters that nothing determines, and the arguments assumed for them.
    pub assumed_types: Vec<(SmolStr, SmolStr)>,
    /// Types that the function that is lowered needs to be integers, by name.
    pub(super) whole_types: FxHashSet<SmolStr>,
    /// The assumptions made about the function being lowered.
    pub assumed: super::assumed::Assumed,
    /// The class of a method that is lowered on its own is instantiated: options name its parameters, too.
    pub(super) of_root_class: bool,
    /// Aliases at the scope of a namespace, by item and arguments, and those of classes, by number of the member.
    pub(super) aliases: FxHashMap<super::aliases::AliasKey, CType>,
    /// Classes that have a copy constructor of their own, as far as it was asked for.
    pub(super) copying: FxHashMap<StructId, bool>,
    /// Classes whose template parameters are not bound yet.
    pub(super) unbound: Vec<StructId>,
    pub(super) struct_constants: FxHashMap<(StructId, SmolStr), Option<Const>>,
    /// Buffers whose elements are matrices by rows.
    pub(super) row_major_buffers: FxHashSet<crate::entity::Symbol>,
    /// `out` parameters of a shader's entry point.
    pub outputs: Vec<LValue>,
    pub(super) variable_keys: FxHashMap<Variable, DemotionKey>,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("function", &self.builder.function.name)
            .finish_non_exhaustive()
    }
}

impl<'a> Context<'a> {
    pub fn new(
        builder: FunctionBuilder,
        env: &'a Environment,
        bodies: &'a dyn Bodies,
        options: &'a LowerOptions,
        demotions: Demotions,
    ) -> Self {
        let mut builder = builder;
        builder.function.narrow_addresses = options.narrow_addresses();
        Context {
            builder,
            env,
            bodies,
            options,
            language: options.language,
            structs: StructTable {
                hlsl: options.language == Language::Hlsl,
                c: options.language == Language::C,
                narrow_addresses: options.narrow_addresses(),
                ..StructTable::default()
            },
            frames: Vec::new(),
            problems: Vec::new(),
            external: Vec::new(),
            reaches_globals: Vec::new(),
            demotions,
            again: false,
            result_place: None,
            closures: Vec::new(),
            symbols_computed: 0,
            types_asked: 0,
            unevaluated: 0,
            returned_types: FxHashMap::default(),
            spent: 0,
            budget_told: false,
            types_told: false,
            of_module: false,
            open_symbols: Vec::new(),
            depth: 0,
            fetched: FxHashMap::default(),
            instances: FxHashMap::default(),
            sources: Vec::new(),
            globals: FxHashMap::default(),
            spilled: FxHashMap::default(),
            alias_depth: 0,
            origins: FxHashMap::default(),
            written: FxHashSet::default(),
            outlined: Vec::new(),
            callees: Vec::new(),
            guesses: FxHashSet::default(),
            made_of_guess: false,
            said: FxHashSet::default(),
            precise: false,
            counter: 0,
            initialised: None,
            global_variables: FxHashMap::default(),
            resolving_struct: 0,
            postponed: Postponed::default(),
            substitution_failed: false,
            converting: 0,
            function_arguments: Vec::new(),
            runtime_structs: FxHashMap::default(),
            undecided: FxHashMap::default(),
            shared: super::root::Shared::default(),
            changed: FxHashMap::default(),
            assumed_types: Vec::new(),
            whole_types: FxHashSet::default(),
            assumed: super::assumed::Assumed::default(),
            of_root_class: false,
            aliases: FxHashMap::default(),
            copying: FxHashMap::default(),
            unbound: Vec::new(),
            struct_constants: FxHashMap::default(),
            row_major_buffers: FxHashSet::default(),
            outputs: Vec::new(),
            variable_keys: FxHashMap::default(),
        }
    }

    pub fn is_hlsl(&self) -> bool {
        self.language == Language::Hlsl
    }
    pub fn is_c(&self) -> bool {
        self.language == Language::C
    }

    // -------------------------------------------------------------------------------------------- frames and names

    pub fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            // Names are resolved outside of functions as well; they have an empty frame.
            self.frames.push(Frame::outside(ItemKey {
                name: SmolStr::default(),
                ordinal: 0,
            }));
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }
    pub fn site(&self) -> Site {
        self.frames.last().map_or(Site(0), |f| f.site)
    }
    /// A position in the text of the current frame's item.
    pub fn at(&self, span: Span) -> Loc {
        Loc {
            span,
            site: self.site(),
        }
    }
    /// Instructions that follow get this place.
    pub fn here(&mut self, span: Span) {
        let loc = self.at(span);
        self.builder.set_loc(loc);
    }
    pub fn key(&self, span: Span) -> DemotionKey {
        let label = self.frames.last().map(|f| f.label.clone());
        (label.unwrap_or_default(), span)
    }
    pub fn push_scope(&mut self) {
        self.frame().scopes.push(Scope::default());
    }
    pub fn pop_scope(&mut self) {
        self.end_scope();
        self.frame().scopes.pop();
    }
    pub fn declare(&mut self, name: SmolStr, local: Local) {
        let frame = self.frame();
        if frame.scopes.is_empty() {
            frame.scopes.push(Scope::default());
        }
        if let Some(scope) = frame.scopes.last_mut() {
            scope.insert(name, local);
        }
    }
    pub fn lookup_local(&self, name: &str) -> Option<&Local> {
        let frame = self.frames.last()?;
        let own = frame.scopes.iter().rev().find_map(|s| s.get(name));
        own.or_else(|| {
            let around = frame.captured.as_ref()?;
            around.iter().rev().find_map(|s| s.get(name))
        })
    }

    /// Returns the possible meanings of a name of the unit, seen from the current frame.
    pub(super) fn entries(&mut self, path: &[SmolStr]) -> SmallVec<[super::env::Entry; 4]> {
        let env = self.env;
        env.lookup(&self.frame().namespace, path)
    }

    // -------------------------------------------------------------------------------------------- problems

    /// Notes a construct that is not understood, once a message.
    pub fn problem(&mut self, span: Span, message: impl Into<String>) {
        self.report(ProblemKind::Unsupported, span, message.into());
    }
    /// Notes the assumption of the facts if the source alone does not decide.
    pub fn remark(&mut self, span: Span, message: impl Into<String>) {
        self.report(ProblemKind::Note, span, message.into());
    }
    pub(super) fn report(&mut self, kind: ProblemKind, span: Span, message: String) {
        if self.said.insert(message.clone()) {
            // A problem inside an inlined callee is shown at the call in the item's own text.
            let mut place = self.at(span);
            while place.site != Site(0) {
                place = self.builder.function.sites[place.site].call;
            }
            self.problems.push(Problem::new(kind, place.span, message));
        }
    }
    /// A value of this type that stands for something not understood.
    pub fn unknown(
        &mut self,
        reason: impl Into<String>,
        args: &[Value],
        ty: &CType,
        span: Span,
    ) -> RValue {
        let reason = reason.into();
        self.here(span);
        // What follows from something that was not understood was told with it.
        let function = &self.builder.function;
        let follows =
            |v: &Value| matches!(function.defining(*v), Some(d) if matches!(d.op, Op::Unknown(_)));
        if !args.iter().any(follows) {
            self.problem(span, reason.clone());
        }
        let types = self.structs.parts(ty).unwrap_or_default();
        if types.is_empty() {
            let id = self.builder.note_unknown(reason);
            self.builder.inst(Op::Unknown(id), args, &[]);
            return RValue::new(ty.clone(), []);
        }
        let id = self.builder.note_unknown(reason);
        let inst = self.builder.inst(Op::Unknown(id), args, &types);
        let parts: Parts = self.builder.results(inst).iter().copied().collect();
        RValue::new(ty.clone(), parts)
    }
    /// Values of a type without a definition: reads of objects that were never written.
    pub fn undefined(&mut self, ty: &CType) -> RValue {
        let types = self.structs.parts(ty).unwrap_or_default();
        let parts: Parts = types.iter().map(|&t| self.builder.undef(t)).collect();
        RValue::new(ty.clone(), parts)
    }
    /// Zeros of a type.
    pub fn zero(&mut self, ty: &CType) -> RValue {
        let types = self.structs.parts(ty).unwrap_or_default();
        let parts: Parts = types.iter().map(|&t| self.builder.constant(t, 0)).collect();
        RValue::new(ty.clone(), parts)
    }

    // -------------------------------------------------------------------------------------------- variables

    /// Slots for the scalars of a variable declared at `key`; pointers take the spaces of `initial`.
    pub fn slots(
        &mut self,
        types: &[Type],
        key: &DemotionKey,
        initial: Option<&[Value]>,
    ) -> SmallVec<[Slot; 4]> {
        let mut slots = SmallVec::new();
        for (number, &ty) in types.iter().enumerate() {
            let mut ty = ty;
            if matches!(ty, Type::Ptr(_)) {
                let part = number as u32;
                if self.demotions.all_generic {
                    ty = Type::Ptr(Space::Generic);
                } else if let Some(&space) = self.demotions.spaces.get(&(key.clone(), part)) {
                    ty = Type::Ptr(space);
                } else if let Some(&value) = initial.and_then(|v| v.get(number))
                    && matches!(self.builder.function.ty(value), Type::Ptr(_))
                    && !self.is_null(value)
                {
                    ty = self.builder.function.ty(value);
                }
            }
            let slot = self.builder.slot(ty);
            if matches!(ty, Type::Ptr(_)) {
                let origin = SlotOrigin {
                    key: key.clone(),
                    part: number as u32,
                };
                self.origins.insert(slot, origin);
            }
            slots.push(slot);
        }
        slots
    }

    pub(super) fn is_null(&self, value: Value) -> bool {
        matches!(
            self.builder.function.defining(value).map(|d| &d.op),
            Some(Op::Const(0) | Op::Undef)
        )
    }

    /// Writes a slot; a pointer of another space than the slot's asks for another attempt.
    pub fn write_slot(&mut self, slot: Slot, value: Value) {
        let want = self.builder.slot_type(slot);
        let have = self.builder.function.ty(value);
        if want == have {
            if matches!(want, Type::Ptr(_)) && !self.is_null(value) {
                self.written.insert(slot);
            }
            self.builder.write(slot, value);
            return;
        }
        let value = match (want, have) {
            (Type::Ptr(to), Type::Ptr(from)) => {
                if self.is_null(value) {
                    self.builder.constant(want, 0)
                } else {
                    if to != Space::Generic
                        && let Some(origin) = self.origins.get(&slot).cloned()
                    {
                        let first = !self.written.contains(&slot);
                        let at = (origin.key, origin.part);
                        let known = self.demotions.spaces.contains_key(&at);
                        let space = if first && !known {
                            from
                        } else {
                            Space::Generic
                        };
                        self.demotions.spaces.insert(at, space);
                        self.again = true;
                    }
                    self.builder.convert(Convert::SpaceCast, value, want)
                }
            }
            _ => self.adapt(value, want),
        };
        self.written.insert(slot);
        self.builder.write(slot, value);
    }

    /// A value as another IR type, by any conversion; used where types were unknown.
    pub fn adapt(&mut self, value: Value, want: Type) -> Value {
        let have = self.builder.function.ty(value);
        if have == want {
            return value;
        }
        match (have, want) {
            (Type::Ptr(_), Type::Ptr(_)) => self.builder.convert(Convert::SpaceCast, value, want),
            (_, Type::Bool) => self.builder.convert(Convert::ToBool, value, want),
            (a, b) if a.is_float() && b.is_float() => {
                self.builder.convert(Convert::FloatToFloat, value, want)
            }
            (a, b) if (a.is_int() || a == Type::Bool) && b.is_int() => {
                let kind = if a.bits() > b.bits() {
                    Convert::Truncate
                } else {
                    Convert::ZeroExtend
                };
                self.builder.convert(kind, value, want)
            }
            (a, b) if (a.is_int() || a == Type::Bool) && b.is_float() => {
                self.builder.convert(Convert::SignedToFloat, value, want)
            }
            (a, b) if a.is_float() && b.is_int() => {
                self.builder.convert(Convert::FloatToSigned, value, want)
            }
            (a, b) if a.bits() == b.bits() => self.builder.convert(Convert::Bitcast, value, want),
            (a, b) => {
                let wide = if a.is_float() {
                    self.builder
                        .convert(Convert::Bitcast, value, Type::int(a.bits()))
                } else {
                    value
                };
                let wide_ty = self.builder.function.ty(wide);
                let target = Type::int(b.bits());
                let sized = if wide_ty == target {
                    wide
                } else if !wide_ty.is_int() && wide_ty != Type::Bool {
                    let as_int = self.builder.convert(Convert::Bitcast, wide, Type::I64);
                    self.adapt(as_int, target)
                } else {
                    self.adapt(wide, target)
                };
                if target == want {
                    sized
                } else {
                    self.builder.convert(Convert::Bitcast, sized, want)
                }
            }
        }
    }

    /// A place for a variable: slots when it may have them, else private memory.
    pub fn new_place(&mut self, ty: &CType, key: &DemotionKey, initial: Option<&[Value]>) -> Place {
        if !self.demotions.memory.contains(key)
            && let Some(types) = self.structs.parts(ty)
        {
            return Place::Slots(self.slots(&types, key, initial));
        }
        let (size, align) = (
            self.structs
                .size_of(ty)
                .unwrap_or(u64::from(crate::inst::UNKNOWN_SIZE)),
            self.structs.align_of(ty),
        );
        let address = self.private_memory(size, align);
        Place::Memory {
            address,
            access: MemoryAccess::in_space(Space::Local),
        }
    }

    /// Private memory. It is made at the entry, so that its address can be used everywhere.
    pub fn private_memory(&mut self, size: u64, align: u64) -> Value {
        let size = size.clamp(1, u32::MAX as u64) as u32;
        let align = align.clamp(1, 4096) as u32;
        self.at_entry(Op::Alloca { size, align }, Type::Ptr(Space::Local))
    }

    /// Asks for a place of its own for the parameter that this value is (part of).
    pub fn give_storage(&mut self, place: &LValue) {
        if let Some(name) = &place.name
            && let Some(key) = self.variable_keys.get(&name.variable).cloned()
            && self.demotions.storage.insert(key)
        {
            self.again = true;
        }
    }

    /// The origin of the structure of the language's library that is pushed next: no declaration.
    pub fn library_origin(&mut self, name: &str) {
        self.sources.push(Rc::new(super::classes::StructOrigin {
            declared: Arc::new(ast::Struct {
                template: None,
                name: None,
                kind: ast::StructKind::Struct,
                bases: Vec::new(),
                members: Vec::new(),
                attributes: Vec::new(),
                has_body: true,
                span: Span::default(),
            }),
            source: None,
            item: ItemKey {
                name: SmolStr::new(name),
                ordinal: 0,
            },
            namespace: Vec::new(),
            arguments: Vec::new(),
            bindings: Default::default(),
            scopes: None,
            class_name: SmolStr::new(name),
        }));
    }

    /// Asks for memory for the variable that this place is part of.
    pub fn demote(&mut self, place: &LValue) {
        if let Some(name) = &place.name {
            let key = self.variable_keys.get(&name.variable).cloned();
            if let Some(key) = key
                && self.demotions.memory.insert(key)
            {
                self.again = true;
            }
        }
    }
}

impl Frame {
    /// A frame outside of any function, for names in declarations.
    pub fn outside(item: ItemKey) -> Frame {
        Frame {
            site: Site(0),
            label: item.name.clone(),
            item,
            namespace: Vec::new(),
            scopes: vec![Scope::default()],
            this: None,
            return_type: Some(CType::Void),
            returns: ReturnPlace::Void,
            exit: None,
            exit_used: false,
            owned: Vec::new(),
            breaks: Vec::new(),
            continues: Vec::new(),
            loops: Vec::new(),
            labels: FxHashMap::default(),
            label_places: Vec::new(),
            captured: None,
            class: None,
            return_key: Span::default(),
            copy_out: Vec::new(),
            switches: Vec::new(),
        }
    }
}
