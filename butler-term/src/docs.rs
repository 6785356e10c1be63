//! Completion scripts and manual pages, made from the command line itself and from the error codes. What the commands print,
//! what is committed in `completions/` and `man/`, and what the test compares come from here.

use std::io;

use butler_core::{error::Code, settings::env};
use clap::{Command, ValueEnum};
use clap_complete::env::Shells;
use clap_mangen::Man;

/// A shell that `completion` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash 4 or newer
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
    /// PowerShell
    #[value(name = "powershell")]
    PowerShell,
    /// Nushell; knows commands and flags, but no live names
    Nushell,
    /// Elvish
    Elvish,
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, as packages install it.
    pub name: String,
    /// Its content.
    pub content: String,
}

/// The completion script of a program. It calls the program by its bare name, so that it is the same
/// on every machine.
pub fn script(command: &Command, shell: Shell) -> io::Result<File> {
    let program = command.get_name().to_owned();
    let (engine, name) = match shell {
        Shell::Bash => ("bash", format!("{program}.bash")),
        Shell::Zsh => ("zsh", format!("_{program}")),
        Shell::Fish => ("fish", format!("{program}.fish")),
        Shell::PowerShell => ("powershell", format!("{program}.ps1")),
        Shell::Elvish => ("elvish", format!("{program}.elv")),
        Shell::Nushell => ("", format!("{program}.nu")),
    };
    let mut content = Vec::new();
    match Shells::builtins().completer(engine) {
        Some(engine) => {
            engine.write_registration(env::BUTLER_COMPLETE, &program, &program, &program, &mut content)?;
            if shell == Shell::Zsh {
                content.extend(first_answer(&program).bytes());
            }
        }
        None => {
            let mut command = command.clone();
            clap_complete::generate(clap_complete_nushell::Nushell, &mut command, &program, &mut content);
        }
    }
    text(name, &content)
}

/// A file in zsh's fpath is the body of the function that zsh calls: the first call must not only define
/// the completer but answer with it. Sourced, the file is no function's body.
fn first_answer(program: &str) -> String {
    format!("\n[[ $funcstack[1] == _{program} ]] && _clap_dynamic_completer_{program}\nreturn 0\n")
}

/// The completion scripts of a program for all shells.
pub fn scripts(command: &Command) -> io::Result<Vec<File>> {
    Shell::value_variants().iter().map(|shell| script(command, *shell)).collect()
}

/// The manual pages of a program: one for itself, first, one for each command that help shows, and the one
/// of all error codes.
pub fn manual(command: Command) -> io::Result<Vec<File>> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    page(command, &mut pages)?;
    pages.push(errors());
    Ok(pages)
}

/// `butler-errors(7)`: the pages of `explain`, for who has the manual but not the program.
fn errors() -> File {
    let mut out = String::from(
        ".TH BUTLER\\-ERRORS 7 \"\" \"Butler\" \"Butler\"\n.SH NAME\nbutler\\-errors \\- error codes of butleradm \
         and butlerctl\n.SH DESCRIPTION\n",
    );
    out += &roff(
        "Every failure names a code. A code is stable: a number never changes its meaning. The same pages are \
         printed by `butleradm explain CODE`, without a network.",
    );
    out += ".SH CODES\n";
    for code in Code::ALL {
        let (page, exit) = (code.page(), code.kind().exit_code());
        out += &format!(".SS \"{}\"\n", roff(&format!("{code}: {}", page.title)).trim_end());
        out += &roff(page.text);
        out += ".PP\n";
        out += &roff(page.outlook.text());
        out += &roff(&format!("Class {:?}, exit status {exit}.", code.kind()));
        for (name, lines) in [("Evidence:", page.evidence), ("Next:", page.next)] {
            out += &format!(".PP\n{name}\n");
            for line in lines {
                out += ".IP \\(bu 2\n";
                out += &roff(line);
            }
        }
    }
    out += ".SH SEE ALSO\n.BR butleradm (1),\n.BR butleradm\\-explain (1),\n.BR butlerctl (1)\n";
    File { name: "butler-errors.7".to_owned(), content: out }
}

/// A line of text, as roff reads it.
fn roff(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => out += "\\e",
            '-' => out += "\\-",
            '\'' => out += "\\(aq",
            '"' => out += "\\(dq",
            '`' => out += "\\(ga",
            '~' => out += "\\(ti",
            '^' => out += "\\(ha",
            letter if letter.is_ascii() => out.push(letter),
            letter => out += &format!("\\[u{:04X}]", u32::from(letter)),
        }
    }
    // A line that begins with a dot would be a command.
    let guard = if out.starts_with('.') { "\\&" } else { "" };
    format!("{guard}{out}\n")
}

fn page(command: Command, pages: &mut Vec<File>) -> io::Result<()> {
    let inner: Vec<Command> = command.get_subcommands().filter(|c| !c.is_hide_set()).cloned().collect();
    let man = Man::new(command);
    let mut content = Vec::new();
    man.render(&mut content)?;
    pages.push(text(man.get_filename(), &content)?);
    inner.into_iter().try_for_each(|command| page(command, pages))
}

fn text(name: String, content: &[u8]) -> io::Result<File> {
    let content = String::from_utf8(content.to_vec()).map_err(io::Error::other)?;
    // One line break at the end, none before the first line: the files live in a repository.
    Ok(File { name, content: format!("{}\n", content.trim_matches('\n').trim_end()) })
}
