//! What the groups of a question are like.

use super::numbering::Numbering;
use super::question::Question;
use super::sums::Layout;

/// A question, the numbers of the values that it groups by, and the words of a group.
pub(super) struct Shape {
    pub(super) question: Question,
    pub(super) layout: Layout,
    pub(super) numberings: Vec<Numbering>,
    /// How many numbers each part has.
    pub(super) sizes: Vec<u64>,
}

impl Shape {
    /// How many keys there can be, if a word can tell.
    pub(super) fn key_count(&self) -> Option<u64> {
        self.sizes.iter().try_fold(1_u64, |all, it| all.checked_mul(*it))
    }

    /// Whether keys fit into two words.
    pub(super) fn has_keys(&self) -> bool {
        self.sizes.iter().try_fold(1_u128, |all, it| all.checked_mul((*it).into())).is_some()
    }
}
