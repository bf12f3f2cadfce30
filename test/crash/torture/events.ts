import type { HostProcess } from './host-process.ts';
import type { Call, Records } from './records.ts';

/** Where the event of a workflow was asked for. */
interface Asked {
  readonly workflow: string;
  readonly host: HostProcess;
}

/**
 * Has the event that a workflow waits for raised by another host than the one that started it, until one has
 * acknowledged it. A workflow whose start failed, or has no answer, may be there all the same: it gets its event too.
 */
export class Events {
  readonly #records: Records;
  readonly #random: () => number;
  readonly #waiting: string[] = [];
  /** By token. */
  readonly #asked = new Map<string, Asked>();
  #tokens = 0;

  constructor(records: Records, random: () => number) {
    this.#records = records;
    this.#random = random;
    records.onCall = (call) => this.#told(call);
  }

  /** Whether every workflow has got its event. */
  get areDone(): boolean {
    return this.#waiting.length === 0 && this.#asked.size === 0;
  }

  /** Whether a workflow has not got its event yet, as far as is known. */
  has(workflow: string): boolean {
    return this.#waiting.includes(workflow) || [...this.#asked.values()].some((asked) => asked.workflow === workflow);
  }

  /** Asks hosts for what waits. */
  ask(hosts: readonly HostProcess[]): void {
    const ready = hosts.filter(({ isReady }) => isReady);
    if (ready.length === 0) return;
    for (const workflow of this.#waiting.splice(0)) {
      const starter = this.#records.calls.get(`start ${workflow}`)?.life;
      const others = ready.filter(({ life }) => life !== starter);
      const among = others.length > 0 ? others : ready;
      const host = among[Math.floor(this.#random() * among.length)];
      if (host === undefined) continue;
      const token = `${workflow}/${this.#tokens++}`;
      this.#asked.set(token, { workflow, host });
      host.ask({ what: 'raise', id: workflow, token });
    }
  }

  /** A workflow waits for its event: an unanswered start was done after its event had found no workflow. */
  demand(workflow: string): void {
    if (!this.has(workflow)) this.#waiting.push(workflow);
  }

  /** A host is gone, and all that it wrote was read: others do what it has not ended. */
  gone(host: HostProcess): void {
    for (const { what, id, life, result } of this.#records.calls.values())
      if (what === 'start' && life === host.life && result === undefined) this.#waiting.push(id);
    for (const [token, asked] of this.#asked) if (asked.host === host) this.#again(token);
  }

  #told({ what, id, result }: Call): void {
    if (result === undefined) return;
    if (what === 'start') this.#waiting.push(id);
    if (what !== 'raise') return;
    const workflow = this.#asked.get(id)?.workflow;
    const isAcknowledged = this.#records.calls.get(`start ${workflow}`)?.result === 'ok';
    if (result === 'ok' || (result === 'ERR_INSTANCE_ID_NOT_FOUND' && !isAcknowledged)) this.#asked.delete(id);
    else this.#again(id);
  }

  #again(token: string): void {
    const workflow = this.#asked.get(token)?.workflow;
    this.#asked.delete(token);
    if (workflow !== undefined) this.#waiting.push(workflow);
  }
}
