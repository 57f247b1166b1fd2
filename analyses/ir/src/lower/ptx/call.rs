//! Branches, returns and calls.

use super::scope::{Frame, Label, Named, Register};
use super::*;

impl<'a> Lowering<'a> {
    pub(super) fn control(&mut self, i: &'a Instruction) -> Done {
        match i.opcode.text.as_str() {
            "bra" => self.bra(i),
            "brx" => self.brx(i),
            "call" => self.under_guard(|this| this.call(i)),
            "ret" => self.under_guard(|this| {
                this.function_return();
                Some(())
            }),
            ends => {
                let terminator = match ends {
                    "trap" => Terminator::Trap,
                    _ => Terminator::Kill,
                };
                self.under_guard(|this| {
                    this.b.terminate(terminator, BranchKind::Implied);
                    Some(())
                })
            }
        }
    }

    /// Makes the instruction's guard a branch around the code that `inner` lowers.
    fn under_guard(&mut self, inner: impl FnOnce(&mut Self) -> Done) -> Done {
        let Some(guard) = self.guard.take() else {
            return inner(self);
        };
        let then = self.b.create_block();
        let after = self.b.create_block();
        if guard.negated {
            self.b.branch(guard.value, after, then, BranchKind::Jump);
        } else {
            self.b.branch(guard.value, then, after, BranchKind::Jump);
        }
        self.b.switch_to(then);
        let done = inner(self);
        self.b.jump(after);
        self.b.switch_to(after);
        done
    }

    fn target(&mut self, name: &Name) -> Option<Block> {
        if let Some(Label::Block(block)) = self.label(&name.text) {
            return Some(block);
        }
        self.report(name.span, format!("no label `{}` here", name.text));
        self.b
            .note_unknown(format!("a branch to `{}`, which is not here", name.text));
        None
    }

    fn bra(&mut self, i: &'a Instruction) -> Done {
        let Some(Operand::Name(name)) = i.operands.first() else {
            return None;
        };
        let Some(target) = self.target(name) else {
            // Where it leads is not known; what follows may be reached.
            return Some(());
        };
        let Some(guard) = self.guard.take() else {
            self.b.jump(target);
            return Some(());
        };
        let after = self.b.create_block();
        let (then, otherwise) = if guard.negated {
            (after, target)
        } else {
            (target, after)
        };
        let terminator = Terminator::Branch {
            condition: guard.value,
            then: Edge::to(then),
            otherwise: Edge::to(otherwise),
            uniform: i.has("uni"),
        };
        self.b.terminate(terminator, BranchKind::Jump);
        self.b.switch_to(after);
        Some(())
    }

    /// `brx.idx index, table;`
    fn brx(&mut self, i: &'a Instruction) -> Done {
        let [index, Operand::Name(table), ..] = &i.operands[..] else {
            return None;
        };
        let Some(Label::Table(names)) = self.label(&table.text) else {
            return None;
        };
        let mut blocks = Vec::with_capacity(names.len());
        for name in names {
            blocks.push(self.target(name)?);
        }
        // An index past the table is undefined behaviour; the last entry stands for it.
        let default = *blocks.last()?;
        let value = self.read(index, Type::I32, false);
        self.under_guard(|this| {
            let cases = blocks
                .iter()
                .enumerate()
                .map(|(number, &block)| (number as i64, Edge::to(block)))
                .collect();
            this.b.terminate(
                Terminator::Switch {
                    value,
                    cases,
                    default: Edge::to(default),
                },
                BranchKind::Switch,
            );
            Some(())
        })
    }

    /// `ret`, and the end of a body.
    pub(super) fn function_return(&mut self) {
        if self.b.is_terminated() {
            return;
        }
        if let Some(after) = self.frames.last().and_then(|frame| frame.after) {
            self.b.jump(after);
            return;
        }
        let mut values = Vec::new();
        let mut types = Vec::new();
        for number in self.returns.clone() {
            let mut offset = 0;
            for ty in self.parameter_types(number) {
                let value = self.read_cell(number, offset, Type::int(ty.bits()));
                values.push(self.resize(value, ty, false));
                offset += ty.bytes();
                types.push(ty);
            }
        }
        self.b.function.returns = types;
        self.b.ret(values);
    }

