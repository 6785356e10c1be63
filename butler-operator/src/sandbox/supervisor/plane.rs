//! The management plane that `sandbox up` makes: etcd, an API server, its controllers and ours.

use jiff::Timestamp;
use kube::Client;

use super::{
    Running, Workshop,
    keeper::{Ready, Started},
};
use crate::{
    plane,
    sandbox::{
        SandboxError,
        host::Network,
        platform::{self, Identities},
    },
};

/// A plane whose first parts were started.
pub(super) struct Begun {
    identities: Identities,
    client: Client,
    etcd: Started,
    api_server: Started,
}

/// Starts etcd and the API server, which waits for etcd by itself, so both begin at once.
pub(super) async fn begin(workshop: &Workshop<'_>) -> Result<Begun, SandboxError> {
    let Workshop { options, ports, .. } = workshop;
    let (place, programs) = (&options.place, &options.programs.0);
    let identities = Identities::ensure(place, ports, Timestamp::now())?;
    let client = plane::client(&identities.admin).await?;
    let etcd = workshop.start(
        "etcd",
        &programs.etcd,
        platform::etcd(place, ports, &identities),
        ports.etcd,
        Ready::Listens,
    )?;
    let api_server = workshop.start(
        "kube-apiserver",
        &programs.kube_apiserver,
        platform::api_server(place, ports, &identities),
        ports.api,
        Ready::ReadyZ(client.clone()),
    )?;
    Ok(Begun { identities, client, etcd, api_server })
}

impl Begun {
    /// Waits for what was begun, installs the objects of the platform and starts controllers.
    pub(super) async fn complete(
        self,
        workshop: &Workshop<'_>,
        network: &Network,
        running: &mut Running,
        phase: impl Fn(&str),
    ) -> Result<(), SandboxError> {
        let Workshop { options, ports, .. } = workshop;
        let Self { identities, client, etcd, api_server } = self;
        let (etcd, api_server) = tokio::try_join!(etcd.ready(), api_server.ready())?;
        (running.etcd, running.api_server) = (Some(etcd), Some(api_server));

        phase("Installing the objects of the platform and starting controllers");
        let manager = workshop.start(
            "kube-controller-manager",
            &options.programs.0.kube_controller_manager,
            platform::controller_manager(ports, &identities),
            ports.controller_manager,
            Ready::Listens,
        )?;
        let socket = options.place.host_socket();
        let (manager, serve) =
            tokio::try_join!(async { Ok::<_, SandboxError>(manager.ready().await?) }, async {
                // With the definitions in place, no controller begins by waiting for them.
                platform::install(&client, &socket, network).await?;
                Ok(workshop.serve(&identities.serve, None)?.ready().await?)
            })?;
        running.others.extend([manager, serve]);
        Ok(())
    }
}
