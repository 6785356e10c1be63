//! The machine API of a configured node: every method, each answered by its area.

use std::sync::Arc;

use tonic::{Request, Response, Status, Streaming};

use super::{
    Streamed, etcd,
    lifecycle::{self, Order},
    read, reply, stats,
};
use crate::{
    sandbox::node::{context::Node, sequence},
    talos::proto::{
        common::Data,
        etcdserverpb::alarm_request::Action,
        machine::{
            ApplyConfigurationRequest, ApplyConfigurationResponse, Bootstrap, BootstrapRequest,
            BootstrapResponse, CpuFreqStatsResponse, CpuInfoResponse, DiskStatsResponse, DmesgRequest,
            EtcdAlarm, EtcdAlarmDisarm, EtcdAlarmDisarmResponse, EtcdAlarmListResponse, EtcdDefragment,
            EtcdDefragmentResponse, EtcdForfeitLeadership, EtcdForfeitLeadershipRequest,
            EtcdForfeitLeadershipResponse, EtcdLeaveCluster, EtcdLeaveClusterRequest,
            EtcdLeaveClusterResponse, EtcdMemberListRequest, EtcdMemberListResponse, EtcdRecover,
            EtcdRecoverResponse, EtcdRemoveMemberById, EtcdRemoveMemberByIdRequest,
            EtcdRemoveMemberByIdResponse, EtcdSnapshotRequest, EtcdStatus, EtcdStatusResponse, Event,
            EventsRequest, GenerateClientConfigurationRequest, GenerateClientConfigurationResponse, Hostname,
            HostnameResponse, LoadAvgResponse, LogsContainer, LogsContainersResponse, LogsRequest,
            MemoryResponse, MountsResponse, NetworkDeviceStatsResponse, ProcessesResponse, ReadRequest,
            Reboot, RebootRequest, RebootResponse, Reset, ResetRequest, ResetResponse, Rollback,
            RollbackRequest, RollbackResponse, ServiceList, ServiceListResponse, ServiceRestart,
            ServiceRestartRequest, ServiceRestartResponse, ServiceStart, ServiceStartRequest,
            ServiceStartResponse, ServiceStop, ServiceStopRequest, ServiceStopResponse, Shutdown,
            ShutdownRequest, ShutdownResponse, SystemStatResponse, Upgrade, UpgradeRequest, UpgradeResponse,
            VersionResponse, machine_service_server::MachineService,
        },
    },
};

/// The machine API.
pub(super) struct Machine(pub(super) Arc<Node>);

type Answer<T> = Result<Response<T>, Status>;

/// Methods without arguments that answer with one element.
macro_rules! machine_service {
    ([$($method:ident -> $response:ident { $node:ident => $element:expr };)+] $($others:tt)*) => {
        #[tonic::async_trait]
        impl MachineService for Machine {
            $(async fn $method(&self, _: Request<()>) -> Answer<$response> {
                let $node = &self.0;
                reply!($response, $element)
            })+
            $($others)*
        }
    };
}

