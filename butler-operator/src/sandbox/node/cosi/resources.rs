//! What the resources say, from the state of the node.

use std::net::IpAddr;

use prost::Message;
use prost_types::{Struct, Value as ProtoValue, value::Kind};
use serde_json::{Value, json};

use super::{Object, definitions};
use crate::{
    sandbox::node::{config::Config, context::Node, discovery::Member, kubelet, kubernetes::pods},
    talos::proto::definitions::{
        ControlPlane, DiskSpec, EtcdMemberSpec, HostnameStatusSpec, IdentitySpec, InfoSpec, KubeletSpec,
        LinkStatusSpec, MachineConfigSpec, MachineStatusSpec, MachineType, MachineTypeSpec, MemberSpec,
        NetIp, NetIpPrefix, NetworkStatusSpec, NodeAddressSpec, NodenameSpec, ResolverStatusSpec,
        RouteStatusSpec, SecurityStateSpec, ServiceSpec, StaticPodStatusSpec, SystemInformationSpec,
        TimeServerStatusSpec, VolumeStatusSpec, machine_status_spec,
    },
};

const GIB: u64 = 1 << 30;

/// A value as people read it.
pub(super) fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string())
}

fn object(
    namespace: &'static str,
    kind: &'static str,
    id: impl Into<String>,
    proto: &impl Message,
    value: &Value,
) -> Object {
    Object { namespace, kind, id: id.into(), proto: proto.encode_to_vec(), yaml: yaml(value) }
}

/// Every resource of the node as it is now.
pub(in super::super) fn all(node: &Node) -> Vec<Object> {
    let mut all = definitions::objects();
    all.extend(hardware(node));
    all.extend(network(node));
    all.push(machine_status(node));
    if let Some(config) = node.current() {
        all.extend(configured(node, &config));
    }
    all
}

fn ip(address: IpAddr) -> NetIp {
    NetIp { ip: bytes(address) }
}

fn bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn pretty(size: u64) -> String {
    format!("{} GB", size / 1_000_000_000)
}

fn hardware(node: &Node) -> Vec<Object> {
    let file = &node.machine.file;
    let uuid = kubelet::system_uuid(node);
    let system = SystemInformationSpec {
        manufacturer: "Butler".into(),
        product_name: "Sandbox".into(),
        version: "1".into(),
        serial_number: file.id.clone(),
        uuid: uuid.clone(),
        ..SystemInformationSpec::default()
    };
    let system_yaml = json!({
        "manufacturer": "Butler", "productName": "Sandbox", "version": "1", "serialnumber": file.id, "uuid": uuid,
    });
    let size = u64::from(file.disk_gb) * GIB;
    let disk = DiskSpec {
        size,
        io_size: 512,
        sector_size: 512,
        readonly: false,
        model: "SANDBOX DISK".into(),
        serial: file.id.clone(),
        dev_path: "/dev/sda".into(),
        pretty_size: pretty(size),
    };
    let disk_yaml = json!({
        "dev_path": "/dev/sda", "size": size, "prettySize": pretty(size), "io_size": 512, "sector_size": 512,
        "readonly": false, "cdrom": false, "model": "SANDBOX DISK", "serial": file.id,
    });
    let mut objects = vec![
        object(
            "hardware",
            "SystemInformations.hardware.talos.dev",
            "systeminformation",
            &system,
            &system_yaml,
        ),
        object("runtime", "Disks.block.talos.dev", "sda", &disk, &disk_yaml),
        object(
            "runtime",
            "SecurityStates.talos.dev",
            "securitystate",
            &SecurityStateSpec::default(),
            &json!({ "secureBoot": false, "bootedWithUKI": false, "selinuxState": "disabled" }),
        ),
    ];
    // STATE and META take little; the rest is EPHEMERAL.
    let volumes = [
        ("EPHEMERAL", "/dev/sda6", size.saturating_sub(GIB)),
        ("STATE", "/dev/sda5", 100 << 20),
        ("META", "/dev/sda4", 1 << 20),
    ];
    if node.current().is_some() {
        for (id, location, size) in volumes {
            let volume =
                VolumeStatusSpec { phase: 6, location: location.into(), size, pretty_size: pretty(size) };
            let value = json!({
                "phase": "ready", "type": "partition", "location": location, "size": size, "prettySize": pretty(size),
            });
            objects.push(object("runtime", "VolumeStatuses.block.talos.dev", id, &volume, &value));
        }
    }
    objects
}

