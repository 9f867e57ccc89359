//! Calls that report tasks and blocks, with what their probes read.

use std::collections::HashMap;

use ada_event::{EventSeq, FunctionId, TraceNanos};

use super::text::{LABEL_WORDS, Text};
use crate::NONE;
use crate::code_map::CodeMap;
use crate::detail::EventDetail;
use crate::outcome::{Outcome, Reason};
use crate::replay::{Closed, Opened};
use crate::role::{GcdCall, GoCall, Role, SwiftCall};
use crate::thread_index::ThreadIndex;

/// Words of a goroutine, of which one is its status, and the next its number.
pub(crate) type Head = [u64; 3];

/// One call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogicalCall {
    /// The thread.
    pub(crate) thread: ThreadIndex,
    pub(crate) depth: u32,
    pub(crate) seq: EventSeq,
    pub(crate) time: TraceNanos,
    /// None where its end was not seen.
    pub(crate) end: Option<TraceNanos>,
    /// None where no event ended it.
    pub(crate) close_seq: Option<EventSeq>,
    pub(crate) role: Role,
    pub(crate) outcome: Outcome,
    pub(crate) function: FunctionId,
    /// Of a task or block that begins to run: the first function of the program's own that is called then.
    pub(crate) leads_to: Option<FunctionId>,
    /// The first four arguments; [`NONE`] where registers are not known.
    pub(crate) arguments: [u64; 4],
    pub(crate) result: u64,
    /// What was read from memory, by the role.
    pub(crate) words: Words,
    /// The number of a text: a queue's label, or the type of an error or an actor.
    pub(crate) label: Option<u32>,
}

/// What a probe read. What was not read is [`NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Nothing,
    /// A task's flags and id, where it goes on and with what, and its status.
    Task {
        head: u64,
        context: u64,
        status: u64,
    },
    /// A new task's function, flags and id, and the function that will complete it.
    New {
        entry: u64,
        head: u64,
        completion: u64,
    },
    /// Of a task that ends: the error that it has thrown, or 0.
    Ended {
        error: u64,
    },
    /// Of a continuation: the function that awaits it, and the one that awaits that.
    Continuation {
        resume: u64,
        caller: u64,
    },
    /// A block's function, what it captured first, the block that it wraps, and its group.
    Block {
        invoke: u64,
        captured: u64,
        wrapped: u64,
        group: u64,
    },
    /// Of a goroutine: its status and number, what it waits for, and where in the program that is.
    Goroutine {
        head: Head,
        key: u64,
        site: u64,
    },
    /// Of a new one: its function.
    NewGoroutine {
        entry: u64,
        head: Head,
    },
}

/// The calls of a worker's threads.
#[derive(Default)]
pub(crate) struct LogicalCalls {
    pub(crate) calls: Vec<LogicalCall>,
    pub(crate) labels: Vec<Text>,
    numbers: HashMap<Text, u32>,
    /// Those that have not returned, oldest first: indexes in `calls`, and the opening events of what they are in.
    open: Vec<(usize, EventSeq)>,
    /// One that has just ended by jumping to the next call, and its depth.
    jumped: Option<(usize, u32)>,
    /// Those that lead to a function that is still to come: several, where one has jumped to the other.
    leading: Vec<usize>,
}

impl LogicalCalls {
    pub(crate) fn begin_thread(&mut self) {
        self.open.clear();
        self.jumped = None;
        self.leading.clear();
    }

    /// Whether the next call is of interest, whatever it is.
    #[inline]
    pub(crate) fn wants_next(&self) -> bool {
        self.jumped.is_some() || !self.leading.is_empty()
    }

    /// A call that is of interest only for what came before.
    pub(crate) fn next(&mut self, opened: &Opened, function: FunctionId, is_own: bool) {
        // A block whose last call is a jump ends when that call does.
        if let Some((index, _)) = self.jumped.take().filter(|&(_, depth)| depth == opened.depth && opened.is_frame) {
            self.open.push((index, opened.seq));
        }
        if is_own {
            self.leading.drain(..).for_each(|index| self.calls[index].leads_to = Some(function));
        }
    }

