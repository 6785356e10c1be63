//! Disks and clocks.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::reply;
use crate::{
    sandbox::node::{clock::stamp, context::Node},
    talos::proto::{
        storage::{Disk, Disks, DisksResponse, disk::DiskType, storage_service_server::StorageService},
        time::{TimeRequest, TimeResponse, time_service_server::TimeService},
    },
};

/// The disk of the machine.
pub(super) struct Storage(pub(super) Arc<Node>);

#[tonic::async_trait]
impl StorageService for Storage {
    async fn disks(&self, _: Request<()>) -> Result<Response<DisksResponse>, Status> {
        let file = &self.0.machine.file;
        let disk = Disk {
            size: u64::from(file.disk_gb) << 30,
            model: "SANDBOX DISK".into(),
            device_name: "/dev/sda".into(),
            serial: file.id.clone(),
            r#type: DiskType::Ssd.into(),
            bus_path: "/pci0000:00/0000:00:05.0/virtio1".into(),
            subsystem: "/sys/class/block".into(),
            system_disk: self.0.current().is_some(),
            ..Disk::default()
        };
        reply!(DisksResponse, Disks { metadata: None, disks: vec![disk] })
    }
}

/// The clock of the machine.
pub(super) struct Time(pub(super) Arc<Node>);

#[tonic::async_trait]
impl TimeService for Time {
    async fn time(&self, _: Request<()>) -> Result<Response<TimeResponse>, Status> {
        let servers = self.0.current().and_then(|config| config.machine.main.machine.time.clone());
        let server = servers.and_then(|time| time.servers.first().cloned());
        reply!(TimeResponse, self.compare(server.unwrap_or_else(|| "time.cloudflare.com".to_owned())))
    }

    async fn time_check(&self, request: Request<TimeRequest>) -> Result<Response<TimeResponse>, Status> {
        reply!(TimeResponse, self.compare(request.into_inner().server))
    }
}

impl Time {
    fn compare(&self, server: String) -> crate::talos::proto::time::Time {
        crate::talos::proto::time::Time {
            metadata: None,
            server,
            localtime: Some(self.0.machine.clock.stamp()),
            remotetime: Some(stamp(jiff::Timestamp::now())),
        }
    }
}
