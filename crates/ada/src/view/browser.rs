//! Has the desktop open the page.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use ada_format::private::create_file;

use crate::scratch::Scratch;

/// A browser has so long to read where the page is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks the desktop to open the page. Where there is none, the address was printed.
pub(super) fn open(url: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if has_desktop {
        let _ = open_by_file(url);
    }
}

/// Every user of the machine can read a program's arguments, and the address has the token. So the desktop is given a file
/// that leads there, and that nobody but the user can read.
fn open_by_file(url: &str) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let path = scratch.path().join("timeline.html");
    write_page(url, create_file(&path)?)?;
    let mut command = Command::new("xdg-open");
    command.arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        drop(scratch);
    });
    Ok(())
}

/// The address is of digits, letters and `:/?=.` only.
fn write_page(url: &str, mut file: impl Write) -> io::Result<()> {
    let page = format!(
        "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\
         <meta http-equiv=refresh content=\"0;url={url}\"><a href=\"{url}\">The timeline</a>\n"
    );
    file.write_all(page.as_bytes())
}
