//! Who gives a command.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// User and host, as the operating system tells them: `root (uid 0) at probe-7`.
pub(super) fn login() -> String {
    let variable = |name| std::env::var(name).ok().filter(|name| !name.is_empty());
    let user = variable("USER").or_else(|| variable("LOGNAME"));
    // A variable can be set to anything; this cannot.
    let uid = fs::metadata("/proc/self").map_or("unknown".to_owned(), |own| own.uid().to_string());
    let host = ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .into_iter()
        .find_map(|file| fs::read_to_string(file).ok())
        .or_else(|| variable("HOSTNAME"))
        .unwrap_or_default();
    let host = match host.trim() {
        "" => "an unknown host",
        host => host,
    };
    format!(
        "{} (uid {uid}) at {host}",
        user.as_deref().unwrap_or("unknown")
    )
}
