//! Endpoints that misbehave, over real sockets, served by hand so that they can do what no HTTP
//! server would. Times are tiny limits of ours that are really waited for.
#![allow(clippy::unwrap_used)]

mod authority;
mod compressed;
mod connecting;
mod http2;
mod limits;
mod sending;
mod shapes;
mod support;
mod ways;