    #[inline]
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(crate) fn open(
        &mut self,
        thread: ThreadIndex,
        opened: &Opened,
        function: FunctionId,
        detail: Option<&EventDetail>,
        code: &CodeMap,
    ) {
        let mut call = LogicalCall {
            thread,
            depth: opened.depth,
            seq: opened.seq,
            time: opened.start,
            end: None,
            close_seq: None,
            role: opened.role,
            outcome: Outcome::default(),
            function,
            leads_to: None,
            arguments: [NONE; 4],
            result: NONE,
            words: Words::Nothing,
            label: None,
        };
        if let Some(detail) = detail {
            call.arguments.copy_from_slice(&detail.registers[..4]);
            let words = &detail.words[..];
            call.words = words_of_call(opened.role, &detail.registers, words, code);
            call.label = text_of_call(opened.role, words).map(|text| self.number_of(text));
        }
        let was_jumped_to = self.open.last().is_some_and(|(_, seq)| *seq == opened.seq);
        // Goroutines change threads in the midst of most of the others.
        let may_end_elsewhere = matches!(opened.role, Role::Go(go) if go != GoCall::Create);
        if opened.is_frame && !may_end_elsewhere {
            self.open.push((self.calls.len(), opened.seq));
        }
        match opened.role {
            Role::Swift(SwiftCall::Enter) | Role::Gcd(GcdCall::Invoke | GcdCall::InvokeShared) => {
                if !was_jumped_to {
                    self.leading.clear();
                }
                self.leading.push(self.calls.len());
            }
            Role::Swift(SwiftCall::Exit) => self.leading.clear(),
            _ => (),
        }
        if !opened.is_frame && matches!(opened.role, Role::Gcd(GcdCall::Invoke | GcdCall::InvokeShared)) {
            // Its return cannot be caught: it is taken to end when the first function that it calls does.
            self.jumped = Some((self.calls.len(), opened.depth));
        }
        self.calls.push(call);
    }

    pub(crate) fn close(&mut self, closed: &Closed, detail: impl FnOnce() -> Option<EventDetail>) {
        if self.open.last().is_none_or(|(_, seq)| *seq != closed.seq) {
            return;
        }
        let detail = detail();
        // Several, where one has jumped to the other.
        while let Some((index, _)) = self.open.pop_if(|(_, seq)| *seq == closed.seq) {
            let call = &mut self.calls[index];
            if closed.outcome.reason == Reason::TailCall {
                self.jumped = Some((index, closed.depth));
            }
            // A thunk whose last call is a jump leads to what it jumps to.
            let is_over = closed.outcome.reason != Reason::TailCall;
            if is_over && call.role != Role::Swift(SwiftCall::Enter) {
                self.leading.retain(|it| *it != index);
            }
            call.end = Some(closed.end());
            call.close_seq = closed.close_seq;
            call.outcome = closed.outcome;
            if let Some(detail) = &detail {
                call.result = detail.registers[0];
                call.words = words_of_return(call.role, call.words, &detail.words);
            }
        }
    }

    fn number_of(&mut self, label: Text) -> u32 {
        if let Some(&known) = self.numbers.get(&label) {
            return known;
        }
        let next = self.labels.len() as u32;
        self.labels.push(label.clone());
        self.numbers.insert(label, next);
        next
    }
}

/// The text that a call's probe has read.
fn text_of_call(role: Role, words: &[u64]) -> Option<Text> {
    match role {
        Role::Gcd(GcdCall::Submit(_) | GcdCall::SourceCreate) => Text::beginning(words),
        Role::Gcd(GcdCall::QueueCreate | GcdCall::QueueCreateOn) => Text::label(words),
        // Behind the error and its type's metadata.
        Role::Swift(SwiftCall::Complete | SwiftCall::ErrorInMain) => {
            words.get(2..).filter(|_| words[0] != 0).and_then(Text::counted)
        }
        Role::Swift(SwiftCall::ActorMade) => words.get(1..).and_then(Text::counted),
        _ => None,
    }
}

