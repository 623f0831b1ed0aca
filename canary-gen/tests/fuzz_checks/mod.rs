//! What must hold for any bytes: shared by the fuzz targets (`canary-gen/fuzz`) and the test that runs
//! them over the seed corpus and over what they once found.

use canary_gen::scan::{Effort, Index, Search, Sighting, View};
use canary_gen::{Canary, Form, Identity, KeyRing, ProbeNumber, Slot, TenantNumber, key_file};
use std::sync::{Arc, RwLock};

/// The key under which the corpus' canaries were made.
pub(crate) const ROOT: [u8; 32] = [5; 32];

pub(crate) fn key_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match key_file::parse(text) {
        Ok(roots) => {
            let lines: Vec<_> = roots.iter().map(key_file::line).collect();
            let written: String = lines.iter().map(|line| line.as_str()).collect();
            let again = key_file::parse(&written).expect("what is written is read");
            assert_eq!(again.len(), roots.len());
            assert!(
                again
                    .iter()
                    .zip(&roots)
                    .all(|(one, other)| **one == **other)
            );
        }
        Err((_, fault)) => {
            // Digits of a key in an error would end in a log.
            let message = fault.to_string();
            let is_secret = |line: &&str| line.chars().filter(char::is_ascii_digit).count() >= 16;
            let mut secrets = text.lines().filter(is_secret);
            assert!(secrets.all(|line| !message.contains(line)));
        }
    }
}

pub(crate) fn form(form: Form, bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(canary) = form.parse(text)
    {
        assert_eq!(form.parse(&form.write(&canary)), Some(canary));
    }
    if let Some(bytes) = bytes.first_chunk::<16>() {
        let canary = Canary(*bytes);
        assert_eq!(form.parse(&form.write(&canary)), Some(canary));
        let (doubled, repeated) = form.repetitions(&canary);
        assert!(doubled + repeated < 80);
    }
}

pub(crate) fn view(view: View, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(1 << 16)];
    let read: usize = view.texts(bytes).iter().map(Vec::len).sum();
    assert!(read <= 4 * bytes.len(), "{read} of {}", bytes.len());
}

/// The first byte says how the rest is cut into chunks, and whether there is an index.
pub(crate) fn scanner(bytes: &[u8]) {
    let Some((&style, text)) = bytes.split_first() else {
        return;
    };
    let search = search(style & 1 == 1);
    let mut whole = search.scanner();
    let mut expected = Vec::new();
    whole.push(text, &mut expected);
    let work = whole.finish(&mut expected);
    let length = text.len() as u64;
    let repairs = EFFORT.openings + length / EFFORT.bytes_per_opening;
    assert!(work.bytes <= 256 * length + 4_096, "{length}: {work:?}");
    assert!(work.repair_openings <= repairs, "{length}: {work:?}");
    assert!(work.openings <= 64 * length + repairs, "{length}: {work:?}");

    let mut scanner = search.scanner();
    let mut found = Vec::new();
    for chunk in text.chunks(1 + usize::from(style) * 7) {
        scanner.push(chunk, &mut found);
        assert!(scanner.kept_bytes() <= 16 << 10);
    }
    scanner.finish(&mut found);
    assert_eq!(found, expected);
}

/// The first bytes choose a canary and its form; it stands between the rest, a space on either side.
pub(crate) fn scanner_planted(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first_chunk::<8>() else {
        return;
    };
    let (form, canary, identity) = minted(u64::from_le_bytes(*choice));
    let (before, behind) = rest.split_at(usize::from(choice[0]).min(rest.len()));
    let text = [before, b" ", form.write(&canary).as_bytes(), b" ", behind].concat();
    let found = search(false).scan(&text);
    let at = before.len() as u64 + 1;
    let is_it = |sighting: &Sighting| {
        sighting.identity == identity
            && sighting.offset <= at
            && at < sighting.offset + sighting.length as u64
    };
    assert!(found.iter().any(is_it), "{form} was missed");
}

const EFFORT: Effort = Effort {
    openings: 3_000,
    bytes_per_opening: 4_096,
};

fn search(with_index: bool) -> Search {
    let search = Search::new(KeyRing::from_root(&ROOT)).with_effort(EFFORT);
    if !with_index {
        return search;
    }
    let mut index = Index::new(64);
    for number in 0..80 {
        let (form, canary, _) = minted(number);
        index.plant(form, &canary);
    }
    search.with_index(Arc::new(RwLock::new(index)))
}

fn minted(number: u64) -> (Form, Canary, Identity) {
    let form = Form::ALL[(number % 5) as usize];
    let identity = Identity {
        tenant: TenantNumber::new(number >> 8 & 0xfff).expect("twelve bits"),
        probe: ProbeNumber::new(number >> 20 & 0x3_ffff_ffff).expect("34 bits"),
        slot: Slot::new(number >> 50).expect("14 bits"),
    };
    let canary = KeyRing::from_root(&ROOT).minting().mint(identity, form);
    (form, canary, identity)
}
