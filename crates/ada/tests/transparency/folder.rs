//! What the programs work on.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A folder with some files and a git repository, always the same.
pub(super) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(super) fn new() -> Self {
        let folder = Self { folder: tempfile::tempdir().unwrap() };
        let lines: String =
            (0..3000_u32).map(|n| format!("{} line {n}\n", n.wrapping_mul(2_654_435_761) >> 8)).collect();
        let bytes: Vec<u8> = (0..60_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        folder.write("lines.txt", lines.as_bytes());
        folder.write("other.txt", lines.replace("7 line", "8 line").as_bytes());
        folder.write("bytes.bin", &bytes);
        folder.write("hello.c", HELLO_C.as_bytes());
        folder.write("hello.cpp", HELLO_CPP.as_bytes());
        folder.write(
            "hello.rs",
            b"fn main() { let v: Vec<String> = (0..9).map(|n| n.to_string()).collect(); println!(\"{v:?}\"); }\n",
        );
        folder
            .write("Makefile", b"all: one two\n\t@echo all\none:\n\t@echo one $(words a b c)\ntwo: one\n\t@echo two\n");
        folder.write("people.json", br#"[{"name": "Ada", "born": 1815}, {"name": "Grace", "born": 1906}]"#);
        for words in [&["init", "-q"][..], &["add", "lines.txt", "hello.c"], &["commit", "-q", "-m", "first"]] {
            let mut git = Command::new("/usr/bin/git");
            let output = git.args(words).current_dir(folder.path()).envs(folder.environment()).output().unwrap();
            assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        folder.write("hello.c", HELLO_C.replace("42", "43").as_bytes());
        folder
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A source of `tests/runtimes/`, in this folder: some compilers write beside it.
    pub(super) fn source(&self, name: &str) -> String {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/runtimes").join(name);
        let copy = self.path().join(name);
        fs::copy(&source, &copy).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        copy.to_str().expect("temporary folders have plain names").to_owned()
    }

    /// Has a compiler make `program` of a source. It is run in this folder.
    pub(super) fn build(&self, program: &str, source: &str, compiler: &[&str]) -> String {
        self.source(source);
        let mut command = Command::new(compiler[0]);
        let output = command.args(&compiler[1..]).arg(source).current_dir(self.path()).output();
        let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}; scripts/setup installs it"));
        assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
        self.path().join(program).to_str().expect("temporary folders have plain names").to_owned()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    /// Nothing of the user's settings, and no clock in a commit.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let home = self.path().to_str().expect("temporary folders have plain names").to_owned();
        let mut environment = vec![
            ("HOME", home),
            ("LC_ALL", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("PYTHONHASHSEED", "0".into()),
        ];
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            environment.push((name, "ada".into()));
        }
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            environment.push((name, "2020-01-01T00:00:00Z".into()));
        }
        environment
    }
}

const HELLO_C: &str = "\
#include <stdio.h>
static int square(int n) { return n * n; }
int main(int argc, char **argv) {
    for (int i = 0; i < argc + 42; i++) printf(\"%d %s\\n\", square(i), argv[0]);
    return 0;
}
";

const HELLO_CPP: &str = "\
#include <map>
#include <string>
struct Base { virtual ~Base() = default; virtual int value() const { return 1; } };
struct Derived : Base { int value() const override { return 2; } };
int main() {
    std::map<std::string, Derived> values;
    values[\"a\"] = {};
    return values.at(\"a\").value();
}
";
