//! The lists of functions of a session's processes: those of many are one file, which is read once.

use std::any::Any;
use std::collections::HashMap;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::atf::{FunctionRow, read_functions};
use crate::private::open_regular;

/// What a list has of a module's functions, in the order of their symbol indexes.
#[derive(Debug, Default)]
pub struct FunctionList {
    rows: Vec<FunctionRow>,
    made: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

impl FunctionList {
    /// The functions.
    pub fn rows(&self) -> &[FunctionRow] {
        &self.rows
    }

    /// What somebody makes of the functions, made once for all processes that have this list: what their names mean takes
    /// longer than to read them.
    pub fn made<T: Any + Send + Sync>(&self, make: impl FnOnce(&[FunctionRow]) -> T) -> Arc<T> {
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find_map(|it| Arc::clone(it).downcast().ok()) {
            return known;
        }
        let new = Arc::new(make(&self.rows));
        all.push(Arc::clone(&new) as Arc<dyn Any + Send + Sync>);
        new
    }
}

/// The lists that were read, by device and number of their files.
#[derive(Debug, Default)]
pub(super) struct FunctionLists(Mutex<HashMap<(u64, u64), Arc<FunctionList>>>);

impl FunctionLists {
    /// A list; an empty one where there is none that can be read.
    pub(super) fn get(&self, path: &Path) -> Arc<FunctionList> {
        self.read(path).unwrap_or_default()
    }

    fn read(&self, path: &Path) -> io::Result<Arc<FunctionList>> {
        let mut file = open_regular(path)?;
        let facts = file.metadata()?;
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lists.get(&(facts.dev(), facts.ino())) {
            return Ok(Arc::clone(known));
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let rows = read_functions(&text).unwrap_or_default();
        let list = Arc::new(FunctionList { rows, made: Mutex::default() });
        lists.insert((facts.dev(), facts.ino()), Arc::clone(&list));
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_many_names_is_read_once_and_what_is_made_of_it_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, other] = ["first", "second", "other"].map(|name| folder.path().join(name));
        std::fs::write(&first, "# ada functions 1\n0x10\t4\thooked\t\tone\n").unwrap();
        std::fs::hard_link(&first, &second).unwrap();
        std::fs::write(&other, "# ada functions 1\n").unwrap();
        let lists = FunctionLists::default();
        let [one, same, empty] = [&first, &second, &other].map(|path| lists.get(path));
        assert!(Arc::ptr_eq(&one, &same) && one.rows()[0].name == "one");
        assert!(empty.rows().is_empty() && lists.get(&folder.path().join("none")).rows().is_empty());
        assert_eq!(*one.made(|rows| rows.len()), 1);
        assert_eq!(*same.made(|_| -> usize { panic!("it is there") }), 1);
        assert_eq!(*same.made(|rows| rows[0].name.clone()), "one", "another kind of thing");
    }
}
