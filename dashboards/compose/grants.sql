-- Grafana's role, as dashboards/README.md has it; may be run again. `password` is a variable of psql.
\set ON_ERROR_STOP on
select 'create role grafana login' where not exists (select from pg_roles where rolname = 'grafana') \gexec
alter role grafana password :'password';
grant usage on schema public to grafana;
grant select on endpoints, tenants, rounds, probes, findings, incidents, incident_events, alerts, deliveries,
  receivers, drills, leases, lines, spending, builds, probe_sums, endpoint_sums, round_sums to grafana;
