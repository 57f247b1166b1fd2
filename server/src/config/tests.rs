//! What configurations say, and what is said of those that are wrong.

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
    let settings = serde_json::json!({"includeDirs": ["inc"], "hints": {"values": false}, "trace": {"server": "off"}});
    assert!(apply_json(&mut config, &settings, Some(Path::new("/r"))).is_empty());
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
