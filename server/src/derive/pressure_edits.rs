//! Kernels of CUDA and HLSL rewritten so that fewer registers are live at the peak: the edits, checked, and
//! the estimates of the kernel before and after them. Computed where an author asks for it: on a variable
//! that is live at the peak, for that variable; on the head of the kernel and on the line of the peak, for
//! all that have the same remedy.

use super::budget::Budget;
use super::costs::{self, Costs};
use super::parts::{Part, parts};
use super::pressure::{limits, outer};
use super::registers;
use super::versions::{understood, whole_warps, with_source};
use crate::db::{self, Db, File, Item};
use crate::program::{self, Language};
use codegen::contract::contracted;
use codegen::machine::estimate::estimate;
use codegen::machine::files::RegisterFiles;
use codegen::specialize::source::pressure::{
    Kernel, Kind, Refusal, Rewriting, Subject, check, either, rewrite, subjects, variable_at,
};
use codegen::specialize::source::{Source, function_at};
use facts::pressure::{LiveVariable, Remedy};
use facts::{Code, Finding, assess};
use ir::lower::c_family::Lowered;
use ir::{Function, FunctionKind, Site};
use smol_str::SmolStr;
use std::borrow::Cow;
use syntax::{FileId, Span};

/// An edit that was tried.
#[derive(Clone, PartialEq, Debug)]
pub struct Tried {
    pub kind: Kind,
    /// The kernel.
    pub kernel: SmolStr,
    /// The variable at the cursor; `None`: all of the kernel that have the remedy.
    pub variable: Option<SmolStr>,
    pub result: Result<Proposal, Declined>,
}

/// Edits of the file that passed the checks, and their estimated effects.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    pub names: Vec<SmolStr>,
    /// Absolute.
    pub edits: Vec<(Span, String)>,
    pub before: Estimated,
    pub after: Estimated,
    pub budget: Option<Budget>,
    /// Bytes of shared memory of a workgroup that are added.
    pub shared: u32,
    pub may_be_undone: bool,
    pub divides: bool,
    /// The kernel exceeds its budget by more than the estimate's error, or an assembler has seen it spill.
    pub certain: bool,
    /// Rules that find something they did not find before.
    pub findings: Vec<Code>,
}

/// The estimates of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimated {
    /// Words that are live at the peak.
    pub live: u32,
    /// Registers without which values are spilled.
    pub needed: u32,
    /// The cycles of a warp.
    pub cycles: f64,
    /// Percent of the warps of a multiprocessor.
    pub occupancy: Option<f64>,
}

/// The reason why an edit is not offered.
#[derive(Clone, PartialEq, Debug)]
pub enum Declined {
    Refused(Refusal),
    /// Helper lanes take no part in a broadcast, and a derivative reads its result in them.
    Derivative,
    /// There is no reason for the kernel to need less.
    Enough {
        registers: u32,
        budget: Option<Budget>,
    },
    /// The estimate sees no register less.
    NoGain {
        before: u32,
        after: u32,
    },
    /// Fewer warps would fit.
    Occupancy {
        before: f64,
        after: f64,
    },
}

