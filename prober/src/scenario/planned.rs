//! Planned probes and schedules.

use super::Order;
use canary_gen::{Form, Head, Layout, Question, Seed};
use std::fmt;

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Measures the endpoint's tokens; proves nothing.
    Calibration,
    /// Fills the cache with its canaries.
    Donor,
    /// Within the advertised window, after or beside those whose canaries it must not get.
    Victim,
    /// Over the advertised window, after a donor.
    Overlong,
    /// One of several at once.
    Peer,
    /// Its client goes away before the answer is complete.
    Leaver,
    /// Sends again what was sent before.
    Returner,
    /// Alone, with nothing of a stranger's since the same request before.
    Solo,
    /// The same request after or beside strangers'.
    Amid,
    /// Sends a beginning for the first time.
    Primer,
    /// Sends a beginning that only another tenant has sent.
    Reader,
    /// Sends a beginning that it has sent itself.
    Control,
    /// Sends a beginning that nobody has sent, in the place of a reader.
    Fresh,
    /// Sends the very prompt that another tenant sends.
    Twin,
}

impl Role {
    /// The name in tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Calibration => "calibration",
            Self::Donor => "donor",
            Self::Victim => "victim",
            Self::Overlong => "overlong",
            Self::Peer => "peer",
            Self::Leaver => "leaver",
            Self::Returner => "returner",
            Self::Solo => "solo",
            Self::Amid => "amid",
            Self::Primer => "primer",
            Self::Reader => "reader",
            Self::Control => "control",
            Self::Fresh => "fresh",
            Self::Twin => "twin",
        }
    }

    /// Whether a round that learnt nothing from its probes of this role has failed its purpose.
    #[must_use]
    pub fn is_the_point(self) -> bool {
        !matches!(
            self,
            Self::Calibration | Self::Donor | Self::Leaver | Self::Primer | Self::Twin
        )
    }
}

/// When a client goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// So many milliseconds after it began to send.
    AfterMs(u32),
    /// Once so many pieces of the answer's text have come.
    AfterPieces(u32),
}

/// A beginning that several documents have. It is planned in tokens and woven in units: what these cost is
/// known only when the endpoint's measure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedHead {
    /// Of its words.
    pub seed: Seed,
    /// Its length in tokens, at least 1.
    pub tokens: u64,
}

impl PlannedHead {
    /// The head where a unit costs so many tokens. Documents that shall begin alike must be woven with the
    /// same cost.
    #[must_use]
    pub fn woven(self, per_unit: f64) -> Head {
        Head {
            seed: self.seed,
            units: (self.tokens as f64 / per_unit) as u64,
        }
    }
}

/// One request to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedProbe {
    /// Who sends: an index into the endpoint's tenants.
    pub tenant: usize,
    /// What for.
    pub role: Role,
    /// Length of the prompt, in tokens.
    pub tokens: u64,
    /// How canaries stand in it.
    pub layout: Layout,
    /// How they are written.
    pub form: Form,
    /// Of its document.
    pub seed: Seed,
    /// What it begins with, if others begin the same.
    pub head: Option<PlannedHead>,
    /// What it asks at its end.
    pub question: Question,
    /// Room for the answer, in tokens.
    pub max_answer_tokens: u32,
    /// The probe whose very document it sends again, as its place in the schedule, all steps counted through.
    pub repeats: Option<usize>,
    /// When it is sent, in milliseconds after its step began.
    pub after_ms: u32,
    /// When its client goes away, if before the end.
    pub cancel: Option<Cancel>,
    /// What it calls itself, if others call themselves the same.
    pub shared_id: Option<u64>,
    /// Probes of one number are compared with each other.
    pub set: u32,
}

