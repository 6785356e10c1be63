//! Every action and its keys: the one table.

use crate::tui::Binding;

/// Where keys hold.
pub mod scope {
    /// On every screen.
    pub const EVERYWHERE: &str = "Everywhere";
    /// Wherever something is moved through.
    pub const MOVING: &str = "Moving";
    /// The list of tenant clusters.
    pub const CLUSTERS: &str = "Clusters";
    /// One tenant cluster.
    pub const CLUSTER: &str = "One cluster";
    /// The list of runs.
    pub const RUNS: &str = "Runs";
    /// One run.
    pub const RUN: &str = "One run";
    /// The questions for a new management cluster.
    pub const WIZARD: &str = "New management cluster";
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ends the program.
    Quit,
    /// Every key.
    Help,
    /// Every action.
    Palette,
    /// Gives the terminal to the shell.
    Suspend,
    /// Draws anew.
    Redraw,
    /// Asks again.
    Refresh,
    /// The tab with this number.
    Tab(u8),
    /// The next tab.
    NextTab,
    /// The tab before.
    PreviousTab,
    /// One up.
    Up,
    /// One down.
    Down,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// The first.
    Top,
    /// The last.
    Bottom,
    /// Into what is chosen.
    Open,
    /// Out again.
    Back,
    /// Narrow down.
    Filter,
    /// What is shown, in the pager.
    Page,
    /// Sort by the next column.
    Sort,
    /// Sort the other way round.
    Reverse,
    /// More or fewer columns.
    Columns,
    /// The object itself.
    Yaml,
    /// Delete what is chosen.
    Delete,
    /// The next part of a screen.
    NextPart,
    /// The part before.
    PreviousPart,
    /// One part on the whole screen.
    Zoom,
    /// Follow the newest line.
    Follow,
    /// What lines must matter.
    Level,
    /// Begin a run.
    NewRun,
    /// Go on with a run.
    Resume,
    /// Stop a run.
    Abort,
    /// Remove what a run made.
    Destroy,
    /// Leave a run to itself.
    Detach,
    /// Be asked for a new management cluster.
    NewCluster,
    /// To the next page of questions.
    NextPage,
    /// Ask the provider again.
    Again,
    /// To the next thing that is wrong.
    NextProblem,
    /// Leave the questions.
    Leave,
}

const fn row(
    scope: &'static str,
    action: Action,
    name: &'static str,
    keys: &'static str,
    label: &'static str,
) -> Binding<Action> {
    Binding { scope, action, name, keys, label, hint: false, changes: false }
}

const fn hint(binding: Binding<Action>) -> Binding<Action> {
    Binding { hint: true, ..binding }
}

const fn changes(binding: Binding<Action>) -> Binding<Action> {
    Binding { changes: true, ..binding }
}

