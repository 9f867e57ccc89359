//! The programs that a session traces, and what is known of their processes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ada_event::{FunctionId, ProcessId};
use ada_process::procfs::ProcessDir;
use ada_process::{Child, LiveProcesses, MemfdId, Pidfd, ProcConnector};
use ada_ring::Pool;

use super::exec_times::ExecTimes;
use super::hooked_programs::HookedPrograms;
use super::in_charge::InCharge;
use super::process_facts::ProcessFacts;
use super::recording_phase::RecordingPhase;
use crate::install::function_numbers::SharedNumbers;
use crate::install::shared_memory::SharedMemory;
use crate::launch::workshop::HookedProgram;
use crate::plan::earlier_runs::HotFunctions;
use crate::plan::module::Module;
use crate::plan::switchable::switchable_at;
use crate::program_id::ProgramId;
use crate::switches::Switchboard;

/// Everything that was hooked, by all threads that hook.
pub(crate) struct Programs {
    hooked: Mutex<HookedPrograms>,
    pub(crate) numbers: SharedNumbers,
    pub(crate) switches: Arc<Switchboard>,
    /// What is counted because of earlier runs, and the governor has not heard of.
    counted_from_start: Mutex<Vec<FunctionId>>,
    pub(crate) phase: RecordingPhase,
    /// How many processes are in the middle of an exec: these have unmapped the shared memory, and no pidfd holds them yet.
    pub(crate) execs_under_way: AtomicUsize,
    /// Processes that were followed into other programs, with their pidfds.
    pub(crate) followed: Mutex<Vec<(ProcessId, Pidfd)>>,
    pub(crate) exec_times: ExecTimes,
    pub(crate) in_charge: InCharge,
    /// Bytes that were written about when threads ran.
    pub(crate) schedule_bytes: AtomicU64,
    /// The kernel's process events, where ada may listen to them.
    pub(crate) proc_connector: Option<ProcConnector>,
}

impl Programs {
    /// Functions that were seen to handle signals. They are recorded whatever it costs: see [`ada_ring::handler_functions`].
    pub(crate) fn handlers(&self) -> HashSet<FunctionId> {
        let numbers = self.numbers.read().expect("nobody panics with the lock");
        let of_pool = |pool: Pool| pool.control().handlers.iter().collect::<Vec<_>>();
        self.switches.rings().pools().flat_map(of_pool).map(|number| numbers.get(number)).collect()
    }

