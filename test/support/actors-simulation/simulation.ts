import { isSidecarError } from '../../../src/errors.ts';
import { randomOf } from '../../crash/torture/random.ts';
import { type SeenTurn, type SimulatedHost, SimulatedHosts, TYPE } from './hosts.ts';

/** How big a simulation is, and what happens in it. */
export interface SimulationOptions {
  readonly seed: number;
  readonly actors: number;
  readonly callers: number;
  readonly steps: number;
  /** Whether hosts also freeze and die; else they join and stop. */
  readonly hasFaults: boolean;
}

/** A call that was made. */
interface MadeCall {
  readonly actor: string;
  readonly token: string;
  readonly entry: SimulatedHost;
  outcome: 'open' | 'acknowledged' | 'failed';
  error?: string;
}

/** A reminder that was acknowledged, and the most ticks that it has. */
interface SetReminder {
  readonly actor: string;
  readonly name: string;
  readonly ticks: number;
}

const MAX_HOSTS = 4;
/** Half of all calls go to that many actors, so that turns wait for each other. */
const HOT = 12;
/** No call waits as long, and no host is thought alive as long. */
const MAX_REST_SECONDS = 180;

/** Hosts join, stop, freeze and die by chance, while callers call and set reminders. Chance comes from the seed. */
export class Simulation implements AsyncDisposable {
  readonly calls: MadeCall[] = [];
  readonly reminders: SetReminder[] = [];
  readonly hosts: SimulatedHosts;
  readonly #options: SimulationOptions;
  readonly #random: () => number;
  /** The last call of each caller. */
  readonly #last: (MadeCall | undefined)[];
  readonly #setting = new Set<Promise<void>>();

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#random = randomOf(options.seed * 7_919);
    this.#last = Array.from({ length: options.callers }, () => undefined);
    this.hosts = new SimulatedHosts(this.#random);
  }

