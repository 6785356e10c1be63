//! Who may call what.

use std::collections::BTreeSet;

/// Roles of a caller: the organisations of its certificate.
pub(super) type Roles = BTreeSet<String>;

/// Every right.
pub(super) const ADMIN: &str = "os:admin";
/// May act for others: what nodes show to each other.
pub(super) const IMPERSONATOR: &str = "os:impersonator";
const OPERATOR: &str = "os:operator";
const READER: &str = "os:reader";
const BACKUP: &str = "os:etcd:backup";

const READER_METHODS: &[&str] = &[
    "/cluster.ClusterService/HealthCheck",
    "/cosi.resource.State/Get",
    "/cosi.resource.State/List",
    "/cosi.resource.State/Watch",
    "/inspect.InspectService/ControllerRuntimeDependencies",
    "/machine.MachineService/CPUFreqStats",
    "/machine.MachineService/CPUInfo",
    "/machine.MachineService/Containers",
    "/machine.MachineService/DiskStats",
    "/machine.MachineService/DiskUsage",
    "/machine.MachineService/Dmesg",
    "/machine.MachineService/EtcdAlarmList",
    "/machine.MachineService/EtcdMemberList",
    "/machine.MachineService/EtcdStatus",
    "/machine.MachineService/Events",
    "/machine.MachineService/Hostname",
    "/machine.MachineService/ImageList",
    "/machine.MachineService/List",
    "/machine.MachineService/LoadAvg",
    "/machine.MachineService/Logs",
    "/machine.MachineService/LogsContainers",
    "/machine.MachineService/Memory",
    "/machine.MachineService/Mounts",
    "/machine.MachineService/Netstat",
    "/machine.MachineService/NetworkDeviceStats",
    "/machine.MachineService/Processes",
    "/machine.MachineService/ServiceList",
    "/machine.MachineService/Stats",
    "/machine.MachineService/SystemStat",
    "/machine.MachineService/Version",
    "/storage.StorageService/Disks",
    "/time.TimeService/Time",
    "/time.TimeService/TimeCheck",
];

const OPERATOR_METHODS: &[&str] = &[
    "/machine.MachineService/EtcdAlarmDisarm",
    "/machine.MachineService/EtcdDefragment",
    "/machine.MachineService/EtcdSnapshot",
    "/machine.MachineService/ImagePull",
    "/machine.MachineService/PacketCapture",
    "/machine.MachineService/Reboot",
    "/machine.MachineService/Restart",
    "/machine.MachineService/ServiceRestart",
    "/machine.MachineService/ServiceStart",
    "/machine.MachineService/ServiceStop",
    "/machine.MachineService/Shutdown",
];

const BACKUP_METHODS: &[&str] = &[
    "/machine.MachineService/EtcdAlarmList",
    "/machine.MachineService/EtcdMemberList",
    "/machine.MachineService/EtcdSnapshot",
    "/machine.MachineService/EtcdStatus",
];

/// True when one of the roles may call the method.
pub(super) fn may_call(roles: &Roles, method: &str) -> bool {
    roles.iter().any(|role| match role.as_str() {
        ADMIN => true,
        OPERATOR => READER_METHODS.contains(&method) || OPERATOR_METHODS.contains(&method),
        READER => READER_METHODS.contains(&method),
        BACKUP => BACKUP_METHODS.contains(&method),
        _ => false,
    })
}

/// The roles that count for a call: those a trusted node names, or the caller's own.
pub(super) fn effective(own: Roles, named: impl Iterator<Item = String>) -> Roles {
    if !own.contains(IMPERSONATOR) {
        return own;
    }
    let named: Roles = named.filter(|role| !role.is_empty()).collect();
    if named.is_empty() { own } else { named }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn roles(names: &[&str]) -> Roles {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[rstest]
    #[case(ADMIN, "Reset", true)]
    #[case(ADMIN, "NoSuchMethod", true)]
    #[case(OPERATOR, "Reboot", true)]
    #[case(OPERATOR, "Version", true)]
    #[case(OPERATOR, "Reset", false)]
    #[case(OPERATOR, "Bootstrap", false)]
    #[case(READER, "Version", true)]
    #[case(READER, "Reboot", false)]
    #[case(READER, "Read", false)]
    #[case(READER, "Kubeconfig", false)]
    #[case(BACKUP, "EtcdSnapshot", true)]
    #[case(BACKUP, "Version", false)]
    #[case(IMPERSONATOR, "Version", false)]
    #[case("os:nobody", "Version", false)]
    fn a_role_may_call_what_it_is_for(#[case] role: &str, #[case] method: &str, #[case] allowed: bool) {
        assert_eq!(may_call(&roles(&[role]), &format!("/machine.MachineService/{method}")), allowed);
    }

    #[test]
    fn only_an_impersonator_names_other_roles() {
        let named = || [ADMIN.to_owned()].into_iter();
        assert_eq!(effective(roles(&[READER]), named()), roles(&[READER]));
        assert_eq!(effective(roles(&[IMPERSONATOR]), named()), roles(&[ADMIN]));
        assert_eq!(effective(roles(&[IMPERSONATOR]), std::iter::empty()), roles(&[IMPERSONATOR]));
    }
}
