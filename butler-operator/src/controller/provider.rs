//! The drivers that requests name, and what wakes those requests: their ProviderConfig, its Secret, and
//! changes that the provider itself tells.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use butler_core::{
    api::{ProviderConfig, common::ProviderRef},
    cluster::ApiError,
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, Resource, ResourceExt, core::PartialObjectMeta, runtime::reflector::ObjectRef};
use tokio::{sync::mpsc, task::AbortHandle, time::sleep};

use super::{
    backoff::Delays,
    leader::chain,
    source::{Dedup, Guarded, Source, Sources, Tasks, Watched, lock},
};
use crate::driver::{
    Driver, DriverError, Ownership,
    registry::{Connect, Credentials},
};

/// Namespace and name.
type Key = (String, String);

/// A driver that is ready for use.
#[derive(Debug)]
pub(super) struct Connected {
    /// The driver.
    pub(super) driver: Arc<dyn Driver>,
    /// `spec.provider`.
    pub(super) provider: String,
    /// What it was made from.
    pub(super) fingerprint: Fingerprint,
    /// True when the provider tells its changes, so that nobody has to ask often.
    pub(super) tells: bool,
}

/// Why there is no driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The ProviderConfig or its Secret does not exist.
    Missing(String),
    /// The ProviderConfig does not fit its kind.
    Malformed(String),
    /// The driver does not accept the ProviderConfig, or there is none for this provider.
    Refused {
        /// `spec.provider`.
        provider: String,
        /// Why, with the provider's words.
        text: String,
    },
}

/// The driver, or why there is none.
pub(super) type Provided = Result<Arc<Connected>, Obstacle>;

/// The versions a driver was made from. The generation of a ProviderConfig does not change when only
/// its status does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    config: (Option<String>, Option<i64>),
    secret: Option<(Option<String>, Option<String>)>,
}

struct Entry {
    fingerprint: Fingerprint,
    provided: Provided,
    /// Listens to the provider.
    listener: Option<AbortHandle>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

/// What may concern a request.
#[derive(Clone, Debug)]
enum Touched {
    /// Everything that uses this ProviderConfig.
    Config(Key),
    /// What was made for this request.
    Object(Ownership),
}

/// The drivers of a term.
pub(super) struct Providers {
    client: Client,
    owner: String,
    connect: Connect,
    configs: Source<Guarded<ProviderConfig>>,
    secrets: Source<PartialObjectMeta<Secret>>,
    tasks: Tasks,
    entries: tokio::sync::Mutex<HashMap<Key, Entry>>,
    readers: Arc<Mutex<Vec<mpsc::UnboundedSender<Touched>>>>,
}

impl std::fmt::Debug for Providers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Providers").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Providers {
    pub(super) fn new(
        client: Client,
        owner: String,
        connect: Connect,
        sources: &Sources,
        tasks: Tasks,
    ) -> Self {
        Self {
            client,
            owner,
            connect,
            configs: sources.of(),
            secrets: sources.of(),
            tasks,
            entries: tokio::sync::Mutex::default(),
            readers: Arc::default(),
        }
    }

    /// Waits until ProviderConfigs and Secrets are known.
    pub(super) async fn ready(&self) {
        tokio::join!(self.configs.ready(), self.secrets.ready());
    }

    /// The driver for a request in `namespace`. Made once and kept while ProviderConfig and Secret stay
    /// as they are; reads the Secret only then.
    pub(super) async fn connect(
        &self,
        namespace: &str,
        reference: &ProviderRef,
    ) -> Result<Provided, ApiError> {
        let key = key(namespace, reference);
        let Some(config) = self.configs.get(&key.0, &key.1) else {
            self.entries.lock().await.remove(&key);
            let text = format!("ProviderConfig `{}` does not exist in namespace `{}`", key.1, key.0);
            return Ok(Err(Obstacle::Missing(text)));
        };
        let config = match &config.0 {
            Ok(config) => config,
            Err(malformed) => {
                let text = format!("ProviderConfig `{}` does not fit its kind: {malformed}", key.1);
                return Ok(Err(Obstacle::Malformed(text)));
            }
        };
        let named = secret(config);
        let known = named.as_ref().map(|(namespace, name)| self.secrets.get(namespace, name));
        let secret = match (&named, known) {
            (Some((namespace, name)), Some(None)) => {
                let text = format!(
                    "Secret `{name}` of ProviderConfig `{}` does not exist in namespace `{namespace}`",
                    key.1
                );
                return Ok(Err(Obstacle::Missing(text)));
            }
            (_, known) => known.flatten(),
        };
        let fingerprint = Fingerprint {
            config: (config.metadata.uid.clone(), config.metadata.generation),
            secret: secret
                .map(|secret| (secret.metadata.uid.clone(), secret.metadata.resource_version.clone())),
        };
        let mut entries = self.entries.lock().await;
        if let Some(entry) = entries.get(&key).filter(|entry| entry.fingerprint == fingerprint) {
            return Ok(entry.provided.clone());
        }
        let credentials = match &named {
            Some((namespace, name)) => credentials(&self.client, namespace, name).await?,
            None => Credentials::default(),
        };
        let provider = config.spec.provider.to_string();
        let provided = match (self.connect)(config, &credentials) {
            Ok(driver) => {
                tracing::info!(provider, config = key.1, namespace = key.0, "connected");
                let tells = driver.changes().is_some();
                Ok(Arc::new(Connected { driver, provider, fingerprint: fingerprint.clone(), tells }))
            }
            Err(error) => Err(Obstacle::Refused { provider, text: words(&error) }),
        };
        let listener = provided.as_ref().ok().filter(|connected| connected.tells).map(|connected| {
            self.tasks.spawn(listen(connected.driver.clone(), key.clone(), self.readers.clone()))
        });
        entries.insert(key, Entry { fingerprint, provided: provided.clone(), listener });
        Ok(provided)
    }

