//! Admission: which pages a request starts with, and which it waits for.

use super::{Request, RequestId, SHORT_KEY_BITS, Scheduler, Stage, Submission};
use crate::engine::request::{Load, TierName};
use crate::engine::thinking::Voice;
use crate::fault::Fault;
use crate::kv::{Key, PAGE_TOKENS, PageId, Tier, pages_for};
use crate::scope::PrefixScope;
use crate::token::Token;

/// A request that waits for room.
pub(super) struct Waiting {
    submission: Submission,
    /// The keys of the prompt's whole pages, after that of whoever may share them.
    root: Key,
    keys: Vec<Key>,
}

/// What of a prompt is in a cache.
struct Found {
    /// Pages in the group's own memory.
    pages: Vec<PageId>,
    /// Pages after these, in a tier.
    loads: Vec<Load>,
}

impl Scheduler {
    /// What is known of a request before there is room for it.
    pub(super) fn await_room(&mut self, submission: Submission) -> Waiting {
        let root = self.root(&submission);
        let bits = if self.config.has(Fault::PrefixKeyCollision) {
            SHORT_KEY_BITS
        } else {
            Key::BITS
        };
        Waiting {
            root,
            keys: Key::chain(root, &submission.prompt, bits),
            submission,
        }
    }

    /// Admits in the order of arrival; whoever must wait for pages holds up those behind it.
    pub(super) fn admit_waiting(&mut self) {
        // Whoever was retracted comes first: it is older than whoever waits.
        while !self.is_full && self.swapped().is_none() {
            let Some((id, waiting)) = self.waiting.pop_front() else {
                return;
            };
            match self.admit(&waiting) {
                Some(request) => drop(self.requests.insert(id, request)),
                None => {
                    self.waiting.push_front((id, waiting));
                    self.is_full = true;
                }
            }
        }
    }

    fn admit(&mut self, waiting: &Waiting) -> Option<Request> {
        let Waiting {
            submission,
            root,
            keys,
        } = waiting;
        let prompt = &submission.prompt;
        let mut found = self.look_up(keys, prompt);
        // Before room is made: that throws out pages, and puts others where they were.
        for &page in &found.pages {
            self.prefill.hold(page);
        }
        for load in &mut found.loads {
            let slips = load.tier == TierName::Host && self.faults.meets(Fault::HostSlotNotPinned);
            load.is_pinned = !slips;
            if load.is_pinned {
                self.tier(load.tier).pin(load.slot);
            }
        }
        // The whole prompt as far as the pool reaches: only a fault lets a longer one come here.
        let granted = prompt.len().min(self.prefill.capacity());
        let fresh = pages_for(granted) - found.pages.len();
        let in_decode = pages_for(prompt.len() + 1);
        let ready = self.decode.free_pages() >= in_decode && self.make_room(fresh);
        let allocated = ready.then(|| {
            Some((
                self.prefill.allocate(fresh)?,
                self.decode.allocate(in_decode)?,
            ))
        });
        let Some((fresh, decode_table)) = allocated.flatten() else {
            self.prefill.release_all(found.pages);
            for load in found.loads.iter().filter(|load| load.is_pinned) {
                self.tier(load.tier).unpin(load.slot);
            }
            return None;
        };
        let cached_pages = found.pages.len() + found.loads.len();
        self.count_admitted(prompt.len(), &found);
        let cached = cached_pages * PAGE_TOKENS;
        let stage = if found.loads.is_empty() {
            Stage::Prefill { computed: cached }
        } else {
            Stage::Loading(found.loads)
        };
        let mut prefill_table = found.pages;
        prefill_table.extend(fresh);
        let (state_slot, inherited) = self.take_state();
        Some(Request {
            prompt: prompt.clone(),
            most: submission.most,
            root: *root,
            keys: keys.clone(),
            stage,
            prefill_table,
            decode_table,
            cached,
            metadata_slot: None,
            state_slot,
            inherited,
            visible: 0,
            thinking: submission.thinking,
            first: None,
            thoughts: Vec::new(),
            answer: Vec::new(),
            voice: Voice::new(submission.thinking),
            read_at: None,
            given: Vec::new(),
        })
    }

    fn count_admitted(&mut self, prompt: usize, found: &Found) {
        let tokens = |pages: usize| (pages * PAGE_TOKENS) as u64;
        let on_host = found.loads.iter();
        let on_host = on_host.filter(|load| load.tier == TierName::Host).count();
        let counts = &mut self.counts;
        counts.prompt_tokens += prompt as u64;
        counts.from_device += tokens(found.pages.len());
        counts.from_host += tokens(on_host);
        counts.from_disk += tokens(found.loads.len() - on_host);
    }