    fn call(&mut self, i: &'a Instruction) -> Done {
        let mut operands = i.operands.iter();
        let first = operands.next()?;
        let (results, callee) = match first {
            Operand::List(results, _) => (&results[..], operands.next()?),
            callee => (&[][..], callee),
        };
        let arguments: &[Operand] = match operands.next() {
            Some(Operand::List(arguments, _)) => arguments,
            _ => &[],
        };
        let Operand::Name(name) = callee else {
            return None;
        };
        let declared = self.functions.get(name.text.as_str()).copied();
        let Some(declared) = declared else {
            let mut args = Vec::new();
            let name = if self.lookup(&name.text).is_some() {
                self.registers_in(callee, &mut args);
                SmolStr::new_static("call through a register")
            } else if let Some((_, target)) = self
                .unit
                .declarations
                .aliases
                .iter()
                .find(|(alias, _)| *alias == name.text)
            {
                target.clone()
            } else {
                self.report(name.span, format!("`{}` is not declared", name.text));
                name.text.clone()
            };
            return self.call_unknown(name, args, arguments, results);
        };
        let (key, signature, has_body) = &self.unit.declarations.functions[declared];
        let recursive = self
            .frames
            .iter()
            .any(|frame| frame.function.name.text == name.text);
        let definition = if *has_body && !recursive {
            (self.unit.definition)(key)
        } else {
            None
        };
        let fits = signature.parameters.len() == arguments.len()
            && signature.returns.len() == results.len();
        match definition {
            Some(function)
                if fits
                    && function.body.is_some()
                    && self.frames.len() <= MAX_DEPTH
                    && self.inlined + function.statements().len() <= MAX_INLINED =>
            {
                self.inlined += function.statements().len();
                self.inline(key, function, arguments, results);
                Some(())
            }
            _ => self.call_unknown(name.text.clone(), Vec::new(), arguments, results),
        }
    }

    fn call_unknown(
        &mut self,
        name: SmolStr,
        mut args: Vec<Value>,
        arguments: &[Operand],
        results: &[Operand],
    ) -> Done {
        for argument in arguments {
            match self.parameter_of(argument) {
                Some(number) => {
                    let cells = self.parameters[number].cells.clone();
                    for cell in cells {
                        let ty = Type::int(cell.width * 8);
                        let value = self.read_cell(number, cell.offset, ty);
                        args.push(value);
                    }
                }
                None => self.registers_in(argument, &mut args),
            }
        }
        let mut types = Vec::new();
        for result in results {
            match self.parameter_of(result) {
                Some(number) => types.extend(self.parameter_types(number)),
                None => types.extend(self.result_places(result).iter().map(|&(_, ty)| ty)),
            }
        }
        let op = Op::CallUnknown {
            name,
            pure: false,
            convention: Default::default(),
        };
        let inst = self.b.inst(op, &args, &types);
        let values: Vec<Value> = self.b.results(inst).to_vec();
        let mut values = values.into_iter();
        for result in results {
            match self.parameter_of(result) {
                Some(number) => {
                    let count = self.parameter_types(number).len();
                    let mine: Vec<Value> = values.by_ref().take(count).collect();
                    self.set_parameter(number, &mine);
                }
                None => {
                    for (place, _) in self.result_places(result) {
                        if let Some(value) = values.next() {
                            self.write(place, value, false);
                        }
                    }
                }
            }
        }
        Some(())
    }

    fn parameter_of(&mut self, operand: &Operand) -> Option<usize> {
        let Operand::Name(name) = operand else {
            return None;
        };
        match self.lookup(&name.text)? {
            Named::Parameter(number) => Some(number),
            _ => None,
        }
    }

