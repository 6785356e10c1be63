//! Configuration, bootstrap and access.

use std::{sync::Arc, time::Duration};

use butler_core::pki::{Leaf, Usage};
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::{Streamed, control_plane, read};
use crate::{
    sandbox::node::{
        config::{self, Config, Given, full},
        context::Node,
        etcd::Recovery,
        sequence,
        services::State,
    },
    talos::{
        kubeconfig,
        proto::{
            common::Data,
            machine::{
                ApplyConfiguration, ApplyConfigurationRequest, BootstrapRequest, GenerateClientConfiguration,
                GenerateClientConfigurationRequest, apply_configuration_request::Mode,
            },
        },
        talosconfig::{Context, Talosconfig},
    },
};

/// How long a configuration is tried out unless the caller says so.
const TRIAL: Duration = Duration::from_secs(60);

pub(super) fn apply(
    node: &Arc<Node>,
    request: &ApplyConfigurationRequest,
) -> Result<ApplyConfiguration, Status> {
    let old = node.current().ok_or_else(|| Status::unavailable("there is no configuration yet"))?;
    let new = match Config::read(&request.data).map_err(Status::invalid_argument)? {
        Given::Complete(config) => *config,
        Given::Partial => {
            return Err(Status::invalid_argument(
                "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch \
                 the machine config instead?",
            ));
        }
    };
    if let Some(words) = node.faults().refuses_config {
        return Err(Status::invalid_argument(words));
    }
    let decided = config::decide(&old, &new, request.mode())?;
    if request.dry_run {
        let mode_details = format!(
            "Dry run summary:\n{} (skipped in dry-run).\nConfig diff:\n\n{}",
            decided.details,
            old.diff(&new)
        );
        return Ok(ApplyConfiguration {
            mode: decided.mode.into(),
            mode_details,
            ..ApplyConfiguration::default()
        });
    }
    if request.mode() != Mode::Try {
        end_trial(node);
    }
    let mut details = decided.details;
    if decided.mode != Mode::Try {
        node.machine
            .disk
            .write_config(&new.text)
            .map_err(|error| Status::internal(format!("failed to write config: {}", full(&error))))?;
    }
    match decided.mode {
        Mode::Try => {
            let asked = request.try_mode_timeout.and_then(|timeout| Duration::try_from(timeout).ok());
            let timeout = asked.filter(|timeout| !timeout.is_zero()).unwrap_or(TRIAL);
            details.push_str(&format!(
                "\nThe config is applied in 'try' mode and will be automatically reverted back in {}",
                go_duration(timeout)
            ));
            try_out(node, old, new, timeout);
        }
        Mode::NoReboot => use_now(node, Arc::new(new)),
        Mode::Reboot => sequence::reboot_for_config(node),
        Mode::Staged | Mode::Auto => {}
    }
    Ok(ApplyConfiguration {
        mode: decided.mode.into(),
        mode_details: details,
        ..ApplyConfiguration::default()
    })
}

fn use_now(node: &Node, config: Arc<Config>) {
    node.config.send_replace(Some(config));
    node.changed.notify_one();
}

fn end_trial(node: &Node) {
    let trial = node.trial.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    if let Some(trial) = trial {
        trial.cancel();
    }
}

/// Uses a configuration for a while; a second trial keeps the first one's way back.
fn try_out(node: &Arc<Node>, old: Arc<Config>, new: Config, timeout: Duration) {
    end_trial(node);
    let token = CancellationToken::new();
    *node.trial.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(token.clone());
    use_now(node, Arc::new(new));
    let again = node.clone();
    node.spawn(async move {
        tokio::select! {
            () = again.stop.cancelled() => {}
            () = token.cancelled() => {}
            () = tokio::time::sleep(timeout) => {
                again.machine.logs.talos("the configuration that was tried out is taken back");
                use_now(&again, old);
            }
        }
    });
}

/// A duration as Go prints it: `1m0s`.
fn go_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

pub(super) fn bootstrap(node: &Node, request: &BootstrapRequest) -> Result<(), Status> {
    if !node.services.is_up("cri") {
        return Err(Status::failed_precondition("bootstrap is not available yet"));
    }
    if !node.is_control_plane() {
        return Err(Status::failed_precondition("bootstrap can only be performed on a control plane node"));
    }
    if node.machine.disk.has_etcd() || node.etcd.borrow().bootstrap {
        return Err(Status::already_exists("etcd data directory is not empty"));
    }
    if request.recover_etcd && !node.machine.disk.etcd_snapshot().exists() {
        return Err(Status::failed_precondition("there is no etcd snapshot to recover from"));
    }
    node.machine.disk.room().map_err(|error| Status::unknown(full(&error)))?;
    node.services.set("etcd", State::Finished, "Bootstrap requested");
    let recovery =
        request.recover_etcd.then_some(Recovery { skip_hash_check: request.recover_skip_hash_check });
    node.etcd.send_modify(|phase| (phase.bootstrap, phase.recovery) = (true, recovery));
    node.etcd_order.notify_one();
    Ok(())
}

