//! What this machine allows, as far as tracing needs it.

use std::fs;
use std::io::{self, ErrorKind};

use ada_process::{ContextSwitches, this_process};
use rustix::process::{Resource, getrlimit};

use crate::debuginfod;

/// One thing that tracing needs of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// Whether it is there.
    pub is_good: bool,
    /// What was found, and where it is not good, what to do.
    pub words: String,
}

/// Looks at everything that can be known without tracing something.
pub fn check_machine() -> Vec<Check> {
    vec![
        thread_bases(),
        clock(),
        tracing_policy(),
        attaching(),
        container(),
        performance_events(),
        address_space(),
        overcommit(),
        Check { name: "debuginfod", is_good: true, words: debuginfod::availability() },
    ]
}

fn check(name: &'static str, is_good: bool, good: impl Into<String>, bad: impl Into<String>) -> Check {
    Check { name, is_good, words: if is_good { good.into() } else { bad.into() } }
}

/// The stubs keep a thread's state behind the GS base, and the agent sets it without a system call.
fn thread_bases() -> Check {
    const FSGSBASE: u64 = 1 << 1;
    // SAFETY: the call only looks up a value.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    check(
        "GS base",
        capabilities & FSGSBASE != 0,
        "programs may set it themselves",
        "programs may not set it themselves: this needs Linux 5.9, not booted with nofsgsbase",
    )
}

fn clock() -> Check {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or("");
    let is_steady = ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.split_whitespace().any(|it| it == *flag));
    check(
        "clock",
        is_steady,
        "the time-stamp counter runs at one speed",
        "the time-stamp counter changes its speed: times in traces may be wrong; a newer processor or hypervisor helps",
    )
}

fn tracing_policy() -> Check {
    let (is_good, words) = policy(&ptrace_scope(), may_trace_all());
    Check { name: "ptrace", is_good, words }
}

fn attaching() -> Check {
    let (is_good, words) = attach_policy(&ptrace_scope(), may_trace_all());
    Check { name: "attach", is_good, words }
}

fn ptrace_scope() -> String {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default().trim().to_owned()
}

/// Whether this process has CAP_SYS_PTRACE.
fn may_trace_all() -> bool {
    const SYS_PTRACE: u64 = 1 << 19;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|bits| bits & SYS_PTRACE != 0)
}

/// Whether `ada trace` may trace its own child: from 2 on, Yama asks for the capability even for that.
fn policy(scope: &str, has_capability: bool) -> (bool, String) {
    match scope {
        "3" => (false, "switched off until the next boot: kernel.yama.ptrace_scope is 3".to_owned()),
        "2" if !has_capability => {
            let words =
                "only for administrators (ptrace_scope 2): sudo ada trace …, or sudo sysctl kernel.yama.ptrace_scope=1";
            (false, words.to_owned())
        }
        "" => (true, "allowed".to_owned()),
        scope => (true, format!("allowed for own children (ptrace_scope {scope})")),
    }
}

/// Whether `ada attach` may take a process that runs already.
fn attach_policy(scope: &str, has_capability: bool) -> (bool, String) {
    match (scope, has_capability) {
        ("3", _) => (false, "switched off until the next boot: kernel.yama.ptrace_scope is 3".to_owned()),
        (_, true) => (true, "to any process".to_owned()),
        ("" | "0", _) => (true, "to your own processes; sudo ada attach PID for others".to_owned()),
        (scope, _) => {
            let how = "sudo ada attach PID, or sudo sysctl kernel.yama.ptrace_scope=0";
            (false, format!("only to own children (ptrace_scope {scope}): {how}"))
        }
    }
}

/// Why the kernel does not let `ada trace` trace its own child, and what to do.
pub(crate) fn why_trace_is_refused() -> String {
    let (is_good, words) = policy(&ptrace_scope(), may_trace_all());
    if is_good { BY_A_FILTER.to_owned() } else { format!("tracing is {words}") }
}

/// Why the kernel does not let `ada attach` take a process, and what to do.
pub(crate) fn why_attach_is_refused() -> String {
    attach_refusal(&ptrace_scope(), may_trace_all())
}

/// Why a process cannot be halted, read or written to, in words.
pub(crate) fn why_not(error: &io::Error) -> String {
    match (error.raw_os_error(), error.kind()) {
        (Some(libc::ESRCH), _) => "it has ended".to_owned(),
        (Some(libc::EPERM | libc::EACCES), _) => why_attach_is_refused(),
        (_, ErrorKind::TimedOut) => "one of its threads does not come to a halt; try again later".to_owned(),
        _ => error.to_string(),
    }
}

/// Where nothing else forbids it.
const BY_A_FILTER: &str = "the kernel refuses ptrace, as in a container whose filter forbids it \
(--cap-add=SYS_PTRACE --security-opt seccomp=unconfined allows it)";

