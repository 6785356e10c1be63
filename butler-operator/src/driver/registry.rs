//! From a ProviderConfig and its credentials to a driver.
//!
//! [`connect`] is the one list of providers. Whoever needs drivers takes a [`Connect`], so that tests
//! can put their own in its place.

use std::{collections::BTreeMap, fmt, sync::Arc};

use butler_core::{
    api::{
        ProviderConfig,
        common::{ProviderKind, ProviderRef},
    },
    cluster::ApiError,
    error::{Code, Diagnose, ErrorKind},
    redact,
};
use k8s_openapi::api::core::v1;
use kube::{Api, Client, ResourceExt};

use super::{Driver, DriverError, DriverResult, ErrorClass, sandbox::SandboxDriver};

/// Makes the driver of a ProviderConfig. Does not talk to the provider yet.
pub type Connect = Arc<dyn Fn(&ProviderConfig, &Credentials) -> DriverResult<Arc<dyn Driver>> + Send + Sync>;

/// What the Secret of a ProviderConfig holds, by key.
#[derive(Clone, Default)]
pub struct Credentials(BTreeMap<String, redact::Secret>);

impl Credentials {
    /// One of the values; an error that names the key when there is none.
    pub fn require(&self, provider: &ProviderKind, key: &str) -> DriverResult<&redact::Secret> {
        self.get(key).ok_or_else(|| {
            DriverError::new(
                ErrorClass::Auth,
                format!("use provider `{provider}`"),
                format!("the Secret of the ProviderConfig has no key `{key}`"),
            )
        })
    }

    /// One of the values.
    pub fn get(&self, key: &str) -> Option<&redact::Secret> {
        self.0.get(key).filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl From<&v1::Secret> for Credentials {
    /// Values that are not text are left out: no provider has any.
    fn from(secret: &v1::Secret) -> Self {
        let data = secret.data.iter().flatten();
        let text =
            |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(|text| redact::Secret::from(text.trim_end()));
        Self(data.filter_map(|(key, value)| Some((key.clone(), text(&value.0)?))).collect())
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Credentials {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), redact::Secret::from(value.into()))).collect())
    }
}

/// The drivers of this version.
pub fn connect(config: &ProviderConfig, credentials: &Credentials) -> DriverResult<Arc<dyn Driver>> {
    let provider = &config.spec.provider;
    match provider {
        ProviderKind::Sandbox => {
            let socket = credentials.require(provider, "socket")?;
            Ok(Arc::new(SandboxDriver::new(socket.expose())))
        }
        _ => Err(DriverError::new(
            ErrorClass::Invalid,
            format!("use provider `{provider}`"),
            "this version has no driver for it",
        )),
    }
}

/// Why there is no driver for a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The ProviderConfig or its Secret could not be read.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The driver does not accept them.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

impl Diagnose for RegistryError {
    fn code(&self) -> Code {
        match self {
            Self::Api(error) => error.code(),
            Self::Driver(error) => error.code(),
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Api(error) => error.kind(),
            Self::Driver(error) => error.kind(),
        }
    }
}

/// Reads the ProviderConfig that an object in `namespace` names, and makes its driver; for commands that
/// need it once.
pub async fn driver_of(
    client: &Client,
    connect: &Connect,
    namespace: &str,
    reference: &ProviderRef,
) -> Result<Arc<dyn Driver>, RegistryError> {
    let place = reference.namespace.as_deref().filter(|place| !place.is_empty()).unwrap_or(namespace);
    let configs: Api<ProviderConfig> = Api::namespaced(client.clone(), place);
    let name = &reference.name;
    let config = configs.get(name).await.map_err(|error| {
        ApiError::new(format!("get ProviderConfig `{name}` in namespace `{place}`"), error)
    })?;
    let credentials = match &config.spec.credentials_ref {
        None => Credentials::default(),
        Some(reference) => {
            let named = reference.namespace.clone().filter(|place| !place.is_empty());
            let place = named.or_else(|| config.namespace()).unwrap_or_default();
            let secrets: Api<v1::Secret> = Api::namespaced(client.clone(), &place);
            let secret = secrets.get(&reference.name).await.map_err(|error| {
                ApiError::new(format!("get Secret `{}` in namespace `{place}`", reference.name), error)
            })?;
            Credentials::from(&secret)
        }
    };
    Ok(connect(&config, &credentials)?)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    fn config(provider: &str) -> ProviderConfig {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": {"name": "a"}, "spec": {"provider": provider},
        }))
        .unwrap()
    }

    #[test]
    fn a_provider_without_a_driver_is_invalid_and_named() {
        for provider in ["harvester", "vsphere"] {
            let error = connect(&config(provider), &Credentials::default()).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Invalid);
            assert!(error.to_string().contains(provider), "{error}");
        }
    }

    #[test]
    fn credentials_are_never_shown_and_a_missing_key_is_named() {
        let data = [("token".to_owned(), ByteString(b"hunter2\n".to_vec()))].into();
        let secret = v1::Secret { data: Some(data), ..v1::Secret::default() };
        let credentials = Credentials::from(&secret);
        assert_eq!(format!("{credentials:?}"), r#"{"token"}"#);
        assert_eq!(credentials.require(&ProviderKind::Aws, "token").unwrap().expose(), "hunter2");
        let error = credentials.require(&ProviderKind::Aws, "region").unwrap_err();
        assert_eq!(error.class(), ErrorClass::Auth);
        assert!(error.provider_message().contains("`region`"));
    }
}
