//! Textures for the interpreter: patterns and PNG files. Coordinates wrap around; images are read with bilinear
//! filtering by sampling operations, and by texel by loads. There are no mip levels.

use super::inputs::{InputError, Pattern, Texture};
use crate::host;
use ir::TextureOp;
use oracle::interp::{TextureQuery, Textures, resource_handle};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// Texels of an image.
const MOST_TEXELS: u64 = 1 << 26;

#[derive(Debug)]
struct Image {
    size: [u32; 2],
    /// The texels of a file: red, green, blue, alpha by texel.
    texels: Option<Vec<[f32; 4]>>,
    pattern: Pattern,
    color: [f64; 4],
    other: [f64; 4],
    cells: f64,
    cut: f64,
}

/// The textures of a description; `handles` are those of textures that are parameters.
pub fn textures(
    described: &BTreeMap<String, Texture>,
    handles: &FxHashMap<String, u64>,
    directory: &Path,
) -> Result<Textures, InputError> {
    if described.is_empty() {
        return Ok(Textures::Procedural);
    }
    let mut images: FxHashMap<u64, Image> = FxHashMap::default();
    for (name, texture) in described {
        let handle = handles
            .get(name)
            .copied()
            .unwrap_or_else(|| resource_handle(name));
        images.insert(handle, image(name, texture, directory)?);
    }
    let fallback = Textures::Procedural;
    Ok(Textures::Function(Rc::new(move |query| {
        // Elements of arrays of resources have handles near that of the array.
        let found = images
            .get(&query.handle)
            .or_else(|| images.get(&(query.handle & !0xffff)));
        match found {
            Some(image) => read(image, query),
            None => fallback.at(query),
        }
    })))
}

fn image(name: &str, texture: &Texture, directory: &Path) -> Result<Image, InputError> {
    let fail = |message: String| InputError::new(format!("textures.{name}"), message);
    let color = |list: &[f64]| -> Result<[f64; 4], InputError> {
        match list {
            [] => Err(fail("a colour has 1 to 4 numbers".into())),
            [grey] => Ok([*grey, *grey, *grey, 1.0]),
            _ if list.len() <= 4 => Ok(std::array::from_fn(|at| {
                list.get(at)
                    .copied()
                    .unwrap_or(if at == 3 { 1.0 } else { 0.0 })
            })),
            _ => Err(fail("a colour has 1 to 4 numbers".into())),
        }
    };
    let mut out = Image {
        size: texture.size.unwrap_or([256, 256]),
        texels: None,
        pattern: texture.fill.unwrap_or(Pattern::Noise),
        color: color(&texture.color)?,
        other: color(&texture.other)?,
        cells: texture.cells,
        cut: texture.cut,
    };
    if !(texture.cells >= 1.0 && texture.cells <= 65536.0) {
        return Err(fail(format!(
            "`cells` is from 1 to 65536, not {}",
            texture.cells
        )));
    }
    if !(0.0..1.0).contains(&texture.cut) {
        return Err(fail(format!(
            "`cut` is from 0 to below 1, not {}",
            texture.cut
        )));
    }
    if out.size.contains(&0) {
        return Err(fail("`size` is two numbers above 0".into()));
    }
    if let Some(file) = &texture.png {
        if texture.fill.is_some() {
            return Err(fail("`fill` or `png`, not both".into()));
        }
        let (size, texels) = decode(&directory.join(file))
            .map_err(|why| fail(format!("{}: {why}", directory.join(file).display())))?;
        out.size = size;
        out.texels = Some(texels);
    }
    Ok(out)
}

type Texels = Vec<[f32; 4]>;

fn decode(path: &Path) -> Result<([u32; 2], Texels), String> {
    let file = host::open(path).map_err(|error| error.to_string())?;
    let mut decoder = png::Decoder::new(std::io::BufReader::new(file));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let (width, height) = (reader.info().width, reader.info().height);
    if u64::from(width) * u64::from(height) > MOST_TEXELS {
        return Err(format!(
            "{width} by {height} texels are more than {MOST_TEXELS}"
        ));
    }
    let size = reader
        .output_buffer_size()
        .ok_or("the image is too large")?;
    let mut bytes = vec![0; size];
    let frame = reader
        .next_frame(&mut bytes)
        .map_err(|error| error.to_string())?;
    let channels = frame.color_type.samples();
    let texels = bytes
        .chunks_exact(channels.max(1))
        .take((width * height) as usize)
        .map(|texel| {
            let at = |index: usize| f32::from(texel.get(index).copied().unwrap_or(255)) / 255.0;
            match channels {
                1 => [at(0), at(0), at(0), 1.0],
                2 => [at(0), at(0), at(0), at(1)],
                3 => [at(0), at(1), at(2), 1.0],
                _ => [at(0), at(1), at(2), at(3)],
            }
        })
        .collect();
    Ok(([width, height], texels))
}

