//! The symbols of an object file: little-endian ELF of 64 bits.

/// The kind of object that a symbol names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Object,
    Function,
    Other,
}

#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) global: bool,
    pub(crate) defined: bool,
    pub(crate) size: u64,
    /// The bytes that the file holds of it; zeros where it holds none.
    pub(crate) bytes: Vec<u8>,
}

struct Section {
    ty: u64,
    offset: u64,
    size: u64,
    link: u64,
}

fn number(file: &[u8], at: u64, bytes: u64) -> Option<u64> {
    let part = file.get(at as usize..(at + bytes) as usize)?;
    let each = part.iter().rev();
    Some(each.fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}

/// `None`: it is no such file.
pub(crate) fn symbols(file: &[u8]) -> Option<Vec<Symbol>> {
    let headers = number(file, 0x28, 8)?;
    let (each, count) = (number(file, 0x3a, 2)?, number(file, 0x3c, 2)?);
    let mut sections = Vec::new();
    for section in 0..count {
        let at = headers + section * each;
        sections.push(Section {
            ty: number(file, at + 4, 4)?,
            offset: number(file, at + 0x18, 8)?,
            size: number(file, at + 0x20, 8)?,
            link: number(file, at + 0x28, 4)?,
        });
    }
    let table = sections.iter().find(|section| section.ty == 2)?;
    let names = sections.get(table.link as usize)?;
    let mut out = Vec::new();
    for at in (table.offset..table.offset + table.size).step_by(24) {
        let start = (names.offset + number(file, at, 4)?) as usize;
        let rest = file.get(start..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        let info = number(file, at + 4, 1)?;
        let section = number(file, at + 6, 2)?;
        let (value, size) = (number(file, at + 8, 8)?, number(file, at + 16, 8)?);
        let place = sections.get(section as usize).filter(|_| section != 0);
        let bytes = match place {
            Some(place) if place.ty != 8 => {
                let start = (place.offset + value) as usize;
                file.get(start..start + size as usize)?.to_vec()
            }
            _ => vec![0; size as usize],
        };
        out.push(Symbol {
            name: String::from_utf8_lossy(&rest[..end]).into_owned(),
            kind: match info & 15 {
                1 => Kind::Object,
                2 => Kind::Function,
                _ => Kind::Other,
            },
            global: info >> 4 != 0,
            defined: section != 0,
            size,
            bytes,
        });
    }
    Some(out)
}
