//! The effects of a dashboard: each is a task that tells what it learns.

mod cluster;
mod program;
mod runs;
mod wizard;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use butler_core::{
    bootstrap::run::Runs,
    cluster::{Client, ConnectOptions},
    event::Event,
    settings::Environment,
    tenant::Scope,
};
use tokio::task::AbortHandle;

use super::{Do, News};
use crate::tui::{Mail, Worker};

pub use wizard::Scout;

/// What effects work with.
pub struct Means {
    /// How the cluster is found.
    pub connect: ConnectOptions,
    /// The environment.
    pub environment: Environment,
    /// Which tenant clusters are shown.
    pub scope: Scope,
    /// The runs of this machine; none when there is no home.
    pub runs: Option<Runs>,
    /// This program, to be started again.
    pub program: PathBuf,
    /// Asks a provider what it has; none where nobody is asked for a cluster.
    pub scout: Option<Scout>,
    /// The events of a run that is shown again, and how many times as fast; none for no pause.
    pub replay: Option<(Vec<Event>, Option<f64>)>,
}

/// Carries effects out.
pub struct Feeds {
    worker: Worker,
    mail: Mail<News>,
    means: Arc<Means>,
    client: Arc<Mutex<Option<Client>>>,
    watching: Vec<AbortHandle>,
    looking: Vec<AbortHandle>,
    following: Option<AbortHandle>,
}

impl Feeds {
    /// Ready to carry effects out; the runs of this machine are looked at from now on.
    pub fn new(worker: Worker, mail: Mail<News>, means: Means) -> Self {
        let means = Arc::new(means);
        if let Some(runs) = &means.runs {
            worker.spawn(runs::list(runs.clone(), mail.clone()));
        }
        Self {
            worker,
            mail,
            means,
            client: Arc::default(),
            watching: Vec::new(),
            looking: Vec::new(),
            following: None,
        }
    }

    /// Starts an effect.
    pub fn start(&mut self, effect: Do) {
        let mail = self.mail.clone();
        match effect {
            Do::Connect => {
                self.watching.drain(..).for_each(|task| task.abort());
                let work = cluster::connect(self.means.clone(), self.client.clone(), mail);
                self.watching.push(self.worker.spawn(work));
            }
            Do::Look { ticket, namespace, name } => {
                self.looking.drain(..).for_each(|task| task.abort());
                if let Some(client) = self.client() {
                    let work = cluster::look(client, ticket, namespace, name, mail);
                    self.looking.push(self.worker.spawn(work));
                }
            }
            Do::LookAway => self.looking.drain(..).for_each(|task| task.abort()),
            Do::Delete { namespace, name, uid } => {
                let client = self.client();
                self.worker.spawn(cluster::delete(client, namespace, name, uid, mail));
            }
            Do::Follow { ticket, id } => {
                self.unfollow();
                let means = self.means.clone();
                let work = async move {
                    match (&means.replay, &means.runs) {
                        (Some((events, speed)), _) => {
                            runs::replay(ticket, events, *speed, means.runs.as_ref(), mail).await
                        }
                        (None, Some(runs)) => runs::follow(ticket, runs, &id, mail).await,
                        (None, None) => {}
                    }
                };
                self.following = Some(self.worker.spawn(work));
            }
            Do::Unfollow => self.unfollow(),
            Do::Wizard(effect) => {
                self.worker.spawn(wizard::work(effect, self.means.clone(), mail));
            }
            Do::Program { what, args } => {
                self.worker.spawn(program::start(self.means.program.clone(), what, args, mail));
            }
        }
    }

    fn unfollow(&mut self) {
        if let Some(task) = self.following.take() {
            task.abort();
        }
    }

    fn client(&self) -> Option<Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
