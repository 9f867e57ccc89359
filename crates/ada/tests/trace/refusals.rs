//! Programs that cannot be traced: one line that says why and what to do, and nothing runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::program::Program;
use crate::run::{self, text};

/// A folder that everybody may look into.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, contents: &[u8], mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// A program of the repository.
    fn program(&self, name: &str, mode: u32, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let mut bytes = fs::read(Program::new("recursion.c").build()).unwrap();
        change(&mut bytes);
        self.file(name, &bytes, mode)
    }

    fn trace(&self, mut ada: Command, program: &Path) -> Output {
        ada.args(["trace", "--output"]).arg(self.path("sessions")).arg("--").arg(program);
        run::bounded(ada, b"")
    }

    /// `program` is refused with code 126 and a line with these words, and leaves no session.
    fn assert_refused(&self, ada: Command, program: &Path, words: &[&str]) {
        self.assert_not_run(ada, program, 126, words);
    }

    /// The same with another code.
    fn assert_not_run(&self, ada: Command, program: &Path, code: i32, words: &[&str]) {
        let output = self.trace(ada, program);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), ""), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        for word in words.iter().copied().chain([program.to_str().unwrap()]) {
            assert!(said.contains(word), "{word:?} is not in {said:?}");
        }
        assert!(!self.path("sessions").exists(), "{said}");
    }

    /// `ada` as a user without rights, who can reach it.
    fn as_nobody(&self) -> Command {
        let ada = self.path("ada");
        if !ada.exists() {
            fs::copy(env!("CARGO_BIN_EXE_ada"), &ada).unwrap();
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(ada);
        command
    }
}

/// A file header alone, for this processor: what the kernel looks at first.
fn header(class: u8, data: u8, machine: u16) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[..4].copy_from_slice(b"\x7fELF");
    bytes[4] = class;
    bytes[5] = data;
    bytes[6] = 1;
    let write = |field: u16| if data == 2 { field.to_be_bytes() } else { field.to_le_bytes() };
    bytes[16..18].copy_from_slice(&write(2));
    bytes[18..20].copy_from_slice(&write(machine));
    bytes[20] = 1;
    bytes
}

#[test]
fn programs_for_other_processors() {
    let bench = Bench::new();
    for (name, class, data, machine, words) in [
        ("arm", 1, 1, 40, "32-bit"),
        ("aarch64", 2, 1, 183, "another processor (ELF machine 183)"),
        ("riscv", 2, 1, 243, "another processor (ELF machine 243)"),
        ("s390x", 2, 2, 22, "another processor (big-endian)"),
        ("i386", 1, 1, 3, "32-bit"),
    ] {
        let program = bench.file(name, &header(class, data, machine), 0o755);
        bench.assert_refused(run::command(), &program, &[words, "build it for x86-64"]);
    }
}

/// An i386 program that the kernel runs where it can: `mov eax, 1; xor ebx, ebx; int 0x80`.
#[test]
fn a_whole_32_bit_program() {
    let bench = Bench::new();
    let mut bytes = header(1, 1, 3);
    let mut put = |at: usize, words: &[u32]| {
        for (number, word) in words.iter().enumerate() {
            bytes[at + number * 4..][..4].copy_from_slice(&word.to_le_bytes());
        }
    };
    const BASE: u32 = 0x0804_8000;
    // Entry, program headers, section headers, flags; then the header's size and one program header of 32 bytes.
    put(24, &[BASE + 0x100, 52, 0, 0, 52 | 32 << 16, 1]);
    // PT_LOAD of the whole file, readable and executable.
    put(52, &[1, 0, BASE, BASE, 4096, 4096, 5, 4096]);
    put(0x100, &[0x0000_01b8, 0xcddb_3100, 0x0000_0080]);
    let program = bench.file("i386", &bytes, 0o755);
    bench.assert_refused(run::command(), &program, &["32-bit"]);
}

