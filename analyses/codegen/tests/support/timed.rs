//! Kernels with heavy work and with light work under a factor that is often zero, and the estimates for their
//! versions on zero.
#![allow(dead_code)]

use crate::read::{Read, read};
use facts::cost::Machine;
use lockstep_codegen::specialize::accept::Model;
use lockstep_codegen::specialize::source::estimate::{estimate, parts};
use lockstep_codegen::specialize::source::{Settings, candidates, functions_of, version};

/// Name, the variable that is zero, and the kernel: `zero[..]` decides, `a` and `b` are read. The work that a
/// version skips is done often enough that issue bounds the time, with the test each time: a launch alone
/// takes 20 microseconds.
pub(crate) const KERNELS: [(&str, &str, &str); 4] = [
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

/// A version on zero.
pub(crate) struct Timed {
    pub(crate) text: String,
    pub(crate) model: Option<Model>,
}

/// The version on zero of a variable, or why there is none.
pub(crate) fn versioned(
    whole: &Read,
    text: &str,
    variable: &str,
    charges: &Machine,
) -> Result<Timed, String> {
    let settings = Settings {
        absorb: true,
        whole_warps: false,
        uniform: false,
        each_lane: false,
    };
    for (number, (start, _, item)) in whole.parsed.iter().enumerate() {
        let source = whole.source(text, number);
        for function in functions_of(item) {
            let all = candidates(&source, function);
            let Some(candidate) = all.iter().find(|c| c.name == variable) else {
                continue;
            };
            let version = version(&source, function, candidate, settings)
                .map_err(|refusal| refusal.to_string())?;
            let (span, new) = &version.edit;
            let mut after = text.to_owned();
            after.replace_range(span.start as usize..span.end as usize, new);
            let modules = read(&after, whole.language).kernels();
            let places = parts(new, &version.test, None, span.start - start);
            let model = modules.first().zip(places).map(|(module, places)| {
                estimate(&module.functions[0], places, charges, None, None)
            });
            return Ok(Timed { text: after, model });
        }
    }
    Err("no candidate".to_owned())
}

/// The share of zero warps from which time is saved at all, without the least that a version must save to be offered.
pub(crate) fn pays(model: Model) -> f64 {
    model.check / (model.region - model.special)
}
