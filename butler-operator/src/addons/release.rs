//! One Helm release, brought to what a step says.

use std::{ffi::OsString, path::Path, time::Duration};

use butler_core::{bootstrap::addons::ChartRelease, error::ErrorKind};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    AddonError, HelmInstaller, Target,
    apply::Applier,
    digests::Sums,
    embedded,
    error::Words,
    helm::Outcome,
    secrets::Resolver,
    source::{self, Located},
};

/// helm needs a moment to write down that its time is over.
const MARGIN: Duration = Duration::from_secs(3);

/// A release as helm lists it.
#[derive(Debug, Deserialize)]
struct Listed {
    status: String,
}

/// A revision as helm lists it.
#[derive(Debug, Deserialize)]
struct Revision {
    revision: u64,
    status: String,
}

/// What is left to do before a release can be installed or upgraded.
#[derive(Debug, PartialEq, Eq)]
enum Recovery {
    Nothing,
    /// Nothing of it ever worked: take it away.
    Uninstall,
    /// Go back to the last revision that worked.
    RollBack(u64),
}

/// A release that was being changed when helm was killed stays pending for ever, and helm refuses to
/// touch it.
fn recovery(status: &str, history: &[Revision]) -> Recovery {
    if status == "uninstalling" {
        return Recovery::Uninstall;
    }
    if !status.starts_with("pending-") {
        return Recovery::Nothing;
    }
    let worked = history.iter().rev().find(|revision| revision.status == "deployed");
    let worked = worked.or_else(|| history.iter().rev().find(|revision| revision.status == "superseded"));
    worked.map_or(Recovery::Uninstall, |revision| Recovery::RollBack(revision.revision))
}

impl HelmInstaller {
    /// Installs or upgrades a release, waits for it, and applies what belongs to it.
    pub(super) async fn release(
        &self,
        chart: &ChartRelease,
        target: &Target,
        applier: &Applier<'_>,
        end: Instant,
    ) -> Result<Value, AddonError> {
        let mut resolver = Resolver::new(&target.credentials);
        let values = resolver.resolve(&chart.values)?.to_string().into_bytes();
        applier.namespace(&chart.namespace, chart.pod_security.as_deref()).await?;
        let dir = self.scratch()?;
        let path = self.fetch_chart(chart, dir.path(), end).await?;
        self.recover(chart, target, end).await?;

        let left = end.saturating_duration_since(Instant::now());
        let timeout = left.saturating_sub(MARGIN).as_secs().max(1);
        let mut args: Vec<OsString> = vec!["upgrade".into(), "--install".into()];
        args.extend([chart.release.as_str().into(), path.into_os_string()]);
        args.extend(
            ["--namespace", &chart.namespace, "--values", "-", "--output", "json"].map(OsString::from),
        );
        args.extend(["--history-max".into(), "10".into(), "--timeout".into(), format!("{timeout}s").into()]);
        // Without it, helm takes the values of the last try when it is given none.
        args.push("--reset-values".into());
        if chart.wait {
            args.extend(["--wait".into(), "--wait-for-jobs".into()]);
        }
        tracing::info!(release = chart.release, chart = chart.chart, version = chart.version, "installing");
        let done = self.helm.run(args, Some(&target.kubeconfig), values, left).await?;
        if !done.success {
            return Err(failed("install", chart, &done, |text| resolver.redact(text)));
        }
        // Values and manifest are in there too, and go nowhere.
        let release: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        let objects = applier.apply(&chart.then, &mut resolver).await?;
        Ok(json!({
            "release": chart.release,
            "namespace": chart.namespace,
            "chart": chart.chart,
            "version": release.pointer("/chart/metadata/version").unwrap_or(&json!(chart.version)),
            "revision": release["version"],
            "status": release["info"]["status"],
            "objects": objects,
        }))
    }

