//! Alerts: what becomes of incidents is told to receivers.
//!
//! ```text
//! incident event ─▶ alert (by a trigger, in the same transaction) ─▶ routed to receivers ─▶ claimed ─▶ sent ─▶ settled
//! ```
//!
//! At least once, and of each receiver in order: the urgent ones apart from the others (docs/alerts.md).

mod dispatch;
mod filter;
mod guard;
mod notice;
mod quiet;
mod receiver;
mod retry;
mod send;

#[cfg(test)]
mod samples;

pub use dispatch::{Dispatcher, check_receivers};
pub use filter::Filter;
pub use notice::{IncidentNotice, Notice, Severity, Subject, What};
pub use quiet::QuietHours;
pub use receiver::{
    Alertmanager, Context, Email, Envelope, Headers, Kind, Letter, MOST_TOGETHER, MailTls, Message,
    PagerDuty, Post, Receiver, SigningKey, SigningKeyError, Slack, Teams, Webhook,
};
pub use retry::{Answer, Next, PATIENCE, next};
pub use send::{Sender, SenderError};
