//! Many processes that want ports at once.

use std::{
    collections::HashSet,
    io::{BufRead, BufReader, Read},
    net::{Ipv4Addr, TcpListener},
};

use anyhow::{Context, Result};
use butler_operator::process::ports::reserve;

use crate::start_role;

const LOOPBACK: std::net::IpAddr = std::net::IpAddr::V4(Ipv4Addr::LOCALHOST);
const PROCESSES: usize = 8;
const PORTS: usize = 40;

/// Takes ports, says which, and holds them until the test has seen them all.
#[test]
#[ignore = "a role that the test below starts"]
fn holder() -> Result<()> {
    let ports = (0..PORTS).map(|_| reserve(LOOPBACK)).collect::<Result<Vec<_>, _>>()?;
    ports.iter().for_each(|port| println!("port {}", port.number()));
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

#[test]
fn no_two_processes_get_the_same_port() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut holders =
        (0..PROCESSES).map(|_| start_role("ports::holder", dir.path())).collect::<Result<Vec<_>>>()?;
    let mut taken = HashSet::new();
    for holder in &mut holders {
        let lines = BufReader::new(holder.stdout.as_mut().context("stdout")?).lines();
        // The first follows what the test harness has to say, on the same line.
        let ports =
            lines.map_while(Result::ok).filter_map(|line| Some(line.split_once("port ")?.1.to_owned()));
        for port in ports.take(PORTS) {
            assert!(taken.insert(port.clone()), "port {port} twice");
        }
    }
    assert_eq!(taken.len(), PROCESSES * PORTS);
    for mut holder in holders {
        drop(holder.stdin.take());
        // Its last words must not meet a closed pipe.
        std::io::copy(&mut holder.stdout.take().context("stdout")?, &mut std::io::sink())?;
        assert!(holder.wait()?.success());
    }
    Ok(())
}

#[test]
fn a_reserved_port_can_be_bound_and_one_in_use_is_not_given() -> Result<()> {
    let port = reserve(LOOPBACK)?;
    let address = port.address();
    let _listener = TcpListener::bind(address)?;
    drop(port);
    let next: Vec<_> = (0..100).map(|_| reserve(LOOPBACK)).collect::<Result<_, _>>()?;
    assert!(next.iter().all(|port| port.address() != address));
    Ok(())
}
