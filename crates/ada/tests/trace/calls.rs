//! Plain calls: recursion, tail calls, callbacks, C++.

use ada_event::EventKind;

use super::program::Program;
use super::recorded::Counts;
use super::tracing::{Traced, Tracing};

#[test]
fn recursion_is_counted_to_the_last_call() {
    let traced = Tracing::new(&Program::new("recursion.c")).check();
    let recorded = &traced.recorded;
    recorded.assert_balanced("main", 1);
    recorded.assert_balanced("chain", 201);
    recorded.assert_balanced("fib", 1973);
    assert_eq!(recorded.process().depths("chain", EventKind::CALL), (1..=201).collect::<Vec<i64>>());
    assert_eq!(recorded.process().depths("chain", EventKind::RETURN), (1..=201).rev().collect::<Vec<i64>>());
    let deepest = recorded.process().depths("fib", EventKind::CALL).into_iter().max();
    assert_eq!(deepest, Some(15));
}

#[test]
fn mutual_recursion_is_a_tree() {
    let traced = Tracing::new(&Program::new("mutual_recursion.c")).check();
    let tree = "\
call main
  call is_even
    call is_odd
      call is_even
        call is_odd
          call is_even
          return is_even
        return is_odd
      return is_even
    return is_odd
  return is_even
return main
";
    assert_eq!(traced.recorded.tree(), tree);
}

fn tail_call() -> Program {
    Program::new("tail_call.c").flags(&["-foptimize-sibling-calls"])
}

#[test]
fn a_tail_call_ends_its_caller_and_is_at_the_same_depth() {
    let traced = Tracing::new(&tail_call()).check();
    let recorded = &traced.recorded;
    let tree = "\
call main
  call plain
    call first
    tail first
    call middle
    tail middle
    call last
    return last
    call first
    tail first
    call middle
    tail middle
    call last
    return last
  return plain
";
    assert!(recorded.tree().starts_with(tree), "{}", recorded.tree().get(..400).unwrap_or_default());
    assert_eq!(recorded.counts("first"), Counts { calls: 2, returns: 0, unwound: 0 });
    assert_eq!(recorded.counts("middle"), Counts { calls: 2, returns: 0, unwound: 0 });
}

/// What is in a table is no place in the function that goes by it, where nobody has stored such a place.
#[test]
fn functions_that_end_in_a_call_by_a_table_are_left_there() {
    let builds = [
        ("gcc", &["-O2"][..]),
        ("gcc", &["-Os"]),
        ("gcc", &["-O2", "-no-pie"]),
        ("clang", &["-O2"]),
        ("clang", &["-O2", "-no-pie"]),
    ];
    for (compiler, flags) in builds {
        let flags = [flags, &["-foptimize-sibling-calls"]].concat();
        let traced = Tracing::new(&Program::new("function_table.c").compiler(compiler).flags(&flags)).check();
        let recorded = &traced.recorded;
        for name in ["by_function", "by_structure", "by_object", "with_frame", "by_case"] {
            let expected = Counts { calls: 300, returns: 0, unwound: 0 };
            assert_eq!(recorded.counts(name), expected, "{name}, {compiler} {flags:?}");
        }
        for (name, calls) in [("one", 550), ("two", 500), ("three", 450)] {
            recorded.assert_balanced(name, calls);
        }
        recorded.assert_balanced("note", 900);
        recorded.assert_balanced("cases", 300);
    }
}

#[test]
fn tail_calls_in_a_ring_do_not_pile_up() {
    let traced = Tracing::new(&tail_call()).check();
    let process = traced.recorded.process();
    assert_eq!(process.counts("ping").calls, 50_001);
    assert_eq!(process.counts("pong").calls, 50_000);
    assert_eq!(process.counts("ping").returns + process.counts("pong").returns, 1);
    assert!(process.depths("pong", EventKind::CALL).into_iter().all(|depth| depth == 1));
}

#[test]
fn a_function_that_runs_on_into_the_next_goes_on_there() {
    let traced = Tracing::new(&Program::new("runs_on.c")).check();
    let recorded = &traced.recorded;
    let first = "\
call main
  call doubled
  return doubled
  call doubled_next
  tail doubled_next
  call doubled
  return doubled
  call doubled_sum
  tail doubled_sum
  call doubled_next
  tail doubled_next
  call doubled
  return doubled
  call checked
  tail checked
  call doubled_sum
  tail doubled_sum
";
    assert!(recorded.tree().starts_with(first), "{}", recorded.tree().get(..600).unwrap_or_default());
    // Of a hundred calls of `checked` 49 are refused, and the others run through all of them.
    for (name, calls) in [("checked", 100), ("doubled_sum", 100 + 51), ("doubled_next", 2 * 100 + 51)] {
        assert_eq!(recorded.counts(name), Counts { calls, returns: 0, unwound: 0 }, "{name}");
    }
    recorded.assert_balanced("refused", 49);
    recorded.assert_balanced("doubled", 3 * 100 + 51);
}