    /// Something that helm can install, in `dir` or elsewhere.
    async fn fetch_chart(
        &self,
        chart: &ChartRelease,
        dir: &Path,
        end: Instant,
    ) -> Result<std::path::PathBuf, AddonError> {
        match source::locate(chart, self.mirror.as_ref())? {
            Located::Path(path) => {
                vouched(&path)?;
                Ok(path)
            }
            Located::Embedded => embedded::write(dir),
            Located::Repository(url) => {
                let what = format!("chart `{}`", chart.chart);
                within(end, &what, "fetched", source::download(&self.fetcher, &url, chart, dir)).await
            }
            Located::Oci { reference, plain } => {
                let mut args: Vec<OsString> = vec!["pull".into(), reference.as_str().into()];
                args.extend(["--version".into(), chart.version.as_str().into()]);
                args.extend(["--destination".into(), dir.into()]);
                if plain {
                    args.push("--plain-http".into());
                }
                let left = end.saturating_duration_since(Instant::now());
                let done = self.helm.run(args, None, Vec::new(), left).await?;
                let what = format!("chart `{reference}` {}", chart.version);
                let failed = |kind, said| AddonError::Source { what: what.clone(), kind, said: Words(said) };
                if !done.success {
                    return Err(failed(done.pull_kind(), done.words()));
                }
                let files = fs_err::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
                let archive = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "tgz"));
                archive.ok_or_else(|| failed(ErrorKind::Failed, "helm wrote no archive".to_owned()))
            }
        }
    }

    /// Frees a release that a killed helm left pending.
    async fn recover(&self, chart: &ChartRelease, target: &Target, end: Instant) -> Result<(), AddonError> {
        let run = async |args: &[&str], doing| {
            let left = end.saturating_duration_since(Instant::now());
            let args = args.iter().copied().chain(["--namespace", &chart.namespace]).map(OsString::from);
            let done = self.helm.run(args.collect(), Some(&target.kubeconfig), Vec::new(), left).await?;
            if done.success { Ok(done.stdout) } else { Err(failed(doing, chart, &done, str::to_owned)) }
        };
        // Names hold nothing but letters, digits, dashes and dots.
        let filter = format!("^{}$", chart.release.replace('.', "[.]"));
        let listed = run(&["list", "--all", "--filter", &filter, "--output", "json"], "list").await?;
        let listed: Vec<Listed> = serde_json::from_slice(&listed).unwrap_or_default();
        let Some(listed) = listed.first() else { return Ok(()) };
        if recovery(&listed.status, &[]) == Recovery::Nothing {
            return Ok(());
        }
        let history = run(&["history", &chart.release, "--output", "json"], "look at").await?;
        let history: Vec<Revision> = serde_json::from_slice(&history).unwrap_or_default();
        tracing::warn!(release = chart.release, status = listed.status, "an interrupted change is undone");
        match recovery(&listed.status, &history) {
            Recovery::Nothing => {}
            Recovery::Uninstall => {
                // Its hooks were made for a release that worked.
                run(&["uninstall", &chart.release, "--no-hooks"], "uninstall").await?;
            }
            Recovery::RollBack(revision) => {
                run(&["rollback", &chart.release, &revision.to_string(), "--no-hooks"], "roll back").await?;
            }
        }
        Ok(())
    }
}

fn failed(
    doing: &'static str,
    chart: &ChartRelease,
    done: &Outcome,
    redact: impl Fn(&str) -> String,
) -> AddonError {
    AddonError::Helm {
        doing,
        release: chart.release.clone(),
        namespace: chart.namespace.clone(),
        kind: done.release_kind(),
        said: Words(redact(&done.words())),
    }
}

/// Compares an archive of a mirror with the mirror's checksums, if it has any. A folder is what somebody
/// works on, and has none.
fn vouched(path: &Path) -> Result<(), AddonError> {
    let Some((dir, name)) = path.parent().zip(path.file_name()).filter(|_| path.is_file()) else {
        return Ok(());
    };
    let Some(sums) = Sums::of(dir)? else { return Ok(()) };
    let bytes = fs_err::read(path).map_err(|source| AddonError::Read { path: path.to_owned(), source })?;
    sums.check(&name.to_string_lossy(), &bytes)
}

/// Ends what takes too long.
pub(super) async fn within<T>(
    end: Instant,
    what: &str,
    wanted: &'static str,
    work: impl Future<Output = Result<T, AddonError>>,
) -> Result<T, AddonError> {
    let limit = end.saturating_duration_since(Instant::now());
    tokio::time::timeout_at(end, work)
        .await
        .unwrap_or_else(|_| Err(AddonError::Late { what: what.to_owned(), wanted, limit }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_release_goes_back_to_what_worked_or_away() {
        let history = |states: &[&str]| -> Vec<Revision> {
            let revision = |(number, status): (usize, &&str)| Revision {
                revision: number as u64 + 1,
                status: (*status).to_owned(),
            };
            states.iter().enumerate().map(revision).collect()
        };
        for (status, states, wanted) in [
            ("deployed", vec!["deployed"], Recovery::Nothing),
            ("failed", vec!["failed"], Recovery::Nothing),
            ("pending-install", vec!["pending-install"], Recovery::Uninstall),
            ("pending-upgrade", vec!["failed", "pending-upgrade"], Recovery::Uninstall),
            ("pending-upgrade", vec!["superseded", "deployed", "pending-upgrade"], Recovery::RollBack(2)),
            ("pending-rollback", vec!["superseded", "failed", "pending-rollback"], Recovery::RollBack(1)),
            ("uninstalling", vec!["uninstalling"], Recovery::Uninstall),
        ] {
            assert_eq!(recovery(status, &history(&states)), wanted, "{status} {states:?}");
        }
    }
}
