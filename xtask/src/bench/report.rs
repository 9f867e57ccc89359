//! A run's figures as people and programs read them, and where they are kept.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::goal::Goal;
use super::machine::{self, Machine};
use super::table::Table;

/// What a section has measured.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) tables: Vec<Table>,
    /// Sentences below the tables.
    pub(super) notes: Vec<String>,
    pub(super) goals: Vec<Goal>,
    pub(super) data: Value,
}

/// All sections of a run.
pub(super) struct Report {
    machine: Machine,
    quick: bool,
    sections: Vec<(String, Section)>,
    load_at_end: String,
}

impl Report {
    pub(super) fn begin(machine: Machine, quick: bool) -> Self {
        Self { machine, quick, sections: Vec::new(), load_at_end: String::new() }
    }

    pub(super) fn add(&mut self, name: String, section: Section) {
        self.sections.push((name, section));
    }

    pub(super) fn end(&mut self) {
        self.load_at_end = machine::load();
    }

    fn goals(&self) -> impl Iterator<Item = &Goal> {
        self.sections.iter().flat_map(|(_, section)| &section.goals)
    }

    /// How many goals were missed. One that was not measured is not.
    pub(super) fn missed(&self) -> usize {
        self.goals().filter(|goal| goal.is_missed()).count()
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("ada benchmark, {} UTC\n\n", self.machine.time);
        for (name, value) in &self.machine.facts {
            text += &format!("{name:<12}{value}\n");
        }
        text += &format!("{:<12}{}\n", "load at end", self.load_at_end);
        if self.quick {
            text += "\nQUICK RUN: too few and too short rounds for figures to quote.\n";
        }
        text += "\nFigures are median [first quartile–third quartile].\n";
        for (_, section) in &self.sections {
            text += &format!("\n== {}\n", section.title);
            for table in &section.tables {
                text += &format!("\n{}", table.text());
            }
            if !section.notes.is_empty() {
                text += "\n";
            }
            for note in &section.notes {
                text += &format!("- {note}\n");
            }
        }
        let mut goals = Table::new(&["<what must be shown", "wanted", "measured", "<"]);
        self.goals().for_each(|goal| goals.row(goal.row()));
        text + &format!("\n== Goals\n\n{}", goals.text())
    }

    fn json(&self) -> Value {
        let facts: Map<String, Value> =
            self.machine.facts.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let sections: Map<String, Value> =
            self.sections.iter().map(|(name, section)| (name.clone(), section.data.clone())).collect();
        json!({
            "time_utc": self.machine.time,
            "quick": self.quick,
            "machine": facts,
            "load_at_end": self.load_at_end,
            "sections": sections,
            "goals": self.goals().map(Goal::to_json).collect::<Vec<_>>(),
        })
    }

    /// Writes the text and the JSON, and gives the path of the text.
    pub(super) fn save(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(format!("{}.txt", self.machine.time));
        fs::write(&path, self.text()).with_context(|| format!("cannot write {}", path.display()))?;
        let json = serde_json::to_string_pretty(&self.json())?;
        fs::write(path.with_extension("json"), json + "\n").context("cannot write the run's JSON")?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let machine = Machine { time: "2026-11-15-0430".into(), facts: vec![("cpu", "one".into())] };
        let mut report = Report::begin(machine, true);
        let mut table = Table::new(&["<who", "ns"]);
        table.row(vec!["ada".into(), "5".into()]);
        report.add(
            "pair".into(),
            Section {
                title: "A call",
                tables: vec![table],
                notes: vec!["said aloud".into()],
                goals: vec![Goal::at_most("cost", 1.5, " x", Some(2.0)), Goal::at_most("other", 1.0, "", None)],
                data: json!({"ada": 5}),
            },
        );
        report
    }

    #[test]
    fn the_text_has_machine_tables_notes_and_goals() {
        let text = report().text();
        for part in ["cpu         one", "QUICK RUN", "== A call", "ada   5", "- said aloud", "MISSED", "NOT MEASURED"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn goals_that_were_not_measured_are_not_missed() {
        assert_eq!(report().missed(), 1);
    }

    #[test]
    fn the_json_has_the_same_figures() {
        let json = report().json();
        assert_eq!(json["sections"]["pair"]["ada"], 5);
        assert_eq!(json["goals"][0]["met"], false);
        assert_eq!(json["goals"][1]["met"], Value::Null);
    }
}
