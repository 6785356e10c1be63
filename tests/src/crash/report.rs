//! What came of the cases.

use std::{fmt, path::Path, time::Duration};

use anyhow::Result;
use serde_json::{Value, json};

/// One case.
#[derive(Clone, Debug)]
pub struct Row {
    /// The scenario.
    pub scenario: String,
    /// The case.
    pub case: String,
    /// The last whole record when the first process ended.
    pub record: String,
    /// How long the last resume took; none when there was nothing left to do.
    pub resume: Option<Duration>,
    /// After which record the first removal was killed.
    pub removal: Option<String>,
    /// How long all of it took.
    pub took: Duration,
    /// How long its parts took, in their order.
    pub spent: Vec<(&'static str, Duration)>,
    /// What was wrong.
    pub failure: Option<String>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// A row per case.
    pub rows: Vec<Row>,
}

impl Report {
    /// How many cases failed.
    pub fn failures(&self) -> usize {
        self.rows.iter().filter(|row| row.failure.is_some()).count()
    }

    /// The longest resume.
    pub fn longest(&self) -> Duration {
        self.rows.iter().filter_map(|row| row.resume).max().unwrap_or_default()
    }

    fn totals(&self, scenario: Option<&str>) -> String {
        let of = |row: &&Row| scenario.is_none_or(|name| row.scenario == name);
        let part = Self { rows: self.rows.iter().filter(of).cloned().collect() };
        format!(
            "{}: {} cases, longest resume {}, {} failed",
            scenario.unwrap_or("total"),
            part.rows.len(),
            seconds(part.longest()),
            match part.failures() {
                0 => "none".to_owned(),
                count => count.to_string(),
            },
        )
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "scenario": row.scenario, "case": row.case, "record": row.record,
                "resumeSeconds": row.resume.map(|time| time.as_secs_f64()), "removalKilled": row.removal,
                "seconds": row.took.as_secs_f64(), "failure": row.failure,
                "parts": row.spent.iter().map(|(name, time)| json!([name, time.as_secs_f64()])).collect::<Vec<_>>(),
            })
        };
        json!({
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "cases": self.rows.len(),
            "longestResumeSeconds": self.longest().as_secs_f64(),
            "failures": self.failures(),
        })
    }

    /// Writes `crash-report.txt` and `crash-report.json` into a directory.
    pub fn write(&self, dir: &Path) -> Result<()> {
        std::fs::write(dir.join("crash-report.txt"), self.to_string())?;
        std::fs::write(dir.join("crash-report.json"), serde_json::to_vec_pretty(&self.json())?)?;
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head =
            ["SCENARIO", "CASE", "LAST RECORD", "RESUME", "REMOVAL KILLED", "RESULT"].map(str::to_owned);
        let lines: Vec<[String; 6]> = std::iter::once(head).chain(self.rows.iter().map(Row::cells)).collect();
        let widths: [usize; 6] = std::array::from_fn(|column| {
            lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
        });
        for line in &lines {
            let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        let mut scenarios: Vec<&str> = self.rows.iter().map(|row| row.scenario.as_str()).collect();
        scenarios.sort_unstable();
        scenarios.dedup();
        for scenario in scenarios {
            writeln!(f, "{}", self.totals(Some(scenario)))?;
        }
        writeln!(f, "{}", self.totals(None))?;
        for row in self.rows.iter().filter(|row| row.failure.is_some()) {
            writeln!(f, "\n{} · {}\n{}", row.scenario, row.case, row.failure.as_deref().unwrap_or_default())?;
        }
        Ok(())
    }
}

impl Row {
    fn cells(&self) -> [String; 6] {
        [
            self.scenario.clone(),
            self.case.clone(),
            self.record.clone(),
            self.resume.map_or_else(|| "–".to_owned(), seconds),
            self.removal.clone().unwrap_or_else(|| "–".to_owned()),
            if self.failure.is_none() { "ok" } else { "FAILED" }.to_owned(),
        ]
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [scenario, case, record, resume, _, result] = self.cells();
        write!(f, "{scenario}: {case} ({record}): {result}, resume {resume}, all {}", seconds(self.took))
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
