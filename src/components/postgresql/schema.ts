/** The format of the tables. A release reads and writes tables whose `min_reader` is not above its own. */
export const FORMAT = 1;

/** The functions of this release. The number at the end changes with the function's behaviour. */
export const FUNCTIONS: readonly string[] = [
  'open_session_1',
  'close_session_1',
  'commit_group_1',
  'get_1',
  'scan_1',
  'scan_back_1',
  'count_1',
];

/** Settings of every function: queue tables change faster than their statistics, which mislead the planner. */
const PLANNER = `SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
  SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off`;

/** Quotes an SQL identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The statements that create the tables, and this release's functions next to those of other releases. */
export function ddlOf(schema: string): string {
  const at = quoteName(schema);
  // Reads the table of schemas: to_regnamespace() may answer from before the wait for the lock of a migration.
  return `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '${schema.replaceAll("'", "''")}') THEN
    CREATE SCHEMA ${at};
  END IF;
END $$;

CREATE TABLE IF NOT EXISTS ${at}.meta (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  format integer NOT NULL,
  min_reader integer NOT NULL,
  last_session bigint NOT NULL DEFAULT 0
);
INSERT INTO ${at}.meta (format, min_reader) VALUES (${FORMAT}, ${FORMAT}) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS ${at}.entry (
  key bytea PRIMARY KEY,
  version bigint NOT NULL,
  value bytea NOT NULL
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE ${at}.entry ALTER COLUMN value SET STORAGE EXTERNAL;

CREATE TABLE IF NOT EXISTS ${at}.session (
  id bigint PRIMARY KEY,
  groups bigint NOT NULL DEFAULT 0,
  refused integer[] NOT NULL DEFAULT '{}',
  closed boolean NOT NULL DEFAULT false,
  used_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

${openSession(at)}
${closeSession(at)}
${commitGroup(at)}
${getEntries(at)}
${scanEntries(at)}
${countEntries(at)}
`;
}

/**
 * The number is at least the seconds since 2025: after a failover that lost the last numbers, the next one is greater
 * than them.
 */
const openSession = (at: string): string => `CREATE OR REPLACE FUNCTION ${at}.open_session_1() RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  number bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
  UPDATE ${at}.meta SET last_session =
    greatest(last_session + 1, floor(extract(epoch FROM clock_timestamp()))::bigint - 1735689600)
    RETURNING last_session INTO number;
  DELETE FROM ${at}.session WHERE used_at < now() - interval '7 days';
  INSERT INTO ${at}.session (id) VALUES (number);
  RETURN number;
END $$;`;

/** Takes the lock that a late statement of the session needs, so that the answer is final. */
const closeSession = (
  at: string,
): string => `CREATE OR REPLACE FUNCTION ${at}.close_session_1(of_session bigint, OUT last_group bigint, OUT last_refused integer[])
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
  UPDATE ${at}.session SET closed = true WHERE id = of_session RETURNING groups, refused INTO last_group, last_refused;
  last_group := coalesce(last_group, 0);
  last_refused := coalesce(last_refused, '{}');
END $$;`;

/**
 * Writes a group of batches, each atomically; returns the position of the first failed precondition of each refused
 * batch.
 *
 * - \`share_keys\`, \`lock_keys\`: the keys to lock until the end; keys that are also written get exclusive locks.
 *   Without the locks, a batch could be written under a fence that another host has changed meanwhile.
 * - \`require_…\`: the preconditions, -1 for an entry that must be absent. They are looked up by key in a statement of
 *   their own, after the locks: joined to the locked rows, a group took a time that grew with its square.
 * - \`new_…\`: puts whose key must be absent; without a value, the key is kept absent until the end.
 * - \`put_…\`, \`delete_…\`: the other changes. No key is written twice in a group.
 */
