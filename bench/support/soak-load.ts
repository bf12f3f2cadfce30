import { Pool } from 'undici';

/** What a unit of the mix did since it was asked last. */
export interface LoadReport {
  readonly units: number;
  readonly messages: number;
  readonly jobs: number;
  readonly workflows: number;
  /** How long each durable publish took until its 204, in milliseconds. */
  readonly publishMs: readonly number[];
}

const EMPTY = { units: 0, messages: 0, jobs: 0, workflows: 0 };
/** One workflow for so many units. */
const UNITS_PER_WORKFLOW = 10;
/** How many units may be open; when there are as many, no more are begun. */
const MAX_OPEN = 10_000;
const TICK_MS = 5;

/** Uses all building blocks of a sidecar over HTTP. A unit is two messages, a job and a call; each tenth has a workflow. */
export class SoakLoad {
  readonly #pool: Pool;
  #counts = { ...EMPTY };
  #publishMs: number[] = [];
  #begun = 0;
  #open = 0;
  #failure: Error | undefined;

  constructor(port: number) {
    this.#pool = new Pool(`http://127.0.0.1:${port}`, { connections: 64 });
  }

  /** So many at a time, one after the other; answers the units per second. */
  async saturate(seconds: number, atOnce: number): Promise<number> {
    const deadline = performance.now() + seconds * 1_000;
    let count = 0;
    const caller = async (): Promise<void> => {
      for (; performance.now() < deadline; count++) await this.#unit();
    };
    await Promise.all(Array.from({ length: atOnce }, caller));
    return count / seconds;
  }

  /** Begins so many units per second, however long they take up to a limit, until the time is over. Rejects when one fails. */
  async pace(perSecond: number, seconds: number): Promise<void> {
    const startedAt = performance.now();
    let begun = 0;
    for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - startedAt) / 1_000) {
      for (; begun < elapsed * perSecond && this.#open < MAX_OPEN; begun++) this.#begin();
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  }

  #begin(): void {
    this.#open++;
    this.#unit()
      .catch((error: Error) => {
        this.#failure ??= error;
      })
      .finally(() => this.#open--);
  }

  /** Waits for what is open. */
  async end(): Promise<void> {
    while (this.#open > 0) await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    await this.#pool.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  report(): LoadReport {
    const report = { ...this.#counts, publishMs: this.#publishMs };
    this.#counts = { ...EMPTY };
    this.#publishMs = [];
    return report;
  }

  async #unit(): Promise<void> {
    const id = ++this.#begun;
    const message = JSON.stringify({
      ...{ orderId: id, customer: 'c-4711', note: 'x'.repeat(120) },
      sentAt: performance.timeOrigin + performance.now(),
    });
    const sentAt = performance.now();
    await this.#call('POST', '/v1.0/publish/durable/orders', message);
    this.#publishMs.push(performance.now() - sentAt);
    await this.#call('POST', '/v1.0/publish/memory/orders', message);
    this.#counts.messages += 2;
    await this.#call('POST', `/v1.0-alpha1/jobs/job-${id}`, JSON.stringify({ dueTime: '10ms', data: id }));
    this.#counts.jobs++;
    await this.#call('GET', '/v1.0/invoke/soak/method/ping');
    if (id % UNITS_PER_WORKFLOW === 0) await this.#workflow(`flow-${id}`);
    this.#counts.units++;
  }

  async #workflow(id: string): Promise<void> {
    const path = `/v1.0/workflows/sidecar/${id}`;
    await this.#call('POST', `/v1.0/workflows/sidecar/flow/start?instanceID=${id}`, '1');
    for (let status = ''; status !== 'COMPLETED'; ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      ({ runtimeStatus: status } = JSON.parse(await this.#call('GET', path)) as { runtimeStatus: string });
    }
    await this.#call('POST', `${path}/purge`);
    this.#counts.workflows++;
  }

  async #call(method: 'GET' | 'POST', path: string, body?: string): Promise<string> {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await this.#pool.request({ method, path, headers, body: body ?? null });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return text;
  }
}
