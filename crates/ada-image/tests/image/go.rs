//! Go's table of functions against what Go's own tools say: names and lines, of stripped programs too.

use std::process::Stdio;
use std::sync::LazyLock;

use ada_event::ImageOffset;
use ada_image::{Image, ImageError, SourceLines, Sources};
use proptest::prelude::*;

use crate::target::{discover, run, without_section_headers};

/// A Go program, built so that it is the same file wherever the tests run, with its symbols and without.
struct Built {
    folder: tempfile::TempDir,
}

const SOURCE: &str = r#"package main

import "os"

//go:noinline
func add(a, b int) int {
	return a + b
}

type counter struct{ n int }

//go:noinline
func (c *counter) step() { c.n = add(c.n, 1) }

func main() {
	c := counter{}
	defer func() { os.Exit(c.n) }()
	c.step()
}
"#;

impl Built {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("main.go"), SOURCE).unwrap();
        Self { folder }
    }

    fn build(&self, name: &str, flags: &[&str]) -> Vec<u8> {
        let path = self.folder.path().join(name);
        run("go", |go| go.arg("build").args(flags).arg("-o").arg(&path).arg("main.go").current_dir(self.folder.path()));
        std::fs::read(path).unwrap()
    }

    /// What Go's own reader of lines says of addresses: function, and file with line.
    fn addr2line(&self, name: &str, addresses: &[ImageOffset]) -> Vec<(String, String)> {
        use std::io::Write;
        let mut tool = std::process::Command::new("go")
            .args(["tool", "addr2line"])
            .arg(self.folder.path().join(name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/setup installs it");
        let text: String = addresses.iter().map(|at| format!("{:#x}\n", at.0)).collect();
        let mut input = tool.stdin.take().unwrap();
        let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
        let output = tool.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        lines.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
    }
}

static STRIPPED: LazyLock<Vec<u8>> = LazyLock::new(|| Built::new().build("stripped", &["-ldflags=-s -w"]));

#[test]
fn a_stripped_program_has_all_functions_that_its_symbols_name() {
    let built = Built::new();
    let (whole, stripped) = (built.build("whole", &[]), built.build("stripped", &["-ldflags=-s -w"]));
    let (whole, stripped) = (discover(&whole), discover(&stripped));
    let of_symbols = whole.functions().iter().enumerate().filter(|(_, it)| it.sources.contains(Sources::SYMTAB));
    let mut compared = 0;
    for (index, function) in of_symbols {
        let found = stripped.index_at(function.start).unwrap_or_else(|| panic!("{:?}", whole.name(index)));
        let sources = stripped.functions()[found].sources;
        assert!(sources.contains(Sources::GO) && !sources.contains(Sources::SYMTAB), "{sources}");
        // Symbols say which of two calling conventions a function of assembly has; the table does not.
        let name = whole.name(index).unwrap().trim_end_matches(".abi0").trim_end_matches(".abiinternal");
        assert!(whole.names(index).any(|it| it == stripped.name(found).unwrap()), "{name}");
        compared += 1;
    }
    assert!(compared > 500, "{compared}");
    assert!(stripped.find("main.add").is_some() && stripped.find("main.(*counter).step").is_some());
}

#[test]
fn lines_are_those_of_gos_own_tool() {
    let built = Built::new();
    built.build("whole", &[]);
    let stripped = built.build("stripped", &["-ldflags=-s -w"]);
    let image = Image::parse(&stripped).unwrap();
    let code = image.code_ranges()[0];
    let addresses: Vec<ImageOffset> = (code.start.0..code.end().0).step_by(37).map(ImageOffset).collect();
    let lines = SourceLines::read(Box::new(stripped.clone())).unwrap();
    let mut known = 0;
    for (at, (function, theirs)) in addresses.iter().zip(built.addr2line("whole", &addresses)) {
        let ours = lines.place(*at).map(|place| format!("{}:{}", place.file, place.line));
        if let Some(ours) = ours {
            assert_eq!(ours, theirs, "{at} in {function}");
            known += 1;
        }
    }
    assert!(known * 10 > addresses.len() * 9, "{known} of {}", addresses.len());
    let table = discover(&stripped);
    let add = table.functions()[table.find("main.add").unwrap()].start;
    let place = lines.function_place(add).unwrap();
    assert!(place.file.ends_with("main.go") && [6, 7].contains(&place.line), "{place:?}");
}

#[test]
fn the_version_is_told_and_programs_without_section_headers_are_read() {
    let version = String::from_utf8(run("go", |go| go.arg("version"))).unwrap();
    let bare = without_section_headers(STRIPPED.clone());
    for bytes in [&STRIPPED[..], &bare[..]] {
        let image = Image::parse(bytes).unwrap();
        let told = image.go_version().unwrap();
        assert!(version.split(' ').any(|word| word == told), "{told}, and {version}");
        assert!(discover(bytes).find("main.add").is_some());
    }
    let c = crate::target::Target::build("shapes.c", &["-O2"]).bytes();
    let c = Image::parse(&c).unwrap();
    assert!(c.go_table().is_none() && c.go_version().is_none());
}

#[test]
fn a_position_independent_program_has_the_same_functions() {
    let built = Built::new();
    let table = discover(&built.build("pie", &["-buildmode=pie", "-ldflags=-s -w"]));
    let add = table.find("main.add").expect("the loader says where the text begins");
    assert!(table.functions()[add].sources.contains(Sources::GO) && table.functions()[add].size > 0);
}

#[test]
fn a_table_of_another_form_is_told() {
    let mut bytes = STRIPPED.clone();
    let at = bytes.windows(8).position(|it| it[1..] == [0xff, 0xff, 0xff, 0, 0, 1, 8]).unwrap();
    bytes[at] = 0x42;
    let error = Image::parse(&bytes).unwrap().go_table().unwrap().unwrap_err();
    assert!(matches!(error, ImageError::BadGoTable { offset: 0, .. }), "{error}");
    assert!(matches!(discover(&bytes).problem(), Some(ImageError::BadGoTable { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bits_of_the_table_are_survived(flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..400), header in prop::collection::vec((0usize..72, any::<u8>()), 0..3)) {
        let mut bytes = STRIPPED.clone();
        let at = bytes.windows(8).position(|it| it[1..] == [0xff, 0xff, 0xff, 0, 0, 1, 8]).unwrap();
        let size = 300_000.min(bytes.len() - at);
        for (flip, bit) in flips {
            bytes[at + 72 + flip.index(size - 72)] ^= 1 << bit;
        }
        for (byte, value) in header {
            bytes[at + byte] = value;
        }
        let image = Image::parse(&bytes).unwrap();
        if let Some(Ok(table)) = image.go_table() {
            for function in table.functions().take(5000) {
                let middle = ImageOffset(function.start.0.midpoint(function.end.0));
                let _ = (table.place(middle), table.function_place(function.start), table.frame_bytes(&function));
            }
        }
        discover(&bytes);
    }
}