#[test]
fn files_that_are_no_programs() {
    let bench = Bench::new();
    let folder = bench.path("folder");
    fs::create_dir(&folder).unwrap();
    bench.assert_refused(run::command(), &folder, &["is a directory"]);
    bench.assert_refused(run::command(), Path::new("/dev/null"), &["not a regular file"]);
    let plain = bench.program("plain", 0o644, |_| {});
    bench.assert_refused(run::command(), &plain, &["not executable", "chmod +x"]);
    let object = bench.program("object.o", 0o755, |bytes| bytes[16] = 1);
    bench.assert_refused(run::command(), &object, &["neither a program nor a shared library"]);
    // The C library would give it to the shell.
    let cut = bench.program("cut", 0o755, |bytes| bytes.truncate(100));
    bench.assert_refused(run::command(), &cut, &["the kernel does not take it for a program"]);
}

#[test]
fn interpreters_and_loaders_that_are_missing() {
    let bench = Bench::new();
    let script = bench.file("script", b"#!/no/such/interpreter -x\n", 0o755);
    let words = ["interpreter /no/such/interpreter does not exist", "install it"];
    bench.assert_not_run(run::command(), &script, 127, &words);
    let program = bench.program("program", 0o755, |bytes| {
        let at = bytes.windows(8).position(|window| window == b"/lib64/l").unwrap();
        bytes[at..at + 8].copy_from_slice(b"/lib65/l");
    });
    bench.assert_not_run(run::command(), &program, 127, &["loader /lib65/ld-linux-x86-64.so.2 does not exist"]);
    // The codes are those of a shell that runs them.
    for file in [&script, &program] {
        let shell = Command::new("sh").arg("-c").arg(file).output().unwrap();
        assert_eq!(shell.status.code(), Some(127), "{}", text(&shell.stderr));
    }
}

/// Its loader says what is missing, and ends it before any of its code could run.
#[test]
fn a_library_that_is_missing() {
    let bench = Bench::new();
    let program = bench.program("program", 0o755, |bytes| {
        let at = bytes.windows(10).position(|window| window == b"libc.so.6\0").unwrap();
        bytes[at..at + 4].copy_from_slice(b"lost");
    });
    let alone = Command::new(&program).output().unwrap();
    assert_eq!(alone.status.code(), Some(127), "{}", text(&alone.stderr));
    let traced = bench.trace(run::command(), &program);
    assert_eq!((traced.status.code(), text(&traced.stdout)), (Some(127), ""), "{}", text(&traced.stderr));
    let lines: Vec<&str> = text(&traced.stderr).lines().collect();
    let [loader, ada] = lines[..] else { panic!("{lines:?}") };
    assert!(
        loader.contains("lost.so.6") && ada.contains("ended before it could be hooked (exit code 127)"),
        "{lines:?}"
    );
    assert!(!bench.path("sessions").exists());
}

#[test]
fn a_script_without_a_first_line_is_the_shells() {
    let bench = Bench::new();
    let script = bench.file("script", b"echo from the shell\n", 0o755);
    let output = bench.trace(run::command(), &script);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "from the shell\n"));
}

#[test]
fn programs_whose_rights_a_tracer_would_take_away() {
    let bench = Bench::new();
    let setuid = bench.program("setuid", 0o4755, |_| {});
    let setgid = bench.program("setgid", 0o2755, |_| {});
    bench.assert_refused(bench.as_nobody(), &setuid, &["it is setuid", "run ada as root"]);
    bench.assert_refused(bench.as_nobody(), &setgid, &["it is setgid", "run ada as root"]);
    // A script is run with no more rights than its interpreter has.
    let script = bench.file("script", format!("#!{}\n", setuid.display()).as_bytes(), 0o755);
    let output = bench.trace(bench.as_nobody(), &script);
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("it is setuid"), "{}", text(&output.stderr));

    let plain = bench.program("plain", 0o755, |_| {});
    for (ada, program) in [(bench.as_nobody(), &plain), (run::command(), &setuid), (run::command(), &setgid)] {
        let output = bench.trace(ada, program);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "200 610\n"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_program_that_may_not_be_read() {
    let bench = Bench::new();
    let program = bench.program("secret", 0o711, |_| {});
    let output = bench.trace(bench.as_nobody(), &program);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(126), ""), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("may not be read"), "{}", text(&output.stderr));
}
