//! A changed configuration: what changed, and whether a run that has come this far can go on with it.
//!
//! A key can be changed until something was made from it. What was made is read from the journal: a machine
//! that was announced may exist with its old size, whether its result is known or not.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;
use serde_json::Value;

use super::{RunState, steps};
use crate::bootstrap::config::{Config, SecretSource};

/// One key that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The key, as in the file.
    pub path: String,
    /// What it was; none when it was not there. Never a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// What it is; none when it is gone. Never a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// Whether the run can go on with it.
    pub safety: Safety,
    /// Why.
    pub why: &'static str,
}

/// Whether a run can go on with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Safety {
    /// Nothing was made from the old value.
    Safe,
    /// Something was.
    Unsafe,
}

impl Change {
    /// True when the run cannot go on with it.
    pub fn is_unsafe(&self) -> bool {
        self.safety == Safety::Unsafe
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, old, new, safety, why } = self;
        match (old, new) {
            (None, None) => write!(f, "{path}: changed")?,
            (old, new) => {
                let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "(not given)".to_owned());
                write!(f, "{path}: {} → {}", text(old), text(new))?;
            }
        }
        let word = match safety {
            Safety::Safe => "safe",
            Safety::Unsafe => "not possible",
        };
        write!(f, " ({word}: {why})")
    }
}

/// What something must not have happened for a key to be free.
enum Until {
    /// It never is.
    Never,
    /// It always is.
    Ever,
    /// An effect whose name begins like this.
    Step(&'static str),
    /// One of these addons.
    Addons(&'static [&'static str]),
}

/// Keys, until when they may be changed, and what keeps them from it. The first that fits counts.
const RULES: &[(&str, Until, &str)] = &[
    ("cluster.name", Until::Never, "the name is part of every machine and file of the run"),
    ("provider", Until::Never, "a run has one provider"),
    ("providerConfig.sandbox.name", Until::Step(steps::SANDBOX), "the sandbox was started"),
    ("cluster.topology", Until::Step("machine/"), "machines were made for the old shape"),
    ("cluster.controlPlane", Until::Step("machine/"), "machines were made with the old size"),
    ("cluster.workers", Until::Step("machine/"), "machines were made with the old size"),
    ("providerConfig", Until::Step("machine/"), "machines were made there"),
    ("network.loadBalancerPool", Until::Addons(&["metallb"]), "MetalLB has the old addresses"),
    ("network", Until::Step("talos/configure/"), "machines were configured with the old network"),
    ("talos", Until::Step("talos/configure/"), "machines were configured with the old version or disk"),
    ("charts", Until::Ever, "it is only where charts come from"),
    ("addons.cni", Until::Addons(&["cilium"]), "the addon was installed"),
    ("addons.storage", Until::Addons(&["longhorn"]), "the addon was installed"),
    ("addons.loadBalancer", Until::Addons(&["metallb"]), "the addon was installed"),
    ("addons.controlPlaneHA", Until::Addons(&["kube-vip"]), "the addon was installed"),
    ("addons.certManager", Until::Addons(&["cert-manager"]), "the addon was installed"),
    ("addons.ingress", Until::Addons(&["traefik"]), "the addon was installed"),
    ("addons.controlPlaneProvider", Until::Addons(&["steward"]), "the addon was installed"),
    ("addons.capi", Until::Step("addon/capi"), "the addon was installed"),
    ("addons.butlerController", Until::Addons(&["butler-controller"]), "the addon was installed"),
    ("addons.console", Until::Addons(&["butler-console"]), "the addon was installed"),
    ("addons.gitOps", Until::Addons(&["flux"]), "the addon was installed"),
    ("networkPool", Until::Addons(&["butler-addons"]), "the pool was made"),
    ("providerNetwork", Until::Addons(&["provider-config"]), "the ProviderConfig was made"),
    ("controlPlaneExposure", Until::Addons(&["butler-config-exposure"]), "it is in the ButlerConfig"),
    ("multiTenancyMode", Until::Addons(&["butler-addons"]), "it is in the ButlerConfig"),
    ("bootstrapCluster", Until::Step(steps::TEMPORARY), "the temporary cluster was made so"),
    ("", Until::Never, "a run keeps what it began with"),
];

const FREE: &str = "nothing was made from it yet";

