//! `ada symbols SESSION`: better names for a session that is already recorded.

mod rename;

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ada_format::atf::{Module, Session};
use anyhow::{Context, bail};

use crate::analysis::find_session;
use crate::debug_folder::{DebugFolder, SYSTEM_FOLDER};
use crate::debug_servers;
use crate::exit::{Blame, Outcome, say};

use rename::{NamedModule, ProcessNames};

const EXAMPLES: &str = "\
Examples:
  ada symbols ada_traces/session_20261115_101500 --debug-dir /usr/lib/debug
  ada symbols SESSION --debug-dir ./build     unstripped programs and libraries work too
  DEBUGINFOD_URLS=http://symbols:8002 ada symbols SESSION     from a server, by debuginfod-find

Files are matched by build-id, so the session may come from another machine. Numbers, addresses and verdicts of \
functions stay as they are. Exit code 1: the function list of some module could not be read.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of a session, of one of its processes, or of several sessions (the newest is taken) [default: the
    /// newest in ada_traces]
    session: Option<PathBuf>,
    /// Folder with the debug files, at any depth: named `.build-id/xx/yyyy.debug` or anything else [default: those of the
    /// system, and of the servers that DEBUGINFOD_URLS names]
    #[arg(long, value_name = "DIR")]
    debug_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let path = find_session(args.session.as_deref())?;
    let session = Session::open(&path)?;
    let wanted: BTreeSet<&[u8]> = session.processes().iter().flat_map(|it| &it.manifest).flat_map(build_ids).collect();
    if wanted.is_empty() {
        bail!("{} names no module with a build-id, so no debug file can be matched", path.display());
    }
    let (files, places) = match &args.debug_dir {
        Some(folder) => {
            let found = DebugFolder::search(folder, &wanted);
            let found = found.with_context(|| format!("cannot search {}", folder.display()))?;
            (found.into_files(), folder.display().to_string())
        }
        None => with_servers(&session, DebugFolder::at_usual_places(Path::new(SYSTEM_FOLDER), &wanted).into_files()),
    };
    if files.is_empty() {
        let modules = wanted.len();
        bail!(
            "no file in {places} has the build-id of one of the session's {modules} modules; \
             debug symbol packages, or the unstripped program itself, have them"
        );
    }
    let mut outcome = Outcome::Clean;
    for process in session.processes() {
        let Some(manifest) = &process.manifest else { continue };
        let mut names = ProcessNames::new(&process.path, manifest);
        for index in 0..manifest.modules.len() {
            let module = &manifest.modules[index];
            let Some(file) = module.build_id.as_ref().and_then(|id| files.get(&id.0)) else { continue };
            match names.supply(index, file) {
                Ok(named) => print(module, &named, file).output_failed(|| "cannot write to stdout".into())?,
                Err(error) => {
                    say(format_args!("ada: {error:#}\n"));
                    outcome = Outcome::Findings;
                }
            }
        }
        names.save().output_failed(|| format!("cannot rewrite the function lists in {}", process.path.display()))?;
        for module in manifest.modules.iter().filter(|module| !is_found(module, &files)) {
            print_unmatched(module).output_failed(|| "cannot write to stdout".into())?;
        }
    }
    Ok(outcome)
}

fn build_ids(manifest: &ada_format::atf::Manifest) -> impl Iterator<Item = &[u8]> {
    manifest.modules.iter().filter_map(|module| module.build_id.as_ref()).map(|id| &id.0[..])
}

/// The same files, and those of the user's servers for modules whose functions have no names; with the places where they were
/// looked for.
fn with_servers(session: &Session, mut files: HashMap<Vec<u8>, PathBuf>) -> (HashMap<Vec<u8>, PathBuf>, String) {
    let Some(servers) = debug_servers::of_environment(false) else { return (files, SYSTEM_FOLDER.to_owned()) };
    for process in session.processes() {
        for module in process.manifest.iter().flat_map(|manifest| &manifest.modules) {
            let Some(build_id) = module.build_id.as_ref().map(|id| &id.0[..]) else { continue };
            if !files.contains_key(build_id) && rename::has_nameless(&process.path, module) {
                let fetched = servers.fetch(build_id, Path::new(&module.path), None);
                files.extend(fetched.map(|path| (build_id.to_vec(), path)));
            }
        }
    }
    (files, format!("{SYSTEM_FOLDER} or the servers of DEBUGINFOD_URLS"))
}

fn is_found(module: &Module, files: &HashMap<Vec<u8>, PathBuf>) -> bool {
    module.build_id.as_ref().is_some_and(|id| files.contains_key(&id.0))
}

fn print(module: &Module, named: &NamedModule, file: &Path) -> io::Result<()> {
    let NamedModule { gained, improved, unnamed, functions } = named;
    writeln!(
        io::stdout().lock(),
        "{}: {gained} names gained, {improved} improved; {unnamed} of {functions} functions still without a name \
         ({})",
        module.path,
        file.display()
    )
}

fn print_unmatched(module: &Module) -> io::Result<()> {
    let why = if module.build_id.is_some() { "no file with its build-id" } else { "it has no build-id" };
    writeln!(io::stdout().lock(), "{}: 0 names gained: {why}", module.path)
}
