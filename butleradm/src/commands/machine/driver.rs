//! From a machine request to its machine at the provider.

use std::sync::Arc;

use butler_core::{api::MachineRequest, error::Code, machine};
use butler_operator::driver::{
    Driver, MachineKey, Ownership,
    registry::{self, Connect},
};
use butler_term::{CommandError, CommandResult, args::ConnectArgs, run::Session};
use clap::Args;

use super::{NameArgs, missing};

/// Flags of commands that talk to the provider themselves.
#[derive(Args, Debug)]
pub(super) struct MachineAtProviderArgs {
    #[command(flatten)]
    pub(super) name: NameArgs,

    /// Whose the machine is, as given to `butleradm serve` [default: the UID of the namespace kube-system]
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Reads the request and its ProviderConfig.
pub(super) async fn find(
    args: &MachineAtProviderArgs,
    session: &Session,
) -> CommandResult<(Arc<dyn Driver>, MachineKey)> {
    let connection = session.connect(&args.connect).await?;
    let (namespace, name) = (&args.name.namespace.namespace, &args.name.name);
    let object = match machine::get(&connection.client, namespace, name).await {
        Ok(object) => object,
        Err(error) => return Err(missing(&connection, &args.name, error).await),
    };
    let request: MachineRequest = object.try_parse().map_err(|error| {
        let message = format!("machine request `{name}` does not fit its kind");
        CommandError::new(Code::AnswerUnreadable, message).caused_by(&error)
    })?;
    let connect: Connect = Arc::new(registry::connect);
    let reference = &request.spec.provider_ref;
    let driver = registry::driver_of(&connection.client, &connect, namespace, reference).await?;
    let owner = match &args.owner {
        Some(owner) => owner.clone(),
        None => machine::owner(&connection.client).await?,
    };
    let key = MachineKey {
        name: request.spec.machine_name,
        ownership: Ownership::new(owner, namespace, name),
        id: request.status.and_then(|status| status.provider_id),
    };
    Ok((driver, key))
}
