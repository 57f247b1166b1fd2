//! Operand lists that the mnemonics of the table take.
//!
//! ```text
//! "{G} = {g}, 77"     add r41 = r7, 77
//! ```
//!
//! A capital letter is a register that is written, a small one a register that is read: `g` general, `f` floating-point, `p`
//! predicate, `b` branch. `{a}` holds an address, `{E}` is of the other parity than `{F}`.

use isa::ia64::{Class, Completer, Mnemonic, Opcode};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Every mnemonic of an opcode.
pub(super) fn mnemonics(opcode: Opcode) -> Vec<String> {
    let mut found = vec![opcode.name().to_owned()];
    let slots = opcode.row().completers.split(' ');
    for slot in slots.filter(|slot| !slot.is_empty()) {
        let alternatives: Vec<&str> = slot.trim_start_matches('?').split('|').collect();
        let with = |name: &String| -> Vec<String> {
            let each = alternatives.iter();
            each.map(|it| format!("{name}.{it}")).collect()
        };
        let longer: Vec<String> = found.iter().flat_map(with).collect();
        match slot.starts_with('?') {
            true => found.extend(longer),
            false => found = longer,
        }
    }
    found
}

const GENERAL: &[&str] = &["{G} = {g}, {g}"];
const LOADED: &[&str] = &["[{a}]", "[{a}], {g}", "[{a}], -8", "[{a}], 255"];

/// Returns true if it is a hint of which levels of the caches are to keep a line.
pub(super) fn is_hint(completer: Completer) -> bool {
    use Completer::{D0, D1, D2, D3, D4, D5, D6, D7, Nt1, Nt2, Nta};
    matches!(
        completer,
        D0 | D1 | D2 | D3 | D4 | D5 | D6 | D7 | Nt1 | Nt2 | Nta
    )
}

/// The operand lists of a mnemonic. Loads that step their base have the hints `nt1` and `nta` alone, stores `nta`.
pub(super) fn operands(mnemonic: Mnemonic) -> Vec<String> {
    let class = mnemonic.row().class;
    let loads = matches!(class, Class::Load | Class::FloatLoad);
    let stores = matches!(class, Class::Store | Class::FloatStore);
    let last = mnemonic
        .completers()
        .last()
        .filter(|&completer| is_hint(completer));
    let with_step = match last {
        Some(Completer::Nta) | None => true,
        Some(Completer::Nt1) => !stores,
        Some(_) => !(loads || stores),
    };
    let mut all = lists(mnemonic);
    all.retain(|it| {
        let stepped = loads && it.contains("}], ")
            || stores && it.ends_with(|end: char| end.is_ascii_digit());
        with_step || !stepped
    });
    all
}