    /// The requests of a kind that have to be looked at again: those whose ProviderConfig or Secret
    /// changed, and those about whose machine the provider told something.
    pub(super) fn triggers<K>(
        &self,
        requests: Source<Guarded<K>>,
        reference: fn(&K) -> &ProviderRef,
    ) -> BoxStream<'static, ObjectRef<Guarded<K>>>
    where
        Guarded<K>: Watched,
        K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
    {
        let owner = self.owner.clone();
        let touched = stream::select_all([self.changed_configs(), self.changed_secrets(), self.told()]);
        touched
            .flat_map(move |touched| {
                let found: Vec<_> = match touched {
                    Touched::Object(ownership) if ownership.owner == owner => ownership
                        .object_ref()
                        .map(|(namespace, name)| ObjectRef::new(name).within(namespace))
                        .into_iter()
                        .collect(),
                    Touched::Object(_) => Vec::new(),
                    Touched::Config(config) => {
                        let uses = |request: &Guarded<K>| {
                            let namespace = request.meta().namespace.as_deref().unwrap_or_default();
                            request
                                .0
                                .as_ref()
                                .is_ok_and(|request| key(namespace, reference(request)) == config)
                        };
                        let found = requests.store().state_filter(uses);
                        found.iter().map(|request| ObjectRef::from_obj(&**request)).collect()
                    }
                };
                stream::iter(found)
            })
            .boxed()
    }

    fn changed_configs(&self) -> BoxStream<'static, Touched> {
        let (configs, mut seen) = (self.configs.clone(), Dedup::new());
        let news = self.configs.changes().filter_map(move |config| {
            let key = (config.namespace().unwrap_or_default(), config.name_any());
            let exists = configs.get(&key.0, &key.1).is_some();
            // Its status is nothing to a request.
            let value = (exists, config.meta().uid.clone(), config.meta().generation, config.is_malformed());
            std::future::ready(seen.is_news(key.clone(), value).then_some(Touched::Config(key)))
        });
        news.boxed()
    }

    fn changed_secrets(&self) -> BoxStream<'static, Touched> {
        let configs = self.configs.clone();
        let news =
            self.secrets.changes().flat_map(move |changed| {
                let changed = (changed.namespace().unwrap_or_default(), changed.name_any());
                let uses = |config: &Guarded<ProviderConfig>| {
                    config.0.as_ref().is_ok_and(|config| secret(config).as_ref() == Some(&changed))
                };
                let configs = configs.store().state_filter(uses);
                stream::iter(configs.into_iter().map(|config| {
                    Touched::Config((config.namespace().unwrap_or_default(), config.name_any()))
                }))
            });
        news.boxed()
    }

    fn told(&self) -> BoxStream<'static, Touched> {
        let (reader, mut touched) = mpsc::unbounded_channel();
        lock(&self.readers).push(reader);
        stream::poll_fn(move |context| touched.poll_recv(context)).boxed()
    }
}

/// Where the ProviderConfig of a request is: beside the request, unless it says otherwise.
fn key(namespace: &str, reference: &ProviderRef) -> Key {
    let named = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    (named.unwrap_or(namespace).to_owned(), reference.name.clone())
}

/// Where the credentials of a ProviderConfig are.
fn secret(config: &ProviderConfig) -> Option<Key> {
    let reference = config.spec.credentials_ref.as_ref()?;
    let named = reference.namespace.clone().filter(|namespace| !namespace.is_empty());
    Some((named.or_else(|| config.namespace()).unwrap_or_default(), reference.name.clone()))
}

async fn credentials(client: &Client, namespace: &str, name: &str) -> Result<Credentials, ApiError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = secrets
        .get(name)
        .await
        .map_err(|error| ApiError::new(format!("get Secret `{name}` in namespace `{namespace}`"), error))?;
    Ok(Credentials::from(&secret))
}

/// Passes on what a provider tells. When it loses track, everything that uses it is looked at.
async fn listen(
    driver: Arc<dyn Driver>,
    config: Key,
    readers: Arc<Mutex<Vec<mpsc::UnboundedSender<Touched>>>>,
) {
    let tell = |touched: &Touched| lock(&readers).retain(|reader| reader.send(touched.clone()).is_ok());
    let mut delays = Delays::new(Duration::from_millis(200), Duration::from_secs(30));
    while let Some(changes) = driver.changes() {
        let mut changes = changes.subscribe();
        // What changed before we listened was told to nobody.
        tell(&Touched::Config(config.clone()));
        while let Some(ownership) = changes.next().await {
            delays.reset();
            tell(&Touched::Object(ownership));
        }
        sleep(delays.next()).await;
    }
}

/// A driver's error as people read it: what was tried, and the provider's words.
pub(super) fn words(error: &DriverError) -> String {
    chain(error)
}
