//! Every `BTL-nnnn` code with its page, in one table; what proves it stands in `evidence.rs`, which does
//! not compile while a code is missing there. `explain`, the error printer and the manual are views of it.
//!
//! Blocks: 10xx connection and identity, 11xx objects, 12xx input and settings, 13xx files and
//! journal, 14xx parts and processes, 15xx Talos and certificates, 16xx drivers, 17xx the sandbox,
//! 18xx controllers and, from 1820, the temporary cluster of a bootstrap, from 1850 addons, 19xx the
//! programs themselves, 20xx runs of a bootstrap, from 2030 what keeps one from moving on, from 2050 backups. A number is
//! never reused.

use std::{fmt, str::FromStr};

use super::{
    ErrorKind,
    evidence::{self, Outlook},
};

/// What `explain` prints for a code.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// One line: what happened.
    pub title: &'static str,
    /// A paragraph: why it happens and what it means.
    pub text: &'static str,
    /// Whether trying again helps.
    pub outlook: Outlook,
    /// What to look at, each a command or a place.
    pub evidence: &'static [&'static str],
    /// Commands or steps that help, one per line; the first words of at least one are a command.
    pub next: &'static [&'static str],
}

macro_rules! codes {
    ($($name:ident = $number:literal, $kind:ident, $title:literal, $text:literal, [$($next:literal),* $(,)?];)+) => {
        /// A stable error code, printed as `BTL-nnnn`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $title] $name = $number,)+
        }

        impl Code {
            /// Every code, in ascending order.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Its name as one word, such as `NodeConfigRefused`: the reason of a condition.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// The class errors with this code have unless they say otherwise.
            pub fn kind(self) -> ErrorKind {
                match self { $(Self::$name => ErrorKind::$kind,)+ }
            }

            /// The page of this code.
            pub fn page(self) -> Page {
                let (outlook, evidence) = evidence::of(self);
                let (title, text, next): (_, _, &[_]) = match self {
                    $(Self::$name => ($title, $text, &[$($next),*]),)+
                };
                Page { title, text, outlook, evidence, next }
            }
        }
    };
}

