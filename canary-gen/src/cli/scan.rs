//! `canary-gen scan`

use super::{CliError, KeysArg};
use canary_gen::{KeyRing, Scanner, Sighting};
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write, stdin, stdout};
use std::process::ExitCode;

const READ_BYTES: usize = 256 << 10;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    keys: KeysArg,
    /// Files to read; `-` or nothing for standard input.
    files: Vec<String>,
    /// One JSON object a line instead of sentences.
    #[arg(long)]
    json: bool,
}

/// One sighting as it is printed. The canary's text is not: whoever reads the report would plant it.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    offset: u64,
    length: usize,
    form: &'static str,
    tenant: u64,
    probe: u64,
    slot: u64,
    key: String,
}

impl<'a> Line<'a> {
    pub(super) fn new(file: Option<&'a str>, sighting: &Sighting) -> Self {
        Self {
            file,
            offset: sighting.offset,
            length: sighting.length,
            form: sighting.form.as_str(),
            tenant: sighting.identity.tenant.get(),
            probe: sighting.identity.probe.get(),
            slot: sighting.identity.slot.get(),
            key: sighting.key.to_string(),
        }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = self.file {
            write!(f, "{file}: ")?;
        }
        write!(
            f,
            "byte {}: {} of tenant {}, probe {}, slot {} (key {})",
            self.offset, self.form, self.tenant, self.probe, self.slot, self.key
        )
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode, CliError> {
    let ring = args.keys.load()?;
    let stdin_only = [String::from("-")];
    let files = if args.files.is_empty() {
        &stdin_only[..]
    } else {
        &args.files[..]
    };
    let mut found = false;
    let mut failed = None;
    for file in files {
        // A file that cannot be read must not hide what stands in the others.
        match scan_one(&ring, file, args.json) {
            Ok(sightings) => found |= sightings,
            Err(error @ CliError::Read { .. }) => {
                if let Some(earlier) = failed.replace(error) {
                    eprintln!("canary-gen: {}", earlier.chain());
                }
            }
            Err(error) => return Err(error),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(ExitCode::from(u8::from(found))),
    }
}

fn scan_one(ring: &KeyRing, file: &str, json: bool) -> Result<bool, CliError> {
    let read_error = |source| CliError::Read {
        path: file.to_owned(),
        source,
    };
    let mut input: Box<dyn Read> = match file {
        "-" => Box::new(stdin().lock()),
        path => Box::new(File::open(path).map_err(read_error)?),
    };
    let mut scanner = Scanner::new(ring.clone());
    let mut sightings = Vec::new();
    let mut found = false;
    let mut chunk = vec![0; READ_BYTES];
    loop {
        let length = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(read_error(error)),
        };
        scanner.push(&chunk[..length], &mut sightings);
        found |= print(file, &mut sightings, json)?;
    }
    scanner.finish(&mut sightings);
    found |= print(file, &mut sightings, json)?;
    Ok(found)
}

fn print(file: &str, sightings: &mut Vec<Sighting>, json: bool) -> Result<bool, CliError> {
    let mut out = stdout().lock();
    let any = !sightings.is_empty();
    for sighting in sightings.drain(..) {
        let line = Line::new(Some(file), &sighting);
        let text = if json {
            serde_json::to_string(&line)?
        } else {
            line.to_string()
        };
        writeln!(out, "{text}").map_err(CliError::Write)?;
    }
    Ok(any)
}