fn attach_refusal(scope: &str, has_capability: bool) -> String {
    match attach_policy(scope, has_capability) {
        (true, _) if has_capability => BY_A_FILTER.to_owned(),
        (true, _) => "permission is denied; run ada as root, or as the user of that process".to_owned(),
        (false, words) => format!("attaching is {}", words.replacen("only to", "allowed only to", 1)),
    }
}

/// Containers often forbid ptrace by a filter that only the trial below can see.
fn container() -> Check {
    let is_one = ["/.dockerenv", "/run/.containerenv"].iter().any(|path| fs::exists(path).unwrap_or(false))
        || fs::read_to_string("/proc/1/environ")
            .is_ok_and(|text| text.split('\0').any(|it| it.starts_with("container=")));
    let words = match is_one {
        true => "yes; where ptrace is refused, start it with --cap-add=SYS_PTRACE --security-opt seccomp=unconfined",
        false => "none",
    };
    Check { name: "container", is_good: true, words: words.to_owned() }
}

/// Calls are recorded without them.
fn performance_events() -> Check {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let refused = ContextSwitches::of(this_process()).err().map(|error| error.kind());
    Check { name: "perf events", is_good: true, words: switches_policy(level.trim(), refused) }
}

/// Whether the kernel tells when threads run.
fn switches_policy(level: &str, refused: Option<ErrorKind>) -> String {
    const ELSE: &str = "when threads ran is then known by the calls that wait alone";
    match (refused, level) {
        (None, _) => "the kernel tells when threads run".to_owned(),
        (Some(_), "") => format!("not there; {ELSE}"),
        (Some(ErrorKind::PermissionDenied), "-1" | "0" | "1" | "2") => {
            format!("forbidden, perhaps by a container's filter (--cap-add=PERFMON allows them); {ELSE}")
        }
        (Some(ErrorKind::PermissionDenied), level) => {
            let how = "sudo sysctl kernel.perf_event_paranoid=2 allows them";
            format!("forbidden (kernel.perf_event_paranoid is {level}; {how}); {ELSE}")
        }
        (Some(_), _) => format!("not there; {ELSE}"),
    }
}

fn address_space() -> Check {
    const NEEDED: u64 = 512 << 20;
    let limit = getrlimit(Resource::As).current;
    let mebibytes = limit.map_or(0, |limit| limit >> 20);
    check(
        "address space",
        limit.is_none_or(|limit| limit >= NEEDED),
        if limit.is_none() { "not limited".to_owned() } else { format!("{mebibytes} MiB") },
        format!("limited to {mebibytes} MiB, and ada needs some 350 in a program: raise it with ulimit -v"),
    )
}

fn overcommit() -> Check {
    let mode = fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    check(
        "overcommit",
        mode.trim() != "2",
        "memory is committed when it is used",
        "every mapping is committed at once (vm.overcommit_memory is 2): each traced program counts 350 MiB",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_thread_states_comes_with_what_to_type() {
        assert!(switches_policy("2", None).contains("tells"));
        let refused = Some(ErrorKind::PermissionDenied);
        assert!(switches_policy("3", refused).contains("sudo sysctl kernel.perf_event_paranoid=2"));
        assert!(switches_policy("2", refused).contains("--cap-add"));
        assert!(switches_policy("", Some(ErrorKind::Unsupported)).contains("not there"));
    }

    #[test]
    fn what_is_not_allowed_comes_with_what_to_type() {
        let is_good = |scope, capability| (policy(scope, capability).0, attach_policy(scope, capability).0);
        assert_eq!(is_good("", false), (true, true));
        assert_eq!(is_good("0", false), (true, true));
        assert_eq!(is_good("1", false), (true, false));
        assert_eq!(is_good("1", true), (true, true));
        assert_eq!(is_good("2", false), (false, false));
        assert_eq!(is_good("2", true), (true, true));
        assert_eq!(is_good("3", true), (false, false));
        assert!(policy("2", false).1.contains("sudo sysctl") && attach_policy("1", false).1.contains("sudo sysctl"));
    }

    /// Nobody is told to be root who is, or whom that does not help.
    #[test]
    fn a_refused_attach_says_what_helps() {
        for scope in ["1", "2"] {
            let words = attach_refusal(scope, false);
            assert!(
                words.starts_with(&format!("attaching is allowed only to own children (ptrace_scope {scope}): sudo"))
            );
        }
        assert!(
            attach_refusal("3", true).contains("until the next boot") && !attach_refusal("3", false).contains("root")
        );
        assert!(["", "0"].iter().all(|scope| attach_refusal(scope, false).contains("run ada as root")));
        assert!(["", "1", "2"].iter().all(|scope| attach_refusal(scope, true) == BY_A_FILTER));
    }
}
