//! The table of opcodes: the unit of each, the operands that it takes, what becomes of the last of them, the bits of the
//! processor's state that it reads and writes, what it computes.
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

/// The role of the last operand of a form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// It is written, and nothing of it is read.
    Sets,
    /// It is read and written.
    Changes,
    /// It is read alone: there is no target.
    Reads,
}

/// An effect of an opcode on a bit of the processor's state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    WritesCarry,
    /// No source at hand says that it leaves the carry as it is, and related cores do not.
    MayWriteCarry,
    ReadsCarry,
    WritesTruth,
    /// Executes, or writes its target, where T is set, or where it is clear.
    ReadsTruth,
    /// Sets the flag of overflows, which nothing but a write of its register clears.
    Overflows,
}

/// The row of an opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    pub opcode: Opcode,
    pub name: &'static str,
    pub unit: Unit,
    /// Forms, with semicolons between them; the target is last.
    pub operands: &'static str,
    /// The role of the last operand, by form.
    pub targets: &'static [Target],
    pub status: &'static [Status],
    /// The result, or the effect where there is none.
    pub result: &'static str,
}

macro_rules! rows {
    ($($unit:ident {
        $($name:literal $opcode:ident $operands:literal
            [$($target:ident),*] [$($status:ident),*] $result:literal;)*
    })*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Opcode {
            $($($opcode,)*)*
        }

        /// All rows, by unit, in the order of the opcodes.
        pub static ROWS: &[Row] = &[
            $($(Row {
                opcode: Opcode::$opcode,
                name: $name,
                unit: Unit::$unit,
                operands: $operands,
                targets: &[$(Target::$target),*],
                status: &[$(Status::$status),*],
                result: $result,
            },)*)*
        ];
    };
}

