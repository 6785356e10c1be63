//! Cold start: both programs beside `kubectl` and `git`, how big they are, and how long a shell waits
//! for names when the server hangs.

use std::path::Path;

use anyhow::{Result, ensure};
use butler_tests::http::{HttpServer, Reply};
use serde_json::json;

use crate::{
    Programs,
    cost::{self, Cost},
    table::{Figure, Results, Row},
};

pub(crate) fn measure(programs: &Programs) -> Result<Results> {
    let kubectl = cost::of(&programs.kubectl, &["version", "--client"], 21)?;
    let git = cost::of(Path::new("git"), &["--version"], 101)?;
    let mut rows = Vec::new();
    for (name, program) in [("butlerctl", &programs.butlerctl), ("butleradm", &programs.butleradm)] {
        let ours: Cost = cost::of(program, &["version", "--client"], 101)?;
        let job = format!("{name} version --client");
        let size = std::fs::metadata(program)?.len() as f64 / (1024.0 * 1024.0);
        let beside_kubectl = Row::new(&job, ours, "kubectl version --client", kubectl)
            .note(format!("the program is {size:.1} MiB"));
        let beside_git = Row::new(&job, ours, "git --version", git);
        // Developers type it all day; operators carry the controllers and the sandbox in theirs.
        rows.extend(match name {
            "butlerctl" => {
                [beside_kubectl.time_goal(1.0 / 20.0).memory_goal(1.0 / 10.0), beside_git.time_goal(1.5)]
            }
            _ => [beside_kubectl, beside_git],
        });
    }
    let figures = vec![completion(programs)?];
    Ok(Results { rows, figures })
}

fn completion(programs: &Programs) -> Result<Figure> {
    let server = HttpServer::start(|_| Reply::Hang)?;
    let kubeconfig = tempfile::NamedTempFile::new()?;
    let text = json!({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.url()}}],
    });
    std::fs::write(kubeconfig.path(), text.to_string())?;
    let file = kubeconfig.path().to_string_lossy();
    let vars = [("BUTLER_COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", "3"), ("KUBECONFIG", &file)];
    let cost = cost::with_env(&programs.butlerctl, &["--", "butlerctl", "cluster", "get", "p"], 11, &vars)?;
    ensure!(!server.requests().is_empty(), "the server was never asked");
    let value = cost.wall.as_secs_f64() * 1e3;
    Ok(Figure { job: "completion of names, the server hangs".into(), value, unit: "ms", goal: Some(200.0) })
}
