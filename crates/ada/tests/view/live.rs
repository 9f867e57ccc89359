//! A page of a trace that is still growing.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::served::Served;

/// Asks until the answer is as wanted; nothing here takes a tenth of the time that is allowed.
fn until(served: &Served, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(300);
    loop {
        let about = served.get("/api/session").json();
        if is_wanted(&about) {
            return about;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}: {about:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_page_of_a_running_trace_grows_until_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let stop = folder.path().join("stop");
    let mut command = run::command();
    command.args(["trace", "--view", "--quiet", "--output"]).arg(folder.path().join("traces")).arg("--");
    command.arg(Program::new("forever.c").build()).args(["1000", "file"]).arg(&stop).stdout(Stdio::null());
    let mut served = Served::by(command);
    let first = until(&served, "the first picture", |about| about["spans"].as_u64() > Some(1000));
    assert_eq!(first["live"], true);
    let grown = until(&served, "more calls", |about| about["spans"].as_u64() > first["spans"].as_u64());
    assert!(grown["number"].as_u64() > first["number"].as_u64());
    assert!(grown["length"].as_u64() > first["length"].as_u64());
    fs::write(&stop, "").unwrap();
    let whole = until(&served, "the whole trace", |about| about["live"] == false);
    assert_eq!(whole["processes"][0]["exit_code"], 0);
    assert!(whole["spans"].as_u64() >= grown["spans"].as_u64());
    // The page stays until somebody has seen enough.
    assert!(served.is_alive());
    let interrupt = Command::new("kill").args(["-INT", &served.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(served.wait(), Some(0), "the exit code is the program's");
}