    /// The key before a prompt's first page: who shares a prefix shares this.
    fn root(&mut self, submission: &Submission) -> Key {
        let by_tenant = self.config.prefix_scope == PrefixScope::Tenant
            && !self.faults.meets(Fault::PrefixWithoutTenant);
        let by_salt = !self.faults.meets(Fault::PrefixWithoutSalt);
        let tenant = by_tenant.then_some(submission.tenant.as_str());
        let salt = by_salt.then_some(submission.salt.as_str());
        // KV that one adapter computed is wrong for every other.
        let by_adapter = !self.faults.meets(Fault::PrefixWithoutAdapter);
        let adapter = submission.adapter.as_deref().filter(|_| by_adapter);
        Key::root(tenant, salt, adapter)
    }

    /// A recurrent state, cleared, and what of its last request is left in it.
    fn take_state(&mut self) -> (usize, Vec<Token>) {
        let slot = self.free_states.pop().unwrap_or_else(|| {
            self.states.push(Vec::new());
            self.states.len() - 1
        });
        let before = std::mem::take(&mut self.states[slot]);
        let is_left = self.faults.meets(Fault::StateNotReset);
        (slot, if is_left { before } else { Vec::new() })
    }

    /// The longest beginning of a prompt that is in a cache. At least one token is always computed: the
    /// model must look at something.
    fn look_up(&mut self, keys: &[Key], prompt: &[Token]) -> Found {
        let mut found = Found {
            pages: Vec::new(),
            loads: Vec::new(),
        };
        let compares = !self.faults.meets(Fault::PrefixKeyCollision);
        let most = prompt.len().saturating_sub(1).min(self.prefill.capacity()) / PAGE_TOKENS;
        let pages = keys.iter().zip(prompt.chunks_exact(PAGE_TOKENS)).take(most);
        for (page, (&key, tokens)) in pages.enumerate() {
            let here = found.loads.is_empty().then(|| {
                let expected = compares.then_some(tokens);
                self.prefix.find(&self.prefill, key, expected)
            });
            if let Some(Some(here)) = here {
                found.pages.push(here);
                continue;
            }
            let host = self.host.find(key).map(|slot| (TierName::Host, slot));
            let disk = || self.disk.find(key).map(|slot| (TierName::Disk, slot));
            let Some((tier, slot)) = host.or_else(disk) else {
                break;
            };
            found.loads.push(Load {
                tier,
                slot,
                page,
                is_pinned: false,
            });
        }
        found
    }

    /// Frees pages of the prefill group until so many are; what they held goes to the host's memory, and
    /// what that has no room for to the disk.
    fn make_room(&mut self, pages: usize) -> bool {
        let missing = pages.saturating_sub(self.prefill.free_pages());
        if missing > 0 && self.prefix.evictable(&self.prefill) < missing {
            return false;
        }
        for evicted in self.prefix.evict(&mut self.prefill, missing) {
            let contents = self.prefill.contents(evicted.page);
            if let Some((key, contents)) = self.host.store(evicted.key, contents, false) {
                let index_stale = self.faults.meets(Fault::DiskIndexStale);
                self.disk.store(key, contents, index_stale);
            }
        }
        self.prefill.free_pages() >= pages
    }

    /// Brings pages back from the tiers: issued when a request was admitted, done a step later.
    pub(super) fn load(&mut self) {
        for id in self.at(|stage| matches!(stage, Stage::Loading(_))) {
            let Some(request) = self.requests.get_mut(&id) else {
                continue;
            };
            let computed = request.cached;
            let before = std::mem::replace(&mut request.stage, Stage::Prefill { computed });
            let (table, keys, root) = (&request.prefill_table, &request.keys, request.root);
            let Stage::Loading(loads) = before else {
                continue;
            };
            for load in loads {
                let tier = match load.tier {
                    TierName::Host => &mut self.host,
                    TierName::Disk => &mut self.disk,
                };
                let page = table[load.page];
                self.prefill.fill(page, &tier.read(load.slot));
                if load.is_pinned {
                    tier.unpin(load.slot);
                }
                let parent = load.page.checked_sub(1).map_or(root, |before| keys[before]);
                self.prefix
                    .insert(&mut self.prefill, parent, keys[load.page], page);
            }
        }
    }

    pub(super) fn tier(&mut self, name: TierName) -> &mut Tier {
        match name {
            TierName::Host => &mut self.host,
            TierName::Disk => &mut self.disk,
        }
    }

    /// The oldest request whose pages were taken.
    pub(super) fn swapped(&self) -> Option<RequestId> {
        let mut swapped = self.requests.iter();
        let swapped = swapped.find(|(_, request)| matches!(request.stage, Stage::Swapped(_)));
        swapped.map(|(&id, _)| id)
    }
}
