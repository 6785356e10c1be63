//! Files in the repository that a program makes itself.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use butler_core::settings::Environment;

/// Compares the files of a program in `dir` with what it makes now, as pairs of name and content. With
/// `BUTLER_UPDATE_DOCS` in the environment (`make docs`) they are written instead.
pub fn check(dir: &Path, program: &str, made: &[(String, String)]) -> Result<()> {
    let update = Environment::capture().has("BUTLER_UPDATE_DOCS");
    if update {
        fs::create_dir_all(dir)?;
    }
    let mut wrong = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let ours = name.trim_start_matches('_').starts_with(program);
        if ours && !made.iter().any(|(made, _)| *made == name) {
            if update {
                fs::remove_file(dir.join(&name))?;
            }
            wrong.push(format!("{name} is no longer made"));
        }
    }
    for (name, content) in made {
        if fs::read_to_string(dir.join(name)).ok().as_ref() != Some(content) {
            if update {
                fs::write(dir.join(name), content)?;
            }
            wrong.push(format!("{name} differs"));
        }
    }
    ensure!(
        update || wrong.is_empty(),
        "run `make docs` and commit {}:\n{}",
        dir.display(),
        wrong.join("\n")
    );
    Ok(())
}
