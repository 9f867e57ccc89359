//! What this machine allows, as far as tracing needs it.

use std::fs;

use rustix::process::{Resource, getrlimit};

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
    vec![thread_bases(), clock(), tracing_policy(), address_space(), overcommit()]
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
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let scope = scope.trim();
    check(
        "ptrace",
        scope != "3",
        if scope.is_empty() {
            "allowed".to_owned()
        } else {
            format!("allowed for own children (ptrace_scope {scope})")
        },
        "switched off until the next boot: kernel.yama.ptrace_scope is 3",
    )
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
