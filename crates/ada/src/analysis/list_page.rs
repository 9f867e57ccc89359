//! The part of a list that `--cursor` and `--limit` choose.

/// At most `limit` items behind the first `cursor`, all of these where the limit is 0; and the next page's cursor, if there is
/// one.
pub(crate) fn list_page<T>(items: &[T], cursor: usize, limit: usize) -> (&[T], Option<usize>) {
    let end = if limit == 0 { items.len() } else { items.len().min(cursor.saturating_add(limit)) };
    (&items[cursor.min(end)..end], (end < items.len()).then_some(end))
}

/// At most so many of a list, for commands whose lists have no pages: 0 stands for all.
pub(crate) fn parse_most(text: &str) -> Result<usize, std::num::ParseIntError> {
    Ok(match text.parse()? {
        0 => usize::MAX,
        most => most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_and_end_with_the_list() {
        let items = [1, 2, 3, 4, 5];
        assert_eq!(list_page(&items, 0, 2), (&items[..2], Some(2)));
        assert_eq!(list_page(&items, 2, 2), (&items[2..4], Some(4)));
        assert_eq!(list_page(&items, 4, 2), (&items[4..], None));
        assert_eq!(list_page(&items, 3, 0), (&items[3..], None));
        for behind in [5, 6, usize::MAX] {
            assert_eq!(list_page(&items, behind, 2), (&[][..], None));
        }
    }
}
