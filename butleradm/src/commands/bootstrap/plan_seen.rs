//! What `bootstrap plan` saw of the world.

use std::fmt::Write;

use butler_core::bootstrap::plan::{Taken, World};
use butler_term::output::one_line;

/// The facts that a plan was made with, and those that could not be had.
pub(super) fn seen(world: &World) -> String {
    let mut text = "Seen\n".to_owned();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:17}  {}", one_line(value));
    };
    line("Configuration", &format!("sha256:{}", world.config_sha256));
    let yes_or_no = |fact: bool| if fact { "yes" } else { "no" };
    if let Some(answers) = world.vip_answers {
        line("Address answers", yes_or_no(answers));
    }
    if let Some(exists) = world.temporary_cluster {
        line("Temporary cluster", yes_or_no(exists));
    }
    let kept = [("Machines", &world.machines), ("Load balancers", &world.load_balancers)];
    for (name, found) in kept {
        if let Some(found) = found {
            line(name, &list(found.iter().map(taken)));
        }
    }
    if let Some(runs) = &world.runs {
        line("Runs", &list(runs.iter().map(|run| format!("{} ({})", run.id, run.stage))));
    }
    if !world.secrets.is_empty() {
        line("Secrets", &list(world.secrets.keys().cloned()));
    }
    for (program, version) in &world.programs {
        line(program, version);
    }
    for (what, why) in &world.unseen {
        line("Not looked at", &format!("{what}: {why}"));
    }
    text
}

fn taken(found: &Taken) -> String {
    let owner = found.owner.as_ref().map(|owner| format!(" (of {owner})"));
    format!("{}{}", found.name, owner.unwrap_or_default())
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}
