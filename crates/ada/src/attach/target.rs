//! Which processes the user means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use ada_event::ProcessId;
use ada_image::glob;
use ada_process::procfs::{ProcessDir, all_processes, listeners};
use ada_process::{below, this_process};
use anyhow::bail;

/// How processes are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Pid(ProcessId),
    /// A program's name, or a pattern of it.
    Name(String),
    Unit(String),
    Container(String),
    Port(u16),
}

/// A process, and those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) root: ProcessId,
    pub(super) below: Vec<ProcessId>,
}

impl Tree {
    pub(super) fn of(root: ProcessId) -> Self {
        let is_other = own_line();
        Self {
            root,
            below: below(root).into_iter().filter(|pid| is_recordable(*pid) && !is_other.contains(pid)).collect(),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = ProcessId> {
        std::iter::once(self.root).chain(self.below.iter().copied())
    }
}

impl Target {
    /// All trees of processes that it names, the oldest first.
    pub(super) fn find(&self) -> anyhow::Result<Vec<Tree>> {
        let found: BTreeSet<ProcessId> = match self {
            Self::Pid(pid) => BTreeSet::from([*pid]),
            Self::Name(name) => by_name(name),
            Self::Port(port) => listeners(*port).into_iter().collect(),
            Self::Unit(unit) => in_group(|part| part == unit || part.strip_suffix(".service") == Some(unit)),
            Self::Container(name) => {
                let id = container_id(name)?;
                // docker-ID.scope, libpod-ID.scope, or ID alone.
                in_group(|part| part.strip_suffix(".scope").unwrap_or(part).rsplit('-').next() == Some(id.as_str()))
            }
        };
        let own = own_line();
        let is_wanted = |pid: &ProcessId| matches!(self, Self::Pid(_)) || is_recordable(*pid) && !own.contains(pid);
        let found: BTreeSet<ProcessId> = found.into_iter().filter(is_wanted).collect();
        // Who is below another one belongs to its tree.
        let has_ancestor = |pid: &ProcessId| ancestors(*pid).any(|above| found.contains(&above));
        let mut roots: Vec<ProcessId> = found.iter().filter(|pid| !has_ancestor(pid)).copied().collect();
        roots.sort_by_key(|pid| (ProcessDir::of(*pid).stat().and_then(|stat| stat.started()), *pid));
        Ok(roots.into_iter().map(Tree::of).collect())
    }

    /// What to say where there is no such process.
    pub(super) fn not_found(&self) -> String {
        match self {
            Self::Pid(pid) => format!("cannot attach to process {pid}: there is no such process"),
            Self::Name(name) => format!(
                "no process is called {name} (ada and its parents do not count); give a name as `ps -e` shows it, \
                 a pattern such as '*{name}*', or a process id"
            ),
            Self::Unit(unit) => {
                format!("no process runs in unit {unit}; `systemctl list-units` shows those that are there")
            }
            Self::Container(name) => format!("no process runs in container {name}, or none that is visible from here"),
            Self::Port(port) => {
                format!("no process listens on port {port}, or ada may not see which: try as root")
            }
        }
    }
}

/// Processes whose program has this name: that of the process, of its file, of its first argument, or of the script that an
/// interpreter runs.
fn by_name(pattern: &str) -> BTreeSet<ProcessId> {
    let names_of = |pid: ProcessId| -> [Option<String>; 4] {
        let dir = ProcessDir::of(pid);
        let file_name = |path: &str| Path::new(path).file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let file = std::fs::read_link(dir.executable()).ok();
        let words = dir.command_line();
        let argument = |number: usize| words.get(number).and_then(|word| file_name(word));
        [dir.name(), file.as_deref().and_then(Path::to_str).and_then(file_name), argument(0), argument(1)]
    };
    let mut by_program = BTreeSet::new();
    let mut by_script = BTreeSet::new();
    for pid in all_processes() {
        let [name, file, first, script] = names_of(pid);
        let is_named = |name: Option<String>| name.is_some_and(|name| glob(pattern, &name));
        if is_named(name) || is_named(file) || is_named(first) {
            by_program.insert(pid);
        } else if is_named(script) {
            by_script.insert(pid);
        }
    }
    // An editor that has the name as its argument is not meant where there is such a program.
    if by_program.is_empty() { by_script } else { by_program }
}

/// Processes in a control group one of whose parts fits.
fn in_group(fits: impl Fn(&str) -> bool) -> BTreeSet<ProcessId> {
    let is_in = |pid: &ProcessId| ProcessDir::of(*pid).control_groups().iter().any(|path| path.split('/').any(&fits));
    all_processes().filter(is_in).collect()
}

/// A container's full id, as the tools know it by its name or a part of the id.
fn container_id(name: &str) -> anyhow::Result<String> {
    let mut tried = Vec::new();
    for tool in ["podman", "docker"] {
        let asked =
            Command::new(tool).args(["inspect", "--type", "container", "--format", "{{.Id}}", "--", name]).output();
        match asked {
            Ok(output) if output.status.success() => {
                return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
            }
            Ok(_) => tried.push(tool),
            Err(_) => {}
        }
    }
    let is_id = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    match tried.as_slice() {
        _ if is_id => Ok(name.to_owned()),
        [] => bail!(
            "neither podman nor docker is here to say which container {name} is; give its full id, or a process id"
        ),
        tools => bail!("{} does not know a container {name}", tools.join(" nor ")),
    }
}

/// Kernel threads and processes that have ended cannot be recorded.
fn is_recordable(pid: ProcessId) -> bool {
    let dir = ProcessDir::of(pid);
    !dir.is_gone() && std::fs::read_link(dir.executable()).is_ok()
}

/// This process, and those that have started it: the shell in which the user types is hardly meant.
fn own_line() -> BTreeSet<ProcessId> {
    let own = this_process();
    ancestors(own).chain([own]).collect()
}

fn ancestors(pid: ProcessId) -> impl Iterator<Item = ProcessId> {
    /// Processes come and go while they are looked at: what looks like a circle ends.
    const DEEPEST: usize = 4096;
    let parent = |pid: &ProcessId| ProcessDir::of(*pid).parent().filter(|parent| parent.0 != 0);
    std::iter::successors(parent(&pid), parent).take(DEEPEST)
}

/// How a tree is shown in a list: its root's id, the command, and how many are below.
pub(super) fn describe(tree: &Tree) -> String {
    const LONGEST: usize = 60;
    let dir = ProcessDir::of(tree.root);
    let words = dir.command_line().join(" ");
    let words = if words.is_empty() { dir.name().unwrap_or_default() } else { words };
    let shown: String = words.chars().filter(|it| !it.is_control()).take(LONGEST).collect();
    let mut programs: BTreeMap<String, usize> = BTreeMap::new();
    tree.below
        .iter()
        .for_each(|pid| *programs.entry(ProcessDir::of(*pid).name().unwrap_or_default()).or_default() += 1);
    let below: Vec<String> = programs.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let below = if below.is_empty() { String::new() } else { format!("  (and below it {})", below.join(", ")) };
    format!("{:>8}  {shown}{below}", tree.root)
}
