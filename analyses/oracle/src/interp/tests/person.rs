//! The front door for a person.

use super::*;

fn scale() -> Module {
    kernel(|b| {
        let p = b.parameter("p", "float*", &[Type::Ptr(Space::Global)])[0];
        let k = b.parameter("k", "float", &[Type::F32])[0];
        let n = b.parameter("n", "int", &[Type::I32])[0];
        let lane = tid(b);
        b.function.returns = vec![Type::F32];
        let (inside, end) = (b.create_block(), b.create_block());
        let c = less(b, lane, n);
        b.branch(c, inside, end, BranchKind::If);
        b.switch_to(inside);
        let at = element(b, p, lane, 4);
        let x = b.load(GLOBAL, at, Type::F32);
        let y = b.binary(BinaryOp::FloatMul, Wrap::MAY, x, k);
        b.store(GLOBAL, at, &[y]);
        b.ret([y]);
        b.switch_to(end);
        b.ret([k]);
    })
}

fn describe(arguments: &[&str]) -> LaunchDescription {
    LaunchDescription {
        lanes: 4,
        arguments: arguments
            .iter()
            .map(|a| a.parse().expect("an argument"))
            .collect(),
        ..LaunchDescription::default()
    }
}

#[test]
fn arguments_by_name_and_by_position() {
    for arguments in [["n=3", "k=2", "p=f32:1,2.5,3"], ["f32:1,2.5,3", "2", "3"]] {
        let outcome = run_simple(&scale(), &describe(&arguments));
        assert_eq!(outcome.error, None);
        assert_eq!(outcome.buffers[0].floats(), [2.0, 5.0, 6.0]);
        let text = outcome.to_string();
        assert!(text.starts_with("result 0: 2 5 6 2\n"), "{text}");
    }
}

#[test]
fn what_is_missing_is_chosen() {
    let outcome = run_simple(&scale(), &describe(&[]));
    assert_eq!(outcome.error, None);
    assert_eq!(outcome, run_simple(&scale(), &describe(&[])));
}

#[test]
fn errors_are_part_of_the_text() {
    let outcome = run_simple(&scale(), &describe(&["p=f32[2]", "n=4"]));
    let text = outcome.to_string();
    assert!(text.contains("error: k b1"), "{text}");
    assert!(text.contains("byte 8 of an object of 8 bytes"), "{text}");
    assert!(text.contains("lane 2 of warp 0"), "{text}");
}

#[test]
fn bad_arguments_are_refused() {
    use crate::interp::simple::DescribedArgument;
    for text in [
        "p=f31:1",
        "p=i32[x]",
        "p=i32:1,b",
        "",
        "q=",
        "p=i64[99999999999999999999]",
        "i64[2305843009213693952]",
    ] {
        assert!(text.parse::<DescribedArgument>().is_err(), "{text}");
    }
    assert!("x=0xff".parse::<DescribedArgument>().is_ok());
}

#[test]
fn strange_modules_and_descriptions_do_not_fail() {
    assert!(
        run_simple(&Module::default(), &LaunchDescription::default())
            .error
            .is_some()
    );
    let description = LaunchDescription {
        lanes: 0,
        workgroups: 0,
        warp_size: Some(0),
        ..describe(&["1", "2", "3", "4", "5", "x=1", "y=i32[2]"])
    };
    assert!(run_simple(&scale(), &description).error.is_some());
}
