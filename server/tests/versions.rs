//! Versions on zero from the command line: made, judged by `check`, taken back; permissions are asked for by name.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};

const SHADER: &str = "float3 Brdf(float3 n, float3 l)
{
    return pow(saturate(dot(n, l)), 32.0) * normalize(n + l);
}

float4 main(float3 n : NORMAL, float3 l : LIGHT, float s : SHADOW) : SV_Target
{
    float3 color = n * 0.1;
    float shadow = saturate(s);
    float3 spec = Brdf(n, l);
    color += spec * shadow * sqrt(abs(l)) / (1.0 + dot(l, l));
    return float4(color, 1.0);
}
";

#[test]
fn a_version_on_zero_is_made_and_taken_back() {
    let place = Place::new("version");
    let file = place.file("lit.hlsl", SHADER);
    let listed = json(&lockstep(&[
        "actions", &file, "--at", "9:12", "--format", "json",
    ]));
    let action = listed["actions"]
        .as_array()
        .and_then(|all| all.iter().find(|it| it["id"] == "version-on-zero"))
        .unwrap_or_else(|| panic!("{listed}"));
    let title = action["title"].as_str().unwrap_or("");
    assert!(
        title.starts_with("Version on zero of `shadow` (pays from "),
        "{title}"
    );
    assert!(
        title.ends_with(" % zero warps, estimate for sm_80)"),
        "{title}"
    );
    assert_eq!(action["kind"], "refactor.rewrite");
    let diff = text(&lockstep(&[
        "apply",
        "version-on-zero",
        &file,
        "--at",
        "9:12",
        "--diff",
    ]));
    assert!(
        diff.contains("+    if (!WaveActiveAllTrue(shadow == 0.0))"),
        "{diff}"
    );
    let out = lockstep(&["apply", "version-on-zero", &file, "--at", "9:12", "--write"]);
    assert!(out.status.success(), "{}", errors(&out));
    let checked = lockstep(&["check", &file, "--deny", "all"]);
    assert!(checked.status.success(), "{}", text(&checked));
    let out = lockstep(&["apply", "remove-version", &file, "--at", "13:10", "--write"]);
    assert!(out.status.success(), "{}", errors(&out));
    assert_eq!(std::fs::read_to_string(&file).expect("there"), SHADER);
}

#[test]
fn kernels_ask_for_the_permission_by_name() {
    let place = Place::new("permission");
    let kernel = "__global__ void k(float* out, const float* in, const float* w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mask = fmaxf(w[i], 0.0f);
    float x = expf(in[i]) * logf(in[i + 1]) / (1.0f + expf(in[i + 2]));
    out[i] = mask * x;
}
";
    let file = place.file("k.cu", kernel);
    let told = text(&lockstep(&["actions", &file, "--at", "4:11"]));
    assert!(told.contains("refused: in IEEE arithmetic"), "{told}");
    let fast = text(&lockstep(&[
        "apply",
        "version-on-zero-fast",
        &file,
        "--at",
        "4:11",
    ]));
    assert!(
        fast.contains("if (__all_sync(__activemask(), mask == 0.0f))"),
        "{fast}"
    );
    place.file("lockstep.toml", "fast_math = true\n");
    let told = text(&lockstep(&["actions", &file, "--at", "4:11"]));
    assert!(told.contains("(pays from "), "{told}");
    // Whole warps and no branch: the full mask.
    place.file("lockstep.toml", "fast_math = true\nblock = [256, 1, 1]\n");
    let out = lockstep(&["apply", "version-on-zero", &file, "--at", "4:11"]);
    assert!(
        text(&out).contains("__all_sync(0xffffffff, mask == 0.0f)"),
        "{}{}",
        text(&out),
        errors(&out)
    );
}