impl PlannedProbe {
    /// A probe that is sent at once, with a document of its own that asks for one canary.
    #[must_use]
    pub fn new(order: &Order, tenant: usize, role: Role, tokens: u64, seed: Seed) -> Self {
        Self {
            tenant,
            role,
            tokens,
            layout: Layout::Dense,
            form: order.form,
            seed,
            head: None,
            question: Question::One,
            max_answer_tokens: order.max_answer_tokens,
            repeats: None,
            after_ms: 0,
            cancel: None,
            shared_id: None,
            set: 0,
        }
    }

    /// With prose between its canaries, one every so many tokens.
    #[must_use]
    pub fn sparse(self, stride_tokens: u32) -> Self {
        Self {
            layout: Layout::Sparse { stride_tokens },
            ..self
        }
    }

    /// Asking for all canaries: whatever of them the model sees.
    #[must_use]
    pub fn listing(self) -> Self {
        Self {
            question: Question::List,
            ..self
        }
    }
}

/// Steps one after the other; the probes of a step are sent together, each at its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The steps, in order.
    pub steps: Vec<Vec<PlannedProbe>>,
}

impl Schedule {
    /// The forms and layouts whose costs must be known; of sparse ones, whatever their stride, one each.
    #[must_use]
    pub fn kinds(&self) -> Vec<(Form, Layout)> {
        let mut kinds: Vec<(Form, Layout)> = Vec::new();
        for probe in self.steps.iter().flatten() {
            let layout = measured_as(probe.layout);
            let known = |(form, other): &(Form, Layout)| {
                *form == probe.form && other.as_str() == layout.as_str()
            };
            if !kinds.iter().any(known) {
                kinds.push((probe.form, layout));
            }
        }
        kinds
    }

    /// These steps, and those of `before` before them.
    #[must_use]
    pub fn after(mut self, before: Self) -> Self {
        let moved = before.steps.iter().flatten().count();
        for probe in self.steps.iter_mut().flatten() {
            probe.repeats = probe.repeats.map(|place| place + moved);
        }
        let mut steps = before.steps;
        steps.append(&mut self.steps);
        Self { steps }
    }

    /// What all of it sends, in tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.steps.iter().flatten().map(|probe| probe.tokens).sum()
    }
}

/// The layout whose token costs are this one's, too: prose without canaries costs what prose does.
#[must_use]
pub fn measured_as(layout: Layout) -> Layout {
    match layout {
        Layout::Plain => Layout::Sparse {
            stride_tokens: u32::MAX,
        },
        other => other,
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = 0;
        for (step, probes) in self.steps.iter().enumerate() {
            for probe in probes {
                writeln!(f, "step {step}: {number}: {probe}")?;
                number += 1;
            }
        }
        Ok(())
    }
}

impl fmt::Display for PlannedProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tenant {} as {} sends {} tokens",
            self.tenant,
            self.role.as_str(),
            self.tokens
        )?;
        match (self.repeats, self.layout) {
            (Some(other), _) => write!(f, ", the document of {other}")?,
            (None, Layout::Sparse { stride_tokens }) => {
                write!(f, ", a canary every {stride_tokens} tokens ({})", self.form)?;
            }
            (None, Layout::Dense) => write!(f, ", a canary in every page ({})", self.form)?,
            (None, Layout::Plain) => write!(f, ", no canary")?,
        }
        if let Some(head) = self.head {
            let seed = head.seed.as_bytes();
            write!(f, ", behind head {:02x}{:02x}", seed[0], seed[1])?;
            write!(f, " of {} tokens", head.tokens)?;
        }
        if self.question == Question::List {
            write!(f, ", asks for all")?;
        }
        if self.after_ms > 0 {
            write!(f, ", after {} ms", self.after_ms)?;
        }
        match self.cancel {
            Some(Cancel::AfterMs(ms)) => write!(f, ", leaves after {ms} ms")?,
            Some(Cancel::AfterPieces(pieces)) => write!(f, ", leaves after {pieces} pieces")?,
            None => {}
        }
        if let Some(id) = self.shared_id {
            write!(f, ", as request {id:016x}")?;
        }
        if self.set > 0 {
            write!(f, ", set {}", self.set)?;
        }
        Ok(())
    }
}
