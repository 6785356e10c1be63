use anyhow::Result;
use butler_core::api::KINDS;
use butler_tests::{ControlPlane, Env, part};

#[tokio::test]
async fn the_printed_stream_is_what_kubectl_accepts_and_apply_takes_it_over() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let env = Env::new()?;
    let kubeconfig = plane.kubeconfig();
    let butleradm = || env.command(env!("CARGO_BIN_EXE_butleradm")).arg("crds");

    let stream = butleradm().run()?.success()?;
    assert_eq!(stream.stderr, "");
    let created = env
        .command(part("kubectl")?)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["apply", "--validate=strict", "-f", "-"])
        .stdin(stream.stdout)
        .run()?
        .success()?;
    assert_eq!(created.stdout.lines().filter(|line| line.ends_with(" created")).count(), KINDS.len());

    let tried = butleradm().args(["apply", "--dry-run", "--kubeconfig"]).arg(kubeconfig).run()?.success()?;
    assert_eq!(
        tried.stderr.lines().filter(|line| line.ends_with(" would be applied (dry run)")).count(),
        KINDS.len()
    );

    let applied = butleradm().args(["apply", "--kubeconfig"]).arg(kubeconfig).run()?.success()?;
    assert_eq!(applied.stdout, "");
    assert!(applied.stderr.contains("tenantclusters.butler.butlerlabs.dev established\n"), "{applied}");
    assert_eq!(applied.stderr.lines().filter(|line| line.ends_with(" established")).count(), KINDS.len());
    Ok(())
}

#[test]
fn a_wrong_duration_is_a_usage_error() -> Result<()> {
    let env = Env::new()?;
    let command = env.command(env!("CARGO_BIN_EXE_butleradm")).args(["crds", "apply", "--timeout", "soon"]);
    let refused = command.run()?.failed_with(2)?;
    assert!(refused.stderr.contains("expected a duration such as 30s"), "{refused}");
    Ok(())
}