/// The title with a profile has the saving, wherever the profile lies; another profile changes it.
#[test]
fn a_profile_gives_the_predicted_saving() {
    let place = Place::new("saving");
    let file = place.file("lit.hlsl", SHADER);
    let title = || {
        let listed = json(&lockstep(&[
            "actions", &file, "--at", "9:12", "--format", "json",
        ]));
        let actions = listed["actions"].as_array().cloned().unwrap_or_default();
        let one = actions
            .iter()
            .find(|action| action["id"] == "version-on-zero");
        one.and_then(|it| it["title"].as_str().map(str::to_owned))
            .unwrap_or_else(|| panic!("{listed}"))
    };
    let profile = |zeros: u32, output: &str| {
        let rows = format!("name,line,executions,zeros\nshadow,9,100,{zeros}\n");
        let counts = place.file("counts.csv", rows);
        let out = lockstep(&[
            "profile", "import", &counts, "--source", &file, "-o", output,
        ]);
        assert!(out.status.success(), "{}", errors(&out));
    };
    assert!(title().contains("(pays from "), "{}", title());
    profile(62, &format!("{file}.lockstep-profile.json"));
    assert!(
        title().contains(" at 62 % zero warps, estimate for sm_80)"),
        "{}",
        title()
    );
    // What the configuration names comes before what lies beside the file.
    std::fs::create_dir_all(place.folder().join("profiles")).expect("a directory");
    profile(87, &place.path("profiles/lit.hlsl.lockstep-profile.json"));
    place.file("lockstep.toml", "profile = \"profiles\"\n");
    assert!(
        title().contains(" at 87 % zero warps, estimate for sm_80)"),
        "{}",
        title()
    );
}

