#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

const ROOM: Room = Room {
    max_bytes: 1 << 30,
    reserve_bytes: 1 << 12,
};

fn open(folder: &TempDir) -> (Spool, Vec<Damage>) {
    Spool::open(&folder.path().join("spool"), ROOM).unwrap()
}

fn drain(spool: &mut Spool) -> Vec<String> {
    let mut records = Vec::new();
    while let Some(record) = spool.first().unwrap() {
        records.push(String::from_utf8(record.to_vec()).unwrap());
        spool.remove_first().unwrap();
    }
    records
}

fn segments(folder: &TempDir) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder.path().join("spool"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .collect();
    paths.sort();
    paths
}

#[test]
fn records_come_out_in_order_also_after_the_spool_was_opened_again() {
    let folder = TempDir::new().unwrap();
    let (mut spool, _) = open(&folder);
    for record in ["a", "b", "c"] {
        spool.append(record.as_bytes()).unwrap();
    }
    assert_eq!(spool.records(), 3);
    drop(spool);
    let (mut spool, damages) = open(&folder);
    assert_eq!((spool.records(), damages.len()), (3, 0));
    spool.append(b"d").unwrap();
    assert_eq!(drain(&mut spool), ["a", "b", "c", "d"]);
    assert_eq!((spool.records(), spool.bytes()), (0, 0));
    assert_eq!(segments(&folder), Vec::<PathBuf>::new());
}

#[test]
fn what_is_appended_while_records_are_taken_out_comes_after_them() {
    let folder = TempDir::new().unwrap();
    let (mut spool, _) = open(&folder);
    spool.append(b"a").unwrap();
    assert_eq!(spool.first().unwrap(), Some(&b"a"[..]));
    spool.append(b"b").unwrap();
    assert_eq!(drain(&mut spool), ["a", "b"]);
}

#[test]
fn records_that_were_not_removed_come_again_after_a_crash() {
    let folder = TempDir::new().unwrap();
    let (mut spool, _) = open(&folder);
    for record in ["a", "b"] {
        spool.append(record.as_bytes()).unwrap();
    }
    spool.first().unwrap();
    spool.remove_first().unwrap();
    drop(spool);
    // Those of one segment come all again.
    assert_eq!(drain(&mut open(&folder).0), ["a", "b"]);
}

#[test]
fn a_torn_tail_is_set_aside_and_what_comes_later_is_whole() {
    let folder = TempDir::new().unwrap();
    let (mut spool, _) = open(&folder);
    spool.append(b"whole").unwrap();
    spool.append(b"torn").unwrap();
    drop(spool);
    let path = segments(&folder).remove(0);
    let file = fs::read(&path).unwrap();
    fs::write(&path, &file[..file.len() - 2]).unwrap();
    let (mut spool, damages) = open(&folder);
    assert_eq!(damages.len(), 1);
    assert_eq!(damages[0].bytes, 12 + 2);
    assert!(fs::read(&damages[0].kept_in).unwrap().ends_with(b"to"));
    spool.append(b"later").unwrap();
    drop(spool);
    let (mut spool, damages) = open(&folder);
    assert_eq!(damages, []);
    assert_eq!(drain(&mut spool), ["whole", "later"]);
}

#[test]
fn above_its_limit_it_says_that_it_is_full_and_still_keeps_what_is_under_way() {
    let folder = TempDir::new().unwrap();
    let room = Room {
        max_bytes: 20,
        ..ROOM
    };
    let (mut spool, _) = Spool::open(folder.path(), room).unwrap();
    spool.append(b"a").unwrap();
    assert_eq!(spool.full(), None);
    spool.append(b"b").unwrap();
    assert!(spool.full().unwrap().contains("20 bytes"));
    spool.append(b"c").unwrap();
    assert_eq!(drain(&mut spool), ["a", "b", "c"]);
    spool.refresh();
    assert_eq!(spool.full(), None);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_full_until_it_can() {
    let folder = TempDir::new().unwrap();
    let (mut spool, _) = open(&folder);
    spool.append(b"a").unwrap();
    drain(&mut spool);
    let path = folder.path().join("spool");
    fs::remove_dir_all(&path).unwrap();
    assert!(spool.append(b"lost folder").is_err());
    assert!(spool.full().is_some());
    spool.refresh();
    assert!(spool.full().is_some());
    fs::create_dir(&path).unwrap();
    spool.refresh();
    assert_eq!(spool.full(), None);
    spool.append(b"b").unwrap();
    assert_eq!(drain(&mut spool), ["b"]);
}

#[test]
fn what_was_set_aside_is_never_overwritten_by_what_is_set_aside_later() {
    let folder = TempDir::new().unwrap();
    let aside = |record: &[u8]| {
        // Nothing but the file that was set aside tells of the life before.
        let (mut spool, _) = open(&folder);
        spool.append(record).unwrap();
        drain(&mut spool);
        spool.set_aside(record).unwrap()
    };
    let (first, second) = (aside(b"first"), aside(b"second"));
    assert_eq!(fs::read(first).unwrap(), b"first");
    assert_eq!(fs::read(second).unwrap(), b"second");
}

#[test]
fn its_files_are_private() {
    let folder = TempDir::new().unwrap();
    let (mut spool, _) = open(&folder);
    spool.append(b"a").unwrap();
    let aside = spool.set_aside(b"b").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("spool")), 0o700);
    for path in segments(&folder).iter().chain([&aside]) {
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
}

/// What may happen to a spool.
#[derive(Clone, Debug)]
enum Event {
    Append(String),
    Remove,
    OpenAgain,
    /// A crash in the middle of a write leaves this.
    Tear(Vec<u8>),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => "[a-z]{0,30}".prop_map(Event::Append),
        3 => Just(Event::Remove),
        1 => Just(Event::OpenAgain),
        1 => prop::collection::vec(any::<u8>(), 1..20).prop_map(Event::Tear),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_happens_no_record_is_lost_and_their_order_stays(
        events in prop::collection::vec(event(), 0..40),
    ) {
        let folder = TempDir::new().unwrap();
        let (mut spool, _) = open(&folder);
        let (mut appended, mut taken) = (Vec::new(), 0);
        for event in events {
            match event {
                Event::Append(text) => {
                    let text = format!("{} {text}", appended.len());
                    spool.append(text.as_bytes()).unwrap();
                    appended.push(text);
                }
                Event::Remove => {
                    if let Some(record) = spool.first().unwrap() {
                        // After a crash some come again, never one too early.
                        let at = appended.iter().position(|text| text.as_bytes() == record).unwrap();
                        prop_assert!(at <= taken);
                        spool.remove_first().unwrap();
                        taken = taken.max(at + 1);
                    }
                }
                Event::OpenAgain => {
                    drop(spool);
                    spool = open(&folder).0;
                }
                Event::Tear(bytes) => {
                    drop(spool);
                    if let Some(path) = segments(&folder).pop() {
                        let mut file = File::options().append(true).open(path).unwrap();
                        file.write_all(&bytes).unwrap();
                    }
                    spool = open(&folder).0;
                }
            }
        }
        let rest = drain(&mut spool);
        prop_assert!(rest.len() >= appended.len() - taken);
        prop_assert_eq!(&rest[rest.len() - (appended.len() - taken)..], &appended[taken..]);
    }
}
