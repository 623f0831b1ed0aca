-- Findings of one endpoint, kind and signature are one incident, from the first until it is resolved.

create table incidents (
    id              bigint generated always as identity primary key,
    endpoint_id     bigint not null references endpoints (id),
    kind            text not null,
    signature       text not null,
    state           text not null,
    opened_at       timestamptz not null,
    last_finding_at timestamptz not null,
    findings        bigint not null,
    reopened        integer not null default 0,
    acknowledged_at timestamptz,
    acknowledged_by text,
    resolved_at     timestamptz,
    resolved_by     text,
    constraint incidents_state_known check (state in ('open', 'acknowledged', 'resolved')),
    constraint incidents_signature_form check (signature ~ '^[a-z_/]{1,80}$'),
    constraint incidents_counts check (findings > 0 and reopened >= 0),
    constraint incidents_acknowledged_complete check ((acknowledged_at is null) = (acknowledged_by is null)),
    constraint incidents_acknowledged_when check (state <> 'acknowledged' or acknowledged_at is not null),
    constraint incidents_resolved_when check ((state = 'resolved') = (resolved_at is not null)),
    constraint incidents_resolved_by_when check (resolved_by is null or resolved_at is not null),
    constraint incidents_who_told check (acknowledged_by ~ '[^[:space:]]' and resolved_by ~ '[^[:space:]]'),
    constraint incidents_leak_by_person check (kind <> 'leak' or state <> 'resolved' or resolved_by is not null)
);
comment on table incidents is 'Findings of one endpoint, kind and signature (docs/incidents.md)';
comment on column incidents.kind is 'Of its findings';
comment on column incidents.signature is 'What its findings show of the mechanism; of a leak: relation of the donor / length of the receiver''s prompt / where it stood';
comment on column incidents.opened_at is 'When its first finding was made; reopening does not change it';
comment on column incidents.last_finding_at is 'When its last finding was made';
comment on column incidents.findings is 'How many there are';
comment on column incidents.reopened is 'How often a finding opened it again after it was resolved';
comment on column incidents.acknowledged_by is 'Who said that somebody sees to it; null while nobody did';
comment on column incidents.resolved_by is 'Who said that it is over; null if it was over by itself, which a leak never is';
create unique index incidents_one_unresolved on incidents (endpoint_id, kind, signature) where state <> 'resolved';
create index incidents_of_a_kind on incidents (endpoint_id, kind, signature, resolved_at desc);

create table incident_events (
    id          bigint generated always as identity primary key,
    incident_id bigint not null references incidents (id),
    at          timestamptz not null,
    what        text not null,
    who         text,
    note        text,
    constraint incident_events_what_known check (what in ('opened', 'acknowledged', 'resolved', 'reopened')),
    constraint incident_events_who_told check (who ~ '[^[:space:]]'),
    constraint incident_events_note_told check (note ~ '[^[:space:]]')
);
comment on table incident_events is 'What became of incidents. Rows are only ever added';
comment on column incident_events.who is 'Null for what happened by itself';
comment on column incident_events.note is 'As they wrote it';
create index incident_events_incident on incident_events (incident_id, id);
create trigger incident_events_only_added before update or delete or truncate on incident_events
    for each statement execute function only_added();

alter table findings add column incident_id bigint references incidents (id);
comment on column findings.incident_id is 'The incident that it belongs to; null for findings of before';
create index findings_incident on findings (incident_id);
