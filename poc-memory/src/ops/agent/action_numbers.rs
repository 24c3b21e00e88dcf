//! Numbers of actions in texts.

/// A sentence that says that further actions are decided with the selected ones, because they belong to the same note;
/// nothing if there are none.
pub(super) fn group_line(selected: &[u16], with: &[u16], consequence: &str) -> String {
    if with.is_empty() {
        return String::new();
    }
    let belongs = if selected.len() == 1 { "belongs" } else { "belong" };
    format!("{} {belongs} with {}: {consequence}\n", ranges(selected), ranges(with))
}

/// Numbers in ascending order, with three or more in a row as a range: `1, 3–10`.
fn ranges(numbers: &[u16]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    let rows = numbers.chunk_by(|one, next| next - one == 1);
    let texts: Vec<String> = rows
        .flat_map(|row| match row {
            [first, .., last] if row.len() > 2 => vec![format!("{first}–{last}")],
            row => row.iter().map(u16::to_string).collect(),
        })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_both_groups_of_numbers() {
        let line = |selected: &[u16], with: &[u16]| group_line(selected, with, "all were rejected");
        assert_eq!(line(&[1], &[]), "");
        assert_eq!(line(&[1], &[2, 3, 4, 5]), "1 belongs with 2–5: all were rejected\n");
        assert_eq!(line(&[7, 2], &[1, 3, 4, 6]), "2, 7 belong with 1, 3, 4, 6: all were rejected\n");
    }
}