fn read(image: &Image, query: &TextureQuery<'_>) -> f64 {
    let component = query.component.min(3) as usize;
    if query.op == TextureOp::Dimensions {
        return [f64::from(image.size[0]), f64::from(image.size[1]), 1.0, 1.0][component];
    }
    let [width, height] = image.size.map(f64::from);
    let axis = |at: usize| {
        query
            .coordinates
            .get(at)
            .copied()
            .filter(|x| x.is_finite())
            .unwrap_or(0.0)
    };
    let load = query.op == TextureOp::Load;
    let (u, v) = match load {
        true => (
            (axis(0).floor() + 0.5) / width,
            (axis(1).floor() + 0.5) / height,
        ),
        false => (axis(0), axis(1)),
    };
    let compare = matches!(
        query.op,
        TextureOp::SampleCompare | TextureOp::SampleCompareLevel | TextureOp::GatherCompare
    );
    // A gather gives one channel of four texels.
    let gather = matches!(query.op, TextureOp::Gather | TextureOp::GatherCompare);
    let (u, v, channel) = match gather {
        true => {
            let (x, y) = [(-0.5, 0.5), (0.5, 0.5), (0.5, -0.5), (-0.5, -0.5)][component];
            (u + x / width, v + y / height, 0)
        }
        false => (u, v, component),
    };
    let level = match &image.texels {
        Some(texels) => filtered(texels, image.size, u, v, channel, load || gather),
        None => pattern(image, u, v, channel),
    };
    match query.extra {
        Some(reference) if compare => f64::from(u8::from(reference <= level)),
        _ if query.ty.is_float() => level,
        _ => (level * 255.0).floor(),
    }
}

fn filtered(
    texels: &[[f32; 4]],
    size: [u32; 2],
    u: f64,
    v: f64,
    channel: usize,
    point: bool,
) -> f64 {
    let [width, height] = size.map(i64::from);
    let texel = |x: i64, y: i64| {
        let at = y.rem_euclid(height) * width + x.rem_euclid(width);
        texels
            .get(at as usize)
            .map_or(0.0, |texel| f64::from(texel[channel]))
    };
    let (x, y) = (u * width as f64 - 0.5, v * height as f64 - 0.5);
    if point {
        return texel(x.round() as i64, y.round() as i64);
    }
    let (left, top) = (x.floor(), y.floor());
    let (fx, fy) = (x - left, y - top);
    let (left, top) = (left as i64, top as i64);
    let row = |y: i64| texel(left, y) * (1.0 - fx) + texel(left + 1, y) * fx;
    row(top) * (1.0 - fy) + row(top + 1) * fy
}

fn pattern(image: &Image, u: f64, v: f64, channel: usize) -> f64 {
    let (left, right) = (image.color[channel], image.other[channel]);
    match image.pattern {
        Pattern::Constant => left,
        Pattern::Checker => {
            let cell = (u * image.cells).floor() + (v * image.cells).floor();
            if cell.rem_euclid(2.0) == 0.0 {
                left
            } else {
                right
            }
        }
        Pattern::Gradient => {
            let t = u.rem_euclid(1.0);
            left + (right - left) * t
        }
        Pattern::Noise => {
            let level = noise(u * image.cells, v * image.cells);
            let kept = ((level - image.cut) / (1.0 - image.cut)).max(0.0);
            if channel == 3 { left } else { left * kept }
        }
    }
}

/// Smooth noise from 0 to 1 with features of size 1.
pub fn noise(x: f64, y: f64) -> f64 {
    let corner = |x: f64, y: f64| {
        let mut z = (x as i64 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (y as i64 as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        z = (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((z ^ (z >> 32)) & 0xff_ffff) as f64 / 16_777_215.0
    };
    let (left, top) = (x.floor(), y.floor());
    let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
    let (fx, fy) = (smooth(x - left), smooth(y - top));
    let row = |y: f64| corner(left, y) * (1.0 - fx) + corner(left + 1.0, y) * fx;
    row(top) * (1.0 - fy) + row(top + 1.0) * fy
}
