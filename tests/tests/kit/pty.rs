use anyhow::Result;
use butler_tests::{Env, Signal};

use crate::LIMIT;

#[test]
fn a_program_in_a_terminal_is_seen_typed_to_and_resized() -> Result<()> {
    let env = Env::new()?;
    let script = r#"stty size; read word; echo "got $word"; read word; stty size; exit 4"#;
    let mut pty = env.command("sh").args(["-c", script]).pty(80, 24)?;
    pty.wait_for("24 80", LIMIT)?;
    pty.send("tea\r")?;
    pty.wait_for("got tea", LIMIT)?;
    pty.resize(20, 10)?;
    pty.send("\r")?;
    pty.wait_for("10 20", LIMIT)?;
    assert_eq!(pty.wait(LIMIT)?.exit_code(), 4);
    assert!(pty.screen().starts_with("24 80\n"), "{}", pty.screen());
    Ok(())
}

#[test]
fn a_program_in_a_terminal_can_be_signalled() -> Result<()> {
    let env = Env::new()?;
    let mut pty = env.command("sh").args(["-c", "echo up; exec sleep 1000"]).pty(80, 24)?;
    pty.wait_for("up", LIMIT)?;
    let missing = pty.wait_for("down", std::time::Duration::from_millis(10)).expect_err("not there");
    assert!(missing.to_string().ends_with("the screen is\nup"), "{missing}");
    pty.signal(Signal::TERM)?;
    assert!(!pty.wait(LIMIT)?.success());
    Ok(())
}
