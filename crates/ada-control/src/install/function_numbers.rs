//! Which function each number in a record stands for.
//!
//! A build runs thousands of programs, each with tens of thousands of functions. So numbers come in pages that belong to one
//! module each, and what is kept is a few bytes a page.

use std::sync::{Arc, RwLock};

use ada_event::{FunctionId, ModuleId};

/// Numbers of a page.
pub(crate) const PAGE: u32 = 256;

/// The numbers that were given out so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionNumbers {
    pages: Vec<Page>,
    added: u32,
}

/// Those who hook, and the drain.
pub(crate) type SharedNumbers = Arc<RwLock<FunctionNumbers>>;

/// Whose numbers these are: the first function's id, as if the page had number 0.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    module: ModuleId,
    first: u32,
}

impl FunctionNumbers {
    /// How many numbers a module with so many functions takes.
    pub(crate) fn taken_by(functions: usize) -> u32 {
        (functions as u32).next_multiple_of(PAGE)
    }

    /// Notes a module's functions. `first` is a multiple of [`PAGE`], and not below what was noted before, unless another
    /// program has the same module.
    pub(crate) fn add(&mut self, module: ModuleId, first: u32, functions: usize) {
        let pages = (first / PAGE) as usize..((first + Self::taken_by(functions)) / PAGE) as usize;
        self.pages.resize(self.pages.len().max(pages.end), Page::default());
        self.pages[pages].fill(Page { module, first });
        self.added += 1;
    }

    /// A number's function; nobody's id for a number that nobody has.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> FunctionId {
        let Some(page) = self.pages.get((number / PAGE) as usize) else { return FunctionId::default() };
        FunctionId::new(page.module, number.wrapping_sub(page.first))
    }

    /// How often modules were noted, whether or not they were known.
    pub(crate) fn added(&self) -> u32 {
        self.added
    }

    /// The first number that is not known.
    pub(crate) fn end(&self) -> u32 {
        self.pages.len() as u32 * PAGE
    }
}

/// Something for some of many numbers: pages without any take no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByNumber<T> {
    pages: Vec<Option<Box<[T; PAGE as usize]>>>,
}

impl<T> Default for ByNumber<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T: Copy + Default> ByNumber<T> {
    #[inline]
    pub(crate) fn get(&self, number: u32) -> T {
        let page = self.pages.get((number / PAGE) as usize).and_then(Option::as_ref);
        page.map_or_else(T::default, |page| page[(number % PAGE) as usize])
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        let page = (number / PAGE) as usize;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        &mut self.pages[page].get_or_insert_with(|| Box::new([T::default(); PAGE as usize]))[(number % PAGE) as usize]
    }

    /// What there is, page by page.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, T)> + '_ {
        let pages = self.pages.iter().zip((0..).step_by(PAGE as usize));
        let pages = pages.filter_map(|(page, first)| Some((page.as_ref()?, first)));
        pages.flat_map(|(page, first)| (first..).zip(page.iter().copied()))
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_to_their_modules() {
        let mut numbers = FunctionNumbers::default();
        numbers.add(ModuleId(7), 0, 257);
        assert_eq!(
            (FunctionNumbers::taken_by(257), numbers.end(), numbers.get(512)),
            (512, 512, FunctionId::default())
        );
        numbers.add(ModuleId(9), 512, 3);
        for (number, module, index) in [(0, 7, 0), (255, 7, 255), (256, 7, 256), (512, 9, 0), (514, 9, 2)] {
            assert_eq!(numbers.get(number), FunctionId::new(ModuleId(module), index), "{number}");
        }
        assert_eq!(numbers.get(768), FunctionId::default());
        assert_eq!(numbers.get(u32::MAX), FunctionId::default());
    }

    #[test]
    fn what_is_kept_by_number_is_found_again() {
        let mut kept = ByNumber::default();
        *kept.get_mut(1000) += 5_u64;
        *kept.get_mut(3) += 1;
        *kept.get_mut(1000) += 2;
        let all: Vec<_> = kept.iter().filter(|(_, value)| *value > 0).collect();
        assert_eq!(all, [(3, 1), (1000, 7)]);
        assert_eq!((kept.get(1000), kept.get(4), kept.get(9999)), (7, 0, 0));
        assert_eq!(kept.pages.iter().flatten().count(), 2);
        kept.clear();
        assert_eq!(kept.get(3), 0);
    }
}
