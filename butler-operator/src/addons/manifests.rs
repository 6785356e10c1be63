//! Manifests that somebody publishes: fetched, checked, filled in, applied.

use std::collections::BTreeMap;

use butler_core::{bootstrap::addons::PublishedManifests, cluster::crds, error::ErrorKind};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    AddonError, HelmInstaller, Target,
    apply::Applier,
    digests::Sums,
    error::Words,
    fetch::{failure, sha256},
    release::within,
    secrets::Resolver,
    source::Mirror,
    substitute::substitute,
};

const LIMIT: usize = 16 << 20;

impl HelmInstaller {
    pub(super) async fn manifests(
        &self,
        manifests: &PublishedManifests,
        target: &Target,
        applier: &Applier<'_>,
        end: Instant,
    ) -> Result<Value, AddonError> {
        let mut resolver = Resolver::new(&target.credentials);
        let (text, vouched) = within(end, &manifests.name, "fetched", self.text(manifests)).await?;
        let digest = sha256(&text);
        if let Some(published) = manifests.sha256.as_ref().filter(|published| **published != digest) {
            let said = format!("they have SHA-256 {digest}, and {published} is expected");
            return Err(failure(&format!("manifests `{}`", manifests.name), ErrorKind::Invalid, said));
        }
        let verified = vouched || manifests.sha256.is_some();
        if !verified {
            tracing::warn!(
                manifests = manifests.name,
                sha256 = digest,
                "fetched; no digest to compare with is known"
            );
        }
        let mut objects = parse(&manifests.name, &text)?;
        let mut variables = BTreeMap::new();
        for (name, value) in &manifests.variables {
            let value = resolver.resolve(value)?;
            // A credential that is optional and not there leaves the publisher's default.
            if !value.is_null() {
                variables.insert(name.clone(), value);
            }
        }
        let missing: Vec<_> = objects.iter_mut().flat_map(|object| substitute(object, &variables)).collect();
        if !missing.is_empty() {
            let said = format!("nobody gives a value to {}", missing.join(", "));
            return Err(invalid(&manifests.name, said));
        }
        tracing::info!(manifests = manifests.name, objects = objects.len(), "applying");
        let names = applier.apply(&objects, &mut resolver).await?;
        let limit = end.saturating_duration_since(Instant::now());
        crds::established(&target.client, &manifests.established, limit).await?;
        let mut workloads: Vec<String> = objects.iter().filter_map(deployment).collect();
        for namespace in &manifests.available {
            workloads.extend(applier.deployments(namespace).await?);
        }
        workloads.sort();
        workloads.dedup();
        applier.rolled_out(&workloads).await?;
        Ok(json!({
            "manifests": manifests.name, "sha256": digest, "verified": verified, "objects": names.len(),
            "workloads": workloads,
        }))
    }

    /// The file, from the mirror or its publisher, and whether the mirror vouches for it.
    async fn text(&self, manifests: &PublishedManifests) -> Result<(Vec<u8>, bool), AddonError> {
        let name = &manifests.name;
        let what = format!("manifests `{name}`");
        let file = format!("{name}.yaml");
        let (text, sums) = match &self.mirror {
            Some(Mirror::Directory(dir)) => {
                let path = dir.join(&file);
                let text = fs_err::read(&path).map_err(|source| match source.kind() {
                    std::io::ErrorKind::NotFound => {
                        let said = format!("`{}` is not there", path.display());
                        failure(&format!("{what} from the mirror"), ErrorKind::Invalid, said)
                    }
                    _ => AddonError::Read { path, source },
                })?;
                (text, Sums::of(dir)?)
            }
            Some(Mirror::Repository(url)) => {
                let text = self.fetcher.get(&what, &format!("{url}/{file}"), LIMIT).await?;
                (text, self.fetcher.sums(url).await?)
            }
            Some(Mirror::Oci(_)) | None => (self.fetcher.get(&what, &manifests.url, LIMIT).await?, None),
        };
        if let Some(sums) = &sums {
            sums.check(&file, &text)?;
        }
        Ok((text, sums.is_some()))
    }
}

fn invalid(name: &str, said: impl Into<String>) -> AddonError {
    AddonError::Invalid { what: format!("manifests `{name}`"), said: Words::new(said) }
}

/// The objects of a file; lists are taken apart.
fn parse(name: &str, text: &[u8]) -> Result<Vec<Value>, AddonError> {
    let text = std::str::from_utf8(text).map_err(|_| invalid(name, "they are not text"))?;
    // The size is limited already, and definitions are long.
    let options = serde_saphyr::options! { budget: None };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
        let place = error.location().map(|place| format!("line {}: ", place.line()));
        invalid(name, format!("{}not valid YAML", place.unwrap_or_default()))
    })?;
    let mut objects = Vec::new();
    for document in documents {
        match document {
            Value::Null => {}
            Value::Object(mut map) if map.get("kind").and_then(Value::as_str) == Some("List") => {
                match map.remove("items") {
                    Some(Value::Array(items)) => objects.extend(items),
                    _ => return Err(invalid(name, "a list without items")),
                }
            }
            Value::Object(map) => objects.push(Value::Object(map)),
            _ => return Err(invalid(name, "a document is not an object")),
        }
    }
    if objects.is_empty() {
        return Err(invalid(name, "they are empty"));
    }
    Ok(objects)
}

fn deployment(object: &Value) -> Option<String> {
    if object["kind"] != "Deployment" {
        return None;
    }
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or("default");
    Some(format!("deployment/{namespace}/{}", metadata["name"].as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_lists_become_objects() {
        let text = "---\n# nothing\n---\nkind: A\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n";
        let kinds: Vec<_> =
            parse("x", text.as_bytes()).unwrap().into_iter().map(|o| o["kind"].clone()).collect();
        assert_eq!(kinds, ["A", "B", "C"]);
        for bad in ["", "a: [", "- a", "kind: List", "\u{0}"] {
            assert!(parse("x", bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
