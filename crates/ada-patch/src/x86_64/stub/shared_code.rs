//! The code that the stubs of one arena share: the ways into the agent, and what happens at exits.

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_ring::AgentEntries;
use iced_x86::code_asm::{CodeAssembler, CodeLabel};
use iced_x86::{BlockEncoderOptions, IcedError};

use super::agent_call::way_into_agent;
use super::capture::Details;
use super::depths::depths;
use super::exit;
use super::external::External;
use super::uncaught::record_entry_only;
use crate::StubOptions;
use crate::x86_64::exits::ExitCode;

/// The shared code at its final address.
pub(crate) struct SharedCode {
    pub(crate) code: Vec<u8>,
    /// What stubs call: from where to where it reaches, and how much of the stack it takes.
    pub(crate) called: Vec<CalledCode>,
    addresses: [RuntimeAddr; EXTERNALS],
}

/// Code that stubs call.
pub(crate) struct CalledCode {
    pub(crate) at: RuntimeAddr,
    pub(crate) depths: Vec<(u16, Option<u32>)>,
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
        ] {
            a.set_label(&mut labels[external as usize])?;
            way_into_agent(&mut a, entry(offset), into_rcx)?;
        }
        let chunk = labels[External::Chunk as usize];
        let details = Details::new(&mut a, table, options)?;
        a.set_label(&mut labels[External::DetailCall as usize])?;
        match options.detail {
            Some(shape) => details.call(&mut a, 0, &shape)?,
            None => a.ud2()?,
        }
        a.set_label(&mut labels[External::RecordEntryOnly as usize])?;
        record_entry_only(&mut a, chunk, &details, options)?;
        a.set_label(&mut labels[External::Returns as usize])?;
        exit::returns(&mut a, chunk, entry(offset_of!(AgentEntries, exited)), &details, options)?;
        a.set_label(&mut labels[External::BeforeReturn as usize])?;
        exit::before_return(&mut a, entry(offset_of!(AgentEntries, exiting)), options)?;
        a.set_label(&mut labels[External::BeforeTail as usize])?;
        exit::before_tail(&mut a, chunk, entry(offset_of!(AgentEntries, goes_on)), options)?;
        let assembled = a.assemble_options(at.0, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
        let mut addresses = [RuntimeAddr(0); EXTERNALS];
        for (address, label) in addresses.iter_mut().zip(&labels) {
            *address = RuntimeAddr(assembled.label_ip(label)?);
        }
        let [detail_chunk, detail_stack] = details.ways().map(|way| assembled.label_ip(&way));
        let ways = [RuntimeAddr(detail_chunk?), RuntimeAddr(detail_stack?)];
        let code = assembled.inner.code_buffer;
        let called = |start: RuntimeAddr| {
            let end = addresses.iter().chain(&ways).map(|other| other.0).filter(|other| *other > start.0).min();
            let end = end.map_or(code.len(), |end| (end - at.0) as usize);
            CalledCode { at: start, depths: depths(&code[(start.0 - at.0) as usize..end], &[(0, 0)]) }
        };
        let externals = CALLED.map(|external| addresses[external as usize]);
        let mut called: Vec<CalledCode> = externals.into_iter().chain(ways).map(called).collect();
        called.sort_by_key(|it| it.at);
        Ok(Self { code, called, addresses })
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

/// What recorders call, beside the ways that captures need.
const CALLED: [External; 7] = [
    External::Thread,
    External::Chunk,
    External::Fix,
    External::StackChange,
    External::RecordEntryOnly,
    External::DetailCall,
    External::ProbeCall,
];

/// How many externals are code.
const EXTERNALS: usize = External::Switch as usize;
