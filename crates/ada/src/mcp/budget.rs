//! Answers that fit into so many tokens.

use serde_json::{Map, Value, json};

/// The smallest budget that an answer can have: its frame takes some.
pub(super) const SMALLEST: u64 = 200;
/// Without a budget of the agent's own.
pub(super) const USUAL: u64 = 2000;
/// The largest.
pub(super) const LARGEST: u64 = 100_000;

/// About how many tokens a text is, on the safe side: models read three digits, four or so letters, or two signs as one.
pub(super) fn tokens(text: &str) -> u64 {
    let mut sum = 0;
    let mut run: (u8, u64) = (0, 0);
    let mut end = |(kind, length): (u8, u64)| {
        sum += match kind {
            1 => length.div_ceil(5),
            2 => length.div_ceil(3),
            3 => length.div_ceil(2),
            4 => length,
            _ => 0,
        };
    };
    for letter in text.chars() {
        let kind = match letter {
            'a'..='z' | 'A'..='Z' => 1,
            '0'..='9' => 2,
            ' ' => 0,
            letter if letter.is_ascii() => 3,
            _ => 4,
        };
        if kind == run.0 {
            run.1 += 1;
        } else {
            end(run);
            run = (kind, 1);
        }
    }
    end(run);
    sum
}

fn tokens_of(value: &Value) -> u64 {
    tokens(&value.to_string())
}

/// An answer before it is fitted.
#[derive(Default)]
pub(super) struct Answer {
    /// What there is one of.
    pub(super) facts: Map<String, Value>,
    /// What there are many of, each with the cursor that goes on behind it.
    pub(super) items: Vec<(Value, String)>,
    /// The cursor behind the last item, where there is still more.
    pub(super) more: Option<String>,
    /// What the answer has to be read with.
    pub(super) caveats: Vec<String>,
}

impl Answer {
    /// Items whose cursors are their indexes, from `from` on.
    pub(super) fn list(items: Vec<Value>, from: usize) -> Self {
        let items = items.into_iter().enumerate().skip(from).map(|(at, item)| (item, (at + 1).to_string()));
        Self { items: items.collect(), ..Self::default() }
    }

    pub(super) fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.into(), value.into());
        self
    }

    /// As much of the answer as fits, with word of what does not.
    pub(super) fn fit(self, budget: u64) -> Value {
        let budget = budget.clamp(SMALLEST, LARGEST);
        let caveats = fit_caveats(&self.caveats, budget / 5);
        let mut facts = Value::Object(self.facts);
        let mut did_shorten = false;
        for level in 0.. {
            let room = budget * 3 / 5;
            if tokens_of(&facts) <= room || level > 8 {
                break;
            }
            did_shorten = true;
            facts = shortened(facts, 400 >> level, 32 >> level);
        }
        let frame = |facts: &Value, items: &[Value], did_truncate: bool, next: Option<&str>, caveats: &[String]| {
            json!({
                "answer": facts, "items": items, "did_truncate": did_truncate, "next_cursor": next,
                "caveats": caveats, "token_budget": budget,
            })
        };
        let longest_cursor = self.items.iter().map(|(_, cursor)| cursor.as_str()).chain(self.more.as_deref());
        let longest_cursor = longest_cursor.max_by_key(|it| it.len()).unwrap_or_default();
        let mut used = tokens_of(&frame(&facts, &[], true, Some(longest_cursor), &caveats)) + 2;
        let mut items = Vec::new();
        let mut next = None;
        let count = self.items.len();
        for (at, (item, cursor)) in self.items.into_iter().enumerate() {
            let mut item = item;
            let mut cost = tokens_of(&item) + 1;
            if used + cost > budget && items.is_empty() {
                // One item that is too large alone is shortened, or nobody would ever come past it.
                for level in 0..8 {
                    item = shortened(item, 400 >> level, 32 >> level);
                    cost = tokens_of(&item) + 1;
                    did_shorten = true;
                    if used + cost <= budget {
                        break;
                    }
                }
            }
            if used + cost > budget {
                break;
            }
            used += cost;
            items.push(item);
            next = (at + 1 < count).then_some(cursor).or_else(|| self.more.clone());
        }
        let is_cut = items.len() < count || next.is_some();
        frame(&facts, &items, is_cut || did_shorten, next.as_deref().filter(|_| is_cut), &caveats)
    }
}

fn fit_caveats(all: &[String], budget: u64) -> Vec<String> {
    let mut fitted = Vec::new();
    let mut used = 0;
    for (at, caveat) in all.iter().enumerate() {
        let mut caveat = caveat.clone();
        if caveat.chars().count() > 160 {
            caveat = caveat.chars().take(159).chain(['…']).collect();
        }
        used += tokens(&caveat) + 2;
        if used > budget {
            fitted.push(format!("{} more; the summary tool has them", all.len() - at));
            break;
        }
        fitted.push(caveat);
    }
    fitted
}

/// The same with texts and lists that are too long cut.
fn shortened(value: Value, letters: usize, items: usize) -> Value {
    match value {
        Value::String(text) if text.chars().count() > letters.max(8) => {
            Value::String(text.chars().take(letters.max(8)).chain(['…']).collect())
        }
        Value::Array(all) => {
            let cut = items.max(1);
            all.into_iter().take(cut).map(|it| shortened(it, letters, items)).collect()
        }
        Value::Object(fields) => {
            fields.into_iter().map(|(name, it)| (name, shortened(it, letters, items))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(items: usize, width: usize) -> Answer {
        let items = (0..items).map(|at| json!({ "name": "word ".repeat(width), "at": at })).collect();
        let caveats = (0..50).map(|at| format!("caveat {at}: {}", "something ".repeat(10))).collect();
        Answer { caveats, ..Answer::list(items, 0) }.fact("question", "what ".repeat(200))
    }

    #[test]
    fn budgets_are_kept_whatever_the_answer() {
        for budget in [200, 500, 2000, 10_000] {
            for (items, width) in [(0, 0), (3, 1), (1000, 5), (5, 5000), (1, 100_000)] {
                let fitted = answer(items, width).fit(budget);
                let used = tokens(&fitted.to_string());
                assert!(used <= budget + budget / 10, "{budget} for {items} × {width}: {used}");
                let given = fitted["items"].as_array().unwrap().len();
                assert_eq!(fitted["next_cursor"].is_null(), given == items, "{budget} for {items} × {width}");
            }
        }
    }

    #[test]
    fn pages_follow_each_other_without_a_gap() {
        let (mut from, mut seen) = (0, Vec::new());
        loop {
            let items: Vec<Value> = (0..300).map(|at| json!({ "at": at })).collect();
            let page = Answer::list(items, from).fit(300);
            seen.extend(page["items"].as_array().unwrap().iter().map(|it| it["at"].as_u64().unwrap()));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            assert_eq!(page["did_truncate"], true);
            from = cursor.parse().unwrap();
        }
        assert_eq!(seen, (0..300).collect::<Vec<u64>>());
    }
}
