//! The clock of the simulator, by which re-bundled blocks are judged.

use codegen::machine::epic::Epic;
use codegen::target::ia64::listing::Listing;
use codegen::target::ia64::rebundle::{Clock, WayPart};
use simulate::ia64::{Laid, Stretch, Timing, straight};
use syntax::ia64::Document;

/// The clock of a processor that is simulated.
#[derive(Debug)]
pub struct SimulatedClock(Timing);

impl SimulatedClock {
    /// Returns none where the processor is not simulated.
    #[must_use]
    pub fn of(machine: &Epic) -> Option<SimulatedClock> {
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
