//! Compiles the agent a second time, as a freestanding shared object that can be copied into another process, and names
//! the planner by a hash of its sources.
//!
//! Cargo cannot build one package for two environments, so the compiler is called directly: the agent and the one
//! crate it uses need nothing but `core`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // Asked when it runs: a build folder that is shared by two checkouts may have this program from the other.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let crates = Path::new(&here).join("..");
    let ring = crates.join("ada-ring/src");
    let agent = crates.join("ada-agent/src");
    println!("cargo::rerun-if-changed={}", ring.display());
    println!("cargo::rerun-if-changed={}", agent.display());
    println!("cargo::rerun-if-changed=build.rs");

    println!("cargo::rustc-env=ADA_PLANNER={:016x}", planner(&crates));

    compile(&out, &ring.join("lib.rs"), "ada_ring", "rlib", &[]);
    let library = format!("ada_ring={}", out.join("libada_ring.rlib").display());
    let link = "link-arg=-Wl,--build-id=none,-z,norelro,-z,noseparate-code,-z,defs,--hash-style=sysv,-Bsymbolic";
    let options = ["--extern", &library, "-C", "link-arg=-nostdlib", "-C", "link-arg=-nostartfiles", "-C", link];
    compile(&out, &agent.join("lib.rs"), "ada_agent", "cdylib", &options);
}

/// Everything that decides what a plan is, or how it is stored: a change to any of it makes stored plans stale.
fn planner(crates: &Path) -> u64 {
    let mut files = vec![crates.join("../Cargo.lock")];
    let own = ["image_plan.rs", "declared.rs", "declared_types.rs"];
    files.extend(own.map(|file| crates.join("ada-control/src/plan").join(file)));
    for folder in ["ada-image/src", "ada-patch/src", "ada-value/src", "ada-control/src/plan/plan_cache"] {
        add_files(&crates.join(folder), &mut files);
    }
    files.sort();
    // FNV-1a.
    files.iter().fold(0xcbf2_9ce4_8422_2325, |hash, file| {
        println!("cargo::rerun-if-changed={}", file.display());
        let content = std::fs::read(file).expect("a source can be read");
        content.iter().fold(hash, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    })
}

/// Adds all files of a folder and of those in it.
fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() {
            add_files(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The baseline instruction set, whatever RUSTFLAGS say: the stubs save no wider registers than it has.
fn compile(out: &Path, source: &Path, name: &str, kind: &str, more: &[&str]) {
    let compiler = std::env::var_os("RUSTC").expect("cargo sets RUSTC");
    let status = Command::new(compiler)
        .args(["--edition", "2024", "--crate-name", name, "--crate-type", kind, "--cfg", "ada_freestanding"])
        .args(["-C", "opt-level=2", "-C", "panic=abort", "-C", "relocation-model=pic", "-C", "strip=debuginfo"])
        .args(["-C", "target-cpu=x86-64", "--cap-lints", "allow"])
        .args(more)
        .arg("--out-dir")
        .arg(out)
        .arg(source)
        .status()
        .expect("the compiler starts");
    assert!(status.success(), "the agent does not compile: {status}");
}
