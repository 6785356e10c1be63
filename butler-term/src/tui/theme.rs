//! Colours by meaning. Nothing is said by a colour alone: every state has a mark and a word too.

use butler_core::settings::{Environment, env};
use ratatui::style::{Color, Modifier, Style};

/// Which colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// For dark terminals.
    #[default]
    Dark,
    /// For light terminals.
    Light,
    /// Black, white and few strong colours.
    Contrast,
    /// The terminal's own sixteen.
    Sixteen,
    /// None at all: bold, dim, underlined, reversed.
    None,
}

impl Palette {
    /// The palette of a setting's word; `auto` looks at the environment. `color` is false when colours are
    /// not wanted, and that is decided before.
    pub fn choose(word: &str, color: bool, environment: &Environment) -> Self {
        match word {
            _ if !color => Self::None,
            "dark" => Self::Dark,
            "light" => Self::Light,
            "contrast" => Self::Contrast,
            "16" => Self::Sixteen,
            "none" => Self::None,
            _ => Self::of(environment),
        }
    }

    fn of(environment: &Environment) -> Self {
        let term = environment.get(env::TERM).unwrap_or_default();
        let many = term.contains("256color") || environment.get(env::COLORTERM).is_some();
        // `foreground;background`, as some terminals say it: 7 and 15 are light.
        let background = environment.get(env::COLORFGBG).and_then(|pair| pair.rsplit(';').next());
        match background {
            _ if !many => Self::Sixteen,
            Some("7" | "15") => Self::Light,
            _ => Self::Dark,
        }
    }
}

/// Styles by meaning.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// Ordinary words.
    pub text: Style,
    /// Less important.
    pub dim: Style,
    /// Headings.
    pub title: Style,
    /// The place the keyboard is at.
    pub focus: Style,
    /// Keys in footer and help.
    pub key: Style,
    /// Done, ready, good.
    pub good: Style,
    /// On the way.
    pub busy: Style,
    /// Worth a look.
    pub warn: Style,
    /// Failed.
    pub bad: Style,
    /// Going away.
    pub leaving: Style,
    /// The chosen row.
    pub selected: Style,
    /// Header and footer.
    pub bar: Style,
    /// Lines around panels.
    pub border: Style,
}

impl Theme {
    /// The styles of a palette.
    pub fn new(palette: Palette) -> Self {
        let plain = Style::new();
        let fg = |index: u8| plain.fg(Color::Indexed(index));
        let bold = |style: Style| style.add_modifier(Modifier::BOLD);
        match palette {
            Palette::Dark => Self {
                text: plain,
                dim: fg(245),
                title: bold(fg(75)),
                focus: bold(fg(78)),
                key: bold(fg(78)),
                good: fg(78),
                busy: fg(221),
                warn: bold(fg(215)),
                bad: bold(fg(203)),
                leaving: fg(176),
                selected: plain.bg(Color::Indexed(237)).add_modifier(Modifier::BOLD),
                bar: plain.bg(Color::Indexed(235)),
                border: fg(240),
            },
            Palette::Light => Self {
                text: plain,
                dim: fg(242),
                title: bold(fg(25)),
                focus: bold(fg(28)),
                key: bold(fg(28)),
                good: fg(28),
                busy: fg(130),
                warn: bold(fg(130)),
                bad: bold(fg(160)),
                leaving: fg(90),
                selected: plain.bg(Color::Indexed(253)).add_modifier(Modifier::BOLD),
                bar: plain.bg(Color::Indexed(254)),
                border: fg(247),
            },
            Palette::Contrast => {
                let white = plain.fg(Color::White).bg(Color::Black);
                Self {
                    text: white,
                    dim: white,
                    title: bold(white).add_modifier(Modifier::UNDERLINED),
                    focus: bold(white.fg(Color::LightYellow)),
                    key: bold(white.fg(Color::LightYellow)),
                    good: bold(white.fg(Color::LightGreen)),
                    busy: bold(white.fg(Color::LightYellow)),
                    warn: bold(white.fg(Color::LightYellow)).add_modifier(Modifier::UNDERLINED),
                    bad: bold(white.fg(Color::LightRed)).add_modifier(Modifier::UNDERLINED),
                    leaving: bold(white.fg(Color::LightMagenta)),
                    selected: plain.fg(Color::Black).bg(Color::White).add_modifier(Modifier::BOLD),
                    bar: plain.fg(Color::Black).bg(Color::White),
                    border: white,
                }
            }
            Palette::Sixteen => Self {
                text: plain,
                dim: plain.fg(Color::DarkGray),
                title: bold(plain.fg(Color::Blue)),
                focus: bold(plain.fg(Color::Green)),
                key: bold(plain.fg(Color::Green)),
                good: plain.fg(Color::Green),
                busy: plain.fg(Color::Yellow),
                warn: bold(plain.fg(Color::Yellow)),
                bad: bold(plain.fg(Color::Red)),
                leaving: plain.fg(Color::Magenta),
                selected: plain.add_modifier(Modifier::REVERSED),
                bar: plain.add_modifier(Modifier::REVERSED),
                border: plain.fg(Color::DarkGray),
            },
            Palette::None => Self {
                text: plain,
                dim: plain,
                title: bold(plain),
                focus: bold(plain).add_modifier(Modifier::UNDERLINED),
                key: bold(plain),
                good: plain,
                busy: plain,
                warn: bold(plain),
                bad: bold(plain).add_modifier(Modifier::UNDERLINED),
                leaving: plain,
                selected: plain.add_modifier(Modifier::REVERSED),
                bar: plain.add_modifier(Modifier::REVERSED),
                border: plain,
            },
        }
    }

