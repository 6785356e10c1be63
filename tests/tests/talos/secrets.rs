//! The secrets bundle and the talosconfig, across both programs.

use std::fs;

use anyhow::Result;
use butler_core::pki::CertificateInfo;
use butler_operator::talos::{secrets::SecretsBundle, talosconfig::Talosconfig};
use jiff::Timestamp;

use super::{bundle, talosctl_says};

#[test]
fn talosctl_derives_the_same_authorities_from_our_bundle() -> Result<()> {
    let home = tempfile::tempdir()?;
    let bundle = bundle()?;
    fs::write(home.path().join("secrets.yaml"), bundle.to_yaml()?.expose())?;
    talosctl_says(
        home.path(),
        &["gen", "config", "prod", "https://10.0.0.1:6443", "--with-secrets", "secrets.yaml"],
    )?;
    for file in ["controlplane.yaml", "worker.yaml"] {
        talosctl_says(home.path(), &["validate", "--strict", "--mode", "metal", "--config", file])?;
    }
    let theirs = Talosconfig::from_yaml(&fs::read_to_string(home.path().join("talosconfig"))?.into())?;
    let context = theirs.current()?;
    assert_eq!(context.ca, bundle.certs.os.crt);
    let root = CertificateInfo::from_pem(&bundle.certs.os.crt)?;
    assert!(CertificateInfo::from_pem(&context.crt)?.signed_by(&root), "talosctl signs with our key");
    Ok(())
}

#[test]
fn we_keep_every_value_of_a_bundle_that_talosctl_made() -> Result<()> {
    let home = tempfile::tempdir()?;
    talosctl_says(home.path(), &["gen", "secrets", "-o", "theirs.yaml"])?;
    let theirs = fs::read_to_string(home.path().join("theirs.yaml"))?;
    let bundle = SecretsBundle::from_yaml(&theirs.as_str().into())?;
    // Written again it is the same file, so talosctl takes it back with every identity unchanged.
    assert!(bundle.to_yaml()?.expose() == theirs, "the file changed");

    let ours = Talosconfig::admin("prod", &bundle, vec!["10.0.0.1".into()], Timestamp::now())?;
    let context = ours.current()?;
    let root = CertificateInfo::from_pem(&bundle.certs.os.crt)?;
    assert!(CertificateInfo::from_pem(&context.crt)?.signed_by(&root), "we sign with their key");
    for authority in [&bundle.certs.k8s, &bundle.certs.k8saggregator, &bundle.certs.etcd] {
        authority.authority()?;
    }
    Ok(())
}

#[test]
fn talosctl_reads_our_talosconfig_and_merges_it() -> Result<()> {
    let home = tempfile::tempdir()?;
    let config = Talosconfig::admin("prod", &bundle()?, vec!["10.0.0.1".into()], Timestamp::now())?;
    fs::write(home.path().join("ours"), config.to_yaml()?.expose())?;
    let said = talosctl_says(home.path(), &["config", "info", "--talosconfig", "ours"])?;
    for line in
        ["Current context:     prod", "Nodes:               10.0.0.1", "Roles:               os:admin"]
    {
        assert!(said.contains(line), "no `{line}` in {said}");
    }

    // Both programs merge the same way.
    fs::write(home.path().join("base"), config.to_yaml()?.expose())?;
    talosctl_says(home.path(), &["config", "merge", "ours", "--talosconfig", "base"])?;
    let theirs = Talosconfig::from_yaml(&fs::read_to_string(home.path().join("base"))?.into())?;
    let mut merged = config.clone();
    merged.merge(config);
    assert_eq!(theirs, merged);
    Ok(())
}
