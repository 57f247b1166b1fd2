//! Contents of buffers: distributions from a seed, and files.

use super::inputs::{Contents, Fill, InputError, MOST_BYTES, MOST_ELEMENTS, Shape};
use crate::host;
use ir::Type;
use ir::numbers;
use std::path::Path;

/// A stream of pseudo-random numbers, the same for equal seeds (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, name: &str) -> Self {
        let hash = name
            .bytes()
            .fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        Random(hash)
    }
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Returns a number of a normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// The type of elements, and whether they are unsigned.
pub fn element(name: &str) -> Option<(Type, bool)> {
    Some(match name {
        "i8" | "char" => (Type::I8, false),
        "u8" | "uchar" => (Type::I8, true),
        "i16" | "short" => (Type::I16, false),
        "u16" | "ushort" => (Type::I16, true),
        "i32" | "int" => (Type::I32, false),
        "u32" | "uint" => (Type::I32, true),
        "i64" => (Type::I64, false),
        "u64" => (Type::I64, true),
        "f16" | "half" => (Type::F16, false),
        "bf16" => (Type::BF16, false),
        "f32" | "float" => (Type::F32, false),
        "f64" | "double" => (Type::F64, false),
        _ => return None,
    })
}

/// A number as an element.
pub fn bits(ty: Type, number: f64) -> u64 {
    match ty.is_float() {
        true => numbers::from_f64(ty, number),
        false if number < 0.0 => number as i64 as u64,
        false => number as u64,
    }
}

fn check(shape: &Shape, place: &str) -> Result<(), InputError> {
    if !(0.0..=1.0).contains(&shape.zeros) {
        return Err(InputError::new(
            place,
            format!("`zeros` is a probability from 0 to 1, not {}", shape.zeros),
        ));
    }
    if let (Some(low), Some(high)) = (shape.low, shape.high)
        && low > high
    {
        return Err(InputError::new(
            place,
            format!("`low` {low} is above `high` {high}"),
        ));
    }
    Ok(())
}

/// One number of a distribution.
pub fn draw(fill: Fill, shape: &Shape, at: u64, whole: bool, random: &mut Random) -> f64 {
    let uniform = |random: &mut Random| {
        let low = shape.low.unwrap_or(0.0);
        let high = shape.high.unwrap_or(if whole { 99.0 } else { 1.0 });
        match whole {
            true => low + (random.unit() * (high - low + 1.0)).floor(),
            false => low + random.unit() * (high - low),
        }
    };
    match fill {
        Fill::Constant => shape.value,
        Fill::Uniform => uniform(random),
        Fill::Normal => shape.mean + shape.deviation * random.normal(),
        Fill::Sparse => {
            let zero = random.unit() < shape.zeros;
            let other = uniform(random);
            if zero { 0.0 } else { other }
        }
        Fill::Sequence => shape.start + shape.step * at as f64,
    }
}

/// The bytes of a described buffer. `default_count` elements where nothing says how many.
pub fn bytes(
    name: &str,
    contents: &Contents,
    default_count: u64,
    seed: u64,
    directory: &Path,
) -> Result<Vec<u8>, InputError> {
    let place = format!("buffers.{name}");
    let fail = |message: String| InputError::new(place.clone(), message);
    let Some((ty, _)) = element(&contents.ty) else {
        return Err(fail(format!(
            "`type` is i8 to i64, u8 to u64, f16, bf16, f32 or f64, not `{}`",
            contents.ty
        )));
    };
    let sources = [
        contents.fill.is_some(),
        contents.values.is_some(),
        contents.csv.is_some(),
        contents.text.is_some(),
        contents.binary.is_some(),
    ];
    if sources.iter().filter(|&&there| there).count() > 1 {
        return Err(fail(
            "one of `fill`, `values`, `csv`, `text` and `binary` says what it holds, not several"
                .into(),
        ));
    }
    let size = u64::from(ty.bytes());
    let read = |file: &str| {
        let path = directory.join(file);
        host::read_bytes(&path, MOST_BYTES).map_err(|error| fail(error.to_string()))
    };
    if let Some(file) = &contents.binary {
        let mut data = read(file)?;
        if !(data.len() as u64).is_multiple_of(size) {
            return Err(fail(format!(
                "{file} has {} bytes, which is no multiple of {size}, the size of {}",
                data.len(),
                contents.ty
            )));
        }
        if let Some(count) = contents.count {
            let wanted = count.saturating_mul(size);
            if wanted > data.len() as u64 {
                return Err(fail(format!(
                    "{file} has {} elements, not {count}",
                    data.len() as u64 / size
                )));
            }
            data.truncate(wanted as usize);
        }
        return Ok(data);
    }
    let numbers = match (&contents.values, &contents.csv, &contents.text) {
        (Some(values), ..) => Some(values.clone()),
        (_, Some(file), _) => Some(
            column(&read(file)?, contents.column.as_ref())
                .map_err(|why| fail(format!("{file}: {why}")))?,
        ),
        (.., Some(file)) => {
            Some(plain(&read(file)?).map_err(|why| fail(format!("{file}: {why}")))?)
        }
        _ => None,
    };
    let given = numbers.as_ref().map(|numbers| numbers.len() as u64);
    let count = contents.count.or(given).unwrap_or(default_count);
    if count > MOST_ELEMENTS || count * size > MOST_BYTES {
        return Err(fail(format!(
            "{count} elements are more than {MOST_ELEMENTS}, or more than {MOST_BYTES} bytes"
        )));
    }
    if given.is_some_and(|given| given == 0 && count > 0) {
        return Err(fail("there are no numbers".into()));
    }
    let shape = contents.shape();
    check(&shape, &place)?;
    let fill = contents.fill.unwrap_or(Fill::Constant);
    let mut random = Random::new(seed, name);
    let whole = !ty.is_float();
    let mut data = Vec::with_capacity((count * size) as usize);
    for at in 0..count {
        let number = match &numbers {
            // Fewer numbers than elements start again.
            Some(numbers) => numbers[(at % numbers.len() as u64) as usize],
            None => draw(fill, &shape, at, whole, &mut random),
        };
        data.extend_from_slice(&bits(ty, number).to_le_bytes()[..size as usize]);
    }
    Ok(data)
}

