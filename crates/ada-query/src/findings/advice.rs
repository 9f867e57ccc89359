//! What to do about a finding: in words, and the command that shows more.

use super::Finding;

/// What to do, and what to type next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// In one sentence.
    pub what_to_do: String,
    /// A command of ada's, without the session.
    pub next: String,
    /// How sure it is that something is wrong: `certain`, `likely` or `possible`.
    pub certainty: &'static str,
}

/// The advice for a finding of any kind.
pub fn advice(finding: &Finding) -> Advice {
    let evidence = finding.evidence.first().map(String::as_str);
    let show = || evidence.map_or_else(|| "ada ask findings".to_owned(), |it| format!("ada show {it}"));
    let tree = || match &finding.function {
        Some(function) => format!("ada tree --function '{}'", plain(function)),
        None => show(),
    };
    let fact = |name: &str| finding.facts[name].as_str().unwrap_or_default();
    let (what_to_do, next) = match finding.kind {
        // Where it was caught, the process did not end by it.
        "panic" if finding.facts["thread_id"].is_null() && evidence.is_some() => {
            ("Look at what it was called with, and by whom.", show())
        }
        "crash" | "panic" | "uncaught_exception" => {
            let next = match finding.facts["thread_id"].as_u64() {
                Some(thread) => format!("ada spans --thread {thread} --reason crash --all"),
                None => "ada spans --reason crash --all".to_owned(),
            };
            ("Look at the calls that were open, and at their arguments (recorded with --detail all).", next)
        }
        "terminated" => ("Look at what each thread did last.", "ada threads".to_owned()),
        "deadlock" => ("Take the locks in the same order everywhere.", "ada waits".to_owned()),
        "lost_wakeup" => {
            ("Look at what the condition stands for before each wait, with the mutex held.", "ada waits".to_owned())
        }
        "lock_held_asleep" => ("Let go of the lock before sleeping.", "ada waits --by holder".to_owned()),
        "lock_starvation" if fact("waits_to") == "write" => (
            "Have the lock prefer writers (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP), or read for less time.",
            "ada waits --kind rwlock".to_owned(),
        ),
        "lock_starvation" => (
            "Have the lock prefer readers, or write less often: more under one lock at a time.",
            "ada waits --kind rwlock".to_owned(),
        ),
        "priority_inversion" => (
            "Use a mutex with PTHREAD_PRIO_INHERIT, or give all that take the lock one priority.",
            "ada waits --by holder".to_owned(),
        ),
        "lock_inversion" => {
            ("Take the locks in the same order everywhere.", "ada query 'SELECT * FROM holds'".to_owned())
        }
        "hang" if matches!(fact("waits_for"), "a lock" | "another thread's signal" | "a thread to end") => {
            ("Look at who waits for whom at the end, and at what these threads did before.", "ada waits".to_owned())
        }
        "hang" => ("Look at the calls before, on this thread and the others.", show()),
        "long_wait" => match fact("waits_for") {
            "a lock" => {
                let why = || evidence.map_or_else(show, |it| format!("ada ask why-slow {it}"));
                ("Hold the lock for less time, or split what it guards.", why())
            }
            "input or output" => ("Ask for more at once, or do it on another thread.", show()),
            "time to pass" => ("Wait for what is to happen, and not for time to pass.", show()),
            _ => ("Look at what the other side did meanwhile.", show()),
        },
        "chatty_io" => ("Read or write more at once.", show()),
        "disturbed" if finding.facts["waited_ns"] == 0 => (
            "Leave the waits for these programs out of what you compare, or trace the program without them (--no-follow).",
            "ada top --sort blocked".to_owned(),
        ),
        "disturbed" => (
            "Trace again with --max-overhead 10%, or --only with what you want to see.",
            "ada top --all --sort calls".to_owned(),
        ),
        // Counts do not say who keeps what others may give back; addresses do.
        "leak" if finding.facts["is_clear"] == false && fact("what") == "memory" => (
            "Trace again with --args malloc,calloc,realloc,free: then it is known which blocks were kept, and who took them.",
            tree(),
        ),
        "leak" => ("Give back what was taken, on the way out of who keeps it.", show()),
        "slow_outlier" => (
            "Compare the slow call with the usual ones.",
            evidence.map_or_else(show, |it| format!("ada ask why-slow {it}")),
        ),
        "growing_cost" => ("Keep what it looks for each time: an end, a length, an index.", tree()),
        "hot_function" => ("Call it less often, or make it do less.", tree()),
        "hot_tiny_function" => ("Inline it, or call it less; `ada trace --exclude` leaves it out of traces.", tree()),
        "recursion" => ("Make sure that the depth has a bound.", tree()),
        "never_joined" => ("Join the thread, or detach it.", "ada threads".to_owned()),
        "never_resumed" => ("Look for the path that forgets to resume it.", show()),
        "leaked_goroutines" => (
            "Close the channel, or give each a context that ends, on every path.",
            "ada tasks --runtime go --status unmatched".to_owned(),
        ),
        "never_left" => ("Leave the group on every path that enters it.", "ada queues".to_owned()),
        "failed_calls" => ("Look at what it was called with, and whether its failure is dealt with.", show()),
        "ignored_error" => ("Await the task's result, or catch the error inside it.", show()),
        "leaked_continuation" => ("Resume the continuation on every path, or it waits for ever.", show()),
        "unmatched" => (
            "Look at what these calls have in common.",
            format!("ada spans --all --type frame --status {} --reason {}", fact("status"), fact("reason")),
        ),
        _ => ("Look at the evidence.", show()),
    };
    Advice { what_to_do: what_to_do.to_owned(), next, certainty: certainty(finding) }
}

fn certainty(finding: &Finding) -> &'static str {
    match finding.kind {
        "crash" | "panic" | "uncaught_exception" | "deadlock" | "ignored_error" | "disturbed" => "certain",
        // Pools wait for work until the end. Hardly anybody waits for a lock by design: redis has its threads do so.
        "hang" if finding.facts["waits_for"] == "a lock" && finding.facts["process_exited"] == false => "certain",
        "failed_calls" if finding.score >= 40.0 => "likely",
        // Values prove that it was kept; counts suggest it, where nobody else keeps any or only one agrees with what is missing.
        "leak" if finding.facts["kept"].is_u64() && finding.function.is_some() => "likely",
        "leak" if finding.facts["is_clear"] == true => "likely",
        "leaked_goroutines" | "never_left" | "never_resumed" if finding.score >= 55.0 => "likely",
        "lost_wakeup" | "lock_held_asleep" | "lock_starvation" | "priority_inversion" | "growing_cost" => "likely",
        "slow_outlier" | "long_wait" if finding.score >= 55.0 => "likely",
        _ => "possible",
    }
}

/// A name that a shell takes in single quotes, and that finds the function.
fn plain(name: &str) -> String {
    let plain = ada_image::without_arguments(name);
    // `?` is wild.
    plain.replace('\'', "?")
}
