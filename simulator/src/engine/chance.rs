//! Which requests meet which faults.

use crate::config::Config;
use crate::fault::{Fault, FaultSetting};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// The faults of an engine, with their luck.
pub(crate) struct Faults {
    settings: Vec<FaultSetting>,
    chance: ChaCha8Rng,
}

impl Faults {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            settings: config.faults.clone(),
            chance: ChaCha8Rng::seed_from_u64(config.seed),
        }
    }

    /// Whether a request that could meet a fault does.
    pub(crate) fn meets(&mut self, fault: Fault) -> bool {
        let setting = self.settings.iter().find(|setting| setting.fault == fault);
        let Some(&FaultSetting { probability, .. }) = setting else {
            return false;
        };
        self.happens(probability)
    }

    /// Whether something of this probability happens.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        ((self.chance.next_u64() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}
