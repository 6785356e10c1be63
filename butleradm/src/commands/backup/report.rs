//! What `backup` prints as data.

use butler_core::api::API_VERSION;
use butler_operator::backup::{Created, Verified};
use butler_term::output::{Render, Table, View};
use serde::Serialize;

/// A size as people say it.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

macro_rules! report {
    ($name:ident, $of:ident, $kind:literal) => {
        #[doc = concat!("A `", $kind, "`.")]
        #[derive(Debug, Serialize)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct $name {
            api_version: &'static str,
            kind: &'static str,
            #[serde(flatten)]
            of: $of,
        }

        impl From<$of> for $name {
            fn from(of: $of) -> Self {
                Self { api_version: API_VERSION, kind: $kind, of }
            }
        }
    };
}

report!(CreatedReport, Created, "BackupCreated");
report!(VerifiedReport, Verified, "BackupVerified");

impl Render for CreatedReport {
    fn table(&self, _: &View) -> Table {
        let mut table = Table::new(["cluster", "size", "etcd", "objects", "file"]);
        let Created { header, bytes, snapshot_bytes, objects, path } = &self.of;
        let row = [
            header.cluster.clone(),
            size(*bytes),
            size(*snapshot_bytes),
            objects.to_string(),
            path.display().to_string(),
        ];
        table.push(row.map(Into::into));
        table
    }

    fn names(&self) -> Vec<String> {
        vec![self.of.path.display().to_string()]
    }
}

impl Render for VerifiedReport {
    fn table(&self, _: &View) -> Table {
        let mut table = Table::new(["what", "found"]);
        let Verified { header, bytes, contents, .. } = &self.of;
        let mut rows = vec![
            ("cluster".to_owned(), header.cluster.clone()),
            ("created".to_owned(), header.created.strftime("%F %T UTC").to_string()),
            ("size".to_owned(), size(*bytes)),
            ("kubernetes".to_owned(), header.kubernetes.clone()),
        ];
        if let Some(contents) = contents {
            rows.push(("etcd".to_owned(), size(contents.snapshot_bytes)));
            rows.push(("records".to_owned(), contents.records.to_string()));
            rows.extend(contents.objects.iter().map(|(kind, count)| (kind.clone(), count.to_string())));
        }
        for (what, found) in rows {
            table.push([what.into(), found.into()]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        vec![self.of.path.display().to_string()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let said = [0, 1023, 1024, 5 << 20, 3 << 40].map(size);
        assert_eq!(said, ["0 B", "1023 B", "1.0 KiB", "5.0 MiB", "3072.0 GiB"]);
    }
}