impl Opcode {
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
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
        "abs" Abs "Dn" [Changes] [Overflows, MayWriteCarry] "the absolute value";
        "adc" Adc "Dc,Dd" [Changes] [WritesCarry, ReadsCarry, Overflows] "Dd + Dc + carry; writes the carry";
        "add" Add "Da,Db,Dn; #u5,Dn" [Sets, Changes] [WritesCarry, Overflows] "the sum; writes the carry";
        "add2" Add2 "Da,Dn" [Changes] [] "sums of both halves, each on its own";
        "addnc.w" AddncW "#s16,Da,Dn" [Sets] [Overflows] "the sum; leaves the carry alone";
        "adr" Adr "Da,Dn" [Changes] [Overflows] "Dn + Da, rounded";
        "and" And "Da,Dn; #mask,Da,Dn; #u16,X.l" [Changes, Sets, Changes] [] "bitwise and; of a half register by the bit-mask unit";
        "asl" Asl "Da,Dn" [Sets] [WritesCarry, Overflows] "Da shifted left by one; writes the carry";
        "asll" Asll "Da,Dn; #u5,Dn" [Changes, Changes] [WritesCarry, Overflows] "Dn shifted left, to the right for a negative count; writes the carry";
        "aslw" Aslw "Da,Dn" [Sets] [MayWriteCarry] "Da shifted left by 16";
        "asr" Asr "Da,Dn" [Sets] [WritesCarry, Overflows] "Da shifted right by one, arithmetic; writes the carry";
        "asrr" Asrr "Da,Dn; #u5,Dn" [Changes, Changes] [WritesCarry, Overflows] "Dn shifted right, arithmetic, to the left for a negative count; writes the carry";
        "asrw" Asrw "Da,Dn" [Sets] [MayWriteCarry] "Da shifted right by 16, arithmetic";
        "clb" Clb "Da,Dn" [Sets] [] "9 less the number of leading bits that equal the sign: the right shift that normalises to 32 bits";
        "clr" Clr "Dn" [Sets] [] "zero";
        "cmpeq" Cmpeq "Da,Dn" [Reads] [WritesTruth] "T: Dn equals Da";
        "cmpeq.w" CmpeqW "#u5,Dn; #s16,Dn" [Reads, Reads] [WritesTruth] "T: Dn equals the number";
        "cmpgt" Cmpgt "Da,Dn" [Reads] [WritesTruth] "T: Dn is greater than Da";
        "cmpgt.w" CmpgtW "#u5,Dn; #s16,Dn" [Reads, Reads] [WritesTruth] "T: Dn is greater than the number";
        "cmphi" Cmphi "Da,Dn" [Reads] [WritesTruth] "T: Dn is greater than Da, without signs";
        "deceq" Deceq "Dn" [Changes] [WritesTruth, MayWriteCarry] "Dn - 1; T: the result is zero";
        "decge" Decge "Dn" [Changes] [WritesTruth, MayWriteCarry] "Dn - 1; T: the result is not negative";
        "div" Div "Da,Dn" [Changes] [WritesCarry, ReadsCarry, Overflows] "a step of a division that does not restore; the quotient grows in the low part";
        "dmacss" Dmacss "Da,Db,Dn" [Changes] [Overflows] "Dn shifted right by 16, plus the fractional product of the high parts";
        "dmacsu" Dmacsu "Da,Db,Dn" [Changes] [Overflows] "the same, the second factor an unsigned low part";
        "eor" Eor "Da,Dn; #mask,Da,Dn; #u16,X.l" [Changes, Sets, Changes] [] "bitwise exclusive or; of a half register by the bit-mask unit";
        "extract" Extract "#width,#offset,Da,Dn; Da,Db,Dn" [Sets, Sets] [] "a bit field, with its sign";
        "extractu" Extractu "#width,#offset,Da,Dn; Da,Db,Dn" [Sets, Sets] [] "a bit field, without a sign";
        "iadd" Iadd "Da,Dn" [Changes] [WritesCarry] "Dn + Da as integers, never saturating; writes the carry";
        "iaddnc.w" IaddncW "#s16,Dn" [Changes] [] "the integer sum; leaves the carry alone";
        "imac" Imac "Da,Db,Dn" [Changes] [] "Dn plus the integer product of the low parts";
        "imaclhuu" Imaclhuu "Da,Db,Dn" [Changes] [] "Dn plus the product of Da's low and Db's high part, without signs";
        "imacus" Imacus "Da,Db,Dn" [Changes] [] "Dn plus the product of the low parts, the first without a sign";
        "impy" Impy "Da,Db,Dn" [Sets] [] "the integer product of the low parts";
        "impy.w" ImpyW "#s16,Dn" [Changes] [] "the integer product of Dn's low part and the number";
        "impyhluu" Impyhluu "Da,Db,Dn" [Sets] [] "the product of Da's high and Db's low part, without signs";
        "impysu" Impysu "Da,Db,Dn" [Sets] [] "the product of the low parts, the second without a sign";
        "impyuu" Impyuu "Da,Db,Dn" [Sets] [] "the product of the low parts, without signs";
        "inc" Inc "Dn" [Changes] [Overflows, MayWriteCarry] "Dn + 1";
        "inc.f" IncF "Dn" [Changes] [Overflows] "Dn + 1 in the high part";
        "insert" Insert "#width,#offset,Da,Dn; Da,Db,Dn" [Changes, Changes] [] "Da's low bits put into a bit field of Dn";
        "lsll" Lsll "Da,Dn" [Changes] [MayWriteCarry] "Dn shifted left, logical";
        "lsr" Lsr "Da,Dn" [Sets] [MayWriteCarry] "Da shifted right by one, logical";
        "lsrr" Lsrr "Da,Dn; #u5,Dn" [Changes, Changes] [MayWriteCarry] "Dn shifted right, logical";
        "lsrw" Lsrw "Da,Dn" [Sets] [MayWriteCarry] "Da shifted right by 16, logical";
        "mac" Mac "[-]Da,Db,Dn; #s16,Da,Dn" [Changes, Changes] [Overflows] "Dn plus (less, with -) twice the product of the high parts: fractional multiply-accumulate";
        "macr" Macr "[-]Da,Db,Dn" [Changes] [Overflows] "the same, rounded to the high part";
        "macsu" Macsu "Da,Db,Dn" [Changes] [Overflows] "Dn plus the fractional product of Da's high and Db's unsigned low part";
        "macus" Macus "Da,Db,Dn" [Changes] [Overflows] "Dn plus the fractional product of Da's unsigned low and Db's high part";
        "macuu" Macuu "Da,Db,Dn" [Changes] [Overflows] "Dn plus the fractional product of the unsigned low parts";
        "max" Max "Dg,Dh" [Changes] [] "the greater one; the registers are four apart";
        "max2" Max2 "Da,Dn" [Changes] [] "the greater one of both halves, each on its own";
        "maxm" Maxm "Dg,Dh" [Changes] [] "the one of greater magnitude; the registers are four apart";
        "min" Min "Dg,Dh" [Changes] [] "the smaller one; the registers are four apart";
        "mpy" Mpy "[-]Da,Db,Dn; #s16,Da,Dn" [Sets, Sets] [Overflows] "twice the product of the high parts: fractional multiply";
        "mpyr" Mpyr "[-]Da,Db,Dn" [Sets] [Overflows] "the same, rounded to the high part";
        "mpysu" Mpysu "Da,Db,Dn" [Sets] [Overflows] "the fractional product of Da's high and Db's unsigned low part";
        "mpyus" Mpyus "Da,Db,Dn" [Sets] [Overflows] "the fractional product of Da's unsigned low and Db's high part";
        "mpyuu" Mpyuu "Da,Db,Dn" [Sets] [Overflows] "the fractional product of the unsigned low parts";
        "neg" Neg "Dn" [Changes] [Overflows, MayWriteCarry] "0 - Dn";
        "not" Not "Da,Dn; X.l" [Sets, Changes] [] "bitwise complement; of a half register by the bit-mask unit";
        "or" Or "Da,Dn; #mask,Da,Dn; #u16,X.l" [Changes, Sets, Changes] [] "bitwise or; of a half register by the bit-mask unit";
        "rnd" Rnd "Da,Dn" [Sets] [Overflows] "Da rounded to the high part";
        "rol" Rol "Dn" [Changes] [WritesCarry, ReadsCarry] "rotated left by one through the carry";
        "ror" Ror "Dn" [Changes] [WritesCarry, ReadsCarry] "rotated right by one through the carry";
        "sat.f" SatF "Da,Dn" [Sets] [Overflows] "clamped to a fraction of 16 bits in the high part";
        "sat.l" SatL "Dn" [Changes] [Overflows] "clamped to 32 bits";
        "sbc" Sbc "Dc,Dd" [Changes] [WritesCarry, ReadsCarry, Overflows] "Dd - Dc - carry; writes the carry";
        "sbr" Sbr "Da,Dn" [Changes] [Overflows] "Dn - Da, rounded";
        "sub" Sub "Da,Db,Dn; #u5,Dn" [Sets, Changes] [WritesCarry, Overflows] "Db - Da, or Dn less the number; writes the carry";
        "sub2" Sub2 "Da,Dn" [Changes] [] "differences of both halves, each on its own";
        "subl" Subl "Da,Dn" [Changes] [Overflows, MayWriteCarry] "2 Dn - Da";
        "subnc.w" SubncW "#s16,Dn" [Changes] [Overflows] "Dn less the number; leaves the carry alone";
        "sxt.b" SxtB "Da,Dn" [Sets] [] "the low 8 bits with their sign";
        "sxt.w" SxtW "Da,Dn" [Sets] [] "the low 16 bits with their sign";
        "sxt.l" SxtL "Da,Dn" [Sets] [] "the low 32 bits with their sign";
        "tfr" Tfr "Da,Dn" [Sets] [] "a copy of all 40 bits; computes the limit tag";
        "tfrf" Tfrf "Da,Dn" [Sets] [ReadsTruth] "a copy if T is clear";
        "tfrt" Tfrt "Da,Dn" [Sets] [ReadsTruth] "a copy if T is set";
        "tsteq" Tsteq "Dn" [Reads] [WritesTruth] "T: Dn is zero";
        "tstge" Tstge "Dn" [Reads] [WritesTruth] "T: Dn is not negative";
        "tstgt" Tstgt "Dn" [Reads] [WritesTruth] "T: Dn is greater than zero";
        "zxt.b" ZxtB "Da,Dn" [Sets] [] "the low 8 bits without a sign";
        "zxt.w" ZxtW "Da,Dn" [Sets] [] "the low 16 bits without a sign";
        "zxt.l" ZxtL "Da,Dn" [Sets] [] "the low 32 bits without a sign";
    }
    Address {
        "adda" Adda "rx,Rx; #u5,Rx; #s16,rx,Rn" [Changes, Changes, Sets] [] "the sum, as the register's modifier has it";
        "addl1a" Addl1a "rx,Rx" [Changes] [] "Rx + 2 rx, as the register's modifier has it";
        "addl2a" Addl2a "rx,Rx" [Changes] [] "Rx + 4 rx, as the register's modifier has it";
        "asla" Asla "Rx" [Changes] [] "shifted left by one";
        "asl2a" Asl2a "Rx" [Changes] [] "shifted left by two";
        "asra" Asra "Rx" [Changes] [] "shifted right by one, arithmetic";
        "cmpeqa" Cmpeqa "rx,Rx" [Reads] [WritesTruth] "T: Rx equals rx";
        "cmpgta" Cmpgta "rx,Rx" [Reads] [WritesTruth] "T: Rx is greater than rx";
        "cmphia" Cmphia "rx,Rx" [Reads] [WritesTruth] "T: Rx is greater than rx, without signs";
        "deca" Deca "Rx" [Changes] [] "Rx - 1";
        "deceqa" Deceqa "Rx" [Changes] [WritesTruth] "Rx - 1; T: the result is zero";
        "decgea" Decgea "Rx" [Changes] [WritesTruth] "Rx - 1; T: the result is not negative";
        "inca" Inca "Rx" [Changes] [] "Rx + 1";
        "lsra" Lsra "Rx" [Changes] [] "shifted right by one, logical";
        "suba" Suba "rx,Rx; #u5,Rx" [Changes, Changes] [] "Rx - rx, as the register's modifier has it";
        "sxta.b" SxtaB "rx,Rx" [Sets] [] "the low 8 bits with their sign";
        "sxta.w" SxtaW "rx,Rx" [Sets] [] "the low 16 bits with their sign";
        "tfra" Tfra "rx,Rx" [Sets] [] "a copy";
        "tsteqa.l" TsteqaL "Rx" [Reads] [WritesTruth] "T: all 32 bits are zero";
        "tsteqa.w" TsteqaW "Rx" [Reads] [WritesTruth] "T: the low 16 bits are zero";
        "tstgea.l" TstgeaL "Rx" [Reads] [WritesTruth] "T: Rx is not negative";
        "tstgta" Tstgta "Rx" [Reads] [WritesTruth] "T: Rx is greater than zero";
        "zxta.b" ZxtaB "rx,Rx" [Sets] [] "the low 8 bits without a sign";
        "zxta.w" ZxtaW "rx,Rx" [Sets] [] "the low 16 bits without a sign";
        "movef" Movef "rx,Rn" [Sets] [ReadsTruth] "a copy if T is clear";
        "movet" Movet "rx,Rn" [Sets] [ReadsTruth] "a copy if T is set";
        "move.b" MoveB "source,target" [Sets] [] "8 bits with their sign";
        "moveu.b" MoveuB "source,target" [Sets] [] "8 bits without a sign";
        "move.w" MoveW "source,target" [Sets] [] "16 bits with their sign";
        "moveu.w" MoveuW "source,target" [Sets] [] "16 bits without a sign";
        "move.l" MoveL "source,target" [Sets] [] "32 bits with their sign; of an extension, its 8 bits and the limit tag";
        "moveu.l" MoveuL "source,target" [Sets] [] "32 bits without a sign";
        "move.f" MoveF "source,target" [Sets] [] "16 bits of the high part; a load clears the low part";
        "move.2w" Move2w "source,target" [Sets] [] "two values of 16 bits, registers from an even one on";
        "move.4w" Move4w "source,target" [Sets] [] "four values of 16 bits, registers from a multiple of four on";
        "move.2l" Move2l "source,target" [Sets] [] "two values of 32 bits, registers from an even one on";
        "move.2f" Move2f "source,target" [Sets] [] "two fractions of 16 bits, registers from an even one on";
        "move.4f" Move4f "source,target" [Sets] [] "four fractions of 16 bits, registers from a multiple of four on";
        "moves.f" MovesF "Dn,memory" [Sets] [] "stores the high part, scaled, and limited where the limit tag is set";
        "moves.2f" Moves2f "Da:Db,memory" [Sets] [] "the same of two registers";
        "moves.4f" Moves4f "Da:Db:Dc:Dd,memory" [Sets] [] "the same of four registers";
        "moves.l" MovesL "Dn,memory" [Sets] [] "stores 32 bits, scaled, and limited where the limit tag is set";
        "push" Push "register" [Reads] [] "onto the stack, which grows upwards; an even and an odd register share 8 bytes";
        "pushn" Pushn "register" [Reads] [] "the same by the normal stack pointer";
        "pop" Pop "register" [Sets] [] "from the stack; an even and an odd register share 8 bytes";
        "popn" Popn "register" [Sets] [] "the same by the normal stack pointer";
    }
    Mask {
        "bmset" Bmset "#u16,X.l" [Changes] [] "sets the bits of the mask";
        "bmclr" Bmclr "#u16,X.l" [Changes] [] "clears the bits of the mask";
        "bmchg" Bmchg "#u16,X.l" [Changes] [] "inverts the bits of the mask";
        "bmtsts" Bmtsts "#u16,X.l" [Reads] [WritesTruth] "T: all bits of the mask are set";
        "bmtstc" Bmtstc "#u16,X.l" [Reads] [WritesTruth] "T: all bits of the mask are clear";
        "bmtset" Bmtset "#u16,X.l" [Changes] [WritesTruth] "T: all bits of the mask are set; sets them";
    }
    Flow {
        "bra" Bra "label" [Reads] [] "a jump relative to the program counter";
        "bsr" Bsr "label" [Reads] [] "a call relative to the program counter";
        "bt" Bt "label" [Reads] [ReadsTruth] "a jump if T is set";
        "bf" Bf "label" [Reads] [ReadsTruth] "a jump if T is clear";
        "jmp" Jmp "label; Rn" [Reads, Reads] [] "a jump";
        "jsr" Jsr "label; Rn" [Reads, Reads] [] "a call: the return address and the status go onto the stack";
        "jt" Jt "label; Rn" [Reads, Reads] [ReadsTruth] "a jump if T is set";
        "jf" Jf "label; Rn" [Reads, Reads] [ReadsTruth] "a jump if T is clear";
        "rts" Rts "" [] [] "a return";
        "rtstk" Rtstk "" [] [] "a return whose address is taken from the stack";
        "rte" Rte "" [] [] "a return from an exception: the status is restored";
    }
    Loop {
        "dosetup" Dosetup "label" [Reads] [] "the start address of the loop; its number is the last letter";
        "doen" Doen "#count; Rn; Dn" [Reads, Reads, Reads] [] "the counter of a loop of three sets or more, which is enabled";
        "doensh" Doensh "#count; Rn; Dn" [Reads, Reads, Reads] [] "the counter of a loop of one or two sets, which is enabled";
        "skipls" Skipls "label" [Reads] [] "a jump past the loop if its counter is not positive";
        "break" Break "label" [Reads] [] "a jump out of the loop, which is disabled";
        "cont" Cont "label" [Reads] [] "the next iteration, or a jump out of the loop behind the last one";
    }
    Program {
        "nop" Nop "" [] [] "nothing";
        "mark" Mark "" [] [] "tells the debugger of the place";
        "di" Di "" [] [] "disables interrupts";
        "ei" Ei "" [] [] "enables interrupts";
        "debug" Debug "" [] [] "enters the debug mode";
        "debugev" Debugev "" [] [] "tells the debugger of an event";
        "illegal" Illegal "" [] [] "an exception";
        "stop" Stop "" [] [] "stops the processor";
        "trap" Trap "" [] [] "an exception of the program's own";
        "wait" Wait "" [] [] "waits for an interrupt";
        "lpmarka" Lpmarka "" [] [] "a loop's mark: at the set of a loop of one, or at the last set of a long loop";
        "lpmarkb" Lpmarkb "" [] [] "a loop's mark: at the first set of a loop of two, or at the last set but two of a long loop";
    }
}
