//! A table in plain text.

/// Rows under headings. A heading that begins with `<` makes its column flush left; others are flush right.
pub(super) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(headings: &[&'static str]) -> Self {
        Self { headings: headings.to_vec(), rows: Vec::new() }
    }

    /// Cells that are missing at the end stay empty.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The first cell, and one sentence in place of all figures.
    pub(super) fn sentence(&mut self, name: impl Into<String>, words: &str) {
        self.rows.push(vec![name.into(), words.to_owned()]);
    }

    /// A row of a single sentence spans the columns, so it does not widen the one that it begins in.
    fn is_sentence(&self, row: &[String]) -> bool {
        row.len() == 2 && self.headings.len() > 2
    }

    pub(super) fn text(&self) -> String {
        let names: Vec<&str> = self.headings.iter().map(|heading| heading.trim_start_matches('<')).collect();
        let mut widths: Vec<usize> = names.iter().map(|name| name.chars().count()).collect();
        for row in &self.rows {
            let counted = if self.is_sentence(row) { 1 } else { row.len() };
            for (width, cell) in widths.iter_mut().zip(&row[..counted]) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let heading: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        let mut text = String::new();
        for row in [&heading, &rule].into_iter().chain(&self.rows) {
            text += self.line(row, &widths).trim_end();
            text += "\n";
        }
        text
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        if self.is_sentence(row) {
            return format!("{:<width$}  {}", row[0], row[1], width = widths[0]);
        }
        let cells = row.iter().zip(widths).zip(&self.headings).map(|((cell, &width), heading)| {
            if heading.starts_with('<') { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["<what", "ns", "<why"]);
        table.row(vec!["ada".into(), "12345".into(), "fast".into()]);
        table.row(vec!["untraced".into(), "2".into(), "x".into()]);
        table.sentence("frida", "NOT MEASURED: there is no network, and this is long");
        let expected = "\
what         ns  why
--------  -----  ----
ada       12345  fast
untraced      2  x
frida     NOT MEASURED: there is no network, and this is long
";
        assert_eq!(table.text(), expected);
    }
}
