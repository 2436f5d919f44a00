-- Nobody has read it.
ALTER TABLE member DROP COLUMN seen;
