//! The router between the engine and its clients: many streams through one connection.

use super::chance::Faults;
use super::request::{Event, Finish, RequestId};
use crate::config::Config;
use crate::fault::Fault;
use std::collections::HashMap;
use tokio::sync::mpsc::UnboundedSender;

/// What a client calls its request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientIds {
    /// `x-request-id`.
    pub(crate) request: Option<String>,
    /// The trace id of `traceparent`.
    pub(crate) trace: Option<String>,
}

/// Under which name a client waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    /// The engine's own number: nobody else has it.
    Own(RequestId),
    /// What the client calls its request.
    Given(String),
    /// The trace that the request belongs to.
    Trace(String),
}

/// Who gets which events.
pub(super) struct Router {
    faults: Faults,
    /// The open streams as the engine numbers them, and as the router does.
    streams: Vec<RequestId>,
    slots: Vec<RequestId>,
    names: HashMap<RequestId, Name>,
    clients: HashMap<Name, Vec<UnboundedSender<Event>>>,
}

impl Router {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            faults: Faults::new(config),
            streams: Vec::new(),
            slots: Vec::new(),
            names: HashMap::new(),
            clients: HashMap::new(),
        }
    }

    /// A client waits for the answer to a request.
    pub(super) fn open(&mut self, id: RequestId, ids: ClientIds, events: UnboundedSender<Event>) {
        let name = self.name(id, ids);
        let waiting = self.clients.entry(name.clone()).or_default();
        if !matches!(name, Name::Trace(_)) {
            // Of two requests of one name, the later one's client is known.
            waiting.clear();
        }
        waiting.push(events);
        self.names.insert(id, name);
        self.streams.push(id);
        self.slots.clone_from(&self.streams);
    }

    fn name(&mut self, id: RequestId, ids: ClientIds) -> Name {
        if let Some(request) = ids.request
            && self.faults.meets(Fault::RequestIdReused)
        {
            return Name::Given(request);
        }
        if let Some(trace) = ids.trace
            && self.faults.meets(Fault::TraceIdCollides)
        {
            return Name::Trace(trace);
        }
        Name::Own(id)
    }

    /// Hands on what the engine tells of a request.
    pub(super) fn tell(&mut self, id: RequestId, event: Event) {
        let Some(stream) = self.streams.iter().position(|&open| open == id) else {
            return;
        };
        let clients = self.slots.get(stream).and_then(|slot| self.names.get(slot));
        for client in clients
            .and_then(|name| self.clients.get(name))
            .into_iter()
            .flatten()
        {
            // A client that went away says so by itself.
            let _ = client.send(event);
        }
        if !matches!(event, Event::Token(_)) {
            self.close(id);
        }
    }

    /// A stream has come to its end, or its client went away; the streams behind it move up.
    pub(super) fn close(&mut self, id: RequestId) {
        let Some(stream) = self.streams.iter().position(|&open| open == id) else {
            return;
        };
        self.streams.remove(stream);
        let is_last = stream == self.streams.len();
        if (is_last || !self.faults.meets(Fault::StreamsSwapped)) && stream < self.slots.len() {
            self.slots.remove(stream);
        }
        if let Some(name) = self.names.remove(&id)
            && !self.names.values().any(|other| *other == name)
        {
            self.clients.remove(&name);
        }
    }

    /// The engine stops.
    pub(super) fn stop(&mut self) {
        for client in self.clients.values().flatten() {
            let _ = client.send(Event::End {
                finish: Finish::Abort,
                prompt: 0,
                cached: 0,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultSetting;
    use crate::token::{Token, tokenize};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    fn router(fault: Option<Fault>) -> Router {
        let faults = fault.map(|fault| FaultSetting {
            fault,
            probability: 1.0,
        });
        Router::new(&Config {
            faults: faults.into_iter().collect(),
            ..Config::default()
        })
    }

    fn open(router: &mut Router, id: u64, ids: &ClientIds) -> UnboundedReceiver<Event> {
        let (sender, receiver) = unbounded_channel();
        router.open(RequestId(id), ids.clone(), sender);
        receiver
    }

    fn token(text: &str) -> Token {
        tokenize(text)[0]
    }

    fn tell(router: &mut Router, id: u64, text: &str) {
        router.tell(RequestId(id), Event::Token(token(text)));
    }

    fn end(router: &mut Router, id: u64) {
        let end = Event::End {
            finish: Finish::Stop,
            prompt: 0,
            cached: 0,
        };
        router.tell(RequestId(id), end);
    }

    fn heard(client: &mut UnboundedReceiver<Event>) -> String {
        let mut text = String::new();
        while let Ok(Event::Token(token)) = client.try_recv() {
            text.push_str(&String::from_utf8_lossy(token.as_bytes()));
        }
        text
    }

    /// What each of three clients hears when the first ends and all call their requests the same.
    fn three(fault: Option<Fault>) -> [String; 3] {
        let ids = ClientIds {
            request: Some("r".to_owned()),
            trace: Some("t".to_owned()),
        };
        let mut router = router(fault);
        let mut clients = [0, 1, 2].map(|id| open(&mut router, id, &ids));
        for (id, text) in [(0, "a"), (1, "b"), (2, "c")] {
            tell(&mut router, id, text);
        }
        end(&mut router, 0);
        for (id, text) in [(1, "d"), (2, "e")] {
            tell(&mut router, id, text);
        }
        clients.each_mut().map(heard)
    }

    #[test]
    fn everybody_hears_its_own_whatever_clients_call_their_requests() {
        assert_eq!(three(None), ["a", "bd", "ce"]);
    }

    #[test]
    fn with_a_reused_id_the_last_client_hears_what_belongs_to_others() {
        assert_eq!(three(Some(Fault::RequestIdReused)), ["", "", "abc"]);
    }

    #[test]
    fn with_a_colliding_trace_everybody_hears_everything() {
        let all = three(Some(Fault::TraceIdCollides));
        assert!(all.iter().all(|text| text.starts_with("abc")), "{all:?}");
    }

    #[test]
    fn with_swapped_streams_those_behind_an_ended_one_are_heard_by_their_neighbour() {
        assert_eq!(three(Some(Fault::StreamsSwapped)), ["a", "be", "c"]);
    }
}