codes! {
    ApiUnreachable = 1001, Transient, "the API server did not answer",
        "The address in the kubeconfig refused the connection, reset it or could not be reached. The server is \
         down or restarting, a VPN or proxy is missing, or the kubeconfig belongs to a cluster that is gone.",
        ["butlerctl version", "kubectl --kubeconfig FILE get --raw /readyz", "try again when the server is back"];
    NotKubernetes = 1002, Failed, "the server that answered is not a Kubernetes API server",
        "Something answered, but not with the API's JSON: often a login page of a proxy, a load balancer's \
         error page, or a wrong port.",
        ["check `server:` in the kubeconfig", "curl -k SERVER/version"];
    ApiTimeout = 1003, Timeout, "the API server did not answer in time",
        "The connection stands but no answer came before the deadline. The server is overloaded, its etcd is \
         slow, or a proxy holds the request.",
        ["repeat with a longer --request-timeout", "butleradm doctor"];
    CertificateRejected = 1004, Failed, "the API server's certificate was not accepted",
        "The certificate is expired, made for another name, or signed by an authority that the kubeconfig does \
         not name. Nothing was sent to the server. Either the cluster's certificates were rotated and the \
         kubeconfig is old, or this is not the cluster it claims to be.",
        ["fetch a fresh kubeconfig from the cluster's owner", "check this machine's clock", "butlerctl version"];
    NoIdentity = 1005, Unauthenticated, "no cluster and no login was found",
        "The search order is: --kubeconfig, KUBECONFIG, the login in credentials.json, a kubeconfig in the \
         Butler home, ~/.kube/config. None of them exists.",
        ["pass --kubeconfig FILE", "sign in to a Butler server", "butleradm sandbox up, to try the platform on this machine"];
    LoginExpired = 1006, Unauthenticated, "the login has expired",
        "The stored login can no longer be used. Butler does not go on with another identity, because that \
         could be an administrator's.",
        ["sign in again", "pass --kubeconfig FILE to use another identity on purpose",
         "butlerctl version --kubeconfig FILE"];
    Unauthorized = 1007, Unauthenticated, "the API server does not know this identity",
        "The server answered 401: the token or client certificate is expired, revoked or from another cluster.",
        ["sign in again", "fetch a fresh kubeconfig", "kubectl auth whoami"];
    Forbidden = 1008, Forbidden, "this identity may not do that",
        "The server answered 403. The identity is known, its roles do not allow the call. Roles come from team \
         membership; a team administrator can change them.",
        ["kubectl auth whoami", "kubectl auth can-i --list -n NAMESPACE"];
    KubeconfigUnreadable = 1009, Invalid, "the kubeconfig cannot be read",
        "The file does not exist, is a directory, or this user may not read it.",
        ["check the path in --kubeconfig or KUBECONFIG", "ls -l FILE"];
    KubeconfigMalformed = 1010, Invalid, "the kubeconfig is not valid",
        "The file is empty, is not YAML, or lacks what a connection needs: a cluster, a user and a context that \
         names both.",
        ["kubectl config view --kubeconfig FILE"];
    ContextUnknown = 1011, Invalid, "the kubeconfig has no such context",
        "--context must name one of the contexts in the kubeconfig.",
        ["kubectl config get-contexts"];
    KubeconfigExposed = 1012, Invalid, "other users of this machine can read the kubeconfig",
        "The file holds credentials, and its mode lets the group or everybody read it. It is used all the same; \
         files that Butler writes are 0600.",
        ["chmod 600 FILE"];
    CredentialsMalformed = 1013, Invalid, "credentials.json is not valid",
        "The login store cannot be read, so it is not known who you are. Butler does not go on with another \
         identity.",
        ["sign in again", "move the file away if it is beyond repair", "butlerctl version --kubeconfig FILE"];
    CredentialPluginFailed = 1014, Unauthenticated, "the kubeconfig's credential plugin failed",
        "The kubeconfig names a program that fetches credentials (`exec:`). It could not be started or ended \
         with an error, so there is no identity to use.",
        ["run the program that is named by hand", "check that it is installed and on PATH",
         "kubectl config view --minify"];

    ObjectNotFound = 1101, NotFound, "there is no such object",
        "The server knows the kind but has no object of that name in that namespace.",
        ["list without a name to see what is there", "add -n NAMESPACE or -A", "butlerctl cluster list -A"];
    CrdsMissing = 1102, NotFound, "this cluster has no Butler API",
        "The Butler custom resource definitions are not installed. It is probably not a management cluster, or \
         the kubeconfig points at a tenant cluster.",
        ["butleradm doctor", "butleradm crds apply", "kubectl config get-contexts"];
    ObjectConflict = 1103, Conflict, "the object was changed or is held by somebody else",
        "The server refused the change because the object moved on or another field manager owns the field.",
        ["repeat the command", "kubectl get KIND NAME -o yaml --show-managed-fields"];
    ObjectInvalid = 1104, Invalid, "the API server rejected the object",
        "A field is missing, unknown or has a value that the schema or an admission policy refuses. The server's \
         own words name the field.",
        ["kubectl explain KIND.spec"];
    ApiRejected = 1105, Failed, "the API server refused the request",
        "The server answered with an error that has no page of its own; its message is printed as the cause.",
        ["repeat with -v", "butleradm doctor"];
    NotEstablished = 1106, Timeout, "custom resource definitions were not established in time",
        "The definitions were stored but the API server did not begin to serve them. Names may collide with \
         those of another definition.",
        ["kubectl get crd -o wide", "butleradm crds apply"];
    CheckFailed = 1107, Failed, "a check failed",
        "`doctor` found something that will keep the platform from working. Each failed check names its own \
         next command.",
        ["butleradm doctor -o json"];
    AnswerUnreadable = 1108, Failed, "the API server's answer could not be understood",
        "The answer is not what the API promises: cut off, or from a version that this program does not know.",
        ["repeat with -v", "butlerctl version"];
    ApiBusy = 1109, Transient, "the API server could not serve the request now",
        "The server answered that it is overloaded, starting, or had an error inside (429 or 5xx). The request \
         was repeated a few times before giving up.",
        ["try again in a moment", "kubectl get --raw '/readyz?verbose'"];
    ObjectExists = 1110, Conflict, "there is an object of that name already",
        "The server has an object of that kind and name in that namespace. It was left as it is.",
        ["look at the one that is there", "choose another name", "kubectl get KIND NAME -o yaml"];

    Usage = 1201, Invalid, "the command line is not valid",
        "A flag, argument or value is unknown or does not fit the others.",
        ["repeat with --help", "butleradm --help"];
    SettingUnknown = 1202, Invalid, "there is no such setting",
        "config.toml or the command names a key that this version does not have.",
        ["butleradm config list"];
    SettingInvalid = 1203, Invalid, "the value of a setting is not valid",
        "The value has the wrong type or is outside what the setting allows. The message names file, line and \
         column, or the environment variable it came from.",
        ["butleradm config list --origin", "butleradm config unset KEY"];
    SettingsMalformed = 1204, Invalid, "config.toml is not valid TOML",
        "The settings file cannot be parsed, so none of it is used.",
        ["butleradm config path", "fix the line that is named"];
    JsonPathInvalid = 1206, Invalid, "the JSONPath template is not valid",
        "`-o jsonpath=` takes kubectl's templates: text, {.path}, {range .items[*]}...{end}, quoted text.",
        ["-o jsonpath='{.items[*].metadata.name}'", "butlerctl cluster list -o jsonpath={.items[*].metadata.name}"];
    CodeUnknown = 1207, NotFound, "there is no such error code",
        "Codes look like BTL-1001.",
        ["butleradm explain"];
    NeedsTerminal = 1208, Invalid, "a question cannot be asked without a terminal",
        "The command wants a confirmation, and standard input is not a terminal.",
        ["repeat with --yes and the name that is asked for", "butleradm sandbox reset --help"];
    Declined = 1209, Cancelled, "the question was answered with no",
        "Nothing was changed.",
        ["repeat the command and answer with the name that is asked for", "butleradm status"];
    BootstrapConfigInvalid = 1210, Invalid, "the bootstrap configuration is not valid",
        "One or more keys are missing, misspelt, of the wrong type, or do not fit each other. Every problem is \
         listed with line and column; nothing was made.",
        ["butleradm bootstrap validate --config FILE", "butleradm bootstrap schema"];
    BootstrapConfigMissing = 1211, Invalid, "there is no bootstrap configuration",
        "No file was named, and there is neither a bootstrap.yaml in this directory nor one in the Butler home.",
        ["butleradm bootstrap validate --config FILE", "start from one of the examples"];
    BootstrapConfigUnreadable = 1212, Invalid, "the bootstrap configuration cannot be read",
        "The file does not exist, belongs to somebody else, or is no file; the system's reason is the cause.",
        ["ls -l FILE"];
    SecretUnset = 1213, Invalid, "an environment variable that should hold a secret is not set",
        "The configuration says {env: NAME}, and there is no variable of that name in this environment, or it is \
         empty. A variable must be exported to be seen.",
        ["export NAME", "in a pipeline, pass the secret to the job that runs this command"];
    SecretFileUnusable = 1214, Invalid, "a file that should hold a secret cannot be used",
        "The file that is named is missing, unreadable, empty, or not text.",
        ["ls -l FILE"];
    SecretFileShared = 1215, Invalid, "a file with a secret can be read by other users",
        "Whoever can read the file has the secret, so it is refused until only its owner can.",
        ["chmod 600 FILE"];
    SecretKeyring = 1216, Invalid, "the keyring does not give the secret",
        "The configuration says {keyring: NAME}. The keyring of this user is missing or locked, or has no entry of \
         service `butler` and that account.",
        ["secret-tool store --label NAME service butler account NAME", "use {env: NAME} or {file: PATH} instead"];

    DraftMissing = 1217, Invalid, "there is no draft to go on with",
        "Whoever leaves the questions for a new management cluster is asked whether the answers are to be kept. \
         None were.",
        ["butleradm tui"];
    DraftUnreadable = 1218, Invalid, "a draft cannot be read",
        "A file under `drafts` in the Butler home holds the answers for a new management cluster, and this one \
         cannot be read, or was changed so that it is none any more.",
        ["ls -l ~/.butler/drafts", "butleradm tui"];
    NeedsScreen = 1250, Invalid, "there is no terminal for a full screen",
        "A full-screen view needs a terminal for its input and its output, and one whose cursor can be moved.",
        ["butleradm status", "butleradm bootstrap status --watch"];
    HomeUnknown = 1301, Invalid, "the Butler home directory is not known",
        "Neither BUTLER_HOME nor HOME is set, so there is no place for credentials, settings and runs.",
        ["export BUTLER_HOME=/path/to/a/private/directory"];
    FileUnreadable = 1302, Failed, "a file cannot be read",
        "The system refused to read the file that is named; its reason is the cause.",
        ["ls -l FILE"];
    FileUnwritable = 1303, Failed, "a file cannot be written",
        "The system refused to write the file that is named: read-only file system, no permission or no space. \
         Files are replaced whole, so the old content is intact.",
        ["df -h DIRECTORY", "ls -ld DIRECTORY"];
    JournalDamaged = 1304, Failed, "a journal is damaged",
        "A line in the middle of an append-only journal is not what was written there. A torn last line is \
         normal after a crash and is repaired; this is not that.",
        ["butleradm bootstrap repair RUN --dry-run", "restore the file from a backup"];
    JournalHeld = 1305, Conflict, "another process writes this journal",
        "A run has one writer at a time, and the process that is named still lives. Two would have every effect \
         twice.",
        ["wait for that process", "stop it if it hangs", "butleradm bootstrap status"];

    PartNotFound = 1401, NotFound, "a program that is needed was not found",
        "It is not in BUTLER_TOOLS_DIR, KUBEBUILDER_ASSETS, PATH or the cache, it could not be downloaded, and \
         there is no Go toolchain to build it.",
        ["butleradm tools list", "butleradm tools install", "install Go and repeat"];
    PartVersion = 1402, Failed, "a program has the wrong version",
        "The program that was named explicitly answers with another version than the one Butler works with, or \
         with no version at all.",
        ["butleradm tools list", "unset BUTLER_TOOLS_DIR to use the cache"];
    DownloadFailed = 1403, Transient, "a download failed",
        "The server could not be reached, answered with an error, or closed the connection early. Nothing of it \
         can be executed.",
        ["butleradm tools install", "install Go to build the program instead"];
    ChecksumMismatch = 1404, Failed, "a download does not match its published checksum",
        "The bytes that arrived are not those the publisher signed off. They were deleted.",
        ["butleradm tools install", "check for a proxy that rewrites downloads"];
    BuildFailed = 1405, Failed, "building a program from source failed",
        "The Go toolchain could not build the program. The build log is kept beside the cache.",
        ["read the log that is named", "go env GOPROXY GOTOOLCHAIN", "butleradm tools install"];
    ProcessFailed = 1406, Failed, "a program ended before it was ready",
        "The program was started and exited on its own. The last lines of its log are printed as the cause.",
        ["read the log that is named", "butleradm tools list"];
    ProcessTimeout = 1407, Timeout, "a program was not ready in time",
        "The program runs but did not report ready before the deadline.",
        ["read the log that is named", "look for a machine that is short of CPU or disk", "df -h"];
    PortsTaken = 1408, Failed, "no free port was found",
        "Every port in the range Butler uses is held by another process.",
        ["butleradm sandbox status", "ss -ltnp"];

    NodeUnreachable = 1501, Transient, "the Talos node did not answer",
        "Nothing listens on the node's port 50000 yet, the connection was reset, or the address is wrong. A node \
         that boots, installs itself or restarts is silent for minutes.",
        ["wait and repeat", "talosctl -n ADDRESS version --insecure"];
    NodeTimeout = 1502, Timeout, "the Talos node did not answer in time",
        "The connection stands but no answer came before the deadline.",
        ["repeat the command", "talosctl -n ADDRESS dmesg"];
    NodeCertificate = 1503, Failed, "the certificate of the Talos node was not accepted",
        "The node shows another key than the one pinned, a certificate of another cluster, or one that is not \
         valid at this time. Nothing was sent to it. Either another machine answers at this address, or the \
         clocks disagree.",
        ["compare the fingerprint with the one on the node's console", "check this machine's clock",
         "butleradm machine console NAME"];
    NodeDenied = 1504, Forbidden, "the Talos node refused this identity",
        "The node does not know the client certificate, or the role in it may not make the call.",
        ["talosctl config info", "use the talosconfig that the bootstrap wrote"];
    NodeConfigRefused = 1505, Invalid, "the Talos node refused the configuration",
        "The node parsed or validated what it was given and said no; its own words name the field.",
        ["talosctl validate --config FILE --mode metal"];
    NodeNotReady = 1506, Transient, "the Talos node cannot do that yet",
        "A service that the call needs is still starting, or the clock is not in sync.",
        ["wait and repeat", "talosctl -n ADDRESS services"];
    NodeUnsupported = 1507, Failed, "the Talos node does not offer that call",
        "The call exists on control planes only, needs another version of Talos, or the node is still in \
         maintenance mode.",
        ["talosctl -n ADDRESS version"];
    NodeRefused = 1508, Failed, "the Talos node reported an error",
        "The node tried and failed; its message is the cause.",
        ["talosctl -n ADDRESS services", "talosctl -n ADDRESS dmesg"];
    NodeAnswerUnreadable = 1509, Failed, "the answer of the Talos node could not be understood",
        "The reply is empty, cut off or not what the API promises. Something other than Talos may listen there.",
        ["talosctl -n ADDRESS version"];
    NodeNotFound = 1510, NotFound, "the Talos node has no such thing",
        "The service, file or resource that was asked for does not exist on the node.",
        ["talosctl -n ADDRESS services"];
    SecretsInvalid = 1511, Invalid, "the secrets bundle is not valid",
        "A key is missing, is not base64, or a certificate and its key do not belong together. Machine \
         configurations are derived from the bundle, so nothing can be made without it.",
        ["talosctl gen secrets", "restore secrets.yaml from the run's folder"];
    MachineConfigInvalid = 1512, Invalid, "the machine configuration is not valid",
        "The text is not YAML, has no main document, or a field has the wrong shape.",
        ["talosctl validate --config FILE --mode metal"];
    TalosconfigInvalid = 1513, Invalid, "the talosconfig is not valid",
        "The file is not YAML, or lacks the context, certificate or key that a connection needs.",
        ["talosctl config info --talosconfig FILE"];
    PatchInvalid = 1514, Invalid, "a configuration patch cannot be applied",
        "A patch names a path whose parent does not exist, removes what is not there, or has a value that is not \
         JSON.",
        ["compare the path with `machine` and `cluster` of the configuration",
         "butleradm bootstrap validate --config FILE"];
    CertificateUnusable = 1515, Invalid, "a certificate or key cannot be used",
        "The PEM text is damaged, holds a kind of key that is not supported, or key and certificate do not belong \
         together.",
        ["openssl x509 -in FILE -noout -text"];
    CertificateNotSigned = 1516, Internal, "a certificate could not be signed",
        "Making a key or a signature failed, although the input was checked before.",
        ["repeat with -v and report it", "butleradm version"];

    ProviderNotFound = 1601, NotFound, "the provider has no such machine, load balancer or image",
        "The provider answered, and what was asked for is not there, or does not carry the ownership tag of this \
         platform or run. Somebody may have removed it by hand.",
        ["butleradm machine list", "look at the provider's own console"];
    ProviderConflict = 1602, Conflict, "the name is taken at the provider",
        "Something of that name exists there and does not carry our ownership tag, or carries another owner's. \
         Butler never takes over or removes what is not its own.",
        ["choose another name", "remove or rename the other one at the provider", "butleradm machine list"];
    ProviderTransient = 1603, Transient, "the provider could not be reached or was busy",
        "The network, an overload, a lock or a restart came between. Controllers retry by themselves, with a \
         growing pause; no machine is given up for this.",
        ["wait", "check the provider's endpoint from this machine", "butleradm machine list"];
    ProviderQuota = 1604, Quota, "a limit of the provider was reached",
        "The account, project or cluster has no room left: processors, memory, disks, addresses or a rate that \
         needs a person. The provider's own words name the limit.",
        ["remove machines that are not needed", "ask the provider's administrator for more", "butleradm machine list"];
    ProviderAuth = 1605, Unauthenticated, "the provider did not accept the credentials",
        "The Secret that the ProviderConfig names holds credentials that are wrong, expired, or lack a right \
         that is needed. They are read again on the next try.",
        ["kubectl get providerconfig NAME -o yaml", "replace the Secret that spec.credentialsRef names"];
    ProviderInvalid = 1606, Invalid, "the provider cannot do what was asked",
        "The request or the ProviderConfig names an image, network, size or provider that does not exist or \
         does not fit. Trying again will not help; the object has to change.",
        ["kubectl get providerconfig NAME -o yaml", "read the provider's words in the cause"];
    ProviderThrottled = 1607, Transient, "the provider asks for fewer calls",
        "The provider answered 429: too many calls, of this or of another program with the same account. It is \
         left in peace for as long as its Retry-After says, and then asked again; what exists stays.",
        ["wait", "look for other programs that use the same account", "butleradm bootstrap status"];
    ProviderTimeout = 1608, Transient, "the provider did not answer in time",
        "The connection stands, or its opening is not even refused, and no answer comes: the provider is overloaded, or \
         a firewall drops what is sent. The call is made again with growing pauses. Whether it had an effect is \
         found out by looking for the mark of the run, so nothing is made twice.",
        ["check the provider's endpoint from this machine", "butleradm bootstrap status"];

    SandboxNotRunning = 1701, NotFound, "the sandbox is not running",
        "Nobody holds the lock of that sandbox, so there is nothing to ask. Its data, if it has any, is on disk \
         and comes back with it.",
        ["butleradm sandbox up", "butleradm sandbox status"];
    SandboxLayout = 1702, Failed, "the sandbox was made by another version of Butler",
        "The files of the sandbox are laid out in a way that this program does not know. It touches nothing of \
         them.",
        ["use the version of Butler that made it", "butleradm sandbox reset"];
    SandboxBusy = 1703, Conflict, "somebody else uses what the sandbox needs",
        "Another process holds the lock or the network of the sandbox. Two supervisors on the same data would \
         destroy it.",
        ["butleradm sandbox status", "butleradm sandbox down"];
    SandboxNoSpace = 1704, Quota, "there is not enough space for the sandbox",
        "The file system of the Butler home has too little space left for the data of the platform. Nothing was \
         started and nothing is damaged.",
        ["df -h DIRECTORY", "butleradm sandbox reset", "set BUTLER_HOME to another file system"];
    SandboxNotReady = 1705, Timeout, "the sandbox was not ready in time",
        "The platform was started and did not become ready before the deadline. What had been started was \
         stopped again.",
        ["butleradm sandbox logs", "repeat with a longer --wait", "look for a machine that is short of CPU"];
    SandboxLost = 1706, Failed, "the supervisor of the sandbox ended",
        "The process that owns every part of the sandbox ended while it was waited for. Its log says why; its \
         children ended with it.",
        ["butleradm sandbox logs supervisor", "butleradm sandbox up"];
    SandboxLeftovers = 1707, Failed, "something of the sandbox is still there",
        "After everything was stopped, a process still runs or a port is still open that belonged to the sandbox.",
        ["look at the processes that are named", "butleradm sandbox down"];
    SandboxNoSuchPart = 1708, NotFound, "the sandbox has no such part or machine",
        "The name belongs neither to a part of the platform nor to one of the sandbox's machines.",
        ["butleradm sandbox status", "butleradm sandbox node list"];
    FaultUnknown = 1709, Invalid, "that is not a fault of a machine",
        "The name of the fault is not known, or its value has the wrong type.",
        ["butleradm sandbox node fault --help"];
    SandboxHasPlatform = 1711, Conflict, "the sandbox has a management plane of its own",
        "A bootstrap makes its management cluster on machines of a sandbox that has nothing else; this one was made \
         by `sandbox up` and is a whole platform already.",
        ["name another sandbox in providerConfig.sandbox.name", "butleradm sandbox reset, with --name for another than `default`"];
    KubeletNotListening = 1740, Failed, "a simulated node's kubelet cannot listen",
        "The address of the kubelet's server is taken by another process, or does not belong to this machine. \
         Without the server there are no logs, so the node does not join its cluster.",
        ["ss -ltnp", "butleradm sandbox status"];
    MachineUnreadable = 1751, Failed, "the file of a simulated machine cannot be read",
        "A simulated machine is described by `machine.json` in its directory. The file is missing, cut off, or was \
         changed by hand into something else.",
        ["butleradm sandbox status", "delete the machine and create it again"];
    MachineAddressTaken = 1752, Failed, "a simulated machine cannot listen on its address",
        "Another process listens on the machine's address and port, often the same machine started a second time, \
         or this computer has no such address.",
        ["butleradm sandbox status", "ss -ltnp"];

    ControllerUnknown = 1801, Invalid, "there is no such controller",
        "--controllers names one that this version does not have.",
        ["butleradm serve --help"];
    MetricsUnavailable = 1802, Failed, "the address for metrics and health cannot be used",
        "--metrics names an address that is not of this machine, or a port that another process holds. Nothing \
         was started.",
        ["ss -ltnp", "choose another port; 0 takes any that is free"];
    ServiceAccountUnusable = 1803, Unauthenticated, "the service account of this Pod cannot be used",
        "The program runs in a cluster and no kubeconfig is named, but the token, the certificate authority or the \
         address that Kubernetes gives every Pod cannot be read.",
        ["check automountServiceAccountToken of the Pod", "pass --kubeconfig FILE",
         "kubectl -n NAMESPACE get pod NAME -o yaml"];
    MachineFailed = 1804, Failed, "the machine could not be made",
        "The controllers gave up on the request; the provider's own words are the cause. They try again by \
         themselves when the request or its ProviderConfig changes, and now and then when the cause may pass.",
        ["butleradm machine get NAME", "kubectl describe machinerequest NAME"];
    MachineNotReady = 1805, Timeout, "the machine was not ready in time",
        "The request stands and is worked on; only the waiting has ended. Without controllers nothing happens at \
         all: see that `butleradm serve` runs.",
        ["butleradm machine get NAME", "repeat with a longer --timeout"];

    RuntimeBusy = 1820, Conflict, "another process uses the temporary control plane",
        "The directory of the temporary control plane is locked by a process that runs. Two at once would destroy \
         its data.",
        ["look at the process that is named", "ps -fp PID"];
    RuntimeNoSpace = 1821, Quota, "there is not enough space for the temporary cluster",
        "The file system that would hold the temporary cluster has too little space left. Nothing was started.",
        ["df -h DIRECTORY", "set BUTLER_HOME to another file system", "docker system df"];
    RuntimeLeftovers = 1822, Failed, "something of the temporary cluster is still there",
        "After the temporary cluster was removed, a process, a container or a file of it was still found.",
        ["look at what is named", "repeat the command", "docker ps -a"];
    EngineMissing = 1823, NotFound, "there is no container engine",
        "KIND runs its cluster in containers, and the program of the container engine is not on PATH. The `process` \
         runtime needs no container engine.",
        ["install Docker, Podman or nerdctl", "set `bootstrapCluster.runtime: process` in the configuration",
         "butleradm bootstrap validate --config FILE"];
    EngineNotRunning = 1824, Transient, "the container engine does not answer",
        "Its program is there, but nothing answers at its socket: the engine is stopped, or DOCKER_HOST names \
         another place.",
        ["docker info", "sudo systemctl start docker", "check DOCKER_HOST"];
    EngineDenied = 1825, Forbidden, "this user may not use the container engine",
        "The socket of the container engine belongs to others. Members of the engine's group are as powerful as \
         root on this computer.",
        ["sudo usermod -aG docker $USER", "log in again, then: docker info"];
    EngineTooOld = 1826, Failed, "the container engine is too old",
        "The version of KIND that Butler works with needs a newer container engine.",
        ["docker version", "update the container engine"];
    EngineFailed = 1827, Failed, "the container engine or kind did not do what was asked",
        "A command of the container engine or of `kind` failed; its own words are the cause.",
        ["docker ps -a", "docker info", "repeat the command"];
    RuntimePortTaken = 1828, Conflict, "a port that the local cluster publishes is taken",
        "Another process listens on the port of this computer at which the console is to answer.",
        ["ss -ltnp", "choose another port: `providerConfig.local.consolePort`"];
    ClusterNotOurs = 1829, Conflict, "a KIND cluster of that name exists and belongs to somebody else",
        "A cluster that this run did not make is never touched: it may be another run's, or a person's.",
        ["kind get clusters", "kind delete cluster --name NAME"];
    RuntimeSettings = 1830, Invalid, "a setting of the temporary cluster is not valid",
        "A host alias, a name server, a certificate file or the name of the cluster cannot be used.",
        ["correct the value that is named", "butleradm bootstrap validate --config FILE"];
    NodeImageMissing = 1831, Failed, "there is no image for the node of the KIND cluster",
        "The image that the configuration names is not in the container engine, and the engine could not pull it: \
         the name is wrong, or there is no way to the registry. An image that was loaded before is used as it is.",
        ["docker pull IMAGE", "docker load -i FILE", "set `bootstrapCluster.kind.image` to an image that is there"];
    AddonSourceMissing = 1851, Invalid, "a chart or manifest of an addon is not there",
        "The repository, registry or mirror was asked and does not have that chart, version or file, or what it \
         has is not what was published. Trying again will not help.",
        ["helm show chart CHART --repo URL --version VERSION", "look into the directory that `charts.mirror` names"];
    AddonSourceUnreachable = 1852, Transient, "a chart or manifest of an addon could not be fetched",
        "The server that has it could not be reached, was busy, or broke off. It is tried again until the \
         deadline of the step. A mirror makes it work without a way out.",
        ["check the way to the server that is named", "set `charts.mirror` in the bootstrap configuration",
         "butleradm bootstrap resume"];
    ReleaseFailed = 1853, Failed, "helm could not install an addon",
        "helm was run and said no; its own last words are the cause. A release that it left half made is \
         repaired or taken away by the next try.",
        ["helm status RELEASE -n NAMESPACE", "kubectl -n NAMESPACE get pods,events"];
    AddonLate = 1854, Timeout, "an addon was not ready in time",
        "Everything was applied, but its workloads were not available before the deadline: images that cannot \
         be pulled, nodes without room, volumes without storage.",
        ["kubectl -n NAMESPACE get pods", "kubectl -n NAMESPACE describe pods"];
    AddonInvalid = 1855, Invalid, "an addon cannot be installed as it is described",
        "The manifests are not valid, want a value that nobody gives, or the step asks for something that this \
         version cannot do.",
        ["read the cause", "kubectl get clusterbootstrap -A -o yaml"];
    AddonCredential = 1856, Unauthenticated, "an addon needs a credential that is not there",
        "A step takes a value from the provider's credentials, and the Secret that the ProviderConfig names \
         does not have that key.",
        ["kubectl get providerconfig NAME -o yaml", "add the key to the Secret that spec.credentialsRef names"];
    AddonSourceUnresolved = 1857, Transient, "the name of a chart server cannot be resolved",
        "The name servers of this computer do not answer, or do not know the host that has the chart or manifest. It is \
         tried again until the deadline of the step. A mirror makes it work without a way out.",
        ["butleradm bootstrap status", "check /etc/resolv.conf", "set `charts.mirror` in the bootstrap configuration"];

    Internal = 1901, Internal, "the program has a defect",
        "Something happened that should be impossible. Nothing you did is wrong.",
        ["repeat with -v and report what it prints", "butleradm version"];
    Interrupted = 1902, Cancelled, "the command was interrupted",
        "Ctrl-C or a signal ended it. What had been done stays done.",
        ["repeat the command", "butleradm bootstrap resume"];

    RunUnknown = 2001, NotFound, "no such run",
        "A run is named by its id, the beginning of its id, or the name of the cluster it makes.",
        ["butleradm bootstrap list"];
    RunAmbiguous = 2002, Invalid, "several runs begin like that",
        "The beginning of an id fits more than one run.",
        ["butleradm bootstrap list"];
    RunHeld = 2003, Conflict, "another process works on this cluster",
        "A cluster is made by one process at a time, and the one that is named still lives.",
        ["butleradm bootstrap status", "butleradm bootstrap abort"];
    RunNotResumable = 2004, Conflict, "the run cannot be taken up",
        "It reached its end, never began, or its removal was begun: what a half-finished removal left is not built \
         on, but removed.",
        ["butleradm bootstrap status RUN", "butleradm bootstrap destroy RUN"];
    PlanUnreadable = 2005, Invalid, "the file is not a plan",
        "A plan is a JSON file that `bootstrap plan --out` wrote, by the same version of this program.",
        ["butleradm bootstrap plan --config FILE --out plan.json"];
    PlanMoved = 2006, Conflict, "the world is not as it was when the plan was made",
        "A plan is carried out only while everything it was made from is as it was: the configuration, the programs, \
         and what was seen at the provider and on the network. What changed is listed. Nothing was done.",
        ["butleradm bootstrap plan --config FILE --out plan.json"];
    BootstrapFailed = 2010, Bootstrap, "the management cluster was not made",
        "A step failed in a way that another try does not mend by itself. What was made stays as it is; the \
         run's journal knows all of it.",
        ["butleradm bootstrap status", "butleradm bootstrap logs", "butleradm bootstrap resume",
         "butleradm bootstrap destroy RUN"];
    BootstrapTimeout = 2011, Timeout, "the management cluster was not ready in time",
        "The limit of --timeout was reached. What was made stays as it is, and the run can be taken up.",
        ["butleradm bootstrap resume", "repeat with a longer --timeout"];
    MachineNameTaken = 2012, Conflict, "a machine of that name exists",
        "The provider has a machine or a load balancer with a name that the new cluster needs, and it does not \
         carry the mark of this run. It is left alone.",
        ["choose another cluster.name", "remove it at the provider", "butleradm bootstrap list"];
    VipAnswers = 2013, Conflict, "something answers at the shared address",
        "network.vip must be free: the control planes of the new cluster take it over. Something listens there \
         on port 6443 now.",
        ["choose another network.vip", "butleradm bootstrap plan --config FILE"];
    ClusterTaken = 2014, Conflict, "another run has this cluster",
        "A cluster of that name was made, or begun, by the run that is named, and was not destroyed.",
        ["butleradm bootstrap resume RUN", "butleradm bootstrap destroy RUN", "choose another cluster.name"];
    DestroyIncomplete = 2015, Failed, "something is left after everything was removed",
        "The provider still lists what is named after its removal was asked for.",
        ["butleradm bootstrap destroy RUN"];
    RunConfigChanged = 2020, Conflict, "the configuration of a run was changed",
        "A run goes on with what it began with. Each change is listed with whether the run can go on with it: a key \
         is free until something was made from it. Safe changes are taken with --accept-config, and the journal \
         says so; one that is not possible needs a new run. Secrets may change, and are never shown.",
        ["butleradm bootstrap resume RUN --config FILE --accept-config", "butleradm bootstrap resume RUN, without the change",
         "butleradm bootstrap destroy RUN, then run with the new file"];
    RunSecretsLost = 2021, Failed, "the secrets of a run are gone",
        "The Talos secrets of a run lie in its directory. Machines that were configured with them trust nothing \
         else, so without the file the run cannot go on; what it made can be removed.",
        ["restore the file from a backup", "butleradm bootstrap destroy RUN"];
    RunConfigLost = 2022, Failed, "the configuration of a run is gone",
        "Neither the run's directory nor its journal has the configuration that it was made from. The provider and \
         its credentials stand in it.",
        ["butleradm bootstrap destroy RUN --config FILE", "butleradm bootstrap resume RUN --config FILE"];

    RunStalled = 2030, Transient, "a run does not move on",
        "Nothing has changed for a while, and no cause was found in what can be asked: the provider, the machines, their \
         nodes, the new cluster. The run goes on waiting until the deadline of its phase.",
        ["butleradm bootstrap status", "butleradm bootstrap logs"];
    MachineNoAddress = 2031, Timeout, "a machine has no address",
        "The provider has made the machine and switched it on, but tells no address of it: it hangs in its boot, has \
         no network card or no DHCP server, or no guest agent. Its console shows how far it came. The run waits 15 \
         minutes for it; a machine that gets its address later is taken as it is, and no second one is made.",
        ["butleradm machine console NAME", "look at the machine's network at the provider", "butleradm bootstrap resume"];
    NodeSilent = 2032, Transient, "nothing answers at the address of a machine",
        "The provider tells an address, but no Talos answers there on port 50000: the address is of another machine, is old, \
         or cannot be reached from this computer, or the machine booted something else. When the provider tells another \
         address before the machine has its configuration, that one is used.",
        ["butleradm machine console NAME", "talosctl -n ADDRESS version --insecure", "check the way to that address from this machine"];
    MachineOff = 2033, Failed, "a machine is switched off",
        "The machine was made and is off: it switched itself off, often because it cannot use its configuration, or \
         somebody did. It is not switched on by the run, for it may have had its reasons; its console tells them. \
         The run waits for it until the deadline of its phase.",
        ["butleradm machine console NAME", "butleradm machine power NAME on", "butleradm bootstrap resume"];
    EtcdNotFormed = 2034, Transient, "etcd does not come together",
        "The nodes answer, but etcd has not begun, or not every control plane is a member that votes. Its service on the \
         nodes says what it waits for: the others cannot be reached on port 2380, the clocks differ, the disk is too \
         slow, or it has data of an earlier cluster.",
        ["talosctl -n ADDRESS service etcd", "talosctl -n ADDRESS logs etcd", "talosctl -n ADDRESS etcd members"];
    ApiServerDown = 2035, Transient, "the API server of the new cluster is not ready, or does not stay so",
        "etcd is well, and kube-apiserver does not answer that it is ready, or comes and goes: it ends after each start, \
         or the machine is too small for it. The kernel messages and the log of its container say why.",
        ["talosctl -n ADDRESS dmesg", "talosctl -n ADDRESS containers -k", "talosctl -n ADDRESS logs -k kube-system/kube-apiserver-NODE:kube-apiserver"];
    NodeLost = 2036, Transient, "a node that answered cannot be reached any more",
        "The node had its configuration and answered; now nothing answers at its address, though the provider says that \
         the machine runs. The network between it and this computer, or the others, is cut, or the machine hangs.",
        ["butleradm machine console NAME", "talosctl -n ADDRESS version", "check the network of the machine at the provider"];
    NodesNotReady = 2037, Transient, "nodes of the new cluster are not Ready",
        "The machines have their configuration, but not all of them are nodes that are Ready: the kubelet does not reach \
         the API server, or there is no network of Pods yet.",
        ["kubectl get nodes -o wide", "talosctl -n ADDRESS service kubelet"];

    BackupDamaged = 2050, Failed, "a backup is not what was written",
        "The file ends early, or a checksum in it does not fit what stands there: a copy that broke off, a bad disk, or \
         somebody changed it. Nothing of it was used. Every part has a checksum of its own, so what is whole can still be \
         taken out by hand; docs/backup.md says how.",
        ["butleradm backup verify FILE", "copy the file again from where it is kept", "butleradm backup list"];
    BackupLocked = 2051, Invalid, "no identity that was given opens the backup",
        "A backup is encrypted to the recipients that were named when it was made; only the identity (the private key) of one \
         of them opens it. Who they are stands in the clear at the beginning of the file.",
        ["butleradm backup list -o wide", "pass --identity FILE with the identity of one of the recipients"];
    BackupKeyInvalid = 2052, Invalid, "a recipient or an identity is not a key of age",
        "A recipient begins with `age1`, an identity with `AGE-SECRET-KEY-1`. An identity file has one on a line; lines that \
         begin with `#` are comments.",
        ["butleradm backup keygen --out FILE"];
    BackupUnknown = 2053, Invalid, "the file is no backup that this version can read",
        "It is another kind of file, or was written by a newer version in a format that this one does not know.",
        ["butleradm backup list --dir DIRECTORY", "butleradm version"];
    NothingToBackUp = 2054, Failed, "there is no cluster that could be backed up",
        "A backup is made of a management cluster that a run on this computer has made: of its etcd, which the nodes hand \
         out, and of what the run keeps. The run has not come that far, its cluster was removed, or it has no nodes with \
         Talos, as with provider `local`.",
        ["butleradm bootstrap list"];
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BTL-{:04}", *self as u16)
    }
}

