/** The format of the tables. A release reads and writes tables whose `min_reader` is not above its own. */
export const FORMAT = 1;

/** The functions of this release. The number at the end changes with the function's behaviour. */
export const FUNCTIONS: readonly string[] = [
  'open_session_1',
  'close_session_1',
  'commit_group_3',
  'commit_one_1',
  'get_1',
  'scan_1',
  'scan_back_1',
  'count_1',
];

/** Settings of every function: queue tables change faster than their statistics, which mislead the planner. */
const PLANNER = `SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
  SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off`;

/** With the prefix `insidecar:`, the schema names a channel, whose name has at most 63 bytes. */
const MAX_NAME_BYTES = 53;

/**
 * Characters that end a text in SQL, whatever its quotes: `$$` ends a block, and a backslash hides the quote that
 * follows where `standard_conforming_strings` is off.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
const NOT_IN_NAME = /\$\$|[\\\x00-\x1f\x7f]/;

/** The rule for schemas, for messages. */
export const SCHEMA_FORM: string = `a name of 1 to ${MAX_NAME_BYTES} bytes, without $$, backslashes and control characters`;

/** Whether the statements of {@link ddlOf} can be made for a schema. */
export function isSchemaName(schema: unknown): boolean {
  if (typeof schema !== 'string' || schema === '' || NOT_IN_NAME.test(schema)) return false;
  return Buffer.byteLength(schema) <= MAX_NAME_BYTES;
}

/** Quotes an SQL identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The statements that create the tables, and this release's functions next to those of other releases. */
export function ddlOf(schema: string): string {
  const at = quoteName(schema);
  // Reads the table of schemas: to_regnamespace() may answer from before the wait for the lock of a migration. Changes
  // the table only if it has to: behind somebody's long read, that would keep all others waiting.
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
DO $$ BEGIN
  IF EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = '${at.replaceAll("'", "''")}.entry'::regclass
      AND attname = 'value' AND attstorage <> 'e'
  ) THEN
    ALTER TABLE ${at}.entry ALTER COLUMN value SET STORAGE EXTERNAL;
  END IF;
END $$;

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
${commitOne(at)}
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
 * Writes a group of batches, or nothing: returns the keys whose precondition does not hold, and `NULL` once all is
 * written. The caller sends the group again without the batches that these keys refuse.
 *
 * - `earlier_refused`: what earlier calls for this group refused, kept for `close_session_1`.
 * - `share_keys`, `lock_keys`: the entries that must have these versions, in the order of their keys. They are locked
 *   until the end, those that are also written exclusively: without the locks, a batch could be written under a fence
 *   that another host has changed meanwhile. The locking statement itself returns the versions, so that the check is
 *   one comparison of arrays, however many batches share a fence.
 * - `new_…`: puts whose key must be absent; without a value, the key is kept absent until the end.
 * - `update_…`: puts of entries that have a version to hold. `put_…`: those that may exist; as a rule none of them
 *   does, and to look for all at once and insert them costs a quarter less than `ON CONFLICT DO UPDATE`.
 * - No key is written twice in a group. If another process inserts one of them at the same time, the unique index fails
 *   the call.
 */
