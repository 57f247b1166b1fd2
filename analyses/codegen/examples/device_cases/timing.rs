//! What the second script measures against: the table of the machine, and kernels with heavy work under a factor that is
//! often zero, before and after the version on zero, with the share of zero warps from which it is said to pay.

use crate::SM;
use crate::sources::{Read, printed_with, read};
use lockstep_codegen::machine;
use lockstep_codegen::specialize::source::estimate::estimate;
use lockstep_codegen::specialize::source::estimate::parts;
use lockstep_codegen::specialize::source::{Settings, Source, candidates, functions_of, version};
use serde_json::{Value as Json, json};

/// The table of the machine as `section.name`.
pub(crate) fn machine() -> Json {
    let table = machine::named(&format!("sm_{SM}")).expect("a table");
    let rows: serde_json::Map<String, Json> = table
        .quantities()
        .map(|(field, quantity)| {
            let name = format!("{}.{}", field.section, field.name);
            let row =
                json!({ "value": quantity.value, "is": quantity.label.name(), "unit": field.unit });
            (name, row)
        })
        .collect();
    json!({ "name": table.name.as_str(), "title": table.title, "quantities": rows })
}

/// Name, the variable that is zero, and the kernel: `zero[..]` decides, `a` and `b` are read. What a version skips is done
/// often enough that issue bounds the time, with the test each time: a launch alone takes 20 microseconds.
const KERNELS: [(&str, &str, &str); 4] = [
    (
        "polynomial",
        "w",
        "__global__ void k(float* out, const float* zero, const float* a, const float* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = b[i];
    float sum = y;
    for (int r = 0; r < 64; ++r) {
        float w = zero[(i + r * 32) & 4095];
        float s = x;
        for (int n = 0; n < 32; ++n) { s = s * y + x; s = s * x + y; }
        sum += w * s;
        x += 0.001f;
    }
    out[i] = sum;
}",
    ),
    (
        "specular",
        "light",
        "__global__ void k(float* out, const float* zero, const float* a, const float* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = b[i];
    float sum = x;
    for (int r = 0; r < 64; ++r) {
        float light = zero[(i + r * 32) & 4095];
        float l = __fsqrt_rn(x * x + y * y + 1.0f);
        float h = x / l + y / l;
        float p = __powf(h * h + 0.5f, 12.0f) + __expf(-y) * __cosf(x);
        float q = __powf(p + 0.25f, 3.0f) / (l + p);
        sum += light * (p + q);
        x += 0.001f;
    }
    out[i] = sum;
}",
    ),
    (
        "loads",
        "w",
        "__global__ void k(float* out, const float* zero, const float* a, const float* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 1.0f;
    for (int r = 0; r < 4; ++r) {
        float w = zero[(i + r * 32) & 4095];
        float s = 0.0f;
        for (int n = 0; n < 16; ++n) { s += a[(i * 33 + n * 4099 + r) & 65535] * b[(i + n * 32 + r) & 65535]; }
        sum += w * s;
    }
    out[i] = sum;
}",
    ),
    (
        "short",
        "w",
        "__global__ void k(float* out, const float* zero, const float* a, const float* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = b[i];
    float sum = y;
    for (int r = 0; r < 256; ++r) {
        float w = zero[(i + r * 32) & 4095];
        float s = x / y + __fsqrt_rn(x) * y;
        sum += w * s;
        x += 0.001f;
    }
    out[i] = sum;
}",
    ),
];

/// Kernels, their versions and what is predicted of them.
pub(crate) fn versions() -> Json {
    KERNELS
        .iter()
        .map(|&(name, variable, text)| row(name, variable, text))
        .collect()
}

fn row(name: &str, variable: &str, text: &str) -> Json {
    let whole = read(text, ir::Language::Cuda);
    let printed_of = |whole: &Read| {
        whole
            .kernels()
            .first()
            .ok_or_else(|| "no kernel".to_owned())
            .and_then(|module| printed_with(module, true))
    };
    let before = match printed_of(&whole) {
        Ok(ptx) => ptx,
        Err(why) => return json!({ "name": name, "refused": why }),
    };
    let table = machine::named(&format!("sm_{SM}")).expect("a table");
    let charges = machine::charges(&table, 32);
    let settings = Settings {
        absorb: true,
        whole_warps: false,
        uniform: false,
    };
    for (number, (start, _, item)) in whole.parsed.iter().enumerate() {
        let source = Source::new(
            item,
            &whole.unit.items[number].tokens,
            text,
            *start,
            &whole.environment,
            &whole.bodies,
            whole.language,
        );
        for function in functions_of(item) {
            for candidate in candidates(&source, function) {
                if candidate.name != variable {
                    continue;
                }
                let version = match version(&source, function, &candidate, settings) {
                    Ok(version) => version,
                    Err(refusal) => return json!({ "name": name, "refused": refusal.to_string() }),
                };
                let (span, new) = &version.edit;
                let mut after = text.to_owned();
                after.replace_range(span.start as usize..span.end as usize, new);
                let rewritten = read(&after, ir::Language::Cuda);
                let modules = rewritten.kernels();
                let places = parts(new, &version.test, None, span.start - start);
                let model = modules
                    .first()
                    .zip(places)
                    .map(|(module, places)| estimate(&module.functions[0], places, &charges, None));
                let ptx = match printed_of(&rewritten) {
                    Ok(ptx) => ptx,
                    Err(why) => return json!({ "name": name, "refused": why }),
                };
                return json!({
                    "name": name,
                    "source": after,
                    "before": before,
                    "after": ptx,
                    "region": model.map(|model| model.region),
                    "special": model.map(|model| model.special),
                    "check": model.map(|model| model.check),
                    "break_even": model.and_then(|model| model.break_even()),
                    // Where time is saved at all, without the least that a version must save to be offered.
                    "pays": model.map(|model| model.check / (model.region - model.special)),
                });
            }
        }
    }
    json!({ "name": name, "refused": "no candidate" })
}
