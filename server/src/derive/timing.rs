//! The simulator's processor for a machine table: its rules of issue by the units of the table, its caches and its predictor
//! as the table describes them.

use codegen::machine::Table;
use codegen::machine::epic::{CacheTable, PredictorTable};
use codegen::machine::schema::{Issue, SetKey};
use simulate::cache::{Caches, Level};
use simulate::ia64::{BranchUnit, Timing};
use simulate::predictor::{Defines, Design, Direction, Local, MetaSizes, TageSizes};
use simulate::sc140;

/// The same for a processor that issues execution sets. `None`: another kind of table.
pub fn set_timing(table: &Table) -> Option<sc140::Timing> {
    let sets = table.sets()?;
    let of = |key| sets.of(key);
    Some(sc140::Timing {
        name: table.name.to_string(),
        fetch_words: of(SetKey::FetchWords),
        precalculated: of(SetKey::Precalculated),
        mask_register: of(SetKey::MaskRegister),
        mask_memory: of(SetKey::MaskMemory),
        jump: of(SetKey::FlowJump),
        branch: of(SetKey::FlowBranch),
        taken: of(SetKey::FlowTaken),
        not_taken: of(SetKey::FlowNotTaken),
        returns: of(SetKey::FlowReturn),
        return_missed: of(SetKey::FlowReturnMissed),
        loop_jump: of(SetKey::FlowLoop),
        straddle: of(SetKey::Straddle),
        stack_shadow: of(SetKey::StackShadow),
        call_push: of(SetKey::CallPush),
        late_mark: of(SetKey::LateMark),
    })
}

/// Settings of a run as the table has them, where it says more than cycles.
pub fn set_settings(table: &Table) -> sc140::Settings {
    let distance = table.sets().map(|sets| sets.of(SetKey::PairDistance));
    sc140::Settings {
        pair_distance: distance
            .and_then(|distance| u8::try_from(distance).ok())
            .filter(|distance| *distance > 0),
        ..sc140::Settings::default()
    }
}

/// `None`: a table that is not simulated, since it is a GPU's or has other units.
pub fn timing(table: &Table) -> Option<Timing> {
    let epic = table.epic()?;
    let mut timing = Timing::of_units(epic.of(Issue::UnitsM))?;
    timing.name = table.name.to_string();
    timing.caches = epic.caches().as_ref().map(caches);
    timing.branches = epic.predictor().map(|predictor| branches(&predictor));
    Some(timing)
}

fn caches(table: &CacheTable) -> Caches {
    let levels = table.levels.iter().enumerate();
    Caches {
        levels: levels
            .map(|(at, level)| Level {
                sets: level.sets,
                ways: level.ways,
                line: level.line,
                latency: table.later(at),
            })
            .collect(),
        memory: table.later(table.levels.len()),
        float: table.float,
        blocking: table.blocking,
    }
}

fn branches(table: &PredictorTable) -> BranchUnit {
    let entries = table.entries;
    let history = table.history.min(entries);
    let local = match table.local {
        "pep" => Local::Pep,
        "resolved-pep" => Local::ResolvedPep,
        _ => Local::Plain,
    };
    let direction = match table.kind {
        "gshare" => Direction::Gshare(entries),
        "tage" => Direction::Tage(TageSizes {
            base: entries + 3,
            tables: table.tables,
            entries,
            most: table.history.max(TageSizes::default().least),
            ..TageSizes::default()
        }),
        _ => {
            let sizes = MetaSizes {
                histories: entries,
                local: entries,
                global: entries,
                history,
                choosers: entries,
            };
            Direction::Meta(sizes, local)
        }
    };
    BranchUnit {
        design: Design {
            direction,
            squash: table.squash,
            defines: match table.defines {
                "resolved" => Defines::Resolved,
                "repaired" => Defines::Repaired,
                _ => Defines::Never,
            },
            resolve: table.penalty,
            targets: table.targets,
        },
        penalty: table.penalty,
        delay: table.delay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every table within the schema's ranges can be built.
    #[test]
    fn tables_give_designs_that_can_be_built() {
        for kind in ["meta", "gshare", "tage"] {
            for (entries, history, tables) in [(4, 0, 1), (12, 12, 12), (16, 1024, 16)] {
                let text = format!(
                    "kind = \"epic\"\nname = \"mine\"\nbase = \"itanium2\"\n[predictor]\nkind = \"{kind}\"\n\
                     entries = {entries}\nhistory = {history}\ntables = {tables}\npenalty = 1000\ntargets = 20\n"
                );
                let parsed = codegen::machine::load(&text, &codegen::machine::named);
                assert_eq!(parsed.problems, [], "{text}");
                let table = parsed.table.expect("a table");
                let unit = timing(&table).and_then(|timing| timing.branches);
                let unit = unit.expect("a predictor");
                assert_eq!(unit.design.checked(), Ok(unit.design), "{text}");
            }
        }
    }

    #[test]
    fn machines_without_the_sections_are_as_they_were() {
        for (name, known) in [
            ("itanium", Timing::itanium()),
            ("itanium2", Timing::itanium2()),
        ] {
            let table = codegen::machine::named(name).expect(name);
            assert_eq!(timing(&table), Some(known));
        }
        let gpu = codegen::machine::named("sm_80").expect("a GPU");
        assert_eq!(timing(&gpu), None);
    }

    #[test]
    fn the_machine_of_the_paper_has_its_caches() {
        let table = codegen::machine::named("bratt2001").expect("a table");
        let caches = timing(&table).and_then(|timing| timing.caches);
        let caches = caches.expect("caches");
        let first = caches.levels[0];
        assert_eq!(
            (first.sets * first.ways * first.line, first.ways, first.line),
            (32 << 10, 1, 32)
        );
        let second = caches.levels[1];
        assert_eq!(second.sets * second.ways * second.line, 1 << 20);
        assert_eq!(
            (second.latency, caches.memory, caches.blocking),
            (12, 100, false)
        );
    }
}