/// On the head of a function, the best of its versions are offered, best first.
#[test]
fn the_head_of_a_function_offers_its_best_versions() {
    let place = Place::new("ranked");
    let shader = SHADER.replace(
        "    color += spec",
        "    float fog = saturate(n.x * 2.0);\n    color += sin(l) * cos(l) * exp2(l) * fog * tan(l);\n    color += spec",
    );
    let file = place.file("lit.hlsl", &shader);
    let offered = |at: &str| -> Vec<(String, String)> {
        let listed = json(&lockstep(&[
            "actions", &file, "--at", at, "--format", "json",
        ]));
        let actions = listed["actions"].as_array().cloned().unwrap_or_default();
        let word =
            |value: &serde_json::Value, key: &str| value[key].as_str().unwrap_or("").to_owned();
        actions
            .iter()
            .map(|action| (word(action, "id"), word(action, "title")))
            .collect()
    };
    let from = |title: &str| -> f64 {
        let rest = title
            .split("pays from ")
            .nth(1)
            .unwrap_or_else(|| panic!("{title}"));
        rest.split(' ')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    let unprofiled = offered("6:10");
    assert!(unprofiled.len() >= 2, "{unprofiled:?}");
    assert_eq!(unprofiled[0].0, "version-on-zero");
    assert_eq!(unprofiled[1].0, "version-on-zero-2");
    let shares: Vec<f64> = unprofiled.iter().map(|(_, title)| from(title)).collect();
    assert!(shares.is_sorted(), "{unprofiled:?}");
    // A profile knows better: what is never zero is not offered.
    let last = &unprofiled.last().expect("one").1;
    let last = last.split('`').nth(1).expect("a name").to_owned();
    let line = |name: &str| {
        1 + shader
            .lines()
            .position(|l| l.contains(&format!("float {name} =")))
            .expect("a line")
    };
    let rows: String = ["shadow", "fog"]
        .iter()
        .map(|name| {
            format!(
                "{name},{},100,{}\n",
                line(name),
                if *name == last { 95 } else { 0 }
            )
        })
        .collect();
    let counts = place.file("counts.csv", format!("name,line,executions,zeros\n{rows}"));
    let out = lockstep(&["profile", "import", &counts, "--source", &file]);
    assert!(out.status.success(), "{}", errors(&out));
    let profiled = offered("6:10");
    assert!(
        profiled
            .first()
            .is_some_and(|(_, title)| title.contains(&format!("`{last}` (saves "))),
        "{last}: {profiled:?}"
    );
    // A version is applied by its number.
    let out = lockstep(&["apply", "version-on-zero", &file, "--at", "6:10"]);
    assert!(
        text(&out).contains(&format!("WaveActiveAllTrue({last} == 0.0)")),
        "{}",
        text(&out)
    );
}

const TEXT: &str = ".version 7.8
.target sm_80
.address_size 64

.visible .entry fade(.param .u64 p, .param .u64 q)
{
\t.reg .b32 %r<4>;
\t.reg .f32 %f<8>;
\t.reg .b64 %rd<6>;
\tld.param.u64 %rd1, [p];
\tld.param.u64 %rd2, [q];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd3, %r1, 4;
\tadd.s64 %rd4, %rd1, %rd3;
\tadd.s64 %rd5, %rd2, %rd3;
\tld.global.f32 %f1, [%rd4];\t// the weight
\tld.global.f32 %f2, [%rd5];
\tsqrt.rn.f32 %f3, %f2;
\tdiv.rn.f32 %f4, %f3, 0f40400000;
\tmul.f32 %f5, %f1, %f4;
\tst.global.f32 [%rd4], %f5;
\tret;
}
";

/// A `.ptx` document: lines are added, none is changed, and they are taken back.
#[test]
fn the_head_of_a_function_without_a_version_says_why() {
    let place = Place::new("version-refused");
    let listed = |name: &str, text: &str| -> Vec<String> {
        let file = place.file(name, text);
        let listed = json(&lockstep(&[
            "actions", &file, "--at", "1:10", "--format", "json",
        ]));
        let all = listed["actions"].as_array().cloned().unwrap_or_default();
        let shown = |value: &serde_json::Value| {
            let word = |key: &str| value[key].as_str().unwrap_or("").to_owned();
            format!("{}: {}", word("id"), word("refused"))
        };
        all.iter().map(shown).collect()
    };
    let barrier = "__global__ void k(float *o, const float *a) {\n  float w = fmaxf(a[threadIdx.x], 0.0f);\n\
                   \x20 o[threadIdx.x] = w * a[0];\n  __syncthreads();\n  o[threadIdx.x + 1] = w * sqrtf(a[1]) * a[2];\n}\n";
    let told = listed("barrier.cu", barrier);
    assert!(
        told.iter()
            .any(|it| it.starts_with("version-on-zero: ") && it.len() > 30),
        "{told:?}"
    );
    let plain = "__global__ void k(float *o, const float *a) {\n  float w = a[threadIdx.x] + 1.0f;\n  o[threadIdx.x] = w;\n}\n";
    let told = listed("plain.cu", plain);
    assert!(told.iter().any(|it| it.contains("`w`")), "{told:?}");
}

#[test]
fn a_version_of_ptx_text_is_made_and_taken_back() {
    let place = Place::new("version-ptx");
    let file = place.file("fade.ptx", TEXT);
    let told = text(&lockstep(&["actions", &file, "--at", "16:17"]));
    assert!(told.contains("refused: in IEEE arithmetic"), "{told}");
    let out = lockstep(&[
        "apply",
        "version-on-zero-fast",
        &file,
        "--at",
        "16:17",
        "--write",
    ]);
    assert!(out.status.success(), "{}", errors(&out));
    let now = std::fs::read_to_string(&file).expect("there");
    for wanted in [
        "\tld.global.f32 %f1, [%rd4];\t// the weight\n\t{ // lockstep: version on zero of %f1 (1)\n",
        "\tsetp.eq.f32 \t%lsz, %f1, 0f00000000;\n\tactivemask.b32 \t%lsm;\n",
        "$lockstep_zero_1:\n\tmov.f32 \t%f5, 0f00000000;\n$lockstep_join_1:\n",
    ] {
        assert!(now.contains(wanted), "{now}");
    }
    let checked = lockstep(&["check", &file, "--deny", "all"]);
    assert!(checked.status.success(), "{}", text(&checked));
    let out = lockstep(&["apply", "remove-version", &file, "--at", "18:3", "--write"]);
    assert!(out.status.success(), "{}", errors(&out));
    assert_eq!(std::fs::read_to_string(&file).expect("there"), TEXT);
    // Whole warps that run together: the full mask.
    place.file("lockstep.toml", "fast_math = true\nblock = [256, 1, 1]\n");
    let out = lockstep(&["apply", "version-on-zero", &file, "--at", "16:17"]);
    let told = text(&out);
    assert!(
        told.contains("vote.sync.all.pred \t%lsa, %lsz, 0xffffffff;"),
        "{told}{}",
        errors(&out)
    );
}

/// The estimate weighs a loop by its count in the profile, in the source and in text of the machine.
#[test]
fn a_profile_says_how_often_a_loop_runs() {
    let place = Place::new("loop-executions");
    let kernel = "__global__ void k(float* out, const float* in, const float* w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mask = fmaxf(w[i], 0.0f);
    float sum = 0.0f;
    for (int j = 0; j < n; j++) {
        sum += expf(in[j]) / (1.0f + in[j + 1]);
    }
    out[i] = mask * sum;
}
";
    let file = place.file("k.cu", kernel);
    place.file("lockstep.toml", "fast_math = true\n");
    let region = |n: u32| -> f64 {
        let inputs = format!(
            "item = \"k\"\n[launch]\nthreads = [256]\nblock = [64]\n[values]\nn = {n}\n[buffers.in]\nfill = \"normal\"\n\
             count = 256\n[buffers.w]\nfill = \"sparse\"\nzeros = 1.0\ncount = 256\n[buffers.out]\ncount = 256\n"
        );
        let inputs = place.file("k.toml", inputs);
        let out = lockstep(&[
            "profile",
            &file,
            "--inputs",
            &inputs,
            "-o",
            &format!("{file}.lockstep-profile.json"),
        ]);
        assert!(out.status.success(), "{}", errors(&out));
        let told = text(&lockstep(&["actions", &file, "--at", "4:11"]));
        let cycles = told.split(" cycles a warp at").next().unwrap_or("");
        let cycles = cycles.rsplit(' ').next().unwrap_or("");
        cycles.parse().unwrap_or_else(|_| panic!("{told}"))
    };
    let (few, many) = (region(4), region(64));
    assert!(many > 10.0 * few && many < 16.5 * few, "{few} {many}");
}

