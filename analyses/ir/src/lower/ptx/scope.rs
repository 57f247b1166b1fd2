//! Names: registers, variables and labels by block, and the cells of `.param` variables.

use super::*;
use crate::entity::Variable;

/// The meaning of a name in a function.
#[derive(Clone, Debug)]
pub(super) enum Named {
    Register(Register),
    /// An address: `.local` variables.
    Memory(Value),
    Symbol(Symbol),
    /// An index into `Lowering::parameters`.
    Parameter(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Register {
    /// One a component; a 128-bit register has two.
    pub(super) slots: SmallVec<[Slot; 1]>,
    pub(super) variable: Variable,
}

/// The values written to a `.param` variable, by offset.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) bytes: u32,
    pub(super) element: Type,
    /// Integers of `width` bytes, by ascending offset, not overlapping.
    pub(super) cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) offset: u32,
    pub(super) width: u32,
    slot: Slot,
}

#[derive(Clone, Debug)]
pub(super) enum Label<'a> {
    Block(Block),
    Table(&'a [Name]),
    /// The label of a prototype or of a list of callees.
    Other,
}

/// A function being lowered.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) function: &'a PtxFunction,
    pub(super) site: Site,
    /// The block that `ret` leads to; `None` in the item itself.
    pub(super) after: Option<Block>,
    scopes: Vec<Scope<'a>>,
    /// Labels of every block of the body, by number in text order, and the block that it stands in.
    labels: Vec<(u32, FxHashMap<&'a str, Label<'a>>)>,
    /// Numbers of the open blocks.
    open: Vec<u32>,
    opened: u32,
}

#[derive(Debug, Default)]
struct Scope<'a> {
    names: FxHashMap<SmolStr, Named>,
    /// `%r<40>`: registers come into being when they are first named.
    ranges: FxHashMap<&'a str, (&'a VariableDeclaration, &'a Declarator)>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(function: &'a PtxFunction, site: Site, after: Option<Block>) -> Self {
        Frame {
            function,
            site,
            after,
            scopes: vec![Scope::default()],
            labels: Vec::new(),
            open: vec![0],
            opened: 0,
        }
    }
    pub(super) fn declare(&mut self, name: SmolStr, named: Named) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name, named);
        }
    }
}

