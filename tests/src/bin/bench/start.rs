//! Cold start: both programs beside `kubectl` and `git`, and how big `butlerctl` is.

use std::path::Path;

use anyhow::Result;

use crate::{
    Programs,
    cost::{self, Cost},
    table::Row,
};

pub(crate) fn measure(programs: &Programs) -> Result<Vec<Row>> {
    let kubectl = cost::of(&programs.kubectl, &["version", "--client"], 21)?;
    let git = cost::of(Path::new("git"), &["--version"], 101)?;
    let mut rows = Vec::new();
    for (name, program) in [("butlerctl", &programs.butlerctl), ("butleradm", &programs.butleradm)] {
        let ours: Cost = cost::of(program, &["version", "--client"], 101)?;
        let job = format!("{name} version --client");
        let size = std::fs::metadata(program)?.len() as f64 / (1024.0 * 1024.0);
        rows.push(
            Row::new(&job, ours, "kubectl version --client", kubectl)
                .time_goal(1.0 / 20.0)
                .memory_goal(1.0 / 10.0)
                .note(format!("the program is {size:.1} MiB")),
        );
        rows.push(Row::new(&job, ours, "git --version", git).time_goal(1.5));
    }
    Ok(rows)
}
