//! Whose records of the whole machine are wanted: those of a process and of all that it and its children make.

use std::collections::HashSet;

use ada_event::{ProcessId, ScheduleRecord};

pub(super) struct Family {
    members: HashSet<ProcessId>,
    /// Of processes that were not known when the processors were last read. That one was made is told by the processor of its
    /// maker, and may come a little later than what another processor tells of it.
    strangers: Vec<(ProcessId, ScheduleRecord)>,
}

impl Family {
    pub(super) fn of(pid: ProcessId) -> Self {
        Self { members: HashSet::from([pid]), strangers: Vec::new() }
    }

    /// One process has made another one. Its number may have been that of a member.
    pub(super) fn made(&mut self, pid: ProcessId, by: ProcessId) {
        match self.members.contains(&by) {
            true => self.members.insert(pid),
            false => self.members.remove(&pid),
        };
    }

    /// Gives the members' records and what concerns all, each processor's in its order, and keeps the others until the next time.
    pub(super) fn sort_out(
        &mut self,
        new: impl Iterator<Item = (Option<ProcessId>, ScheduleRecord)>,
        mut give: impl FnMut(Option<ProcessId>, ScheduleRecord),
    ) {
        let Self { members, strangers } = self;
        for (pid, record) in strangers.drain(..).filter(|(pid, _)| members.contains(pid)) {
            give(Some(pid), record);
        }
        for (pid, record) in new {
            match pid {
                Some(pid) if !members.contains(&pid) => strangers.push((pid, record)),
                pid => give(pid, record),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::TraceNanos;

    fn given(family: &mut Family, new: &[(u32, u64)]) -> Vec<(u32, u64)> {
        let record = |time| ScheduleRecord { time: TraceNanos(time), ..ScheduleRecord::default() };
        let mut given = Vec::new();
        let new = new.iter().map(|(pid, time)| (Some(ProcessId(*pid)), record(*time)));
        family.sort_out(new, |pid, record| given.push((pid.map_or(0, |it| it.0), record.time.0)));
        given
    }

    #[test]
    fn a_child_that_is_seen_before_it_is_known_loses_nothing() {
        let mut family = Family::of(ProcessId(1));
        assert_eq!(given(&mut family, &[(1, 10), (2, 11), (3, 12)]), [(1, 10)]);
        family.made(ProcessId(2), ProcessId(1));
        assert_eq!(given(&mut family, &[(2, 13)]), [(2, 11), (2, 13)]);
        assert_eq!(given(&mut family, &[(3, 14)]), []);
    }

    #[test]
    fn a_strangers_child_may_have_a_members_number() {
        let mut family = Family::of(ProcessId(1));
        family.made(ProcessId(2), ProcessId(1));
        family.made(ProcessId(3), ProcessId(2));
        assert_eq!(given(&mut family, &[(3, 1)]), [(3, 1)]);
        family.made(ProcessId(3), ProcessId(9));
        assert_eq!(given(&mut family, &[(3, 2), (2, 3)]), [(2, 3)]);
    }
}
