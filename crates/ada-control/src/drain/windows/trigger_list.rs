//! The triggers of a recording, which can be changed while it runs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::roll::Roll;
use crate::trigger::Trigger;

/// The triggers of a recording, and how far windows reach. Changed from outside while the drain goes by them.
pub(crate) struct TriggerList {
    triggers: Mutex<Vec<Trigger>>,
    generation: AtomicU64,
    /// The generation that the drain goes by.
    applied: AtomicU64,
    pub(crate) pre_roll: Roll,
    pub(crate) post_roll: Roll,
}

impl TriggerList {
    pub(crate) fn new(triggers: Vec<Trigger>, pre_roll: Roll, post_roll: Roll) -> Self {
        Self {
            triggers: Mutex::new(triggers),
            generation: AtomicU64::new(1),
            applied: AtomicU64::new(0),
            pre_roll,
            post_roll,
        }
    }

    pub(crate) fn all(&self) -> Vec<Trigger> {
        self.triggers.lock().expect("nobody panics with the lock").clone()
    }

    /// Removes some triggers and adds others. Where one of the first is not there it is given, and nothing is changed.
    pub(crate) fn change(&self, remove: &[Trigger], add: Vec<Trigger>) -> Result<(), Trigger> {
        let mut triggers = self.triggers.lock().expect("nobody panics with the lock");
        if let Some(unknown) = remove.iter().find(|trigger| !triggers.contains(trigger)) {
            return Err(unknown.clone());
        }
        triggers.retain(|known| !remove.contains(known));
        for trigger in add {
            if !triggers.contains(&trigger) {
                triggers.push(trigger);
            }
        }
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Waits until the drain goes by the changes: what happens from then on is looked at with them. False where that
    /// takes too long.
    pub(crate) fn wait_until_applied(&self) -> bool {
        const STEPS: u32 = 5000;
        let wanted = self.generation.load(Ordering::Acquire);
        (0..STEPS).any(|_| {
            let is_applied = self.applied.load(Ordering::Acquire) >= wanted;
            if !is_applied {
                std::thread::sleep(Duration::from_millis(1));
            }
            is_applied
        })
    }

    /// Changes with each change of the triggers.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The drain goes by this generation from now on.
    pub(super) fn apply(&self, generation: u64) {
        self.applied.store(generation, Ordering::Release);
    }
}
