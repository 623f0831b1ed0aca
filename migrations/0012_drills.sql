-- Drills: a harmless leak of our own goes the way of a real one, so that a silent chain is noticed (docs/alerts.md).

alter table endpoints add column is_drill boolean not null generated always as (name = '(drill)') stored;
comment on column endpoints.is_drill is
    'The endpoint of drills, which the prober plays itself: nothing of it counts among real ones';

create table drills (
    id          bigint generated always as identity primary key,
    endpoint    text not null,
    who         text,
    due_at      timestamptz,
    begun_at    timestamptz not null,
    deadline_at timestamptz not null,
    found_at    timestamptz,
    ended_at    timestamptz,
    because     text,
    constraint drills_once unique (due_at),
    constraint drills_deadline check (deadline_at > begun_at),
    constraint drills_started_by check ((who is null) = (due_at is not null)),
    constraint drills_failed_ended check (because is null or ended_at is not null)
);
comment on table drills is 'Rehearsals of the way from a leak to the receivers; one at a time';
comment on column drills.endpoint is 'The name of the endpoint that it is told of, as if that had leaked';
comment on column drills.who is 'Who began it by hand; null if it was due';
comment on column drills.due_at is 'Its place in the schedule; null if it was begun by hand';
comment on column drills.deadline_at is 'Until when every receiver must have taken it';
comment on column drills.found_at is 'When its leak was found and recorded';
comment on column drills.ended_at is 'When it arrived, or failed; its incident is resolved then';
comment on column drills.because is 'Why it failed; null if it arrived everywhere, or goes on';
create unique index drills_one_at_a_time on drills ((true)) where ended_at is null;

alter table alerts drop constraint alerts_what_known, drop constraint alerts_subject;
alter table alerts
    add constraint alerts_what_known
        check (what in ('opened', 'acknowledged', 'resolved', 'reopened', 'undelivered', 'drill_failed')),
    add constraint alerts_subject
        check ((what in ('undelivered', 'drill_failed')) = (incident_id is null)
               and (what = 'undelivered') = (receiver is not null));

create or replace function alert_of_event() returns trigger language plpgsql security definer set search_path from current as
$$
begin
    insert into alerts (what, at, incident_id, notice)
    select new.what, new.at, incidents.id,
           jsonb_build_object('number', incidents.id, 'uid', incidents.uid,
                              -- An incident of a drill is told of as if it were that endpoint's.
                              'endpoint', coalesce((select drills.endpoint from drills
                                                    where endpoints.is_drill order by drills.id desc limit 1), endpoints.name),
                              'kind', kind, 'signature', signature, 'state', state, 'opened_at', opened_at,
                              'last_finding_at', last_finding_at, 'findings', findings, 'reopened', reopened,
                              'who', new.who, 'drill', endpoints.is_drill)
    from incidents join endpoints on endpoints.id = endpoint_id where incidents.id = new.incident_id;
    return new;
end $$;
