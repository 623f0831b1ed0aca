//! Lines of the combined log of nginx and Apache: `ADDRESS - USER [TIME] "REQUEST" STATUS BYTES "REFERER" "AGENT"`.

/// The columns, by the names of nginx's variables.
pub(super) const COLUMNS: [&str; 9] = [
    "remote_addr",
    "remote_ident",
    "remote_user",
    "time_local",
    "request",
    "status",
    "body_bytes_sent",
    "http_referer",
    "http_user_agent",
];
/// The common log has no more.
const LEAST: usize = 7;

/// Tells where each column begins and ends; `None` if it is no such line. What follows is passed over.
pub(super) fn read(line: &[u8], each: &mut dyn FnMut(usize, usize, usize)) -> Option<()> {
    let mut at = 0;
    for column in 0..COLUMNS.len() {
        let rest = line.get(at..)?.trim_ascii_end();
        if rest.is_empty() {
            return (column >= LEAST).then_some(());
        }
        let (start, end, next) = match (column, rest[0]) {
            (3, b'[') => {
                let end = at + memchr::memchr(b']', rest)?;
                (at + 1, end, end + 1)
            }
            (3, _) => return None,
            (4 | 7 | 8, b'"') => {
                let end = at + 1 + quoted(&rest[1..])?;
                (at + 1, end, end + 1)
            }
            (4, _) => return None,
            _ => {
                let end = at + memchr::memchr(b' ', rest).unwrap_or(rest.len());
                (at, end, end)
            }
        };
        if column == 5 && !line[start..end].iter().all(u8::is_ascii_digit) {
            return None;
        }
        each(column, start, end);
        at = next;
        match line.get(at) {
            None => {}
            Some(b' ') => at += 1,
            Some(_) => return (column >= LEAST).then_some(()),
        }
    }
    Some(())
}

/// Whether a line is one.
pub(super) fn is_line(line: &[u8]) -> bool {
    read(line, &mut |_, _, _| {}).is_some()
}

/// How long a text in quotation marks is, without the closing one.
fn quoted(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let stop = at + memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[stop] == b'"' {
            return Some(stop);
        }
        at = stop + 2;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn columns(line: &str) -> Option<Vec<&str>> {
        let mut columns = Vec::new();
        read(line.as_bytes(), &mut |_, start, end| {
            columns.push(&line[start..end])
        })?;
        Some(columns)
    }

    #[test]
    fn the_combined_and_the_common_log_are_read() {
        let common =
            r#"10.0.0.7 - batch [24/Aug/2026:12:00:00 +0000] "POST /ai/run HTTP/1.1" 200 512"#;
        let expected = [
            "10.0.0.7",
            "-",
            "batch",
            "24/Aug/2026:12:00:00 +0000",
            "POST /ai/run HTTP/1.1",
            "200",
            "512",
        ];
        assert_eq!(columns(common).unwrap(), expected);
        let combined = format!(r#"{common} "-" "curl \"8\"" 0.1 extra"#);
        assert_eq!(columns(&combined).unwrap()[7..], ["-", r#"curl \"8\""#]);
    }

    #[test]
    fn what_is_none_is_refused() {
        for line in [
            "",
            "a b c",
            r#"{"time":1}"#,
            "time,model",
            r#"a - b [c] "d" x 1"#,
            r#"a - b [c] "d"#,
            r#"a - b c "d" 200 1"#,
            r#"a - b [c] "d" 200"#,
        ] {
            assert_eq!(columns(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(line in r#"[a \-"\[\]\\0-9]{0,60}"#) {
            let _ = columns(&line);
        }
    }
}