fn network(node: &Node) -> Vec<Object> {
    let file = &node.machine.file;
    let address = file.address;
    let length = if address.is_ipv4() { 24 } else { 64 };
    let gateway = match address {
        IpAddr::V4(own) => {
            let [a, b, c, _] = own.octets();
            IpAddr::from([a, b, c, 1])
        }
        IpAddr::V6(own) => IpAddr::V6(own),
    };
    let hostname = node.hostname();
    let prefix = NetIpPrefix { ip: bytes(address), prefix_length: length };
    let addresses = NodeAddressSpec { addresses: vec![prefix] };
    let addresses_yaml = json!({ "addresses": [format!("{address}/{length}")] });
    let route = RouteStatusSpec {
        family: 2,
        gateway: Some(ip(gateway)),
        out_link_index: 2,
        out_link_name: "eth0".into(),
        table: 254,
        priority: 1024,
        ..RouteStatusSpec::default()
    };
    let link = LinkStatusSpec {
        index: 2,
        hardware_addr: file.mac.split(':').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect(),
        mtu: 1500,
        operational_state: 6,
        link_state: true,
    };
    let servers = node
        .current()
        .and_then(|config| config.machine.main.machine.time.clone())
        .map(|time| time.servers)
        .unwrap_or_else(|| vec!["time.cloudflare.com".to_owned()]);
    let ready = NetworkStatusSpec {
        address_ready: true,
        connectivity_ready: true,
        hostname_ready: true,
        etc_files_ready: true,
    };
    let mut objects = vec![
        object(
            "network",
            "HostnameStatuses.net.talos.dev",
            "hostname",
            &HostnameStatusSpec { hostname: hostname.clone(), domainname: String::new() },
            &json!({ "hostname": hostname, "domainname": "" }),
        ),
        object(
            "network",
            "ResolverStatuses.net.talos.dev",
            "resolvers",
            &ResolverStatusSpec { dns_servers: vec![ip(gateway)], search_domains: Vec::new() },
            &json!({ "dnsServers": [gateway.to_string()], "searchDomains": [] }),
        ),
        object(
            "network",
            "TimeServerStatuses.net.talos.dev",
            "timeservers",
            &TimeServerStatusSpec { ntp_servers: servers.clone() },
            &json!({ "timeServers": servers }),
        ),
        object(
            "network",
            "NetworkStatuses.net.talos.dev",
            "status",
            &ready,
            &json!({
                "addressReady": true, "connectivityReady": true, "hostnameReady": true, "etcFilesReady": true,
            }),
        ),
        object(
            "network",
            "RouteStatuses.net.talos.dev",
            format!("inet4/{gateway}//1024"),
            &route,
            &json!({
                "family": "inet4", "dst": "", "src": "", "gateway": gateway.to_string(), "outLinkIndex": 2,
                "outLinkName": "eth0", "table": "main", "priority": 1024,
            }),
        ),
        object(
            "network",
            "LinkStatuses.net.talos.dev",
            "eth0",
            &link,
            &json!({
                "index": 2, "type": "ether", "hardwareAddr": file.mac, "mtu": 1500, "operationalState": "up",
                "linkState": true,
            }),
        ),
    ];
    for id in ["default", "current", "routed", "accumulative", "current-no-k8s", "routed-no-k8s"] {
        objects.push(object("network", "NodeAddresses.net.talos.dev", id, &addresses, &addresses_yaml));
    }
    objects
}

fn machine_status(node: &Node) -> Object {
    let status = node.status.borrow().clone();
    let unmet = status.unmet.iter().map(|(name, reason)| machine_status_spec::UnmetCondition {
        name: (*name).to_owned(),
        reason: reason.clone(),
    });
    let spec = MachineStatusSpec {
        stage: status.stage.number().into(),
        status: Some(machine_status_spec::Status {
            ready: status.is_ready(),
            unmet_conditions: unmet.collect(),
        }),
    };
    let unmet = status.unmet.iter().map(|(name, reason)| json!({ "name": name, "reason": reason }));
    let value = json!({
        "stage": status.stage.word(),
        "status": { "ready": status.is_ready(), "unmetConditions": unmet.collect::<Vec<_>>() },
    });
    object("runtime", "MachineStatuses.runtime.talos.dev", "machine", &spec, &value)
}

