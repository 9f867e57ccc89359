//! The known name that somebody probably meant.

/// The nearest of the known names, if one is near enough to be meant.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let near_enough = (wrong.chars().count() / 3).max(2);
    let best = known.into_iter().map(|name| (distance(&wrong, &name.to_lowercase()), name)).min_by_key(|it| it.0)?;
    // A name of which only the middle was typed is far away by letters, and meant all the same.
    (best.0 <= near_enough).then_some(best.1)
}

/// How many letters have to be put in, taken out, changed or swapped with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let changed = last[column] + usize::from(letter != other);
            let mut best = changed.min(last[column + 1] + 1).min(line[column] + 1);
            if row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other {
                best = best.min(before[column - 1] + 1);
            }
            line.push(best);
        }
        before = std::mem::replace(&mut last, line);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_a_stranger_is_not() {
        let known = ["duration_ns", "start_ns", "name"];
        assert_eq!(nearest("durationns", known), Some("duration_ns"));
        assert_eq!(nearest("Strat_ns", known), Some("start_ns"));
        assert_eq!(nearest("nmae", known), Some("name"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(distance("ab", "ba"), 1);
    }
}
