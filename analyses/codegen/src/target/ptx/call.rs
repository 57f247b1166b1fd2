//! Calls of functions of the module, of the device library and of other modules.

use super::emit::{Emitter, External, function_name, passed, returned, returned_place};
use ir::*;

impl Emitter<'_> {
    pub(super) fn call(&mut self, data: &InstData, callee: u32) {
        let name = function_name(self.module, callee as usize);
        self.call_named(&name, &data.args, &data.results);
    }

    /// A call of a function that another module defines.
    pub(super) fn call_external(&mut self, name: &str, args: &[Value], results: &[Value]) {
        let types = |list: &[Value]| list.iter().map(|&v| self.ty(v)).collect::<Vec<_>>();
        let mut external = External {
            name: name.into(),
            results: types(results),
            arguments: types(args),
        };
        // One name may have several types; PTX has no overloads.
        let mut number = 2;
        while self
            .externals
            .iter()
            .any(|known| known.name == external.name && *known != external)
        {
            external.name = smol_str::format_smolstr!("{name}_{number}");
            number += 1;
        }
        let name = external.name.clone();
        if !self.externals.contains(&external) {
            self.externals.push(external);
        }
        self.call_named(&name, args, results);
    }

    fn call_named(&mut self, callee_name: &str, args: &[Value], call_results: &[Value]) {
        let number = self.calls;
        self.calls += 1;
        let guard = std::mem::take(&mut self.guard);
        if !guard.is_empty() {
            // A guarded call is a branch around it: its parameters are not stored either.
            let inverse = match guard.strip_prefix("@!") {
                Some(p) => format!("@{p}"),
                None => guard.replacen('@', "@!", 1),
            };
            self.plain(format_args!("{inverse}bra $C{number}"));
        }
        self.raw("\t{");
        let mut arguments = Vec::new();
        for (at, &value) in args.iter().enumerate() {
            self.plain(passed(self.ty(value), &format!("arg{at}")));
            self.store_parameter(value, &format!("arg{at}"));
            arguments.push(format!("arg{at}"));
        }
        let types: Vec<Type> = call_results.iter().map(|&v| self.ty(v)).collect();
        let results_list = if types.is_empty() {
            String::new()
        } else {
            self.plain(returned(&types, "returned"));
            "(returned), ".to_owned()
        };
        self.plain(format_args!(
            "call {results_list}{callee_name}, ({})",
            arguments.join(", ")
        ));
        for (at, &value) in call_results.iter().enumerate() {
            if self.needed.value(value) {
                let place = returned_place(call_results.len(), at, "returned");
                self.load_parameter(value, &place, false);
            }
        }
        self.raw("\t}");
        if !guard.is_empty() {
            self.label(format_args!("$C{number}"));
            self.forget_constants();
        }
    }
}
