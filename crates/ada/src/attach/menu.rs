//! Lets the user choose where a name fits several.

use std::io::{self, BufRead, IsTerminal};

use anyhow::bail;

use super::target::{Tree, describe};
use crate::exit::say;

/// The trees that are meant: the only one, all if that was asked for, or those that the user chooses at the terminal.
pub(super) fn choose(trees: Vec<Tree>, takes_all: bool) -> anyhow::Result<Vec<Tree>> {
    if takes_all || trees.len() <= 1 {
        return Ok(trees);
    }
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    let mut list = String::new();
    for (number, tree) in trees.iter().enumerate() {
        let mark = if can_ask { format!("{:>4}", number + 1) } else { String::new() };
        list.push_str(&format!("{mark}{}\n", describe(tree)));
    }
    if !can_ask {
        bail!("{} processes fit; give the id of one, or --all for all of them:\n{}", trees.len(), list.trim_end());
    }
    say(format_args!("{list}Which of them? [1-{}, a for all, q for none] ", trees.len()));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "a" => Ok(trees),
        answer => match answer.parse::<usize>().ok().and_then(|number| trees.into_iter().nth(number.wrapping_sub(1))) {
            Some(tree) => Ok(vec![tree]),
            None => bail!("no process was chosen"),
        },
    }
}
