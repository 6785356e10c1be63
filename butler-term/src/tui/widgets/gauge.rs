//! Bars made of blocks: how much of a whole, and when between two moments.

use jiff::Timestamp;

/// A bar of `width` columns, filled as far as `part` is of `whole`.
pub fn bar(part: u64, whole: u64, width: usize) -> String {
    let filled = match whole {
        0 => 0,
        _ => {
            usize::try_from(u128::from(part.min(whole)) * width as u128 / u128::from(whole)).unwrap_or(width)
        }
    };
    format!("{}{}", "█".repeat(filled), "░".repeat(width - filled))
}

/// When something was, between a beginning and an end.
pub fn span(from: Timestamp, to: Timestamp, begin: Timestamp, end: Timestamp, width: usize) -> String {
    let whole = end.duration_since(begin).as_millis().max(1);
    let columns = width as i128;
    let at = |time: Timestamp| (time.duration_since(begin).as_millis() * columns / whole).clamp(0, columns);
    let start = at(from).min(columns - 1).max(0);
    let stop = at(to).max(start + 1).min(columns);
    let part = |text: &str, count: i128| text.repeat(usize::try_from(count).unwrap_or_default());
    format!("{}{}{}", part("·", start), part("█", stop - start), part("·", columns - stop))
}

/// `4 s`, `2 min 5 s`, `1 h 3 min`.
pub fn seconds(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_never_leave_their_width() {
        for (part, whole, expected) in
            [(0, 4, "░░░░"), (1, 4, "█░░░"), (9, 4, "████"), (1, 0, "░░░░"), (u64::MAX, u64::MAX, "████")]
        {
            assert_eq!(bar(part, whole, 4), expected);
        }
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(span(at(0), at(1), at(0), at(8), 8), "█·······");
        assert_eq!(span(at(4), at(4), at(0), at(8), 8), "····█···");
        assert_eq!(span(at(8), at(9), at(0), at(8), 8), "·······█");
        assert_eq!(span(at(0), at(0), at(0), at(0), 0), "");
    }
}
