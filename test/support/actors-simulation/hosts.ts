import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import { request } from '../../../src/http/message.ts';
import { Actor, nodeHandler } from '../../../src/index.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { sleep } from '../../../src/util/clock.ts';
import { IDENTITY } from '../apart.ts';
import { patientClock } from '../clock.ts';
import { type Listening, listen } from '../http.ts';
import { RecordingLogger } from '../logger.ts';
import { PausableStore } from '../pausable-store.ts';
import { TestSidecar } from '../sidecar.ts';

/** What an account keeps: the turns that were stored, in their order. */
export interface Ledger {
  turns: readonly string[];
}

/** A turn as its host saw it. `endedAt` is absent while its code runs. Both count what happened, over all hosts. */
export interface SeenTurn {
  readonly actor: string;
  readonly token: string;
  readonly host: SimulatedHost;
  readonly beganAt: number;
  endedAt?: number;
}

/** What all hosts of a simulation write to. */
class TurnLog {
  /** By token: a turn that is repeated has several. */
  readonly turns = new Map<string, SeenTurn[]>();
  #now = 0;

  begin(actor: string, token: string, host: SimulatedHost): SeenTurn {
    const turn = { actor, token, host, beganAt: this.#now++ };
    this.turns.set(token, [...(this.turns.get(token) ?? []), turn]);
    return turn;
  }

  end(turn: SeenTurn): void {
    turn.endedAt = this.#now++;
  }
}

export const TYPE = 'Account';

/** A host as if it were in a process of its own: it can stand still, and die without a word. */
export class SimulatedHost extends TestSidecar {
  readonly number: number;
  readonly store: PausableStore;
  readonly server: Listening;
  isFrozen = false;
  isDead = false;
  /** Whether it has ever been frozen or dead: what was under way there may be repeated elsewhere. */
  wasLost = false;
  #thawed: Promise<void> = Promise.resolve();
  #thaw: () => void = () => undefined;

  constructor(
    number: number,
    { store, server, startAt }: Pick<SimulatedHost, 'store' | 'server'> & { startAt: number },
  ) {
    super({
      ...{ state: store, address: server.url, identity: IDENTITY },
      clock: patientClock({ startAt }),
    });
    this.number = number;
    this.store = store;
    this.server = server;
    const handle = nodeHandler(this.sidecar.peers);
    server.use((req, res) => void this.#thawed.then(() => (this.isDead ? req.destroy() : handle(req, res))));
  }

  get isAwake(): boolean {
    return !this.isFrozen && !this.isDead;
  }

  freeze(): void {
    this.isFrozen = true;
    this.wasLost = true;
    this.store.pause();
    this.#thawed = new Promise((resolve) => {
      this.#thaw = resolve;
    });
  }

  thaw(): void {
    this.isFrozen = false;
    this.store.resume();
    this.#thaw();
  }

  async die(): Promise<void> {
    this.isDead = true;
    this.wasLost = true;
    this.store.pause();
    await this.server[Symbol.asyncDispose]();
  }

  /** Sets a reminder; answers whether that was acknowledged. */
  async remind(actor: string, name: string, body: object): Promise<boolean> {
    const path = `/v1.0/actors/${TYPE}/${actor}/reminders/${name}`;
    const headers = { 'content-type': 'application/json' };
    const { status } = await this.sidecar.handle(request('POST', path, { headers, body: JSON.stringify(body) }));
    return status === 204;
  }

  /** Whether there is a reminder, as far as the store knows. */
  async hasReminder(actor: string, name: string): Promise<boolean> {
    return (
      (await this.sidecar.handle(request('GET', `/v1.0/actors/${TYPE}/${actor}/reminders/${name}`))).status === 200
    );
  }

  async turnsOf(actor: string): Promise<readonly string[]> {
    const state = (await this.sidecar.actors.state(TYPE, actor)).get('state') as Ledger | undefined;
    return state?.turns ?? [];
  }
}

/** The class of the actors of a host. */
function accountOf(host: SimulatedHost, log: TurnLog, random: () => number): new () => Actor<Ledger> {
  return class extends Actor<Ledger> {
    add(token: string): Promise<number> {
      return this.#turn(token);
    }

    override async onReminder(name: string): Promise<void> {
      await this.#turn(`tick/${name}`);
    }

    async #turn(token: string): Promise<number> {
      const turn = log.begin(this.id, token, host);
      // A few take long enough that hosts freeze and die meanwhile.
      if (random() < 0.01) await sleep(host.clock, 1_500);
      else for (let waits = random() * 5; waits > 0; waits--) await new Promise((resolve) => setImmediate(resolve));
      const turns = [...(this.state.turns ?? []), token];
      this.state.turns = turns;
      log.end(turn);
      return turns.length;
    }
  };
}

/** Hosts that share a store in memory. */
export class SimulatedHosts implements AsyncDisposable {
  readonly log = new TurnLog();
  readonly all: SimulatedHost[] = [];
  readonly #memory = new MemoryStore({ clock: virtualClock(), logger: new RecordingLogger() });
  readonly #random: () => number;
  #now = Date.parse('2026-01-01T00:00:00Z');

  constructor(random: () => number) {
    this.#random = random;
  }

  get awake(): readonly SimulatedHost[] {
    return this.all.filter(({ isAwake }) => isAwake);
  }

  async join(): Promise<void> {
    const store = new PausableStore(this.#memory, false, true);
    const host = new SimulatedHost(this.all.length, { store, server: await listen(), startAt: this.#now });
    host.sidecar.actors.register(accountOf(host, this.log, this.#random), { type: TYPE });
    this.all.push(host);
    await host.start();
  }

  async leave(host: SimulatedHost): Promise<void> {
    await host.stop();
    host.isDead = true;
    await host.server[Symbol.asyncDispose]();
  }

  /** Time passes for those that are awake, second by second. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) for (const { clock } of this.awake) await clock.advance(1_000);
    this.#now += seconds * 1_000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.all) {
      host.thaw();
      await host.stop();
      await host.server[Symbol.asyncDispose]();
    }
  }
}
