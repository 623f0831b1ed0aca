//! The fixed time grid.

use canary_gen::Seed;
use std::ops::Range;
use std::time::Duration;
use time::OffsetDateTime;

/// One moment at which a round is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tick {
    /// The cell of the grid, counted from the Unix epoch. With endpoint and scenario it names a
    /// round, everywhere and forever (as long as `every` is not changed).
    pub number: i64,
    /// When, in UTC, on a whole millisecond (so that a database keeps it exactly).
    pub at: OffsetDateTime,
}

/// Ticks that lie `every` apart but for their jitter. The same inputs give the same ticks, always.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    every: i128,
    jitter: u64,
    phase: i128,
    seed: Seed,
}

/// The years a timestamp can be written in, in milliseconds since the epoch: 0000 to 9999.
const FIRST_INSTANT: i128 = -62_167_219_200_000;
const LAST_INSTANT: i128 = 253_402_300_799_999;

impl Grid {
    /// A grid whose phase, in `[0, every)`, and jitter, in `[0, jitter)`, are drawn from `seed`.
    /// Both durations are cut to whole milliseconds; `every` is at least one of them and `jitter`
    /// at most half of `every`, so ticks never touch.
    #[must_use]
    pub fn new(every: Duration, jitter: Duration, seed: Seed) -> Self {
        let every = milliseconds(every).max(1);
        Self {
            every: i128::from(every),
            jitter: milliseconds(jitter).min(every / 2),
            phase: i128::from(seed.child("phase").choices().below(every)),
            seed,
        }
    }

    /// The tick of a cell. Beyond the years 0 to 9999 it stays at their ends.
    #[must_use]
    pub fn tick(&self, number: i64) -> Tick {
        let draw = self.seed.child_number("jitter", number.cast_unsigned());
        let shift = draw.choices().below(self.jitter);
        let instant = self.phase + i128::from(number) * self.every + i128::from(shift);
        Tick {
            number,
            at: at(instant),
        }
    }

    /// The first tick later than `t`.
    #[must_use]
    pub fn next_after(&self, t: OffsetDateTime) -> Tick {
        // A tick is never earlier than its cell, so the one of the cell before `t`'s has passed;
        // jitter decides whether the one of `t`'s own cell has.
        let since_phase = t.unix_timestamp_nanos() - self.phase * NANOS;
        let cell = since_phase.div_euclid(self.every * NANOS);
        let own = self.tick(cell as i64);
        if own.at > t {
            own
        } else {
            self.tick(own.number + 1)
        }
    }

    /// The last tick not later than `t`.
    #[must_use]
    pub fn last_until(&self, t: OffsetDateTime) -> Tick {
        self.tick(self.next_after(t).number - 1)
    }

    /// The cells after `from` whose ticks have passed at `now`; empty if none has.
    #[must_use]
    pub fn missed(&self, from: Tick, now: OffsetDateTime) -> Range<i64> {
        let first = from.number.saturating_add(1);
        first..self.next_after(now).number.max(first)
    }
}

/// Nanoseconds in a millisecond.
const NANOS: i128 = 1_000_000;
/// The widest cell, in milliseconds: 34 years. Keeps every product below far from overflow.
const LONGEST: u64 = 1 << 40;

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).map_or(LONGEST, |number| number.min(LONGEST))
}

