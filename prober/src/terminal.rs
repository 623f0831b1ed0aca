//! Standard error, shared by progress bars and lines: a line is written above the bars, never into them.

use indicatif::{MultiProgress, ProgressBar};
use std::io::{self, Write, stderr};
use std::sync::LazyLock;

static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Shows a bar below those that are there. On anything but a terminal nothing is shown.
pub fn show(bar: ProgressBar) -> ProgressBar {
    BARS.add(bar)
}

/// Writes a line for people; a closed standard error is nobody's fault.
pub fn say(line: &str) {
    let _ = writeln!(AboveBars, "{line}");
}

/// A writer to standard error that lets the bars step aside.
#[derive(Clone, Copy, Debug)]
pub struct AboveBars;

impl Write for AboveBars {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        BARS.suspend(|| stderr().write_all(text))?;
        Ok(text.len())
    }

    fn write_fmt(&mut self, text: std::fmt::Arguments<'_>) -> io::Result<()> {
        // In one piece: each write lets the bars step aside once.
        self.write_all(text.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        stderr().flush()
    }
}
