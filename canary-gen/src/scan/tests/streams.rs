//! Any text, cut anywhere, and whole canaries in the middle of anything.

use super::damaged::damage;
use super::disguised::disguised;
use super::*;

/// Canaries of every form, harmed, disguised, cut, among prose: pieces of what a scanner may meet.
fn wild_text() -> impl Strategy<Value = String> {
    let writing = (
        identity(),
        0usize..5,
        proptest::collection::vec((0u8..9, 0usize..60, "[a-z0-9]"), 0..=2),
    )
        .prop_map(|(identity, form, damages)| {
            let form = Form::ALL[form];
            let text = form.write(&Key::from_root(&ROOT).mint(identity, form));
            damages.iter().fold(text, |text, (kind, place, letter)| {
                damage(&text, *kind, *place, letter.chars().next().unwrap())
            })
        });
    let disguise = (
        writing,
        proptest::option::of(0usize..8),
        proptest::option::of(0usize..8),
        0usize..2,
        0usize..20,
    )
        .prop_map(|(text, inner, outer, style, cut)| {
            let through = |text: String, view: Option<usize>| match view {
                Some(view) => disguised(View::ALL[view], &text, style),
                None => text,
            };
            let text = through(through(text, inner), outer);
            text.chars()
                .skip(cut.saturating_sub(12))
                .collect::<String>()
        });
    let piece = prop_oneof![
        3 => disguise,
        2 => "( [a-z]{1,9}){0,40}",
        1 => "[a-zA-Z0-9+/_-]{0,90}",
        1 => "[\\\\%&#;*`<>a-f0-9 ]{0,60}",
        1 => "\\PC{0,9}",
        1 => Just("\n".to_owned()),
    ];
    proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.join(" "))
}

/// Long runs without a gap, where windows are cut: canaries at any place of them.
fn long_text() -> impl Strategy<Value = String> {
    let canary = (identity(), 0usize..5).prop_map(|(identity, form)| {
        let form = Form::ALL[form];
        form.write(&Key::from_root(&ROOT).mint(identity, form))
    });
    let run = prop_oneof![
        ("[a-zA-Z0-9+/]{40}", 1usize..70).prop_map(|(piece, times)| piece.repeat(times)),
        ("[0-9a-f]{7}", 1usize..400).prop_map(|(piece, times)| piece.repeat(times)),
        (0usize..400).prop_map(|times| "acorn bagel cactus ".repeat(times)),
        ("%[0-9A-F]{2}", 1usize..900).prop_map(|(piece, times)| piece.repeat(times)),
    ];
    let piece = prop_oneof![canary, run, Just("/".to_owned()), Just(" ".to_owned())];
    proptest::collection::vec(piece, 1..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_split_of_a_long_run_gives_the_same_sightings(
        text in long_text(), cuts in proptest::collection::vec(1usize..3_000, 0..20)
    ) {
        let search = Search::new(ring()).with_effort(Effort { openings: 3_000, bytes_per_opening: 4096 });
        prop_assert_eq!(scan_in_chunks(&search, text.as_bytes(), &cuts), search.scan(text.as_bytes()));
    }

    #[test]
    fn any_split_of_a_wild_text_gives_the_same_sightings(
        text in wild_text(), planted in proptest::collection::vec((identity(), 0usize..5), 0..4),
        cuts in proptest::collection::vec(1usize..900, 0..40), repeat in 1usize..8
    ) {
        let mut index = Index::new(100);
        for (identity, form) in planted {
            index.plant(Form::ALL[form], &Key::from_root(&ROOT).mint(identity, Form::ALL[form]));
        }
        let search = Search::new(ring())
            .with_effort(Effort { openings: 3_000, bytes_per_opening: 4096 })
            .with_index(std::sync::Arc::new(std::sync::RwLock::new(index)));
        let text = text.repeat(repeat);
        prop_assert_eq!(scan_in_chunks(&search, text.as_bytes(), &cuts), search.scan(text.as_bytes()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn whatever_stands_around_a_whole_canary_it_is_told_as_whole(
        identity in identity(), form in 0usize..5, before in wild_text(), behind in wild_text(), times in 1usize..30
    ) {
        let form = Form::ALL[form];
        let canary = Key::from_root(&ROOT).mint(identity, form);
        let mut index = Index::new(100);
        index.plant(form, &canary);
        let writing = form.write(&canary);
        let before = before.repeat(times);
        let text = format!("{before} {writing} {}", behind.repeat(times));
        let place = (before.len() as u64 + 1, writing.len());
        let by_key = Search::new(ring()).with_effort(Effort::NONE);
        let by_index = by_key.clone().with_index(std::sync::Arc::new(std::sync::RwLock::new(index)));
        for search in [by_key, by_index] {
            let found = search.scan(text.as_bytes());
            let it = found.iter().find(|sighting| {
                let is_here = sighting.offset < place.0 + place.1 as u64 && place.0 < sighting.end();
                sighting.identity == identity && is_here
            });
            let it = it.map(|sighting| (sighting.proof, (sighting.offset, sighting.length)));
            prop_assert_eq!(it, Some((Proof::Exact, place)));
        }
    }
}
