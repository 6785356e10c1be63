//! The chart of our own controllers, which this program carries.

use std::path::{Path, PathBuf};

use butler_core::settings::home::{make_private_dir, write_private};

use super::AddonError;

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../charts/butler/", $name)))),+]
    };
}

/// Every file of `charts/butler`, by its path in there; a test compares it with the directory.
pub const CHART: &[(&str, &str)] = files![
    "Chart.yaml",
    "README.md",
    "values.yaml",
    "values.schema.json",
    "templates/NOTES.txt",
    "templates/_helpers.tpl",
    "templates/deployment.yaml",
    "templates/disruption.yaml",
    "templates/rbac.yaml",
    "templates/service.yaml",
    "templates/serviceaccount.yaml",
];

/// Writes the chart into a directory, for helm.
pub(super) fn write(dir: &Path) -> Result<PathBuf, AddonError> {
    let chart = dir.join("butler");
    make_private_dir(&chart.join("templates"))?;
    for (name, text) in CHART {
        write_private(&chart.join(name), text.as_bytes())?;
    }
    Ok(chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_directory_is_carried_and_of_our_version() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/butler");
        let mut found = Vec::new();
        let mut dirs = vec![root.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in fs_err::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => dirs.push(path),
                    false => found.push(path.strip_prefix(&root).unwrap().display().to_string()),
                }
            }
        }
        found.sort();
        let mut carried: Vec<_> = CHART.iter().map(|(name, _)| (*name).to_owned()).collect();
        carried.sort();
        assert_eq!(carried, found);
        let version = env!("CARGO_PKG_VERSION");
        for line in [format!("version: {version}"), format!("appVersion: \"{version}\"")] {
            assert!(CHART[0].1.lines().any(|found| found == line), "{line}");
        }
    }
}
