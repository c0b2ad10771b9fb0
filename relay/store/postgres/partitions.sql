-- Divides the tables of a shared PostgreSQL by time: relay/SEVERAL.md, "Partitions by time", has the guide. If
-- you run the file again, or that of a newer weir, it replaces the procedures and changes no table.

CREATE OR REPLACE VIEW weir_partitions AS  -- each has the events from created_at `low` until before `until`
  SELECT substr(relname, 13) AS name, bound[1] AS low, bound[2] AS until, relkind = 'f' AS is_elsewhere
  FROM pg_inherits JOIN pg_class ON oid = inhrelid CROSS JOIN
    regexp_match(pg_get_expr(relpartbound, oid), 'FROM \(''?(\w+)''?\) TO \(''?(\w+)''?\)') AS bound
  WHERE inhparent = to_regclass('weir_events') ORDER BY bound[1] <> 'MINVALUE', length(bound[1]), bound[1];

-- Lets no relay save or read until COMMIT. The tries are short: a REQ may have locked the tables in another order, and
-- the server would end it after a second (deadlock_timeout).
CREATE OR REPLACE PROCEDURE weir_lock() LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM weir_origins ORDER BY origin FOR UPDATE;
  LOCK TABLE weir_tags, weir_events, weir_words IN SHARE UPDATE EXCLUSIVE MODE;  -- ends autovacuum
  FOR try IN 1..10 LOOP
    BEGIN
      PERFORM set_config('lock_timeout', '300ms', true);
      LOCK TABLE weir_tags, weir_events, weir_words IN ACCESS EXCLUSIVE MODE;
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      IF try = 10 THEN RAISE; END IF;
    END;
    PERFORM pg_sleep(0.1);
  END LOOP;
END $$;

-- Events from `at` on go to a partition of their own. The first call makes the tables partitioned.
CREATE OR REPLACE PROCEDURE weir_cut(at timestamptz, name text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  tables CONSTANT text[] := '{weir_tags,weir_events,weir_words}';
  cut CONSTANT bigint := extract(epoch FROM at);
  new CONSTANT text := coalesce(name, to_char(at AT TIME ZONE 'UTC', 'YYYY_MM_DD'));
  old record;
  later record;
  grants text;
  t text;
BEGIN
  PERFORM set_config('client_min_messages', 'warning', false), set_config('lock_timeout', '2s', false);
  IF EXISTS (SELECT FROM weir_partitions p WHERE p.low = cut::text) THEN RETURN; END IF;
  IF new !~ '^[a-z0-9_]{1,40}$' THEN RAISE 'the name % has other characters than a-z, 0-9 and _, or too many', new; END IF;
  FOREACH t IN ARRAY tables LOOP
    IF to_regclass(t || '_' || new) IS NOT NULL THEN RAISE 'there is a table %_%: choose another name', t, new; END IF;
  END LOOP;
  SELECT count(*) AS events, to_timestamp(least(max(created_at), 99999999999)) AT TIME ZONE 'UTC' AS newest INTO later
    FROM weir_events WHERE created_at >= cut;
  IF later.events > 0 THEN
    RAISE '% events of % UTC or later are stored, the newest of % UTC: choose a later time, or remove them: %',
      later.events, at AT TIME ZONE 'UTC', later.newest, format('weir delete --filter ''{"since":%s}''', cut);
  END IF;
  IF NOT EXISTS (SELECT FROM weir_partitions) THEN
    CALL weir_lock();
    ALTER TABLE weir_words DROP CONSTRAINT IF EXISTS weir_words_id_fkey;
    FOREACH t IN ARRAY tables LOOP
      SELECT string_agg(format('GRANT %s ON %s TO %s', a.privilege_type, t, CASE a.grantee WHEN 0 THEN 'PUBLIC'
          ELSE a.grantee::regrole::text END), ';') INTO grants
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) AS a WHERE c.oid = t::regclass AND a.grantee <> c.relowner;
      EXECUTE format('ALTER TABLE %1$s RENAME TO %1$s_first', t);
      EXECUTE format('CREATE TABLE %1$s (LIKE %1$s_first) PARTITION BY RANGE (created_at)', t);
      EXECUTE format('ALTER TABLE %1$s ATTACH PARTITION %1$s_first FOR VALUES FROM (MINVALUE) TO (MAXVALUE)', t);
      EXECUTE coalesce(grants, 'SELECT');
    END LOOP;
    COMMIT;
  END IF;
  -- The server checks the times of all rows while the relays work. Then it need not do so while they wait.
  SELECT * INTO STRICT old FROM weir_partitions p WHERE p.until = 'MAXVALUE';
  IF old.is_elsewhere THEN RAISE 'the newest partition, %, is on another server: it cannot be cut', old.name; END IF;
  IF cut <= replace(old.low, 'MINVALUE', '0')::bigint THEN RAISE 'choose a later time: the last cut was at %', old.low; END IF;
  CALL weir_lock();
  FOREACH t IN ARRAY tables LOOP  -- an interrupted call may have left its constraints
    EXECUTE format('ALTER TABLE %1$s_%2$s DROP CONSTRAINT IF EXISTS low, DROP CONSTRAINT IF EXISTS until,'
                   ' ADD CONSTRAINT low CHECK (created_at >= %3$s) NOT VALID,'
                   ' ADD CONSTRAINT until CHECK (created_at < %4$s) NOT VALID',
                   t, old.name, replace(old.low, 'MINVALUE', '0'), cut);
  END LOOP;
  IF EXISTS (SELECT FROM weir_events WHERE created_at >= cut) THEN RAISE 'such an event has just come: call again'; END IF;
  COMMIT;
  FOREACH t IN ARRAY tables LOOP
    EXECUTE format('ALTER TABLE %s_%s VALIDATE CONSTRAINT low, VALIDATE CONSTRAINT until', t, old.name);
  END LOOP;
  COMMIT;
  CALL weir_lock();
  FOREACH t IN ARRAY tables LOOP
    EXECUTE format('ALTER TABLE %1$s DETACH PARTITION %1$s_%2$s', t, old.name);
    EXECUTE format('ALTER TABLE %1$s ATTACH PARTITION %1$s_%2$s FOR VALUES FROM (%3$s) TO (%4$s)',
                   t, old.name, old.low, cut);
    EXECUTE format('ALTER TABLE %s_%s DROP CONSTRAINT low', t, old.name);  -- weir_drop may move the limit
    EXECUTE format('CREATE TABLE %1$s_%2$s (LIKE %1$s_%3$s INCLUDING INDEXES)', t, new, old.name);
    EXECUTE format('ALTER TABLE %1$s ATTACH PARTITION %1$s_%2$s FOR VALUES FROM (%3$s) TO (MAXVALUE)', t, new, cut);
  END LOOP;
