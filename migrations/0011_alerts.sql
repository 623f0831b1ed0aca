-- What becomes of incidents is told to receivers: an outbox that is filled in the transaction that changes the incident.

alter table incidents add column uid uuid not null default gen_random_uuid();
comment on column incidents.uid is 'Names it outside this database: two databases never share one';
create unique index incidents_uid on incidents (uid);

create table receivers (
    name              text primary key,
    first_seen_at     timestamptz not null default now(),
    seen_at           timestamptz not null,
    next_at           timestamptz,
    resent_at         timestamptz,
    delivered_at      timestamptz,
    failed_at         timestamptz,
    error             text,
    failures          bigint not null default 0,
    gave_up_at        timestamptz,
    disabled_at       timestamptz,
    constraint receivers_name_form check (name ~ '^[a-z0-9-]{1,63}$'),
    constraint receivers_failures check (failures >= 0),
    constraint receivers_failure_complete check ((failed_at is null) = (error is null))
);
comment on table receivers is 'Who is told of incidents, as probers have them in their configurations (docs/alerts.md)';
comment on column receivers.first_seen_at is 'By the server''s clock; it is told nothing that was noted before';
comment on column receivers.seen_at is 'When a prober with it in its configuration was last known to live';
comment on column receivers.next_at is 'No message to people leaves before';
comment on column receivers.resent_at is 'When all unresolved incidents were last sent again, of an Alertmanager';
comment on column receivers.delivered_at is 'When it last took a message';
comment on column receivers.failed_at is 'When it last did not';
comment on column receivers.error is 'Why not; never holds a URL or what it answered';
comment on column receivers.failures is 'How often in a row';
comment on column receivers.gave_up_at is 'When a message to it was given up and others were told; null again when it takes one';
comment on column receivers.disabled_at is 'When it said that it is gone (HTTP 410); nothing is sent to it until a person enables it';

create table alerts (
    id          bigint generated always as identity primary key,
    what        text not null,
    at          timestamptz not null,
    incident_id bigint references incidents (id),
    receiver    text references receivers (name),
    notice      jsonb not null,
    noted_at    timestamptz not null default now(),
    routed_at   timestamptz,
    constraint alerts_what_known check (what in ('opened', 'acknowledged', 'resolved', 'reopened', 'undelivered')),
    constraint alerts_subject check ((what = 'undelivered') = (incident_id is null)
                                     and (receiver is null) = (incident_id is not null)),
    constraint alerts_notice_object check (jsonb_typeof(notice) = 'object')
);
comment on table alerts is 'What receivers are to be told, one row an event. Written in the transaction that makes it true';
comment on column alerts.at is 'When it happened';
comment on column alerts.receiver is 'Of `undelivered`: who did not take it';
comment on column alerts.notice is 'What is told, as it was then: no text of a response, no canary';
comment on column alerts.noted_at is 'When it was written here, by the server''s clock';
comment on column alerts.routed_at is 'When it was decided who is told; null while it was not';
create index alerts_unrouted on alerts (id) where routed_at is null;
create index alerts_incident on alerts (incident_id, id);
create index alerts_routed on alerts (routed_at);

create table deliveries (
    id           bigint generated always as identity primary key,
    alert_id     bigint not null references alerts (id) on delete cascade,
    receiver     text not null references receivers (name),
    uid          uuid not null default gen_random_uuid(),
    urgent       boolean not null,
    state        text not null default 'pending',
    due_at       timestamptz not null,
    not_before   timestamptz,
    message      bigint references deliveries (id) on delete cascade,
    attempts     integer not null default 0,
    first_at     timestamptz,
    last_at      timestamptz,
    lease        uuid,
    leased_until timestamptz,
    ended_at     timestamptz,
    error        text,
    constraint deliveries_once unique (alert_id, receiver),
    constraint deliveries_state_known check (state in ('pending', 'delivered', 'dead')),
    constraint deliveries_ended check ((state = 'pending') = (ended_at is null)),
    constraint deliveries_leased check ((lease is null) = (leased_until is null)),
    constraint deliveries_attempts check (attempts >= 0 and (attempts = 0) = (first_at is null)
                                          and (first_at is null) = (last_at is null))
);
comment on table deliveries is 'An alert to a receiver. Of one receiver they leave in their order, the urgent ones apart from the others';
comment on column deliveries.uid is 'The idempotency key: the same at every attempt';
comment on column deliveries.urgent is 'Leaks and what concerns the alerts themselves: neither quiet hours nor grouping hold them back';
comment on column deliveries.due_at is 'No attempt before, unless something newer comes';
comment on column deliveries.not_before is 'No attempt before, whatever comes: the receiver said so (Retry-After)';
comment on column deliveries.message is 'The first of those that leave as one message, this one among them; null before the first attempt';
comment on column deliveries.lease is 'Of the attempt under way';
comment on column deliveries.leased_until is 'When the attempt under way is taken for lost';
comment on column deliveries.error is 'Why the last attempt failed, or it was given up; never holds a URL or what was answered';
create index deliveries_pending on deliveries (receiver, urgent, id) where state = 'pending';
create index deliveries_message on deliveries (message);

create function alert_of_event() returns trigger language plpgsql security definer set search_path from current as
$$
begin
    insert into alerts (what, at, incident_id, notice)
    select new.what, new.at, incidents.id,
           jsonb_build_object('number', incidents.id, 'uid', incidents.uid, 'endpoint', endpoints.name, 'kind', kind,
                              'signature', signature, 'state', state, 'opened_at', opened_at,
                              'last_finding_at', last_finding_at, 'findings', findings, 'reopened', reopened,
                              'who', new.who)
    from incidents join endpoints on endpoints.id = endpoint_id where incidents.id = new.incident_id;
    return new;
end $$;
comment on function alert_of_event() is 'Fills the outbox, so that probers of the version before do so, too';
create trigger incident_events_are_told after insert on incident_events
    for each row execute function alert_of_event();
