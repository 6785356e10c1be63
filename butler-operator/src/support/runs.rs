//! What runs and sandboxes of this computer have written.

use butler_core::bootstrap::run::RunDir;
use serde_json::{Value, json};

use super::{
    Scene,
    pack::{Pack, tail},
};
use crate::sandbox::{Place, supervisor::log_files};

/// Files that a repair put beside a journal.
const DAMAGED: &str = "journal.damaged-";

pub(super) fn collect(scene: &Scene<'_>, pack: &mut Pack) {
    for run in &scene.runs {
        one(run, pack);
    }
    for dir in scene.home.sandboxes() {
        let Some(name) = dir.file_name().and_then(|name| name.to_str()) else { continue };
        let place = Place::new(scene.home, name);
        for (part, path) in log_files(&place) {
            pack.file(&format!("sandbox/{name}/{part}.log"), &path);
        }
        for file in ["host.ndjson", "network.json", "faults.json", "kind", "layout"] {
            pack.file(&format!("sandbox/{name}/{file}"), &dir.join(file));
        }
    }
}

fn one(run: &RunDir, pack: &mut Pack) {
    let at = |name: &str| format!("runs/{}/{name}", run.id());
    let state = run.state();
    pack.json(
        &at("state.json"),
        match &state {
            Ok(state) => Ok(serde_json::to_value(state).unwrap_or_default()),
            Err(error) => Err(error.to_string()),
        },
    );
    // As the journal keeps it: the file itself may hold secrets.
    let given = state.ok().or_else(|| run.salvaged()).and_then(|state| state.given);
    pack.json(
        &at("config.json"),
        given.map(|given| given.document).ok_or_else(|| "the journal does not have it".to_owned()),
    );
    pack.lines(&at("journal.ndjson"), tail(&run.journal()).map_err(|error| error.to_string()));
    pack.file(&at("run.log"), &run.log());
    pack.file(&at("live.json"), &run.live());
    let names = std::fs::read_dir(run.path()).into_iter().flatten().flatten();
    let names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    for name in names.iter().filter(|name| name.starts_with(DAMAGED)) {
        pack.file(&at(name), &run.path().join(name));
    }
    let secrets = std::fs::read_dir(run.secrets()).into_iter().flatten().flatten();
    let secrets: Vec<Value> = secrets.map(|entry| json!(entry.file_name().to_string_lossy())).collect();
    pack.json(&at("files.json"), Ok(json!({ "files": names, "notTaken": secrets })));
}
