//! The load balancers of a host.

use std::{collections::BTreeSet, net::SocketAddr};

use jiff::Timestamp;

use super::{
    Host, Refusal, State,
    balancer::{Backend, Proxy},
    check_name,
    machines::{Entry, taken},
    store::BalancerRecord,
    wire::{BalancerBody, BalancerSpecBody, TargetBody},
};
use crate::{
    driver::{ErrorClass, Ownership},
    process::ports::{self, Port},
};

/// A load balancer in memory; one that cannot listen has no proxy.
#[derive(Debug)]
pub(super) struct Balancer {
    record: BalancerRecord,
    proxy: Option<Proxy>,
    _port: Option<Port>,
}

impl Host {
    /// Brings back the load balancers that are on disk.
    pub(super) async fn restore_balancers(&self, records: Vec<Result<BalancerRecord, String>>) {
        for record in records {
            let record = match record {
                Ok(record) => record,
                Err(problem) => {
                    tracing::warn!(problem, "a load balancer is damaged and left out");
                    continue;
                }
            };
            let port = if self.shared.network.is_single() { ports::take(record.address) } else { None };
            let balancer = self.run(record, port).await;
            self.state().balancers.insert(balancer.record.spec.name.clone(), balancer);
        }
    }

    async fn run(&self, record: BalancerRecord, port: Option<Port>) -> Balancer {
        let proxy = Proxy::start(record.address).await;
        if let Err(error) = &proxy {
            tracing::warn!(%error, address = %record.address, "a load balancer cannot listen");
        }
        let balancer = Balancer { record, proxy: proxy.ok(), _port: port };
        self.aim(&balancer, &self.state());
        balancer
    }

    /// Tells a proxy where its targets are.
    fn aim(&self, balancer: &Balancer, state: &State) {
        if let Some(proxy) = &balancer.proxy {
            let spec = &balancer.record.spec;
            let backends = spec.targets.iter().filter_map(|target| self.backend(spec, target, state));
            proxy.set_targets(backends.collect());
        }
    }

    /// A target that is one of our machines is found by id or name, and has its ports.
    fn backend(&self, spec: &BalancerSpecBody, target: &TargetBody, state: &State) -> Option<Backend> {
        let machines = state.machines.values().filter_map(|entry| match entry {
            Entry::Whole(whole) => Some(&whole.file),
            Entry::Damaged { .. } => None,
        });
        let named = |file: &&crate::sandbox::machine::MachineFile| {
            Some(&file.id) == target.instance_id.as_ref() || Some(&file.name) == target.instance_name.as_ref()
        };
        let at = |port: u16| match machines.clone().find(named) {
            Some(file) => {
                let usual = crate::sandbox::machine::NodePorts::default();
                let ports = [(usual.api, file.ports.api), (usual.talos, file.ports.talos)];
                let port = ports.into_iter().find(|(from, _)| *from == port).map_or(port, |(_, to)| to);
                Some(SocketAddr::new(file.address, port))
            }
            None => Some(SocketAddr::new(target.ip?, port)),
        };
        Some(Backend { connect: at(spec.port)?, probe: at(spec.health_check_port)? })
    }

