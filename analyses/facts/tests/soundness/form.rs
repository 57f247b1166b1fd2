//! Reads `ValueFact::form` as a person would, and returns the value that it determines in a given launch: a
//! sum of products of integers, coordinates of the lane, and names. A name is known when the launch fixes it
//! (block and grid dimensions).

/// A coordinate of a lane: what it knows of itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Coordinate {
    Thread(u8),
    Group(u8),
    Lane,
    Warp,
}

/// A product of coordinates (sorted), and its factor.
pub(crate) type Multiple = (Vec<Coordinate>, i64);

/// Numbers that the launch fixes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) block: [u32; 3],
    pub(crate) grid: [u32; 3],
    pub(crate) warp_size: u32,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Reading {
    /// Multiples of coordinates and of products of them, by wrapping 64-bit arithmetic.
    pub(crate) multiples: Vec<Multiple>,
    pub(crate) constant: i64,
    /// True if there is a part without coordinates and without a number.
    pub(crate) open: bool,
    /// A coordinate has a factor without a number.
    pub(crate) symbolic: bool,
}

/// `None`: not understood.
pub(crate) fn read(form: &str, setting: &Setting) -> Option<Reading> {
    let mut reading = Reading::default();
    for (negative, term) in terms(form)? {
        let mut factor = if negative { -1i64 } else { 1 };
        let (mut coordinates, mut unknown) = (Vec::new(), false);
        for word in term.split('*') {
            match word_of(word.trim(), setting)? {
                Word::Number(number) => factor = factor.wrapping_mul(number),
                Word::Coordinate(found) => coordinates.push(found),
                Word::Unknown => unknown = true,
            }
        }
        coordinates.sort_unstable();
        match (coordinates.is_empty(), unknown) {
            (false, true) => reading.symbolic = true,
            (false, false) => {
                let mut known = reading.multiples.iter_mut();
                match known.find(|(c, _)| *c == coordinates) {
                    Some((_, sum)) => *sum = sum.wrapping_add(factor),
                    None => reading.multiples.push((coordinates, factor)),
                }
            }
            (true, true) => reading.open = true,
            (true, false) => reading.constant = reading.constant.wrapping_add(factor),
        }
    }
    Some(reading)
}

/// The terms of a sum, with their signs.
fn terms(form: &str) -> Option<Vec<(bool, &str)>> {
    let form = form.trim();
    if form.is_empty() {
        return None;
    }
    let mut result = Vec::new();
    let (mut start, mut negative, mut depth) = (0, false, 0i32);
    for (at, letter) in form.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '+' | '-' if depth == 0 => {
                let term = form[start..at].trim();
                if !term.is_empty() {
                    // `4*-x` keeps its sign with the factor.
                    if term.ends_with('*') {
                        continue;
                    }
                    result.push((negative, term));
                    negative = false;
                }
                negative ^= letter == '-';
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = form[start..].trim();
    if last.is_empty() || depth != 0 {
        return None;
    }
    result.push((negative, last));
    Some(result)
}

enum Word {
    Number(i64),
    Coordinate(Coordinate),
    Unknown,
}

fn word_of(word: &str, setting: &Setting) -> Option<Word> {
    if let Ok(number) = word.parse::<i64>() {
        return Some(Word::Number(number));
    }
    if let Ok(number) = word.parse::<u64>() {
        return Some(Word::Number(number as i64));
    }
    let plain = word.trim_start_matches('%');
    let axis = |axis: &str| match axis {
        "x" => Some(0u8),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    let number = |n: u32| Some(Word::Number(i64::from(n)));
    if let Some((object, part)) = plain.rsplit_once('.')
        && let Some(axis) = axis(part)
    {
        let at = usize::from(axis);
        match object {
            "tid" | "threadIdx" => return Some(Word::Coordinate(Coordinate::Thread(axis))),
            "ctaid" | "blockIdx" => return Some(Word::Coordinate(Coordinate::Group(axis))),
            "ntid" | "blockDim" => return number(setting.block[at]),
            "nctaid" | "gridDim" => return number(setting.grid[at]),
            _ => {}
        }
    }
    match plain {
        "lane" | "laneid" | "lane_id" => return Some(Word::Coordinate(Coordinate::Lane)),
        "warpid" | "warp_id" => return Some(Word::Coordinate(Coordinate::Warp)),
        "warpSize" | "warp_size" | "WARP_SZ" => return number(setting.warp_size),
        "" => return None,
        _ => {}
    }
    // Operators other than sums and products of sums are beyond this reader.
    let simple = plain
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '?' | '.' | '$' | '%' | '&'));
    simple.then_some(Word::Unknown)
}

#[test]
fn forms_are_read() {
    let setting = Setting {
        block: [8, 4, 1],
        grid: [2, 1, 1],
        warp_size: 16,
    };
    let read = |text| read(text, &setting);
    let reading = read("4*tid.x - ntid.x*ctaid.x + n - 3").unwrap();
    assert_eq!(
        reading.multiples,
        [
            (vec![Coordinate::Thread(0)], 4),
            (vec![Coordinate::Group(0)], -8)
        ]
    );
    assert_eq!((reading.constant, reading.open), (-3, true));
    let reading = read("n*tid.y + -2*lane").unwrap();
    assert!(reading.symbolic && !reading.open);
    assert_eq!(reading.multiples, [(vec![Coordinate::Lane], -2)]);
    let reading = read("lane*ctaid.y*3").unwrap();
    assert_eq!(
        reading.multiples,
        [(vec![Coordinate::Group(1), Coordinate::Lane], 3)]
    );
    assert_eq!(read("tid.x/2"), None);
    assert_eq!(read(""), None);
}
