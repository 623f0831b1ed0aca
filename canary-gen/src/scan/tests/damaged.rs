//! Damaged canaries of the index.

use super::*;

/// One way in which a model, or what stands behind it, harms a writing.
pub(super) fn damage(text: &str, kind: u8, place: usize, letter: char) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    // A place of a letter or digit, not of a separator.
    let symbols: Vec<usize> = (0..letters.len())
        .filter(|&at| letters[at].is_ascii_alphanumeric())
        .collect();
    let at = symbols[place % symbols.len()];
    match kind {
        0 => letters[at] = letter,
        1 => drop(letters.remove(at)),
        2 => letters.insert(at, letter),
        3 => {
            let place = place % (symbols.len() - 1);
            letters.swap(symbols[place], symbols[place + 1]);
        }
        4 => {
            letters[at] = if letters[at].is_ascii_uppercase() {
                letters[at].to_ascii_lowercase()
            } else {
                letters[at].to_ascii_uppercase()
            }
        }
        5 => letters.insert(at, '\n'),
        6 => letters.splice(at..at, "**".chars()).for_each(drop),
        7 => letters.splice(at..at, "<b>".chars()).for_each(drop),
        _ => {
            if let Some(at) = letters
                .iter()
                .position(|letter| !letter.is_ascii_alphanumeric())
            {
                letters[at] = ['_', ' ', ':', '.'][place % 4];
            }
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn a_canary_of_the_index_is_found_with_any_two_damages(
        identity in identity(), form in 0usize..5, damages in proptest::collection::vec((0u8..9, 0usize..60, "[a-z0-9]"), 0..=2)
    ) {
        let form = Form::ALL[form];
        let canary = Key::from_root(&ROOT).mint(identity, form);
        let mut index = Index::new(100);
        index.plant(form, &canary);
        let search = Search::new(ring())
            .with_effort(Effort::NONE)
            .with_index(std::sync::Arc::new(std::sync::RwLock::new(index)));
        let mut text = form.write(&canary);
        for (kind, place, letter) in &damages {
            text = damage(&text, *kind, *place, letter.chars().next().unwrap());
        }
        let page = format!("The answer is: {text}.");
        let found = search.scan(page.as_bytes());
        prop_assert_eq!(found.len(), 1, "{}", page);
        prop_assert_eq!(found[0].identity, identity);
        prop_assert!(found[0].proof.is_verified(), "{} {:?}", page, found[0]);
    }
}
