//! The table.

use std::process::Command;

use super::entry::Entry;
use super::folder::Folder;

/// All programs, the slow ones first, so that none of them is the last to end.
pub(super) fn all(folder: &Folder) -> Vec<Entry> {
    let compilers = compilers(folder);
    compilers.into_iter().chain(interpreters()).chain(runtimes(folder)).chain(tools()).chain(utilities()).collect()
}

fn compilers(folder: &Folder) -> Vec<Entry> {
    let cc1 = printed(Command::new("gcc").arg("-print-prog-name=cc1"));
    let sysroot = printed(Command::new("rustc").args(["--print", "sysroot"]));
    let out = folder.path().join("hello_rs").to_str().expect("temporary folders have plain names").to_owned();
    vec![
        Entry::new(500_000, "clang", &["-O2", "-S", "-o", "-", "hello.c"]),
        Entry::new(1_000_000, &format!("{sysroot}/bin/rustc"), &["--edition=2021", "-O", "-o", &out, "hello.rs"]),
        Entry::new(50_000, &format!("{sysroot}/bin/cargo"), &["--version"]),
        Entry::new(200_000, &cc1, &["-quiet", "-O2", "hello.c", "-o", "-"]),
        Entry::new(7000, "gcc", &["-O1", "-S", "-o", "-", "hello.c"]),
        Entry::new(9000, "g++", &["-std=c++17", "-O1", "-S", "-o", "-", "hello.cpp"]),
        Entry::new(1000, "as", &["--version"]),
    ]
}

fn interpreters() -> Vec<Entry> {
    vec![
        Entry::new(10_000_000, "node", &["-e", NODE]),
        Entry::new(1_000_000, "java", &["-Xshare:auto", "-XX:+UseSerialGC", "-version"]),
        Entry::new(
            3_000_000,
            "gdb",
            &["-nx", "-batch", "-ex", "print 6 * 7", "-ex", "info line main", "/usr/bin/true"],
        ),
        Entry::new(500_000, "python3", &["-c", PYTHON_THREADS]),
        Entry::new(500_000, "python3", &["-c", PYTHON_CHILDREN]),
        Entry::new(500_000, "/usr/bin/python3", &["-c", PYTHON_GREENLETS]),
        Entry::new(3_000_000, "ruby", &["-e", RUBY]),
        Entry::new(400_000, "guile", &["--no-auto-compile", "-c", GUILE]),
        Entry::new(200_000, "php8.2", &["-r", PHP]),
        Entry::new(40_000, "perl", &["-e", PERL]),
        Entry::new(
            400_000,
            "perl",
            &["-MPOSIX", "-e", "if (!fork) { exit 3 } wait; print $? >> 8, floor(2.5), \"\\n\""],
        ),
        Entry::new(
            100_000,
            "luajit",
            &["-e", "local s = 0 for i = 1, 3e5 do s = s + i % 7 end print(s, pcall(error, 'x'))"],
        ),
        Entry::new(8000, "lua5.4", &["-e", LUA]),
        Entry::new(100_000, "tclsh", &[]).input(TCL),
        Entry::new(70_000, "bash", &["-c", BASH]),
        Entry::new(60_000, "dash", &["-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo $i | cat; exit 7"]),
        Entry::new(400, "busybox", &["sh", "-c", "for i in 1 2 3; do echo $i; done | busybox sort -r; exit 9"]),
        Entry::new(80_000, "sqlite3", &[":memory:", SQL]),
    ]
}

/// Programs in languages whose runtimes know their stacks: they read return addresses, copy frames, and make exceptions
/// of faults.
fn runtimes(folder: &Folder) -> Vec<Entry> {
    let ocaml = |name| folder.build(name, &format!("{name}.ml"), &["ocamlopt", "-o", name]);
    let go = |name| folder.build(name, &format!("{name}.go"), &["go", "build"]);
    let mono = folder.build("managed.exe", "managed.cs", &["mcs", "-warn:0"]);
    let gnat = folder.build("checks", "checks.adb", &["gnatmake", "-q", "-gnatws"]);
    vec![
        Entry::new(1_000_000, "valgrind", &["-q", "--tool=none", "/usr/bin/true"]),
        Entry::new(1_000_000, "mono", &[&mono]),
        Entry::new(1_000_000, "ruby", &[&folder.source("continuation.rb")]),
        Entry::new(1_000_000, &ocaml("collected"), &[]),
        Entry::new(500_000, &ocaml("overflow"), &[]),
        Entry::new(20_000, &go("goroutines"), &[]),
        Entry::new(4000, &go("nil_pointer"), &[]),
        Entry::new(200_000, &gnat, &[]),
    ]
}

