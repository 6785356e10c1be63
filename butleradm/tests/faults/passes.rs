//! What passes is waited for: the run says what it waits for, and goes on by itself when that is over.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use butler_tests::{
    http::{HttpServer, Reply, Request},
    part,
};

use super::lab::{Lab, Row, Watched, table};

/// What the chart server does, in the order of the test.
const DOWN: usize = 0;
const BAD: usize = 1;
const HANGING: usize = 2;

const BAD_HOOK: &str = r#"
apiVersion: batch/v1
kind: Job
metadata:
  name: check
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {sandbox.butler.butlerlabs.dev/fail: "the licence has expired"}}
    spec: {restartPolicy: Never, containers: [{name: check, image: "shop/check:1"}]}
"#;
const HANGING_WORKLOAD: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "shop/web:missing"}]}
"#;

#[test]
fn what_passes_is_named_and_waited_for_and_nothing_is_made_twice() -> Result<()> {
    let lab = Lab::new("patient")?;
    let mode = Arc::new(AtomicUsize::new(DOWN));
    let charts = charts(&lab, mode.clone())?;
    let config = lab.config(&format!("\ncharts:\n  mirror: {}\n", charts.url()))?;
    let mut bench = Bench { lab: &lab, rows: Vec::new() };

    lab.host(&["throttledSeconds=2", "only=create"])?;
    lab.machine(&["neverBoots=true"])?;
    let mut run = lab.start(&["--config", &config])?;

    let (diagnosis, stall) = run.stalled("BTL-1607")?;
    ensure!(stall["what"].to_string().contains("429"), "{stall}");
    let calls = lab.calls("create");
    ensure!(
        (1..=3).contains(&calls),
        "{calls} calls in {diagnosis:?} though each answer asks for 2 s of peace"
    );
    bench.row("provider answers 429", "BTL-1607", diagnosis, Some(calls), &mut run, || lab.host(&[]))?;

    let (diagnosis, stall) = run.stalled("BTL-2031")?;
    let evidence = stall["evidence"].to_string();
    ensure!(evidence.contains("on and booting") && evidence.contains("the machine hangs"), "{stall}");
    // The command that is told works.
    let next: Vec<_> = stall["next"][0].as_str().context("next")?.split(' ').skip(1).collect();
    let console = lab.adm(&next).run()?.success()?;
    ensure!(console.stdout.contains("the machine hangs"), "{console}");
    let shown = lab.adm(&["bootstrap", "status", lab.cluster]).run()?.success()?;
    ensure!(shown.stdout.contains("Stalled BTL-2031") && shown.stdout.contains("next: butleradm"), "{shown}");
    let calls = lab.calls("get");
    ensure!(calls <= 60, "{calls} looks at the machine");
    let wrong =
        ["wrongAddress=127.99.99.99", "diesAfterConfig=true", "etcdWontJoin=true", "apiServerFlapsSeconds=1"];
    bench.row("VM never gets an address", "BTL-2031", diagnosis, Some(calls), &mut run, || {
        lab.machine(&wrong)
    })?;

    let (diagnosis, stall) = run.stalled("BTL-2032")?;
    ensure!(stall["what"].to_string().contains("127.99.99.99"), "{stall}");
    ensure!(stall["evidence"].to_string().contains("reachable at"), "its console knows better: {stall}");
    bench
        .row("VM gets a wrong address", "BTL-2032", diagnosis, None, &mut run, || lab.machine(&wrong[1..]))?;

    let (diagnosis, stall) = run.stalled("BTL-2033")?;
    ensure!(stall["evidence"].to_string().contains("power"), "{stall}");
    let power: Vec<_> = stall["next"][1].as_str().context("next")?.split(' ').skip(1).collect();
    let switch_on = || {
        lab.machine(&wrong[2..])?;
        lab.adm(&power).run()?.success().map(drop)
    };
    bench.row("VM dies after its configuration", "BTL-2033", diagnosis, None, &mut run, switch_on)?;

    let (diagnosis, stall) = run.stalled("BTL-2034")?;
    ensure!(stall["evidence"].to_string().contains("etcd does not begin"), "{stall}");
    // No progress that the run could see: the API server is not there either.
    lab.machine(&wrong[3..])?;
    let cleared = Instant::now();
    let (_, stall) = run.stalled("BTL-2035")?;
    bench.push("etcd won't form", "BTL-2034", diagnosis, None, cleared.elapsed());
    ensure!(stall["evidence"].to_string().contains("etcd is well"), "{stall}");
    bench.row("API server flaps", "BTL-2035", cleared.elapsed(), None, &mut run, || lab.machine(&[]))?;

    run.phase("InstallingAddons")?;
    let (diagnosis, stall) = run.stalled("BTL-1852")?;
    ensure!(stall["what"].to_string().contains("127.0.0.1"), "{stall}");
    let calls = charts.requests().len();
    ensure!((1..=5).contains(&calls), "{calls} calls");
    // Again no progress that can be seen but other words.
    mode.store(BAD, Ordering::Relaxed);
    let cleared = Instant::now();
    let (_, stall) = run.stalled("BTL-1853")?;
    bench.push("chart server down", "BTL-1852", diagnosis, Some(calls), cleared.elapsed());
    ensure!(stall["what"].to_string().contains("cert-manager"), "{stall}");
    let failing = cleared.elapsed();
    mode.store(HANGING, Ordering::Relaxed);
    let cleared = Instant::now();
    let (_, stall) = run.stalled("BTL-1854")?;
    bench.push("helm release fails", "BTL-1853", failing, None, cleared.elapsed());
    ensure!(stall["evidence"].to_string().contains("web-"), "the Pod is named: {stall}");
    let hanging = cleared.elapsed();
    let image = ["-n", "cert-manager", "set", "image", "deployment/web", "web=shop/web:1"];
    bench.row("helm release hangs", "BTL-1854", hanging, None, &mut run, || {
        lab.kubectl(&image)?.run()?.success().map(drop)
    })?;

    let _ready = run.ends_with(0)?;
    lab.made_once()?;
    ensure!(lab.status()?["stall"].is_null());
    let rows = bench.rows;
    lab.destroy()?;
    println!("{}", table(&rows));
    Ok(())
}