const commitGroup = (at: string): string => `CREATE OR REPLACE FUNCTION ${at}.commit_group_1(
  of_session bigint, number bigint, first_version bigint,
  share_keys bytea[], lock_keys bytea[],
  require_batch integer[], require_key bytea[], require_version bigint[],
  new_batch integer[], new_key bytea[], new_value bytea[],
  put_batch integer[], put_key bytea[], put_value bytea[],
  delete_batch integer[], delete_key bytea[]
) RETURNS integer[] LANGUAGE plpgsql ${PLANNER} AS $$
DECLARE
  refused_at integer[] := '{}';
  refused integer[] := '{}';
  wanted bigint;
  written bigint;
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  UPDATE ${at}.session SET groups = number, refused = '{}', used_at = now()
    WHERE id = of_session AND groups = number - 1 AND NOT closed;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the session is closed' USING ERRCODE = 'IC001';
  END IF;

  IF cardinality(share_keys) > 0 THEN
    PERFORM FROM ${at}.entry e WHERE e.key = ANY (share_keys) ORDER BY e.key FOR SHARE;
  END IF;
  IF cardinality(lock_keys) > 0 THEN
    PERFORM FROM ${at}.entry e WHERE e.key = ANY (lock_keys) ORDER BY e.key FOR UPDATE;
  END IF;
  IF EXISTS (
    SELECT FROM unnest(require_key, require_version) r (key, version)
    LEFT JOIN ${at}.entry e ON e.key = r.key
    WHERE coalesce(e.version, -1) <> r.version
  ) THEN
    SELECT coalesce(array_agg(f.batch), '{}'), coalesce(array_agg(f.at), '{}') INTO refused, refused_at
    FROM (
      SELECT DISTINCT ON (r.batch) r.batch, r.at::integer AS at
      FROM unnest(require_batch, require_key, require_version) WITH ORDINALITY r (batch, key, version, at)
      LEFT JOIN ${at}.entry e ON e.key = r.key
      WHERE coalesce(e.version, -1) <> r.version
      ORDER BY r.batch, r.at
    ) f;
  END IF;

  IF cardinality(new_key) > 0 THEN
    INSERT INTO ${at}.entry (key, version, value)
      SELECT DISTINCT ON (n.key) n.key, first_version + n.batch, coalesce(n.value, '')
      FROM unnest(new_batch, new_key, new_value) n (batch, key, value)
      WHERE n.batch <> ALL (refused) ORDER BY n.key
      ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written < cardinality(new_key) THEN
      SELECT count(DISTINCT n.key) INTO wanted FROM unnest(new_batch, new_key) n (batch, key) WHERE n.batch <> ALL (refused);
      IF written < wanted THEN
        RAISE EXCEPTION 'an entry was made meanwhile' USING ERRCODE = '40001';
      END IF;
    END IF;
    IF array_position(new_value, NULL) IS NOT NULL THEN
      DELETE FROM ${at}.entry e USING unnest(new_batch, new_key, new_value) n (batch, key, value)
        WHERE n.value IS NULL AND n.batch <> ALL (refused) AND e.key = n.key;
    END IF;
  END IF;

  IF cardinality(put_key) > 0 THEN
    INSERT INTO ${at}.entry (key, version, value)
      SELECT p.key, first_version + p.batch, p.value
      FROM unnest(put_batch, put_key, put_value) p (batch, key, value)
      WHERE p.batch <> ALL (refused) ORDER BY p.key
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, value = excluded.value;
  END IF;

  IF cardinality(delete_key) > 0 THEN
    DELETE FROM ${at}.entry e USING unnest(delete_batch, delete_key) d (batch, key)
      WHERE e.key = d.key AND d.batch <> ALL (refused);
  END IF;

  IF cardinality(refused_at) > 0 THEN
    UPDATE ${at}.session s SET refused = refused_at WHERE s.id = of_session;
  END IF;
  RETURN refused_at;
END $$;`;

const getEntries = (
  at: string,
): string => `CREATE OR REPLACE FUNCTION ${at}.get_1(keys bytea[]) RETURNS TABLE (at bigint, version bigint, value bytea)
LANGUAGE sql STABLE ${PLANNER} AS $$
  SELECT k.at, e.version, e.value FROM unnest(keys) WITH ORDINALITY k (key, at) JOIN ${at}.entry e ON e.key = k.key
$$;`;

/** \`max_bytes\` ends the scan after the entry that reaches it; later entries are not read. */
const scanEntries = (at: string): string =>
  [
    ['scan_1', 'ASC'],
    ['scan_back_1', 'DESC'],
  ]
    .map(
      ([
        name,
        order,
      ]) => `CREATE OR REPLACE FUNCTION ${at}.${name}(first bytea, until bytea, most bigint, max_bytes bigint)
RETURNS TABLE (key bytea, version bigint, value bytea) LANGUAGE plpgsql STABLE ${PLANNER} AS $$
DECLARE
  bytes bigint := 0;
BEGIN
  FOR key, version, value IN
    SELECT e.key, e.version, e.value FROM ${at}.entry e
    WHERE e.key >= first AND e.key < until ORDER BY e.key ${order} LIMIT most
  LOOP
    RETURN NEXT;
    bytes := bytes + octet_length(value);
    EXIT WHEN bytes >= max_bytes;
  END LOOP;
END $$;`,
    )
    .join('\n');

const countEntries = (
  at: string,
): string => `CREATE OR REPLACE FUNCTION ${at}.count_1(first bytea, until bytea, most bigint) RETURNS bigint
LANGUAGE sql STABLE ${PLANNER} AS $$
  SELECT count(*) FROM (SELECT FROM ${at}.entry e WHERE e.key >= first AND e.key < until ORDER BY e.key LIMIT most) counted
$$;`;