/// Numbers between blanks and commas.
fn plain(data: &[u8]) -> Result<Vec<f64>, String> {
    let text = String::from_utf8_lossy(data);
    let mut numbers = Vec::new();
    for (line, row) in text.lines().enumerate() {
        for word in row
            .split([',', ';', ' ', '\t'])
            .filter(|word| !word.is_empty())
        {
            numbers.push(
                word.parse().map_err(|_| {
                    format!("line {}: `{}` is no number", line + 1, shortened(word))
                })?,
            );
        }
    }
    Ok(numbers)
}

/// One column of a table with commas. A first row without a number is a head.
fn column(data: &[u8], column: Option<&toml::Value>) -> Result<Vec<f64>, String> {
    let text = String::from_utf8_lossy(data);
    let mut rows = text
        .lines()
        .enumerate()
        .filter(|(_, row)| !row.trim().is_empty())
        .peekable();
    let cells = |row: &str| -> Vec<String> {
        row.split(',')
            .map(|cell| cell.trim().trim_matches('"').to_owned())
            .collect()
    };
    let head: Option<Vec<String>> = match rows.peek() {
        Some((_, row)) if cells(row).iter().all(|cell| cell.parse::<f64>().is_err()) => {
            rows.next().map(|(_, row)| cells(row))
        }
        _ => None,
    };
    let at = match column {
        None => 0,
        Some(toml::Value::Integer(number)) => {
            usize::try_from(*number - 1).map_err(|_| "columns are counted from 1".to_owned())?
        }
        Some(toml::Value::String(name)) => head
            .as_ref()
            .and_then(|head| head.iter().position(|cell| cell == name))
            .ok_or_else(|| format!("there is no column `{name}`"))?,
        Some(_) => return Err("`column` is a number from 1 or a name".into()),
    };
    rows.map(|(line, row)| {
        let cells = cells(row);
        let cell = cells
            .get(at)
            .ok_or_else(|| format!("line {}: {} columns, not {}", line + 1, cells.len(), at + 1))?;
        cell.parse()
            .map_err(|_| format!("line {}: `{}` is no number", line + 1, shortened(cell)))
    })
    .collect()
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> Result<Vec<u8>, InputError> {
        let description =
            super::super::inputs::parse(&format!("[buffers.x]\n{text}"), Path::new("i.toml"))?;
        bytes("x", &description.buffers["x"], 8, 1, Path::new("."))
    }
    fn floats(text: &str) -> Vec<f32> {
        let bytes = described(text).unwrap_or_else(|error| panic!("{error}"));
        bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect()
    }

    #[test]
    fn distributions() {
        assert_eq!(
            floats("fill = \"sequence\"\nstart = 1\nstep = 0.5"),
            [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5]
        );
        assert_eq!(
            floats("values = [1, 2, 3]\ncount = 5"),
            [1.0, 2.0, 3.0, 1.0, 2.0]
        );
        let sparse = floats("fill = \"sparse\"\nzeros = 0.75\ncount = 10000");
        let zeros = sparse.iter().filter(|&&x| x == 0.0).count();
        assert!((7300..7700).contains(&zeros), "{zeros}");
        assert!(sparse.iter().all(|x| (0.0..1.0).contains(x)));
        let normal = floats("fill = \"normal\"\nmean = 3\ndeviation = 2\ncount = 10000");
        let mean = normal.iter().sum::<f32>() / 1e4;
        assert!((mean - 3.0).abs() < 0.1, "{mean}");
        assert_eq!(floats("fill = \"uniform\""), floats("fill = \"uniform\""));
        let whole =
            described("type = \"i32\"\nfill = \"uniform\"\nlow = -1\nhigh = 1\ncount = 999")
                .unwrap_or_default();
        assert!(
            whole
                .chunks_exact(4)
                .all(|b| (-1..=1).contains(&i32::from_le_bytes([b[0], b[1], b[2], b[3]])))
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let told = |text: &str| described(text).expect_err("wrong").to_string();
        assert!(told("type = \"q\"").contains("buffers.x"));
        assert!(
            told("fill = \"sprase\"").starts_with("i.toml:2:"),
            "{}",
            told("fill = \"sprase\"")
        );
        assert!(
            told("fil = \"sparse\"").contains("fil"),
            "{}",
            told("fil = \"sparse\"")
        );
        assert!(told("fill = \"sparse\"\nzeros = 7").contains("probability"));
        assert!(told("count = 99999999999").contains("more than"));
        assert!(told("csv = \"no/such/file\"").contains("no/such/file"));
        assert!(told("values = []\ncount = 3").contains("no numbers"));
        assert!(told("values = [1]\nfill = \"normal\"").contains("not several"));
        assert!(plain(b"1 2\n3, x").is_err_and(|why| why.contains("line 2")));
        assert_eq!(
            column(b"a,b\n1,2\n3,4\n", Some(&toml::Value::String("b".into()))),
            Ok(vec![2.0, 4.0])
        );
        assert!(
            column(b"1,2\n3\n", Some(&toml::Value::Integer(2)))
                .is_err_and(|why| why.contains("line 2"))
        );
    }
}
