//! What the wizard does outside: drafts, secrets, the configuration, questions to a provider, the plan.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use butler_core::{
    bootstrap::wizard::{
        Answers, Survey,
        keep::{DraftError, Drafts, keep_secret},
    },
    error::Code,
    settings::{Home, env, home::write_private},
};
use futures::future::BoxFuture;
use tokio::process::Command;

use super::{Means, program};
use crate::{
    dashboard::{
        News, Origin, WizardDo,
        tabs::{TabNews, WizardNews},
    },
    tui::{Fault, Mail},
};

/// Asks the provider of some answers what it has. The program that opens the wizard knows how.
pub type Scout = Arc<dyn Fn(Answers) -> BoxFuture<'static, Result<Survey, Fault>> + Send + Sync>;

/// Does what the wizard wants, and tells what became of it.
pub(super) async fn work(effect: WizardDo, means: Arc<Means>, mail: Mail<News>) {
    let news = match effect {
        WizardDo::Begin(origin) => Some(begin(origin, &means)),
        WizardDo::Survey { ticket, answers } => {
            Some(WizardNews::Surveyed(ticket, survey(answers, &means).await))
        }
        WizardDo::Keep { key, answers, secret } => {
            let kept = home(&means).and_then(|home| {
                keep_secret(&home, &answers, key, &secret).map_err(|error| Fault::from(&error))
            });
            Some(WizardNews::Kept(key, kept))
        }
        WizardDo::Save(draft) => drafts(&means)
            .and_then(|drafts| drafts.save(&draft).map_err(|error| Fault::from(&error)))
            .err()
            .map(WizardNews::Failed),
        WizardDo::Forget => {
            if let Ok(drafts) = drafts(&means) {
                drafts.remove();
            }
            None
        }
        WizardDo::Plan { ticket, path, text, replace } => {
            Some(plan(ticket, path, &text, replace, &means).await)
        }
        WizardDo::Leave(draft) => Some(WizardNews::Left(drafts(&means).and_then(|drafts| match &draft {
            Some(draft) => drafts.save(draft).map(Some).map_err(|error| Fault::from(&error)),
            None => {
                drafts.remove();
                Ok(None)
            }
        }))),
    };
    if let Some(news) = news {
        mail.send(News::Tab(TabNews::Wizard(news))).await;
    }
}

fn home(means: &Means) -> Result<Home, Fault> {
    Home::resolve(&means.environment).map_err(|error| Fault::from(&error))
}

fn drafts(means: &Means) -> Result<Drafts, Fault> {
    home(means).map(|home| Drafts::new(&home))
}

fn begin(origin: Origin, means: &Means) -> WizardNews {
    let draft = match (origin, drafts(means).map(|drafts| drafts.load())) {
        (Origin::Fresh, _) => None,
        (_, Ok(Ok(draft))) => Some(draft),
        (Origin::Ask, Ok(Err(DraftError::None { .. })) | Err(_)) => None,
        (_, Ok(Err(error))) => return WizardNews::Failed(Fault::from(&error)),
        (_, Err(fault)) => return WizardNews::Failed(fault),
    };
    WizardNews::Begin {
        directory: std::env::current_dir().unwrap_or_default(),
        home: means.environment.path(env::HOME),
        draft,
        ask: origin == Origin::Ask,
    }
}

async fn survey(answers: Answers, means: &Means) -> Result<Survey, Fault> {
    match &means.scout {
        Some(scout) => scout(answers).await,
        None => Ok(Survey::default()),
    }
}

/// Saves the configuration and lets this program make the plan, as a person would.
async fn plan(ticket: u64, path: PathBuf, text: &str, replace: bool, means: &Means) -> WizardNews {
    let other = std::fs::read_to_string(&path).is_ok_and(|there| there != text);
    if other && !replace {
        return WizardNews::Taken(path);
    }
    if let Err(error) = write_private(&path, text.as_bytes()) {
        return WizardNews::Planned(ticket, Err(Fault::from(&error)));
    }
    let planned = match run_plan(&means.program, &path).await {
        Ok((true, said, _)) => Ok(said),
        Ok((false, _, trouble)) => {
            let lines: Vec<String> = trouble.lines().map(str::to_owned).collect();
            Err(program::fault(&lines))
        }
        Err(error) => Err(Fault {
            code: Code::ProcessFailed.to_string(),
            message: format!("cannot start this program again: {error}"),
            hints: Vec::new(),
        }),
    };
    WizardNews::Planned(ticket, planned)
}

/// Whether it went well, what it said, and what it complained about.
async fn run_plan(program: &Path, config: &Path) -> io::Result<(bool, String, String)> {
    let mut command = Command::new(program);
    command.args(["--color", "never", "bootstrap", "plan", "-o", "table", "--config"]).arg(config);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.success(), text(&output.stdout), text(&output.stderr)))
}