END $$;

-- Profiles, lists, articles and the like, whose kinds replace older versions.
CREATE OR REPLACE FUNCTION weir_stays(kind int) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT kind IN (0, 3) OR kind BETWEEN 10000 AND 19999 OR kind BETWEEN 30000 AND 39999
$$;

-- Drops the oldest partition. Only those that weir_stays names stay: they move to the next partition, which later gets old
-- events that come anew.
CREATE OR REPLACE PROCEDURE weir_drop(oldest text) LANGUAGE plpgsql AS $$
DECLARE
  tables CONSTANT text[] := '{weir_tags,weir_events,weir_words}';
  old record;
  next record;
  t text;
BEGIN
  PERFORM set_config('client_min_messages', 'warning', false), set_config('lock_timeout', '2s', false);
  SELECT * INTO STRICT old FROM weir_partitions WHERE name = oldest AND low = 'MINVALUE';
  SELECT * INTO STRICT next FROM weir_partitions WHERE low = old.until;
  PERFORM FROM weir_origins ORDER BY origin FOR UPDATE;  -- relays do not save until COMMIT, but they read
  EXECUTE format('UPDATE weir_origins o SET events = o.events - g.events FROM (SELECT origin, count(*) AS events'
                 ' FROM weir_events_%s WHERE NOT weir_stays(kind) GROUP BY origin) AS g WHERE o.origin = g.origin', oldest);
  FOREACH t IN ARRAY tables LOOP
    EXECUTE format('CREATE TEMP TABLE %1$s_stays ON COMMIT DROP AS SELECT * FROM %1$s_%2$s WHERE weir_stays(kind)', t, oldest);
  END LOOP;
  CALL weir_lock();
  FOREACH t IN ARRAY tables LOOP
    EXECUTE format('ALTER TABLE %1$s DETACH PARTITION %1$s_%2$s', t, oldest);
    EXECUTE format('ALTER TABLE %1$s DETACH PARTITION %1$s_%2$s', t, next.name);
    EXECUTE format('ALTER TABLE %1$s ATTACH PARTITION %1$s_%2$s FOR VALUES FROM (MINVALUE) TO (%3$s)',
                   t, next.name, next.until);
    EXECUTE format('INSERT INTO %1$s SELECT * FROM %1$s_stays', t);
    EXECUTE format('DROP %s TABLE %s_%s', CASE WHEN old.is_elsewhere THEN 'FOREIGN' END, t, oldest);
  END LOOP;
END $$;

-- Drops a partition here and uses the copy of it on `place`, a server of postgres_fdw.
CREATE OR REPLACE PROCEDURE weir_move(partition text, place text) LANGUAGE plpgsql AS $$
DECLARE
  tables CONSTANT text[] := '{weir_tags,weir_events,weir_words}';
  sums CONSTANT text := 'SELECT count(*) || '', '' || coalesce(sum(created_at), 0) || '', '''
                        ' || coalesce(sum(hashtextextended(id::text, 0)::numeric), 0) FROM %s_%s';
  old record;
  here text;
  there text;
  t text;
