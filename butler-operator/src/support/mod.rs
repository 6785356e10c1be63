//! What somebody needs to know who helps with a problem and is not here, in one file without secrets.
//!
//! - [`Scene`]: what is looked at; [`write()`]: looks at it and writes the file
//! - `scrub`: takes secrets out; `known`: what is secret on this computer
//! - `host`, `runs`, `cluster`, `nodes`: the parts; `pack`: the file
//!
//! Nothing needs to be well for this. What cannot be had within some seconds is named in `index.json` with the reason.

mod cluster;
mod host;
mod known;
mod nodes;
mod pack;
mod runs;
mod scrub;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use butler_core::{
    bootstrap::run::RunDir,
    event::Reporter,
    settings::{Environment, Home, HomeError},
};
use jiff::Timestamp;
use kube::Client;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{controller::chain as words, parts::Parts};
use pack::Pack;

/// How long one part may take.
const PART: Duration = Duration::from_secs(15);

/// What is looked at.
pub struct Scene<'a> {
    /// The Butler home.
    pub home: &'a Home,
    /// The environment; of most variables only the name is told.
    pub environment: &'a Environment,
    /// Runs, newest first.
    pub runs: Vec<RunDir>,
    /// The cluster whose credentials are used, where one is named.
    pub cluster: Option<String>,
    /// A way to a management cluster, or why there is none.
    pub client: Result<Client, String>,
    /// The programs that Butler works with.
    pub parts: &'a Parts,
    /// Version, commit and time of this build.
    pub version: Value,
    /// Settings with their origins.
    pub settings: Value,
    /// Now.
    pub now: Timestamp,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// How many files are in it.
    pub entries: usize,
    /// What could not be had, and why.
    pub missing: Vec<Missing>,
}

/// Something that could not be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    /// What.
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// Looks at everything and writes it to a new file at `path`.
pub async fn write(scene: &Scene<'_>, path: &Path, reporter: &Reporter) -> Result<Written, HomeError> {
    let failed = |source| HomeError::Write { path: path.to_owned(), source };
    let learn = async { Ok::<_, HomeError>(known::learn(scene).await) };
    let (known, cluster) = reporter.phase("LearningSecrets", learn).await?;
    let mut pack = Pack::new(path, known.scrubber()).map_err(failed)?;
    if let Err(reason) = cluster {
        // A helper should know, and so should the person: a log may repeat what nobody could learn.
        pack.miss("(the secrets of the cluster, which could not be looked for)", &reason);
    }
    let work = async {
        about(scene, &mut pack).await;
        runs::collect(scene, &mut pack);
        Ok::<_, HomeError>(())
    };
    reporter.phase("CollectingFiles", work).await?;
    let work = async {
        cluster::collect(scene, &mut pack).await;
        Ok::<_, HomeError>(())
    };
    reporter.phase("AskingTheCluster", work).await?;
    let work = async {
        nodes::collect(scene, &mut pack).await;
        Ok::<_, HomeError>(())
    };
    reporter.phase("AskingTheNodes", work).await?;
    pack.finish().map_err(failed)
}

/// This program and this computer.
async fn about(scene: &Scene<'_>, pack: &mut Pack) {
    pack.json("version.json", Ok(scene.version.clone()));
    pack.json("settings.json", Ok(scene.settings.clone()));
    pack.json("environment.json", Ok(host::environment(scene.environment)));
    pack.json("host.json", Ok(host::facts(scene.home, scene.environment)));
    let programs = within(async { Ok(host::programs(scene.parts).await) }).await;
    pack.json("programs.json", programs);
    pack.json(
        "scene.json",
        Ok(json!({
            "time": scene.now,
            "home": scene.home.dir(),
            "cluster": scene.cluster,
            "runs": scene.runs.iter().map(|run| run.id().to_string()).collect::<Vec<_>>(),
        })),
    );
}

/// The result of a part, or why there is none in time.
async fn within<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    match tokio::time::timeout(PART, work).await {
        Ok(result) => result,
        Err(_) => Err(format!("no answer within {} s", PART.as_secs())),
    }
}
