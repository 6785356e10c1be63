//! See the library.

fn main() -> std::process::ExitCode {
    butler_term::run::main::<butleradm::Cli>()
}
