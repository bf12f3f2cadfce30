import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Answer, type Sent, send } from './http.ts';

const PROGRAM = fileURLToPath(new URL('../cluster/actors-host.mjs', import.meta.url));

/** A line of the log that the hosts share. */
export interface ActorLine {
  readonly host: string;
  /** `T` a turn, `B` and `E` a tick begins and ends, `D` the actor is deactivated. */
  readonly what: string;
  readonly actor: string;
  /** The count, or the name of the reminder or timer. */
  readonly text: string;
}

/** A host of an application with actors, in a process of its own. */
export class ActorHost {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #exit: Promise<unknown>;

  constructor(name: string, child: ChildProcess, port: number, exit: Promise<unknown>) {
    this.name = name;
    this.#child = child;
    this.#port = port;
    this.#exit = exit;
  }

  /** A request to its API. `path` begins behind the type. */
  ask(method: string, path: string, sent?: Sent): Promise<Answer> {
    return send(`http://127.0.0.1:${this.#port}`, method, `/v1.0/actors/Counter/${path}`, sent);
  }

  add(actor: string): Promise<Answer> {
    return this.ask('POST', `${actor}/method/add`);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#child.kill(signal);
    await this.#exit;
  }
}

/** Hosts of one application on one server, each in a process of its own. They use the built package. */
export class ActorHosts implements AsyncDisposable {
  readonly #url: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'insidecar-actors-'));
  readonly #hosts: ActorHost[] = [];

  constructor(url: string) {
    this.#url = url;
    writeFileSync(this.#log, '');
  }

  get #log(): string {
    return join(this.#directory, 'log');
  }

  async join(name: string): Promise<ActorHost> {
    const child = spawn(process.execPath, [PROGRAM], {
      env: {
        ...process.env,
        ...{ NODE_V8_COVERAGE: '', NODE_OPTIONS: '' },
        ACTORS_HOST: JSON.stringify({ name, url: this.#url, log: this.#log }),
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const exit = once(child, 'exit');
    const fell = exit.then(([code]) => Promise.reject(new Error(`host ${name} has ended with ${code} at its start`)));
    const [{ port }] = (await Promise.race([once(child, 'message'), fell])) as [{ port: number }];
    fell.catch(() => undefined);
    const host = new ActorHost(name, child, port, exit);
    this.#hosts.push(host);
    return host;
  }

  /** What happened until now, in order. */
  get lines(): readonly ActorLine[] {
    const lines = readFileSync(this.#log, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [host = '', what = '', actor = '', text = ''] = line.split(' ');
      return { host, what, actor, text };
    });
  }

  /** The lines of a kind with a text, such as the ticks of one name. */
  of(what: string, text: string): readonly ActorLine[] {
    return this.lines.filter((line) => line.what === what && line.text === text);
  }

  /** The host of each actor's last turn. */
  get places(): ReadonlyMap<string, string> {
    return new Map(this.lines.filter(({ what }) => what === 'T').map(({ actor, host }) => [actor, host]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.end('SIGKILL')));
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