/// The table.
pub const TABLE: &[Binding<Action>] = &[
    hint(row(scope::CLUSTERS, Action::Open, "clusters.open", "enter", "details")),
    hint(row(scope::CLUSTERS, Action::Filter, "clusters.filter", "/", "filter")),
    hint(row(scope::CLUSTERS, Action::Sort, "clusters.sort", "s", "sort by the next column")),
    row(scope::CLUSTERS, Action::Reverse, "clusters.reverse", "S", "sort the other way round"),
    row(scope::CLUSTERS, Action::Columns, "clusters.columns", "c", "more or fewer columns"),
    row(scope::CLUSTERS, Action::Yaml, "clusters.yaml", "y", "the object as YAML"),
    changes(row(scope::CLUSTERS, Action::Delete, "clusters.delete", "D", "delete the cluster")),
    hint(row(scope::CLUSTER, Action::NextPart, "cluster.next", "tab", "next page")),
    row(scope::CLUSTER, Action::PreviousPart, "cluster.previous", "shift-tab", "page before"),
    hint(row(scope::CLUSTER, Action::Yaml, "cluster.yaml", "y", "YAML")),
    hint(row(scope::CLUSTER, Action::Page, "cluster.pager", "o", "open in the pager")),
    hint(changes(row(scope::CLUSTER, Action::Delete, "cluster.delete", "D", "delete the cluster"))),
    hint(row(scope::RUNS, Action::Open, "runs.open", "enter", "watch it")),
    hint(changes(row(scope::RUNS, Action::NewCluster, "runs.create", "c", "new management cluster"))),
    hint(changes(row(scope::RUNS, Action::NewRun, "runs.new", "n", "begin a run"))),
    changes(row(scope::RUNS, Action::Resume, "runs.resume", "R", "retry or resume the run")),
    changes(row(scope::RUNS, Action::Abort, "runs.abort", "A", "stop the run")),
    changes(row(scope::RUNS, Action::Destroy, "runs.destroy", "X", "remove all the run made")),
    hint(row(scope::RUN, Action::NextPart, "run.next", "tab", "next part")),
    row(scope::RUN, Action::PreviousPart, "run.previous", "shift-tab", "part before"),
    hint(row(scope::RUN, Action::Zoom, "run.zoom", "z", "zoom")),
    hint(row(scope::RUN, Action::Filter, "run.filter", "/", "filter the log")),
    row(scope::RUN, Action::Follow, "run.follow", "f", "follow the log, or stay"),
    row(scope::RUN, Action::Level, "run.level", "v", "next level of the log"),
    row(scope::RUN, Action::Page, "run.pager", "o", "the log in the pager"),
    hint(changes(row(scope::RUN, Action::Resume, "run.resume", "R", "retry or resume"))),
    hint(changes(row(scope::RUN, Action::Abort, "run.abort", "A", "stop the run"))),
    changes(row(scope::RUN, Action::Destroy, "run.destroy", "X", "remove all the run made")),
    hint(row(scope::RUN, Action::Detach, "run.detach", "d", "detach")),
    hint(row(scope::WIZARD, Action::NextPage, "wizard.next", "ctrl-n enter", "next page")),
    hint(row(scope::WIZARD, Action::Back, "wizard.back", "esc", "back")),
    row(scope::WIZARD, Action::Again, "wizard.again", "ctrl-r f5", "ask the provider again"),
    row(scope::WIZARD, Action::NextProblem, "wizard.problem", "ctrl-g f8", "next problem"),
    row(scope::WIZARD, Action::Up, "wizard.up", "up", "one up"),
    row(scope::WIZARD, Action::Down, "wizard.down", "down", "one down"),
    row(scope::WIZARD, Action::PageUp, "wizard.page-up", "pgup", "a screen up"),
    row(scope::WIZARD, Action::PageDown, "wizard.page-down", "pgdn", "a screen down"),
    row(scope::WIZARD, Action::Page, "wizard.pager", "ctrl-o", "open in the pager"),
    row(scope::WIZARD, Action::Redraw, "wizard.redraw", "ctrl-l", "draw anew"),
    row(scope::WIZARD, Action::Suspend, "wizard.suspend", "ctrl-z", "to the shell, for a while"),
    hint(row(scope::WIZARD, Action::Help, "wizard.help", "f1", "help")),
    hint(row(scope::WIZARD, Action::Leave, "wizard.leave", "ctrl-c ctrl-q", "leave")),
    row(scope::MOVING, Action::Up, "list.up", "up k", "one up"),
    row(scope::MOVING, Action::Down, "list.down", "down j", "one down"),
    row(scope::MOVING, Action::PageUp, "list.page-up", "pgup ctrl-b", "a screen up"),
    row(scope::MOVING, Action::PageDown, "list.page-down", "pgdn ctrl-f space", "a screen down"),
    row(scope::MOVING, Action::Top, "list.top", "home g", "the first"),
    row(scope::MOVING, Action::Bottom, "list.bottom", "end G", "the last"),
    row(scope::MOVING, Action::Back, "list.back", "esc backspace", "back"),
    row(scope::EVERYWHERE, Action::Tab(0), "tab.0", "0", "bootstrap"),
    row(scope::EVERYWHERE, Action::Tab(1), "tab.1", "1", "overview"),
    row(scope::EVERYWHERE, Action::Tab(2), "tab.2", "2", "clusters"),
    row(scope::EVERYWHERE, Action::NextTab, "tab.next", "tab ]", "next tab"),
    row(scope::EVERYWHERE, Action::PreviousTab, "tab.previous", "shift-tab [", "tab before"),
    hint(row(scope::EVERYWHERE, Action::Refresh, "refresh", "r", "ask again")),
    row(scope::EVERYWHERE, Action::Redraw, "redraw", "ctrl-l", "draw anew"),
    row(scope::EVERYWHERE, Action::Suspend, "suspend", "ctrl-z", "to the shell, for a while"),
    hint(row(scope::EVERYWHERE, Action::Palette, "palette", ": ctrl-p", "actions")),
    hint(row(scope::EVERYWHERE, Action::Help, "help", "?", "help")),
    hint(row(scope::EVERYWHERE, Action::Quit, "quit", "q ctrl-c", "quit")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::{Key, Keymap};

    #[test]
    fn every_row_has_a_name_of_its_own_and_keys_that_are_keys() {
        let keymap = Keymap::new(TABLE, &[], false).unwrap();
        for (at, row) in TABLE.iter().enumerate() {
            assert!(TABLE[..at].iter().all(|other| other.name != row.name), "{}", row.name);
            assert!(row.keys.split(' ').all(|key| Key::parse(key).is_some()), "{}: {}", row.name, row.keys);
        }
        assert_eq!(keymap.rows().len(), TABLE.len());
    }

    #[test]
    fn who_only_looks_has_neither_delete_nor_abort() {
        let keymap = Keymap::new(TABLE, &[], true).unwrap();
        let changing = [
            Action::Delete,
            Action::NewCluster,
            Action::NewRun,
            Action::Resume,
            Action::Abort,
            Action::Destroy,
        ];
        assert!(keymap.rows().iter().all(|row| !changing.contains(&row.action)));
    }
}
