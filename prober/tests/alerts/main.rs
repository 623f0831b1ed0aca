//! What becomes of incidents reaches receivers: at least once, in order, and whatever happens in between.
#![allow(clippy::unwrap_used)]

mod alertmanager;
mod desk;
mod drill;
mod killed;
mod mail;
#[path = "../support/mod.rs"]
mod support;
mod telling;
mod timing;
mod trouble;
