import type { SqliteConnection } from './driver.ts';

/** The versions of a session: its number is their higher digits. The same as in `components/remote/sessions.ts`. */
export const VERSIONS_PER_SESSION: number = 2 ** 21;
/** How long a process may take to ask what became of its last group. */
const KEPT_MS = 7 * 24 * 3_600_000;

/* Not part of the schema: a release that does not know sessions has the directory for itself, and needs none. */
const CREATE = `CREATE TABLE IF NOT EXISTS session (id INTEGER PRIMARY KEY, last INTEGER NOT NULL,
  refused TEXT NOT NULL, closed INTEGER NOT NULL, used_at INTEGER NOT NULL)`;
const OPEN = `INSERT INTO session (id, last, refused, closed, used_at) VALUES (?, 0, '', 0, ?)`;
const FORGET = 'DELETE FROM session WHERE used_at < ?';
const FIND = 'SELECT last, refused, closed FROM session WHERE id = ?';
const RECORD = 'UPDATE session SET last = ?, refused = ?, used_at = ? WHERE id = ?';
const CLOSE = 'UPDATE session SET closed = 1, used_at = ? WHERE id = ?';

/** What a session had written when it was closed. */
export interface ClosedSessionRow {
  /** The number of its last group; 0 for none. */
  readonly last: number;
  /** What was kept of the refused batches of that group. */
  readonly refused: string;
}

interface SessionRow extends ClosedSessionRow {
  readonly closed: number;
}

/**
 * The sessions of other processes in the database: each counts the groups of commits that it has written, in the
 * transaction of the group. A process that has lost its answer learns from it whether its last group was written.
 */
export class SessionTable {
  readonly #connection: SqliteConnection;
  #isThere = false;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /** Only a directory that several processes have open needs the table. Not in a transaction, which may be undone. */
  prepare(): void {
    if (!this.#isThere) this.#connection.execute(CREATE);
    this.#isThere = true;
  }

  open(session: number): void {
    const now = Date.now();
    this.#connection.statement(FORGET).run(now - KEPT_MS);
    this.#connection.statement(OPEN).run(session, now);
  }

  #find(session: number): SessionRow | undefined {
    if (!this.#isThere) return undefined;
    return this.#connection.statement(FIND).get(session) as SessionRow | undefined;
  }

  /** Whether a group may be written: its session is open and has not written it. */
  isNext(session: number, number: number): boolean {
    const found = this.#find(session);
    return found !== undefined && found.closed === 0 && number > found.last;
  }

  record(session: number, number: number, refused: string): void {
    this.#connection.statement(RECORD).run(number, refused, Date.now(), session);
  }

  /** Ends a session; an unknown one has written nothing. */
  close(session: number): ClosedSessionRow {
    const found = this.#find(session);
    if (found === undefined) return { last: 0, refused: '' };
    this.#connection.statement(CLOSE).run(Date.now(), session);
    return { last: found.last, refused: found.refused };
  }
}