  async run(): Promise<void> {
    await this.hosts.join();
    await this.hosts.join();
    await this.hosts.pass(6);
    for (let step = 0; step < this.#options.steps; step++) {
      await this.#happen();
      this.#callSome();
      if (this.#random() < 0.3) this.#remind(`r${step}`);
      await this.hosts.pass(1 + Math.floor(this.#random() * 3));
    }
    await this.#rest();
  }

  async #happen(): Promise<void> {
    const { all, awake } = this.hosts;
    const dice = this.#random();
    for (const host of all) if (host.isFrozen && this.#random() < 0.15) host.thaw();
    const host = this.#one(awake);
    const present = all.filter(({ isDead }) => !isDead).length;
    if (present < 2 || (dice < 0.1 && present < MAX_HOSTS)) return this.hosts.join();
    if (host === undefined || awake.length < 2) return;
    if (dice < 0.15) return this.hosts.leave(host);
    if (!this.#options.hasFaults) return;
    if (dice < 0.25) host.freeze();
    else if (dice < 0.3) await host.die();
  }

  #one<T>(of: readonly T[]): T | undefined {
    return of[Math.floor(this.#random() * of.length)];
  }

  #actor(): string {
    const among = this.#random() < 0.5 ? HOT : this.#options.actors;
    return `a${Math.floor(this.#random() * among)}`;
  }

  /** A caller makes one call after the other, at any host. What its host has not answered when it dies is given up. */
  #callSome(): void {
    for (const [caller, last] of this.#last.entries()) {
      if (last?.outcome === 'open' && !last.entry.isDead) continue;
      const entry = this.#one(this.hosts.awake);
      if (entry === undefined || this.#random() < 0.4) continue;
      const token = `${caller}/${this.calls.length}`;
      const call: MadeCall = { actor: this.#actor(), token, entry, outcome: 'open' };
      this.calls.push(call);
      this.#last[caller] = call;
      void this.#make(call);
    }
  }

  async #make(call: MadeCall): Promise<void> {
    try {
      await call.entry.sidecar.actors.call(TYPE, call.actor, { method: 'add', body: [call.token] });
      call.outcome = 'acknowledged';
    } catch (error) {
      call.outcome = 'failed';
      call.error = isSidecarError(error) ? `${error.code} ${error.message}` : String(error);
    }
  }

  #remind(name: string): void {
    const host = this.#one(this.hosts.awake);
    if (host === undefined) return;
    const actor = this.#actor();
    const ticks = this.#random() < 0.5 ? 1 : 4;
    const dueTime = `${Math.floor(this.#random() * 6)}s`;
    const setting = host.remind(actor, name, ticks === 1 ? { dueTime } : { dueTime, period: `R${ticks}/PT5S` });
    const kept = setting.then((isSet) => void (isSet && this.reminders.push({ actor, name, ticks })));
    this.#setting.add(kept.catch(() => undefined));
  }

  /** All that stood still goes on; until nothing is open any more. */
  async #rest(): Promise<void> {
    for (const host of this.hosts.all) if (host.isFrozen && !host.isDead) host.thaw();
    for (let second = 0; second < MAX_REST_SECONDS && (await this.open()).length > 0; second += 3)
      await this.hosts.pass(3);
  }

  /** What has not ended. */
  async open(): Promise<readonly string[]> {
    const calls = this.calls.filter(({ outcome, entry }) => outcome === 'open' && !entry.isDead);
    const [host] = this.hosts.awake;
    const reminders: string[] = [];
    for (const { actor, name } of this.reminders)
      if ((await host?.hasReminder(actor, name)) !== false) reminders.push(`reminder ${name} of ${actor}`);
    return [...calls.map(({ token, actor }) => `call ${token} of ${actor}`), ...reminders];
  }

  /** What is wrong, each as a line; nothing when every promise was kept. */
  async findings(): Promise<readonly string[]> {
    const { calls, reminders } = this;
    const [host] = this.hosts.awake;
    if (host === undefined) return ['no host is left'];
    const found: string[] = [...(await this.open()).map((what) => `${what} has not ended`)];
    const stored = new Map<string, readonly string[]>();
    const actors = new Set([...calls, ...reminders].map(({ actor }) => actor));
    for (const actor of actors) {
      const turns = await host.turnsOf(actor);
      stored.set(actor, turns);
      found.push(...orderOf(actor, turns), ...this.#overlapsOf(actor, turns));
    }
    for (const call of calls) {
      const { actor, token, outcome, error } = call;
      const times = stored.get(actor)?.filter((turn) => turn === token).length ?? 0;
      if (times > 1) found.push(`${token} of ${actor} was stored ${times} times`);
      if (outcome === 'acknowledged' && times === 0) found.push(`${token} of ${actor} was acknowledged and is lost`);
      if (outcome === 'failed' && !this.#mayFail(call)) found.push(`${token} of ${actor} has failed: ${error}`);
    }
    for (const reminder of reminders) found.push(...this.#ticksOf(reminder, stored.get(reminder.actor) ?? []));
    return found;
  }

  /** A call may fail when its turn had begun at a host that was lost, or was on its way there; or the caller is gone. */
  #mayFail({ token, entry }: MadeCall): boolean {
    if (entry.isDead) return true;
    const begun = this.hosts.log.turns.get(token) ?? [];
    return this.#options.hasFaults && begun.every(({ host }) => host.wasLost);
  }

  /** Of the turns that were stored, each has ended before the next one began: at whatever hosts. */
  #overlapsOf(actor: string, tokens: readonly string[]): string[] {
    const seen = (token: string): SeenTurn | undefined => {
      const turns = this.hosts.log.turns.get(token) ?? [];
      // Of one that was repeated it is not known which was stored.
      return turns.length === 1 ? turns[0] : undefined;
    };
    return tokens.flatMap((token, index) => {
      const [before, turn] = [seen(tokens[index - 1] ?? ''), seen(token)];
      if (before?.endedAt === undefined || turn === undefined || before.endedAt < turn.beganAt) return [];
      return [`${token} of ${actor} at host ${turn.host.number} began within ${before.token} at ${before.host.number}`];
    });
  }

  /** Each is stored at least once, and more often than it is due only after a host was lost in it. */
  #ticksOf({ actor, name, ticks }: SetReminder, stored: readonly string[]): string[] {
    const token = `tick/${name}`;
    const times = stored.filter((turn) => turn === token).length;
    const begun = this.hosts.log.turns.get(token) ?? [];
    const lost = begun.filter(({ host }) => host.wasLost).length;
    const isRight = times >= 1 && times <= ticks + lost && (this.#options.hasFaults || begun.length <= ticks);
    return isRight ? [] : [`reminder ${name} of ${actor}: ${times} of ${ticks} ticks stored, ${begun.length} begun`];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.hosts[Symbol.asyncDispose]();
  }
}

/** The turns of a caller are stored in the order of its calls. */
function orderOf(actor: string, turns: readonly string[]): string[] {
  const latest = new Map<string, number>();
  return turns.flatMap((token) => {
    const [caller = '', text] = token.split('/');
    if (caller === 'tick') return [];
    const [number, before] = [Number(text), latest.get(caller) ?? -1];
    latest.set(caller, number);
    return number > before ? [] : [`${token} of ${actor} was stored after ${caller}/${before}`];
  });
}
