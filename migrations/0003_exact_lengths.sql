-- What determines a document of an exact length. A digit of a section's number costs less than a word
-- where digits are grouped (until now they counted as units), and the last sentence may be chosen.

alter table probes
    add column measure_digit double precision,
    add column closing smallint not null default 0,
    add constraint probes_closing_range check (closing between 0 and 255);
comment on column probes.measure_digit is 'Tokens of a digit in a section number, by the measure that the document was woven with; null for documents that counted digits as units';
comment on column probes.closing is 'Which short sentence ends the filler, from 1; 0 for none';
