//! The claims about versions on zero: no gain that the code has already, none of values that are never zero,
//! plain branches where a vote tells nothing, other permutations whole, factors without a name, and the words
//! of changes.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};

/// Title, effect and reason of the actions at a place, by id.
fn offered(file: &str, at: &str) -> Vec<(String, String)> {
    let listed = json(&lockstep(&[
        "actions", file, "--at", at, "--format", "json",
    ]));
    let actions = listed["actions"].as_array().cloned().unwrap_or_default();
    let word = |value: &serde_json::Value, key: &str| value[key].as_str().unwrap_or("").to_owned();
    actions
        .iter()
        .map(|action| {
            let said = ["title", "effect", "refused"].map(|key| word(action, key));
            (word(action, "id"), said.join(" | "))
        })
        .collect()
}

fn version(file: &str, at: &str) -> String {
    let all = offered(file, at);
    let found = all.iter().find(|(id, _)| id == "version-on-zero");
    found.unwrap_or_else(|| panic!("{all:?}")).1.clone()
}

fn applied(file: &str, at: &str, id: &str) -> String {
    let out = lockstep(&["apply", id, file, "--at", at]);
    assert!(out.status.success(), "{}", errors(&out));
    text(&out)
}

fn kernel(body: &str) -> String {
    format!(
        "__global__ void k(float* out, const float* in, const float* w, float by, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
{body}}}
"
    )
}

const WORK: &str = "expf(in[i]) * logf(in[i + 1]) / (1.0f + expf(in[i + 2]))";

fn fast(name: &str) -> Place {
    let place = Place::new(name);
    place.file("lockstep.toml", "fast_math = true\n");
    place
}

#[test]
fn what_the_author_guards_is_no_gain() {
    let place = fast("guarded");
    for guard in [
        format!(
            "    float mask = w[i];\n    float x = 0.0f;\n    if (mask != 0.0f) {{\n        x = mask * {WORK};\n    }}\n    out[i] = x;\n"
        ),
        format!(
            "    float mask = w[i];\n    if (mask == 0.0f) {{\n        out[i] = 0.0f;\n        return;\n    }}\n    out[i] = mask * {WORK};\n"
        ),
        format!(
            "    float mask = fmaxf(w[i], 0.0f);\n    float x = 0.0f;\n    if (mask * 2.0f > 0.0f) {{\n        x = mask * {WORK};\n    }}\n    out[i] = x;\n"
        ),
    ] {
        let file = place.file("k.cu", kernel(&guard));
        let said = version(&file, "4:12");
        assert!(
            said.contains("already skip") || said.contains("never pays"),
            "{said}"
        );
    }
    // What is outside of the guard is one.
    let file = place.file(
        "k.cu",
        kernel(&format!("    float mask = w[i];\n    float y = {WORK};\n    float x = 0.0f;\n    if (mask != 0.0f) {{\n        x = in[i];\n    }}\n    out[i] = x + mask * y;\n")),
    );
    let said = version(&file, "4:12");
    assert!(said.contains("(pays from "), "{said}");
}

#[test]
fn values_that_are_never_zero_or_not_set_are_refused() {
    let place = fast("never");
    let cases = [
        (
            "    float mask = __saturatef(w[i]) + 0.0001f;\n",
            "its range excludes zero",
        ),
        (
            "    float mask = fmaxf(w[i], 0.5f);\n",
            "its range excludes zero",
        ),
        (
            "    int mask = threadIdx.x + 0;\n",
            "neighbouring lanes hold different values",
        ),
        (
            "    int mask = i * 4;\n",
            "neighbouring lanes hold different values",
        ),
    ];
    for (line, reason) in cases {
        let file = place.file(
            "k.cu",
            kernel(&format!("{line}    out[i] = mask * {WORK};\n")),
        );
        let said = version(&file, "4:12");
        assert!(said.contains(reason), "{line}: {said}");
    }
    let file = place.file(
        "k.cu",
        kernel(&format!("    float mask;\n    if (n > 3) {{\n        mask = w[i];\n    }}\n    out[i] = mask * {WORK};\n")),
    );
    let said = version(&file, "8:14");
    assert!(said.contains("may not be set yet"), "{said}");
    let file = place.file(
        "k.cu",
        kernel(&format!(
            "    float mask = fmaxf(w[i], -0.5f);\n    out[i] = mask * {WORK};\n"
        )),
    );
    assert!(version(&file, "4:12").contains("(pays from "));
}