    pub(crate) fn new(shared: Arc<SharedMemory>, proc_connector: io::Result<ProcConnector>) -> Self {
        let not_reported = |error: &io::Error| {
            format!("the kernel does not report processes ({error}): those that end before their first call are missed")
        };
        let hooked = HookedPrograms {
            limits: proc_connector.as_ref().err().map(not_reported).into_iter().collect(),
            ..HookedPrograms::default()
        };
        Self {
            hooked: Mutex::new(hooked),
            numbers: Arc::default(),
            switches: Arc::new(Switchboard::new(shared)),
            counted_from_start: Mutex::default(),
            phase: RecordingPhase::default(),
            execs_under_way: AtomicUsize::new(0),
            followed: Mutex::default(),
            exec_times: ExecTimes::default(),
            in_charge: InCharge::default(),
            schedule_bytes: AtomicU64::new(0),
            proc_connector: proc_connector.ok(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HookedPrograms> {
        self.hooked.lock().expect("nobody panics with the lock")
    }

    pub(crate) fn into_hooked(self) -> (HookedPrograms, Option<ProcConnector>) {
        (self.hooked.into_inner().expect("nobody panics with the lock"), self.proc_connector)
    }

    /// Listens to process events until the recording ends. `has_changed_user` is called with each process that has.
    pub(crate) fn listen_for_processes(&self, has_changed_user: impl Fn(ProcessId)) {
        while let Some(connector) = self.proc_connector.as_ref().filter(|_| !self.phase.has_ended()) {
            connector.receive(Duration::from_millis(50));
            connector.take_changed_users().into_iter().for_each(&has_changed_user);
            // Each thread that the program makes or ends is an event too: to wake up for each would take a processor from it.
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Notes the processes that were made. If other programs are not followed, only those count that have run none, and
    /// which these are is known in the end.
    pub(crate) fn note_children(&self, follow: bool, is_end: bool) {
        let Some(connector) = self.proc_connector.as_ref().filter(|_| follow || is_end) else { return };
        if is_end {
            connector.receive(Duration::ZERO);
            let gone: Vec<ProcessId> =
                connector.running().into_iter().filter(|pid| ProcessDir::of(*pid).is_gone()).collect();
            connector.receive_exits(&gone);
            if connector.has_lost_events() {
                let limit = "the kernel reported processes faster than ada could listen: some may be missing";
                self.lock().limits.push(limit.to_owned());
            }
        }
        let (elsewhere, children): (Vec<Child>, Vec<Child>) =
            connector.take_new_children().into_iter().partition(|child| connector.runs_untraced_program(child.pid));
        self.note_forks(&children.iter().map(|child| (child.pid, child.parent)).collect());
        let mut hooked = self.lock();
        for Child { pid, parent } in elsewhere.into_iter().filter(|_| follow) {
            // It does not have the command line of who made it any more.
            let known = hooked.processes.entry(pid).or_default();
            known.is_news |= known.parent.is_none();
            known.parent.get_or_insert(parent);
        }
    }

    /// Has no more programs and libraries hooked, and waits for those that are just being.
    pub(crate) fn end_following(&self) {
        self.phase.begin_detaching();
        while self.execs_under_way.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The processes that have the session's memory.
    pub(crate) fn users(&self) -> Vec<ProcessId> {
        self.switches.memfd().map(MemfdId::users).unwrap_or_default()
    }

    /// Whether a process has the session's memory.
    pub(crate) fn is_user(&self, pid: ProcessId) -> bool {
        self.switches.memfd().is_some_and(|memfd| memfd.is_used_by(pid))
    }

    /// Hands over the processes that were followed into other programs.
    pub(crate) fn take_followed(&self, living: &mut LiveProcesses) {
        for (pid, descriptor) in self.followed.lock().expect("nobody panics with the lock").drain(..) {
            living.watch_opened(pid, descriptor);
        }
    }

    /// Notes which programs processes were seen to run: fork children run those of their parents.
    pub(crate) fn note_programs(&self, seen: &HashMap<ProcessId, BTreeSet<ProgramId>>) {
        let mut hooked = self.lock();
        for (pid, programs) in seen {
            hooked.processes.entry(*pid).or_default().programs.extend(programs);
        }
    }

    /// Notes who forked processes: until they run other programs, these have the command lines of those they are forks of.
    pub(crate) fn note_forks(&self, forks: &HashMap<ProcessId, ProcessId>) {
        let mut hooked = self.lock();
        for (&child, &parent) in forks {
            let known = hooked.processes.entry(child).or_default();
            known.is_news |= known.parent != Some(parent);
            known.parent = Some(parent);
        }
        for &child in forks.keys() {
            let line_of = |pid: &ProcessId| hooked.processes.get(pid).map(|known| &known.command_line);
            if line_of(&child).is_some_and(|line| !line.is_empty()) {
                continue;
            }
            // Ids are used again, so that the row of forks may be a circle.
            let ancestors = std::iter::successors(Some(child), |pid| forks.get(pid).copied()).take(forks.len() + 1);
            let line = ancestors.filter_map(|pid| line_of(&pid)).find(|line| !line.is_empty()).cloned();
            if let Some(line) = line {
                hooked.processes.entry(child).or_default().command_line = line;
            }
        }
    }

    /// Takes a hooked program in. The lock must have been held since before it was hooked, so that numbers come here in their
    /// order: whoever knows one knows all below it.
    pub(crate) fn add(&self, hooked: &mut HookedPrograms, pid: ProcessId, program: HookedProgram, facts: ProcessFacts) {
        let HookedProgram { installer, modules, files, no_crashes, limits, .. } = program;
        if let Some(reason) = no_crashes {
            hooked.limits.push(format!("no crash records of process {pid}: {reason}"));
        }
        for limit in limits {
            if !hooked.limits.contains(&limit) {
                hooked.limits.push(limit);
            }
        }
        let id = installer.program;
        self.add_modules(hooked, modules, &installer.known.hot);
        hooked.installers.insert(id, (installer, files));
        let process = hooked.processes.entry(pid).or_default();
        process.programs.insert(id);
        let (programs, forked_in) = (std::mem::take(&mut process.programs), std::mem::take(&mut process.forked_in));
        let waited_for_hooks = process.waited_for_hooks + facts.waited_for_hooks;
        *process = ProcessFacts { programs, forked_in, waited_for_hooks, is_news: true, ..facts };
    }

    /// What is counted because of earlier runs, and was not asked for yet.
    pub(crate) fn take_counted_from_start(&self) -> Vec<FunctionId> {
        std::mem::take(&mut self.counted_from_start.lock().expect("nobody panics with the lock"))
    }

    /// Takes modules in. `hot` is what is to be counted, or has no hooks, because of earlier runs.
    pub(crate) fn add_modules(&self, hooked: &mut HookedPrograms, modules: Vec<Module>, hot: &HotFunctions) {
        for module in modules {
            let mut numbers = self.numbers.write().expect("nobody panics with the lock");
            numbers.add(module.id, module.first_function, module.functions.len());
            drop(numbers);
            let later: Vec<FunctionId> =
                module.captured.later().map(|index| FunctionId::new(module.id, index as u32)).collect();
            self.switches.leave_values_for_later(&later);
            self.switches.note_left_out(module.id);
            if let Some(hot) = hot.of(|| module.file_id()) {
                let counted = self.switches.count_from_start(&switchable_at(&module, hot.counted.iter().copied()));
                self.counted_from_start.lock().expect("nobody panics with the lock").extend(counted);
            }
            hooked.modules.add(module);
        }
    }
}
