//! Where secrets are taken from, and that they are never told.

use super::*;

#[test]
fn the_environment_variable_of_the_database_wins_over_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prober.toml");
    fs::write(&path, format!("store.url_env = \"NOT_SET\"\n{SMALLEST}")).unwrap();
    assert!(load_with(&path, &variable).is_err());
    let with = |url: &'static str| {
        move |name: &str| match name {
            "DATABASE_URL" => Some(url.into()),
            name => variable(name),
        }
    };
    let config = load_with(&path, &with("postgres://hunter2@elsewhere/db")).unwrap();
    let Database::Server { url } = &config.store.database else {
        panic!("a server is named");
    };
    assert_eq!(url.expose_secret(), "postgres://hunter2@elsewhere/db");
    let errors = load_with(&path, &with("hunter2")).unwrap_err().to_string();
    assert!(
        errors.contains("`DATABASE_URL`") && !errors.contains(SECRET),
        "{errors}"
    );
    assert!(
        load_with(&path, &with(""))
            .unwrap_err()
            .to_string()
            .contains("NOT_SET")
    );
}

#[test]
fn a_password_in_the_file_is_accepted_only_if_the_file_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prober.toml");
    fs::write(
        &path,
        format!("store.url = \"postgres://u:hunter2@h/db\"\n{SMALLEST}"),
    )
    .unwrap();
    for (mode, accepted) in [(0o600, true), (0o400, true), (0o644, false), (0o640, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            load_with(&path, &variable).is_ok(),
            accepted,
            "mode {mode:o}"
        );
    }
}

#[test]
fn every_open_mode_of_a_key_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prober.toml");
    let key = dir.path().join("a.key");
    fs::write(&key, "hunter2").unwrap();
    fs::write(
        &path,
        SMALLEST.replacen("no_key = true", "key_file = \"a.key\"", 1),
    )
    .unwrap();
    for (mode, accepted) in [
        (0o600, true),
        (0o400, true),
        (0o640, false),
        (0o620, false),
        (0o604, false),
        (0o601, false),
    ] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let result = load_with(&path, &variable);
        assert_eq!(result.is_ok(), accepted, "mode {mode:o}");
        if let Err(errors) = result {
            assert!(errors.to_string().contains("chmod 600"), "{errors}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn no_change_of_a_good_file_panics_or_tells_its_secret(
        at in 0usize..4_000, with in "[\\PC\n\"\\[\\]={}.,]{0,6}", cut in 0usize..12,
    ) {
        let (dir, _) = copy_of("good");
        let path = dir.path().join("full.toml");
        let text: Vec<char> = fs::read_to_string(&path).unwrap().chars().collect();
        let at = at % text.len();
        let end = (at + cut).min(text.len());
        let changed: String = text[..at].iter().copied().chain(with.chars()).chain(text[end..].iter().copied()).collect();
        fs::write(&path, changed).unwrap();
        match load_with(&path, &variable) {
            Ok(config) => assert!(!format!("{config:?}").contains(SECRET)),
            Err(errors) => assert!(!errors.to_string().contains(SECRET), "{errors}"),
        }
    }
}
