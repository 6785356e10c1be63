//! How long the frames of a large platform take: `frames CLUSTERS SECONDS` updates a hundred of that many
//! clusters a second and prints, as JSON, what an update with its frame took and the memory in use.
//! `make bench` runs it, built for release.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use butler_core::{
    live::Seen,
    tenant::{Summary, Workers},
};
use butler_term::{
    dashboard::{Dashboard, News, keys::TABLE, tabs::clusters::Clusters},
    tui::{App, Event, KeyCode, KeyEvent, KeyModifiers, Keymap, Msg, Theme, theme::Palette},
};
use jiff::Timestamp;
use ratatui::{Terminal, backend::TestBackend};

/// Time between two updates.
const EVERY: Duration = Duration::from_millis(10);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let clusters: usize = args.next().ok_or("how many clusters?")?.parse()?;
    let seconds: u64 = args.next().ok_or("for how many seconds?")?.parse()?;
    let keymap = Keymap::new(TABLE, &[], false)?;
    let mut dashboard =
        Dashboard::new(vec![Box::new(Clusters::new())], 2, keymap, Theme::new(Palette::Dark), true);
    dashboard.update(Msg::Tick(Timestamp::now()));
    let mut terminal = Terminal::new(TestBackend::new(200, 60))?;
    let all = (0..clusters).map(|index| row(index, "Ready")).chain([Seen::Complete]).collect();
    dashboard.update(Msg::App(News::Tenants(all)));
    // Sorted by phase: the order changes with each update.
    for key in ['s', 's', 'j'] {
        press(&mut dashboard, KeyCode::Char(key));
    }
    let phases = ["Ready", "Provisioning", "Updating", "Failed"];
    let (mut frames, mut keys) = (Vec::new(), Vec::new());
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut turn = 0;
    while Instant::now() < end {
        turn += 1;
        let start = Instant::now();
        let news = row(turn * 7919 % clusters, phases[turn % phases.len()]);
        dashboard.update(Msg::App(News::Tenants(vec![news])));
        dashboard.settle();
        terminal.draw(|frame| dashboard.view(frame))?;
        frames.push(start.elapsed());
        if turn % 10 == 0 {
            let start = Instant::now();
            press(&mut dashboard, KeyCode::Down);
            dashboard.settle();
            terminal.draw(|frame| dashboard.view(frame))?;
            keys.push(start.elapsed());
        }
        std::thread::sleep(EVERY.saturating_sub(start.elapsed()));
    }
    let figures = serde_json::json!({
        "frameP99Micros": p99(frames), "keyP99Micros": p99(keys), "memoryKiB": memory()?,
    });
    writeln!(std::io::stdout(), "{figures}")?;
    Ok(())
}

fn row(index: usize, phase: &str) -> Seen<Summary> {
    let row = Summary {
        name: format!("cluster-{index:05}"),
        namespace: format!("team-{:03}", index % 200),
        phase: Some(phase.to_owned()),
        version: Some("v1.34.4".to_owned()),
        workers: Workers { desired: 3, ready: 3 },
        endpoint: Some("10.0.0.5:6443".to_owned()),
        provider: Some("harvester".to_owned()),
        created: Some(Timestamp::UNIX_EPOCH),
        ..Summary::default()
    };
    Seen::There(format!("{}/{}", row.namespace, row.name), row)
}

fn press(dashboard: &mut Dashboard, code: KeyCode) {
    dashboard.update(Msg::Input(Event::Key(KeyEvent::new(code, KeyModifiers::NONE))));
}

fn p99(mut times: Vec<Duration>) -> u128 {
    times.sort();
    times.get(times.len() * 99 / 100).map_or(0, Duration::as_micros)
}

fn memory() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak")?;
    Ok(peak.trim().trim_end_matches("kB").trim().parse()?)
}