fn tools() -> Vec<Entry> {
    vec![
        Entry::new(30_000, "git", &["log", "--stat", "--format=%H %s"]),
        Entry::new(7000, "git", &["diff"]),
        Entry::new(6000, "git", &["grep", "-c", "line 29"]),
        Entry::new(10_000, "git", &["fsck", "--full"]),
        Entry::new(100_000, "xz", &["-9", "-c", "-T2", "bytes.bin"]),
        Entry::new(20_000, "gzip", &["-n", "-c", "bytes.bin"]),
        Entry::new(50_000, "bzip2", &["-c", "lines.txt"]),
        Entry::new(800, "zstd", &["-q", "-T2", "-c", "lines.txt"]),
        Entry::new(10_000, "tar", &["cf", "-", "--mtime=2020-01-01", "--sort=name", "lines.txt", "bytes.bin"]),
        Entry::new(10_000, "tar", &["czf", "-", "--mtime=2020-01-01", "lines.txt"]),
        Entry::new(100_000, "openssl", &["dgst", "-sha256", "-hmac", "key", "bytes.bin"]),
        Entry::new(100_000, "openssl", &["enc", "-aes-128-cbc", "-K", "00", "-iv", "00", "-in", "lines.txt", "-a"]),
        Entry::new(60_000, "curl", &["-s", "file:///etc/passwd"]),
        Entry::new(200_000, "ssh", &["-G", "-F", "none", "example.org"]),
        Entry::new(30_000, "make", &[]),
        Entry::new(3000, "m4", &[]).input("define(`twice', `$1 $1')twice(`twice(`a')')\neval(6 * 7)\n"),
        Entry::new(6000, "bc", &["-l"]).input("scale = 60; 4 * a(1)\nfor (i = 0; i < 20; i++) i ^ 20\n"),
        Entry::new(100_000, "file", &["bytes.bin", "hello.c", "/usr/bin/true"]),
        Entry::new(1_000_000, "vim", &["-u", "NONE", "-es", "-c", "%s/line/row/", "-c", "%p", "-c", "q!", "lines.txt"]),
        Entry::new(60_000, "readelf", &["-aW", "/usr/bin/true"]),
        Entry::new(700_000, "objdump", &["-d", "/usr/bin/true"]),
        Entry::new(2000, "strace", &["-V"]),
    ]
}

fn utilities() -> Vec<Entry> {
    vec![
        Entry::new(70_000, "sort", &["--parallel=2", "-n", "lines.txt"]),
        Entry::new(
            100_000,
            "gawk",
            &["{ s[$1 % 10] += $3 } END { for (i = 0; i < 10; i++) print i, s[i] }", "lines.txt"],
        ),
        Entry::new(10_000, "mawk", &["{ n += length($0) } END { print n, NR }", "lines.txt"]),
        Entry::new(100_000, "sed", &["-n", "s/\\([0-9]*\\) line \\(.*7\\)$/\\2 \\1/p", "lines.txt"]),
        Entry::new(6000, "grep", &["-cE", "^[0-9]+7 .*(1|2)3$", "lines.txt"]),
        Entry::new(4000, "grep", &["nothing like this", "lines.txt"]),
        Entry::new(9000, "find", &["/etc", "-maxdepth", "1", "-name", "p*", "-newermt", "1980-01-01"]),
        Entry::new(10_000, "diff", &["lines.txt", "other.txt"]),
        Entry::new(2000, "md5sum", &["lines.txt", "bytes.bin"]),
        Entry::new(20_000, "od", &["-An", "-tx4", "-N4096", "bytes.bin"]),
        Entry::new(2000, "factor", &["1234567890123456789", "18446744073709551617"]),
        Entry::new(2000, "xargs", &["-n2", "echo"]).input("a b c d"),
        Entry::new(2000, "date", &["-u", "-d", "@1234567890"]),
        Entry::new(4000, "ls", &["-R", "/usr/share/zoneinfo/Europe", "/nowhere"]),
        Entry::new(2000, "timeout", &["0.1", "sleep", "10"]),
        Entry::new(2000, "env", &["-i", "A=1", "/usr/bin/env"]),
    ]
}