impl<'a> Lowering<'a> {
    pub(super) fn open_scope(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.opened += 1;
            frame.open.push(frame.opened);
            frame.scopes.push(Scope::default());
        }
    }
    pub(super) fn close_scope(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && frame.scopes.len() > 1
        {
            frame.scopes.pop();
            frame.open.pop();
        }
    }

    /// Creates a block for each label of a body, and remembers branch tables.
    pub(super) fn collect_labels(&mut self, function: &'a PtxFunction) {
        let mut labels: Vec<(u32, FxHashMap<&'a str, Label<'a>>)> = vec![(0, FxHashMap::default())];
        let mut open = vec![0usize];
        let statements = function.statements();
        for (at, statement) in statements.iter().enumerate() {
            let current = open.last().copied().unwrap_or(0);
            match &statement.kind {
                StatementKind::Open => {
                    labels.push((current as u32, FxHashMap::default()));
                    open.push(labels.len() - 1);
                }
                StatementKind::Close if open.len() > 1 => {
                    open.pop();
                }
                StatementKind::Label(name) => {
                    let label = match statements.get(at + 1).map(|next| &next.kind) {
                        Some(StatementKind::BranchTargets(names)) => Label::Table(names),
                        Some(
                            StatementKind::CallTargets(_) | StatementKind::CallPrototype { .. },
                        ) => Label::Other,
                        _ => Label::Block(self.b.create_block()),
                    };
                    labels[current].1.entry(name.text.as_str()).or_insert(label);
                }
                _ => {}
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.labels = labels;
        }
    }
    pub(super) fn label(&self, name: &str) -> Option<Label<'a>> {
        let frame = self.frames.last()?;
        let mut number = *frame.open.last()?;
        loop {
            let (parent, names) = frame.labels.get(number as usize)?;
            if let Some(label) = names.get(name) {
                return Some(label.clone());
            }
            if number == 0 {
                return None;
            }
            number = *parent;
        }
    }

    pub(super) fn lookup(&mut self, name: &str) -> Option<Named> {
        let frame = self.frames.last()?;
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, number) = name.split_at(name.len() - digits);
        let mut found = None;
        for (depth, scope) in frame.scopes.iter().enumerate().rev() {
            if let Some(named) = scope.names.get(name) {
                return Some(named.clone());
            }
            if digits == 0 {
                continue;
            }
            // `%v1<10>` declares `%v10` to `%v19`: the prefix may end in digits itself.
            for split in 0..digits {
                let prefix = &name[..prefix.len() + split];
                let number = &number[split..];
                let Some(&(declaration, declarator)) = scope.ranges.get(prefix) else {
                    continue;
                };
                let canonical = number.len() == 1 || !number.starts_with('0');
                if canonical
                    && number
                        .parse::<u32>()
                        .is_ok_and(|n| declarator.range.is_some_and(|range| n < range))
                {
                    found = Some((depth, declaration, declarator));
                    break;
                }
            }
            if found.is_some() {
                break;
            }
        }
        if let Some((depth, declaration, declarator)) = found {
            let register = self.register(name, declaration, declarator.name.span);
            let named = Named::Register(register);
            if let Some(frame) = self.frames.last_mut() {
                frame.scopes[depth]
                    .names
                    .insert(SmolStr::new(name), named.clone());
            }
            return Some(named);
        }
        let &(declaration, declarator) = self.variables.get(name)?;
        let declaration = &self.unit.declarations.variables[declaration].1;
        let symbol = self.module_symbol(declaration, &declaration.declarators[declarator]);
        Some(Named::Symbol(symbol))
    }

    fn register(&mut self, name: &str, declaration: &VariableDeclaration, span: Span) -> Register {
        let scalar = types::scalar(&declaration.type_name);
        let (ty, count) = match scalar {
            Some(scalar) if scalar.is_wide() => (Type::I64, 2),
            Some(scalar) => (scalar.container(), 1),
            None => (Type::I64, 1),
        };
        let slots = (0..count * u32::from(declaration.vector))
            .map(|_| self.b.slot(ty))
            .collect();
        let site = self.site();
        let variable = self.b.variable(
            name,
            format!(".{}", declaration.type_name),
            VariableKind::Register,
            Loc { span, site },
        );
        Register { slots, variable }
    }

    /// A register that was not declared, so that the rest goes on.
    pub(super) fn undeclared(&mut self, name: &Name, ty: Type) -> Register {
        if self.reported.insert(name.text.clone()) {
            self.report(name.span, format!("`{}` is not declared", name.text));
            self.b
                .note_unknown(format!("`{}` is not declared", name.text));
        }
        let slot = self.b.slot(ty);
        let loc = self.b.loc();
        let register = Register {
            slots: SmallVec::from_slice(&[slot]),
            variable: self
                .b
                .variable(name.text.clone(), "", VariableKind::Register, loc),
        };
        if let Some(scope) = self.frames.last_mut().and_then(|f| f.scopes.first_mut()) {
            let named = Named::Register(register.clone());
            scope.names.insert(name.text.clone(), named);
        }
        register
    }

    /// A declaration of a body, or of an inlined function's parameters.
    pub(super) fn declare(&mut self, declaration: &'a VariableDeclaration) {
        for declarator in &declaration.declarators {
            let name = declarator.name.text.clone();
            let element = declaration.element_bytes().unwrap_or(8);
            let size = declarator.bytes(element);
            let named = match declaration.space {
                StorageSpace::Register | StorageSpace::SpecialRegister => {
                    if declarator.range.is_some() {
                        if let Some(scope) =
                            self.frames.last_mut().and_then(|f| f.scopes.last_mut())
                        {
                            scope
                                .ranges
                                .insert(declarator.name.text.as_str(), (declaration, declarator));
                        }
                        continue;
                    }
                    Named::Register(self.register(&name, declaration, declarator.name.span))
                }
                StorageSpace::Local => {
                    let size = size.and_then(|s| u32::try_from(s).ok()).unwrap_or(0);
                    let align = declaration.align.unwrap_or(element);
                    // In the entry block, which dominates every use.
                    let current = self.b.current();
                    let entry = self.b.function.entry();
                    self.b.switch_to(entry);
                    let address = self.b.alloca(size, align);
                    self.b.switch_to(current);
                    Named::Memory(address)
                }
                StorageSpace::Parameter => {
                    let ty = types::scalar(&declaration.type_name)
                        .map_or(Type::I64, types::Scalar::container);
                    Named::Parameter(self.new_parameter(size.unwrap_or(0) as u32, ty))
                }
                _ => {
                    let function = self.frames.last().map_or("", |f| &f.function.name.text);
                    let key =
                        SmolStr::from(format!("{function}:{name}:{}", declaration.span.start));
                    Named::Symbol(self.symbol(key, declaration, declarator))
                }
            };
            if let Some(frame) = self.frames.last_mut() {
                frame.declare(name, named);
            }
        }
    }

    /// The symbol of a variable with static storage; one a name.
    pub(super) fn module_symbol(
        &mut self,
        declaration: &VariableDeclaration,
        declarator: &Declarator,
    ) -> Symbol {
        let name = declarator.name.text.clone();
        self.symbol(name, declaration, declarator)
    }

    /// `key` tells variables of one name in different functions apart.
    fn symbol(
        &mut self,
        key: SmolStr,
        declaration: &VariableDeclaration,
        declarator: &Declarator,
    ) -> Symbol {
        if let Some(&symbol) = self.symbols.get(&key) {
            return symbol;
        }
        let kind = match declaration.type_name.as_str() {
            "texref" | "surfref" => SymbolKind::Texture,
            "samplerref" => SymbolKind::Sampler,
            _ if declaration.space == StorageSpace::Texture => SymbolKind::Texture,
            _ => SymbolKind::Memory,
        };
        let element = declaration.element_bytes();
        let size = match (&declarator.dimensions[..], element) {
            // `x[] = {1, 2}` is as long as its initialiser.
            ([None], Some(element)) if declarator.initial.is_some() => declarator
                .initial
                .as_ref()
                .map(|values| values.len() as u64 * u64::from(element)),
            (_, Some(element)) => declarator.bytes(element),
            _ => None,
        };
        let space = match declaration.space {
            StorageSpace::Constant | StorageSpace::Parameter => Space::Constant,
            StorageSpace::Shared => Space::Shared,
            StorageSpace::Local => Space::Local,
            _ => Space::Global,
        };
        let initial = initial_bytes(declaration, declarator, size);
        let definition = Definition {
            opaque: initial.is_none() && declarator.initial.is_some(),
            ..Definition::default()
        };
        let symbol = self.b.symbol(SymbolData {
            name: declarator.name.text.clone(),
            space,
            kind,
            size: size.and_then(|size| u32::try_from(size).ok()),
            align: declaration.align.or(element).unwrap_or(8),
            read_only: space == Space::Constant || kind != SymbolKind::Memory,
            initial,
            resource_array: None,
            definition,
        });
        self.symbols.insert(key, symbol);
        symbol
    }

    pub(super) fn new_parameter(&mut self, bytes: u32, element: Type) -> usize {
        self.parameters.push(Parameter {
            bytes,
            element,
            cells: Vec::new(),
        });
        self.parameters.len() - 1
    }

    /// Writes an integer at an offset. Cells that it touches are split so that their other bytes stay.
    pub(super) fn write_cell(&mut self, parameter: usize, offset: u32, value: Value) {
        let width = self.b.function.ty(value).bytes();
        let cells = &self.parameters[parameter].cells;
        let exact = cells
            .iter()
            .find(|cell| cell.offset == offset && cell.width == width);
        if let Some(cell) = exact {
            self.b.write(cell.slot, value);
            return;
        }
        let touched: SmallVec<[Cell; 4]> = cells
            .iter()
            .filter(|cell| cell.offset < offset + width && offset < cell.offset + cell.width)
            .copied()
            .collect();
        for cell in &touched {
            // Bytes outside the write survive as cells of one byte.
            let outside = (cell.offset..cell.offset + cell.width)
                .filter(|at| !(offset..offset + width).contains(at));
            let old = self.b.read(cell.slot);
            let parts: SmallVec<[(u32, Value); 8]> = outside
                .map(|at| (at, self.extract(old, at - cell.offset, 1)))
                .collect();
            self.parameters[parameter]
                .cells
                .retain(|other| other.offset != cell.offset);
            for (at, part) in parts {
                self.new_cell(parameter, at, part);
            }
        }
        self.new_cell(parameter, offset, value);
    }
    fn new_cell(&mut self, parameter: usize, offset: u32, value: Value) {
        let ty = self.b.function.ty(value);
        let slot = self.b.slot(ty);
        self.b.write(slot, value);
        let cells = &mut self.parameters[parameter].cells;
        let at = cells.partition_point(|cell| cell.offset < offset);
        cells.insert(
            at,
            Cell {
                offset,
                width: ty.bytes(),
                slot,
            },
        );
    }
    /// Reads an integer of `ty`; bytes never written are undefined.
    pub(super) fn read_cell(&mut self, parameter: usize, offset: u32, ty: Type) -> Value {
        let width = ty.bytes();
        let cells = &self.parameters[parameter].cells;
        let touched: SmallVec<[Cell; 8]> = cells
            .iter()
            .filter(|cell| cell.offset < offset + width && offset < cell.offset + cell.width)
            .copied()
            .collect();
        match touched[..] {
            [] => self.b.undef(ty),
            [cell] if cell.offset == offset && cell.width == width => self.b.read(cell.slot),
            [cell] if cell.offset <= offset && offset + width <= cell.offset + cell.width => {
                let value = self.b.read(cell.slot);
                self.extract(value, offset - cell.offset, width)
            }
            _ => {
                let mut whole = self.b.int(ty, 0);
                for cell in touched {
                    let from = cell.offset.max(offset);
                    let to = (cell.offset + cell.width).min(offset + width);
                    let value = self.b.read(cell.slot);
                    // Bytewise when the part is no integer type's size.
                    let step = if (to - from).is_power_of_two() {
                        to - from
                    } else {
                        1
                    };
                    for at in (from..to).step_by(step as usize) {
                        let part = self.extract(value, at - cell.offset, step);
                        let part = self.resize(part, ty, false);
                        let amount = self.b.int(Type::I32, i64::from((at - offset) * 8));
                        let part = self.b.binary(BinaryOp::Shl, Wrap::MAY, part, amount);
                        whole = self.b.binary(BinaryOp::Or, Wrap::MAY, whole, part);
                    }
                }
                whole
            }
        }
    }
    /// Forgets the content and gives the variable new values, in memory order.
    pub(super) fn set_parameter(&mut self, parameter: usize, values: &[Value]) {
        self.parameters[parameter].cells.clear();
        let mut offset = 0;
        for &value in values {
            let value = self.as_integer(value);
            let width = self.b.function.ty(value).bytes();
            self.new_cell(parameter, offset, value);
            offset += width;
        }
    }
    /// Bytes `at` to `at + width` of an integer.
    fn extract(&mut self, value: Value, at: u32, width: u32) -> Value {
        let amount = self.b.int(Type::I32, i64::from(at * 8));
        let shifted = if at == 0 {
            value
        } else {
            self.b
                .binary(BinaryOp::ShrUnsigned, Wrap::MAY, value, amount)
        };
        self.resize(shifted, Type::int(width * 8), false)
    }
    /// The types that a parameter variable's content has when nothing better is known.
    pub(super) fn parameter_types(&self, parameter: usize) -> Vec<Type> {
        let Parameter { bytes, element, .. } = self.parameters[parameter];
        if bytes == element.bytes() {
            return vec![element];
        }
        let ty = match bytes % 4 {
            0 if element.bytes() < 4 => Type::I32,
            _ => element,
        };
        vec![ty; (bytes / ty.bytes()).min(1024) as usize]
    }
}

fn initial_bytes(
    declaration: &VariableDeclaration,
    declarator: &Declarator,
    size: Option<u64>,
) -> Option<Vec<u8>> {
    let values = declarator.initial.as_ref()?;
    let size = size.filter(|&size| size <= MAX_INITIAL)? as usize;
    let width = types::scalar(&declaration.type_name)?.container().bytes() as usize;
    let mut bytes = Vec::with_capacity(size);
    for value in values {
        let bits = match value {
            Operand::Integer(value, _) => *value as u64,
            Operand::Float32(bits, _) => u64::from(*bits),
            Operand::Float64(bits, _) if width == 4 => {
                u64::from((f64::from_bits(*bits) as f32).to_bits())
            }
            Operand::Float64(bits, _) => *bits,
            // Addresses of other symbols have no number yet.
            _ => return None,
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..width.min(8)]);
    }
    bytes.resize(size, 0);
    Some(bytes)
}
