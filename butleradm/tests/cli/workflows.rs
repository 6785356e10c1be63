//! The workflows in `examples/ci`: every command of ours in them is one that the programs have.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use butleradm::Cli;
use clap::CommandFactory;
use serde_json::Value;

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
