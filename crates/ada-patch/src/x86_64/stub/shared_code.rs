//! The code that the stubs of one arena share: the ways into the agent, and what happens at exits.

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_ring::AgentEntries;
use iced_x86::code_asm::{CodeAssembler, CodeLabel};
use iced_x86::{BlockEncoderOptions, IcedError};

use super::agent_call::way_into_agent;
use super::capture::Details;
use super::exit::{self, Called};
use super::external::External;
use super::reads::{self, Keeps, ReadWays};
use super::shared_recorder;
use super::stack_use::{Stack, StackUse};
use super::uncaught::record_entry_only;
use super::words;
use crate::StubOptions;
use crate::x86_64::exits::ExitCode;

/// The shared code at its final address.
pub(crate) struct SharedCode {
    pub(crate) code: Vec<u8>,
    /// Its parts, and how much of the stack each takes.
    pub(crate) parts: Vec<SharedPart>,
    addresses: [RuntimeAddr; EXTERNALS],
}

/// Code that stubs call, or that is jumped to in place of a `ret`.
pub(crate) struct SharedPart {
    pub(crate) at: RuntimeAddr,
    pub(crate) returns: bool,
    pub(crate) stack_use: StackUse,
}

impl SharedCode {
    /// Assembles for address `at`; `table` is where the arena holds its copy of [`AgentEntries`].
    pub(crate) fn new(at: RuntimeAddr, table: RuntimeAddr, options: &StubOptions) -> Result<Self, IcedError> {
        let mut a = CodeAssembler::new(64)?;
        let mut labels: [CodeLabel; EXTERNALS] = std::array::from_fn(|_| a.create_label());
        let entry = |offset: usize| RuntimeAddr(table.0 + offset as u64);
        for (external, offset, into_rcx) in [
            (External::Thread, offset_of!(AgentEntries, thread), false),
            (External::Chunk, offset_of!(AgentEntries, chunk), true),
            (External::Fix, offset_of!(AgentEntries, fix), false),
            (External::StackChange, offset_of!(AgentEntries, stack_change), false),
            (External::Loader, offset_of!(AgentEntries, loader), false),
            (External::ProbeCall, offset_of!(AgentEntries, probe_call), false),
            (External::Handles, offset_of!(AgentEntries, handles), false),
            (External::Exited, offset_of!(AgentEntries, exited), false),
            (External::Exiting, offset_of!(AgentEntries, exiting), false),
            (External::GoesOn, offset_of!(AgentEntries, goes_on), false),
        ] {
            a.set_label(&mut labels[external as usize])?;
            way_into_agent(&mut a, entry(offset), into_rcx, 0)?;
        }
        let details = Details::new(&mut a, table, options)?;
        for external in [External::DetailCall, External::DetailUncaught] {
            a.set_label(&mut labels[external as usize])?;
            match external {
                _ if options.detail.is_none() => a.ud2()?,
                External::DetailUncaught => details.call(&mut a, WORD)?,
                _ => details.call(&mut a, 0)?,
            }
        }
        let registers = details.for_probes();
        a.set_label(&mut labels[External::RegistersCall as usize])?;
        registers.call(&mut a, 0)?;
        let ways_of_reads = ReadWays::new(&mut a, table)?;
        a.set_label(&mut labels[External::ReadsCall as usize])?;
        reads::call(&mut a, &registers, ways_of_reads, Keeps::Nothing)?;
        a.set_label(&mut labels[External::ArgumentsCall as usize])?;
        reads::call(&mut a, &registers, ways_of_reads, Keeps::Arguments)?;
        a.set_label(&mut labels[External::WordsCall as usize])?;
        words::call(&mut a, &registers, ways_of_reads.agent)?;
        a.set_label(&mut labels[External::ReadsReturn as usize])?;
        reads::back(&mut a, &registers, ways_of_reads)?;
        let [chunk, exited, exiting, goes_on] =
            [External::Chunk, External::Exited, External::Exiting, External::GoesOn].map(|it| labels[it as usize]);
        let [uncaught, result] = [External::DetailUncaught, External::ReadsReturn].map(|it| labels[it as usize]);
        a.set_label(&mut labels[External::RecordEntryOnly as usize])?;
        record_entry_only(&mut a, chunk, uncaught, options)?;
        let way_to_fix = shared_recorder::way_to_fix(&mut a, table)?;
        a.set_label(&mut labels[External::RecordCall as usize])?;
        shared_recorder::record_call(&mut a, [chunk, way_to_fix], &details, options)?;
        a.set_label(&mut labels[External::Returns as usize])?;
        exit::returns(&mut a, &Called { chunk, agent: exited, details, result }, options)?;
        a.set_label(&mut labels[External::BeforeReturn as usize])?;
        exit::before_return(&mut a, exiting, options)?;
        a.set_label(&mut labels[External::BeforeTail as usize])?;
        exit::before_tail(&mut a, chunk, goes_on, options)?;
        let assembled = a.assemble_options(at.0, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
        let mut addresses = [RuntimeAddr(0); EXTERNALS];
        for (address, label) in addresses.iter_mut().zip(&labels) {
            *address = RuntimeAddr(assembled.label_ip(label)?);
        }
        let mut ways = Vec::new();
        for way in details.ways().chain([ways_of_reads.agent, ways_of_reads.kernel, way_to_fix]) {
            ways.push(RuntimeAddr(assembled.label_ip(&way)?));
        }
        let code = assembled.inner.code_buffer;
        let mut starts: Vec<RuntimeAddr> = addresses.into_iter().chain(ways).collect();
        starts.sort_unstable();
        let ends = starts[1..].iter().map(|next| (next.0 - at.0) as usize).chain([code.len()]);
        let part = |(start, end): (&RuntimeAddr, usize)| SharedPart {
            at: *start,
            returns: *start == addresses[External::Returns as usize],
            stack_use: StackUse::of(&code[(start.0 - at.0) as usize..end], &[(0, Stack::default())]),
        };
        let parts = starts.iter().zip(ends).map(part).collect();
        Ok(Self { code, parts, addresses })
    }

    /// Where exits are recorded.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode {
            returns: self.address(External::Returns),
            before_return: self.address(External::BeforeReturn),
            before_tail: self.address(External::BeforeTail),
        }
    }

    pub(crate) fn address(&self, external: External) -> RuntimeAddr {
        self.addresses[external as usize]
    }
}

/// How much further up a call's return slot is for code that is called by what the stub calls.
const WORD: i32 = 8;

/// How many externals are code.
const EXTERNALS: usize = External::Switch as usize;