impl Code {
    /// The code whose [`word`](Self::word) this is.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.word() == word)
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    /// Accepts `BTL-1001`, `btl-1001` and `1001`.
    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let digits = match text.get(..4) {
            Some(prefix) if prefix.eq_ignore_ascii_case("btl-") => &text[4..],
            _ => text,
        };
        digits
            .parse::<u16>()
            .ok()
            .and_then(|number| Self::ALL.iter().find(|code| **code as u16 == number))
            .copied()
            .ok_or_else(|| UnknownCode(text.to_owned()))
    }
}

/// A text that names no code.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not an error code of this version")]
pub struct UnknownCode(String);

impl super::Diagnose for UnknownCode {
    fn code(&self) -> Code {
        Code::CodeUnknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_ascending_and_have_full_pages() {
        assert!(Code::ALL.is_sorted());
        for code in Code::ALL {
            let page = code.page();
            assert!(!page.title.is_empty() && page.text.ends_with('.'), "{code}");
            assert!(!page.title.ends_with('.') && !page.text.contains("  "), "{code}");
        }
    }

    /// Programs that a page may tell a person to run.
    const PROGRAMS: &[&str] = &[
        "butleradm",
        "butlerctl",
        "chmod",
        "curl",
        "df",
        "docker",
        "export",
        "go",
        "helm",
        "kind",
        "kubectl",
        "ls",
        "openssl",
        "ps",
        "secret-tool",
        "ss",
        "sudo",
        "talosctl",
    ];

    #[test]
    fn every_page_has_evidence_and_a_command_to_go_on_with() {
        for code in Code::ALL {
            let page = code.page();
            assert!(!page.evidence.is_empty(), "{code} says nothing of evidence");
            let is_command =
                |step: &&str| step.split(' ').next().is_some_and(|word| PROGRAMS.contains(&word));
            assert!(page.next.iter().any(is_command), "{code} names no command: {:?}", page.next);
            for line in page.evidence.iter().chain(page.next) {
                assert!(!line.is_empty() && line.trim() == *line && !line.ends_with('.'), "{code}: {line}");
            }
        }
    }

    #[test]
    fn what_the_class_calls_transient_the_page_calls_retryable() {
        for code in Code::ALL {
            let retryable = code.page().outlook == Outlook::Retryable;
            match code.kind() {
                ErrorKind::Transient | ErrorKind::Timeout => assert!(retryable, "{code}"),
                ErrorKind::Invalid | ErrorKind::Forbidden | ErrorKind::Unauthenticated | ErrorKind::Quota => {
                    assert!(!retryable, "{code}");
                }
                _ => {}
            }
        }
    }

    #[test]
    fn the_word_of_a_code_leads_back_to_it_and_is_a_reason() {
        for code in Code::ALL {
            assert_eq!(Code::of_word(code.word()), Some(*code));
            assert!(code.word().chars().all(|letter| letter.is_ascii_alphanumeric()), "{code}");
        }
        assert_eq!(Code::of_word("Reconciling"), None);
    }

    #[test]
    fn codes_are_read_in_every_spelling() {
        for text in ["BTL-1001", "btl-1001", "1001"] {
            assert_eq!(text.parse::<Code>().unwrap(), Code::ApiUnreachable);
        }
        for text in ["", "BTL-", "BTL-9999", "é-1001", "BTL-10010000"] {
            assert!(text.parse::<Code>().is_err(), "{text}");
        }
    }
}
