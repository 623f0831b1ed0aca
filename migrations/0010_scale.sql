-- Twenty million probes: recording them in batches looks into one week, and what people look at is answered from few rows.

-- A name of its own: statements of the version before join rounds and probes and speak of planned_at alone.
alter table rounds add column probes_planned_at timestamptz;
comment on column rounds.probes_planned_at is 'The planned_at of all its probes; null before there are any, and for rounds that a version before this column planned: their probes may lie in any week';

-- Sightings come with their probe, in the transaction that has locked it. To look that up for each of them took as long
-- as everything else that is recorded.
alter table sightings drop constraint sightings_probe_known;
comment on column sightings.probe_id is 'The probe whose response held it; recorded with it';

-- The last round of each scenario; what did not run; sums of rounds in a time, whatever the endpoint.
create index rounds_last on rounds (endpoint_id, name, started_at desc) where state = 'finished';
create index rounds_not_run on rounds (started_at) where state in ('skipped', 'running');
create index round_sums_begin on round_sums (span, begins_at);
-- The newest findings of an incident, the newest evidence, leaks in a time.
create index findings_of_incident on findings (incident_id, found_at, id);
drop index findings_incident;
create index evidence_newest on evidence (kept_at, probe_id);
create index findings_leaks on findings (found_at) include (probe_id) where kind = 'leak';
-- What was not proven. (The counts themselves are in no index: rows that grow all the time would leave traces in it.)
create index probe_sums_doubts on probe_sums (span, begins_at) where verdict = 'inconclusive' and role <> 'calibration';

-- Sums of the sums: of all scenarios and roles together there are few rows, however many scenarios there are.
create table endpoint_sums (
    span        text not null,
    begins_at   timestamptz not null,
    endpoint_id bigint not null references endpoints (id),
    verdict     text not null,
    reason      text not null,
    probes      bigint not null,
    constraint endpoint_sums_once primary key (span, begins_at, endpoint_id, verdict, reason),
    constraint endpoint_sums_span_known check (span in ('hour', 'day')),
    constraint endpoint_sums_span_whole check (begins_at = span_begin(span, begins_at)),
    constraint endpoint_sums_verdict_known check (verdict in ('leak', 'clean', 'inconclusive'))
);
comment on table endpoint_sums is 'What probe_sums has of an endpoint, calibration left out, of all scenarios and roles together. Kept by triggers, so whoever adds to those adds to these';
comment on column endpoint_sums.span is 'hour or day: each probe is in one of either';
comment on column endpoint_sums.begins_at is 'When the hour or day began (UTC)';
comment on column endpoint_sums.reason is 'Of the verdict; empty without one';

-- With the rights of its owner: probers of the version before may write to no table that they do not know.
create function add_to_endpoint_sums() returns trigger language plpgsql security definer set search_path from current as
$$
begin
    -- In a fixed order of rows: so two transactions never wait for each other.
    if tg_op = 'INSERT' then
        insert into endpoint_sums as sums (span, begins_at, endpoint_id, verdict, reason, probes)
        select span, begins_at, endpoint_id, verdict, reason, sum(probes)
        from after where role <> 'calibration'
        group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
        on conflict on constraint endpoint_sums_once do update set probes = sums.probes + excluded.probes;
    else
        insert into endpoint_sums as sums (span, begins_at, endpoint_id, verdict, reason, probes)
        select span, begins_at, endpoint_id, verdict, reason, sum(probes)
        from (select span, begins_at, endpoint_id, verdict, reason, probes from after where role <> 'calibration'
              union all
              select span, begins_at, endpoint_id, verdict, reason, -probes from before where role <> 'calibration') change
        group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
        on conflict on constraint endpoint_sums_once do update set probes = sums.probes + excluded.probes;
    end if;
    return null;
end
$$;
revoke all on function add_to_endpoint_sums() from public;
comment on function add_to_endpoint_sums() is 'Adds what a statement added to probe_sums';
create trigger probe_sums_insert after insert on probe_sums referencing new table as after
    for each statement execute function add_to_endpoint_sums();
create trigger probe_sums_update after update on probe_sums referencing old table as before new table as after
    for each statement execute function add_to_endpoint_sums();

-- What was recorded before.
insert into endpoint_sums
select span, begins_at, endpoint_id, verdict, reason, sum(probes)
from probe_sums where role <> 'calibration' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5;

create function span_for(begins_at timestamptz, ends_at timestamptz, hours_up_to interval default '2 days') returns text
    language sql immutable parallel safe as
$$ select case when ends_at - begins_at <= hours_up_to then 'hour' else 'day' end $$;
comment on function span_for(timestamptz, timestamptz, interval) is 'Which sums tell of a time with few rows: those of hours up to so long a time, those of days beyond';