/// What a command prints, in one line.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    String::from_utf8(output.stdout).expect("paths are plain").trim().to_owned()
}

const NODE: &str = "\
const { Worker } = require('worker_threads');
console.log([...Array(1000).keys()].map(x => x * x).reduce((x, y) => x + y));
try { null.x } catch (error) { console.log(error.message) }
new Worker('require(\"worker_threads\").parentPort.postMessage(41)', { eval: true }).on('message', n => console.log(n + 1));";

const PYTHON_THREADS: &str = "\
import json, re, threading
results = []
threads = [threading.Thread(target=lambda i=i: results.append(sum(range(i * 100)))) for i in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(results), json.dumps({'a': [1, 2, {'b': None}]}), re.findall(r'(\\w)\\1', 'aabbcd'))
try: int('x')
except ValueError as error: print(error)";

const PYTHON_CHILDREN: &str = "\
import os, subprocess, sys
print(subprocess.run(['echo', 'sub'], capture_output=True).stdout)
pid = os.fork()
if pid == 0: os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
sys.exit(6)";

/// Each greenlet's piece of the stack is copied away while another runs at the same addresses.
const PYTHON_GREENLETS: &str = "\
import gevent, greenlet
done = []
def work(number):
    for step in range(10):
        gevent.sleep(0.0001 * (number % 3))
        done.append(number * step)
gevent.joinall([gevent.spawn(work, number) for number in range(50)])
main = greenlet.getcurrent()
def deep(n): return main.switch(n) if n == 0 else deep(n - 1) + 1
one, two = greenlet.greenlet(deep), greenlet.greenlet(deep)
one.switch(40), two.switch(20)
print(len(done), sum(done), one.switch(2), two.switch(3))";

const RUBY: &str = "\
puts (1..500).map { |x| x * x }.sum
begin; raise 'x'; rescue => error; puts error.message; end
puts Thread.new { (1..9).inject(:*) }.value
fiber = Fiber.new { Fiber.yield 1; 2 }
puts fiber.resume, fiber.resume
puts catch(:done) { 10.times { |n| throw :done, n if n == 4 } }";

const GUILE: &str = "\
(display (let loop ((n 200) (sum 0)) (if (= n 0) sum (loop (- n 1) (+ sum (* n n))))))
(newline)
(display (call-with-current-continuation (lambda (k) (for-each (lambda (x) (if (> x 2) (k x))) '(1 2 3 4)) 0)))
(newline)";

const PHP: &str = "\
$s = 0; for ($i = 0; $i < 1000; $i++) { $s += crc32(\"$i\") % 7; } echo $s, PHP_EOL;
try { throw new Exception('x'); } catch (Exception $e) { echo $e->getMessage(), PHP_EOL; }
echo preg_replace('/(a)(b)/', '$2$1', 'abab'), PHP_EOL; exit(4);";

const PERL: &str = "\
my %h; $h{$_ % 97} += $_ for 1..3000;
print join(',', map { \"$_=$h{$_}\" } sort { $a <=> $b } keys %h), \"\\n\";
eval { die \"x\\n\" }; print $@; print scalar reverse('abc') =~ s/b/B/r, \"\\n\"; exit 2";

const LUA: &str = "\
local routine = coroutine.wrap(function() for i = 1, 50 do coroutine.yield(i) end end)
local sum = 0
for i = 1, 50 do sum = sum + routine() end
print(sum, pcall(error, 'x'), ('abc'):rep(3), select('#', string.byte('hello', 1, -1)))";

const TCL: &str = "\
proc fib {n} { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
puts [fib 12]
puts [catch {error x} message]$message
exit 5";

const BASH: &str = "\
for i in {1..200}; do x=$((x + i)); done; echo $x
echo hi | sed s/h/j/ | tr a-z A-Z
f() { [ $1 -eq 0 ] && return 3; f $(($1 - 1)); }; f 10; echo $?
trap 'echo caught' USR1; kill -USR1 $$; (exit 8)";

const SQL: &str = "\
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000) insert into t select x, x * x from c;
select sum(a), sum(b), count(*) from t where b % 3 = 1; select group_concat(a) from t where a < 5;";
