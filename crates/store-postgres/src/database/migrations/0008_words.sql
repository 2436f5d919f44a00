-- Signs are words now, and so are parts of texts without blanks: nodes of this version make the words of older nodes again,
-- in the background; those of the version before go on as before.
ALTER TABLE schema_version ADD COLUMN IF NOT EXISTS words_pending boolean NOT NULL DEFAULT false;
UPDATE schema_version SET words_pending = true WHERE version = 1 AND EXISTS (SELECT 1 FROM node);
