//! Real programs, from Debian, each with something to do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::inputs::Inputs;
use super::programs::command;

/// A program at work.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// Where the program comes from.
    pub(super) package: &'static str,
    pub(super) command: Vec<OsString>,
}

const LUA: &str = "local s = 0 for i = 1, 1e8 do s = (s * 3 + i) % 1000003 end print(s)";
const JAVASCRIPT: &str = "let s = 0; for (let i = 0; i < 1e8; i++) s = (s * 3 + i) % 1000003; console.log(s)";
const PYTHON: &str = "\
d = {}
for i in range(400000): d[str(i)] = i * 2
print(sum(d.values()))";
const PYTHON_HASH: &str = "\
import hashlib, sys
for name in sys.argv[1:]: print(hashlib.sha1(open(name, 'rb').read()).hexdigest())";
const PERL: &str = "$count{$_}++ for split; END { print scalar keys %count }";
const SQL: &str = "\
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 120000) insert into t select x, x * 7919 % 100003 from c;
create index i on t(b);
select count(*) from t x join t y on x.b = y.a;";

/// Makes the inputs, and gives the programs: first those that work mostly in loops, then those that call all the time.
pub(super) fn all(scratch: &Path) -> anyhow::Result<Vec<Workload>> {
    let inputs = Inputs::make(&scratch.join("inputs"))?;
    let with = |words: &[&str], files: &[&PathBuf]| {
        let mut line = command(words.iter().copied());
        line.extend(files.iter().map(|&file| file.clone().into_os_string()));
        line
    };
    let new = |name, package, command| Workload { name, package, command };
    let cc1 = Command::new("gcc").arg("-print-prog-name=cc1").output().context("cannot run gcc")?.stdout;
    let cc1 = String::from_utf8_lossy(&cc1).trim().to_owned();
    let url = format!("file://{}", inputs.text.display());
    let repository = inputs.repository.display().to_string();
    // tar does not read what it would write to /dev/null.
    let archive = inputs.copies.join("archive.tar");
    let Inputs { text, short_text, gz, zst, xz, tree, copies, source, .. } = &inputs;
    Ok(vec![
        new("sha256sum", "coreutils", with(&["/usr/bin/sha256sum"], &[text; 4])),
        new("gzip -d", "gzip", with(&["/bin/gzip", "-dc"], &[gz])),
        new("zstd", "zstd", with(&["/usr/bin/zstd", "-q", "-T1", "-c"], &[text])),
        new("zstd -d", "zstd", with(&["/usr/bin/zstd", "-q", "-dc"], &[zst; 5])),
        new("xz -d", "xz-utils", with(&["/usr/bin/xz", "-dc"], &[xz])),
        new("cp -r", "coreutils", with(&["/bin/cp", "-r", "--reflink=never"], &[tree, copies])),
        new("luajit", "luajit", command(["/usr/bin/luajit", "-e", LUA])),
        new("python3 hashlib", "python3", with(&["/usr/bin/python3", "-c", PYTHON_HASH], &[text; 4])),
        new("openssl dgst", "openssl", with(&["/usr/bin/openssl", "dgst", "-sha512"], &[text; 4])),
        new("curl file://", "curl", command(["/usr/bin/curl", "-s", &url, &url, &url, &url])),
        new("node", "nodejs", command(["/usr/bin/node", "-e", JAVASCRIPT])),
        new("tar", "tar", with(&["/bin/tar", "-P", "--hard-dereference", "-cf"], &[&archive, tree])),
        new("git log -p", "git", command(["/usr/bin/git", "-C", &repository, "--no-pager", "log", "-p"])),
        new("bzip2", "bzip2", with(&["/bin/bzip2", "-c"], &[short_text])),
        new("gzip", "gzip", with(&["/bin/gzip", "-c"], &[short_text])),
        new("python3", "python3", command(["/usr/bin/python3", "-c", PYTHON])),
        new("sqlite3", "sqlite3", command(["/usr/bin/sqlite3", ":memory:", SQL])),
        new("cc1 -O2", "gcc", with(&[&cc1, "-quiet", "-O2", "-o", "/dev/null"], &[source])),
        new("perl", "perl", with(&["/usr/bin/perl", "-ne", PERL], &[short_text])),
        new("sort", "coreutils", with(&["/usr/bin/sort", "--parallel=1"], &[short_text])),
    ])
}
