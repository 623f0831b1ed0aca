//! Four probers share forty endpoints for ten minutes (of a clock that runs faster), while they are killed, stopped
//! and cut off from the database, and the database crashes. Afterwards the books are checked.
//!
//! `FLEET_SEEDS=1..51` does it under other seeds than the one of every day.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod books;
mod member;
mod relay;
mod server;
#[path = "../support/mod.rs"]
mod support;
mod world;

use canary_gen::Seed;
use member::Member;
use prober::clock::Clock as _;
use std::time::Duration;
use world::World;

/// How many probers there are.
const MEMBERS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fleet_every_tick_has_one_outcome_whatever_happens_to_the_probers_and_the_database() {
    for seed in seeds() {
        let outcome = watch_through(seed).await;
        eprintln!("seed {seed}: {outcome}");
    }
}

/// One of the probers, in a process of its own.
#[test]
#[ignore = "started by the other test"]
fn member() {
    if let Some(orders) = member::Orders::from_environment() {
        member::watch(&orders);
    }
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(seeds) = std::env::var("FLEET_SEEDS") else {
        return 1..2;
    };
    let (first, end) = seeds.split_once("..").expect("FLEET_SEEDS is FIRST..END");
    first.parse().unwrap()..end.parse().unwrap()
}

/// What may happen.
#[derive(Clone, Copy, Debug)]
enum Mishap {
    /// A prober dies (`kill -9`), and is started again where it was.
    Kill,
    /// A prober dies, and another one is started in its place.
    Replace,
    /// A prober stands still (SIGSTOP), at times for longer than its lease lasts, and goes on.
    Stop,
    /// A prober hears nothing of the database, and it nothing of it.
    CutOff,
    /// The database crashes and recovers.
    Crash,
}

/// So often of twelve.
const MISHAPS: [Mishap; 12] = [
    Mishap::Kill,
    Mishap::Kill,
    Mishap::Kill,
    Mishap::Replace,
    Mishap::Replace,
    Mishap::Stop,
    Mishap::Stop,
    Mishap::Stop,
    Mishap::CutOff,
    Mishap::CutOff,
    Mishap::CutOff,
    Mishap::Crash,
];

async fn watch_through(seed: u64) -> String {
    let mut world = World::new().await;
    let mut chance = Seed::from_number(seed).child("mishaps").choices();
    let mut members: Vec<Member> = (0..MEMBERS).map(|number| world.member(number)).collect();
    let mut mishaps = 0;
    while world.clock.now() < world::END {
        tokio::time::sleep(Duration::from_millis(chance.between(200, 1_200))).await;
        let number = chance.below(MEMBERS as u64) as usize;
        let pause = Duration::from_millis(chance.between(200, 2 * world::LEASE.as_millis() as u64));
        match chance.pick(&MISHAPS) {
            Mishap::Kill => members[number].kill(),
            Mishap::Replace => members[number].replace(),
            Mishap::Stop => members[number].stop_for(pause),
            Mishap::CutOff => members[number].cut_off_for(pause),
            Mishap::Crash => world.server.crash().await,
        }
        mishaps += 1;
        for member in &mut members {
            member.attend(&world);
        }
    }
    // From here on nothing happens any more. Who is there decides upon what is left.
    for member in &mut members {
        member.recover(&world).await;
    }
    world.until_decided(&mut members).await;
    for member in &mut members {
        member.end().await;
    }
    let outcome = books::check(&world, &members).await;
    format!("{mishaps} mishaps; {outcome}")
}
