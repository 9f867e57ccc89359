//! `ada filter`: switches functions by name.

use ada_event::FunctionId;
use ada_patch::Verdict;

use crate::function_pattern;
use crate::live::{Answer, Handler, Request};
use crate::plan::module::Module;
use crate::plan::probes;
use crate::tracked::Programs;

/// Switches the functions that somebody names.
pub(crate) struct FilterHandler<'a> {
    pub(crate) programs: &'a Programs,
}

impl Handler for FilterHandler<'_> {
    fn answer(&self, request: &Request) -> Option<Answer> {
        let Request::Filter { mode, patterns } = request else { return None };
        let mut functions = Vec::new();
        {
            let hooked = self.programs.lock();
            for pattern in patterns {
                let before = functions.len();
                hooked.modules.iter().for_each(|module| functions.extend(matching(module, pattern)));
                if functions.len() == before {
                    let reason = format!("no function that is hooked matches {pattern:?}; `ada hooks` lists all");
                    return Some(Answer::Refused { reason });
                }
            }
        }
        functions.sort_unstable();
        functions.dedup();
        let switched = self.programs.switches.switch(&functions, *mode, "filter");
        Some(Answer::Filtered {
            matched: functions.len(),
            changed: switched.changed,
            without_counter: switched.without_counter.len(),
            unhooked: switched.unhooked,
        })
    }
}

fn matching<'a>(module: &'a Module, pattern: &'a str) -> impl Iterator<Item = FunctionId> + 'a {
    let is_wanted = |index: &usize| {
        !matches!(module.verdicts[*index], Verdict::Skipped(_))
            && !probes::is_vital(&module.functions, *index)
            && !module.captured.ends_tasks(*index)
            && {
                let start = module.functions.functions()[*index].start;
                function_pattern::matches_function(pattern, &module.file.path, module.functions.name(*index), start)
            }
    };
    (0..module.functions.len()).filter(is_wanted).map(|index| FunctionId::new(module.id, index as u32))
}
