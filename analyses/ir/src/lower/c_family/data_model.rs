//! The types of C whose size is the data model's.

use super::context::*;
use super::types::*;
use super::value::*;
use crate::entity::Value;
use crate::inst::Convert;
use crate::types::Type;

impl Context<'_> {
    /// `long`, or `unsigned long`.
    pub(super) fn long_type(&self, signed: bool) -> CType {
        CType::int(if self.options.long_32bit { 32 } else { 64 }, signed)
    }

    /// The type of `sizeof`.
    pub(super) fn size_type(&self) -> CType {
        self.long_type(false)
    }

    /// A size that is computed as one of 64 bits, as the value of `sizeof`.
    pub(super) fn size_of_wide(&mut self, size: Value) -> RValue {
        match self.options.long_32bit {
            true => {
                let size = self.builder.convert(Convert::Truncate, size, Type::I32);
                RValue::scalar(self.size_type(), size)
            }
            false => RValue::scalar(self.size_type(), size),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lower::c_family::{LowerOptions, lower_unit};
    use crate::{Function, Language, Type};
    use syntax::c_family::{Dialect, parse_text};

    fn lowered(text: &str, long_32bit: bool) -> Function {
        let items = parse_text(text, Dialect::C);
        let options = LowerOptions {
            long_32bit,
            ..LowerOptions::new(Language::C)
        };
        let all = lower_unit(&items, &options);
        let own = all.into_iter().map(|(_, lowered)| lowered);
        let own = own.filter(|lowered| lowered.problems.is_empty());
        let mut functions = own.flat_map(|lowered| lowered.module.functions);
        functions
            .find(|function| function.name == "f")
            .expect("a function")
    }

    #[test]
    fn long_is_as_wide_as_the_model_has_it() {
        let returns = |body: &str, ty: &str| {
            let text = format!("{ty} f(char *p, char *q, long n) {{ return {body}; }}");
            [true, false].map(|narrow| {
                let function = lowered(&text, narrow);
                let params = &function.blocks[function.entry()].params;
                (function.ty(params[2]), function.returns[0])
            })
        };
        let as_long = [(Type::I32, Type::I32), (Type::I64, Type::I64)];
        assert_eq!(returns("n + 1L", "long"), as_long);
        assert_eq!(returns("n", "unsigned long"), as_long);
        let as_wide = [(Type::I32, Type::I64), (Type::I64, Type::I64)];
        assert_eq!(returns("n + 1LL", "long long"), as_wide);
        // What the expression is, whatever it is converted to.
        let size = |body: &str| {
            [true, false].map(|narrow| {
                let text = format!("int f(char *p, char *q, long n) {{ return sizeof({body}); }}");
                let function = lowered(&text, narrow);
                let terminator = &function.blocks[function.entry()].terminator;
                function.int_constant(terminator.reads()[0])
            })
        };
        assert_eq!(size("n"), [Some(4), Some(8)]);
        assert_eq!(size("long long"), [Some(8), Some(8)]);
        assert_eq!(size("p - q"), [Some(4), Some(8)]);
        assert_eq!(size("sizeof p"), [Some(4), Some(8)]);
        assert_eq!(size("p"), [Some(4), Some(8)]);
        assert_eq!(size("char *[3]"), [Some(12), Some(24)]);
        assert_eq!(size("int (*)(int)"), [Some(4), Some(8)]);
        assert_eq!(
            size("struct { char c; char *p; short s; }"),
            [Some(12), Some(24)]
        );
        assert_eq!(size("union { char *p; short s; }"), [Some(4), Some(8)]);
        assert_eq!(size("1L"), [Some(4), Some(8)]);
        assert_eq!(size("1LL"), [Some(8), Some(8)]);
        assert_eq!(size("3000000000L"), [Some(8), Some(8)]);
    }
}
