//! The simulator's clock, for re-bundling.

use lockstep_codegen::machine::epic::Epic;
use lockstep_codegen::target::ia64::listing::Listing;
use lockstep_codegen::target::ia64::rebundle::{Clock, WayPart};
use simulate::ia64::{Laid, Stretch, Timing, straight};
use syntax::ia64::Document;

pub(crate) struct SimulatedClock(Timing);

impl SimulatedClock {
    /// None where the processor is not simulated.
    pub(crate) fn of(machine: &Epic) -> Option<SimulatedClock> {
        Timing::of_units(machine.width().m).map(SimulatedClock)
    }
}

impl Clock for SimulatedClock {
    type Laid = Laid;

    fn laid(&self, document: &Document, text: &str, listing: &Listing) -> Laid {
        let items = listing.items.iter();
        let items: Vec<_> = items
            .map(|item| (item.statement, item.inst.clone()))
            .collect();
        Laid::new(document, text, &items)
    }

    fn cycles(&self, way: &[WayPart<'_, Laid>], off: u64) -> u64 {
        let way: Vec<Stretch<'_>> = way
            .iter()
            .map(|part| Stretch {
                laid: part.laid,
                items: part.items.clone(),
                jumps: part.jumps,
            })
            .collect();
        straight(&self.0, &way, off)
    }
}
