-- Where the probes of a round lie: recording them in batches looks into one week, however many there are.

-- A name of its own: statements of the version before join rounds and probes and speak of planned_at alone.
alter table rounds add column probes_planned_at timestamptz;
comment on column rounds.probes_planned_at is 'The planned_at of all its probes; null before there are any, and for rounds that a version before this column planned: their probes may lie in any week';
