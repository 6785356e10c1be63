//! `machine create`

use std::{path::PathBuf, time::Duration};

use butler_core::{
    api::{
        MachineRequest,
        common::{MachineRole, ProviderRef},
        machine_request::MachineRequestSpec,
    },
    error::Code,
    machine,
    settings::keys::duration,
};
use butler_term::{
    CommandError, CommandResult,
    args::{ConnectArgs, OutputArgs},
    complete,
    run::Session,
};
use clap::{Args, ValueHint, builder::PossibleValuesParser};

use super::{NamespaceArgs, rows::Object};

/// Ask for a machine
///
/// Makes a MachineRequest. With --wait, ends when the machine is ready: it has an address and answers
/// the provider.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm machine create cp-0 --provider sandbox --role control-plane --wait
  butleradm machine create worker-0 --provider lab --cpu 4 --memory 8Gi --disk 40Gi --user-data worker.yaml")]
pub(crate) struct MachineCreateArgs {
    /// Name of the request, and of the machine
    name: String,

    #[command(flatten)]
    namespace: NamespaceArgs,

    /// ProviderConfig to use, as NAME or NAMESPACE/NAME
    #[arg(long, value_name = "REF", value_parser = provider_ref, add = complete::providers())]
    provider: ProviderRef,

    /// What the machine is for
    #[arg(long, value_name = "ROLE", default_value = "worker", value_parser = PossibleValuesParser::new(MachineRole::VALUES))]
    role: String,

    /// Number of CPUs
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(i32).range(1..=128))]
    cpu: i32,

    /// Memory, e.g. 4Gi or 4096Mi; a plain number is in MB
    #[arg(long, value_name = "SIZE", default_value = "4Gi", value_parser = memory)]
    memory: i32,

    /// Root disk, e.g. 20Gi; a plain number is in GB
    #[arg(long, value_name = "SIZE", default_value = "20Gi", value_parser = disk)]
    disk: i32,

    /// Image in the provider's words, in place of the provider's default
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// File with data for the first boot, such as a Talos machine configuration
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    user_data: Option<PathBuf>,

    /// Let the API server check the request, but store nothing
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,

    /// Wait until the machine is ready
    #[arg(long)]
    wait: bool,

    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = duration)]
    timeout: Duration,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &MachineCreateArgs, session: &Session) -> CommandResult {
    let request = request(args)?;
    let (namespace, name) = (&args.namespace.namespace, &args.name);
    let made = session.block_on(async {
        let client = session.connect(&args.connect).await?.client;
        let made = machine::create(&client, namespace, &request, args.dry_run).await.map_err(|error| {
            let error = CommandError::from(error);
            if error.code() == Code::ObjectExists {
                error.hint(format!("butleradm machine get {name} -n {namespace}"))
            } else {
                error
            }
        })?;
        let word = if args.dry_run { "would be created (dry run)" } else { "created" };
        session.ui.status(format_args!("machine request `{name}` in namespace `{namespace}` {word}"));
        if !args.wait {
            return Ok(made);
        }
        let _waiting = session.ui.spinner(format!("waiting for machine `{name}`"));
        let tell = |phase: &str| session.ui.status(format_args!("machine `{name}`: {phase}"));
        Ok(machine::ready(&client, namespace, name, args.timeout, tell).await?)
    })?;
    // Without a format nobody asked for data.
    if args.output.output.is_none() {
        return Ok(());
    }
    let mut made = made;
    made.metadata.managed_fields = None;
    let object = serde_json::to_value(&made).map_err(|error| {
        CommandError::new(Code::Internal, "cannot serialise the result").caused_by(&error)
    })?;
    session.ui.render(&Object(object), &session.format(&args.output))
}

fn request(args: &MachineCreateArgs) -> CommandResult<MachineRequest> {
    let user_data = match &args.user_data {
        None => None,
        Some(path) => Some(std::fs::read_to_string(path).map_err(|error| {
            let message = format!("cannot read the user data `{}`", path.display());
            CommandError::new(Code::FileUnreadable, message).caused_by(&error)
        })?),
    };
    let spec = MachineRequestSpec {
        machine_name: args.name.clone(),
        role: args.role.as_str().into(),
        provider_ref: args.provider.clone(),
        cpu: args.cpu,
        memory_mb: args.memory,
        disk_gb: args.disk,
        extra_disks: Vec::new(),
        image: args.image.clone(),
        user_data,
        network_data: None,
        labels: Default::default(),
    };
    Ok(MachineRequest::new(&args.name, spec))
}

fn provider_ref(text: &str) -> Result<ProviderRef, String> {
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name),
        None => (None, text),
    };
    if name.is_empty() || name.contains('/') || namespace.as_deref() == Some("") {
        return Err("expected NAME or NAMESPACE/NAME".to_owned());
    }
    Ok(ProviderRef { name: name.to_owned(), namespace })
}

fn memory(text: &str) -> Result<i32, String> {
    size(text, 1).ok_or_else(|| "expected a size such as 4Gi or 4096Mi".to_owned())
}

fn disk(text: &str) -> Result<i32, String> {
    // Counted in MB, as everything here; a plain number is in GB.
    let megabytes = size(text, 1024).ok_or_else(|| "expected a size such as 20Gi".to_owned())?;
    (megabytes % 1024 == 0).then_some(megabytes / 1024).ok_or_else(|| "expected whole Gi".to_owned())
}

/// A size in MB; `plain` is what a number without a unit counts.
fn size(text: &str, plain: i32) -> Option<i32> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" => plain,
        "M" | "Mi" | "MB" => 1,
        "G" | "Gi" | "GB" => 1024,
        "T" | "Ti" | "TB" => 1024 * 1024,
        _ => return None,
    };
    number.parse::<i32>().ok()?.checked_mul(factor).filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        assert_eq!(["4096", "4096Mi", "4Gi"].map(memory), [Ok(4096), Ok(4096), Ok(4096)]);
        assert_eq!(["20", "20Gi", "1Ti", "20480Mi"].map(disk), [Ok(20), Ok(20), Ok(1024), Ok(20)]);
        for bad in ["", "Gi", "-4Gi", "4Pi", "4.5Gi", "99999999Ti", "0"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
        assert!(disk("100Mi").is_err());
    }

    #[test]
    fn a_provider_is_named_with_or_without_its_namespace() {
        assert_eq!(provider_ref("lab").unwrap().namespace, None);
        assert_eq!(provider_ref("infra/lab").unwrap().namespace.as_deref(), Some("infra"));
        for bad in ["", "/lab", "infra/", "a/b/c"] {
            assert!(provider_ref(bad).is_err(), "{bad}");
        }
    }
}
