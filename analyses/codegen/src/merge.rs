//! Modules of several items as one, so that they become one text.

use ir::Module;

/// Several modules as one: functions that are the same are there once.
#[must_use]
pub fn merged<'m>(modules: impl IntoIterator<Item = &'m Module>) -> Module {
    merge(modules).0
}

/// Returns the module, and for each given one the numbers that its functions have there.
pub(crate) fn merge<'m>(
    modules: impl IntoIterator<Item = &'m Module>,
) -> (Module, Vec<Vec<usize>>) {
    let mut out = Module::default();
    let mut parts = Vec::new();
    for module in modules {
        let numbers: Vec<(u32, bool)> = module
            .functions
            .iter()
            .map(|function| {
                let same = |it: &ir::Function| {
                    it.name == function.name
                        && it.returns == function.returns
                        && it.span == function.span
                        && it.parameters.len() == function.parameters.len()
                };
                match out.functions.iter().position(same) {
                    Some(known) => (known as u32, false),
                    None => {
                        // Its calls are numbered when all have their numbers.
                        out.functions.push(function.clone());
                        (out.functions.len() as u32 - 1, true)
                    }
                }
            })
            .collect();
        for &(number, taken) in &numbers {
            // If the function was there already, from this module or an earlier one, the copy that stays has
            // its numbers, and its instructions are not those of the other copy: a function that calls itself
            // is twice in its module.
            if !taken {
                continue;
            }
            let own = &mut out.functions[number as usize];
            for inst in own.insts.keys() {
                if let ir::Op::Call(callee) = own.insts[inst].op
                    && let Some(&(callee, _)) = numbers.get(callee as usize)
                {
                    own.insts[inst].op = ir::Op::Call(callee);
                }
            }
        }
        parts.push(numbers.iter().map(|&(number, _)| number as usize).collect());
    }
    (out, parts)
}