struct Bench<'a> {
    lab: &'a Lab,
    rows: Vec<Row>,
}

impl Bench<'_> {
    /// Ends a fault and waits until the run gets further.
    fn row(
        &mut self,
        fault: &'static str,
        code: &str,
        diagnosis: Duration,
        calls: Option<usize>,
        run: &mut Watched,
        clear: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        ensure!(self.lab.status()?["stall"]["code"] == code, "{}", self.lab.status()?);
        let _page = self.lab.adm(&["explain", code]).run()?.success()?;
        clear()?;
        let cleared = Instant::now();
        run.moving().with_context(|| fault)?;
        self.push(fault, code, diagnosis, calls, cleared.elapsed());
        Ok(())
    }

    fn push(
        &mut self,
        fault: &'static str,
        code: &str,
        diagnosis: Duration,
        calls: Option<usize>,
        success: Duration,
    ) {
        self.rows.push(Row { fault, class: "retry", code: code.to_owned(), diagnosis, calls, success });
    }
}

/// A repository of one chart, which is down, bad or hanging.
fn charts(lab: &Lab, mode: Arc<AtomicUsize>) -> Result<HttpServer> {
    let index = "apiVersion: v1\nentries:\n  cert-manager: [{version: v1.16.2, urls: [chart.tgz]}]\n";
    let archives = [pack(lab, "bad", BAD_HOOK)?, pack(lab, "hanging", HANGING_WORKLOAD)?];
    HttpServer::start(move |request: &Request| match (mode.load(Ordering::Relaxed), request.path.as_str()) {
        (DOWN, _) => Reply::Reset,
        (_, "/index.yaml") => Reply::status(200, index),
        (BAD, _) => Reply::status(200, archives[0].clone()),
        _ => Reply::status(200, archives[1].clone()),
    })
}

fn pack(lab: &Lab, name: &str, template: &str) -> Result<Vec<u8>> {
    let dir = lab.env.work_dir().join(name).join("cert-manager");
    std::fs::create_dir_all(dir.join("templates"))?;
    std::fs::write(dir.join("Chart.yaml"), "apiVersion: v2\nname: cert-manager\nversion: v1.16.2\n")?;
    std::fs::write(dir.join("templates/all.yaml"), template)?;
    let text = |path: &Path| path.display().to_string();
    let to = dir.with_file_name("packed");
    let _packed = lab
        .env
        .command(part("helm")?)
        .args(["package", &text(&dir), "--destination", &text(&to)])
        .run()?
        .success()?;
    Ok(std::fs::read(to.join("cert-manager-v1.16.2.tgz"))?)
}
