-- How a canary was recognised: until now only unharmed ones were, in the text as it is.

alter table sightings
    drop constraint sightings_strength_known,
    add column damages smallint not null default 0,
    add column weight_bits integer not null default 64,
    add column views text not null default 'as is',
    add constraint sightings_strength_known check (strength in ('exact', 'repaired', 'fragment')),
    add constraint sightings_damages_range check (damages between 0 and 2),
    add constraint sightings_weight_range check (weight_bits between 0 and 128);
comment on column sightings.strength is 'exact: all 128 bits and the tag; repaired: the tag, after damages were undone; fragment: a part of a known canary';
comment on column sightings.damages is 'Damages undone before the tag was verified';
comment on column sightings.weight_bits is 'How much it weighs against chance, in bits';
comment on column sightings.views is 'The views it was read through, the outermost first, joined by " > "; as is for none';
