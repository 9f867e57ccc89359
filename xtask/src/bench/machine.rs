//! What the figures were measured on.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The machine and the moment.
pub(super) struct Machine {
    /// UTC, as in the names of the files: `2026-11-15-0430`.
    pub(super) time: String,
    pub(super) facts: Vec<(&'static str, String)>,
}

pub(super) fn describe(root: &Path, ada_version: &str) -> Machine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let flags = field(&cpuinfo, "flags");
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let machine = if has("hypervisor") { "virtual machine" } else { "bare metal" };
    let invariant = if has("constant_tsc") && has("nonstop_tsc") { "invariant" } else { "NOT invariant" };
    let clock = read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let memory: f64 = field(&meminfo, "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0.0);
    let mut commit = output(Command::new("git").current_dir(root).args(["rev-parse", "--short", "HEAD"]));
    if !output(Command::new("git").current_dir(root).args(["status", "--porcelain"])).is_empty() {
        commit += ", with changes";
    }
    Machine {
        time: output(Command::new("date").args(["-u", "+%Y-%m-%d-%H%M"])),
        facts: vec![
            ("cpu", format!("{}, {machine}", field(&cpuinfo, "model name"))),
            ("cores", cores.to_string()),
            ("memory", format!("{:.1} GB", memory * 1024.0 / 1e9)),
            ("kernel", read_line("/proc/sys/kernel/osrelease")),
            ("tsc", format!("{invariant}, {} MHz; the kernel's clock is {clock}", field(&cpuinfo, "cpu MHz"))),
            ("system", field(&fs::read_to_string("/etc/os-release").unwrap_or_default(), "PRETTY_NAME")),
            ("rustc", output(Command::new("rustc").arg("--version"))),
            ("ada", format!("{ada_version}, commit {commit}")),
            ("load", load()),
        ],
    }
}

/// How many processes have wanted to run lately. Figures of a busy machine mislead.
pub(super) fn load() -> String {
    let averages = read_line("/proc/loadavg");
    let words: Vec<&str> = averages.split_whitespace().take(3).collect();
    format!("{} (1, 5, 15 minutes)", words.join(" "))
}

/// The value of the first line `name : value` or `name=value`.
fn field(text: &str, name: &str) -> String {
    text.lines()
        .filter_map(|line| line.split_once([':', '=']))
        .find(|(key, _)| key.trim() == name)
        .map_or_else(|| "unknown".into(), |(_, value)| value.trim().trim_matches('"').to_owned())
}

fn read_line(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
}

fn output(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_colons_or_equal_signs() {
        assert_eq!(field("model\t: 7\nmodel name\t: Xeon : 2\n", "model name"), "Xeon : 2");
        assert_eq!(field("NAME=\"Debian\"\nPRETTY_NAME=\"Debian 12\"", "PRETTY_NAME"), "Debian 12");
        assert_eq!(field("a: b", "c"), "unknown");
    }
}