#[test]
fn uniform_values_are_tested_by_a_plain_branch() {
    let place = fast("uniform");
    let file = place.file(
        "k.cu",
        kernel(&format!(
            "    float mask = by * 2.0f;\n    out[i] = mask * {WORK};\n"
        )),
    );
    let said = version(&file, "4:12");
    assert!(said.contains("a plain branch"), "{said}");
    let now = applied(&file, "4:12", "version-on-zero");
    assert!(
        now.contains("if (mask == 0.0f)") && !now.contains("__all_sync"),
        "{now}"
    );
    let out = lockstep(&["apply", "version-on-zero", &file, "--at", "4:12", "--write"]);
    assert!(out.status.success(), "{}", errors(&out));
    let out = lockstep(&["apply", "remove-version", &file, "--at", "6:8", "--write"]);
    assert!(out.status.success(), "{}", errors(&out));
    let back = std::fs::read_to_string(&file).expect("there");
    assert!(!back.contains("lockstep:"), "{back}");
}

#[test]
fn what_another_permutation_reads_stays_declared_and_computed() {
    let place = Place::new("permutation");
    let shader = "float4 main(float3 n : NORMAL, float3 l : LIGHT, float s : SHADOW) : SV_Target
{
    float shadow = saturate(s);
    float3 lit = exp(n) * log(abs(l) + 1.0) / (1.0 + dot(l, l));
    float3 spec = pow(saturate(dot(n, l)), 32.0) * normalize(n + l) * sqrt(abs(l));
    float3 color = spec * shadow + lit * shadow;
#ifdef DEBUG_VIEW
    color = SHOWN;
#endif
    return float4(color, 1.0);
}
";
    let file = place.file("lit.hlsl", format!("#define SHOWN spec\n{shader}"));
    let now = applied(&file, "4:12", "version-on-zero");
    let spec = |text: &str| text.matches("spec = pow(").count();
    assert!(now.contains("float3 spec;"), "{now}");
    // On both paths.
    assert_eq!(spec(&now), 2, "{now}");
    assert_eq!(now.matches("lit = exp(").count(), 1, "{now}");
}

#[test]
fn factors_without_a_name_are_versioned_and_taken_back() {
    let place = fast("operand");
    let source = kernel(&format!("    out[i] = w[i] * ({WORK});\n"));
    let file = place.file("k.cu", &source);
    let said = version(&file, "4:14");
    assert!(
        said.contains("Version on zero of `w[i]` (pays from "),
        "{said}"
    );
    let now = applied(&file, "4:14", "version-on-zero");
    assert!(now.contains("w[i] == 0.0f)"), "{now}");
    let out = lockstep(&["apply", "version-on-zero", &file, "--at", "4:14", "--write"]);
    assert!(out.status.success(), "{}", errors(&out));
    let out = lockstep(&["apply", "remove-version", &file, "--at", "5:8", "--write"]);
    assert!(out.status.success(), "{}", errors(&out));
    assert_eq!(std::fs::read_to_string(&file).expect("there"), source);
}

#[test]
fn what_changes_is_said() {
    let place = fast("changes");
    let file = place.file(
        "k.cu",
        kernel(&format!(
            "    float mask = w[i];\n    out[i] = mask * {WORK};\n"
        )),
    );
    let said = version(&file, "4:12");
    assert!(said.contains("infinite or NaN"), "{said}");
    let shader = "float4 main(float3 n : NORMAL, float s : SHADOW) : SV_Target
{
    float shadow = saturate(s);
    return float4(exp(n) * log(abs(n) + 1.0) * sqrt(abs(n)) * shadow, 1.0);
}
";
    let file = place.file("lit.hlsl", shader);
    let said = version(&file, "3:12");
    assert!(
        said.contains("shader model 6.0") && said.contains("infinite or NaN"),
        "{said}"
    );
}

