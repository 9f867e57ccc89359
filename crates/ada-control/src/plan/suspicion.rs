//! Why a function's hooks may be to blame: what is odd about it, and about how it is hooked.

use std::io;
use std::ops::Range;
use std::path::Path;

use ada_event::ImageOffset;
use ada_image::Image;
use ada_patch::{CodeFacts, ExitPlan, PatchPlan, Relay, Verdict};

use crate::plan::debug_files::in_system_folder;
use crate::plan::image_file::ImageFile;
use crate::plan::image_plan::ImagePlan;
use crate::plan::probes;

/// What there is to say of each of these functions of a file, beginning with how it is hooked.
pub fn suspicions(path: &Path, functions: &[ImageOffset]) -> io::Result<Vec<Vec<String>>> {
    let file = ImageFile::open(path)?;
    let image = Image::parse(file.bytes()).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let debug_file = image.build_id().and_then(in_system_folder).and_then(|file| file.open());
    let plan = ImagePlan::make(&image, debug_file.as_ref().map(ImageFile::bytes));
    let words = |start: &ImageOffset| match plan.functions.index_at(*start) {
        Some(index) => Suspect { image: &image, plan: &plan, index }.words(),
        None => vec!["its file has changed".to_owned()],
    };
    Ok(functions.iter().map(words).collect())
}

/// A function that is looked at.
struct Suspect<'a> {
    image: &'a Image<'a>,
    plan: &'a ImagePlan,
    index: usize,
}

impl Suspect<'_> {
    fn words(&self) -> Vec<String> {
        let exits: Vec<&ExitPlan> =
            self.plan.exits.iter().filter(|exit| exit.function as usize == self.index).collect();
        let mut words = vec![self.hooked(exits.len())];
        let entry = self.plan.plans.iter().find(|(index, _)| *index == self.index).map(|(_, plan)| plan);
        words.extend(displaced(entry, &exits));
        words.extend(relays(entry, &exits));
        if probes::is_relied_on(&self.plan.functions, self.index) {
            words.push(
                "ada acts on its calls (it runs a program, makes a thread or changes what is allowed): less is traced without its hooks".into(),
            );
        }
        if self.gives_way() {
            words.push("some of its instructions are moved away for a jump of another function".into());
        }
        if exits.iter().any(|exit| exit.is_shared) {
            words.push("it shares an exit with other functions".into());
        }
        let own = self.range();
        let code = self.image.code_range_at(ImageOffset(own.start)).and_then(|code| {
            code.bytes_from(ImageOffset(own.start))
                .map(|bytes| &bytes[..bytes.len().min((own.end - own.start) as usize)])
        });
        let facts = CodeFacts::of(code.unwrap_or_default());
        if facts.starts_idle {
            words.push("it starts with an instruction that does nothing: somebody may go on right behind that".into());
        }
        if facts.calls_itself {
            words.push("it calls itself: where the stack ends, a handler finds an address of ada's".into());
        }
        if facts.jumps_indirectly {
            words.push(
                "it jumps by a table or a pointer: into bytes that a jump has replaced, if that was not seen".into(),
            );
        }
        if facts.makes_system_calls {
            words.push("it makes system calls itself: a filter or a tracer may look at their address".into());
        }
        if words.len() == 1 {
            words.push(
                "nothing is odd about it: somebody may read its bytes and find jumps there, or has data among its code"
                    .into(),
            );
        }
        words
    }

    fn hooked(&self, exits: usize) -> String {
        let verdict = self.plan.verdicts[self.index];
        match verdict {
            Verdict::Hooked if exits == 0 => "hooked, with no exit beside what its entry displaces".into(),
            Verdict::Hooked if exits == 1 => "hooked, 1 exit of its own".into(),
            Verdict::Hooked => format!("hooked, {exits} exits of its own"),
            _ => verdict.to_string(),
        }
    }

    /// Where it starts and ends.
    fn range(&self) -> Range<u64> {
        let function = &self.plan.functions.functions()[self.index];
        function.start.0..function.start.0.saturating_add(function.size)
    }

    /// Whether another function's exit has taken some of its code.
    fn gives_way(&self) -> bool {
        let range = self.range();
        let of_others = self.plan.exits.iter().filter(|exit| exit.function as usize != self.index && !exit.is_shared);
        of_others.flat_map(ExitPlan::patched).any(|patched| range.contains(&patched.start.0))
    }
}

/// What is odd about the instructions that run elsewhere.
fn displaced(entry: Option<&PatchPlan>, exits: &[&ExitPlan]) -> Vec<String> {
    let at_entry = CodeFacts::of(entry.map_or(&[], |plan| plan.displaced.bytes()));
    let at_exits: Vec<CodeFacts> = exits.iter().map(|exit| CodeFacts::of(exit.displaced.bytes())).collect();
    let where_is = |is_so: fn(&CodeFacts) -> bool| match (is_so(&at_entry), at_exits.iter().any(is_so)) {
        (true, true) => Some("at its start and at an exit"),
        (true, false) => Some("at its start"),
        (false, true) => Some("at an exit"),
        (false, false) => None,
    };
    let fault = where_is(|facts| facts.may_fault).map(|part| {
        format!(
            "instructions {part} that run elsewhere may fault: a handler or an unwinder then finds an address that is not the \
             function's"
        )
    });
    let trap = where_is(|facts| facts.traps)
        .map(|part| format!("a trap {part} runs elsewhere: its handler finds an address that is not the function's"));
    fault.into_iter().chain(trap).collect()
}

/// What had no room for a plain jump.
fn relays(entry: Option<&PatchPlan>, exits: &[&ExitPlan]) -> Vec<String> {
    let mut words = Vec::new();
    let place = |relay: Relay| match relay.evicted {
        Some(_) => "for which other instructions were moved away",
        None => "in padding",
    };
    if let Some(relay) = entry.and_then(|plan| plan.relay) {
        words.push(format!("its start has room for a short jump only, to a relay {}", place(relay)));
    }
    let evicts = |exit: &&&ExitPlan| exit.relay.is_some_and(|relay| relay.evicted.is_some());
    let evicting = exits.iter().filter(evicts).count();
    let relayed = exits.iter().filter(|exit| exit.relay.is_some()).count() - evicting;
    for (count, how) in [(relayed, "in padding"), (evicting, "for which other instructions were moved away")] {
        match count {
            0 => {}
            1 => words.push(format!("1 of its exits has a relay {how}")),
            _ => words.push(format!("{count} of its exits have a relay {how}")),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_something_to_say() {
        let path = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
        let file = ImageFile::open(path).unwrap();
        let plan = ImagePlan::make(&Image::parse(file.bytes()).unwrap(), None);
        let start = |name| plan.functions.functions()[plan.functions.find(name).unwrap()].start;
        let words = suspicions(path, &[start("qsort"), start("setjmp"), start("write"), ImageOffset(1)]).unwrap();
        assert!(words[0][0].starts_with("hooked, "), "{words:?}");
        assert!(words[2].iter().any(|it| it.contains("system calls")), "{words:?}");
        assert_eq!(words[3], ["its file has changed"]);
        assert!(words.iter().all(|words| !words.is_empty()));
        assert!(suspicions(Path::new("/no/such/file"), &[]).is_err());
        assert!(suspicions(Path::new("/etc/passwd"), &[]).is_err());
    }
}
