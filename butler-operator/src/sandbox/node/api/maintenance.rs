//! The answers of a node that has no configuration yet.

use std::sync::Arc;

use tokio::sync::mpsc;
use tonic::{Request, Response, Status, service::Routes};

use super::{disks::Storage, reply};
use crate::{
    sandbox::node::{
        config::{Config, Given, full},
        context::Node,
        cosi::service::StateService,
    },
    talos::proto::{
        cosi::resource::state_server::StateServer,
        machine::{
            ApplyConfiguration, ApplyConfigurationRequest, ApplyConfigurationResponse,
            GenerateClientConfigurationRequest, GenerateClientConfigurationResponse, ResetRequest,
            ResetResponse, UpgradeRequest, UpgradeResponse, VersionResponse,
            apply_configuration_request::Mode,
            machine_service_server::{MachineService, MachineServiceServer},
        },
        storage::storage_service_server::StorageServiceServer,
    },
};

const NOT_HERE: &str = "API is not implemented in maintenance mode";
/// What gRPC takes unless told otherwise.
const LARGEST: usize = 4 * 1024 * 1024;

/// The services before there is a configuration; a complete one is given on.
pub(in super::super) fn routes(node: Arc<Node>, give: mpsc::Sender<Config>) -> Routes {
    let machine = MachineServiceServer::new(Maintenance { node: node.clone(), give });
    Routes::new(machine.max_decoding_message_size(LARGEST))
        .add_service(StateServer::new(StateService(node.clone())))
        .add_service(StorageServiceServer::new(Storage(node)))
        .prepare()
}

struct Maintenance {
    node: Arc<Node>,
    give: mpsc::Sender<Config>,
}

#[tonic::async_trait]
impl MachineService for Maintenance {
    async fn apply_configuration(
        &self,
        request: Request<ApplyConfigurationRequest>,
    ) -> Result<Response<ApplyConfigurationResponse>, Status> {
        let request = request.into_inner();
        let refused = match request.mode() {
            Mode::Auto | Mode::Reboot | Mode::Try => None,
            Mode::NoReboot => Some("no-reboot"),
            Mode::Staged => Some("staged"),
        };
        if let Some(mode) = refused {
            return Err(Status::unimplemented(format!(
                "apply configuration --mode='{mode}' is not supported in maintenance mode"
            )));
        }
        let given =
            Config::read(&request.data).map_err(|error| match error.strip_prefix("v1alpha1.Config: ") {
                Some(_) => Status::invalid_argument(format!("configuration validation failed: {error}")),
                None => Status::unknown(format!("failed to parse config: {error}")),
            })?;
        if let Some(words) = self.node.faults().refuses_config {
            return Err(Status::invalid_argument(format!(
                "runtime configuration validation failed: {words}"
            )));
        }
        if request.dry_run {
            let mode_details =
                "Dry run summary:\nNode is running in maintenance mode and does not have a config yet.";
            return reply!(
                ApplyConfigurationResponse,
                ApplyConfiguration { mode_details: mode_details.to_owned(), ..ApplyConfiguration::default() }
            );
        }
        match given {
            Given::Partial => {
                self.node.machine.logs.talos("a partial configuration came; waiting for the rest")
            }
            Given::Complete(config) => {
                self.node
                    .machine
                    .disk
                    .write_config(&config.text)
                    .map_err(|error| Status::internal(format!("failed to write config: {}", full(&error))))?;
                // A second one in the same moment comes too late.
                self.give
                    .try_send(*config)
                    .map_err(|_| Status::failed_precondition("a configuration is being applied"))?;
            }
        }
        reply!(ApplyConfigurationResponse, ApplyConfiguration::default())
    }

    async fn version(&self, _: Request<()>) -> Result<Response<VersionResponse>, Status> {
        Err(Status::unimplemented(NOT_HERE))
    }

    async fn upgrade(&self, _: Request<UpgradeRequest>) -> Result<Response<UpgradeResponse>, Status> {
        Err(Status::unimplemented(NOT_HERE))
    }

    async fn reset(&self, _: Request<ResetRequest>) -> Result<Response<ResetResponse>, Status> {
        Err(Status::unimplemented(NOT_HERE))
    }

    async fn generate_client_configuration(
        &self,
        _: Request<GenerateClientConfigurationRequest>,
    ) -> Result<Response<GenerateClientConfigurationResponse>, Status> {
        Err(Status::unimplemented(
            "client configuration (talosconfig) can't be generated in the maintenance mode",
        ))
    }
}
