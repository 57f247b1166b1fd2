//! Accesses to memory: the table, the lane's own slice and array, the exchanged values, the counter, the
//! structure.

use super::Writer;

impl Writer<'_> {
    /// `%x` is the address of a group of 16 bytes in the table.
    pub(super) fn table_address(&mut self) {
        let r = self.r();
        self.line(format_args!("and.b32 %t, {r}, 15"));
        let op = self.one(&["mul.wide.u32 %x, %t, 16", "mul.wide.s32 %x, %t, 16"]);
        self.line(op);
        self.line("add.s64 %x, %x, %data");
    }
    pub(super) fn load(&mut self) {
        self.table_address();
        let (g, a, b) = (self.guard(), self.r(), self.r());
        let nc = self.one(&["", ".nc"]);
        match self.random.below(6) {
            0 | 1 => {
                let at = 4 * self.random.below(4);
                self.line(format_args!("{g}ld.global{nc}.u32 {a}, [%x+{at}]"));
            }
            2 if a != b => self.line(format_args!("{g}ld.global{nc}.v2.u32 {{{a}, {b}}}, [%x+8]")),
            3 => self.line(format_args!(
                "{g}ld.global{nc}.v4.u32 {{{a}, _, _, _}}, [%x]"
            )),
            4 => self.line(format_args!("{g}ld.global{nc}.s8 {a}, [%x+3]")),
            _ => {
                let (f, h) = (self.f(), self.f());
                let second = if f == h { "_".to_string() } else { h };
                self.line(format_args!(
                    "{g}ld.global{nc}.v2.f32 {{{f}, {second}}}, [%x]"
                ));
            }
        }
    }
    pub(super) fn store(&mut self) {
        let (g, a, b, p) = (self.guard(), self.r(), self.r(), self.p());
        match self.random.below(5) {
            0 => self.line(format_args!("{g}st.global.u32 [%own+32], {a}")),
            1 => self.line(format_args!("{g}st.global.v2.u32 [%own+40], {{{a}, {b}}}")),
            2 => self.line(format_args!(
                "{g}st.global.v4.u32 [%own+32], {{{a}, {b}, 1, {b}}}"
            )),
            3 => {
                self.line(format_args!("selp.b32 %t, {a}, {b}, {p}"));
                self.line(format_args!("{g}st.global.u16 [%own+34], %t"));
            }
            _ => {
                let at = 4 * (8 + self.random.below(6));
                self.line(format_args!("{g}ld.global.u32 {a}, [%own+{at}]"));
            }
        }
    }
    pub(super) fn private(&mut self) {
        let (g, a, b) = (self.guard(), self.r(), self.r());
        self.line(format_args!("and.b32 %t, {a}, 7"));
        self.line("shl.b32 %t, %t, 2");
        self.line("mov.u32 %s, mine");
        self.line("add.s32 %s, %s, %t");
        if self.random.percent(50) {
            self.line(format_args!("{g}st.local.b32 [%s], {b}"));
        } else {
            self.line(format_args!("{g}ld.local.b32 {b}, [%s]"));
        }
    }
    pub(super) fn exchanged(&mut self) {
        let (g, r, to) = (self.guard(), self.r(), self.r());
        let at = 4 * self.random.below(4);
        self.line(format_args!("and.b32 %t, {r}, 31"));
        self.line("shl.b32 %t, %t, 4");
        self.line("mov.u32 %s, exchanged");
        self.line("add.s32 %s, %s, %t");
        if self.random.percent(30) {
            let other = self.r();
            let other = if other == to { "_".into() } else { other };
            self.line(format_args!(
                "{g}ld.shared.v2.u32 {{{to}, {other}}}, [%s+8]"
            ));
        } else {
            self.line(format_args!("{g}ld.shared.u32 {to}, [%s+{at}]"));
        }
    }
    pub(super) fn atomic(&mut self) {
        let (g, r, a) = (self.guard(), self.r(), self.a());
        match self.random.below(4) {
            0 => self.line(format_args!("{g}red.global.add.u32 [counter], 1")),
            1 => self.line(format_args!("{g}atom.global.add.u32 {r}, [counter], 1")),
            2 => self.line(format_args!("{g}atom.global.exch.b32 {r}, [%own+56], {a}")),
            _ => self.line(format_args!("{g}atom.global.max.s32 {r}, [%own+60], {a}")),
        }
    }
    pub(super) fn structure(&mut self) {
        let (g, a, b) = (self.guard(), self.r(), self.r());
        let at = 4 * self.random.below(6);
        if a != b && self.random.percent(50) {
            self.line(format_args!("{g}ld.param.v2.u32 {{{a}, {b}}}, [group+8]"));
        } else {
            self.line(format_args!("{g}ld.param.u32 {a}, [group+{at}]"));
        }
    }
}