/// Several versions that stand apart are made at once, if a profile counts zeros; each can be taken back.
#[test]
fn the_best_set_of_versions_of_a_function() {
    let place = fast("set");
    let source = kernel(&format!(
        "    float mask = fmaxf(w[i], 0.0f);\n    out[i] = mask * ({WORK});\n    float fog = fmaxf(w[i + n], 0.0f);\n    out[i + n] = fog * ({WORK});\n"
    ));
    let file = place.file("k.cu", &source);
    let counts = place.file(
        "counts.csv",
        "name,line,executions,zeros\nmask,4,100,80\nfog,6,100,90\n",
    );
    let set = |file: &str, at: &str| {
        let all = offered(file, at);
        all.iter()
            .find(|(id, _)| id == "version-on-zero-set")
            .map(|(_, said)| said.clone())
    };
    assert_eq!(set(&file, "1:17"), None);
    let out = lockstep(&["profile", "import", &counts, "--source", &file]);
    assert!(out.status.success(), "{}", errors(&out));
    let said = set(&file, "1:17").unwrap_or_else(|| panic!("{:?}", offered(&file, "1:17")));
    assert!(
        said.starts_with("2 versions on zero: ") && said.contains("`mask`"),
        "{said}"
    );
    let out = lockstep(&[
        "apply",
        "version-on-zero-set",
        &file,
        "--at",
        "1:17",
        "--write",
    ]);
    assert!(out.status.success(), "{}", errors(&out));
    let now = std::fs::read_to_string(&file).expect("there");
    assert_eq!(
        now.matches("// lockstep: version on zero of ").count(),
        2,
        "{now}"
    );
    for name in ["mask", "fog"] {
        let now = std::fs::read_to_string(&file).expect("there");
        let mark = format!("version on zero of {name}");
        let line = 1 + now
            .lines()
            .position(|line| line.contains(&mark))
            .expect("a mark");
        let at = format!("{line}:10");
        let out = lockstep(&["apply", "remove-version", &file, "--at", &at, "--write"]);
        assert!(out.status.success(), "{}", errors(&out));
    }
    assert_eq!(std::fs::read_to_string(&file).expect("there"), source);
}

const TEXT: &str = ".version 7.8
.target sm_80
.address_size 64

.visible .entry fade(.param .u64 p, .param .u64 q)
{
\t.reg .b32 %r<4>;
\t.reg .f32 %f<16>;
\t.reg .b64 %rd<6>;
\tld.param.u64 %rd1, [p];
\tld.param.u64 %rd2, [q];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd3, %r1, 4;
\tadd.s64 %rd4, %rd1, %rd3;
\tadd.s64 %rd5, %rd2, %rd3;
\tld.global.f32 %f1, [%rd4];
\tld.global.f32 %f2, [%rd5];
\tmax.f32 %f6, %f1, 0f00000000;
\tsqrt.rn.f32 %f3, %f2;
\tdiv.rn.f32 %f4, %f3, 0f40400000;
\tdiv.rn.f32 %f4, %f4, %f3;
\tmul.f32 %f8, %f6, %f4;
\tst.global.f32 [%rd4], %f8;
\tmax.f32 %f7, %f2, 0f00000000;
\tsqrt.rn.f32 %f9, %f1;
\tdiv.rn.f32 %f9, %f9, 0f40400000;
\tdiv.rn.f32 %f9, %f9, %f1;
\tmul.f32 %f10, %f7, %f9;
\tst.global.f32 [%rd5], %f10;
\tret;
}
";

#[test]
fn the_best_set_of_versions_of_a_ptx_function() {
    let place = fast("set-ptx");
    let file = place.file("fade.ptx", TEXT);
    let counts = place.file(
        "counts.csv",
        "name,line,executions,zeros\n%f6,18,100,80\n%f7,24,100,90\n",
    );
    let out = lockstep(&["profile", "import", &counts, "--source", &file]);
    assert!(out.status.success(), "{}", errors(&out));
    let all = offered(&file, "5:20");
    let set = all.iter().find(|(id, _)| id == "version-on-zero-set");
    assert!(
        set.is_some_and(|(_, said)| said.starts_with("2 versions on zero: ")),
        "{all:?}"
    );
    let now = applied(&file, "5:20", "version-on-zero-set");
    assert!(
        now.contains("version on zero of %f6 (") && now.contains("version on zero of %f7 ("),
        "{now}"
    );
    assert!(now.contains("(1)") && now.contains("(2)"), "{now}");
}
