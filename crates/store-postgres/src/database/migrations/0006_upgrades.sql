-- Nodes of the version before write `seen`; those of this one do not any more.
ALTER TABLE member ALTER COLUMN seen DROP NOT NULL;
