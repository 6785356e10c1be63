//! Faults of the network and of name resolution, in a namespace of their own: nobody else's is touched.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context, Result, ensure};
use butler_tests::Running;

use super::lab::{LIMIT, Lab, Row, table};

/// Loopback comes up, names are resolved by our file alone; then it waits for its input to end.
const NAMESPACE: &str = "ip link set lo up && mount --bind \"$1\" /etc/hosts && \
    mount --bind \"$2\" /etc/resolv.conf && echo up && exec cat";

/// A network and name resolution of their own; gone with this value.
struct Namespace {
    holder: Running,
    hosts: PathBuf,
}

impl Namespace {
    /// Whoever may not make one gets an error, not a test that did nothing.
    fn new(lab: &mut Lab) -> Result<Self> {
        let (hosts, resolver) = (lab.env.work_dir().join("hosts"), lab.env.work_dir().join("resolv.conf"));
        std::fs::write(&hosts, "")?;
        std::fs::write(&resolver, "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")?;
        let holder = lab.env.command("/usr/bin/unshare").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let holder = holder.args(["--map-root-user", "--net", "--mount", "sh", "-c", NAMESPACE, "sh"]);
        let mut holder = holder.arg(&hosts).arg(&resolver).spawn()?;
        let _up =
            holder.line_with("up", LIMIT).context("a namespace of one's own needs unshare and iproute2")?;
        let pid = holder.pid().to_string();
        let enter = ["/usr/bin/nsenter", "--preserve-credentials", "-U", "-n", "-m", "-t", &pid, "--"];
        lab.inside = enter.map(str::to_owned).to_vec();
        Ok(Self { holder, hosts })
    }

    /// Cuts an address off, or connects it again.
    fn route(&self, lab: &Lab, verb: &str, address: &str) -> Result<()> {
        let mut line = lab.inside.clone();
        let route = ["ip", "route", verb, "blackhole", address, "table", "local"];
        line.extend(route.map(str::to_owned));
        let command = lab.env.command(line.remove(0)).args(line).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.run()?.success().map(drop)
    }
}

#[test]
fn a_node_that_is_cut_off_and_names_that_do_not_resolve_are_named_and_waited_for() -> Result<()> {
    let mut lab = Lab::new("remote")?;
    let namespace = Namespace::new(&mut lab)?;
    // Nobody listens there; what counts is that the name is not known.
    let config = lab.config("\ncharts:\n  mirror: http://localhost:9\n")?;
    let mut rows = Vec::new();
    let mut push = |fault, code: &str, diagnosis, calls, success| {
        rows.push(Row { fault, class: "retry", code: code.to_owned(), diagnosis, calls, success });
    };

    // A slow boot and a silent provider pass by themselves.
    lab.machine(&["slowBootSeconds=6"])?;
    lab.host(&["silent=true", "only=create"])?;
    let mut run = lab.start(&["--config", &config])?;
    let (diagnosis, _) = run.stalled("BTL-1608")?;
    lab.host(&[])?;
    let cleared = Instant::now();
    run.moving()?;
    // The one that got no answer, and the one after it.
    let calls = lab.calls("create");
    ensure!(calls == 2, "{calls} calls");
    push("provider times out", "BTL-1608", diagnosis, Some(calls), cleared.elapsed());
    let (diagnosis, stall) = run.stalled("BTL-2031")?;
    ensure!(stall["evidence"].to_string().contains("the disk is slow"), "{stall}");
    let told = Instant::now();
    run.moving()?;
    push("VM boots slowly", "BTL-2031", diagnosis, None, told.elapsed());

    // The node is cut off once it has its configuration.
    run.phase("BootstrappingCluster")?;
    let address =
        lab.adm(&["sandbox", "node", "list", "--name", lab.cluster, "-o", "jsonpath={.items[0].address}"]);
    let address = address.run()?.success()?.stdout.trim().to_owned();
    namespace.route(&lab, "add", &address)?;
    let (diagnosis, stall) = run.stalled("BTL-2036")?;
    ensure!(stall["evidence"].to_string().contains("the provider says that it runs"), "{stall}");
    namespace.route(&lab, "del", &address)?;
    let cleared = Instant::now();
    run.moving()?;
    push("network partition of a node", "BTL-2036", diagnosis, None, cleared.elapsed());

    let (diagnosis, stall) = run.stalled("BTL-1857")?;
    ensure!(stall["what"].to_string().contains("localhost"), "{stall}");
    std::fs::write(&namespace.hosts, "127.0.0.1 localhost\n")?;
    let cleared = Instant::now();
    // The name is known again, and now it is the server that is not there.
    let (_, _) = run.stalled("BTL-1852")?;
    push("DNS down", "BTL-1857", diagnosis, None, cleared.elapsed());

    let _stopping = lab.adm(&["bootstrap", "abort", lab.cluster]).run()?.success()?;
    let _stopped = run.ends_with(130)?;
    lab.destroy()?;
    ensure!(!lab.home.join("sandbox").join(lab.cluster).exists());
    drop(namespace.holder);
    println!("{}", table(&rows));
    Ok(())
}
