-- Whether a probe proves something, and what a scenario finds.
create function bench_finds(probe bigint, endpoint bigint) returns boolean language sql immutable parallel safe as
$$ select abs(hashint8(probe)::bigint) % 1000000 < case when endpoint = 1 then {often} else {seldom} end $$;
create function bench_kind(scenario text) returns text language sql immutable parallel safe as
$$ select case scenario when 'overflow' then 'leak' when 'crosstalk' then 'leak' when 'cancel' then 'leak'
                        when 'pressure' then 'leak' when 'boundary' then 'limit_violation' when 'burst' then 'usage_anomaly'
                        when 'prefix' then 'shared_prefix_cache' when 'twin' then 'shared_response'
                        when 'sandwich' then 'divergence' when 'return' then 'truncation' else 'limit_violation' end $$;

insert into key_ids (id, first_seen_at) values ('{key}', '{begins_at}');

-- A round a line and tick, a line's place in the step its own. Verdicts follow when the probes are there.
insert into rounds (endpoint_id, scenario, name, seed, key_id, state, due_at, started_at, finished_at, verdict, probes,
                    leaks, asked, recalled, responses, plan, prober, lease_token, probes_planned_at)
select endpoints.id, scenario, scenario, hashint8(tick), '{key}', 'finished', at, at,
       at + interval '90 seconds', 'clean', {probes_a_round}, 0, {probes_a_round}, {probes_a_round} - 1,
       {probes_a_round} - 1,
       '{"recipe": {"kind": "crosstalk", "tokens": 100000}, "tenants": 3, "context_tokens": 1000000, "page_tokens": 64}',
       'prober-1', 1, at + interval '1 second'
from generate_series(0, {ticks} - 1) tick
     cross join endpoints
     cross join unnest(string_to_array('{scenarios}', ',')) with ordinality scenarios (scenario, place)
     cross join lateral (select '{begins_at}'::timestamptz
                                + ((tick * {step_s}) + (endpoints.id * 11 + place) * {step_s} / 460) * interval '1 second' as at) moment
order by tick, endpoints.id, place;

-- Of every hundred ticks one was skipped.
insert into rounds (endpoint_id, scenario, name, state, due_at, started_at, reason, prober, lease_token)
select endpoint_id, scenario, name, 'skipped', due_at + interval '1 second', started_at + interval '1 second',
       'the budget of the day is spent', prober, lease_token
from rounds where id % 100 = 0;
-- Prober `prober-2` died, long ago and just now.
insert into rounds (endpoint_id, scenario, name, seed, key_id, state, due_at, started_at, reason, prober, lease_token)
select endpoint_id, scenario, name, seed, key_id, 'lost', due_at + interval '2 seconds', started_at + interval '2 seconds',
       'its prober lost the lease', 'prober-2', lease_token
from rounds where state = 'finished' and id % 5000 = 0;
analyze rounds;
