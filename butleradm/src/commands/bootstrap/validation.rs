//! What `bootstrap validate` says.

use butler_core::bootstrap::config::{Loaded, Problem, Severity};
use butler_term::{
    output::{Render, View, one_line},
    theme,
};
use serde::Serialize;

/// What `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    api_version: &'static str,
    kind: &'static str,
    /// The file.
    pub(super) file: String,
    /// Whether it can be used.
    pub(super) valid: bool,
    /// How many of the problems are errors.
    pub(super) errors: usize,
    /// How many are warnings.
    warnings: usize,
    /// Errors and warnings in the order of the file.
    problems: Vec<Problem>,
    /// What the file asks for; only when it can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
}

/// What a file asks for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    cluster: String,
    provider: String,
    topology: String,
    control_planes: u32,
    workers: u32,
    talos_version: String,
    kubernetes_version: String,
    runtime: &'static str,
}

impl Report {
    /// Counts; with `strict`, warnings are errors.
    pub(super) fn new(
        file: String,
        loaded: Option<&Loaded>,
        mut problems: Vec<Problem>,
        strict: bool,
    ) -> Self {
        if strict {
            problems.iter_mut().for_each(|problem| problem.severity = Severity::Error);
        }
        let errors = problems.iter().filter(|problem| problem.is_error()).count();
        Self {
            api_version: "butler.butlerlabs.dev/v1alpha1",
            kind: "BootstrapValidation",
            file,
            valid: errors == 0,
            errors,
            warnings: problems.len() - errors,
            problems,
            summary: loaded.filter(|_| errors == 0).map(Summary::of),
        }
    }
}

impl Summary {
    fn of(loaded: &Loaded) -> Self {
        let config = &loaded.config;
        let (control_planes, workers) = config.machines();
        Self {
            cluster: config.cluster.name.clone(),
            provider: config.provider_kind().to_string(),
            topology: config.cluster.topology.to_string(),
            control_planes,
            workers,
            talos_version: format!("v{}", config.talos.version),
            kubernetes_version: format!("v{}", config.talos.kubernetes_version),
            runtime: config.bootstrap_cluster.runtime.as_str(),
        }
    }
}

impl Render for Report {
    fn text(&self, _: &View) -> String {
        let mut out: String = self.problems.iter().map(|problem| page(problem, &self.file)).collect();
        if let Some(summary) = &self.summary {
            let heading = theme::HEADING;
            let plural = if summary.control_planes == 1 { "" } else { "s" };
            let workers = if summary.workers == 1 { "" } else { "s" };
            out += &format!(
                "{heading}{} is valid{heading:#}\n\
                 Cluster:   {} ({})\n\
                 Provider:  {}\n\
                 Machines:  {} control plane{plural}, {} worker{workers}\n\
                 Versions:  Talos {}, Kubernetes {}\n\
                 Runtime:   {}\n",
                self.file,
                summary.cluster,
                summary.topology,
                summary.provider,
                summary.control_planes,
                summary.workers,
                summary.talos_version,
                summary.kubernetes_version,
                summary.runtime,
            );
        }
        out
    }

    fn names(&self) -> Vec<String> {
        self.problems.iter().map(|problem| problem.located(&self.file)).collect()
    }
}

/// A problem for people: place and message, the line with the place marked, the way out.
fn page(problem: &Problem, file: &str) -> String {
    let (style, word) = match problem.severity {
        Severity::Error => (theme::ERROR, "error"),
        Severity::Warning => (theme::WARNING, "warning"),
    };
    let message = one_line(&problem.message);
    let mut out = format!("{file}:{}:{}: {style}{word}{style:#}: {message}\n", problem.line, problem.column);
    if let Some(excerpt) = &problem.excerpt {
        let number = problem.line.to_string();
        let margin = " ".repeat(number.len());
        let (before, carets) = (" ".repeat(excerpt.before), "^".repeat(excerpt.width));
        out +=
            &format!("{number} | {}\n{margin} | {before}{style}{carets}{style:#}\n", one_line(&excerpt.line));
    }
    if let Some(suggestion) = &problem.suggestion {
        let hint = theme::HINT;
        out += &format!("  {hint}hint{hint:#}: {}\n", one_line(suggestion));
    }
    out + "\n"
}