BEGIN
  PERFORM set_config('client_min_messages', 'warning', false), set_config('lock_timeout', '2s', false);
  SELECT * INTO STRICT old FROM weir_partitions WHERE name = partition;
  IF old.until = 'MAXVALUE' THEN RAISE 'the newest partition must stay here'; END IF;
  PERFORM FROM weir_origins ORDER BY origin FOR UPDATE;  -- relays do not save until COMMIT, but they read
  CREATE SCHEMA weir_moving;
  FOREACH t IN ARRAY tables LOOP
    EXECUTE format('IMPORT FOREIGN SCHEMA public LIMIT TO (%s_%s) FROM SERVER %I INTO weir_moving', t, partition, place);
    EXECUTE format(sums, t, partition) INTO here;
    EXECUTE format(sums, 'weir_moving.' || t, partition) INTO there;
    IF here <> there THEN
      RAISE '%_% has other rows there (%) than here (%): copy it again', t, partition, there, here;
    END IF;
  END LOOP;
  CALL weir_lock();
  FOREACH t IN ARRAY tables LOOP
    EXECUTE format('DROP TABLE %s_%s', t, partition);
    EXECUTE format('ALTER FOREIGN TABLE weir_moving.%s_%s SET SCHEMA public', t, partition);
    EXECUTE format('ALTER TABLE %1$s ATTACH PARTITION %1$s_%2$s FOR VALUES FROM (%3$s) TO (%4$s)',
                   t, partition, old.low, old.until);
  END LOOP;
  DROP SCHEMA weir_moving;
END $$;

-- Takes a partition out of the tables, which forget its events until it is attached again.
CREATE OR REPLACE PROCEDURE weir_detach(partition text) LANGUAGE plpgsql AS $$
DECLARE
  old record;
  t text;
BEGIN
  PERFORM set_config('lock_timeout', '2s', false);
  SELECT * INTO STRICT old FROM weir_partitions WHERE name = partition;
  CALL weir_lock();
  FOREACH t IN ARRAY '{weir_tags,weir_events,weir_words}'::text[] LOOP
    EXECUTE format('ALTER TABLE %1$s DETACH PARTITION %1$s_%2$s', t, partition);
  END LOOP;
  RAISE NOTICE 'later: CALL weir_attach(''%'', ''%'', ''%'')', partition, old.low, old.until;
END $$;

-- Attaches it with these limits, without the events that were deleted, replaced or vanished meanwhile.
CREATE OR REPLACE PROCEDURE weir_attach(partition text, low text, until text) LANGUAGE plpgsql AS $$
DECLARE
  tables CONSTANT text[] := '{weir_tags,weir_events,weir_words}';
  t text;
BEGIN
  PERFORM set_config('client_min_messages', 'warning', false), set_config('lock_timeout', '2s', false);
  PERFORM FROM weir_origins ORDER BY origin FOR UPDATE;
  EXECUTE format(
    'CREATE TEMP TABLE weir_gone ON COMMIT DROP AS'
    ' SELECT e.id, e.created_at, e.origin FROM weir_events_%1$s e LEFT JOIN weir_addresses a ON a.id = e.id'
    '  LEFT JOIN weir_deleted_addresses d ON d.address = a.address'
    '  WHERE weir_stays(e.kind) AND (a.id IS NULL OR e.created_at <= d.until)'
    ' UNION SELECT e.id, e.created_at, e.origin FROM weir_deleted d JOIN weir_events_%1$s e ON e.id = d.id'
    '  WHERE e.kind NOT IN (5, 62) AND substr(e.pubkey, 1, 16) = d.author'
    ' UNION SELECT e.id, e.created_at, e.origin FROM weir_deleted d JOIN weir_events_%1$s e ON e.id = d.id'
    '  WHERE e.kind = 1059 AND position(convert_to(encode(d.author, ''hex''), ''UTF8'') IN e.record) > 0',
    partition);
  UPDATE weir_origins o SET events = o.events - g.events
    FROM (SELECT origin, count(*) AS events FROM weir_gone GROUP BY origin) AS g WHERE o.origin = g.origin;
  DELETE FROM weir_addresses a USING weir_gone g WHERE a.id = g.id;
  UPDATE weir_vanished SET owed = true;  -- the relays remove what they find
  FOREACH t IN ARRAY tables LOOP
    EXECUTE format('DELETE FROM %s_%s p USING weir_gone g WHERE p.id = g.id AND p.created_at = g.created_at', t, partition);
  END LOOP;
  CALL weir_lock();
  FOREACH t IN ARRAY tables LOOP
    EXECUTE format('ALTER TABLE %1$s ATTACH PARTITION %1$s_%2$s FOR VALUES FROM (%3$s) TO (%4$s)',
                   t, partition, low, until);
  END LOOP;
END $$;
