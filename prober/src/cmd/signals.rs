//! Signals: the first SIGTERM or SIGINT drains, a second one ends the process at once; SIGHUP reloads.

use super::{CommandError, exit, say};
use crate::reload::Reloader;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first SIGTERM or SIGINT cancels.
pub(super) fn stop_token() -> Result<CancellationToken, CommandError> {
    let stop = CancellationToken::new();
    let mut terminate =
        signal(SignalKind::terminate()).map_err(CommandError::io("listen for SIGTERM"))?;
    let mut interrupt =
        signal(SignalKind::interrupt()).map_err(CommandError::io("listen for SIGINT"))?;
    let token = stop.clone();
    tokio::spawn(async move {
        let mut next =
            async || tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () };
        next().await;
        say("prober: stopping; probes under way may end (again to stop at once)");
        token.cancel();
        next().await;
        say("prober: stopped before the end; what was under way is recorded as unfinished");
        std::process::exit(i32::from(exit::ERROR));
    });
    Ok(stop)
}

/// Reloads the configuration at each SIGHUP, as long as the process runs.
pub(super) fn reload_on_hangup(reloader: Reloader) -> Result<(), CommandError> {
    let mut hangup = signal(SignalKind::hangup()).map_err(CommandError::io("listen for SIGHUP"))?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            // What comes of it is in the log.
            let _ = reloader.reload().await;
        }
    });
    Ok(())
}
