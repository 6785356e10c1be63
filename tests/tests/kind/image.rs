//! An image of `butleradm` without any registry: the program, the libraries it needs, and nothing else.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{Engine, said};

impl Engine {
    /// Makes the image from a program of this computer.
    pub(super) fn make_image(&self, program: &Path, name: &str) -> Result<()> {
        let mut archive = tar::Builder::new(Vec::new());
        let mut add = |from: &Path, to: &Path| -> Result<()> {
            let content = std::fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len().try_into()?);
            header.set_mode(0o755);
            archive.append_data(&mut header, to.strip_prefix("/")?, content.as_slice())?;
            Ok(())
        };
        add(program, Path::new("/butleradm"))?;
        for library in libraries(program)? {
            add(&library, &library)?;
        }
        let mut import = Command::new("docker")
            .args([
                "import",
                "--change",
                r#"ENTRYPOINT ["/butleradm"]"#,
                "--change",
                "USER 65532:65532",
                "-",
                name,
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        import.stdin.take().context("its input")?.write_all(&archive.into_inner()?)?;
        ensure!(import.wait()?.success(), "the image was not imported");
        Ok(())
    }
}

/// What the program is linked to: `name => /path (address)`, and the loader, which stands alone.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let list = said(Command::new("ldd").arg(program))?;
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    Ok(list.lines().filter_map(path).collect())
}
