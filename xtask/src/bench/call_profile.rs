//! Which functions a trace's calls went to.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use ada_event::Event;
use ada_format::atf::{FunctionRow, Session, functions_file, read_functions};
use anyhow::Context;
use serde_json::{Value, json};

/// How often each function was called.
pub(super) struct CallProfile {
    /// By count, the most called first.
    functions: Vec<CalledFunction>,
}

/// A function and its calls.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CalledFunction {
    pub(super) calls: u64,
    /// As people read it.
    pub(super) name: String,
    /// As `--exclude` takes it.
    pub(super) pattern: String,
}

impl CallProfile {
    pub(super) fn of(session: &Path) -> anyhow::Result<Self> {
        let session = Session::open(session)?;
        let mut functions: HashMap<String, CalledFunction> = HashMap::new();
        for process in session.processes() {
            let mut counts = Counts::default();
            process.threads.iter().flat_map(|thread| thread.chunks()).for_each(|chunk| counts.add(&chunk));
            for module in process.manifest.iter().flat_map(|manifest| &manifest.modules) {
                let Some(counts) = counts.modules.get(module.module_id.0 as usize) else { continue };
                let path = process.path.join(functions_file(module.module_id));
                let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let rows = read_functions(&text).with_context(|| format!("{} is damaged", path.display()))?;
                for (row, &calls) in rows.iter().zip(counts).filter(|&(_, &calls)| calls > 0) {
                    let new = describe(&module.path, row);
                    functions.entry(new.pattern.clone()).or_insert(new).calls += calls;
                }
            }
        }
        let mut functions: Vec<CalledFunction> = functions.into_values().collect();
        functions.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.pattern.cmp(&b.pattern)));
        Ok(Self { functions })
    }

    pub(super) fn calls(&self) -> u64 {
        self.functions.iter().map(|function| function.calls).sum()
    }

    /// Calls of the function with this name.
    pub(super) fn calls_of(&self, name: &str) -> u64 {
        self.functions.iter().filter(|function| function.pattern == name).map(|function| function.calls).sum()
    }

    pub(super) fn hottest(&self, count: usize) -> &[CalledFunction] {
        &self.functions[..count.min(self.functions.len())]
    }

    /// `malloc 21 %, free 20 %`
    pub(super) fn words(&self, count: usize) -> String {
        let share = |calls: u64| calls as f64 / self.calls().max(1) as f64 * 100.0;
        let words =
            self.hottest(count).iter().map(|function| format!("{} {:.0} %", function.name, share(function.calls)));
        words.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn to_json(&self, count: usize) -> Value {
        let one = |function: &CalledFunction| json!({"name": function.name, "calls": function.calls});
        self.hottest(count).iter().map(one).collect()
    }
}

/// Calls by module and symbol index.
#[derive(Default)]
struct Counts {
    modules: Vec<Vec<u64>>,
}

impl Counts {
    /// Larger numbers come only from damaged files, and would cost memory.
    const LARGEST: usize = 1 << 24;

    fn add(&mut self, events: &[[u8; Event::SIZE]]) {
        for event in events.iter().map(Event::from_le_bytes).filter(|event| event.kind.is_call()) {
            let (module, symbol) = ((event.function.0 >> 32) as usize, event.function.0 as u32 as usize);
            if module.max(symbol) > Self::LARGEST {
                continue;
            }
            if module >= self.modules.len() {
                self.modules.resize(module + 1, Vec::new());
            }
            let counts = &mut self.modules[module];
            if symbol >= counts.len() {
                counts.resize(symbol + 1, 0);
            }
            counts[symbol] += 1;
        }
    }
}

fn describe(module: &str, row: &FunctionRow) -> CalledFunction {
    const LONGEST: usize = 40;
    let file = Path::new(module).file_name().unwrap_or_default().to_string_lossy();
    let pattern = match row.name.as_str() {
        "" => format!("{file}+{:#x}", row.offset),
        name => name.to_owned(),
    };
    let mut name = ada_image::demangle(&pattern).into_owned();
    if name.chars().count() > LONGEST {
        name = name.chars().take(LONGEST - 1).chain(['…']).collect();
    }
    CalledFunction { calls: 0, name, pattern }
}

#[cfg(test)]
mod tests {
    use ada_event::{EventKind, FunctionId, ImageOffset, ThreadId};

    use super::*;

    fn event(module: u64, symbol: u64, kind: EventKind) -> [u8; Event::SIZE] {
        let event =
            Event { function: FunctionId(module << 32 | symbol), kind, thread: ThreadId(1), ..Event::default() };
        event.to_le_bytes()
    }

    #[test]
    fn only_calls_count() {
        let mut counts = Counts::default();
        counts.add(&[event(1, 2, EventKind::CALL), event(1, 2, EventKind::RETURN), event(1, 2, EventKind::CALL)]);
        counts.add(&[event(0, 0, EventKind::CALL), event(u64::from(u32::MAX), 0, EventKind::CALL)]);
        assert_eq!(counts.modules, [vec![1], vec![0, 0, 2]]);
    }

    #[test]
    fn a_function_without_a_name_has_module_and_offset() {
        let row = FunctionRow {
            offset: ImageOffset(0x1234),
            size: 1,
            verdict: "hooked".into(),
            reason: String::new(),
            name: String::new(),
            values: String::new(),
        };
        let function = describe("/usr/bin/sort", &row);
        assert_eq!((function.name.as_str(), function.pattern.as_str()), ("sort+0x1234", "sort+0x1234"));
        let named = describe("/lib/libx.so", &FunctionRow { name: "_ZN1a1bEv".into(), ..row });
        assert_eq!((named.name.as_str(), named.pattern.as_str()), ("a::b()", "_ZN1a1bEv"));
    }

    #[test]
    fn shares_are_of_all_calls() {
        let function = |name: &str, calls| CalledFunction { calls, name: name.into(), pattern: name.into() };
        let profile = CallProfile { functions: vec![function("hot", 75), function("warm", 20), function("cold", 5)] };
        assert_eq!(profile.words(2), "hot 75 %, warm 20 %");
        assert_eq!((profile.calls(), profile.calls_of("warm"), profile.hottest(9).len()), (100, 20, 3));
    }
}
