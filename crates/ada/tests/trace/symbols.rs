//! Names that come after the recording.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ada_format::atf::{FunctionRow, Manifest, Session, functions_file, read_functions};
use tempfile::TempDir;

use super::program::Program;
use super::tracing::assert_sound;
use crate::run::{self, text};

/// The session of a stripped program, whose symbols are in a file of their own.
struct Nameless {
    folder: TempDir,
    session: PathBuf,
    debug_file: PathBuf,
    /// The manifest's and the lists' folder.
    process: PathBuf,
}

impl Nameless {
    fn record() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (program, debug_file) = (folder.path().join("program"), folder.path().join("symbols"));
        let built = Program::new("recursion.c").flags(&["-g", "-Wl,--build-id=sha1"]).build();
        fs::copy(built, &program).unwrap();
        tool(Command::new("objcopy").arg("--only-keep-debug").arg(&program).arg(&debug_file));
        tool(Command::new("strip").arg(&program));
        let sessions = folder.path().join("sessions");
        let mut trace = run::command();
        trace.args(["trace", "--quiet", "--output"]).arg(&sessions).arg("--").arg(&program);
        assert_eq!(text(&run::bounded(trace, b"").stdout), "200 610\n");
        let session = fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path();
        let process = Session::open(&session).unwrap().processes()[0].path.clone();
        Self { folder, session, debug_file, process }
    }

    /// A folder with the debug file at this place.
    fn debug_folder(&self, name: &str, place: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        let path = folder.join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(&self.debug_file, path).unwrap();
        folder
    }

    fn symbols(&self, debug_dir: &Path) -> Output {
        run::ada(["symbols".as_ref(), self.session.as_os_str(), "--debug-dir".as_ref(), debug_dir.as_os_str()])
    }

    fn manifest(&self) -> Manifest {
        Manifest::parse(&fs::read(self.process.join("manifest.json")).unwrap()).unwrap()
    }

    /// The program's own list.
    fn functions(&self) -> Vec<FunctionRow> {
        let manifest = self.manifest();
        let module = manifest.modules.iter().find(|module| module.path.ends_with("/program")).unwrap();
        read_functions(&fs::read_to_string(self.process.join(functions_file(module.module_id))).unwrap()).unwrap()
    }

    fn build_id(&self) -> String {
        let manifest = self.manifest();
        let module = manifest.modules.iter().find(|module| module.path.ends_with("/program")).unwrap();
        module.build_id.clone().unwrap().to_string()
    }
}

fn tool(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; scripts/setup installs it"));
    assert!(output.status.success(), "{command:?}\n{}", text(&output.stderr));
}

fn without_names(rows: &[FunctionRow]) -> Vec<FunctionRow> {
    rows.iter().map(|row| FunctionRow { name: String::new(), ..row.clone() }).collect()
}

#[test]
fn a_debug_file_gives_a_recorded_session_its_names() {
    let nameless = Nameless::record();
    let before = nameless.functions();
    // What the start of a program calls is its main.
    assert!(before.iter().all(|row| row.name.is_empty() || row.name == "main"), "{before:?}");
    let id = nameless.build_id();
    let by_build_id = nameless.debug_folder("usual", &format!(".build-id/{}/{}.debug", &id[..2], &id[2..]));
    let output = nameless.symbols(&by_build_id);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let after = nameless.functions();
    let named = |rows: &[FunctionRow]| rows.iter().filter(|row| !row.name.is_empty()).count();
    let gained = named(&after) - named(&before);
    let line = text(&output.stdout).lines().find(|line| line.contains("/program: ")).unwrap();
    assert!(line.contains(&format!("/program: {gained} names gained, 0 improved; ")), "{line}");
    assert_eq!(without_names(&after), without_names(&before));
    for name in ["main", "chain", "fib"] {
        assert_eq!(after.iter().filter(|row| row.name == name).count(), 1, "{name}");
    }

    let manifest = nameless.manifest();
    let module = manifest.modules.iter().find(|module| module.path.ends_with("/program")).unwrap();
    let hash = ada_image::function_table_hash(after.iter().map(|row| (row.offset, row.size, Some(row.name.as_str()))));
    assert_eq!(module.function_table_hash, Some(format!("{hash:016x}")));
    assert!(module.names_from[0].ends_with(".debug"), "{:?}", module.names_from);
    assert!(fs::read_dir(&nameless.process).unwrap().all(|entry| !text_of(&entry.unwrap().path()).ends_with(".tmp")));
    assert_sound(&nameless.session);

    let hooks = run::ada(["hooks".as_ref(), nameless.session.as_os_str(), "--module=program".as_ref()]);
    assert!(text(&hooks.stdout).lines().any(|line| line.ends_with("program  fib")), "{}", text(&hooks.stdout));
    let dump = run::ada(["atf".as_ref(), "dump".as_ref(), nameless.session.as_os_str()]);
    assert_eq!(
        text(&dump.stdout).lines().filter(|line| line.contains(" call ") && line.ends_with(" fib")).count(),
        1973
    );

    let again = nameless.symbols(&by_build_id);
    assert!(text(&again.stdout).contains("/program: 0 names gained, 0 improved; "), "{}", text(&again.stdout));
    assert_eq!((nameless.functions(), nameless.manifest()), (after, manifest));
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[test]
fn a_file_of_any_name_serves_and_a_stripped_one_does_not() {
    let nameless = Nameless::record();
    let folder = nameless.debug_folder("any", "deep/down/z_symbols");
    fs::copy(nameless.folder.path().join("program"), folder.join("deep/a_stripped_copy")).unwrap();
    fs::write(folder.join("a_text"), "\x7fELF is how it begins").unwrap();
    std::os::unix::fs::symlink(&folder, folder.join("circle")).unwrap();
    // As on another machine: the program is gone.
    fs::remove_file(nameless.folder.path().join("program")).unwrap();
    let output = nameless.symbols(&folder);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(nameless.functions().iter().any(|row| row.name == "fib"));
    assert!(text(&output.stdout).contains("libc.so.6: 0 names gained: no file with its build-id"));
}

#[test]
fn what_cannot_be_done_is_said_in_one_line_and_changes_nothing() {
    let nameless = Nameless::record();
    let (rows, manifest) = (nameless.functions(), nameless.manifest());
    let empty = nameless.folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for (folder, words) in
        [(&empty, "has the build-id of one of the session's"), (&empty.join("missing"), "cannot search")]
    {
        let output = nameless.symbols(folder);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(3), ""));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr).lines().count(), 1);
    }
    assert_eq!((nameless.functions(), nameless.manifest()), (rows, manifest));

    let folder = nameless.debug_folder("any", "symbols");
    let manifest = nameless.manifest();
    let module = manifest.modules.iter().find(|module| module.path.ends_with("/program")).unwrap();
    fs::write(nameless.process.join(functions_file(module.module_id)), "not a list").unwrap();
    let output = nameless.symbols(&folder);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("is damaged"), "{}", text(&output.stderr));
    assert_eq!(nameless.manifest(), manifest);
}