    /// Makes a load balancer exist with exactly these targets.
    pub async fn ensure_balancer(&self, spec: BalancerSpecBody) -> Result<BalancerBody, Refusal> {
        check_name(&spec.name)?;
        if spec.port == 0 || spec.health_check_port == 0 {
            return Err(Refusal::new(ErrorClass::Invalid, "a load balancer needs ports"));
        }
        let (name, ownership) = (spec.name.clone(), spec.ownership.clone());
        let (record, port) = {
            let mut state = self.state();
            match state.balancers.remove(&name) {
                Some(known) if known.record.spec.ownership != ownership => {
                    let refusal = taken("load balancer", &name, Some(&known.record.spec.ownership));
                    state.balancers.insert(name, known);
                    return Err(refusal);
                }
                Some(mut known) if known.record.spec.port == spec.port && known.proxy.is_some() => {
                    let record = BalancerRecord { spec, ..known.record.clone() };
                    let saved = if record == known.record {
                        Ok(())
                    } else {
                        self.shared.store.save_balancer(&record)
                    };
                    if saved.is_ok() {
                        known.record = record;
                    }
                    self.aim(&known, &state);
                    let body = self.body(&known);
                    state.balancers.insert(name, known);
                    saved?;
                    return Ok(body);
                }
                // Another port is another address to listen on; the host part stays with the name.
                known => {
                    let used: BTreeSet<_> =
                        state.balancers.values().map(|known| known.record.address.ip()).collect();
                    let created = known.as_ref().and_then(|known| known.record.created);
                    let old = known.map(|known| known.record.address.ip());
                    let (mut address, port) = self.shared.network.for_balancer(&used, spec.port)?;
                    if let Some(old) = old.filter(|_| !self.shared.network.is_single()) {
                        address.set_ip(old);
                    }
                    (
                        BalancerRecord { spec, address, created: created.or_else(|| Some(Timestamp::now())) },
                        port,
                    )
                }
            }
        };
        self.shared.store.save_balancer(&record)?;
        let balancer = self.run(record, port).await;
        let body = self.body(&balancer);
        self.state().balancers.insert(name.clone(), balancer);
        self.witness("created", "load-balancer", &name, Some(&ownership));
        self.changed(&ownership);
        Ok(body)
    }

    /// Every load balancer, or those of one owner.
    pub fn balancers(&self, owner: Option<&str>) -> Vec<BalancerBody> {
        let state = self.state();
        let all = state.balancers.values();
        let wanted = all.filter(|one| owner.is_none_or(|owner| one.record.spec.ownership.owner == owner));
        wanted.map(|balancer| self.body(balancer)).collect()
    }

    /// Looks at one.
    pub fn balancer(
        &self,
        name: &str,
        id: Option<&str>,
        ownership: &Ownership,
    ) -> Result<BalancerBody, Refusal> {
        let state = self.state();
        self.find_balancer(&state, name, id, ownership).map(|balancer| self.body(balancer))
    }

    /// Removes one.
    pub fn delete_balancer(
        &self,
        name: &str,
        id: Option<&str>,
        ownership: &Ownership,
    ) -> Result<(), Refusal> {
        let mut state = self.state();
        let Ok(found) = self.find_balancer(&state, name, id, ownership) else { return Ok(()) };
        let name = found.record.spec.name.clone();
        self.shared.store.remove_balancer(&name)?;
        state.balancers.remove(&name);
        drop(state);
        self.witness("deleted", "load-balancer", &name, Some(ownership));
        self.changed(ownership);
        Ok(())
    }

    fn find_balancer<'a>(
        &self,
        state: &'a State,
        name: &str,
        id: Option<&str>,
        ownership: &Ownership,
    ) -> Result<&'a Balancer, Refusal> {
        let prefix = self.balancer_id("");
        let name = id.map_or(Some(name), |id| id.strip_prefix(&prefix)).unwrap_or_default();
        let found = state.balancers.get(name).filter(|found| found.record.spec.ownership == *ownership);
        found.ok_or_else(|| Refusal::not_found("load balancer", name))
    }

    fn balancer_id(&self, name: &str) -> String {
        format!("sandbox://{}/load-balancers/{name}", self.shared.options.sandbox)
    }

    fn body(&self, balancer: &Balancer) -> BalancerBody {
        let BalancerRecord { spec, address, created } = &balancer.record;
        // Where the port is not the one that was asked for, the address alone would be of no use.
        let endpoint =
            if address.port() == spec.port { address.ip().to_string() } else { address.to_string() };
        BalancerBody {
            id: self.balancer_id(&spec.name),
            name: spec.name.clone(),
            ownership: spec.ownership.clone(),
            endpoint: Some(endpoint),
            ready: balancer.proxy.is_some(),
            targets: spec.targets.len(),
            created: *created,
        }
    }
}
