//! What does not pass by itself ends the run at once; when it was mended, `resume` goes on.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::lab::{Lab, Row, table};

#[test]
fn what_does_not_pass_ends_the_run_at_once_and_resume_goes_on_when_it_is_mended() -> Result<()> {
    let lab = Lab::new("strict")?;
    let config = lab.config("")?;
    let mut rows = Vec::new();

    // Before anything is made: a provider that fails is asked again, with pauses.
    lab.host(&["fails=an error inside", "only=list"])?;
    let mut run = lab.start(&["--config", &config])?;
    let (diagnosis, stall) = run.stalled("BTL-1603")?;
    ensure!(stall["what"].to_string().contains("an error inside"), "{stall}");
    ensure!(lab.status()?["stall"]["code"] == "BTL-1603", "{}", lab.status()?);
    let calls = lab.calls("list");
    ensure!((2..=6).contains(&calls), "{calls} calls");
    lab.host(&["credentialsExpired=true", "only=create"])?;
    let cleared = Instant::now();
    run.moving()?;
    let row = Row {
        fault: "provider answers 500",
        class: "retry",
        code: "BTL-1603".into(),
        diagnosis,
        calls: Some(calls),
        success: cleared.elapsed(),
    };
    rows.push(row);

    // Then three that somebody has to mend: each run ends at its first try.
    let mut begun = Instant::now();
    let mut ended = run.ends_with(4)?;
    for (fault, code, words, next) in [
        (
            "provider: credentials expired",
            "BTL-1605",
            "expired",
            Some("quotaExceeded=8 of 8 machines are used"),
        ),
        ("provider: quota", "BTL-1604", "8 of 8 machines", None),
    ] {
        let diagnosis = begun.elapsed();
        ensure!(ended["outcome"]["code"] == code && ended.to_string().contains(words), "{ended}");
        let calls = lab.calls("create");
        let (at_most, resumed) = match next {
            Some(next) => {
                lab.host(&[next])?;
                (1, lab.start(&["resume", lab.cluster])?)
            }
            None => {
                // The next one is the node's: it refuses its configuration.
                lab.host(&[])?;
                lab.machine(&["refusesConfig=the disk is too small"])?;
                (2, lab.start(&["resume", lab.cluster])?)
            }
        };
        ensure!(calls <= at_most, "{calls} calls");
        begun = Instant::now();
        ended = resumed.ends_with(4)?;
        rows.push(Row {
            fault,
            class: "stop",
            code: code.into(),
            diagnosis,
            calls: Some(calls),
            success: Duration::ZERO,
        });
    }
    ensure!(ended["outcome"]["code"] == "BTL-1505", "{ended}");
    ensure!(ended.to_string().contains("the disk is too small"), "{ended}");
    let explained = lab.adm(&["explain", "BTL-1505"]).run()?.success()?;
    ensure!(explained.stdout.contains("Permanent"), "{explained}");
    let diagnosis = begun.elapsed();
    lab.machine(&[])?;
    let cleared = Instant::now();
    let _ready = lab.start(&["resume", lab.cluster])?.ends_with(0)?;
    let success = cleared.elapsed();
    rows.push(Row {
        fault: "Talos refuses the configuration",
        class: "stop",
        code: "BTL-1505".into(),
        diagnosis,
        calls: None,
        success,
    });
    // The runs above ended with the next fault; what mended them is the same resume.
    rows.iter_mut().filter(|row| row.success.is_zero()).for_each(|row| row.success = success);
    ensure!(lab.calls("create") == 3, "{} calls", lab.calls("create"));
    lab.made_once()?;
    lab.destroy()?;
    println!("{}", table(&rows));
    Ok(())
}
