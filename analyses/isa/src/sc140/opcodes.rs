//! The table of opcodes: the unit of each, the operands that it takes, what it computes.
//!
//! Delayed forms of jumps and returns (`jmpd`) and the loops' numbers (`doen3`) are no rows of their own: [`Row::of`] finds
//! the row of such a name.
//!
//! Source: Freescale, *SC140 DSP Core Reference Manual*, in excerpts; checked against published listings.

/// The part of the core that executes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// Arithmetic, products, shifts and bit fields of data registers.
    Data,
    /// Address arithmetic, moves and the stack.
    Address,
    /// Bit masks; takes the place of an address unit.
    Mask,
    /// Jumps, calls and returns; takes the place of an address unit.
    Flow,
    /// Hardware loops; takes the place of an address unit.
    Loop,
    /// The processor's state; marks and `nop` take no place.
    Program,
}

/// The row of an opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    pub name: &'static str,
    pub unit: Unit,
    /// Forms, with semicolons between them; the target is last.
    pub operands: &'static str,
    /// The result, or the effect where there is none.
    pub result: &'static str,
}

macro_rules! rows {
    ($($unit:ident { $($name:literal $operands:literal $result:literal;)* })*) => {
        /// All rows, by unit.
        pub static ROWS: &[Row] = &[
            $($(Row { name: $name, unit: Unit::$unit, operands: $operands, result: $result },)*)*
        ];
    };
}

impl Row {
    /// The row of a mnemonic in lower case, with whether it is a delayed form.
    #[must_use]
    pub fn of(mnemonic: &str) -> Option<(&'static Row, bool)> {
        let find = |name: &str| ROWS.iter().find(|row| row.name == name);
        if let Some(row) = find(mnemonic) {
            return Some((row, false));
        }
        if let Some(loop_name) = mnemonic.strip_suffix(['0', '1', '2', '3']) {
            let numbered = find(loop_name).filter(|row| is_numbered(row));
            return numbered.map(|row| (row, false));
        }
        if let Some(memory) = mnemonic.strip_suffix(".w") {
            let on_memory = |row: &&Row| {
                row.unit == Unit::Mask || matches!(row.name, "and" | "or" | "eor" | "not")
            };
            return find(memory).filter(on_memory).map(|row| (row, false));
        }
        let row = find(mnemonic.strip_suffix('d')?)?;
        row.has_delayed_form().then_some((row, true))
    }

    /// Returns true if a form with a `d` behind its name executes the next set first.
    #[must_use]
    pub fn has_delayed_form(&self) -> bool {
        self.unit == Unit::Flow || self.name == "cont"
    }
}

/// Returns true if the number of a loop stands behind the name.
fn is_numbered(row: &Row) -> bool {
    matches!(row.name, "dosetup" | "doen" | "doensh")
}