/// The edits that can be tried at a place of a file.
pub fn at(db: &dyn Db, file: File, range: Span) -> Vec<Tried> {
    let mut found = Vec::new();
    if !matches!(file.language(db), Language::Cuda | Language::Hlsl) {
        return found;
    }
    let Some((place, item)) = program::item_at(db, file, range.start) else {
        return found;
    };
    if place.file != FileId::MAIN || !item.holds(db).code {
        return found;
    }
    let parsed = db::parsed(db, item);
    let inside = range.start.saturating_sub(place.start);
    let Some(function) = function_at(parsed, inside) else {
        return found;
    };
    let all = parts(db, item);
    let own = |part: &&Part<'_>| {
        let lowered = part.function;
        matches!(lowered.kind, FunctionKind::Kernel | FunctionKind::Stage(_))
            && lowered.span.start <= function.span.start
            && function.span.end <= lowered.span.end
    };
    let instances: Vec<&Part<'_>> = all.iter().filter(own).collect();
    let need = |part: &&&Part<'_>| costs::of_function(db, item, part.function)?.registers;
    let Some(part) = instances.iter().max_by_key(need) else {
        return found;
    };
    let looked = Looked::new(db, file, item, part, &instances);
    let Some(looked) = looked else {
        return found;
    };
    let Some(wanted) = looked.wanted(function, inside, range) else {
        return found;
    };
    // A kernel that has what it needs is not told that nothing can be done for it.
    if matches!(wanted, Wanted::All) && looked.is_wanted().is_err() {
        return found;
    }
    with_source(db, file, item, place, parsed, |source| {
        for kind in Kind::ALL {
            let chosen = looked.subjects(&wanted, kind);
            let of_variable = matches!(wanted, Wanted::Variable(..));
            if chosen.is_empty() != kind.is_of_loop() && (chosen.is_empty() || of_variable) {
                continue;
            }
            found.push(Tried {
                kind,
                kernel: looked.function.name.clone(),
                variable: match &wanted {
                    Wanted::Variable(_, name) => Some(name.clone()),
                    Wanted::All => None,
                },
                result: looked.tried(source, function, kind, &chosen),
            });
        }
    });
    found
}

/// The meaning of an author's place.
enum Wanted {
    Variable(Span, SmolStr),
    All,
}

/// A kernel that is looked at.
struct Looked<'db> {
    db: &'db dyn Db,
    file: File,
    item: Item<'db>,
    part: Part<'db>,
    function: &'db Function,
    costs: &'db Costs,
    /// The place of the function among those of the item.
    at: usize,
    live: Vec<LiveVariable>,
    subjects: Vec<Subject>,
    peak: Span,
}

impl<'db> Looked<'db> {
    fn new(
        db: &'db dyn Db,
        file: File,
        item: Item<'db>,
        part: &Part<'db>,
        instances: &[&Part<'db>],
    ) -> Option<Looked<'db>> {
        let function = part.function;
        let at = registers::position(db, item, function)?;
        let costs = costs::costs(db, item).get(at)?.as_ref()?;
        let pressure = costs.pressure.as_ref()?;
        let live = registers::live_variables(db, file, function, part.facts, pressure)?;
        let mut all = subjects(function, part.facts);
        for each in &mut all {
            each.live = live
                .iter()
                .any(|live| declared(function, live) == Some(each.declared));
        }
        // What is said of a variable must hold in each instance of a template.
        for other in instances {
            let known = subjects(other.function, other.facts);
            for each in &mut all {
                let there = known.iter().find(|there| there.declared == each.declared);
                each.uniform = there.and_then(|there| there.uniform.min(each.uniform));
                each.interval = either(each.interval, there.and_then(|there| there.interval));
            }
        }
        Some(Looked {
            db,
            file,
            item,
            part: *part,
            function,
            costs,
            at,
            peak: outer(function, pressure.loc)?,
            live,
            subjects: all,
        })
    }

    /// The meaning of a place: a variable that is live at the peak, or the whole kernel.
    fn wanted(
        &self,
        function: &syntax::c_family::ast::Function,
        inside: u32,
        range: Span,
    ) -> Option<Wanted> {
        if inside < function.signature_span.end {
            return range.is_empty().then_some(Wanted::All);
        }
        if let Some(declared) = variable_at(function, inside) {
            let named = self.live.iter().filter_map(|each| each.variable);
            let mut named = named.map(|each| &self.function.variables[each]);
            let found =
                named.find(|each| each.declared.site == Site(0) && each.declared.span == declared);
            if let Some(found) = found {
                return Some(Wanted::Variable(declared, found.name.clone()));
            }
        }
        let start = self.item.place(self.db).start;
        let lines = db::line_index(self.db, self.file);
        let line = |at: u32| lines.line_column(start + at).0;
        (line(inside) == line(self.peak.start)).then_some(Wanted::All)
    }

