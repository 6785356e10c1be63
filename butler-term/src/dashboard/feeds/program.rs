//! This program again, as a process that outlives the screen: a run that is begun, resumed, stopped or
//! removed.

use std::{path::PathBuf, process::Stdio};

use butler_core::error::Code;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use crate::{
    dashboard::{News, tabs::TabNews},
    tui::{Fault, Mail},
};

/// Lines of its talk that are kept for a message.
const KEPT: usize = 40;

/// Starts it and tells how it ends. It has a group of its own: keys and signals of this terminal do not
/// reach it, and neither does our end.
pub(super) async fn start(program: PathBuf, what: String, args: Vec<String>, mail: Mail<News>) {
    let child = Command::new(program)
        .args(&args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            let fault = Fault {
                code: Code::ProcessFailed.to_string(),
                message: format!("cannot start this program again: {error}"),
                hints: Vec::new(),
            };
            mail.send(News::Tab(TabNews::Stopped { pid: None, what, result: Err(fault) })).await;
            return;
        }
    };
    let pid = child.id();
    if let Some(pid) = pid {
        mail.send(News::Tab(TabNews::Started { pid })).await;
    }
    let mut said: Vec<String> = Vec::new();
    if let Some(talk) = child.stderr.take() {
        let mut lines = BufReader::new(talk).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if said.len() == KEPT {
                said.remove(0);
            }
            said.push(line);
        }
    }
    let result = match child.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(fault(&said)),
        Err(error) => Err(Fault {
            code: Code::ProcessFailed.to_string(),
            message: error.to_string(),
            hints: Vec::new(),
        }),
    };
    let stopped = TabNews::Stopped { pid, what: what.clone(), result: result.clone() };
    mail.send(News::Tab(stopped)).await;
    mail.send(News::Said { what, result }).await;
}

/// What a program of ours said of its failure: `error[BTL-nnnn]: message`, causes, hints.
pub(super) fn fault(said: &[String]) -> Fault {
    let at = said.iter().rposition(|line| line.starts_with("error["));
    let mut fault = Fault {
        code: Code::ProcessFailed.to_string(),
        message: said.last().cloned().unwrap_or_else(|| "it said nothing".to_owned()),
        hints: Vec::new(),
    };
    let Some(at) = at else { return fault };
    if let Some((code, message)) = said[at].strip_prefix("error[").and_then(|rest| rest.split_once("]: ")) {
        (fault.code, fault.message) = (code.to_owned(), message.to_owned());
    }
    for line in &said[at + 1..] {
        match line.strip_prefix("hint: ") {
            Some(hint) => fault.hints.push(hint.to_owned()),
            None if !line.trim().is_empty() => fault.message += &format!("; {}", line.trim()),
            None => {}
        }
    }
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_failure_are_understood() {
        let said = ["working", "error[BTL-2003]: cannot go on", "  1: busy", "", "hint: try later"];
        let said: Vec<String> = said.map(str::to_owned).to_vec();
        let found = fault(&said);
        assert_eq!((found.code.as_str(), found.message.as_str()), ("BTL-2003", "cannot go on; 1: busy"));
        assert_eq!(found.hints, ["try later"]);
        assert_eq!(fault(&["oops".to_owned()]).message, "oops");
    }
}
