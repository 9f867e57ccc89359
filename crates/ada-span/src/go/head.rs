//! A goroutine's number, in the words that probes read of it.

use crate::concurrency::{Head, LogicalCall, Words};
use crate::role::{GoCall, Role};

/// Where a goroutine's status is in its words: its number follows. That differs between versions of Go, and each call says what the
/// status must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    status: usize,
}

/// In a status: the collector looks at the stack.
const IS_SCANNED: u32 = 0x1000;
/// No process makes as many goroutines.
const LARGEST: u64 = 1 << 48;

impl Layout {
    /// The one that the calls of a process fit, but for few of them; nothing where neither does, or both do.
    pub(super) fn find(calls: &[LogicalCall]) -> Option<Self> {
        const FEW: usize = 10;
        let known: Vec<(GoCall, Head)> = calls.iter().filter_map(known_head).collect();
        let fits = |layout: Self| known.iter().filter(|(call, head)| layout.fits(*call, *head)).count();
        let [first, second] = [Self { status: 0 }, Self { status: 1 }].map(|layout| (fits(layout), layout));
        let (most, least) = if first.0 > second.0 { (first, second) } else { (second, first) };
        let is_clear = (known.len() - most.0) * FEW < known.len() && least.0 * FEW < known.len();
        is_clear.then_some(most.1)
    }

    /// Whether a goroutine is in a state that a call can find it in.
    fn fits(self, call: GoCall, head: Head) -> bool {
        let status = head[self.status] as u32 & !IS_SCANNED;
        call.statuses().contains(&status) && self.id(head).is_some()
    }

    /// The number of the goroutine that a call is about; nothing where its words make no sense.
    pub(super) fn id_at(self, call: GoCall, head: Head) -> Option<u64> {
        self.id(head).filter(|_| self.fits(call, head))
    }

    fn id(self, head: Head) -> Option<u64> {
        Some(head[self.status + 1]).filter(|id| (1..LARGEST).contains(id))
    }
}

/// A call that the runtime makes with goroutines of a certain state only, and the goroutine's words.
fn known_head(call: &LogicalCall) -> Option<(GoCall, Head)> {
    let Role::Go(go) = call.role else { return None };
    let (Words::Goroutine { head, .. } | Words::NewGoroutine { head, .. }) = call.words else { return None };
    (!go.statuses().is_empty() && head[0] != crate::NONE).then_some((go, head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NONE;

    #[test]
    fn the_status_says_where_the_number_is() {
        let old = |id: u64, status: u64| [status, id, 0];
        let new = |id: u64, status: u64| [0xc000_0100_4000, status, id];
        let calls = |heads: &[(GoCall, Head)]| -> Vec<LogicalCall> {
            let call = |&(go, head)| LogicalCall {
                words: Words::Goroutine { head, key: NONE, site: NONE },
                ..LogicalCall::at(Role::Go(go), 0, 1)
            };
            heads.iter().map(call).collect()
        };
        let found = |heads: &[(GoCall, Head)]| Layout::find(&calls(heads)).map(|it| it.status);
        assert_eq!(found(&[(GoCall::Execute, old(7, 1)), (GoCall::Park, old(7, 0x1002))]), Some(0));
        assert_eq!(found(&[(GoCall::Execute, new(7, 1)), (GoCall::Ready, new(7, 4))]), Some(1));
        // As many that say otherwise, or none that says anything: it is not known.
        assert_eq!(found(&[(GoCall::Execute, old(7, 1)), (GoCall::Park, old(7, 1))]), None);
        let mut many = vec![(GoCall::Execute, old(7, 1)); 20];
        many.push((GoCall::Park, [9; 3]));
        assert_eq!(found(&many), Some(0), "one that makes no sense is left out");
        assert_eq!(found(&[(GoCall::Schedule, old(7, 1))]), None);
        assert_eq!(found(&[(GoCall::Execute, [NONE; 3])]), None);
        assert_eq!(found(&[(GoCall::Execute, [1, 1, 9])]), None);
    }
}
