//! The second half of every page: whether trying again helps, and where to look before doing so.
//!
//! The match has no wildcard on purpose: a code that is added to the table does not compile until somebody
//! has said here what proves it.

use super::Code;

/// Whether the same command may succeed without anybody changing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outlook {
    /// It may pass by itself.
    Retryable,
    /// It stays until something is changed.
    Permanent,
}

impl Outlook {
    /// One sentence for a person.
    pub fn text(self) -> &'static str {
        match self {
            Self::Retryable => "Retryable: it may pass by itself, so try again.",
            Self::Permanent => "Permanent: trying again changes nothing until its cause is changed.",
        }
    }
}

/// What to look at, each a command or a place.
type Evidence = &'static [&'static str];

/// What is known of a code besides its text.
pub(super) fn of(code: Code) -> (Outlook, Evidence) {
    use Code as C;
    use Outlook::{Permanent, Retryable};
    const SERVER_ANSWER: &str = "the server's own words, printed as the last cause";
    const PROVIDER_ANSWER: &str = "the provider's own words, printed as the last cause";
    const SYSTEM_REASON: &str = "the system's reason, printed as the last cause";
    const WHO_HOLDS: &str = "the process that the message names: `ps -fp PID`";
    const NODE_CONSOLE: &str = "the node's console: `talosctl -n ADDRESS dmesg`";
    const NODE_SERVICES: &str = "talosctl -n ADDRESS services";
    const ENGINE_WORDS: &str = "the words of the container engine or of kind, printed as the cause";
    const RUN_JOURNAL: &str = "journal.ndjson and run.log in the run's folder, BUTLER_HOME/runs/RUN";
    const CONFIG_PLACE: &str = "file, line and column in the message";
    match code {
        C::ApiUnreachable => (
            Retryable,
            &["`server:` in the kubeconfig that is named", "kubectl --kubeconfig FILE get --raw /livez"],
        ),
        C::NotKubernetes => (Permanent, &["the first bytes of the answer: `curl -k SERVER/version`"]),
        C::ApiTimeout => (
            Retryable,
            &["how long a small request takes: `kubectl get --raw /livez`", "the load on the server's host"],
        ),
        C::CertificateRejected => (
            Permanent,
            &[
                "what the server shows: `openssl s_client -connect HOST:PORT -showcerts`",
                "the clock of this machine: `date -u`",
            ],
        ),
        C::NoIdentity => (Permanent, &["the places in the search order above, one after the other"]),
        C::LoginExpired => (Permanent, &["the expiry that the message names", "the clock of this machine"]),
        C::Unauthorized => (Permanent, &["kubectl auth whoami", "the age of the token or certificate"]),
        C::Forbidden => (Permanent, &[SERVER_ANSWER, "kubectl auth can-i --list -n NAMESPACE"]),
        C::KubeconfigUnreadable => (Permanent, &[SYSTEM_REASON, "which file it is: `-v` names it"]),
        C::KubeconfigMalformed => (Permanent, &[CONFIG_PLACE, "kubectl config view --kubeconfig FILE"]),
        C::ContextUnknown => (Permanent, &["`current-context` and the list of contexts in the file"]),
        C::KubeconfigExposed => (Permanent, &["ls -l FILE"]),
        C::CredentialsMalformed => (Permanent, &["credentials.json in the Butler home", SYSTEM_REASON]),
        C::CredentialPluginFailed => (Permanent, &["the plugin's own words, printed as the cause"]),

        C::ObjectNotFound => (Permanent, &["kubectl get KIND -A"]),
        C::CrdsMissing => {
            (Permanent, &["kubectl api-resources --api-group butler.butlerlabs.dev", "the context in use"])
        }
        C::ObjectConflict => (Retryable, &["kubectl get KIND NAME -o yaml --show-managed-fields"]),
        C::ObjectInvalid => (Permanent, &[SERVER_ANSWER]),
        C::ApiRejected => (Permanent, &[SERVER_ANSWER, "the log of the API server"]),
        C::NotEstablished => (Retryable, &["the conditions of the definitions: `kubectl get crd -o yaml`"]),
        C::CheckFailed => (Permanent, &["butleradm doctor -o json"]),
        C::AnswerUnreadable => (Permanent, &["the version of the server: `kubectl version`"]),
        C::ApiBusy => (Retryable, &[SERVER_ANSWER, "kubectl get --raw '/readyz?verbose'"]),
        C::ObjectExists => (Permanent, &["kubectl get KIND NAME -o yaml"]),

        C::Usage => (Permanent, &["the usage line below the message"]),
        C::SettingUnknown | C::SettingInvalid => (Permanent, &["butleradm config list --origin"]),
        C::SettingsMalformed => (Permanent, &[CONFIG_PLACE]),
        C::JsonPathInvalid => (Permanent, &["the character that the message counts to"]),
        C::CodeUnknown => (Permanent, &["butleradm explain -o name"]),
        C::NeedsTerminal => (Permanent, &["what standard input is: `ls -l /dev/stdin`"]),
        C::NeedsScreen => (Permanent, &["what the terminal is: `echo $TERM; tty`"]),
        C::Declined => (Permanent, &["the question above the message"]),
        C::BootstrapConfigInvalid => (Permanent, &["the list of problems, each with line and column"]),
        C::BootstrapConfigMissing => (Permanent, &["the two places that the message names"]),
        C::BootstrapConfigUnreadable => (Permanent, &[SYSTEM_REASON, "ls -l FILE"]),
        C::SecretUnset => (Permanent, &["whether it is exported: `printenv NAME | wc -c`"]),
        C::SecretFileUnusable | C::SecretFileShared => (Permanent, &["ls -l FILE"]),
        C::SecretKeyring => {
            (Permanent, &[SYSTEM_REASON, "whether there is an entry: `secret-tool search service butler`"])
        }
        C::DraftMissing => (Permanent, &["the directory that the message names"]),
        C::DraftUnreadable => (Permanent, &[SYSTEM_REASON, "ls -l FILE"]),

        C::HomeUnknown => (Permanent, &["printenv BUTLER_HOME HOME"]),
        C::FileUnreadable => (Permanent, &[SYSTEM_REASON, "ls -l FILE"]),
        C::FileUnwritable => (Permanent, &[SYSTEM_REASON, "df -h DIRECTORY", "ls -ld DIRECTORY"]),
        C::JournalDamaged => (Permanent, &["the line that the message names: `sed -n LINEp FILE`"]),
        C::JournalHeld => (Retryable, &[WHO_HOLDS]),

        C::PartNotFound => (Permanent, &["butleradm tools list -o wide", "the places named in the causes"]),
        C::PartVersion => (Permanent, &["what the program answers to `--version`", "butleradm tools list"]),
        C::DownloadFailed => (Retryable, &["the address and the reason in the causes", "HTTPS_PROXY"]),
        C::ChecksumMismatch => (Permanent, &["both checksums in the message"]),
        C::BuildFailed => (Permanent, &["the build log that is named", "go env GOPROXY GOTOOLCHAIN"]),
        C::ProcessFailed => (Permanent, &["the end of the program's log, printed as the cause"]),
        C::ProcessTimeout => (Retryable, &["the log that is named", "the load of this machine: `uptime`"]),
        C::PortsTaken => (Permanent, &["who listens: `ss -ltnp`"]),

        C::NodeUnreachable => {
            (Retryable, &["whether it boots: `butleradm machine console NAME`", "the address in the message"])
        }
        C::NodeTimeout => (Retryable, &[NODE_CONSOLE, NODE_SERVICES]),
        C::NodeCertificate => {
            (Permanent, &["both fingerprints in the message", "the clocks of both machines: `date -u`"])
        }
        C::NodeDenied => (Permanent, &["the role in the talosconfig: `talosctl config info`"]),
        C::NodeConfigRefused => (Permanent, &["the node's own words, printed as the cause", NODE_CONSOLE]),
        C::NodeNotReady => (Retryable, &[NODE_SERVICES, "talosctl -n ADDRESS time"]),
        C::NodeUnsupported => (Permanent, &["talosctl -n ADDRESS version", "the node's role"]),
        C::NodeRefused => (Permanent, &["the node's own words, printed as the cause", NODE_CONSOLE]),
        C::NodeAnswerUnreadable => (Permanent, &["what listens there: `talosctl -n ADDRESS version`"]),
        C::NodeNotFound => (Permanent, &[NODE_SERVICES]),
        C::SecretsInvalid => {
            (Permanent, &["the key that the message names", "secrets/talos.yaml of the run"])
        }
        C::MachineConfigInvalid | C::PatchInvalid => (Permanent, &["the path that the message names"]),
        C::TalosconfigInvalid => (Permanent, &["talosctl config info --talosconfig FILE"]),
        C::CertificateUnusable => (Permanent, &["openssl x509 -in FILE -noout -text"]),
        C::CertificateNotSigned => (Permanent, &["the chain of causes, with -v"]),

        C::ProviderNotFound => (Permanent, &["butleradm machine list -o wide", PROVIDER_ANSWER]),
        C::ProviderConflict => (Permanent, &["the ownership tag of what has the name, at the provider"]),
        C::ProviderTransient => (Retryable, &[PROVIDER_ANSWER, "the status of the provider's service"]),
        C::ProviderQuota => (Permanent, &[PROVIDER_ANSWER, "butleradm machine list"]),
        C::ProviderAuth => (Permanent, &[PROVIDER_ANSWER, "the expiry of the credentials"]),
        C::ProviderInvalid => (Permanent, &[PROVIDER_ANSWER]),
        C::ProviderThrottled => (
            Retryable,
            &[PROVIDER_ANSWER, "how often it is asked: `butleradm sandbox logs calls` in a sandbox"],
        ),
        C::ProviderTimeout => (Retryable, &["how long its API takes from here: `curl -v ENDPOINT`"]),

        C::SandboxNotRunning => {
            (Permanent, &["butleradm sandbox status", "butleradm sandbox logs supervisor"])
        }
        C::SandboxLayout => (Permanent, &["the file `layout` in the sandbox's folder"]),
        C::SandboxBusy => (Retryable, &[WHO_HOLDS]),
        C::SandboxNoSpace => (Permanent, &["df -h DIRECTORY", "du -sh DIRECTORY"]),
        C::SandboxNotReady => (Retryable, &["butleradm sandbox logs", "the load of this machine: `uptime`"]),
        C::SandboxLost => (Permanent, &["butleradm sandbox logs supervisor"]),
        C::SandboxLeftovers => (Permanent, &["the processes and ports that are named", "ss -ltnp"]),
        C::SandboxNoSuchPart => (Permanent, &["butleradm sandbox status", "butleradm sandbox node list"]),
        C::FaultUnknown => (Permanent, &["the list of faults: `butleradm sandbox node fault --help`"]),
        C::SandboxHasPlatform => (Permanent, &["butleradm sandbox status"]),
        C::KubeletNotListening | C::MachineAddressTaken => (Permanent, &["who listens: `ss -ltnp`"]),
        C::MachineUnreadable => (Permanent, &["the file that the message names", SYSTEM_REASON]),

        C::ControllerUnknown => (Permanent, &["the names in `butleradm serve --help`"]),
        C::MetricsUnavailable => (Permanent, &[SYSTEM_REASON, "ss -ltnp"]),
        C::ServiceAccountUnusable => {
            (Permanent, &["ls -l /var/run/secrets/kubernetes.io/serviceaccount", SYSTEM_REASON])
        }
        C::MachineFailed => (Permanent, &[PROVIDER_ANSWER, "kubectl describe machinerequest NAME"]),
        C::MachineNotReady => (Retryable, &["butleradm machine get NAME", "butleradm machine console NAME"]),
        C::RuntimeBusy => (Retryable, &[WHO_HOLDS]),
        C::RuntimeNoSpace => (Permanent, &["df -h DIRECTORY", "docker system df"]),
        C::RuntimeLeftovers => (Permanent, &["what the message lists", "docker ps -a"]),
        C::EngineMissing => (Permanent, &["PATH of this process: `printenv PATH`"]),
        C::EngineNotRunning => (Retryable, &["docker info", "printenv DOCKER_HOST"]),
        C::EngineDenied => (Permanent, &["the groups of this user: `id`", "ls -l /var/run/docker.sock"]),
        C::EngineTooOld => (Permanent, &["docker version"]),
        C::EngineFailed => (Permanent, &[ENGINE_WORDS, "docker ps -a"]),
        C::RuntimePortTaken => (Permanent, &["who listens: `ss -ltnp`"]),
        C::ClusterNotOurs => {
            (Permanent, &["kind get clusters", "docker ps --filter label=io.x-k8s.kind.cluster"])
        }
        C::RuntimeSettings => (Permanent, &["the key and the value that the message names"]),
        C::NodeImageMissing => (Permanent, &[ENGINE_WORDS, "docker image ls"]),
        C::AddonSourceMissing => (Permanent, &["the repository, chart and version that the causes name"]),
        C::AddonSourceUnreachable => {
            (Retryable, &["the address and the reason in the causes", "HTTPS_PROXY"])
        }
        C::ReleaseFailed => {
            (Permanent, &["helm history RELEASE -n NAMESPACE", "kubectl -n NAMESPACE get events"])
        }
        C::AddonLate => {
            (Retryable, &["kubectl -n NAMESPACE get pods -o wide", "kubectl -n NAMESPACE get events"])
        }
        C::AddonInvalid => (Permanent, &["the value or the manifest that the causes name"]),
        C::AddonCredential => (Permanent, &["the keys, not the values: `kubectl describe secret NAME`"]),
        C::AddonSourceUnresolved => {
            (Retryable, &["what this computer makes of the name: `getent hosts NAME`", "/etc/resolv.conf"])
        }

        C::Internal => (Permanent, &["the chain of causes, with -v", RUN_JOURNAL]),
        C::Interrupted => (Retryable, &["what had been done: the lines above the message"]),

        C::RunUnknown | C::RunAmbiguous => (Permanent, &["butleradm bootstrap list"]),
        C::RunHeld => (Retryable, &[WHO_HOLDS, "butleradm bootstrap status"]),
        C::RunNotResumable => (Permanent, &["butleradm bootstrap status RUN"]),
        C::PlanUnreadable => (Permanent, &["`version` at the beginning of the file", SYSTEM_REASON]),
        C::PlanMoved => (Permanent, &["the list of what changed, below the message"]),
        C::BootstrapFailed => {
            (Permanent, &["butleradm bootstrap status", "butleradm bootstrap logs", RUN_JOURNAL])
        }
        C::BootstrapTimeout => {
            (Retryable, &["the phase it was in: `butleradm bootstrap status`", RUN_JOURNAL])
        }
        C::MachineNameTaken => (Permanent, &["the machine of that name and its tags, at the provider"]),
        C::VipAnswers => (Permanent, &["who answers: `curl -k https://VIP:6443/version`"]),
        C::ClusterTaken => (Permanent, &["butleradm bootstrap list"]),
        C::DestroyIncomplete => (Permanent, &["what the message lists", RUN_JOURNAL]),
        C::RunConfigChanged => (Permanent, &["each change that the message lists", RUN_JOURNAL]),
        C::RunSecretsLost => (Permanent, &["the file that the message names", RUN_JOURNAL]),
        C::RunConfigLost => {
            (Permanent, &["config.yaml in the run's folder, BUTLER_HOME/runs/RUN", RUN_JOURNAL])
        }

        C::RunStalled => (Retryable, &["the last lines of `butleradm bootstrap logs`", RUN_JOURNAL]),
        C::MachineNoAddress => (
            Retryable,
            &["the machine's console: `butleradm machine console NAME`", "its state at the provider"],
        ),
        C::NodeSilent => (
            Retryable,
            &[
                "the address on the machine's console",
                "the address that the provider tells: `butleradm machine get NAME`",
            ],
        ),
        C::MachineOff => {
            (Permanent, &["the last lines of the machine's console", "its state at the provider"])
        }
        C::EtcdNotFormed => {
            (Retryable, &["talosctl -n ADDRESS service etcd", "talosctl -n ADDRESS logs etcd"])
        }
        C::ApiServerDown => {
            (Retryable, &["kubectl --kubeconfig FILE get --raw '/readyz?verbose'", NODE_CONSOLE])
        }
        C::NodeLost => {
            (Retryable, &["its state at the provider", "whether its port answers: `nc -vz ADDRESS 50000`"])
        }
        C::NodesNotReady => (Retryable, &["kubectl describe node NAME", NODE_SERVICES]),

        C::BackupDamaged => (Permanent, &["the part that the message names", "its size: `ls -l FILE`"]),
        C::BackupLocked => (Permanent, &["the recipients of the backup: `tar -xOf FILE backup.json`"]),
        C::BackupKeyInvalid => (Permanent, &["the first letters of the key"]),
        C::BackupUnknown => (Permanent, &["what it begins with: `tar -tf FILE`"]),
        C::NothingToBackUp => (Permanent, &["butleradm bootstrap status RUN", RUN_JOURNAL]),
    }
}