fn at(milliseconds: i128) -> OffsetDateTime {
    let within = milliseconds.clamp(FIRST_INSTANT, LAST_INSTANT);
    OffsetDateTime::from_unix_timestamp_nanos(within * NANOS)
        .expect("the years 0 to 9999 can be written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grids() -> impl Strategy<Value = Grid> {
        (10_000u64..=604_800_000, 0.0f64..=0.5, any::<u64>()).prop_map(|(every, share, seed)| {
            Grid::new(
                Duration::from_millis(every),
                Duration::from_millis((every as f64 * share) as u64),
                Seed::from_number(seed),
            )
        })
    }

    fn moments() -> impl Strategy<Value = OffsetDateTime> {
        // The years 1900 to 2200, to the nanosecond.
        (-2_208_988_800_000_000_000i128..7_258_118_400_000_000_000).prop_map(|nanos| {
            OffsetDateTime::from_unix_timestamp_nanos(nanos).expect("a writable year")
        })
    }

    proptest! {
        #[test]
        fn ticks_strictly_increase_and_stay_in_the_first_half_of_their_cell(
            grid in grids(), moment in moments(),
        ) {
            let tick = grid.next_after(moment);
            let (number, next) = (tick.number, grid.tick(tick.number + 1));
            prop_assert!(tick.at < next.at);
            let cell = grid.phase + i128::from(number) * grid.every;
            let jitter = tick.at.unix_timestamp_nanos() - cell * NANOS;
            prop_assert!(jitter >= 0 && jitter < i128::from(grid.jitter.max(1)) * NANOS);
            prop_assert!(jitter * 2 <= grid.every * NANOS);
        }

        #[test]
        fn walking_from_any_moment_meets_each_cell_once(grid in grids(), start in moments()) {
            let mut tick = grid.next_after(start);
            for _ in 0..20 {
                let next = grid.next_after(tick.at);
                prop_assert_eq!(next.number, tick.number + 1);
                prop_assert!(next.at > tick.at);
                tick = next;
            }
        }

        #[test]
        fn the_next_tick_is_the_first_one_later(grid in grids(), now in moments()) {
            let next = grid.next_after(now);
            prop_assert!(next.at > now);
            let last = grid.last_until(now);
            prop_assert!(last.at <= now);
            prop_assert_eq!(last.number + 1, next.number);
        }

        #[test]
        fn a_restarted_grid_has_the_same_ticks(
            every in 10_000u64..604_800_000, seed: u64, number in -1_000i64..1_000_000,
        ) {
            let grid = || {
                let every = Duration::from_millis(every);
                Grid::new(every, every / 10, Seed::from_number(seed))
            };
            prop_assert_eq!(grid().tick(number), grid().tick(number));
        }

        #[test]
        fn missed_cells_are_those_between_a_tick_and_now(
            grid in grids(), from in moments(), later in 0i64..3_000_000,
        ) {
            let from = grid.next_after(from);
            let now = from.at + time::Duration::seconds(later);
            let missed = grid.missed(from, now);
            prop_assert_eq!(missed.start, from.number + 1);
            prop_assert!(missed.end >= missed.start);
            prop_assert!(grid.tick(missed.end).at > now);
            if !missed.is_empty() {
                prop_assert!(grid.tick(missed.end - 1).at <= now);
            }
        }

        #[test]
        fn no_input_panics(every: u64, jitter: u64, number: i64, nanos: i64) {
            let grid = Grid::new(
                Duration::from_millis(every), Duration::from_millis(jitter), Seed::from_number(1),
            );
            let tick = grid.tick(number);
            let now = OffsetDateTime::from_unix_timestamp_nanos(nanos.into()).expect("in range");
            let _ = (grid.next_after(now), grid.last_until(now), grid.missed(tick, now));
        }
    }

    #[test]
    fn a_moment_before_the_tick_that_was_missed_last_misses_nothing() {
        let grid = Grid::new(
            Duration::from_secs(60),
            Duration::ZERO,
            Seed::from_number(3),
        );
        let tick = grid.tick(1_000);
        assert!(grid.missed(tick, tick.at).is_empty());
        assert!(grid.missed(tick, OffsetDateTime::UNIX_EPOCH).is_empty());
    }

    #[test]
    fn grids_of_different_seeds_are_out_of_step() {
        let phases: std::collections::BTreeSet<i128> = (0..50)
            .map(|seed| {
                Grid::new(
                    Duration::from_secs(900),
                    Duration::ZERO,
                    Seed::from_number(seed),
                )
            })
            .map(|grid| grid.phase)
            .collect();
        assert!(phases.len() > 45, "{} different phases of 50", phases.len());
        assert!(phases.iter().all(|phase| (0..900_000).contains(phase)));
    }

    #[test]
    fn jitter_spreads_over_its_whole_range() {
        let grid = Grid::new(
            Duration::from_secs(100),
            Duration::from_secs(10),
            Seed::from_number(5),
        );
        let shifts: Vec<i128> = (0..400)
            .map(|number| {
                let cell = grid.phase + i128::from(number) * grid.every;
                grid.tick(number).at.unix_timestamp_nanos() / NANOS - cell
            })
            .collect();
        assert!(shifts.iter().any(|&shift| shift < 1_000));
        assert!(shifts.iter().any(|&shift| shift >= 9_000));
        assert!(shifts.iter().all(|shift| (0..10_000).contains(shift)));
    }
}