/// What changed between two configurations of a run that is this far, in the order of the keys.
pub fn compare(old: &Config, new: &Config, state: &RunState) -> Vec<Change> {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    flatten("", &without_secrets(old), &mut before);
    flatten("", &without_secrets(new), &mut after);
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    let mut changes: Vec<Change> = changed
        .map(|path| {
            let (safety, why) = judge(path, new, state);
            let (old, new) = (before.get(path).cloned(), after.get(path).cloned());
            Change { path: path.clone(), old, new, safety, why }
        })
        .collect();
    if old.provider_kind() == new.provider_kind() {
        changes.extend(secrets(old, new));
    }
    changes
}

fn judge(path: &str, new: &Config, state: &RunState) -> (Safety, &'static str) {
    if let Some(pool) =
        ["cluster.controlPlane", "cluster.workers"].into_iter().find(|pool| path.starts_with(pool))
    {
        return judge_pool(path, pool, new, state);
    }
    let under = |key: &str| {
        key.is_empty() || path == key || path.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
    };
    let (_, until, reason) = RULES.iter().find(|(key, ..)| under(key)).unwrap_or(&RULES[RULES.len() - 1]);
    let made = match until {
        Until::Never => true,
        Until::Ever => return (Safety::Safe, reason),
        Until::Step(beginning) => state.has_announced(beginning),
        Until::Addons(keys) => keys.iter().any(|key| state.announced.contains(&steps::addon(key))),
    };
    if made { (Safety::Unsafe, reason) } else { (Safety::Safe, FREE) }
}

/// Machines of a pool can be other ones until the first was announced, and more until they are configured.
fn judge_pool(path: &str, pool: &str, new: &Config, state: &RunState) -> (Safety, &'static str) {
    let (role, wanted) = match pool {
        "cluster.controlPlane" => ("cp", new.machines().0),
        _ => ("worker", new.machines().1),
    };
    let prefix = format!("{}-{role}-", steps::machine(&new.cluster.name));
    let numbers = state.announced.iter().filter_map(|step| step.strip_prefix(&prefix)?.parse::<u32>().ok());
    match numbers.max() {
        None if state.has_announced("talos/configure/") => {
            (Safety::Unsafe, "the machines of the cluster are being configured")
        }
        None => (Safety::Safe, FREE),
        Some(_) if !path.ends_with(".replicas") => (Safety::Unsafe, "machines were made with the old size"),
        Some(last) if wanted <= last => (Safety::Unsafe, "more machines than that were made"),
        Some(_) if state.has_announced("talos/configure/") => {
            (Safety::Unsafe, "the machines of the cluster are being configured")
        }
        Some(_) => (Safety::Safe, "the machines that were made stay, others are added"),
    }
}

/// The document without what is compared as a secret.
fn without_secrets(config: &Config) -> Value {
    let mut document = config.document();
    let block = &mut document["providerConfig"][config.provider_kind().as_str()];
    if let Some(block) = block.as_object_mut() {
        for (key, _) in config.provider.secrets() {
            block.remove(key);
        }
    }
    document
}

/// Credentials may always be others: they open the same provider. Where they are is shown, what they are is
/// not.
fn secrets(old: &Config, new: &Config) -> Vec<Change> {
    let (before, after) = (old.provider.secrets(), new.provider.secrets());
    let shown = |source: &SecretSource| match source {
        // A stand-in of a document stands for the same.
        SecretSource::Plain(_) => None,
        SecretSource::Env(name) if name.starts_with("BUTLER_SECRET_") => None,
        source => Some(source.to_string()),
    };
    let mut keys: Vec<&str> = before.iter().chain(&after).map(|(key, _)| *key).collect();
    keys.sort_unstable();
    keys.dedup();
    let find = |all: &[(&str, &SecretSource)], key: &str| {
        all.iter().find(|(name, _)| *name == key).map(|(_, source)| (*source).clone())
    };
    let changed = keys.into_iter().filter_map(|key| {
        let (old, new) = (find(&before, key), find(&after, key));
        let (then, now) = (old.as_ref().and_then(shown), new.as_ref().and_then(shown));
        let differs = match (&old, &new) {
            (Some(SecretSource::Plain(old)), Some(SecretSource::Plain(new))) => old != new,
            _ => then != now || old.is_some() != new.is_some(),
        };
        let clear = |source: Option<SecretSource>, shown: Option<String>| {
            shown.or_else(|| source.map(|_| "a value in the configuration".to_owned()))
        };
        differs.then(|| {
            let both_plain = then.is_none() && now.is_none();
            let (old, new) = if both_plain { (None, None) } else { (clear(old, then), clear(new, now)) };
            (key.to_owned(), old, new)
        })
    });
    let block = format!("providerConfig.{}", new.provider_kind());
    let change = |(key, old, new)| Change {
        path: format!("{block}.{key}"),
        old,
        new,
        safety: Safety::Safe,
        why: "credentials may be others for the same provider",
    };
    changed.map(change).collect()
}

fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, into);
            }
        }
        Value::String(text) => drop(into.insert(path.to_owned(), text.clone())),
        value => drop(into.insert(path.to_owned(), value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;

    use super::*;
    use crate::{
        bootstrap::config::tests::{NUTANIX, read_text, with},
        event::RunId,
    };

    fn state(announced: &[&str]) -> RunState {
        let mut state = RunState::of(&RunId::new(Timestamp::UNIX_EPOCH), &[], None);
        state.announced = announced.iter().map(|step| (*step).to_owned()).collect();
        state
    }

    const MACHINES: &[&str] = &["temporary-cluster", "machine/mgmt-cp-0", "machine/mgmt-worker-0"];
    const CONFIGURED: &[&str] = &["machine/mgmt-cp-0", "machine/mgmt-worker-1", "talos/configure/mgmt-cp-0"];
    const ADDONS: &[&str] =
        &["machine/mgmt-cp-0", "talos/configure/mgmt-cp-0", "addon/cilium", "addon/metallb"];
    const CP: &str = "controlPlane: {replicas: 3, cpu: 4";
    const WORKERS: &str = "workers: {replicas: 2, cpu: 4";

    #[rstest]
    #[case::name("name: mgmt", "name: other", &[], "cluster.name", Safety::Unsafe)]
    #[case::size_before(CP, "controlPlane: {replicas: 3, cpu: 8", &[], "cluster.controlPlane.cpu", Safety::Safe)]
    #[case::size_after(
        CP,
        "controlPlane: {replicas: 3, cpu: 8",
        MACHINES,
        "cluster.controlPlane.cpu",
        Safety::Unsafe
    )]
    #[case::fewer_before(CP, "controlPlane: {replicas: 1, cpu: 4", &[], "cluster.controlPlane.replicas", Safety::Safe)]
    #[case::growth(
        WORKERS,
        "workers: {replicas: 5, cpu: 4",
        MACHINES,
        "cluster.workers.replicas",
        Safety::Safe
    )]
    #[case::late_growth(
        WORKERS,
        "workers: {replicas: 5, cpu: 4",
        CONFIGURED,
        "cluster.workers.replicas",
        Safety::Unsafe
    )]
    #[case::fewer_than_made(
        WORKERS,
        "workers: {replicas: 1, cpu: 4",
        CONFIGURED,
        "cluster.workers.replicas",
        Safety::Unsafe
    )]
    #[case::fewer_of_which_none_was_made(
        WORKERS,
        "workers: {replicas: 1, cpu: 4",
        MACHINES,
        "cluster.workers.replicas",
        Safety::Safe
    )]
    #[case::address_before("vip: 172.20.8.20", "vip: 172.20.8.21", MACHINES, "network.vip", Safety::Safe)]
    #[case::address_after("vip: 172.20.8.20", "vip: 172.20.8.21", CONFIGURED, "network.vip", Safety::Unsafe)]
    #[case::cidr_before("vip:", "podCIDR: 10.200.0.0/16\n  vip:", MACHINES, "network.podCIDR", Safety::Safe)]
    #[case::cidr_after("vip:", "podCIDR: 10.200.0.0/16\n  vip:", ADDONS, "network.podCIDR", Safety::Unsafe)]
    #[case::pool_before(
        "end: 172.20.8.49",
        "end: 172.20.8.60",
        CONFIGURED,
        "network.loadBalancerPool.end",
        Safety::Safe
    )]
    #[case::pool_after(
        "end: 172.20.8.49",
        "end: 172.20.8.60",
        ADDONS,
        "network.loadBalancerPool.end",
        Safety::Unsafe
    )]
    #[case::place_before("prism.example.org", "prism2.example.org", &[], "providerConfig.nutanix.endpoint", Safety::Safe)]
    #[case::place_after(
        "prism.example.org",
        "prism2.example.org",
        MACHINES,
        "providerConfig.nutanix.endpoint",
        Safety::Unsafe
    )]
    #[case::addon_before(
        "network:",
        "addons: {cni: {version: '1'}}\nnetwork:",
        CONFIGURED,
        "addons.cni.version",
        Safety::Safe
    )]
    #[case::addon_after(
        "network:",
        "addons: {cni: {version: '1'}}\nnetwork:",
        ADDONS,
        "addons.cni.version",
        Safety::Unsafe
    )]
    #[case::another_addon(
        "network:",
        "addons: {console: {enabled: false}}\nnetwork:",
        ADDONS,
        "addons.console.enabled",
        Safety::Safe
    )]
    #[case::mirror(
        "network:",
        "charts: {mirror: 'oci://x/y'}\nnetwork:",
        ADDONS,
        "charts.mirror",
        Safety::Safe
    )]
    #[case::runtime_before("network:", "bootstrapCluster: {runtime: process}\nnetwork:", &[], "bootstrapCluster.runtime", Safety::Safe)]
    #[case::runtime_after(
        "network:",
        "bootstrapCluster: {runtime: process}\nnetwork:",
        MACHINES,
        "bootstrapCluster.runtime",
        Safety::Unsafe
    )]
    #[case::talos(
        "network:",
        "talos: {version: v1.11.5}\nnetwork:",
        CONFIGURED,
        "talos.version",
        Safety::Unsafe
    )]
    fn a_key_is_free_until_something_was_made_from_it(
        #[case] old: &str,
        #[case] new: &str,
        #[case] announced: &[&str],
        #[case] path: &str,
        #[case] safety: Safety,
    ) {
        let (before, after) =
            (read_text(NUTANIX).unwrap().config, read_text(&with(NUTANIX, old, new)).unwrap().config);
        let changes = compare(&before, &after, &state(announced));
        let change =
            changes.iter().find(|change| change.path == path).unwrap_or_else(|| panic!("{changes:?}"));
        assert_eq!(change.safety, safety, "{change}");
        // What the journal keeps in place of the file says the same.
        let kept = read_text(&before.document().to_string()).unwrap().config;
        assert_eq!(compare(&kept, &after, &state(announced)), changes);
    }

    #[test]
    fn another_provider_is_another_run() {
        let before = read_text(NUTANIX).unwrap().config;
        let after = read_text("provider: sandbox\ncluster: {name: mgmt, topology: single-node, controlPlane: {replicas: 1, cpu: 2, memoryMB: 2048, diskGB: 20}}\n").unwrap().config;
        let changes = compare(&before, &after, &state(&[]));
        assert!(changes.iter().any(|change| change.path == "provider" && change.is_unsafe()), "{changes:?}");
    }

    #[test]
    fn secrets_may_change_and_are_never_shown() {
        let before = read_text(NUTANIX).unwrap().config;
        let after = read_text(&with(NUTANIX, "hunter2", "hunter3")).unwrap().config;
        let changes = compare(&before, &after, &state(ADDONS));
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert!(!changes[0].is_unsafe());
        assert_eq!(
            changes[0].to_string(),
            "providerConfig.nutanix.password: changed (safe: credentials may be others for the same provider)"
        );
        let by_name = read_text(&with(NUTANIX, "hunter2", "{env: PRISM_PASSWORD}")).unwrap().config;
        let changes = compare(&before, &by_name, &state(ADDONS));
        assert!(
            changes[0]
                .to_string()
                .contains("a value in the configuration → environment variable `PRISM_PASSWORD`"),
            "{}",
            changes[0]
        );
        assert!(!format!("{changes:?}").contains("hunter"));
        // The journal does not know what it was, so it cannot say that it changed.
        let kept = read_text(&before.document().to_string()).unwrap().config;
        assert_eq!(compare(&kept, &after, &state(ADDONS)), []);
    }

    #[test]
    fn words_and_order_are_no_change() {
        let before = read_text(NUTANIX).unwrap().config;
        let after =
            read_text(&format!("# a comment\n{NUTANIX}talos: {{installDisk: /dev/vda}}\n")).unwrap().config;
        assert_eq!(compare(&before, &after, &state(ADDONS)), []);
    }
}
