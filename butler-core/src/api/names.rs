//! Names with a meaning on the wire: labels, annotations, finalizers, field managers, namespaces.
//!
//! Existing installations read and write them, so none may change.

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)+) => {
        $($(#[$doc])* pub const $name: &str = $text;)+
    };
}

/// Namespaces Butler uses.
pub mod namespaces {
    names! {
        /// ProviderConfigs, NetworkPools, IPAllocations, credentials, shared templates.
        SYSTEM = "butler-system";
        /// Tenant clusters that have no team, unless the ButlerConfig says otherwise.
        TENANTS = "butler-tenants";
    }
}

/// Label keys, and the values that are fixed.
pub mod labels {
    names! {
        /// Who generated an object; Kubernetes' own key.
        MANAGED_BY = "app.kubernetes.io/managed-by";
        /// Value of [`MANAGED_BY`] on everything Butler generates.
        MANAGED_BY_BUTLER = "butler";
        /// Team; on IPAllocations the *namespace* of the tenant cluster.
        TEAM = "butler.butlerlabs.dev/team";
        /// Name of the tenant cluster.
        TENANT = "butler.butlerlabs.dev/tenant";
        /// Namespace of the tenant cluster an object was made for.
        SOURCE_NAMESPACE = "butler.butlerlabs.dev/source-namespace";
        /// Name of the tenant cluster an object was made for.
        SOURCE_NAME = "butler.butlerlabs.dev/source-name";
        /// Environment of a tenant cluster inside its team.
        ENVIRONMENT = "butler.butlerlabs.dev/environment";
        /// Pool of an IPAllocation.
        NETWORK_POOL = "butler.butlerlabs.dev/network-pool";
        /// Type of an IPAllocation: `nodes` or `loadbalancer`.
        ALLOCATION_TYPE = "butler.butlerlabs.dev/allocation-type";
        /// Whether an IPAllocation is the `initial` one or `growth`.
        ALLOCATION_ROLE = "butler.butlerlabs.dev/allocation-role";
        /// Name of the ProviderConfig.
        PROVIDER_CONFIG = "butler.butlerlabs.dev/provider-config";
        /// Schematic of an ImageSync, cut to 63 characters.
        SCHEMATIC_ID = "butler.butlerlabs.dev/schematic-id";
        /// Version of an ImageSync's image.
        IMAGE_VERSION = "butler.butlerlabs.dev/image-version";
        /// Architecture of an ImageSync's image.
        IMAGE_ARCH = "butler.butlerlabs.dev/image-arch";
        /// `true` on the platform's own LoadBalancer Services inside tenants.
        PLATFORM_LB = "butler.butlerlabs.dev/platform-lb";
        /// Workspace a pod or volume belongs to.
        WORKSPACE = "butler.butlerlabs.dev/workspace";
        /// Owner of a workspace, with `@` and `.` replaced, cut to 63 characters.
        WORKSPACE_OWNER = "butler.butlerlabs.dev/workspace-owner";
        /// Cluster of an addon that was enrolled without being asked for.
        CLUSTER = "butler.butlerlabs.dev/cluster";
        /// Definition of an addon that was enrolled without being asked for.
        ADDON_DEFINITION = "butler.butlerlabs.dev/addon-definition";
        /// `true` on an addon that was enrolled without being asked for.
        AUTO_ENROLLED = "butler.butlerlabs.dev/auto-enrolled";
        /// What a Secret holds; `kubeconfig` on the one in Cluster API's form.
        SECRET_TYPE = "butler.butlerlabs.dev/secret-type";
        /// Where a catalog entry comes from; `builtin` on ours.
        SOURCE = "butler.butlerlabs.dev/source";
        /// Category of a catalog entry.
        CATEGORY = "butler.butlerlabs.dev/category";
        /// `platform-admin` on the first User.
        USER_TYPE = "butler.butlerlabs.dev/user-type";
        /// Which role of the programs a ClusterRole stands for.
        CLI_ROLE = "butler.butlerlabs.dev/cli-role";
        /// Name of the ClusterBootstrap that a MachineRequest belongs to.
        CLUSTER_BOOTSTRAP = "butler.butlerlabs.dev/cluster-bootstrap";
        /// What the machine of a MachineRequest does in its cluster.
        ROLE = "butler.butlerlabs.dev/role";
        /// `true` on the system namespace of a sandbox.
        SANDBOX = "butler.butlerlabs.dev/sandbox";
        /// `butler` on virtual machines in Harvester.
        VM_MANAGED_BY = "butler.butlerlabs.dev/managed-by";
        /// `admin-kubeconfig` on the Secret that Steward writes.
        STEWARD_COMPONENT = "steward.butlerlabs.dev/component";
        /// Cluster API: name of the cluster.
        CAPI_CLUSTER_NAME = "cluster.x-k8s.io/cluster-name";
        /// Cluster API: name of the machine deployment.
        CAPI_DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name";
    }
}

/// Annotation keys.
pub mod annotations {
    names! {
        /// Text on namespaces of teams and tenants.
        DESCRIPTION = "butler.butlerlabs.dev/description";
        /// Who created the object.
        CREATED_BY = "butler.butlerlabs.dev/created-by";
        /// E-mail address of a tenant cluster's creator, as the server saw it.
        CREATOR_EMAIL = "butler.butlerlabs.dev/creator-email";
        /// E-mail address of a tenant cluster's owner; this one counts.
        OWNER = "butler.butlerlabs.dev/owner";
        /// `true` while the environment label may be changed.
        MIGRATION_OPERATION = "butler.butlerlabs.dev/migration-operation";
        /// `true` asks for a workspace's SSH service.
        CONNECT = "butler.butlerlabs.dev/connect";
        /// When that was asked for.
        CONNECT_TIME = "butler.butlerlabs.dev/connect-time";
        /// `true` on a Cluster API Machine that has its Talos configuration.
        TALOS_CONFIG_APPLIED = "butler.butlerlabs.dev/talos-config-applied";
        /// `true` on the first User: the server takes over the password's hash.
        SYNC_PASSWORD = "butler.butlerlabs.dev/sync-password";
        /// Zone of a cloud that a MachineRequest's machine is in.
        AVAILABILITY_ZONE = "butler.butlerlabs.dev/availability-zone";
        /// Image of a Harvester data volume.
        HARVESTER_IMAGE_ID = "harvesterhci.io/imageId";
        /// Where a Harvester image was fetched from.
        HARVESTER_IMAGE_URL = "harvesterhci.io/image-download-url";
        /// Version of Kubernetes of a cluster in the making; its kind has no field for it.
        KUBERNETES_VERSION = "butler.butlerlabs.dev/kubernetes-version";
        /// Tells Helm to leave an object alone when its chart is removed.
        HELM_RESOURCE_POLICY = "helm.sh/resource-policy";
    }
}

/// Finalizers.
pub mod finalizers {
    names! {
        /// On Teams.
        TEAM = "butler.butlerlabs.dev/team";
        /// On TenantClusters.
        TENANT_CLUSTER = "butler.butlerlabs.dev/tenantcluster";
        /// On TenantAddons.
        TENANT_ADDON = "butler.butlerlabs.dev/tenantaddon";
        /// On Users.
        USER = "butler.butlerlabs.dev/user";
        /// On NetworkPools.
        NETWORK_POOL = "butler.butlerlabs.dev/networkpool";
        /// On IPAllocations.
        IP_ALLOCATION = "butler.butlerlabs.dev/ipallocation";
        /// On ProviderConfigs.
        PROVIDER_CONFIG = "butler.butlerlabs.dev/providerconfig";
        /// On Workspaces.
        WORKSPACE = "butler.butlerlabs.dev/workspace";
        /// On ImageSyncs.
        IMAGE_SYNC = "butler.butlerlabs.dev/imagesync";
        /// On LoadBalancerRequests.
        LOAD_BALANCER_REQUEST = "butler.butlerlabs.dev/loadbalancerrequest";
        /// On ClusterBootstraps.
        CLUSTER_BOOTSTRAP = "clusterbootstrap.butler.butlerlabs.dev/finalizer";
        /// On ManagementAddons; formed unlike the others.
        MANAGEMENT_ADDON = "managementaddon.butler.butlerlabs.dev/finalizer";
    }

    /// On MachineRequests: one for each provider, such as `sandbox`.
    pub fn machine_request(provider: &str) -> String {
        format!("{MACHINE_REQUEST_PREFIX}{provider}{MACHINE_REQUEST_SUFFIX}")
    }

    /// The provider whose finalizer on a MachineRequest this is; none when it is another's.
    pub fn machine_request_provider(finalizer: &str) -> Option<&str> {
        finalizer.strip_prefix(MACHINE_REQUEST_PREFIX)?.strip_suffix(MACHINE_REQUEST_SUFFIX)
    }

    const MACHINE_REQUEST_PREFIX: &str = "machinerequest.butler.butlerlabs.dev/";
    const MACHINE_REQUEST_SUFFIX: &str = "-finalizer";
}

/// Leases.
pub mod leases {
    names! {
        /// Which replica of the controllers acts.
        CONTROLLERS = "butler-controller-leader";
    }
}

/// Field managers of server-side apply.
pub mod managers {
    names! {
        /// Installs the definitions.
        CRDS = "butleradm/crds";
        /// Address pools inside tenants.
        IPAM = "butler-controller/ipam";
        /// The platform's own addresses in a NetworkPool's status.
        INFRA_ALLOCATION = "butler-controller/infra-allocation";
        /// Teams in a User's status.
        USER_TEAMS = "butler-controller/user-teams";
        /// Groups in a User's status.
        USER_AUTH = "butler-server/user-auth";
        /// Finalizer and status of MachineRequests.
        MACHINE_REQUEST = "butler-controller/machine-request";
        /// Finalizer and status of LoadBalancerRequests.
        LOAD_BALANCER_REQUEST = "butler-controller/load-balancer-request";
        /// Finalizer and status of ClusterBootstraps, and the requests that they make.
        CLUSTER_BOOTSTRAP = "butler-controller/cluster-bootstrap";
        /// Objects that a bootstrap run makes.
        BOOTSTRAP = "butleradm/bootstrap";
        /// The lease of the controllers.
        LEADER = "butler-controller/leader";
        /// MachineRequests that a person makes.
        MACHINE = "butleradm/machine";
    }
}

#[cfg(test)]
mod tests {
    use super::finalizers;

    #[test]
    fn the_finalizer_of_a_machine_names_its_provider() {
        let finalizer = finalizers::machine_request("sandbox");
        assert_eq!(finalizer, "machinerequest.butler.butlerlabs.dev/sandbox-finalizer");
        assert_eq!(finalizers::machine_request_provider(&finalizer), Some("sandbox"));
        assert_eq!(finalizers::machine_request_provider(finalizers::TEAM), None);
    }
}
