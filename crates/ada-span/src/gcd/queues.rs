//! The queues and groups of a process. Their addresses are used again: each means the newest that has it.

use std::collections::HashMap;

use ada_event::{RuntimeAddr, TraceNanos};

use super::{GroupEntry, QueueEntry};
use crate::NONE;
use crate::concurrency::{Losses, Text};
use crate::text_table::TextTable;

#[derive(Default)]
pub(crate) struct Queues {
    pub(crate) queues: Vec<QueueEntry>,
    /// Their labels, as far as they are known.
    labels: Vec<Option<Text>>,
    by_address: HashMap<RuntimeAddr, u32>,
    pub(crate) groups: Vec<GroupEntry>,
    groups_by_address: HashMap<RuntimeAddr, u32>,
    /// libdispatch has one attribute for each combination of properties, at an address of its own.
    qos_of_attributes: HashMap<u64, u64>,
    /// The queues on which sources run their handlers, by the sources' addresses.
    sources: HashMap<u64, (RuntimeAddr, Option<Text>)>,
}

impl Queues {
    /// An attribute of queues was made, with a quality of service.
    pub(crate) fn attribute(&mut self, address: u64, qos: u64) {
        self.qos_of_attributes.insert(address, qos);
    }

    /// A queue was made with an attribute.
    pub(crate) fn create(
        &mut self,
        address: RuntimeAddr,
        label: Option<&Text>,
        attribute: u64,
        target: RuntimeAddr,
        time: TraceNanos,
    ) {
        if !is_known(address) {
            return;
        }
        let target = self.by_address.get(&target).map_or(NONE, |&index| index.into());
        self.by_address.insert(address, self.queues.len() as u32);
        let qos = self.qos_of_attributes.get(&attribute).copied().unwrap_or(NONE);
        self.queues.push(QueueEntry { target, qos, create_time: Some(time), ..entry(address) });
        self.labels.push(label.cloned());
    }

    /// A queue was put on top of another.
    pub(crate) fn set_target(&mut self, address: RuntimeAddr, target: RuntimeAddr) {
        let target = self.by_address.get(&target).copied();
        if let (Some(&queue), Some(target)) = (self.by_address.get(&address), target) {
            self.queues[queue as usize].target = target.into();
        }
    }

    /// The index of the queue at an address that work is submitted to.
    pub(crate) fn find_or_add(&mut self, address: RuntimeAddr, label: Option<&Text>) -> Option<u32> {
        if !is_known(address) {
            return None;
        }
        let known = self.by_address.get(&address).copied();
        // A queue that was released, and another with its address whose creation was not seen.
        let is_same = |index: u32| match (&self.labels[index as usize], label) {
            (Some(known), Some(label)) => known.may_be(label),
            _ => true,
        };
        if let Some(index) = known.filter(|&index| is_same(index)) {
            let known = &mut self.labels[index as usize];
            if known.is_none() {
                *known = label.cloned();
            }
            return Some(index);
        }
        let index = self.queues.len() as u32;
        self.by_address.insert(address, index);
        self.queues.push(entry(address));
        self.labels.push(label.cloned());
        Some(index)
    }

    /// The tables of queues and groups.
    pub(crate) fn finish(mut self, losses: &Losses, texts: &mut TextTable) -> (Vec<QueueEntry>, Vec<GroupEntry>) {
        for (queue, mut label) in self.queues.iter_mut().zip(self.labels) {
            // The creation of another with its address may be missing, of which submissions tell the beginning alone.
            if let Some(label) = label.as_mut().filter(|_| queue.create_time.is_some_and(|made| losses.since(made))) {
                label.shorten();
            }
            queue.label = texts.number_if(label.as_ref().map(Text::shown).as_deref());
            queue.is_label_cut = label.is_some_and(|label| label.is_cut).into();
        }
        (self.queues, self.groups)
    }

    /// A source was made on a queue.
    pub(crate) fn source_created(&mut self, source: u64, queue: RuntimeAddr, label: Option<&Text>) {
        self.sources.insert(source, (queue, label.cloned()));
    }

    /// The queue of a source.
    pub(crate) fn of_source(&mut self, source: u64) -> Option<u32> {
        let (queue, label) = self.sources.get(&source).cloned()?;
        self.find_or_add(queue, label.as_ref())
    }

    pub(crate) fn group_created(&mut self, address: RuntimeAddr, time: TraceNanos) {
        if is_known(address) {
            self.groups_by_address.insert(address, self.groups.len() as u32);
            self.groups.push(GroupEntry { create_time: Some(time), ..group(address) });
        }
    }

    /// The index of the group at an address.
    pub(crate) fn group(&mut self, address: RuntimeAddr) -> Option<u32> {
        if !is_known(address) {
            return None;
        }
        let next = self.groups.len() as u32;
        let index = *self.groups_by_address.entry(address).or_insert(next);
        if index == next {
            self.groups.push(group(address));
        }
        Some(index)
    }
}

/// Whether it is the address of something: registers may not be recorded, and a pointer may be null.
fn is_known(address: RuntimeAddr) -> bool {
    address.0 != NONE && address.0 != 0
}

fn entry(address: RuntimeAddr) -> QueueEntry {
    QueueEntry { address, swift_jobs: 0, is_label_cut: 0, ..QueueEntry::default() }
}

fn group(address: RuntimeAddr) -> GroupEntry {
    GroupEntry {
        address,
        create_time: None,
        enters: 0,
        leaves: 0,
        blocks: 0,
        notifies: 0,
        waits: 0,
        wait_ns: 0,
        is_cut: 0,
    }
}