fn configured(node: &Node, config: &Config) -> Vec<Object> {
    let main = &config.machine.main;
    let is_control_plane = config.is_control_plane();
    let (number, word) = if is_control_plane {
        (MachineType::ControlPlane, "controlplane")
    } else {
        (MachineType::Worker, "worker")
    };
    let hostname = node.hostname();
    let mut objects = vec![
        object(
            "cluster",
            "Infos.cluster.talos.dev",
            "current",
            &InfoSpec {
                cluster_id: main.cluster.id.clone(),
                cluster_name: main.cluster.cluster_name.clone(),
            },
            &json!({ "clusterId": main.cluster.id, "clusterName": main.cluster.cluster_name }),
        ),
        object(
            "cluster",
            "Identities.cluster.talos.dev",
            "local",
            &IdentitySpec { node_id: node.identity.clone() },
            &json!({ "nodeId": node.identity }),
        ),
        object(
            "config",
            "MachineTypes.config.talos.dev",
            "machine-type",
            &MachineTypeSpec { machine_type: number.into() },
            &json!(word),
        ),
        Object {
            namespace: "config",
            kind: "MachineConfigs.config.talos.dev",
            id: "v1alpha1".to_owned(),
            proto: MachineConfigSpec { yaml_marshalled: config.text.expose().as_bytes().to_vec() }
                .encode_to_vec(),
            yaml: config.text.expose().to_owned(),
        },
        object(
            "k8s",
            "KubeletSpecs.kubernetes.talos.dev",
            "kubelet",
            &KubeletSpec {
                image: main.machine.kubelet.image.clone(),
                expected_nodename: hostname.clone(),
                ..KubeletSpec::default()
            },
            &json!({ "image": main.machine.kubelet.image, "args": [], "expectedNodename": hostname }),
        ),
        object(
            "k8s",
            "Nodenames.kubernetes.talos.dev",
            "nodename",
            &NodenameSpec {
                nodename: hostname.clone(),
                hostname_version: "1".into(),
                skip_node_registration: main.machine.kubelet.skip_node_registration,
            },
            &json!({ "nodename": hostname, "hostnameVersion": "1", "skipNodeRegistration": main.machine.kubelet.skip_node_registration }),
        ),
    ];
    let mut names = std::collections::BTreeSet::new();
    for one in node.members.borrow().iter() {
        let mut object = member(one);
        if !names.insert(one.hostname.clone()) {
            // Two nodes with one name: both are shown.
            object.id = format!("{}-{}", one.hostname, one.id.chars().take(8).collect::<String>());
        }
        objects.push(object);
    }
    for service in node.services.list() {
        let health = service.health.unwrap_or_default();
        let running = service.state == "Running";
        let spec = ServiceSpec { running, healthy: health.healthy, unknown: health.unknown };
        let value = json!({ "running": running, "healthy": health.healthy, "unknown": health.unknown });
        objects.push(object("runtime", "Services.v1alpha1.talos.dev", service.id, &spec, &value));
    }
    if is_control_plane {
        for (name, component) in
            node.components.borrow().iter().filter(|(_, component)| component.restarts >= 0)
        {
            let value = pods::status(node, name, component);
            let spec = StaticPodStatusSpec { pod_status: Some(to_struct(&value)) };
            let id = format!("kube-system/{name}-{hostname}");
            objects.push(object("k8s", "StaticPodStatuses.kubernetes.talos.dev", id, &spec, &value));
        }
        let etcd = node.etcd.borrow();
        if etcd.member {
            let id = format!("{:016x}", etcd.id);
            let spec = EtcdMemberSpec { member_id: id.clone() };
            objects.push(object(
                "etcd",
                "EtcdMembers.etcd.talos.dev",
                "local",
                &spec,
                &json!({ "memberID": id }),
            ));
        }
    }
    objects
}

fn member(member: &Member) -> Object {
    let is_control_plane = member.is_control_plane();
    let port = member.api.map_or(6443, |api| i64::from(api.port()));
    let spec = MemberSpec {
        node_id: member.id.clone(),
        addresses: member.addresses.iter().map(|address| ip(*address)).collect(),
        hostname: member.hostname.clone(),
        machine_type: if is_control_plane { MachineType::ControlPlane } else { MachineType::Worker }.into(),
        operating_system: member.operating_system.clone(),
        control_plane: is_control_plane.then_some(ControlPlane { api_server_port: port }),
    };
    let mut value = json!({
        "nodeId": member.id,
        "addresses": member.addresses,
        "hostname": member.hostname,
        "machineType": if is_control_plane { "controlplane" } else { "worker" },
        "operatingSystem": member.operating_system,
    });
    if is_control_plane {
        value["controlPlane"] = json!({ "apiServerPort": port });
    }
    object("cluster", "Members.cluster.talos.dev", member.hostname.clone(), &spec, &value)
}

fn to_struct(value: &Value) -> Struct {
    let fields = value.as_object().into_iter().flatten();
    Struct { fields: fields.map(|(key, value)| (key.clone(), to_proto(value))).collect() }
}

fn to_proto(value: &Value) -> ProtoValue {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(yes) => Kind::BoolValue(*yes),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(items) => {
            Kind::ListValue(prost_types::ListValue { values: items.iter().map(to_proto).collect() })
        }
        Value::Object(_) => Kind::StructValue(to_struct(value)),
    };
    ProtoValue { kind: Some(kind) }
}