    /// The variables that an edit is tried on.
    fn subjects(&self, wanted: &Wanted, kind: Kind) -> Vec<Subject> {
        let all = self.subjects.iter();
        match wanted {
            Wanted::Variable(declared, _) => all
                .filter(|each| each.declared == *declared)
                .cloned()
                .collect(),
            Wanted::All => all
                .filter(|each| {
                    self.live.iter().any(|live| {
                        declared(self.function, live) == Some(each.declared)
                            && may(live.remedy, kind)
                    })
                })
                .cloned()
                .collect(),
        }
    }

    fn tried(
        &self,
        source: &Source<'_>,
        function: &syntax::c_family::ast::Function,
        kind: Kind,
        chosen: &[Subject],
    ) -> Result<Proposal, Declined> {
        let certain = self.is_wanted()?;
        let made = rewrite(
            source,
            function,
            kind,
            chosen,
            &self.subjects,
            self.kernel(),
        );
        let made = made.map_err(Declined::Refused)?;
        let refuse = |why: String| Declined::Refused(Refusal::Check(why));
        let after = made
            .applied(source.text)
            .ok_or_else(|| refuse("the edits overlap".into()))?;
        let names: Vec<&str> = made.names.iter().map(SmolStr::as_str).collect();
        check::check(kind, source.text, &after, &names)
            .map_err(|violation| refuse(violation.to_string()))?;
        let rewritten = program::rewritten(self.db, self.item, source, &after)
            .ok_or_else(|| refuse("the function is not found in it".into()))?;
        understood(self.db, self.item, source, &rewritten).map_err(refuse)?;
        let lowered = rewritten.lowered.get(self.at);
        let lowered = lowered.ok_or_else(|| refuse("the function is not found in it".into()))?;
        let (now, findings) = self
            .estimated(lowered)
            .ok_or_else(|| refuse("nothing is known of it".into()))?;
        let before = self.before();
        // What compilers copy when they unroll is in neither number.
        if now.live + least(kind, &made) > before.live || now.needed > before.needed {
            return Err(Declined::NoGain {
                before: before.live,
                after: now.live,
            });
        }
        let added = added(self.part.findings, &findings);
        if kind == Kind::WarpCopy && added.contains(&Code::WaveSensitiveDerivative) {
            return Err(Declined::Derivative);
        }
        if let (Some(old), Some(new)) = (before.occupancy, now.occupancy)
            && new < old
        {
            return Err(Declined::Occupancy {
                before: old,
                after: new,
            });
        }
        Ok(Proposal {
            names: made.names,
            edits: made.edits,
            before,
            after: now,
            budget: self.costs.budget,
            shared: made.shared,
            may_be_undone: made.may_be_undone,
            divides: made.divides,
            certain,
            findings: added,
        })
    }

    /// Returns whether it is certain that values are spilled; an error unless the kernel exceeds its budget
    /// by the count that is known best, or registers limit how many of its warps fit.
    fn is_wanted(&self) -> Result<bool, Declined> {
        let known = registers::of_costs(self.db, self.item, self.at, self.costs);
        let Some(known) = known else {
            return Err(Declined::Refused(Refusal::NoPeak));
        };
        let chosen = known.budget.is_some_and(|budget| budget.reason.is_chosen());
        let over = known.over() > 0 && chosen || known.figure.as_ref().is_some_and(|f| f.spills());
        let limited = known.fit.as_ref().is_some_and(limits);
        match over || limited {
            true => Ok(known.spills()),
            false => Err(Declined::Enough {
                registers: known.count,
                budget: known.budget.filter(|_| chosen),
            }),
        }
    }