    fn inline(
        &mut self,
        key: &ItemKey,
        function: &'a PtxFunction,
        arguments: &[Operand],
        results: &[Operand],
    ) {
        let call = self.b.loc();
        let parent = self.site();
        // Formal names stand for what the caller passes; registers are copied.
        let mut formals: Vec<(SmolStr, Named)> = Vec::new();
        let mut passed: Vec<(SmolStr, SmallVec<[Value; 1]>)> = Vec::new();
        let mut copied_back: Vec<(Register, &Operand)> = Vec::new();
        let mut loaded_back: Vec<(usize, Type, &Operand)> = Vec::new();
        for (formal, argument) in function.parameters.iter().zip(arguments) {
            let Some(declarator) = formal.declarators.first() else {
                continue;
            };
            let ty = types::scalar(&formal.type_name).map_or(Type::I64, types::Scalar::container);
            let named = match self.parameter_of(argument) {
                Some(number) => {
                    let cells = self.parameters[number].cells.clone();
                    let values = cells
                        .iter()
                        .map(|cell| self.read_cell(number, cell.offset, Type::int(cell.width * 8)))
                        .collect();
                    passed.push((declarator.name.text.clone(), values));
                    Named::Parameter(number)
                }
                None => {
                    let value = self.read(argument, ty, false);
                    passed.push((declarator.name.text.clone(), SmallVec::from_slice(&[value])));
                    if formal.space == StorageSpace::Register {
                        let register = self.formal_register(formal, declarator, ty);
                        self.b.write(register.slots[0], value);
                        Named::Register(register)
                    } else {
                        let number = self.new_parameter(ty.bytes(), ty);
                        let value = self.as_integer(value);
                        self.write_cell(number, 0, value);
                        Named::Parameter(number)
                    }
                }
            };
            formals.push((declarator.name.text.clone(), named));
        }
        for (formal, result) in function.returns.iter().zip(results) {
            let Some(declarator) = formal.declarators.first() else {
                continue;
            };
            let ty = types::scalar(&formal.type_name).map_or(Type::I64, types::Scalar::container);
            let named = match self.parameter_of(result) {
                Some(number) => {
                    // What an earlier call left there does not survive.
                    self.parameters[number].cells.clear();
                    Named::Parameter(number)
                }
                None if formal.space == StorageSpace::Register => {
                    let register = self.formal_register(formal, declarator, ty);
                    copied_back.push((register.clone(), result));
                    Named::Register(register)
                }
                None => {
                    let number = self.new_parameter(ty.bytes(), ty);
                    loaded_back.push((number, Type::int(ty.bytes() * 8), result));
                    Named::Parameter(number)
                }
            };
            formals.push((declarator.name.text.clone(), named));
        }
        let site = self.b.push_site(SiteData {
            item: Some(key.clone()),
            callee: function.name.text.clone(),
            call,
            parent: Some(parent),
            arguments: passed,
        });
        let after = self.b.create_block();
        let carry = self.carry.take();
        let guard = self.guard.take();
        let mut frame = Frame::new(function, site, Some(after));
        for (name, named) in formals {
            frame.declare(name, named);
        }
        self.frames.push(frame);
        self.body();
        self.function_return();
        self.frames.pop();
        self.carry = carry;
        self.guard = guard;
        self.b.switch_to(after);
        self.b.set_loc(call);
        for (register, result) in copied_back {
            let value = self.b.read(register.slots[0]);
            self.write(result, value, false);
        }
        for (number, ty, result) in loaded_back {
            let value = self.read_cell(number, 0, ty);
            self.write(result, value, false);
        }
    }

    fn formal_register(
        &mut self,
        formal: &VariableDeclaration,
        declarator: &Declarator,
        ty: Type,
    ) -> Register {
        let slot = self.b.slot(ty);
        let loc = self.b.loc();
        Register {
            slots: SmallVec::from_slice(&[slot]),
            variable: self.b.variable(
                declarator.name.text.clone(),
                format!(".{}", formal.type_name),
                VariableKind::Register,
                loc,
            ),
        }
    }
}
