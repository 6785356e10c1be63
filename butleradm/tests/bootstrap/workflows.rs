//! The workflows in `examples/ci`: every command of ours in them is one that the programs have, and all of
//! them together make a cluster and remove it.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use butleradm::Cli;
use clap::CommandFactory;
use serde_json::Value;

use super::{LIMIT, Lab};

fn examples() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples"))
}

/// Every command line of a script in a workflow: what stands under `run`, `script` and the like.
fn scripts(value: &Value, found: &mut Vec<String>) {
    const KEYS: &[&str] = &["run", "script", "before_script", "after_script"];
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if KEYS.contains(&name.as_str()) => found.push(text.clone()),
                    Value::Array(lines) if KEYS.contains(&name.as_str()) => {
                        found.extend(lines.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    value => scripts(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| scripts(item, found)),
        _ => {}
    }
}

/// Our commands in a script, as words: variables by the values that the workflow gives them, without what
/// the shell does with streams.
fn commands(script: &str, variables: &Value) -> Vec<Vec<String>> {
    let word = |word: &str| {
        let word = word.trim_matches('"');
        let value = word.strip_prefix('$').and_then(|name| variables.get(name)).and_then(Value::as_str);
        value.unwrap_or(word).to_owned()
    };
    script
        .lines()
        .map(|line| {
            line.split_whitespace().take_while(|word| !word.starts_with(['>', '|'])).map(word).collect()
        })
        .filter(|words: &Vec<String>| words.first().is_some_and(|first| first.starts_with("butler")))
        .collect()
}

fn workflow(name: &str) -> Result<Vec<Vec<String>>> {
    let text = fs::read_to_string(examples().join("ci").join(name))?;
    let workflow: Value = serde_saphyr::from_str(&text).with_context(|| name.to_owned())?;
    let variables = workflow.get("env").or(workflow.get("variables")).context("no variables")?;
    let mut found = Vec::new();
    scripts(&workflow, &mut found);
    let commands: Vec<_> = found.iter().flat_map(|script| commands(script, variables)).collect();
    // A word of ours that no rule here finds would be a command that nobody checks.
    let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let named = code.filter(|line| line.contains("butleradm ") || line.contains("butlerctl ")).count();
    ensure!(named == commands.len(), "{name}: {named} lines name a program, {} were found", commands.len());
    Ok(commands)
}

const WORKFLOWS: [&str; 2] = ["github-actions.yml", "gitlab-ci.yml"];

#[test]
fn every_command_of_the_workflows_is_one_we_have() -> Result<()> {
    for name in WORKFLOWS {
        for words in workflow(name)? {
            ensure!(words[0] == "butleradm", "{name}: {words:?}");
            let read = Cli::command().try_get_matches_from(&words);
            ensure!(
                read.is_ok(),
                "{name}: {}: {}",
                words.join(" "),
                read.err().map(|e| e.to_string()).unwrap_or_default()
            );
        }
    }
    Ok(())
}

#[test]
fn workflows_check_plan_make_and_remove_a_cluster() -> Result<()> {
    for name in WORKFLOWS {
        let commands = workflow(name)?;
        for verb in ["validate", "plan", "run", "status", "logs", "destroy"] {
            ensure!(commands.iter().any(|words| words[1..3] == ["bootstrap", verb]), "{name} has no {verb}");
        }
        // The configuration they name is one of ours.
        for words in &commands {
            if let Some(at) = words.iter().position(|word| word == "--config") {
                let path = examples().join("..").join(&words[at + 1]);
                ensure!(path.exists(), "{name}: {} is not there", path.display());
            }
        }
    }
    Ok(())
}

/// The jobs, in the order in which a pipeline comes to them.
const JOBS: [&str; 3] = ["check", "bootstrap", "destroy"];

/// What a runner would give to the shell: each script of a job on its own.
fn job_scripts(workflow: &Value, job: &str) -> Result<Vec<String>> {
    let job = workflow.pointer(&format!("/jobs/{job}")).or(workflow.get(job)).context("no such job")?;
    if let Some(steps) = job["steps"].as_array() {
        return Ok(steps.iter().filter_map(|step| step["run"].as_str()).map(str::to_owned).collect());
    }
    // What comes after runs in a shell of its own.
    let lines = |key: &str| {
        let lines = job[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        lines.collect::<Vec<_>>().join("\n")
    };
    let scripts = ["script", "after_script"].map(lines);
    Ok(scripts.into_iter().filter(|script| !script.is_empty()).collect())
}

/// A checkout on a runner, with the program on its PATH.
struct Runner {
    lab: Lab,
    checkout: PathBuf,
    variables: BTreeMap<String, String>,
}

impl Runner {
    fn new(workflow: &Value) -> Result<Self> {
        let mut lab = Lab::new()?;
        let checkout = lab.env.work_dir().join("checkout");
        fs::create_dir_all(checkout.join("examples"))?;
        fs::copy(examples().join("sandbox.yaml"), checkout.join("examples/sandbox.yaml"))?;
        let bin = lab.env.work_dir().join("bin");
        fs::create_dir(&bin)?;
        symlink(env!("CARGO_BIN_EXE_butleradm"), bin.join("butleradm"))?;
        let given = workflow.get("env").or(workflow.get("variables")).context("no variables")?;
        let place = checkout.display().to_string();
        let fill =
            |text: &str| text.replace("${{ github.workspace }}", &place).replace("$CI_PROJECT_DIR", &place);
        let given = given.as_object().context("variables")?.iter();
        let mut variables: BTreeMap<String, String> =
            given.filter_map(|(name, value)| Some((name.clone(), fill(value.as_str()?)))).collect();
        lab.home = PathBuf::from(&variables["BUTLER_HOME"]);
        ensure!(lab.home.starts_with(&checkout), "the journal must stay with the checkout");
        variables.insert("GITHUB_STEP_SUMMARY".to_owned(), format!("{place}/summary.md"));
        variables.insert("PATH".to_owned(), format!("{}:/usr/bin:/bin", bin.display()));
        Ok(Self { lab, checkout, variables })
    }

    /// Runs a script as runners do: the first command that fails ends it.
    fn run(&self, script: &str) -> Result<()> {
        let mut shell = self.lab.env.command(Path::new("/bin/bash")).args(["-eo", "pipefail", "-c", script]);
        for (name, value) in &self.variables {
            shell = shell.env(name, value);
        }
        let tools = self.lab.tools();
        let ended = shell.env("BUTLER_TOOLS_DIR", tools).current_dir(&self.checkout).timeout(LIMIT).run()?;
        ended.success().map(drop).with_context(|| script.to_owned())
    }
}

#[test]
fn the_commands_of_each_workflow_make_a_cluster_and_remove_it() -> Result<()> {
    for name in WORKFLOWS {
        let text = fs::read_to_string(examples().join("ci").join(name))?;
        let workflow: Value = serde_saphyr::from_str(&text)?;
        let runner = Runner::new(&workflow)?;
        let mut count = 0;
        for job in JOBS {
            for script in job_scripts(&workflow, job)? {
                runner.run(&script).with_context(|| format!("{name}, job {job}"))?;
                count += commands(&script, &Value::Null).len();
            }
            let cluster = runner.lab.status("sandbox");
            match job {
                "check" => ensure!(cluster.is_err(), "a check begins nothing"),
                "bootstrap" => ensure!(cluster?["stage"] == "Succeeded"),
                _ => ensure!(cluster?["stage"] == "Destroyed"),
            }
        }
        ensure!(count == self::workflow(name)?.len(), "{name}: {count} commands were run");
        let events = fs::read_to_string(runner.checkout.join("events.ndjson"))?;
        let last: Value = serde_json::from_str(events.lines().last().context("events")?)?;
        ensure!(last["outcome"]["result"] == "Succeeded", "{last}");
        let summary = fs::read_to_string(runner.checkout.join("summary.md"));
        ensure!(!name.contains("github") || summary?.contains("cluster sandbox:"), "no summary");
        runner.lab.nothing_left("sandbox")?;
    }
    Ok(())
}
