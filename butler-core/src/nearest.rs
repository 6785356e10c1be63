//! "Did you mean": the known name that is closest to a mistyped one.

/// The candidate with the fewest edits from `typed`, if those are few enough to be a slip.
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (typed.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(typed, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= allowed)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("prdo", Some("prod"))]
    #[case("stagng", Some("staging"))]
    #[case("dve", Some("dev"))]
    #[case("something-else", None)]
    #[case("", None)]
    fn a_slip_finds_its_name(#[case] typed: &str, #[case] expected: Option<&str>) {
        assert_eq!(nearest(typed, ["dev", "prod", "staging"]), expected);
    }
}