    fn kernel(&self) -> Kernel {
        let function = self.function;
        let options = &self.part.facts.options;
        let size = |axis: usize| function.launch.block[axis].or(options.block[axis]);
        let product = (0..3).try_fold(1u32, |all, axis| Some(all.saturating_mul(size(axis)?)));
        Kernel {
            peak: self.peak,
            groups: function.kind == FunctionKind::Kernel,
            threads: product.or(function.launch.max_threads),
            flat: size(1) == Some(1) && size(2) == Some(1),
            warp: function.launch.warp_size.unwrap_or(options.warp_size),
            scalar: self.costs.scalar.is_some(),
            together: whole_warps(self.db, self.item),
        }
    }

    fn live(&self) -> u32 {
        let pressure = self.costs.pressure.as_ref();
        pressure.map_or(0, |pressure| pressure.registers)
    }

    fn before(&self) -> Estimated {
        Estimated {
            live: self.live(),
            needed: self.costs.needed.unwrap_or(0),
            cycles: self.costs.cost.total.cycles,
            occupancy: self.costs.fit.as_ref().map(|fit| fit.found.percent()),
        }
    }

    /// The same of the rewritten kernel, and the findings in it.
    fn estimated(&self, lowered: &Lowered) -> Option<(Estimated, Vec<Finding>)> {
        let function = lowered.module.functions.first()?;
        let options = &self.part.facts.options;
        let (all, findings) = assess(&lowered.module, options);
        let facts = all.first()?;
        let gpu = db::machine(self.db, program::settings(self.db, self.file)).gpu();
        let contracts = program::settings(self.db, self.file)
            .analysis(self.db)
            .contracts();
        let contracted = match contracts {
            true => contracted(function),
            false => Cow::Borrowed(function),
        };
        let files = RegisterFiles::new(function, facts, gpu);
        let counts = files.count(&contracted)?;
        let counted = counts.thread;
        let most = self
            .costs
            .budget
            .map_or(u32::MAX, |budget| budget.registers);
        let fit = costs::fit(function, facts, gpu, counted.within(most), counts.scalar);
        let estimated = Estimated {
            live: files.pressure()?.registers,
            needed: counted.needed,
            cycles: estimate(&contracted, facts, &options.machine, None)
                .total
                .cycles,
            occupancy: fit.map(|fit| fit.found.percent()),
        };
        Some((estimated, findings))
    }
}

/// The name of a live variable in its declaration, in the function's own text.
fn declared(function: &Function, live: &LiveVariable) -> Option<Span> {
    let declared = function.variables[live.variable?].declared;
    (declared.site == Site(0)).then_some(declared.span)
}

/// Returns whether an edit is tried on a variable that the author has not chosen.
fn may(remedy: Remedy, kind: Kind) -> bool {
    match kind {
        // A slot is for what nothing gives again.
        Kind::WarpCopy => matches!(remedy, Remedy::WarpSlot | Remedy::ScalarRegister),
        Kind::Narrow => true,
        _ => remedy != Remedy::Needed,
    }
}

/// Registers of the lanes that an edit must save. Accesses to a slot take addresses, which compilers keep in registers: of public kernels those
/// whose estimate fell by one spilled more with the slot.
const fn least(kind: Kind, made: &Rewriting) -> u32 {
    match kind {
        Kind::WarpCopy if made.shared == 0 => 1,
        Kind::WarpCopy => 2,
        Kind::Recompute | Kind::LoadAgain | Kind::Sink | Kind::Narrow => 1,
        Kind::Unroll => 0,
    }
}

/// Rules that find more than before.
fn added(before: &[Finding], after: &[Finding]) -> Vec<Code> {
    let count = |all: &[Finding], code: Code| all.iter().filter(|each| each.code == code).count();
    let mut out: Vec<Code> = Vec::new();
    for finding in after {
        let code = finding.code;
        if !out.contains(&code) && count(after, code) > count(before, code) {
            out.push(code);
        }
    }
    out
}