const commitGroup = (at: string): string => `CREATE OR REPLACE FUNCTION ${at}.commit_group_3(
  of_session bigint, number bigint, first_version bigint, earlier_refused integer[],
  share_keys bytea[], share_versions bigint[],
  lock_keys bytea[], lock_versions bigint[],
  new_batch integer[], new_key bytea[], new_value bytea[],
  update_batch integer[], update_key bytea[], update_value bytea[],
  put_batch integer[], put_key bytea[], put_value bytea[],
  delete_key bytea[]
) RETURNS bytea[] LANGUAGE plpgsql ${PLANNER} AS $$
DECLARE
  versions bigint[];
  holds boolean := true;
  failed bytea[];
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;

  IF cardinality(share_keys) > 0 THEN
    SELECT array_agg(l.version) INTO versions
    FROM (SELECT e.version FROM ${at}.entry e WHERE e.key = ANY (share_keys) ORDER BY e.key FOR SHARE) l;
    holds := versions IS NOT DISTINCT FROM share_versions;
  END IF;
  IF cardinality(lock_keys) > 0 THEN
    SELECT array_agg(l.version) INTO versions
    FROM (SELECT e.version FROM ${at}.entry e WHERE e.key = ANY (lock_keys) ORDER BY e.key FOR UPDATE) l;
    holds := holds AND versions IS NOT DISTINCT FROM lock_versions;
  END IF;
  IF holds AND cardinality(new_key) > 0 THEN
    holds := NOT EXISTS (SELECT FROM ${at}.entry e WHERE e.key = ANY (new_key));
  END IF;
  IF NOT holds THEN
    SELECT array_agg(f.key) INTO failed FROM (
      SELECT r.key FROM unnest(share_keys || lock_keys, share_versions || lock_versions) r (key, version)
      LEFT JOIN ${at}.entry e ON e.key = r.key WHERE e.version IS DISTINCT FROM r.version
      UNION ALL
      SELECT e.key FROM ${at}.entry e WHERE e.key = ANY (new_key)
    ) f;
    IF failed IS NULL THEN
      RAISE EXCEPTION 'an entry was changed meanwhile' USING ERRCODE = '40001';
    END IF;
    RETURN failed;
  END IF;

  UPDATE ${at}.session SET groups = number, refused = earlier_refused, used_at = now()
    WHERE id = of_session AND groups < number AND NOT closed;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the session is closed' USING ERRCODE = 'IC001';
  END IF;

  IF cardinality(new_key) > 0 THEN
    INSERT INTO ${at}.entry (key, version, value)
      SELECT n.key, first_version + n.batch, coalesce(n.value, '')
      FROM unnest(new_batch, new_key, new_value) n (batch, key, value);
    IF array_position(new_value, NULL) IS NOT NULL THEN
      DELETE FROM ${at}.entry e USING unnest(new_key, new_value) n (key, value) WHERE n.value IS NULL AND e.key = n.key;
    END IF;
  END IF;

  IF cardinality(update_key) > 0 THEN
    UPDATE ${at}.entry e SET version = first_version + u.batch, value = u.value
      FROM unnest(update_batch, update_key, update_value) u (batch, key, value) WHERE e.key = u.key;
  END IF;

  IF cardinality(put_key) > 0 THEN
    IF NOT EXISTS (SELECT FROM ${at}.entry e WHERE e.key = ANY (put_key)) THEN
      INSERT INTO ${at}.entry (key, version, value)
        SELECT p.key, first_version + p.batch, p.value FROM unnest(put_batch, put_key, put_value) p (batch, key, value);
    ELSE
      INSERT INTO ${at}.entry (key, version, value)
        SELECT p.key, first_version + p.batch, p.value FROM unnest(put_batch, put_key, put_value) p (batch, key, value)
        ON CONFLICT (key) DO UPDATE SET version = excluded.version, value = excluded.value;
    END IF;
  END IF;

  IF cardinality(delete_key) > 0 THEN
    DELETE FROM ${at}.entry e WHERE e.key = ANY (delete_key);
  END IF;
  RETURN NULL;
END $$;`;

/**
 * Does what `commit_group_3` does, for a commit that is alone and puts or deletes one entry under a fence: what a
 * publish and its settling are while there is little to do. With seven plain arguments and three statements by key, the
 * call takes a tenth less time than with the arrays and the queries over them, its sync included.
 *
 * - `required_key`, `required_version`: the entry that must have this version, locked until the end.
 * - `new_value`: the value to put, `NULL` to delete the entry.
 */
const commitOne = (at: string): string => `CREATE OR REPLACE FUNCTION ${at}.commit_one_1(
  of_session bigint, number bigint, new_version bigint,
  required_key bytea, required_version bigint,
  changed_key bytea, new_value bytea
) RETURNS bytea[] LANGUAGE plpgsql ${PLANNER} AS $$
DECLARE
  found_version bigint;
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;

  SELECT e.version INTO found_version FROM ${at}.entry e WHERE e.key = required_key FOR SHARE;
  IF found_version IS DISTINCT FROM required_version THEN
    RETURN ARRAY[required_key];
  END IF;

  UPDATE ${at}.session SET groups = number, refused = '{}', used_at = now()
    WHERE id = of_session AND groups < number AND NOT closed;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the session is closed' USING ERRCODE = 'IC001';
  END IF;

  IF new_value IS NULL THEN
    DELETE FROM ${at}.entry e WHERE e.key = changed_key;
  ELSE
    INSERT INTO ${at}.entry (key, version, value) VALUES (changed_key, new_version, new_value)
      ON CONFLICT (key) DO UPDATE SET version = new_version, value = new_value;
  END IF;
  RETURN NULL;
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
