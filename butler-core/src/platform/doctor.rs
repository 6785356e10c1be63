//! The checks of `doctor`: what keeps the platform from working, each with the next command.

use serde::Serialize;

use super::{Level, Survey, Tenant, Workload};
use crate::{api::names::namespaces::SYSTEM, cluster::ApiError, error::Diagnose};

/// One check and its result.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// The result.
    pub level: Level,
    /// What was seen.
    pub detail: String,
    /// What to do about it; set on everything that did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Check {
    fn pass(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), level: Level::Pass, detail: detail.into(), next: None }
    }

    fn bad(
        name: impl Into<String>,
        level: Level,
        detail: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), level, detail: detail.into(), next: Some(next.into()) }
    }

    fn skip(name: impl Into<String>, because: &str) -> Self {
        Self {
            name: name.into(),
            level: Level::Skip,
            detail: format!("not looked at: {because}"),
            next: None,
        }
    }

    /// A fact that could not be learned fails its check, with the reason.
    fn unknown(name: impl Into<String>, error: &ApiError) -> Self {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::bad(name, Level::Fail, format!("{error}{cause}"), format!("butleradm explain {}", error.code()))
    }
}

/// The checks, in the order in which one depends on the other. `kinds` are those that this version
/// of Butler works with.
pub fn checks(survey: &Survey, kinds: &[&str]) -> Vec<Check> {
    let api = match &survey.version {
        Ok(info) => Check::pass("API server", format!("Kubernetes {}", info.git_version)),
        Err(error) => return vec![Check::unknown("API server", error)],
    };
    let system = system_namespace(survey);
    let installed = system.level == Level::Pass;
    let api_kinds = butler_api(survey, kinds);
    let served = api_kinds.level != Level::Fail;
    let mut checks = vec![api, system, api_kinds];
    let no_api = "the Butler API is missing";
    let no_system = "the namespace butler-system is missing";
    checks.push(if served { config(survey) } else { Check::skip("ButlerConfig", no_api) });
    for (label, namespace, name) in [
        ("butler-controller", SYSTEM, "butler-controller"),
        ("butler-server", SYSTEM, "butler-console-server"),
        ("steward", "steward-system", "steward"),
    ] {
        let check = if installed {
            deployment(survey, label, namespace, name)
        } else {
            Check::skip(label, no_system)
        };
        checks.push(check);
    }
    if served {
        checks.extend(providers(survey));
        checks.push(tenants(survey));
    } else {
        checks.push(Check::skip("providers", no_api));
        checks.push(Check::skip("tenant clusters", no_api));
    }
    checks
}

fn system_namespace(survey: &Survey) -> Check {
    let name = "namespace butler-system";
    match &survey.namespaces {
        Ok(namespaces) if namespaces.iter().any(|namespace| namespace == SYSTEM) => {
            Check::pass(name, "exists")
        }
        Ok(_) => Check::bad(
            name,
            Level::Fail,
            "missing: this is not a Butler management cluster",
            "butleradm doctor --context NAME, with a management cluster from `kubectl config get-contexts`",
        ),
        Err(error) => Check::unknown(name, error),
    }
}

fn butler_api(survey: &Survey, wanted: &[&str]) -> Check {
    let name = "Butler API";
    match &survey.kinds {
        Ok(served) if served.is_empty() => {
            Check::bad(name, Level::Fail, "no Butler kind is served", "butleradm crds apply")
        }
        Ok(served) => {
            let missing: Vec<&str> =
                wanted.iter().copied().filter(|kind| !served.iter().any(|name| name == kind)).collect();
            if missing.is_empty() {
                Check::pass(name, format!("{} kinds", wanted.len()))
            } else {
                let detail = format!("missing: {}", missing.join(", "));
                Check::bad(name, Level::Warn, detail, "butleradm crds apply")
            }
        }
        Err(error) => Check::unknown(name, error),
    }
}

fn config(survey: &Survey) -> Check {
    let name = "ButlerConfig";
    match &survey.config {
        Ok(Some(config)) => {
            let mode = config.pointer("/spec/multiTenancy/mode").and_then(|mode| mode.as_str());
            Check::pass(name, format!("`butler`, multi-tenancy {}", mode.unwrap_or("Disabled")))
        }
        Ok(None) => Check::bad(
            name,
            Level::Fail,
            "`butler` is missing",
            "kubectl apply -f examples/manifests/butlerconfig.yaml",
        ),
        Err(error) => Check::unknown(name, error),
    }
}

fn deployment(survey: &Survey, label: &str, namespace: &str, name: &str) -> Check {
    let inspect = format!("kubectl -n {namespace} describe deployment {name}");
    match &survey.workloads {
        Ok(workloads) => match find(workloads, namespace, name) {
            Some(found) => {
                let level = Level::of_replicas(found.ready, found.desired);
                let detail = format!("{}/{} ready", found.ready, found.desired);
                if level == Level::Pass {
                    Check::pass(label, detail)
                } else {
                    Check::bad(label, level, detail, inspect)
                }
            }
            None if survey.sandbox => {
                Check::skip(label, "a sandbox has no Pods, see `butleradm sandbox status`")
            }
            None => Check::bad(
                label,
                Level::Fail,
                format!("deployment {name} is not in namespace {namespace}"),
                format!("helm list -n {namespace}"),
            ),
        },
        Err(error) => Check::unknown(label, error),
    }
}

fn find<'a>(workloads: &'a [Workload], namespace: &str, name: &str) -> Option<&'a Workload> {
    workloads.iter().find(|workload| workload.namespace == namespace && workload.name == name)
}

fn providers(survey: &Survey) -> Vec<Check> {
    match &survey.providers {
        Ok(providers) if providers.is_empty() => {
            let next = "kubectl apply -f examples/manifests/providerconfig.yaml";
            vec![Check::bad("providers", Level::Warn, "none is configured", next)]
        }
        Ok(providers) => providers
            .iter()
            .map(|provider| {
                let name = format!("provider {}", provider.name);
                if provider.validated {
                    Check::pass(name, format!("{}, credentials valid", provider.provider))
                } else {
                    Check::bad(
                        name,
                        Level::Warn,
                        format!("{}, credentials not validated", provider.provider),
                        format!(
                            "kubectl -n {} describe providerconfig {}",
                            provider.namespace, provider.name
                        ),
                    )
                }
            })
            .collect(),
        Err(error) => vec![Check::unknown("providers", error)],
    }
}

fn tenants(survey: &Survey) -> Check {
    let name = "tenant clusters";
    match &survey.tenants {
        Ok(tenants) => {
            let count =
                |phases: &[&str]| tenants.iter().filter(|t| phases.contains(&t.phase.as_str())).count();
            let failed: Vec<&Tenant> = tenants.iter().filter(|tenant| tenant.phase == "Failed").collect();
            let detail = format!(
                "{} in all, {} ready, {} on the way, {} failed",
                tenants.len(),
                count(&["Ready"]),
                count(&["Provisioning", "Installing"]),
                failed.len()
            );
            match failed.first() {
                Some(first) => Check::bad(
                    name,
                    Level::Warn,
                    detail,
                    format!("butlerctl cluster get {} -n {}", first.name, first.namespace),
                ),
                None => Check::pass(name, detail),
            }
        }
        Err(error) => Check::unknown(name, error),
    }
}