/// In text of the machine too the head of a function stands for all of it.
#[test]
fn the_head_of_a_ptx_function_offers_its_best_versions() {
    let place = Place::new("ranked-ptx");
    let marked = TEXT.replace("%f<8>", "%f<12>").replace(
        "\tsqrt.rn.f32 %f3, %f2;\n\tdiv.rn.f32 %f4, %f3, 0f40400000;\n\tmul.f32 %f5, %f1, %f4;\n",
        "\tmax.f32 %f6, %f1, 0f00000000;\n\tmax.f32 %f7, %f2, 0f00000000;\n\tsqrt.rn.f32 %f3, %f2;\n\
         \tdiv.rn.f32 %f4, %f3, 0f40400000;\n\tdiv.rn.f32 %f4, %f4, %f3;\n\tmul.f32 %f8, %f6, %f4;\n\
         \tsqrt.rn.f32 %f3, %f1;\n\tdiv.rn.f32 %f3, %f3, 0f40400000;\n\tmul.f32 %f3, %f7, %f3;\n\
         \tadd.f32 %f5, %f3, %f8;\n",
    );
    let file = place.file("fade.ptx", &marked);
    place.file("lockstep.toml", "fast_math = true\n");
    let listed = json(&lockstep(&[
        "actions", &file, "--at", "5:20", "--format", "json",
    ]));
    let actions = listed["actions"].as_array().cloned().unwrap_or_default();
    let word = |at: usize, key: &str| {
        let one = actions.get(at).and_then(|action| action[key].as_str());
        one.unwrap_or_else(|| panic!("{listed}")).to_owned()
    };
    assert_eq!(
        [word(0, "id"), word(1, "id")],
        ["version-on-zero", "version-on-zero-2"]
    );
    // What makes more useless pays sooner.
    assert!(word(0, "title").contains("`%f6` (pays from "), "{listed}");
    assert!(word(1, "title").contains("`%f7` (pays from "), "{listed}");
    let out = lockstep(&[
        "apply",
        "version-on-zero-2",
        &file,
        "--at",
        "5:20",
        "--write",
    ]);
    assert!(out.status.success(), "{}", errors(&out));
    let now = std::fs::read_to_string(&file).expect("there");
    assert!(
        now.contains("// lockstep: version on zero of %f7 (1)"),
        "{now}"
    );
    let checked = lockstep(&["check", &file, "--deny", "all"]);
    assert!(checked.status.success(), "{}", text(&checked));
}