fn lists(mnemonic: Mnemonic) -> Vec<String> {
    use Opcode as O;
    let has = |completer: Completer| mnemonic.has(completer);
    let list = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    let behind = |head: &str, all: &[&str]| all.iter().map(|it| format!("{head}{it}")).collect();
    match mnemonic.opcode() {
        O::Add => list(&["{G} = {g}, {g}", "{G} = {g}, {g}, 1", "{G} = 77, {g}"]),
        O::Sub => list(&["{G} = {g}, {g}", "{G} = {g}, {g}, 1", "{G} = -9, {g}"]),
        O::Adds => list(&["{G} = -8192, {g}"]),
        O::Addl => list(&["{G} = 100000, r3"]),
        O::Shladd | O::Shladdp4 => list(&["{G} = {g}, 1, {g}", "{G} = {g}, 4, {g}"]),
        O::Addp4 => list(&["{G} = {g}, {g}", "{G} = 5, {g}"]),
        O::And | O::Andcm | O::Or | O::Xor => list(&["{G} = {g}, {g}", "{G} = -8, {g}"]),
        O::Mov => moves(mnemonic),
        O::Cmp | O::Cmp4 => {
            let ordered = has(Completer::Eq) || has(Completer::Ne);
            match mnemonic.is_parallel() && !ordered {
                true => list(&["{P}, {Q} = r0, {g}", "{P}, {Q} = {g}, r0"]),
                false => list(&["{P}, {Q} = {g}, {g}", "{P}, {Q} = 5, {g}", "{P} = {g}, {g}"]),
            }
        }
        O::Tbit => list(&["{P}, {Q} = {g}, 5", "{P}, {Q} = {g}, 63"]),
        O::Tnat => list(&["{P}, {Q} = {g}"]),
        O::Tf => list(&["{P}, {Q} = 33"]),
        O::Movl => list(&["{G} = 0x123456789abcdef"]),
        O::Shl | O::Shr => list(&["{G} = {g}, {g}", "{G} = {g}, 13"]),
        O::Shrp => list(&["{G} = {g}, {g}, 21"]),
        O::Extr => list(&["{G} = {g}, 11, 17"]),
        O::Dep if has(Completer::Z) => list(&["{G} = {g}, 20, 30", "{G} = -3, 20, 30"]),
        O::Dep => list(&["{G} = {g}, {g}, 20, 9", "{G} = -1, {g}, 20, 9"]),
        O::Sxt1 | O::Sxt2 | O::Sxt4 | O::Zxt1 | O::Zxt2 | O::Zxt4 => list(&["{G} = {g}"]),
        O::Popcnt | O::Clz | O::Czx1 | O::Czx2 | O::Tak | O::Thash | O::Tpa | O::Ttag => {
            list(&["{G} = {g}"])
        }
        O::Pmpyshr2 => list(&["{G} = {g}, {g}, 7"]),
        O::Mux1 => list(&["{G} = {g}, @rev", "{G} = {g}, @brcst"]),
        O::Mux2 => list(&["{G} = {g}, 0x1b"]),
        O::Pshladd2 | O::Pshradd2 => list(&["{G} = {g}, 2, {g}"]),
        O::Pshl2 | O::Pshl4 | O::Pshr2 | O::Pshr4 => list(&["{G} = {g}, {g}", "{G} = {g}, 5"]),
        O::Ld1 | O::Ld2 | O::Ld4 | O::Ld8 => behind("{G} = ", LOADED),
        O::Ld16 => list(&["{G} = [{a}]", "{G}, ar.csd = [{a}]"]),
        O::St1 | O::St2 | O::St4 | O::St8 => list(&["[{a}] = {g}", "[{a}] = {g}, -8"]),
        O::St16 => list(&["[{a}] = {g}", "[{a}] = {g}, ar.csd"]),
        O::Lfetch if has(Completer::Count) => list(&["[{a}], 3, 64"]),
        O::Lfetch => list(LOADED),
        O::Xchg1 | O::Xchg2 | O::Xchg4 | O::Xchg8 => list(&["{G} = [{a}], {g}"]),
        O::Cmpxchg1 | O::Cmpxchg2 | O::Cmpxchg4 | O::Cmpxchg8 => {
            list(&["{G} = [{a}], {g}, ar.ccv", "{G} = [{a}], {g}"])
        }
        O::Cmp8xchg16 => list(&["{G} = [{a}], {g}, ar.csd, ar.ccv"]),
        O::Fetchadd4 | O::Fetchadd8 => list(&["{G} = [{a}], -4"]),
        O::Ldfs | O::Ldfd | O::Ldf8 | O::Ldfe | O::Ldf => behind("{F} = ", LOADED),
        O::Ldfps => behind("{F}, {E} = ", &["[{a}]", "[{a}], 8"]),
        O::Ldfpd | O::Ldfp8 => behind("{F}, {E} = ", &["[{a}]", "[{a}], 16"]),
        O::Stfs | O::Stfd | O::Stf8 | O::Stfe | O::Stf => list(&["[{a}] = {f}", "[{a}] = {f}, 9"]),
        O::Setf => list(&["{F} = {g}"]),
        O::Getf => list(&["{G} = {f}"]),
        O::Alloc => list(&["{G} = ar.pfs, 8, 80, 8, 8", "{G} = 8, 80, 8, 0"]),
        O::Chk if has(Completer::I) || has(Completer::M) => list(&["{g}, x"]),
        O::Chk => list(&["{g}, x", "{f}, x"]),
        O::Br | O::Brl => match mnemonic.completers().next() {
            Some(Completer::Call) if mnemonic.opcode() == O::Brl => list(&["{B} = x"]),
            Some(Completer::Call) => list(&["{B} = x", "{B} = {b}"]),
            Some(Completer::Ret | Completer::Ia) => list(&["{b}"]),
            Some(
                Completer::Cloop
                | Completer::Ctop
                | Completer::Cexit
                | Completer::Wtop
                | Completer::Wexit,
            ) => list(&["x"]),
            _ if mnemonic.opcode() == O::Brl => list(&["x"]),
            _ => list(&["x", "{b}"]),
        },
        O::Brp if has(Completer::Ret) => list(&["{b}, x"]),
        O::Brp => list(&["x, x"]),
        O::Fma | O::Fms | O::Fnma | O::Fpma | O::Fpms | O::Fpnma | O::Xma | O::Fselect => {
            list(&["{F} = {f}, {f}, {f}"])
        }
        O::Fnorm | O::Fcvt | O::Fpcvt | O::Fabs | O::Fneg | O::Fnegabs => list(&["{F} = {f}"]),
        O::Fpabs | O::Fpneg | O::Fpnegabs => list(&["{F} = {f}"]),
        O::Fcmp => list(&["{P}, {Q} = {f}, {f}"]),
        O::Fclass => list(&["{P}, {Q} = {f}, 0x1c9", "{P}, {Q} = {f}, @nat|@pos|@norm"]),
        O::Frcpa | O::Fprcpa => list(&["{F}, {P} = {f}, {f}"]),
        O::Frsqrta | O::Fprsqrta => list(&["{F}, {P} = {f}"]),
        O::Nop | O::Break => list(&["0"]),
        O::Hint => list(&["@pause"]),
        O::Fsetc => list(&["0, 0x7f"]),
        O::Fchkf => list(&["x"]),
        O::Fclrf | O::Cover | O::Clrrrb | O::Rfi | O::Bsw | O::Epc | O::Vmsw | O::Mf => list(&[""]),
        O::Srlz | O::Sync | O::Fwb | O::Flushrs | O::Loadrs => list(&[""]),
        O::Invala if has(Completer::E) => list(&["{g}", "{f}"]),
        O::Invala => list(&[""]),
        O::Rsm | O::Ssm | O::Sum | O::Rum => list(&["4"]),
        O::Itc | O::Fc => list(&["{g}"]),
        O::Itr if has(Completer::D) => list(&["dtr[{g}] = {g}"]),
        O::Itr => list(&["itr[{g}] = {g}"]),
        O::Ptc if has(Completer::E) => list(&["{g}"]),
        O::Ptc | O::Ptr => list(&["{g}, {g}"]),
        O::Probe if has(Completer::Fault) => list(&["{g}, 3"]),
        O::Probe => list(&["{G} = {g}, {g}", "{G} = {g}, 3"]),
        O::Refused => Vec::new(),
        _ if mnemonic.opcode().row().unit == Some(isa::ia64::Type::F) => list(&["{F} = {f}, {f}"]),
        _ => list(GENERAL),
    }
}

