//! Tests of the meaning of configurations, and of the messages for those that are wrong.

use super::*;

#[test]
fn a_bad_value_is_a_problem_at_its_place_and_the_rest_is_used() {
    let mut config = Config::default();
    let text = "warp_size = 999\nblock = [64, 1]\nnonsense = 1\n[diagnostics]\nbank-conflict = \"off\"\nx = \"off\"\n";
    let problems = apply_toml(&mut config, text, Path::new("/p"));
    assert_eq!(config.analysis.options.warp_size, 32);
    assert_eq!(config.analysis.options.block, [Some(64), Some(1), None]);
    assert_eq!(config.view.level(Code::BankConflict), Some(Level::Off));
    let places: Vec<_> = problems
        .iter()
        .map(|p| &text[p.span.start as usize..p.span.end as usize])
        .collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(places.contains(&"warp_size = 999"), "{places:?}");
}

#[test]
fn text_that_is_no_toml_leaves_the_defaults() {
    let mut config = Config::default();
    let problems = apply_toml(&mut config, "= [[[", Path::new("/p"));
    assert!(!problems.is_empty());
    assert_eq!(config, Config::default());
}

#[test]
fn an_editors_settings_have_the_same_shape() {
    let mut config = Config::default();
    let settings = serde_json::json!({
        "includeDirs": ["inc"], "warpSize": null, "entryPoints": { "PSMain": "pixel" },
        "hints": { "values": false, "zeroPercent": 5, "detail": null }, "trace": { "server": "off" },
    });
    let problems = apply_json(&mut config, &settings, Some(Path::new("/r")));
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(config.view.hints.zero_percent, 5);
    // A name of a function is no key.
    assert!(config.analysis.entry_point("PSMain").is_some());
    assert_eq!(config.analysis.include_dirs, [PathBuf::from("/r/inc")]);
    assert!(!config.view.hints.values);
}

#[test]
fn entry_points_are_named_or_described_by_patterns() {
    use ir::ShaderStage;
    let mut config = Config::default();
    let text = "entry_points = { \"PS*\" = \"pixel\", PSHelper = \"vertex\", \"*_cs_*\" = \"compute\", x = \"nonsense\" }";
    let problems = apply_toml(&mut config, text, Path::new("/p"));
    assert_eq!(problems.len(), 1, "{problems:?}");
    let stage = |name| config.analysis.entry_point(name);
    assert_eq!(
        stage("PSMain"),
        Some(FunctionKind::Stage(ShaderStage::Pixel))
    );
    assert_eq!(
        stage("n::PSHelper"),
        Some(FunctionKind::Stage(ShaderStage::Vertex))
    );
    assert_eq!(stage("blur_cs_8x8"), Some(FunctionKind::Kernel));
    assert_eq!(
        (stage("x"), stage("VSMain"), stage("blur_cs")),
        (None, None, None)
    );
}

#[test]
fn what_is_wrong_with_a_value_is_said_with_its_key() {
    let cases = [
        (
            "block = [1, 1, 1, 1]",
            "block",
            "`block` has at most three numbers",
        ),
        (
            "block = [1, 2000]",
            "block",
            "`block`: expected a number from 0 to 1024",
        ),
        (
            "[hints]\ndetail = \"much\"",
            "detail",
            "`hints.detail`: unknown variant `much`, expected `brief` or `full`",
        ),
        (
            "[diagnostics]\nbank-conflict = \"loud\"",
            "bank-conflict",
            "`diagnostics.bank-conflict`: unknown variant `loud`, expected one of",
        ),
        (
            "preview = \"yes\"",
            "preview",
            "`preview`: invalid type: string \"yes\", expected a boolean",
        ),
        ("hints = 3", "hints", "`hints`: invalid type: integer `3`"),
        (
            "defines = 3",
            "defines",
            "`defines`: expected a list of \"NAME=VALUE\" or a table",
        ),
        ("[server]\nspeed = 3", "speed", "unknown key `server.speed`"),
        ("[quick]\nspeed = 3", "quick", "unknown key `quick`"),
        (
            "machine = \"abacus\"",
            "machine",
            "there is no table of a GPU `abacus`",
        ),
    ];
    for (text, place, message) in cases {
        let mut config = Config::default();
        let problems = apply_toml(&mut config, text, Path::new("/p"));
        let [problem] = problems.as_slice() else {
            panic!("{text}: {problems:?}");
        };
        assert!(problem.message.starts_with(message), "{}", problem.message);
        let there = &text[problem.span.start as usize..problem.span.end as usize];
        assert!(there.starts_with(place), "{text}: {there}");
        assert_eq!(config, Config::default(), "{text}");
    }
}