machine_service! {
    [
        version -> VersionResponse { node => stats::version(node) };
        hostname -> HostnameResponse { node => Hostname { metadata: None, hostname: node.hostname() } };
        load_avg -> LoadAvgResponse { _node => stats::load() };
        memory -> MemoryResponse { node => stats::memory(node) };
        system_stat -> SystemStatResponse { node => stats::system(node) };
        cpu_info -> CpuInfoResponse { node => stats::processors(node) };
        cpu_freq_stats -> CpuFreqStatsResponse { node => stats::frequencies(node) };
        network_device_stats -> NetworkDeviceStatsResponse { _node => stats::network() };
        disk_stats -> DiskStatsResponse { _node => stats::disk() };
        mounts -> MountsResponse { node => stats::mounts(node) };
        processes -> ProcessesResponse { node => stats::processes(node) };
        service_list -> ServiceListResponse {
            node => ServiceList { metadata: None, services: node.services.list() }
        };
        logs_containers -> LogsContainersResponse {
            node => LogsContainer { metadata: None, ids: node.machine.logs.ids() }
        };
        etcd_status -> EtcdStatusResponse {
            node => EtcdStatus { metadata: None, member_status: Some(etcd::status(node).await?) }
        };
        etcd_alarm_list -> EtcdAlarmListResponse {
            node => EtcdAlarm { metadata: None, member_alarms: etcd::alarms(node, Action::Get).await? }
        };
        etcd_alarm_disarm -> EtcdAlarmDisarmResponse {
            node => EtcdAlarmDisarm {
                metadata: None,
                member_alarms: etcd::alarms(node, Action::Deactivate).await?,
            }
        };
        etcd_defragment -> EtcdDefragmentResponse {
            node => { etcd::defragment(node).await?; EtcdDefragment::default() }
        };
    ]

    async fn apply_configuration(
        &self,
        request: Request<ApplyConfigurationRequest>,
    ) -> Answer<ApplyConfigurationResponse> {
        reply!(ApplyConfigurationResponse, lifecycle::apply(&self.0, request.get_ref())?)
    }

    async fn bootstrap(&self, request: Request<BootstrapRequest>) -> Answer<BootstrapResponse> {
        lifecycle::bootstrap(&self.0, request.get_ref())?;
        reply!(BootstrapResponse, Bootstrap::default())
    }

    async fn generate_client_configuration(
        &self,
        request: Request<GenerateClientConfigurationRequest>,
    ) -> Answer<GenerateClientConfigurationResponse> {
        reply!(GenerateClientConfigurationResponse, lifecycle::client_config(&self.0, request.get_ref())?)
    }

    async fn kubeconfig(&self, _: Request<()>) -> Streamed<Data> {
        lifecycle::kubeconfig(&self.0)
    }

    async fn logs(&self, request: Request<LogsRequest>) -> Streamed<Data> {
        read::logs(&self.0, request.get_ref())
    }

    async fn dmesg(&self, request: Request<DmesgRequest>) -> Streamed<Data> {
        read::dmesg(&self.0, request.get_ref())
    }

    async fn read(&self, request: Request<ReadRequest>) -> Streamed<Data> {
        read::file(&self.0, &request.get_ref().path)
    }

    async fn events(&self, request: Request<EventsRequest>) -> Streamed<Event> {
        read::events(&self.0, request.get_ref())
    }

    async fn reboot(&self, _: Request<RebootRequest>) -> Answer<RebootResponse> {
        reply!(RebootResponse, Reboot { metadata: None, actor_id: sequence::reboot(&self.0)? })
    }

    async fn reset(&self, request: Request<ResetRequest>) -> Answer<ResetResponse> {
        reply!(ResetResponse, Reset { metadata: None, actor_id: sequence::reset(&self.0, request.get_ref())? })
    }

    async fn shutdown(&self, _: Request<ShutdownRequest>) -> Answer<ShutdownResponse> {
        reply!(ShutdownResponse, Shutdown { metadata: None, actor_id: sequence::shutdown(&self.0)? })
    }

    async fn upgrade(&self, request: Request<UpgradeRequest>) -> Answer<UpgradeResponse> {
        let actor_id = sequence::upgrade(&self.0, request.get_ref()).await?;
        reply!(UpgradeResponse, Upgrade { metadata: None, ack: "Upgrade request received".into(), actor_id })
    }

    async fn rollback(&self, _: Request<RollbackRequest>) -> Answer<RollbackResponse> {
        sequence::rollback(&self.0)?;
        reply!(RollbackResponse, Rollback::default())
    }

    async fn service_start(&self, request: Request<ServiceStartRequest>) -> Answer<ServiceStartResponse> {
        let resp = lifecycle::service(&self.0, &request.get_ref().id, &Order::Start)?;
        reply!(ServiceStartResponse, ServiceStart { metadata: None, resp })
    }

    async fn service_stop(&self, request: Request<ServiceStopRequest>) -> Answer<ServiceStopResponse> {
        let resp = lifecycle::service(&self.0, &request.get_ref().id, &Order::Stop)?;
        reply!(ServiceStopResponse, ServiceStop { metadata: None, resp })
    }

    async fn service_restart(
        &self,
        request: Request<ServiceRestartRequest>,
    ) -> Answer<ServiceRestartResponse> {
        let resp = lifecycle::service(&self.0, &request.get_ref().id, &Order::Restart)?;
        reply!(ServiceRestartResponse, ServiceRestart { metadata: None, resp })
    }

    async fn etcd_member_list(
        &self,
        request: Request<EtcdMemberListRequest>,
    ) -> Answer<EtcdMemberListResponse> {
        reply!(EtcdMemberListResponse, etcd::members(&self.0, request.get_ref().query_local).await?)
    }

    async fn etcd_remove_member_by_id(
        &self,
        request: Request<EtcdRemoveMemberByIdRequest>,
    ) -> Answer<EtcdRemoveMemberByIdResponse> {
        etcd::remove(&self.0, request.get_ref().member_id).await?;
        reply!(EtcdRemoveMemberByIdResponse, EtcdRemoveMemberById::default())
    }

    async fn etcd_leave_cluster(
        &self,
        _: Request<EtcdLeaveClusterRequest>,
    ) -> Answer<EtcdLeaveClusterResponse> {
        etcd::leave(&self.0).await?;
        reply!(EtcdLeaveClusterResponse, EtcdLeaveCluster::default())
    }

    async fn etcd_forfeit_leadership(
        &self,
        _: Request<EtcdForfeitLeadershipRequest>,
    ) -> Answer<EtcdForfeitLeadershipResponse> {
        let member = etcd::forfeit(&self.0).await?;
        reply!(EtcdForfeitLeadershipResponse, EtcdForfeitLeadership { metadata: None, member })
    }

    async fn etcd_snapshot(&self, _: Request<EtcdSnapshotRequest>) -> Streamed<Data> {
        etcd::snapshot(&self.0).await
    }

    async fn etcd_recover(&self, request: Request<Streaming<Data>>) -> Answer<EtcdRecoverResponse> {
        etcd::recover(&self.0, request.into_inner()).await?;
        reply!(EtcdRecoverResponse, EtcdRecover::default())
    }
}
