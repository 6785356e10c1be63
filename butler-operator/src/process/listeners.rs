//! Who listens where on this machine, as the kernel's tables in `/proc` say. Where there is no
//! `/proc`, nobody is known and the lists are empty.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use fs_err as fs;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// A listening TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where it listens.
    pub address: SocketAddr,
    inode: u64,
}

impl Listener {
    /// True when it keeps others from listening on `address`.
    pub fn covers(&self, address: SocketAddr) -> bool {
        let ip = self.address.ip();
        self.address.port() == address.port() && (ip == address.ip() || ip.is_unspecified())
    }

    /// The process that holds it, if we may see that.
    pub fn holder(&self) -> Option<Holder> {
        let wanted = format!("socket:[{}]", self.inode);
        let pids = fs::read_dir("/proc").ok()?.flatten();
        pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find_map(|pid: u32| {
            let holds = fs::read_dir(format!("/proc/{pid}/fd"))
                .ok()?
                .flatten()
                .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target.as_os_str() == wanted.as_str()));
            let name = || fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            holds.then(|| Holder { pid, name: name().trim().to_owned() })
        })
    }
}

/// A process that holds a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its id.
    pub pid: u32,
    /// The kernel's short name of its program.
    pub name: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` (process {})", self.name, self.pid)
    }
}

/// Every listening TCP socket of this network.
pub fn all() -> Vec<Listener> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|table| table.lines().skip(1).filter_map(parse).collect::<Vec<_>>())
        .collect()
}

/// Who keeps us from listening on `address`, in words, if somebody does.
pub fn who_has(address: SocketAddr) -> Option<String> {
    let listener = all().into_iter().find(|listener| listener.covers(address))?;
    let at = if listener.address == address { String::new() } else { format!(" on {}", listener.address) };
    Some(match listener.holder() {
        Some(holder) => format!("{holder}{at}"),
        None => format!("a process of another user{at}"),
    })
}

/// One row: `sl local rem st … inode`.
fn parse(row: &str) -> Option<Listener> {
    let columns: Vec<&str> = row.split_whitespace().collect();
    let (local, state, inode) = (columns.get(1)?, columns.get(3)?, columns.get(9)?);
    if *state != LISTEN {
        return None;
    }
    let (ip, port) = local.split_once(':')?;
    Some(Listener {
        address: SocketAddr::new(address(ip)?, u16::from_str_radix(port, 16).ok()?),
        inode: inode.parse().ok()?,
    })
}

/// Words of the address in this machine's byte order, in hexadecimal.
fn address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut bytes = [0; 16];
            for (index, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(index * 8)?);
            }
            Some(Ipv6Addr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn our_own_listener_is_found_with_its_holder() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let found = all().into_iter().find(|listener| listener.address == address).unwrap();
        assert_eq!(found.holder().unwrap().pid, std::process::id());
        let who = who_has(address).unwrap();
        assert!(who.contains(&std::process::id().to_string()), "{who}");
        drop(listener);
        assert_eq!(who_has(address), None);
    }

    #[test]
    fn a_listener_on_every_address_is_in_the_way_of_each() {
        let any = Listener { address: "0.0.0.0:6443".parse().unwrap(), inode: 1 };
        assert!(any.covers("127.40.0.1:6443".parse().unwrap()));
        assert!(!any.covers("127.40.0.1:6444".parse().unwrap()));
        let one = Listener { address: "127.0.0.1:6443".parse().unwrap(), inode: 1 };
        assert!(!one.covers("127.40.0.1:6443".parse().unwrap()));
    }
}