fn at(words: &[u64], index: usize) -> u64 {
    words.get(index).copied().unwrap_or(NONE)
}

fn words_of_call(role: Role, registers: &[u64; 6], words: &[u64], code: &CodeMap) -> Words {
    match role {
        Role::Go(GoCall::Create) => Words::NewGoroutine { entry: at(words, 0), head: [NONE; 3] },
        Role::Go(go) => goroutine(go, words, code),
        Role::Swift(SwiftCall::Create) => {
            // The descriptor's first half word is the distance from it to the function.
            let distance = at(words, 0);
            let entry =
                if distance == NONE { NONE } else { registers[3].wrapping_add_signed((distance as i32).into()) };
            Words::New { entry, head: NONE, completion: NONE }
        }
        Role::Swift(SwiftCall::CreateInside) => Words::New { entry: registers[3], head: NONE, completion: NONE },
        Role::Swift(SwiftCall::ContinuationAwait) => Words::Continuation { resume: at(words, 0), caller: at(words, 1) },
        Role::Swift(SwiftCall::Complete | SwiftCall::ErrorInMain) => match at(words, 0) {
            NONE => Words::Nothing,
            error => Words::Ended { error },
        },
        Role::Swift(SwiftCall::ActorMade | SwiftCall::TakeOver) => Words::Nothing,
        Role::Swift(_) => task(words),
        Role::Gcd(GcdCall::Submit(submit)) if !submit.is_function => Words::Block {
            invoke: at(words, LABEL_WORDS),
            captured: at(words, LABEL_WORDS + 2),
            wrapped: at(words, LABEL_WORDS + 3),
            group: at(words, LABEL_WORDS + 4),
        },
        Role::Gcd(GcdCall::BlockCopy) => {
            Words::Block { invoke: at(words, 0), captured: at(words, 2), wrapped: NONE, group: NONE }
        }
        _ => Words::Nothing,
    }
}

fn goroutine(go: GoCall, words: &[u64], code: &CodeMap) -> Words {
    let Some((&head, more)) = words.split_first_chunk() else { return Words::Nothing };
    match more.split_first() {
        Some((&key, callers)) if go == GoCall::Park => {
            Words::Goroutine { head, key, site: code.first_of_program(callers).unwrap_or(NONE) }
        }
        _ => Words::Goroutine { head, key: NONE, site: NONE },
    }
}

fn task(words: &[u64]) -> Words {
    match words.first() {
        None | Some(&NONE) => Words::Nothing,
        // The words from a task's flags on: the resume context is the fifth, the status the ninth.
        Some(&head) => Words::Task { head, context: at(words, 4), status: at(words, 8) },
    }
}

fn words_of_return(role: Role, known: Words, words: &[u64]) -> Words {
    match (role, known) {
        (Role::Swift(SwiftCall::Create | SwiftCall::CreateInside), Words::New { entry, .. }) => {
            Words::New { entry, head: at(words, 0), completion: at(words, 9) }
        }
        (Role::Swift(SwiftCall::ContinuationInit), _) => task(words),
        (_, Words::NewGoroutine { entry, .. }) => {
            Words::NewGoroutine { entry, head: words.first_chunk().copied().unwrap_or([NONE; 3]) }
        }
        (Role::Gcd(GcdCall::BlockWrap), _) => {
            Words::Block { invoke: at(words, 0), captured: at(words, 2), wrapped: at(words, 3), group: at(words, 4) }
        }
        _ => known,
    }
}

#[cfg(test)]
impl LogicalCall {
    /// A call of which nothing else is known; its event has the number of its time.
    pub(crate) fn at(role: Role, thread: u32, time: u64) -> Self {
        Self {
            thread: ThreadIndex(thread),
            depth: 0,
            seq: EventSeq(time),
            time: TraceNanos(time),
            end: None,
            close_seq: None,
            role,
            outcome: Outcome::default(),
            function: FunctionId(0),
            leads_to: None,
            arguments: [NONE; 4],
            result: NONE,
            words: Words::Nothing,
            label: None,
        }
    }
}
