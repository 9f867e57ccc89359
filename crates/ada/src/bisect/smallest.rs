//! Delta debugging: the smallest part of a list that still makes a difference.

/// Makes `items`, which make a difference together, fewer, until each of those that remain is needed for it. Whatever is in
/// `items` makes the difference at any time: also where `differs` fails, and the search ends.
///
/// Whoever is needed is found by bisection: the first so many items do not make a difference with those that are known to be
/// needed, and one more does. That takes the logarithm of all items for each that is needed. `differs` is also given the
/// number of items that the search is between.
pub(crate) fn smallest<T: Clone + Ord, E>(
    items: &mut Vec<T>,
    mut differs: impl FnMut(&[T], usize) -> Result<bool, E>,
) -> Result<(), E> {
    let mut needed: Vec<T> = Vec::new();
    loop {
        // What of the items is not known to be needed.
        let mut open: Vec<T> = items.iter().filter(|item| !needed.contains(item)).cloned().collect();
        if open.is_empty() {
            break;
        }
        if differs(&needed, needed.len().max(1))? {
            items.clone_from(&needed);
            break;
        }
        let mut harmless = 0;
        while open.len() - harmless > 1 {
            let half = harmless.midpoint(open.len());
            let tried = sorted([&open[..half], &needed].concat());
            if differs(&tried, open.len() - harmless)? {
                *items = tried;
                open.truncate(half);
            } else {
                harmless = half;
            }
        }
        needed.extend(open.pop());
        needed.sort_unstable();
    }
    // With more items, fewer may make a difference that these do not.
    let mut at = 0;
    while items.len() > 1 && at < items.len() {
        let rest = [&items[..at], &items[at + 1..]].concat();
        if differs(&rest, items.len())? {
            *items = rest;
        } else {
            at += 1;
        }
    }
    Ok(())
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What remains of so many items, and how often was asked.
    fn search(count: u32, differs: impl Fn(&[u32]) -> bool) -> (Vec<u32>, u32) {
        let mut items: Vec<u32> = (0..count).collect();
        let mut asked = 0;
        let ask = |items: &[u32], remaining: usize| {
            assert!((1..=count as usize).contains(&remaining));
            asked += 1;
            Ok::<bool, ()>(differs(items))
        };
        smallest(&mut items, ask).unwrap();
        (items, asked)
    }

    #[test]
    fn one_of_thousands_is_found_quickly() {
        for culprit in [0, 1, 1234, 4095] {
            let (found, asked) = search(4096, |items| items.contains(&culprit));
            assert_eq!(found, [culprit]);
            assert!(asked <= 14, "{asked}");
        }
    }

    #[test]
    fn those_that_are_needed_together_are_found_together() {
        let (found, asked) = search(1000, |items| [3, 500, 998].iter().all(|it| items.contains(it)));
        assert_eq!(found, [3, 500, 998]);
        assert!(asked < 40, "{asked}");
    }

    #[test]
    fn one_of_several_that_each_make_a_difference_is_enough() {
        let (found, _) = search(100, |items| items.contains(&7) || items.contains(&90));
        assert_eq!(found, [7]);
        assert_eq!(search(1, |items| !items.is_empty()).0, [0]);
        assert_eq!(search(5, |items| items.len() == 5).0, [0, 1, 2, 3, 4]);
    }

    /// What is there with few of them may not be with all.
    #[test]
    fn what_others_hide_is_no_trouble() {
        let (found, _) = search(64, |items| items.contains(&9) && (!items.contains(&20) || items.contains(&40)));
        assert_eq!(found, [9]);
        // An odd number of the first three.
        let (found, _) = search(3, |items| items.len() % 2 == 1);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn what_remains_when_the_search_ends_still_makes_the_difference() {
        let mut items: Vec<u32> = (0..64).collect();
        let mut patience = 5;
        let result = smallest(&mut items, |items, _| {
            patience -= 1;
            if patience < 0 { Err("enough") } else { Ok(items.contains(&40)) }
        });
        assert_eq!(result, Err("enough"));
        assert!(items.contains(&40) && items.len() < 64, "{items:?}");
    }
}