rows! {
    Data {
        "abs" "Dn" "the absolute value";
        "adc" "Dc,Dd" "Dd + Dc + carry; writes the carry";
        "add" "Da,Db,Dn; #u5,Dn" "the sum; writes the carry";
        "add2" "Da,Dn" "sums of both halves, each on its own";
        "addnc.w" "#s16,Da,Dn" "the sum; leaves the carry alone";
        "adr" "Da,Dn" "Dn + Da, rounded";
        "and" "Da,Dn; #mask,Da,Dn; #u16,X.l" "bitwise and; of a half register by the bit-mask unit";
        "asl" "Da,Dn" "Da shifted left by one; writes the carry";
        "asll" "Da,Dn; #u5,Dn" "Dn shifted left, to the right for a negative count; writes the carry";
        "aslw" "Da,Dn" "Da shifted left by 16";
        "asr" "Da,Dn" "Da shifted right by one, arithmetic; writes the carry";
        "asrr" "Da,Dn; #u5,Dn" "Dn shifted right, arithmetic, to the left for a negative count; writes the carry";
        "asrw" "Da,Dn" "Da shifted right by 16, arithmetic";
        "clb" "Da,Dn" "9 less the number of leading bits that equal the sign: the right shift that normalises to 32 bits";
        "clr" "Dn" "zero";
        "cmpeq" "Da,Dn" "T: Dn equals Da";
        "cmpeq.w" "#u5,Dn; #s16,Dn" "T: Dn equals the number";
        "cmpgt" "Da,Dn" "T: Dn is greater than Da";
        "cmpgt.w" "#u5,Dn; #s16,Dn" "T: Dn is greater than the number";
        "cmphi" "Da,Dn" "T: Dn is greater than Da, without signs";
        "deceq" "Dn" "Dn - 1; T: the result is zero";
        "decge" "Dn" "Dn - 1; T: the result is not negative";
        "div" "Da,Dn" "a step of a division that does not restore; the quotient grows in the low part";
        "dmacss" "Da,Db,Dn" "Dn shifted right by 16, plus the fractional product of the high parts";
        "dmacsu" "Da,Db,Dn" "the same, the second factor an unsigned low part";
        "eor" "Da,Dn; #mask,Da,Dn; #u16,X.l" "bitwise exclusive or; of a half register by the bit-mask unit";
        "extract" "#width,#offset,Da,Dn; Da,Db,Dn" "a bit field, with its sign";
        "extractu" "#width,#offset,Da,Dn; Da,Db,Dn" "a bit field, without a sign";
        "iadd" "Da,Dn" "Dn + Da as integers, never saturating; writes the carry";
        "iaddnc.w" "#s16,Dn" "the integer sum; leaves the carry alone";
        "imac" "Da,Db,Dn" "Dn plus the integer product of the low parts";
        "imaclhuu" "Da,Db,Dn" "Dn plus the product of Da's low and Db's high part, without signs";
        "imacus" "Da,Db,Dn" "Dn plus the product of the low parts, the first without a sign";
        "impy" "Da,Db,Dn" "the integer product of the low parts";
        "impy.w" "#s16,Dn" "the integer product of Dn's low part and the number";
        "impyhluu" "Da,Db,Dn" "the product of Da's high and Db's low part, without signs";
        "impysu" "Da,Db,Dn" "the product of the low parts, the second without a sign";
        "impyuu" "Da,Db,Dn" "the product of the low parts, without signs";
        "inc" "Dn" "Dn + 1";
        "inc.f" "Dn" "Dn + 1 in the high part";
        "insert" "#width,#offset,Da,Dn; Da,Db,Dn" "Da's low bits put into a bit field of Dn";
        "lsll" "Da,Dn" "Dn shifted left, logical";
        "lsr" "Da,Dn" "Da shifted right by one, logical";
        "lsrr" "Da,Dn; #u5,Dn" "Dn shifted right, logical";
        "lsrw" "Da,Dn" "Da shifted right by 16, logical";
        "mac" "[-]Da,Db,Dn; #s16,Da,Dn" "Dn plus (less, with -) twice the product of the high parts: fractional multiply-accumulate";
        "macr" "[-]Da,Db,Dn" "the same, rounded to the high part";
        "macsu" "Da,Db,Dn" "Dn plus the fractional product of Da's high and Db's unsigned low part";
        "macus" "Da,Db,Dn" "Dn plus the fractional product of Da's unsigned low and Db's high part";
        "macuu" "Da,Db,Dn" "Dn plus the fractional product of the unsigned low parts";
        "max" "Dg,Dh" "the greater one; the registers are four apart";
        "max2" "Da,Dn" "the greater one of both halves, each on its own";
        "maxm" "Dg,Dh" "the one of greater magnitude; the registers are four apart";
        "min" "Dg,Dh" "the smaller one; the registers are four apart";
        "mpy" "[-]Da,Db,Dn; #s16,Da,Dn" "twice the product of the high parts: fractional multiply";
        "mpyr" "[-]Da,Db,Dn" "the same, rounded to the high part";
        "mpysu" "Da,Db,Dn" "the fractional product of Da's high and Db's unsigned low part";
        "mpyus" "Da,Db,Dn" "the fractional product of Da's unsigned low and Db's high part";
        "mpyuu" "Da,Db,Dn" "the fractional product of the unsigned low parts";
        "neg" "Dn" "0 - Dn";
        "not" "Da,Dn; X.l" "bitwise complement; of a half register by the bit-mask unit";
        "or" "Da,Dn; #mask,Da,Dn; #u16,X.l" "bitwise or; of a half register by the bit-mask unit";
        "rnd" "Da,Dn" "Da rounded to the high part";
        "rol" "Dn" "rotated left by one through the carry";
        "ror" "Dn" "rotated right by one through the carry";
        "sat.f" "Da,Dn" "clamped to a fraction of 16 bits in the high part";
        "sat.l" "Dn" "clamped to 32 bits";
        "sbc" "Dc,Dd" "Dd - Dc - carry; writes the carry";
        "sbr" "Da,Dn" "Dn - Da, rounded";
        "sub" "Da,Db,Dn; #u5,Dn" "Db - Da, or Dn less the number; writes the carry";
        "sub2" "Da,Dn" "differences of both halves, each on its own";
        "subl" "Da,Dn" "2 Dn - Da";
        "subnc.w" "#s16,Dn" "Dn less the number; leaves the carry alone";
        "sxt.b" "Da,Dn" "the low 8 bits with their sign";
        "sxt.w" "Da,Dn" "the low 16 bits with their sign";
        "sxt.l" "Da,Dn" "the low 32 bits with their sign";
        "tfr" "Da,Dn" "a copy of all 40 bits; computes the limit tag";
        "tfrf" "Da,Dn" "a copy if T is clear";
        "tfrt" "Da,Dn" "a copy if T is set";
        "tsteq" "Dn" "T: Dn is zero";
        "tstge" "Dn" "T: Dn is not negative";
        "tstgt" "Dn" "T: Dn is greater than zero";
        "zxt.b" "Da,Dn" "the low 8 bits without a sign";
        "zxt.w" "Da,Dn" "the low 16 bits without a sign";
        "zxt.l" "Da,Dn" "the low 32 bits without a sign";
    }
    Address {
        "adda" "rx,Rx; #u5,Rx; #s16,rx,Rn" "the sum, as the register's modifier has it";
        "addl1a" "rx,Rx" "Rx + 2 rx, as the register's modifier has it";
        "addl2a" "rx,Rx" "Rx + 4 rx, as the register's modifier has it";
        "asla" "Rx" "shifted left by one";
        "asl2a" "Rx" "shifted left by two";
        "asra" "Rx" "shifted right by one, arithmetic";
        "cmpeqa" "rx,Rx" "T: Rx equals rx";
        "cmpgta" "rx,Rx" "T: Rx is greater than rx";
        "cmphia" "rx,Rx" "T: Rx is greater than rx, without signs";
        "deca" "Rx" "Rx - 1";
        "deceqa" "Rx" "Rx - 1; T: the result is zero";
        "decgea" "Rx" "Rx - 1; T: the result is not negative";
        "inca" "Rx" "Rx + 1";
        "lsra" "Rx" "shifted right by one, logical";
        "suba" "rx,Rx; #u5,Rx" "Rx - rx, as the register's modifier has it";
        "sxta.b" "rx,Rx" "the low 8 bits with their sign";
        "sxta.w" "rx,Rx" "the low 16 bits with their sign";
        "tfra" "rx,Rx" "a copy";
        "tsteqa.l" "Rx" "T: all 32 bits are zero";
        "tsteqa.w" "Rx" "T: the low 16 bits are zero";
        "tstgea.l" "Rx" "T: Rx is not negative";
        "tstgta" "Rx" "T: Rx is greater than zero";
        "zxta.b" "rx,Rx" "the low 8 bits without a sign";
        "zxta.w" "rx,Rx" "the low 16 bits without a sign";
        "movef" "rx,Rn" "a copy if T is clear";
        "movet" "rx,Rn" "a copy if T is set";
        "move.b" "source,target" "8 bits with their sign";
        "moveu.b" "source,target" "8 bits without a sign";
        "move.w" "source,target" "16 bits with their sign";
        "moveu.w" "source,target" "16 bits without a sign";
        "move.l" "source,target" "32 bits with their sign; of an extension, its 8 bits and the limit tag";
        "moveu.l" "source,target" "32 bits without a sign";
        "move.f" "source,target" "16 bits of the high part; a load clears the low part";
        "move.2w" "source,target" "two values of 16 bits, registers from an even one on";
        "move.4w" "source,target" "four values of 16 bits, registers from a multiple of four on";
        "move.2l" "source,target" "two values of 32 bits, registers from an even one on";
        "move.2f" "source,target" "two fractions of 16 bits, registers from an even one on";
        "move.4f" "source,target" "four fractions of 16 bits, registers from a multiple of four on";
        "moves.f" "Dn,memory" "stores the high part, scaled, and limited where the limit tag is set";
        "moves.2f" "Da:Db,memory" "the same of two registers";
        "moves.4f" "Da:Db:Dc:Dd,memory" "the same of four registers";
        "moves.l" "Dn,memory" "stores 32 bits, scaled, and limited where the limit tag is set";
        "push" "register" "onto the stack, which grows upwards; an even and an odd register share 8 bytes";
        "pushn" "register" "the same by the normal stack pointer";
        "pop" "register" "from the stack; an even and an odd register share 8 bytes";
        "popn" "register" "the same by the normal stack pointer";
    }
    Mask {
        "bmset" "#u16,X.l" "sets the bits of the mask";
        "bmclr" "#u16,X.l" "clears the bits of the mask";
        "bmchg" "#u16,X.l" "inverts the bits of the mask";
        "bmtsts" "#u16,X.l" "T: all bits of the mask are set";
        "bmtstc" "#u16,X.l" "T: all bits of the mask are clear";
        "bmtset" "#u16,X.l" "T: all bits of the mask are set; sets them";
    }
    Flow {
        "bra" "label" "a jump relative to the program counter";
        "bsr" "label" "a call relative to the program counter";
        "bt" "label" "a jump if T is set";
        "bf" "label" "a jump if T is clear";
        "jmp" "label; Rn" "a jump";
        "jsr" "label; Rn" "a call: the return address and the status go onto the stack";
        "jt" "label; Rn" "a jump if T is set";
        "jf" "label; Rn" "a jump if T is clear";
        "rts" "" "a return";
        "rtstk" "" "a return whose address is taken from the stack";
        "rte" "" "a return from an exception: the status is restored";
    }
    Loop {
        "dosetup" "label" "the start address of the loop; its number is the last letter";
        "doen" "#count; Rn; Dn" "the counter of a loop of three sets or more, which is enabled";
        "doensh" "#count; Rn; Dn" "the counter of a loop of one or two sets, which is enabled";
        "skipls" "label" "a jump past the loop if its counter is not positive";
        "break" "label" "a jump out of the loop, which is disabled";
        "cont" "label" "the next iteration, or a jump out of the loop behind the last one";
    }
    Program {
        "nop" "" "nothing";
        "mark" "" "tells the debugger of the place";
        "di" "" "disables interrupts";
        "ei" "" "enables interrupts";
        "debug" "" "enters the debug mode";
        "debugev" "" "tells the debugger of an event";
        "illegal" "" "an exception";
        "stop" "" "stops the processor";
        "trap" "" "an exception of the program's own";
        "wait" "" "waits for an interrupt";
        "lpmarka" "" "a loop's mark: at the set of a loop of one, or at the last set of a long loop";
        "lpmarkb" "" "a loop's mark: at the first set of a loop of two, or at the last set but two of a long loop";
    }
}
