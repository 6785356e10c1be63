//! `status`: the platform at a glance.

use std::fmt;

use butler_core::{
    api,
    error::Code,
    platform::{Level, Survey, status::StatusReport},
};
use butler_term::{
    CommandError, CommandResult,
    args::{ConnectArgs, OutputArgs},
    output::{Cell, Format, Render, Table, View},
    run::Session,
    theme,
};
use clap::Args;
use serde::Serialize;

use super::doctor::level;

/// Tenant clusters listed one by one before the rest is only counted.
const LISTED: usize = 20;

/// Show the components, providers and tenant clusters of the platform
///
/// Ends with status 1 when a component that the platform needs is missing or has nothing ready.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlatformStatus {
    api_version: &'static str,
    kind: &'static str,
    server: String,
    identity: String,
    #[serde(flatten)]
    report: StatusReport,
    #[serde(skip)]
    wide: bool,
}

/// Runs the command.
pub(crate) fn run(args: &StatusArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    let status = session.block_on(async {
        let connection = session.connect(&args.connect).await?;
        let _waiting = session.ui.spinner("asking the management cluster");
        Ok(PlatformStatus {
            api_version: api::API_VERSION,
            kind: "PlatformStatus",
            report: StatusReport::new(Survey::take(&connection.client).await)?,
            identity: connection.source.to_string(),
            server: connection.server,
            wide: format == Format::Wide,
        })
    })?;
    match format {
        Format::Table | Format::Wide => session.ui.data(&status.to_string())?,
        _ => session.ui.render(&status, &format)?,
    }
    match status.report.failed() {
        0 => Ok(()),
        failed => Err(CommandError::new(Code::CheckFailed, format!("{failed} components do not work"))
            .hint("butleradm doctor")),
    }
}

impl fmt::Display for PlatformStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heading = theme::HEADING;
        writeln!(f, "{heading}Management cluster{heading:#}")?;
        writeln!(f, "  Server      {}", self.server)?;
        writeln!(f, "  Kubernetes  {}", self.report.kubernetes_version)?;
        writeln!(f, "  Identity    {}", self.identity)?;
        for section in &self.report.sections {
            writeln!(f, "\n{heading}{}{heading:#}", section.title)?;
            for component in &section.components {
                let (word, style) = level(component.level);
                let detail = match (component.ready, component.desired) {
                    (Some(ready), Some(desired)) => format!("{ready}/{desired} ready"),
                    _ if component.level == Level::Skip => "not part of a sandbox".to_owned(),
                    _ => format!("not found in {}", component.namespace),
                };
                writeln!(f, "  {style}{word}{style:#}  {:24}  {detail}", component.name)?;
            }
        }
        writeln!(f, "\n{heading}Providers{heading:#}")?;
        if self.report.providers.is_empty() {
            writeln!(f, "  none")?;
        }
        for provider in &self.report.providers {
            let (word, style) = if provider.validated {
                ("valid", theme::SUCCESS)
            } else {
                ("not validated", theme::WARNING)
            };
            let endpoint = provider.endpoint.as_deref().unwrap_or("-");
            let name = format!("{}/{}", provider.namespace, provider.name);
            writeln!(f, "  {name:32}  {:10}  {style}{word:13}{style:#}  {endpoint}", provider.provider)?;
        }
        self.tenants(f)
    }
}

impl PlatformStatus {
    /// Counts, then the clusters that are not ready; all of them with `-o wide`.
    fn tenants(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heading = theme::HEADING;
        let tenants = &self.report.tenants;
        writeln!(f, "\n{heading}Tenant clusters{heading:#}")?;
        if tenants.clusters.is_empty() {
            return writeln!(f, "  none");
        }
        let counts: Vec<String> =
            tenants.phases.iter().map(|(phase, count)| format!("{count} {phase}")).collect();
        writeln!(f, "  {} in all: {}", tenants.clusters.len(), counts.join(", "))?;
        let few = tenants.clusters.len() <= LISTED;
        let shown: Vec<_> =
            tenants.clusters.iter().filter(|tenant| self.wide || few || tenant.phase != "Ready").collect();
        let most = if self.wide { shown.len() } else { LISTED };
        for tenant in shown.iter().take(most) {
            let style = theme::phase(&tenant.phase);
            let name = format!("{}/{}", tenant.namespace, tenant.name);
            writeln!(f, "  {name:40}  {style}{}{style:#}", tenant.phase)?;
        }
        if shown.len() > most {
            writeln!(f, "  and {} more: -o wide lists all", shown.len() - most)?;
        }
        Ok(())
    }
}

impl Render for PlatformStatus {
    fn table(&self, _: &View) -> Table {
        let mut table = Table::new(["result", "component", "namespace"]);
        for component in self.report.sections.iter().flat_map(|section| &section.components) {
            let (word, style) = level(component.level);
            table.push([Cell::styled(word, style), component.name.into(), component.namespace.into()]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        let components = self.report.sections.iter().flat_map(|section| &section.components);
        components.map(|component| component.name.to_owned()).collect()
    }
}