fn deep_recursion(levels: u64) -> Traced {
    let traced = Tracing::new(&Program::new("deep_recursion.c")).argument(levels.to_string()).check_output();
    let recorded = &traced.recorded;
    recorded.assert_balanced("shallow", 3);
    let deep = recorded.counts("deep");
    assert_eq!((deep.calls, deep.unwound), (2 * levels + 4 + 5 + 6, 0));
    for kind in [EventKind::CALL, EventKind::RETURN] {
        let depths = recorded.process().depths("shallow", kind);
        assert!(depths.len() == 3 && depths.iter().all(|depth| *depth == depths[0]), "{depths:?}");
    }
    traced
}

#[test]
fn recursion_has_its_returns_however_deep_it_is() {
    for levels in [32_600, 32_800, 100_000, 1_000_000] {
        let traced = deep_recursion(levels);
        traced.recorded.assert_balanced("deep", 2 * levels + 4 + 5 + 6);
        for kind in [EventKind::CALL, EventKind::RETURN] {
            // The outermost is in `run`, beside those in `shallow`.
            let depths = traced.recorded.process().depths("deep", kind);
            let range = depths.iter().min().zip(depths.iter().max());
            assert_eq!(range.map(|(least, most)| most - least + 1), Some(levels as i64));
        }
    }
}

#[test]
fn recursion_beyond_the_room_for_returns_survives() {
    let traced = deep_recursion(1_100_000);
    let deep = traced.recorded.counts("deep");
    assert!(deep.returns > 1_000_000 && deep.returns < deep.calls, "{deep:?}");
}

/// Handlers at all depths, and deep ones, jumps, a fork child, threads.
#[test]
fn what_happens_in_deep_recursion_is_recorded_as_anywhere() {
    let traced = Tracing::new(&Program::new("deep_stacks.c")).check_output();
    for name in ["wobble", "handler", "deep_handler", "down"] {
        traced.recorded.assert_balanced(name, traced.printed(name));
    }
    let jumper = traced.recorded.counts("jumper");
    assert_eq!((jumper.calls, jumper.unwound, jumper.returns), (traced.printed("jumper"), traced.printed("jumper"), 0));
}

#[test]
fn virtual_calls_lambdas_and_templates_are_calls() {
    let traced = Tracing::new(&Program::new("virtual_calls.cpp")).check();
    let recorded = &traced.recorded;
    for (name, calls) in [("Square::area", 5), ("Line::area", 5), ("Square::Square", 5), ("apply", 7)] {
        recorded.assert_balanced(name, calls);
    }
    let process = recorded.process();
    let of = |part: &str| process.counts_of(|module, row| module.id == process.own().id && row.name.contains(part));
    assert_eq!(of("twiceIi"), Counts { calls: 2, returns: 2, unwound: 0 });
    assert_eq!(of("twiceId"), Counts { calls: 1, returns: 1, unwound: 0 });
    // The lambda's body, and what std::function puts before it and may have tail-called it from.
    let lambda = of("ENKUliE_clEi");
    assert_eq!((lambda.calls, lambda.unwound), (7, 0), "{lambda:?}");
}

#[test]
fn libc_calls_back_and_odd_arguments_arrive() {
    let program = Program::new("callback.c").flags(&["-lm"]);
    let traced = Tracing::new(&program).check();
    let recorded = &traced.recorded;
    recorded.assert_balanced("compare", traced.printed("comparisons"));
    for name in ["make", "mix", "extended", "complex_number"] {
        recorded.assert_balanced(name, 1);
    }
    let process = recorded.process();
    let qsort = process.counts_of(|module, row| module.path.contains("libc.so") && row.name == "qsort");
    assert_eq!(qsort.calls, 1);
}

#[test]
fn an_exit_inside_leaves_frames_open_and_runs_handlers() {
    let traced = Tracing::new(&Program::new("exit_inside.c")).check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.counts("inner"), Counts { calls: 6, returns: 0, unwound: 0 });
    assert_eq!(recorded.counts("main"), Counts { calls: 1, returns: 0, unwound: 0 });
    recorded.assert_balanced("at_exit", 1);
    assert_eq!(traced.output.status.code(), Some(42));
}

#[test]
fn functions_whose_first_bytes_are_branched_into_are_counted() {
    for flags in [&["-O2"][..], &["-static"]] {
        let traced = Tracing::new(&Program::new("crowded_entry.c").flags(flags)).check();
        for (name, calls) in [("crowded", 10), ("twin", 10), ("hop", 10), ("retry", 1), ("main", 1)] {
            traced.recorded.assert_balanced(name, calls);
        }
    }
}
