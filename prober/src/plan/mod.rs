//! Planning: when which scenario is due at which endpoint. The station before `scenario`.
//!
//! Time is a fixed grid, one for each pair of endpoint and scenario. A cell of the grid is `every`
//! wide and holds one tick. Cells are numbered from the Unix epoch, so that a restarted prober, or a
//! second one, computes the same ticks. Each grid is shifted by a phase of its own, so that nothing
//! starts all at once, and within its cell a tick is moved by a jitter, so that an endpoint cannot
//! learn when it is watched. Phase and jitter are functions of names and numbers, never of chance.
//!
//! What is not started in its time is skipped, never piled up, and every skip is reported. So is what the
//! day's budget does not allow ([`choose`] says what goes first).
//!
//! Pure: the present moment comes in as an argument.

mod grid;
mod ration;
mod timetable;

pub use grid::{Grid, Tick};
pub use ration::{Claim, Rank, choose, forecast};
pub use timetable::{Due, Order, SkipReason, Skipped, Timetable};
