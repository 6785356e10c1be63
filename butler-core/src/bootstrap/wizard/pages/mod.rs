//! The one table: every page and its questions, in order. Both faces of the wizard are views of it.

mod addons;
mod cluster;
mod network;
mod provider;

use super::{
    Answers,
    question::{Ask, Question, question},
};

/// What a page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageId {
    /// Where machines come from.
    Provider,
    /// How to sign in there.
    Credentials,
    /// What there is.
    Discovery,
    /// Name and size.
    Cluster,
    /// Versions.
    System,
    /// Addresses of the cluster.
    Network,
    /// Addresses of tenants.
    Tenants,
    /// What is installed.
    Addons,
    /// How it is published.
    Exposure,
    /// The configuration.
    Review,
    /// What would be done.
    Plan,
}

impl PageId {
    /// Its word in drafts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Credentials => "credentials",
            Self::Discovery => "discovery",
            Self::Cluster => "cluster",
            Self::System => "system",
            Self::Network => "network",
            Self::Tenants => "tenants",
            Self::Addons => "addons",
            Self::Exposure => "exposure",
            Self::Review => "review",
            Self::Plan => "plan",
        }
    }
}

/// Questions that are answered together.
#[derive(Debug)]
pub struct Page {
    /// What it is for.
    pub id: PageId,
    /// Its heading.
    pub title: &'static str,
    /// What to know before one answers.
    pub about: &'static str,
    /// Its questions.
    pub questions: &'static [Question],
    /// Whether it is there although none of its questions is put.
    bare: fn(&Answers) -> bool,
}

impl Page {
    /// Whether there is anything on it.
    pub fn applies(&self, answers: &Answers) -> bool {
        (self.bare)(answers) || self.asked(answers).next().is_some()
    }

    /// The questions that are put.
    pub fn asked<'a>(&'a self, answers: &'a Answers) -> impl Iterator<Item = &'static Question> + 'a {
        self.questions.iter().filter(|question| question.shown(answers) == super::Show::Asked)
    }
}

/// The providers, those that need nothing first.
const PROVIDERS: &[(&str, &str)] = &[
    ("sandbox", "simulated machines on this computer: try it without any hardware"),
    ("local", "one KIND cluster on this computer; needs a container engine"),
    ("harvester", "Harvester HCI"),
    ("nutanix", "Nutanix Prism Central"),
    ("proxmox", "Proxmox VE"),
    ("aws", "Amazon Web Services"),
    ("azure", "Microsoft Azure"),
    ("gcp", "Google Cloud"),
];

static PROVIDER: &[Question] =
    &[question("provider", "Provider", Ask::Choice(PROVIDERS)).note("what is asked next depends on it")];

const fn page(id: PageId, title: &'static str, about: &'static str, questions: &'static [Question]) -> Page {
    Page { id, title, about, questions, bare: |_| false }
}

/// The table.
pub static PAGES: &[Page] = &[
    page(PageId::Provider, "Provider", "Where do the machines come from?", PROVIDER),
    page(
        PageId::Credentials,
        "Credentials",
        "How to sign in. Nothing secret goes into the configuration.",
        provider::CREDENTIALS,
    ),
    Page {
        bare: |answers| answers.on_this_computer(),
        ..page(
            PageId::Discovery,
            "Discovery",
            "What there is, as far as it can be asked.",
            provider::RESOURCES,
        )
    },
    page(PageId::Cluster, "Cluster", "What is it called, and how large is it?", cluster::CLUSTER),
    page(PageId::System, "System", "What runs on the machines.", cluster::SYSTEM),
    page(PageId::Network, "Network", "Addresses of the management cluster.", network::CLUSTER),
    page(PageId::Tenants, "Tenants", "Addresses that Butler gives to tenants.", network::TENANTS),
    page(PageId::Addons, "Addons", "What is installed on it.", addons::ADDONS),
    page(
        PageId::Exposure,
        "Exposure",
        "How API servers of tenants and the console are published.",
        addons::EXPOSURE,
    ),
    Page {
        bare: |_| true,
        ..page(PageId::Review, "Review", "The configuration. It can be changed here.", &[])
    },
    Page {
        bare: |_| true,
        ..page(PageId::Plan, "Plan", "What would be done. Nothing was changed yet.", &[])
    },
];
