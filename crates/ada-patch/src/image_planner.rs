//! All functions of an image, planned together: their entries first, and then their exits, which take the room that remains.

use std::collections::HashSet;

use crate::exits::{ExitPlan, ExitPlanner, Follower, FunctionExits, Neighbours, Patience};
use crate::image_code::ImageCode;
use crate::{EntryOnlyReason, PatchPlan, Planner, SkipReason, StubKind, Verdict};

/// How an image's functions are hooked.
#[derive(Clone, Debug, Default)]
pub struct PlannedFunctions {
    /// By function number.
    pub verdicts: Vec<Verdict>,
    /// The plans, by function number; none for skipped ones.
    pub plans: Vec<(usize, PatchPlan)>,
    /// Their exits: an entry for each function that is left at one, those of one exit in a row.
    pub exits: Vec<ExitPlan>,
}

impl PlannedFunctions {
    /// Plans every function.
    pub fn of(code: ImageCode<'_>) -> Self {
        let mut planner = Planner::new(code);
        let mut planned = Self::default();
        for index in 0..code.functions.len() {
            let (verdict, plan) = planner.plan(index);
            planned.verdicts.push(verdict);
            planned.plans.extend(plan.map(|plan| (index, plan)));
        }
        planned.plan_exits(&planner);
        planned
    }

    /// Gives up functions that turn out to be parts of others.
    fn leave_alone(&mut self, parts: &[usize]) {
        for &part in parts {
            self.verdicts[part] = Verdict::Skipped(SkipReason::ColdPart);
        }
        self.plans.retain(|(index, _)| !matches!(self.verdicts[*index], Verdict::Skipped(_)));
    }

    fn plan_exits(&mut self, entries: &Planner<'_>) {
        let code = entries.code;
        let is_part =
            |verdict: &Verdict| matches!(verdict, Verdict::Skipped(SkipReason::ColdPart | SkipReason::OddFirstRow));
        let is_hooked = |verdict: &Verdict| *verdict == Verdict::Hooked;
        let follower = |is_part| Follower { code, is_part, patience: Patience::for_code(code.ranges) };
        let known_parts: Vec<bool> = self.verdicts.iter().map(is_part).collect();
        let known_hooked: Vec<bool> = self.verdicts.iter().map(is_hooked).collect();
        let neighbours = Neighbours::of(&follower(&known_parts), &known_hooked);
        self.leave_alone(&neighbours.parts);
        let parts: Vec<bool> = self.verdicts.iter().map(is_part).collect();
        let hooked: Vec<bool> = self.verdicts.iter().map(is_hooked).collect();
        let mut planner = ExitPlanner::new(follower(&parts), &neighbours, self.plans.iter().map(|(_, plan)| plan));
        let mut planned: Vec<Option<FunctionExits>> = Vec::with_capacity(self.plans.len());
        let entry = |plan: &PatchPlan| plan.at.0..plan.at.0 + plan.displaced.bytes().len() as u64;
        for (index, plan) in &self.plans {
            planned.push(hooked[*index].then(|| planner.plan(*index, entry(plan), plan.starts_own_loop)));
        }
        planner.ask_neighbours();
        let mut used = Vec::new();
        for ((index, plan), exits) in self.plans.iter_mut().zip(planned) {
            let Some(mut exits) = exits else { continue };
            if exits.missed > 0 {
                exits = planner.plan(*index, entry(plan), plan.starts_own_loop);
            }
            self.verdicts[*index] = settle(*index, plan, exits, &mut used);
        }
        // All others have their room: now the code of some gives way for entries that have too little.
        for index in 0..self.verdicts.len() {
            let has_no_room =
                matches!(self.verdicts[index], Verdict::Skipped(SkipReason::TooShort | SkipReason::BranchIntoPatch));
            let Some(mut plan) = entries.plan_short(index).filter(|_| has_no_room) else { continue };
            plan.relay = planner.relay_for_entry(index, &entry(&plan));
            if plan.relay.is_some() {
                let exits = planner.plan(index, entry(&plan), false);
                self.verdicts[index] = settle(index, &mut plan, exits, &mut used);
                self.plans.push((index, plan));
            }
        }
        self.plans.retain(|(index, _)| !matches!(self.verdicts[*index], Verdict::Skipped(_)));
        self.plans.sort_by_key(|(index, _)| *index);
        used.sort_unstable();
        let all = planner.into_plans();
        let loops: HashSet<u32> =
            self.plans.iter().filter(|(_, plan)| plan.starts_own_loop).map(|(index, _)| *index as u32).collect();
        for users in used.chunk_by(|one, other| one.0 == other.0) {
            // What leads a loop past the hook stays, whatever becomes of the function's exits.
            let is_shared = users.len() > 1 || users.iter().any(|(_, function)| loops.contains(function));
            let exit = |&(exit, function): &(u32, u32)| ExitPlan { function, is_shared, ..all[exit as usize] };
            self.exits.extend(users.iter().map(exit));
        }
    }
}

/// What is hooked of a function whose exits were planned; notes which of them it uses.
fn settle(index: usize, plan: &mut PatchPlan, mut exits: FunctionExits, used: &mut Vec<(u32, u32)>) -> Verdict {
    if !exits.are_complete() {
        if plan.starts_own_loop {
            return Verdict::Skipped(SkipReason::OwnEntryLoop);
        }
        plan.kind = StubKind::EntryOnly;
        return Verdict::EntryOnly(EntryOnlyReason::UnseenExits);
    }
    plan.leaving = exits.at_entry;
    exits.caught.sort_unstable();
    exits.caught.dedup();
    used.extend(exits.caught.into_iter().map(|exit| (exit, index as u32)));
    Verdict::Hooked
}