    /// The style and the mark of a phase, whatever its case; unknown phases are plain.
    pub fn phase(&self, phase: &str) -> (Style, &'static str) {
        match phase.to_ascii_lowercase().as_str() {
            "ready" | "installed" | "running" | "allocated" | "active" | "succeeded" | "configured"
            | "created" | "made" | "done" | "true" => (self.good, "✓"),
            "provisioning" | "installing" | "updating" | "upgrading" | "creating" | "configuring"
            | "reconciling" | "announced" | "working" => (self.busy, "◐"),
            "failed" | "degraded" | "<unreadable>" | "damaged" | "false" => (self.bad, "✗"),
            "interrupted" | "stopped" | "cancelled" | "unknown" => (self.warn, "!"),
            "pending" | "waiting" => (self.dim, "○"),
            "deleting" | "terminating" | "removed" | "destroyed" => (self.leaving, "↓"),
            _ => (self.text, "·"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("auto", true, &[("TERM", "xterm-256color")], Palette::Dark)]
    #[case("auto", true, &[("TERM", "linux")], Palette::Sixteen)]
    #[case("auto", true, &[("TERM", "xterm-256color"), ("COLORFGBG", "0;15")], Palette::Light)]
    #[case("auto", true, &[("TERM", "vt220"), ("COLORTERM", "truecolor")], Palette::Dark)]
    #[case("light", true, &[("TERM", "linux")], Palette::Light)]
    #[case("dark", false, &[("TERM", "xterm-256color")], Palette::None)]
    fn a_palette_follows_setting_and_terminal(
        #[case] word: &str,
        #[case] color: bool,
        #[case] environment: &[(&str, &str)],
        #[case] expected: Palette,
    ) {
        let environment = Environment::of(environment.iter().copied());
        assert_eq!(Palette::choose(word, color, &environment), expected);
    }

    #[test]
    fn without_colours_there_are_none_and_marks_still_tell_states_apart() {
        let theme = Theme::new(Palette::None);
        let styles = [theme.text, theme.dim, theme.good, theme.bad, theme.warn, theme.selected, theme.bar];
        assert!(styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
        let marks = ["Ready", "Provisioning", "Failed", "Interrupted", "Pending", "Deleting"];
        let marks: std::collections::BTreeSet<_> = marks.iter().map(|phase| theme.phase(phase).1).collect();
        assert_eq!(marks.len(), 6);
    }
}