fn moves(mnemonic: Mnemonic) -> Vec<String> {
    let all: &[&str] = match mnemonic.completers().next() {
        None => &[
            "{G} = {g}",
            "{G} = 55",
            "{F} = {f}",
            "{G} = {b}",
            "{B} = {g}",
            "{B} = {g}, x",
            "{G} = pr",
            "pr = {g}",
            "pr = {g}, -2",
            "pr = {g}, 0x1fe",
            "pr.rot = 0x5550000",
            "{G} = ip",
            "{G} = psr",
            "psr.l = {g}",
            "{G} = psr.um",
            "psr.um = {g}",
            "{G} = cr.iva",
            "cr.iva = {g}",
            "{G} = cpuid[{g}]",
            "{G} = rr[{g}]",
            "rr[{g}] = {g}",
        ],
        Some(Completer::I) => &["{G} = ar.pfs", "ar.lc = {g}", "ar.lc = -5", "ar.ec = {g}"],
        Some(Completer::M) => &["{G} = ar.ccv", "ar.unat = {g}", "ar.ccv = -5"],
        Some(_) => &["{B} = {g}, x"],
    };
    let mut all: Vec<String> = all.iter().map(|it| (*it).to_owned()).collect();
    if mnemonic.completers().next().is_none() {
        for name in [
            "k0", "k7", "rsc", "bsp", "bspstore", "rnat", "csd", "ccv", "unat", "fpsr", "itc",
            "pfs", "lc", "ec",
        ] {
            all.push(format!("{{G}} = ar.{name}"));
            if name != "bsp" {
                all.push(format!("ar.{name} = {{g}}"));
            }
        }
    }
    all
}

/// Returns true if a qualifying predicate may stand in front.
pub(super) fn is_predicable(mnemonic: Mnemonic) -> bool {
    use Opcode as O;
    let unconditional = matches!(
        mnemonic.opcode(),
        O::Alloc
            | O::Clrrrb
            | O::Cover
            | O::Rfi
            | O::Bsw
            | O::Epc
            | O::Vmsw
            | O::Flushrs
            | O::Loadrs
            | O::Brp
    );
    let counted = mnemonic.completers().next().is_some_and(|completer| {
        matches!(
            completer,
            Completer::Cloop | Completer::Ctop | Completer::Cexit | Completer::Ia
        )
    });
    !(unconditional || counted && matches!(mnemonic.opcode(), O::Br | O::Brl))
}

/// The way in which registers are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Draw {
    /// All different.
    Apart,
    /// Operands that are read may be others of the instruction, or constants.
    Mixed,
}

/// The operands with registers in them.
pub(super) fn filled(template: &str, draw: Draw, random: &mut StdRng) -> String {
    let mut out = String::new();
    // By file: general, floating-point, predicate, branch.
    let mut taken: [Vec<u8>; 4] = Default::default();
    let mut parts = template.split('{');
    out += parts.next().unwrap_or("");
    let mut first = 0;
    for part in parts {
        let (letter, rest) = part.split_once('}').expect("closed");
        let (file, name, range) = match letter {
            "G" | "g" | "a" => (0, "r", 1..128u8),
            "F" | "f" | "E" => (1, "f", 2..128),
            "P" | "Q" | "p" => (2, "p", 1..64),
            "B" | "b" => (3, "b", 0..8),
            _ => panic!("{letter}"),
        };
        let mut number = loop {
            let number = random.random_range(range.clone());
            let other = letter != "E" || (number ^ first) & 1 == 1;
            if !taken[file].contains(&number) && other {
                break number;
            }
        };
        if letter == "F" {
            first = number;
        }
        if draw == Draw::Mixed && matches!(letter, "g" | "f" | "b") {
            match random.random_range(0..3) {
                0 if file < 2 => number = random.random_range(0..=file as u8),
                1 => number = *taken[file].choose(random).unwrap_or(&number),
                _ => {}
            }
        }
        taken[file].push(number);
        out += &format!("{name}{number}{rest}");
    }
    out
}
