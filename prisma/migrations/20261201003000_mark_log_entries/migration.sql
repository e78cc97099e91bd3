-- Numbers come again when a backup is put back; marks do not. By its mark a cursor is known to be of this history.
ALTER TABLE change_log ADD COLUMN mark text NOT NULL DEFAULT substr(gen_random_uuid()::text, 1, 13);
