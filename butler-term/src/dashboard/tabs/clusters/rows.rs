//! Which rows a list shows, in which order, with which columns.

use std::{cmp::Ordering, sync::Arc};

use butler_core::tenant::Summary;
use jiff::Timestamp;

use crate::{
    dashboard::world::Store,
    output::age,
    tui::{
        Theme,
        widgets::table::{Column, Value},
    },
};

/// The columns, the usual ones first.
pub(super) const COLUMNS: &[Column] = &[
    Column { title: "NAME", least: 10, rank: 0 },
    Column { title: "NAMESPACE", least: 8, rank: 5 },
    Column { title: "PHASE", least: 8, rank: 1 },
    Column { title: "VERSION", least: 7, rank: 3 },
    Column { title: "WORKERS", least: 7, rank: 2 },
    Column { title: "AGE", least: 4, rank: 4 },
    Column { title: "ENV", least: 4, rank: 6 },
    Column { title: "PROVIDER", least: 8, rank: 7 },
    Column { title: "ENDPOINT", least: 10, rank: 8 },
];

/// How many columns there are without the further ones.
pub(super) const USUAL: usize = 6;

/// Compares by a column; ties go by namespace and name.
fn compare(column: usize, a: &Summary, b: &Summary) -> Ordering {
    let place = || (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name));
    let first = match column {
        0 => a.name.cmp(&b.name),
        2 => a.phase().cmp(b.phase()),
        3 => numbers(a.version.as_deref()).cmp(numbers(b.version.as_deref())),
        4 => a.workers.cmp(&b.workers),
        // The youngest has the lowest age.
        5 => b.created.cmp(&a.created),
        6 => a.environment.cmp(&b.environment),
        7 => a.provider.cmp(&b.provider),
        8 => a.endpoint.cmp(&b.endpoint),
        _ => Ordering::Equal,
    };
    first.then_with(place)
}

/// `v1.9.0` comes before `v1.10.0`.
fn numbers(version: Option<&str>) -> impl Iterator<Item = u64> {
    let parts = version.unwrap_or_default().trim_start_matches('v').split(['.', '-', '+']);
    parts.map(|part| part.parse().unwrap_or(0))
}

/// The names of the rows to show.
pub(super) fn order(store: &Store<Summary>, filter: &str, sort: usize, reverse: bool) -> Vec<Arc<str>> {
    let needle = filter.to_lowercase();
    let wanted: Vec<&str> = needle.split_whitespace().collect();
    let mut rows: Vec<(&Arc<str>, &Summary)> =
        store.iter().filter(|(_, row)| wanted.iter().all(|word| matches(row, word))).collect();
    rows.sort_by(|(_, a), (_, b)| if reverse { compare(sort, b, a) } else { compare(sort, a, b) });
    rows.into_iter().map(|(name, _)| name.clone()).collect()
}

/// True when a word, in lower case, is somewhere in the row.
fn matches(row: &Summary, word: &str) -> bool {
    let or_empty = |text: &Option<String>| text.as_deref().is_some_and(|text| contains(text, word));
    contains(&row.name, word)
        || contains(&row.namespace, word)
        || contains(row.phase(), word)
        || or_empty(&row.version)
        || or_empty(&row.provider)
        || or_empty(&row.environment)
        || or_empty(&row.endpoint)
}

/// As `str::contains`, whatever the case; `word` is in lower case. Ten thousand rows are searched with each
/// letter that is typed, so the ordinary case makes no copies.
fn contains(text: &str, word: &str) -> bool {
    if !text.is_ascii() {
        return text.to_lowercase().contains(word);
    }
    word.is_empty()
        || text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// The values of a row.
pub(super) fn cells(row: &Summary, now: Timestamp, theme: &Theme) -> Vec<Value> {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let (style, mark) = theme.phase(row.phase());
    let short = row.workers.ready < row.workers.desired;
    vec![
        (row.name.clone(), theme.text),
        (row.namespace.clone(), theme.dim),
        (format!("{mark} {}", row.phase()), style),
        (or_dash(&row.version), theme.text),
        (row.workers.to_string(), if short { theme.busy } else { theme.text }),
        (age(row.created, now), theme.dim),
        (or_dash(&row.environment), theme.text),
        (or_dash(&row.provider), theme.text),
        (or_dash(&row.endpoint), theme.text),
    ]
}

#[cfg(test)]
mod tests {
    use butler_core::live::Seen;

    use super::*;
    use crate::{dashboard::world::learn, tui::Remote};

    fn store(rows: &[(&str, &str, &str)]) -> Store<Summary> {
        let mut remote = Remote::default();
        let news = rows.iter().map(|(name, phase, version)| {
            let row = Summary {
                name: (*name).into(),
                namespace: "team".into(),
                phase: Some((*phase).into()),
                version: Some((*version).into()),
                ..Summary::default()
            };
            Seen::There(format!("team/{name}"), row)
        });
        learn(&mut remote, news.chain([Seen::Complete]).collect(), Timestamp::UNIX_EPOCH);
        remote.value().unwrap().clone()
    }

    fn names(filter: &str, sort: usize, reverse: bool) -> String {
        let store = store(&[("b", "Ready", "v1.9.0"), ("a", "Failed", "v1.10.0"), ("Ü", "Ready", "v1.2.0")]);
        let rows = order(&store, filter, sort, reverse);
        rows.iter().filter_map(|name| Some(name.strip_prefix("team/")?.to_owned())).collect()
    }

    #[test]
    fn rows_are_sorted_by_meaning_and_found_by_any_word() {
        assert_eq!(names("", 0, false), "abÜ");
        assert_eq!(names("", 3, false), "Üba");
        assert_eq!(names("", 2, true), "Üba");
        assert_eq!(names("READY b", 0, false), "b");
        assert_eq!(names("ü", 0, false), "Ü");
        assert_eq!(names("nothing", 0, false), "");
    }
}
