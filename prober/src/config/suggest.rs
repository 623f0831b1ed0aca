//! "Did you mean …?"

/// The candidate that `written` is most likely a slip of; `None` when none is near.
pub(super) fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let written = written.to_lowercase().replace('-', "_");
    // Long enough for any name of ours; keeps the quadratic comparison small.
    if written.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&written, &candidate.replace('-', "_")), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean …?)`, or nothing.
pub(super) fn hint<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, candidates)
        .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

/// How many characters must be inserted, removed, changed or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before_last = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, &left) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &right) in other.iter().enumerate() {
            let changed = last[column] + usize::from(left != right);
            let mut best = changed.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && left == other[column - 1] && one[row - 1] == right {
                let swapped: &Vec<usize> = &before_last;
                best = best.min(swapped[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("name", "name", 0),
            ("nmae", "name", 1),
            ("nam", "name", 1),
            ("names", "name", 1),
            ("same", "name", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["name", "base_url", "context_tokens", "key_env"];
        assert_eq!(nearest("base-url", known), Some("base_url"));
        assert_eq!(nearest("contxt_token", known), Some("context_tokens"));
        assert_eq!(nearest("Name", known), Some("name"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"name".repeat(100), known), None);
    }
}
