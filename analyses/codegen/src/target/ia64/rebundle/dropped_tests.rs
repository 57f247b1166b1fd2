//! Blocks that are packed while a dependence is kept from the packing: the checker of bundles finds the pair wherever it is
//! not respected by chance, and nothing where it is.

use super::{bundles, pack};
use crate::machine;
use crate::target::ia64::bundle::block::Choice;
use crate::target::ia64::bundle::check::{Block, Region};
use crate::target::ia64::bundle::laid::{Laid, Written};
use crate::target::ia64::dependence::{Dependence, data_dependences};
use crate::target::ia64::listing::listing;
use crate::target::ia64::stand::of_block;
use isa::ia64::Inst;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

fn random(rng: &mut StdRng) -> String {
    let mut out = String::new();
    for _ in 0..rng.random_range(3..14) {
        let mut r = || rng.random_range(14..20);
        let (a, b, c) = (r(), r(), r());
        let (f, g) = (a % 4 + 6, b % 4 + 6);
        let (p, q) = (a % 3 + 6, a % 3 + 9);
        let guard = match rng.random_range(0..3) {
            0 => format!("(p{})", rng.random_range(6..12)),
            _ => String::new(),
        };
        let line = match rng.random_range(0..14) {
            0..3 => format!("add r{a} = r{b}, r{c}"),
            3 => format!("adds r{a} = 8, r{b}"),
            4 => format!("shl r{a} = r{b}, r{c}"),
            5 => format!("ld8 r{a} = [r{b}]"),
            6 => format!("st8 [r{b}] = r{c}, 8"),
            7 => format!("cmp.lt p{p}, p{q} = r{b}, r{c}"),
            8 => format!("cmp.eq.unc p{p}, p{q} = r{b}, r{c}"),
            9 => format!("cmp.eq.or p{p}, p{q} = r0, r{c}"),
            10 => format!("fma.d f{f} = f{g}, f{g}, f{f}"),
            11 => format!("fcmp.lt p{p}, p{q} = f{g}, f{f}"),
            12 => format!("mov b6 = r{a}"),
            _ => format!("movl r{a} = 5"),
        };
        out.push_str(&format!("{guard}\t{line}\n"));
    }
    if rng.random_bool(0.5) {
        out.push_str(&format!(
            "(p{})\tbr.cond.sptk b6\n",
            rng.random_range(6..12)
        ));
    }
    out
}

/// The slots and the stops in front of each instruction.
fn stands(laid: &[Laid], count: usize) -> Vec<(usize, usize)> {
    let mut out = vec![(0, 0); count];
    let (mut position, mut group) = (0, 0);
    let slots = laid.iter().flat_map(|piece| match piece {
        Laid::Bundle(_, slots) => slots.clone(),
        Laid::Alone(item, stop) => vec![Written::Instruction(*item, *stop)],
    });
    for slot in slots {
        let (Written::Instruction(_, stop) | Written::Nop(_, stop)) = slot;
        if let Written::Instruction(item, _) = slot {
            out[item] = (position, group);
        }
        position += 1;
        group += usize::from(stop);
    }
    out
}

fn is_respected(dependence: &Dependence, stands: &[(usize, usize)]) -> bool {
    let (from, to) = (
        stands[dependence.from as usize],
        stands[dependence.to as usize],
    );
    let shares = dependence.together || dependence.kind.shares_group();
    from.0 < to.0 && (shares || from.1 < to.1)
}

#[test]
fn a_dependence_that_packing_forgets_is_found() {
    let table = machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("explicit groups");
    let (mut broken, mut kept) = (0, 0);
    for seed in 0..150 {
        let text = random(&mut StdRng::seed_from_u64(seed));
        let listing = listing(&syntax::ia64::parse(&text), &text);
        let insts: Vec<&Inst> = listing.items.iter().map(|item| &item.inst).collect();
        let data = data_dependences(&insts, &[]);
        let all = of_block(&data, 0, &(0..insts.len() as u32), &insts);
        for forgotten in &all {
            let is_same =
                |found: &Dependence| (found.from, found.to) == (forgotten.from, forgotten.to);
            let rest: Vec<Dependence> = all
                .iter()
                .filter(|found| !is_same(found))
                .copied()
                .collect();
            let packed = pack(&insts, &rest, epic, Choice::EagerLazy, 100);
            let laid = bundles(&packed.expect("a packing").groups);
            let stands = stands(&laid, insts.len());
            let is_right = all.iter().all(|found| is_respected(found, &stands));
            let block = Block {
                start: 0,
                end: insts.len(),
                marks: &[],
                cycles: &[],
            };
            let verdict = Region::new(insts.clone(), &[]).check(block, &laid);
            assert_eq!(
                verdict.is_ok(),
                is_right,
                "{text}\n{forgotten:?}\n{laid:?}\n{verdict:?}"
            );
            broken += u32::from(!is_right);
            kept += u32::from(is_right);
        }
    }
    println!("{broken} found, {kept} respected by chance");
    assert!(broken > 300 && kept > 300, "{broken} and {kept}");
}
