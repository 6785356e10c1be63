//! The second pass: what no single key can tell. Every check works on what is there, so that one mistake
//! does not hide another.

mod cluster;
mod network;
mod pools;
mod provider;

use super::{
    problem::{Draft, Findings},
    values::Object,
};
use crate::api::common::ProviderKind;

/// Runs every check.
pub(super) fn all(root: &Object, provider: &ProviderKind, findings: &mut Findings<'_>) {
    let mut check = Check { root, provider, findings };
    cluster::names(&mut check);
    cluster::sizes(&mut check);
    cluster::topology(&mut check);
    cluster::versions(&mut check);
    cluster::addons(&mut check);
    cluster::exposure(&mut check);
    network::packets(&mut check);
    network::unusable(&mut check);
    network::overlaps(&mut check);
    network::sizes(&mut check);
    network::vip(&mut check);
    network::gateway(&mut check);
    pools::network_pool(&mut check);
    pools::provider_network(&mut check);
    provider::block(&mut check);
    provider::runtime(&mut check);
}

struct Check<'c, 's> {
    root: &'c Object,
    provider: &'c ProviderKind,
    findings: &'c mut Findings<'s>,
}

impl Check<'_, '_> {
    fn error(&mut self, path: &str, message: impl Into<String>, suggestion: impl Into<String>) {
        let draft = Draft::error(path, self.root.span(path), message);
        self.findings.push(draft.suggest(suggestion));
    }

    fn warning(&mut self, path: &str, message: impl Into<String>, suggestion: impl Into<String>) {
        let draft = Draft::warning(path, self.root.span(path), message);
        self.findings.push(draft.suggest(suggestion));
    }
}
