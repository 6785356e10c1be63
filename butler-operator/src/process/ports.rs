//! Port numbers for children that bind by themselves.
//!
//! A server such as etcd cannot take over a listener of ours, so its port must stay free between our
//! choice and its bind. Two things see to that. The numbers lie below the range from which the kernel
//! hands out ports by itself (Linux from 32768, macOS from 49152), so no passing connection takes one.
//! And the lock on TCP port N is a bound *UDP* socket with the same number: kept by the kernel, seen by
//! every process of every user whatever its environment, and released even by SIGKILL.

use std::{
    net::{IpAddr, SocketAddr, TcpListener, UdpSocket},
    ops::Range,
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use butler_core::error::{Code, Diagnose};

const RANGE: Range<u16> = 20_000..30_000;

/// A TCP port that none of our processes gives to anybody else while this value lives.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    _lock: UdpSocket,
}

impl Port {
    /// The port.
    pub fn number(&self) -> u16 {
        self.address.port()
    }

    /// The address with the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// No port of the range is free.
#[derive(Debug, thiserror::Error)]
#[error("cannot find a free port on `{ip}` between {} and {}", RANGE.start, RANGE.end)]
pub struct PortsTaken {
    /// The address that was searched.
    pub ip: IpAddr,
}

impl Diagnose for PortsTaken {
    fn code(&self) -> Code {
        Code::PortsTaken
    }
}

/// Takes a port of this address. Hold the result as long as the child may bind, or bind again.
pub fn reserve(ip: IpAddr) -> Result<Port, PortsTaken> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let size = u32::from(RANGE.end - RANGE.start);
    // Processes begin at different places, so that they seldom meet.
    let begin = process::id().wrapping_mul(61).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
    (0..size)
        .filter_map(|step| u16::try_from(begin.wrapping_add(step) % size).ok())
        .find_map(|offset| take(SocketAddr::new(ip, RANGE.start + offset)))
        .ok_or(PortsTaken { ip })
}

/// Takes this very port again, as a server must whose address people know. None when another of our
/// processes has it, or a stranger listens there.
pub fn take(address: SocketAddr) -> Option<Port> {
    let lock = UdpSocket::bind(address).ok()?;
    // A stranger may listen there.
    TcpListener::bind(address).ok()?;
    Some(Port { address, _lock: lock })
}
