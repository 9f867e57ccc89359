//! The sessions that may be read, by name; opened when they are asked for.

use std::path::{Path, PathBuf};

use ada_format::atf::Session;
use ada_query::{Cancel, Engine};
use anyhow::{Context, anyhow, bail};

use crate::analysis::{OpenedSession, SessionArgs};

/// A session that was opened.
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) opened: OpenedSession,
    pub(super) engine: Engine,
}

/// The sessions in the folders that were given at the start.
pub(super) struct Library {
    folders: Vec<PathBuf>,
    timeout: u64,
    cancel: Cancel,
    /// The newest last; few are kept open.
    open: Vec<Asked>,
}

/// Sessions that are kept open.
const MOST_OPEN: usize = 4;

impl Library {
    pub(super) fn new(folders: Vec<PathBuf>, timeout: u64, cancel: Cancel) -> Self {
        Self { folders, timeout, cancel, open: Vec::new() }
    }

    pub(super) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Where recordings go.
    pub(super) fn first_folder(&self) -> &Path {
        &self.folders[0]
    }

    /// All sessions, the newest first: names and folders.
    pub(super) fn sessions(&self) -> Vec<(String, PathBuf)> {
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for folder in &self.folders {
            if is_session(folder) {
                found.extend(name_of(folder).map(|name| (name, folder.clone())));
            } else {
                for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                    let path = entry.path();
                    // A link could lead outside of what was given.
                    if entry.file_type().is_ok_and(|it| it.is_dir()) && is_session(&path) {
                        found.extend(name_of(&path).map(|name| (name, path)));
                    }
                }
            }
        }
        found.sort();
        found.dedup();
        found.reverse();
        found
    }

    /// A session by its name, or the newest.
    pub(super) fn get(&mut self, name: Option<&str>) -> anyhow::Result<&Asked> {
        let all = self.sessions();
        let found = match name {
            Some(name) => all.iter().find(|(it, _)| it == name),
            None => all.first(),
        };
        let Some((name, path)) = found else {
            match name {
                Some(name) => {
                    let near = ada_query::nearest(name, all.iter().map(|(it, _)| it.as_str()));
                    let hint =
                        near.map_or_else(|| "list_sessions names them".into(), |it| format!("did you mean {it}?"));
                    bail!("there is no session {name}; {hint}")
                }
                None => bail!("there is no session yet"),
            }
        };
        if let Some(at) = self.open.iter().position(|it| it.name == *name) {
            let asked = self.open.remove(at);
            self.open.push(asked);
        } else {
            let asked = self.open_one(name, path).with_context(|| format!("cannot open {name}"))?;
            self.open.push(asked);
            if self.open.len() > MOST_OPEN {
                self.open.remove(0);
            }
        }
        self.open.last().ok_or_else(|| anyhow!("there is no session"))
    }

    fn open_one(&self, name: &str, path: &Path) -> anyhow::Result<Asked> {
        let args = SessionArgs { session: Some(path.to_owned()), timeout: self.timeout, debug_dir: None };
        let opened = OpenedSession::open(path, &args)?;
        opened.show_findings();
        let engine = Engine::new(opened.trace().clone(), self.cancel.clone())?;
        Ok(Asked { name: name.to_owned(), opened, engine })
    }

    /// A session's files, without making tables of them.
    pub(super) fn glance(path: &Path) -> anyhow::Result<Session> {
        Ok(Session::open(path)?)
    }
}

fn is_session(path: &Path) -> bool {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.into_iter().any(|it| it.file_name().to_string_lossy().starts_with("pid_"))
        || path.join("manifest.json").is_file()
}

fn name_of(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}
