//! `explain CODE`: the page of an error code, from the program itself.

use butler_core::error::Code;
use clap::Args;
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    CommandResult,
    args::OutputArgs,
    complete,
    output::{Render, Table, View},
    run::Session,
    theme,
};

/// The longest line of a page.
const MEASURE: usize = 78;

/// Explain an error code, or list all of them
///
/// Works without a network. Codes are stable: a number never changes its meaning.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// Code to explain, such as BTL-1001
    #[arg(add = complete::codes())]
    code: Option<String>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub fn run(args: &ExplainArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    match &args.code {
        Some(code) => session.ui.render(&Page(code.parse()?), &format),
        None => session.ui.render(&Pages, &format),
    }
}

fn page(code: Code, width: usize) -> String {
    let page = code.page();
    let (heading, dim) = (theme::HEADING, theme::DIM);
    let mut out = format!("{heading}{code}{heading:#}  {}\n\n{}\n", page.title, wrap(page.text, width));
    let (class, exit) = (code.kind(), code.kind().exit_code());
    out += &format!("\n{}\n", wrap(page.outlook.text(), width));
    out += &format!("{dim}Class {class:?}, exit status {exit}.{dim:#}\n");
    for (name, lines) in [("Evidence", page.evidence), ("Next", page.next)] {
        out += &format!("\n{heading}{name}{heading:#}\n");
        lines.iter().for_each(|line| out += &format!("  {line}\n"));
    }
    out
}

fn wrap(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += word.len();
    }
    out
}

/// All codes. `-o json` prints a list of pages.
struct Pages;

impl Render for Pages {
    fn table(&self, _: &View) -> Table {
        let mut table = Table::new(["code", "exit", "meaning"]);
        for code in Code::ALL {
            let exit = code.kind().exit_code().to_string();
            table.push([code.to_string().into(), exit.into(), code.page().title.into()]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        Code::ALL.iter().map(Code::to_string).collect()
    }
}

impl Serialize for Pages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(Code::ALL.iter().map(|code| Page(*code)))
    }
}

/// One code.
struct Page(Code);

impl Render for Page {
    fn text(&self, view: &View) -> String {
        page(self.0, view.width.unwrap_or(MEASURE).min(MEASURE))
    }

    fn names(&self) -> Vec<String> {
        vec![self.0.to_string()]
    }
}

impl Serialize for Page {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (code, page) = (self.0, self.0.page());
        let mut map = serializer.serialize_map(Some(8))?;
        map.serialize_entry("code", &code.to_string())?;
        map.serialize_entry("class", &code.kind())?;
        map.serialize_entry("exitCode", &code.kind().exit_code())?;
        map.serialize_entry("title", page.title)?;
        map.serialize_entry("text", page.text)?;
        map.serialize_entry("outlook", &page.outlook)?;
        map.serialize_entry("evidence", page.evidence)?;
        map.serialize_entry("next", page.next)?;
        map.end()
    }
}