pub(super) fn kubeconfig(node: &Node) -> Streamed<Data> {
    control_plane(node, "kubeconfig")?;
    let config = node.current().ok_or_else(|| Status::unavailable("there is no configuration yet"))?;
    let cluster = &config.machine.main.cluster;
    let broken = |error: &dyn std::error::Error| Status::internal(full(error));
    let authority = cluster.ca.as_ref().ok_or_else(|| Status::internal("`cluster.ca` is missing"))?;
    let authority = authority.authority().map_err(|error| broken(&error))?;
    let text = kubeconfig::admin(
        &cluster.cluster_name,
        &cluster.control_plane.endpoint,
        &authority,
        node.machine.clock.now(),
        cluster.admin_certificate_life(),
    )
    .map_err(|error| broken(&error))?;
    Ok(read::once(kubeconfig::to_archive(&text).map_err(|error| broken(&error))?))
}

pub(super) fn client_config(
    node: &Node,
    request: &GenerateClientConfigurationRequest,
) -> Result<GenerateClientConfiguration, Status> {
    let config = node.current().ok_or_else(|| Status::unavailable("there is no configuration yet"))?;
    if !config.is_control_plane() {
        return Err(Status::failed_precondition(
            "client configuration (talosconfig) can't be generated on worker nodes",
        ));
    }
    let seconds = request.crt_ttl.map(|ttl| ttl.seconds).unwrap_or_default();
    if seconds <= 0 {
        return Err(Status::invalid_argument("crt_ttl should be positive"));
    }
    let [role] = request.roles.as_slice() else {
        return Err(Status::invalid_argument("a simulated node signs certificates with exactly one role"));
    };
    let broken = |error: &dyn std::error::Error| Status::internal(full(error));
    let authority = config.machine.main.machine.ca.authority().map_err(|error| broken(&error))?;
    let issued = authority
        .issue(&Leaf {
            common_name: None,
            organization: Some(role.clone()),
            names: Vec::new(),
            usage: Usage::Client,
            not_before: node.machine.clock.now(),
            life: SignedDuration::from_secs(seconds),
        })
        .map_err(|error| broken(&error))?;
    let cluster = &config.machine.main.cluster.cluster_name;
    let name = format!("{}@{cluster}", role.trim_start_matches("os:"));
    let context = Context {
        ca: authority.certificate().to_owned(),
        crt: issued.certificate.clone(),
        key: issued.key.clone(),
        ..Context::default()
    };
    let talosconfig = Talosconfig { context: name.clone(), contexts: [(name, context)].into() };
    let text = talosconfig.to_yaml().map_err(|error| broken(&error))?;
    Ok(GenerateClientConfiguration {
        metadata: None,
        ca: authority.certificate().as_bytes().to_vec(),
        crt: issued.certificate.into_bytes(),
        key: issued.key.expose().as_bytes().to_vec(),
        talosconfig: text.expose().as_bytes().to_vec(),
    })
}

/// What becomes of a service that a person starts, stops or restarts.
pub(super) enum Order {
    Start,
    Stop,
    Restart,
}

pub(super) fn service(node: &Node, id: &str, order: &Order) -> Result<String, Status> {
    if node.services.state(id).is_none() {
        return Err(Status::unknown(format!("service {id:?} is not registered")));
    }
    let is_real = ["etcd", "kubelet"].contains(&id);
    if ["apid", "machined", "trustd"].contains(&id) && !matches!(order, Order::Start) {
        return Err(Status::unknown(format!("service {id:?} doesn't support stop operation via API")));
    }
    let stop = || {
        node.services.set(id, State::Stopping, "Sending SIGTERM to task");
        node.services.set(id, State::Finished, "Service finished successfully");
    };
    match order {
        Order::Start if is_real => {
            node.held.send_if_modified(|held| held.remove(id));
        }
        Order::Stop if is_real => {
            node.services.set(id, State::Stopping, "Sending SIGTERM to task");
            node.held.send_if_modified(|held| held.insert(id.to_owned()));
        }
        Order::Restart if is_real => {
            node.services.set(id, State::Stopping, "Sending SIGTERM to task");
            node.held.send_if_modified(|held| held.remove(id));
            node.restarts.send_modify(|all| *all.entry(id.to_owned()).or_default() += 1);
        }
        Order::Start => {
            if node.services.state(id) != Some(State::Running) {
                node.services.simulate(id, "Service started");
            }
        }
        Order::Stop => stop(),
        Order::Restart => {
            stop();
            node.services.simulate(id, "Service started");
        }
    }
    Ok(match order {
        Order::Start => format!("Service {id:?} started"),
        Order::Stop => format!("Service {id:?} stopped"),
        Order::Restart => format!("Service {id:?} restarted"),
    })
}
