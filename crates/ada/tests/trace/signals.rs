//! Signal handlers, wherever they hit.

use super::program::Program;
use super::recorded::{Counts, RecordedEvent};
use super::tracing::{Traced, Tracing};

use ada_event::EventKind;

#[test]
fn a_handler_is_called_where_the_signal_is_raised() {
    let traced = Tracing::new(&Program::new("raise.c")).check();
    let recorded = &traced.recorded;
    recorded.assert_balanced("handler", 2);
    recorded.assert_balanced("nested", 2);
    recorded.assert_balanced("work", 2);
    recorded.assert_balanced("leaf", 2 * 4);
    let events: Vec<String> = recorded.tree().lines().map(|line| line.trim().to_owned()).collect();
    let once = [
        "call work",
        "call handler",
        "call leaf",
        "return leaf",
        "call nested",
        "call leaf",
        "return leaf",
        "return nested",
        "call leaf",
        "return leaf",
        "return handler",
        "call leaf",
        "return leaf",
        "return work",
    ];
    let expected: Vec<&str> = ["call main"].into_iter().chain(once).chain(once).chain(["return main"]).collect();
    assert_eq!(events, expected);
}

/// Three thousand signals at 10 kHz; the program itself has counted.
fn at_10_khz(mode: &str) -> Traced {
    let traced = Tracing::new(&Program::new("timer_signals.c")).argument(mode).check_output();
    let recorded = &traced.recorded;
    let (handled, jumps, rounds) = (traced.printed("handled"), traced.printed("jumps"), traced.printed("rounds"));
    assert_eq!(recorded.counts("handler"), Counts { calls: handled, returns: handled - jumps, unwound: jumps });
    // A jump may come between the count of a round and its call.
    let busy = recorded.counts("busy");
    assert!(busy.calls <= rounds && busy.calls + jumps >= rounds, "{busy:?} in {rounds} rounds");
    assert_eq!(busy.returns + busy.unwound, busy.calls, "{busy:?}");
    assert!(busy.unwound <= jumps);
    recorded.assert_balanced("main", 1);
    traced
}

/// Each record of `name` that says CALL has one that says how it ended.
fn assert_all_end(traced: &Traced, name: &str) {
    let counts = traced.recorded.counts(name);
    assert_eq!(counts.calls, counts.returns + counts.unwound, "{name}: {counts:?}");
}

#[test]
fn signals_at_10_khz() {
    let traced = at_10_khz("plain");
    let (handled, rounds) = (traced.printed("handled"), traced.printed("rounds"));
    traced.recorded.assert_balanced("work", rounds * 2000 + handled);
    traced.recorded.assert_balanced("leaf", 2 * (rounds * 2000 + handled));
}

#[test]
fn signals_at_10_khz_on_a_stack_of_their_own() {
    let traced = at_10_khz("altstack");
    let (handled, rounds) = (traced.printed("handled"), traced.printed("rounds"));
    traced.recorded.assert_balanced("work", rounds * 2000 + handled);
    traced.recorded.assert_balanced("leaf", 2 * (rounds * 2000 + handled));
}

#[test]
fn siglongjmp_out_of_signals_at_10_khz() {
    let traced = at_10_khz("jump");
    assert_all_end(&traced, "work");
    assert_all_end(&traced, "leaf");
}

#[test]
fn siglongjmp_out_of_signals_at_10_khz_on_a_stack_of_their_own() {
    let traced = at_10_khz("altjump");
    assert_all_end(&traced, "work");
    assert_all_end(&traced, "leaf");
}

#[test]
fn signals_at_10_khz_nest() {
    at_10_khz("plain").recorded.assert_nested();
}

#[test]
fn signals_that_are_jumped_out_of_do_no_harm() {
    for mode in ["jump", "altjump"] {
        let traced = Tracing::new(&Program::new("timer_signals.c")).argument(mode).check_output();
        assert_eq!(traced.recorded.counts("handler").calls, traced.printed("handled"));
        assert!(traced.recorded.counts("busy").calls <= traced.printed("rounds"));
    }
}

#[test]
fn depths_after_many_jumps_are_those_of_the_beginning() {
    let traced = at_10_khz("jump");
    let process = traced.recorded.process();
    let busy = process.own().functions.iter().position(|row| row.name == "busy").unwrap();
    let is_busy = |event: &&RecordedEvent| {
        event.kind == EventKind::CALL
            && event.function.module() == process.own().id
            && event.function.symbol_index() as usize == busy
    };
    let depths: Vec<u32> = process.threads[0].iter().filter(is_busy).map(|event| event.depth).collect();
    assert!(depths.iter().all(|&depth| depth == depths[0]), "{depths:?}");
}
