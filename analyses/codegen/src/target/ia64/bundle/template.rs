//! The templates of a bundle: three slots of 41 bits, and where instruction groups end.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, section 4.1 (table 4-1).

/// The kind of a bundle's slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Slot {
    M,
    I,
    F,
    B,
    /// The first half of a long instruction, in slot 1.
    L,
    /// Its second half, in slot 2.
    X,
}

/// Three slots without their stops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Shape {
    Mii,
    Mlx,
    Mmi,
    Mfi,
    Mmf,
    Mib,
    Mbb,
    Bbb,
    Mmb,
    Mfb,
}

impl Shape {
    pub const ALL: [Shape; 10] = [
        Shape::Mii,
        Shape::Mlx,
        Shape::Mmi,
        Shape::Mfi,
        Shape::Mmf,
        Shape::Mib,
        Shape::Mbb,
        Shape::Bbb,
        Shape::Mmb,
        Shape::Mfb,
    ];

    pub const fn slots(self) -> [Slot; 3] {
        use Slot::{B, F, I, L, M, X};
        match self {
            Shape::Mii => [M, I, I],
            Shape::Mlx => [M, L, X],
            Shape::Mmi => [M, M, I],
            Shape::Mfi => [M, F, I],
            Shape::Mmf => [M, M, F],
            Shape::Mib => [M, I, B],
            Shape::Mbb => [M, B, B],
            Shape::Bbb => [B, B, B],
            Shape::Mmb => [M, M, B],
            Shape::Mfb => [M, F, B],
        }
    }
}

/// One of the 24 templates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Template {
    /// Bits 0 to 4 of the bundle.
    pub code: u8,
    pub shape: Shape,
    /// Slots in front of a stop inside of the bundle; 0 without.
    pub stop: u8,
    /// A stop behind the bundle.
    pub ends: bool,
}

const fn pair(code: u8, shape: Shape, stop: u8) -> [Template; 2] {
    [
        Template {
            code,
            shape,
            stop,
            ends: false,
        },
        Template {
            code: code + 1,
            shape,
            stop,
            ends: true,
        },
    ]
}

/// In pairs: without and with a stop at the end.
pub const TEMPLATES: [[Template; 2]; 12] = [
    pair(0x00, Shape::Mii, 0),
    pair(0x02, Shape::Mii, 2),
    pair(0x04, Shape::Mlx, 0),
    pair(0x08, Shape::Mmi, 0),
    pair(0x0a, Shape::Mmi, 1),
    pair(0x0c, Shape::Mfi, 0),
    pair(0x0e, Shape::Mmf, 0),
    pair(0x10, Shape::Mib, 0),
    pair(0x12, Shape::Mbb, 0),
    pair(0x16, Shape::Bbb, 0),
    pair(0x18, Shape::Mmb, 0),
    pair(0x1c, Shape::Mfb, 0),
];

impl Template {
    /// `None` for the reserved codes.
    pub fn of_code(code: u8) -> Option<Template> {
        TEMPLATES
            .iter()
            .flatten()
            .copied()
            .find(|it| it.code == code)
    }
    /// `None`: no template has a stop there.
    pub fn with(shape: Shape, stop: u8, ends: bool) -> Option<Template> {
        let pair = TEMPLATES
            .iter()
            .find(|pair| pair[0].shape == shape && pair[0].stop == stop)?;
        Some(pair[usize::from(ends)])
    }
    /// `.mmi`
    pub fn name(self) -> &'static str {
        match self.shape {
            Shape::Mii => ".mii",
            Shape::Mlx => ".mlx",
            Shape::Mmi => ".mmi",
            Shape::Mfi => ".mfi",
            Shape::Mmf => ".mmf",
            Shape::Mib => ".mib",
            Shape::Mbb => ".mbb",
            Shape::Bbb => ".bbb",
            Shape::Mmb => ".mmb",
            Shape::Mfb => ".mfb",
        }
    }
}
