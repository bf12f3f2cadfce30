/**
 * One application on three hosts that share a database: orders are published, jobs scheduled and workflows started on
 * all of them while one is killed in the middle. Prints who did what, what moved, and whether anything is missing.
 *
 * Run with `npm run example:fleet -- postgresql://postgres@127.0.0.1:5432/postgres` (`npm install pg`) or
 * `npm run example:fleet -- redis://127.0.0.1:6379` (`npm install redis`). It uses a schema or prefix of its own.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { postgresqlDdl } from 'insidecar/postgresql';

/** What a host tells. */
type Report =
  | { readonly kind: 'up' | 'accepted'; readonly id: string }
  | { readonly kind: 'done'; readonly what: Kind; readonly id: string };
type Kind = 'message' | 'job' | 'workflow';

const [url = 'postgresql://postgres@127.0.0.1:5432/postgres', perKind = '300'] = process.argv.slice(2);
const COUNT = Number(perKind);
const KINDS: readonly Kind[] = ['message', 'job', 'workflow'];
const place = `fleet_${process.pid}`;
const host = fileURLToPath(new URL('fleet-host.ts', import.meta.url));
const startedAt = performance.now();
/** Who has done it, in the order of the reports: two hosts, when it was done again. */
const doneBy = new Map<string, string[]>();
const accepted = new Set<string>();

function tell(what: string): void {
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${what}`);
}

class Host {
  readonly name: string;
  readonly child: ChildProcess;
  readonly up: Promise<void>;
  readonly #waiting = new Map<string, () => void>();

  constructor(name: string) {
    this.name = name;
    this.child = fork(host, [url, place, name], { execArgv: ['--import', 'tsx'] });
    this.up = new Promise((resolve) => this.#waiting.set(name, resolve));
    this.child.on('message', (report: Report) => this.#heard(report));
  }

  #heard(report: Report): void {
    if (report.kind === 'done') {
      const hosts = doneBy.get(`${report.what} ${report.id}`) ?? [];
      doneBy.set(`${report.what} ${report.id}`, [...hosts, this.name]);
    } else this.#waiting.get(report.id)?.();
  }

  /** Resolves when the host has said that it is kept; not when the host dies before. */
  ask(what: Kind, id: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waiting.set(`${what} ${id}`, () => {
        accepted.add(`${what} ${id}`);
        resolve(true);
      });
      this.child.once('exit', () => resolve(false));
      if (this.child.connected) this.child.send({ what, id }, (error) => error && resolve(false));
      else resolve(false);
    });
  }
}

function countsOf(hosts: readonly Host[]): string {
  return hosts
    .map(({ name }) => `${name}: ${KINDS.map((kind) => `${countOf(name, kind)} ${kind}s`).join(', ')}`)
    .join('; ');
}

function countOf(name: string, kind: Kind): number {
  return [...doneBy].filter(([what, by]) => what.startsWith(kind) && by.includes(name)).length;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

if (url.startsWith('postgres'))
  tell(`state in PostgreSQL, schema ${place}: ${postgresqlDdl(place).length} characters of DDL`);
const hosts = ['a', 'b', 'c'].map((name) => new Host(name));
for (const { child } of hosts) child.setMaxListeners(0);
await Promise.all(hosts.map(({ up }) => up));
tell('three hosts are up');

const asked: Promise<boolean>[] = [];
for (let id = 0; id < COUNT; id++) {
  const at = hosts[id % hosts.length] as Host;
  for (const kind of KINDS) asked.push(at.ask(kind, String(id)));
  if (id === Math.floor(COUNT / 2)) {
    tell(`before the kill: ${countsOf(hosts)}`);
    hosts[1]?.child.kill('SIGKILL');
    tell('host b was killed (SIGKILL)');
  }
  await sleep(5);
}
await Promise.all(asked);
tell(`${accepted.size} of ${3 * COUNT} were accepted; the others were asked of host b`);

const missing = (): string[] => [...accepted].filter((what) => !doneBy.has(what));
let left = missing().length;
for (let second = 0; second < 60 && left > 0; second++) {
  await sleep(1_000);
  for (const what of missing())
    if (what.startsWith('workflow')) hosts[0]?.child.send({ what: 'check', id: what.slice(9) });
  const now = missing().length;
  if (now !== left) tell(`${now} are still to be done`);
  left = now;
}
const again = [...doneBy.values()].filter((by) => by.length > 1).length;
tell(`at the end: ${countsOf(hosts)}`);
tell(`${accepted.size - left} of ${accepted.size} accepted are done, ${again} of them more than once, ${left} lost`);
for (const { child } of hosts) child.kill('SIGTERM');
process.exitCode = left === 0 ? 0 : 1;
