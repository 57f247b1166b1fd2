//! Modules of several items as one, so that they become one text.

use ir::Module;

/// Several modules as one: functions that are the same are there once.
#[must_use]
pub fn merged<'m>(modules: impl IntoIterator<Item = &'m Module>) -> Module {
    let mut out = Module::default();
    for module in modules {
        let before = out.functions.len() as u32;
        let numbers: Vec<u32> = module
            .functions
            .iter()
            .map(|function| {
                let same = |one: &ir::Function| {
                    one.name == function.name
                        && one.returns == function.returns
                        && one.span == function.span
                        && one.parameters.len() == function.parameters.len()
                };
                let known = out.functions.iter().position(same);
                known.unwrap_or_else(|| {
                    // Its calls are numbered when all have their numbers.
                    out.functions.push(function.clone());
                    out.functions.len() - 1
                }) as u32
            })
            .collect();
        for (function, &number) in module.functions.iter().zip(&numbers) {
            // Those that were there have calls with numbers of the whole already.
            if number < before {
                continue;
            }
            let own = &mut out.functions[number as usize];
            for inst in function.insts.keys() {
                if let ir::Op::Call(callee) = function.insts[inst].op
                    && let Some(&callee) = numbers.get(callee as usize)
                {
                    own.insts[inst].op = ir::Op::Call(callee);
                }
            }
        }
    }
    out
}
