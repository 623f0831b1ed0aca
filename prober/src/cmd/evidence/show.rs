//! `prober evidence show`

use super::who::Who;
use super::{CommandError, ConfigArg, Which, exit, keys, location};
use crate::evidence::{self, Response};
use crate::round::grouped;
use crate::store::{Act, Store};
use crate::terminal::say;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

/// What to show, to whom, and why.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    who: Who,
    /// The bytes of the body only, without status, headers and trailers.
    #[arg(long)]
    body: bool,
    #[command(flatten)]
    config: ConfigArg,
}

pub(super) async fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let access = args.who.access()?;
    let probe = args.which.probe()?;
    let config = args.config.load()?;
    let keys = keys(&config)?;
    let store = Store::open(&location(&config)).await?;
    let found = store.access_evidence(probe, Act::Show, &access).await;
    store.close().await;
    let sealed = found?.ok_or_else(|| args.which.missing())?;
    let opened = evidence::open(keys, &sealed);
    let response = opened.map_err(|source| CommandError::Evidence {
        probe: args.which.probe,
        source,
    })?;
    say(&format!(
        "prober: the response of probe {}, round {}: {} bytes{}; recorded as shown to {}",
        args.which.probe,
        sealed.of.round,
        grouped(sealed.plain_bytes),
        if sealed.is_cut {
            " (cut: there was more)"
        } else {
            ""
        },
        access.who,
    ));
    write(&response, args.body).map_err(CommandError::io("write to standard output"))?;
    Ok(ExitCode::from(exit::CLEAN))
}

fn write(response: &Response, body_only: bool) -> io::Result<()> {
    let bytes = if body_only {
        response.body.clone()
    } else {
        response.to_bytes()
    };
    let mut out = io::stdout().lock();
    let written = if out.is_terminal() {
        writeln!(out, "{}", harmless(&bytes))
    } else {
        out.write_all(&bytes)
    };
    match written.and_then(|()| out.flush()) {
        // The reader has seen enough (`| head`).
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Bytes as a terminal may show them: whoever wrote a response must not command the terminal of whoever reads it.
fn harmless(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' | '\t' => text.push(character),
                '\r' => {}
                _ if character.is_control() || turns_text(character) => {
                    text.extend(character.escape_unicode());
                }
                _ => text.push(character),
            }
        }
        for byte in chunk.invalid() {
            // Writing into a String cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Whether a character changes the direction of what follows, or is not to be seen.
fn turns_text(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_nothing_that_commands_it() {
        let bytes = b"one\r\n\ttwo \x1b[2J\x07\xff\xc2\x9b \xe2\x80\xae end";
        let shown = "one\n\ttwo \\u{1b}[2J\\u{7}\\xff\\u{9b} \\u{202e} end";
        assert_eq!(harmless(bytes), shown);
    }
}
