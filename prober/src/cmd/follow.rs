//! Parts of `prober run` that begin anew when another configuration is taken over.

use crate::config::Config;
use crate::reload::changed;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Keeps a part at work by the configuration that holds: it is begun, told to stop when another one comes, waited for, and
/// begun again. One that ends by itself has nothing to do until then.
pub(super) async fn follow<Work: Future<Output = ()>>(
    mut configs: watch::Receiver<Arc<Config>>,
    stop: CancellationToken,
    begin: impl Fn(Arc<Config>, CancellationToken) -> Work,
) {
    while !stop.is_cancelled() {
        let config = Arc::clone(&configs.borrow_and_update());
        let told = stop.child_token();
        let mut work = pin!(begin(config, told.clone()));
        let has_ended = tokio::select! {
            () = &mut work => true,
            () = changed(&mut configs) => false,
        };
        if has_ended {
            tokio::select! {
                () = stop.cancelled() => {}
                () = changed(&mut configs) => {}
            }
        } else {
            told.cancel();
            work.await;
        }
    }
}
