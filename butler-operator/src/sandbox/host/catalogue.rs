//! What there is to find at the host: one network, some images, sizes, a storage and a zone.

use std::collections::BTreeMap;

use super::{network::Network, wire::ImageSpecBody};
use crate::driver::{Find, Found};

/// The zone every machine is in.
pub(super) const ZONE: &str = "local";

/// The image that is always there.
pub(super) fn builtin_image(talos_version: &str) -> String {
    format!("talos-{talos_version}")
}

/// The version of Talos an image holds: the first one its name or its address spells out.
pub(super) fn version_of(image: &str, images: &BTreeMap<String, ImageSpecBody>) -> Option<String> {
    let spelt = |text: &str| {
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
            .map(|word| word.trim_matches('.'))
            .find(|word| word.strip_prefix('v').is_some_and(|number| semver::Version::parse(number).is_ok()))
            .map(str::to_owned)
    };
    spelt(image).or_else(|| spelt(&images.get(image)?.url))
}

/// What there is of a kind.
pub(super) fn find(
    kind: Find,
    network: &Network,
    talos_version: &str,
    images: &BTreeMap<String, ImageSpecBody>,
) -> Vec<Found> {
    let found = |id: &str, name: &str, description: String| Found {
        id: id.to_owned(),
        name: name.to_owned(),
        description: Some(description),
    };
    match kind {
        Find::Networks => vec![found("sandbox", "sandbox", network.to_string())],
        Find::Images => {
            let builtin = builtin_image(talos_version);
            let brought = images.values().map(|image| found(&image.name, &image.name, image.url.clone()));
            [found(&builtin, &builtin, format!("Talos {talos_version}, built in"))]
                .into_iter()
                .chain(brought)
                .collect()
        }
        Find::Sizes => [("small", 2, 2), ("medium", 4, 8), ("large", 8, 16)]
            .map(|(name, cpu, memory)| found(name, name, format!("{cpu} cores, {memory} GiB")))
            .into(),
        Find::Storage => vec![found("disk", "disk", "the disk of this machine".to_owned())],
        Find::Zones => vec![found(ZONE, ZONE, "this machine".to_owned())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_an_image_is_where_somebody_wrote_it() {
        let image = |url: &str| ImageSpecBody { name: "mine".into(), url: url.into(), sha256: None };
        let images =
            BTreeMap::from([("mine".to_owned(), image("https://factory/x/v1.10.3/nocloud-amd64.raw.xz"))]);
        assert_eq!(version_of("mine", &images).as_deref(), Some("v1.10.3"));
        assert_eq!(version_of("talos-v1.11.5", &images).as_deref(), Some("v1.11.5"));
        assert_eq!(version_of("other", &images), None);
    }
}
