//! The stub that a patched function jumps to: one template per kind, copied and fixed up for each function.
//!
//! On entry the stack is as the caller left it; the stub saves what it needs below:
//!
//! ```text
//! rsp+32  return slot        <- copied to the shadow stack, and left alone
//! rsp+24  rax
//! rsp+16  rcx
//! rsp+8   rdx
//! rsp+0   flags, as lahf and seto leave them in rax
//! ```
//!
//! A switch per function says whether this happens at all. It is a word of the arena, changed from outside while the
//! program runs: 0 for the whole of it; otherwise the call is only counted, and the word says where the function's
//! counter is in the thread's block of them. That way is the shortest there is: one register, no flags where the function
//! does not look at them (see [`super::flags`]), nothing that another thread writes. It lies right before the displaced
//! instructions and close to those of its neighbours, because with calls every few nanoseconds the processor's caches
//! for instructions, branches and pages are what it costs most.
//!
//! Every register and flag is as it was when the function itself runs: with inter-procedural register allocation (gcc's
//! `-fipa-ra`, part of `-O2`), callers rely on r8 to r11, rsi and rdi surviving the call of a function that does not use
//! them; most programs break where a stub changes one. The function's exits have patches of their own: see [`exit`].
//!
//! A signal can arrive between any two instructions, and its handler may never come back. The handler's own events use
//! the same thread state: hence the position is advanced by one `xadd`, a frame is complete before the top is moved
//! over it, and the record's time stamp is stored last.

mod agent_call;
mod capture;
mod copies;
mod entry;
mod exit;
mod external;
mod frame;
mod guard;
mod open_calls;
mod reads;
mod record;
mod saved;
mod shared_code;
mod shared_recorder;
mod stack_need;
mod stack_use;
mod switch;
mod template;
mod thread_state;
mod uncaught;
mod words;

pub(crate) use external::External;
pub(crate) use shared_code::SharedCode;
pub(crate) use stack_need::stub_bytes;

use ada_event::RuntimeAddr;
use iced_x86::code_asm::CodeAssembler;
use iced_x86::{BlockEncoderOptions, IcedError, Register};

use crate::{StubKind, StubOptions};
use entry::{Ways, loader_stub, plain_recorder, recorder};
use external::TEMPLATE_IP;
pub(crate) use stack_use::StackUse;
use stack_use::{Stack, Word};
use switch::counting_way;
use template::Template;

/// The two parts of a stub.
pub(crate) struct StubTemplate {
    /// Counts the call, or leaves for the recorder. Right in front of the displaced instructions; nothing for a
    /// function whose return is not caught.
    pub(crate) counter: Template,
    /// Records the call.
    pub(crate) recorder: Template,
    /// What each part has on the stack.
    pub(crate) stack_use: [StackUse; 2],
    /// Where in the recorder it goes on, by way.
    no_state: usize,
    recording: usize,
}

impl StubTemplate {
    /// `keeps_flags` where the function may look at the flags that its caller has left.
    pub(crate) fn new(kind: StubKind, keeps_flags: bool, options: &StubOptions) -> Result<Self, IcedError> {
        let mut a = CodeAssembler::new(64)?;
        let mut ways = Ways { no_state: a.create_label(), recording: a.create_label() };
        match kind {
            StubKind::Loader => loader_stub(&mut a, &mut ways)?,
            StubKind::Full => plain_recorder(&mut a, &mut ways, keeps_flags)?,
            _ => recorder(&mut a, &mut ways, kind, keeps_flags, options)?,
        }
        let assembled = a.assemble_options(TEMPLATE_IP, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
        let offset = |label| Ok::<_, IcedError>((assembled.label_ip(label)? - TEMPLATE_IP) as usize);
        let (no_state, recording) = (offset(&ways.no_state)?, offset(&ways.recording)?);
        let mut counter = CodeAssembler::new(64)?;
        if kind.catches_return() {
            counting_way(&mut counter, kind, keeps_flags, options)?;
        }
        let counter = counter.assemble(TEMPLATE_IP)?;
        // What counts leads to both ways; else the second one is the recorder's own.
        let (ways, pushed): (usize, &[Register]) = match (kind.catches_return(), keeps_flags) {
            (false, _) => (1, &[]),
            (true, true) => (2, &[Register::RAX, Register::RCX]),
            (true, false) => (2, &[Register::RAX]),
        };
        let pushed = pushed.iter().map(|register| Word::Register(*register)).collect();
        let stack = Stack { pushed, flags_in_rax: ways == 2 && keeps_flags, ..Stack::default() };
        let recorder = assembled.inner.code_buffer;
        Ok(Self {
            stack_use: [
                StackUse::of(&counter, &[(0, Stack::default())]),
                StackUse::of(&recorder, &[(recording, stack.clone()), (no_state, stack)][..ways]),
            ],
            counter: Template::with_holes(counter),
            recorder: Template::with_holes(recorder),
            no_state,
            recording,
        })
    }

    /// Where a stub whose recorder is at `recorder` has what an external stands for.
    pub(crate) fn address_in_recorder(&self, external: External, recorder: RuntimeAddr) -> Option<RuntimeAddr> {
        match external {
            External::NoState => Some(RuntimeAddr(recorder.0 + self.no_state as u64)),
            External::Recording => Some(RuntimeAddr(recorder.0 + self.recording as u64)),
            _ => None,
        }
    }

    /// Where the function's jump leads.
    pub(crate) fn entry(&self, counter: RuntimeAddr, recorder: RuntimeAddr) -> RuntimeAddr {
        if self.counter.code.is_empty() { RuntimeAddr(recorder.0 + self.recording as u64) } else { counter }
    }
}
