//! Tenant clusters as a table, and as objects under `-o json|yaml|jsonpath`.

use std::cmp::Ordering;

use butler_core::tenant::Summary;
use butler_term::{
    Ui,
    output::{Cell, Render, Table, View, age},
};
use clap::ValueEnum;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

/// Warnings about single objects before they are only counted.
const MOST_WARNINGS: usize = 10;

/// What a list is sorted by; ties go by namespace and name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    /// Namespace, then name
    #[default]
    #[value(alias = ".metadata.namespace")]
    Namespace,
    /// Name
    #[value(alias = ".metadata.name")]
    Name,
    /// Oldest first
    #[value(alias = ".metadata.creationTimestamp")]
    Age,
    /// Phase
    #[value(alias = ".status.phase")]
    Phase,
    /// Kubernetes version, lowest first
    #[value(alias = ".spec.kubernetesVersion")]
    Version,
    /// Number of workers, fewest first
    #[value(alias = ".spec.workers.replicas")]
    Workers,
}

impl SortBy {
    /// Compares two clusters.
    pub(crate) fn compare(self, a: &Summary, b: &Summary) -> Ordering {
        let place = (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name));
        let first = match self {
            Self::Namespace => Ordering::Equal,
            Self::Name => a.name.cmp(&b.name),
            Self::Age => a.created.cmp(&b.created),
            Self::Phase => a.phase().cmp(b.phase()),
            Self::Version => numbers(a.version.as_deref()).cmp(&numbers(b.version.as_deref())),
            Self::Workers => a.workers.cmp(&b.workers),
        };
        first.then(place)
    }
}

/// `v1.9.0` comes before `v1.10.0`.
fn numbers(version: Option<&str>) -> Vec<u64> {
    let parts = version.unwrap_or_default().trim_start_matches('v').split(['.', '-', '+']);
    parts.map(|part| part.parse().unwrap_or(0)).collect()
}

/// The table: ENV only when a cluster has one, NAMESPACE only when there may be several.
pub(crate) fn table(clusters: &[Summary], all_namespaces: bool, view: &View) -> Table {
    let environments = clusters.iter().any(|cluster| cluster.environment.is_some());
    let columns = [
        ("name", true),
        ("namespace", all_namespaces),
        ("env", environments),
        ("phase", true),
        ("k8s version", true),
        ("workers", true),
        ("age", true),
        ("endpoint", view.wide),
        ("provider", view.wide),
    ];
    let mut table = Table::new(columns.iter().filter(|(_, shown)| *shown).map(|(name, _)| *name));
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    for cluster in clusters {
        let cells: [Cell; 9] = [
            cluster.name.clone().into(),
            cluster.namespace.clone().into(),
            or_dash(&cluster.environment).into(),
            Cell::phase(cluster.phase()),
            or_dash(&cluster.version).into(),
            cluster.workers.to_string().into(),
            age(cluster.created, view.now).into(),
            or_dash(&cluster.endpoint).into(),
            or_dash(&cluster.provider).into(),
        ];
        table.push(cells.into_iter().zip(&columns).filter(|(_, (_, shown))| *shown).map(|(cell, _)| cell));
    }
    table
}

/// `tenantcluster/<name>`
pub(crate) fn name(cluster: &Summary) -> String {
    format!("tenantcluster/{}", cluster.name)
}

/// Warns about objects that do not fit their kind.
pub(crate) fn warn(ui: &Ui, clusters: &[Summary]) {
    let bad: Vec<_> = clusters.iter().filter_map(|cluster| Some((cluster, cluster.problem?))).collect();
    for (cluster, field) in bad.iter().take(MOST_WARNINGS) {
        ui.warning(format_args!(
            "tenant cluster `{}` in namespace `{}` cannot be read: see its field `{field}`",
            cluster.name, cluster.namespace
        ));
    }
    if bad.len() > MOST_WARNINGS {
        ui.warning(format_args!("{} more tenant clusters cannot be read", bad.len() - MOST_WARNINGS));
    }
}

/// Whole objects in a `List`, as kubectl prints them.
pub(crate) struct Objects {
    pub(crate) items: Vec<Value>,
    pub(crate) all_namespaces: bool,
}

impl Serialize for Objects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("apiVersion", "v1")?;
        map.serialize_entry("kind", "List")?;
        map.serialize_entry("items", &self.items)?;
        map.end()
    }
}

impl Render for Objects {
    fn table(&self, view: &View) -> Table {
        let clusters: Vec<Summary> = self.items.iter().map(Summary::of).collect();
        table(&clusters, self.all_namespaces, view)
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|item| name(&Summary::of(item))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_sorted_by_number() {
        let mut versions = ["v1.10.0", "v1.9.12", "", "v1.9.2", "v1.10.0-rc.1"];
        versions.sort_by_key(|version| numbers(Some(version)));
        assert_eq!(versions, ["", "v1.9.2", "v1.9.12", "v1.10.0", "v1.10.0-rc.1"]);
    }
}
