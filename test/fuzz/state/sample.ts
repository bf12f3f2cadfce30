import { defineJob, durablePubSub, type Logger, Sidecar } from '../../../src/index.ts';
import type { StateDefinition } from '../../../src/kit/index.ts';

/** What a store holds for certain: everything that was acknowledged, by kind. */
const SAMPLE = {
  topics: ['orders', 'mails', 'events'],
  messagesPerTopic: 8,
  jobs: 10,
  waiting: 4,
  finished: 3,
} as const;

const PUBSUB = 'pubsub';
/** Enough on a busy machine. Where a row is damaged that all need, this time passes. */
const NEW_WORK_MS = 5_000;
const LONG = 'x'.repeat(20_000);

/** A sidecar on a store. */
export function sidecarOn(state: StateDefinition, logger: Logger): Sidecar {
  const sidecar = new Sidecar({
    ...{ appId: 'shop', components: [durablePubSub(PUBSUB)], state, logger, stopTimeout: 300 },
  });
  const { workflows } = sidecar;
  workflows.registerActivity('echo', (input) => input);
  workflows.register('echo', (context, input) => context.callActivity('echo', input));
  workflows.register('wait', async (context, input) => {
    const echoed = await context.callActivity('echo', input);
    return [echoed, await context.waitForEvent('go')];
  });
  return sidecar;
}

/** Fills a store; resolves when all of it has been acknowledged. */
export async function fill(sidecar: Sidecar): Promise<void> {
  const { pubsub, jobs, workflows } = sidecar;
  for (const topic of SAMPLE.topics) {
    await pubsub.queues.addGroup({ pubsubName: PUBSUB, topic, group: 'shop' });
    for (let index = 0; index < SAMPLE.messagesPerTopic; index++)
      await pubsub.publish(PUBSUB, topic, idOf(topic, index), { metadata: { colour: 'blue' } });
  }
  for (let index = 0; index < SAMPLE.jobs; index++) {
    const data = { index, text: index % 5 === 0 ? LONG : 'short' };
    await jobs.schedule(jobOf(index), index % 2 === 0 ? { dueTime: '1000h', data } : { schedule: '@yearly', data });
  }
  for (let index = 0; index < SAMPLE.finished; index++)
    await workflows.start('echo', { index }, { instanceId: `finished-${index}` });
  for (let index = 0; index < SAMPLE.waiting; index++)
    await workflows.start('wait', { index }, { instanceId: `waiting-${index}` });
  for (let index = 0; index < SAMPLE.finished; index++) await workflows.run(`finished-${index}`).ended();
  for (let index = 0; index < SAMPLE.waiting; index++) await untilWaits(sidecar, `waiting-${index}`);
}

async function untilWaits({ workflows }: Sidecar, id: string): Promise<void> {
  while ((await workflows.history(id)).length < 3) await later(2);
}

function idOf(topic: string, index: number): string {
  return `${topic}-${index}`;
}

function jobOf(index: number): string {
  return `job-${index}`;
}

/** What was found in a store. */
export interface Examined {
  /** Acknowledged things that are not there, and about which no call has failed. */
  readonly missing: readonly string[];
  /** Errors of calls. */
  readonly told: readonly string[];
  /** New work that was not done. */
  readonly stuck: readonly string[];
}

/** Uses a store that holds the sample as an application would; never throws for what is damaged. */
export class Examination {
  readonly #sidecar: Sidecar;
  readonly #missing: string[] = [];
  readonly #told: string[] = [];
  readonly #stuck: string[] = [];
  /** What came, by topic: damaged data count, too. */
  readonly #delivered = new Map<string, Set<unknown>>(SAMPLE.topics.map((topic) => [topic, new Set()]));

  constructor(state: StateDefinition, logger: Logger) {
    this.#sidecar = sidecarOn(state, logger);
  }

  async run(): Promise<Examined> {
    try {
      if ((await this.#heard('start', () => this.#sidecar.start().then(() => true))) === true) await this.#use();
    } finally {
      await this.#heard('stop', () => this.#sidecar.stop());
    }
    return { missing: this.#missing, told: this.#told, stuck: this.#stuck };
  }

  async #use(): Promise<void> {
    const { jobs, workflows, pubsub } = this.#sidecar;
    const { topics, messagesPerTopic } = SAMPLE;
    for (const topic of topics)
      await this.#heard(`subscription to ${topic}`, () =>
        pubsub.subscribe(
          PUBSUB,
          topic,
          ({ id, data }) => void this.#delivered.get(topic)?.add(data === `new-${topic}` ? data : id),
          {
            retry: { maxRetries: 1, delay: 1 },
          },
        ),
      );
    for (let index = 0; index < SAMPLE.jobs; index++) await this.#has(jobOf(index), () => jobs.get(jobOf(index)));
    for (let index = 0; index < SAMPLE.finished; index++)
      await this.#has(`finished-${index}`, () => this.#finished(`finished-${index}`));
    const waiting = Array.from({ length: SAMPLE.waiting }, (_, index) => `waiting-${index}`);
    await Promise.all(waiting.map((id) => this.#has(id, () => this.#wakened(id))));
    await this.#heard('list of jobs', () => jobs.listPage());
    await this.#heard('list of workflows', () => workflows.listPage());
    const came = (topic: string): number => this.#delivered.get(topic)?.size ?? 0;
    await until(() => topics.every((topic) => came(topic) >= messagesPerTopic), 400);
    for (const topic of topics)
      for (let count = came(topic); count < messagesPerTopic; count++) this.#missing.push(`a message on ${topic}`);
    await this.#newWork();
    for (let index = 0; index < SAMPLE.jobs; index++)
      await this.#heard(`deletion of ${jobOf(index)}`, () => jobs.delete(jobOf(index)));
  }

  /** The damage of one thing holds up no other. */
  async #newWork(): Promise<void> {
    const { jobs, workflows, pubsub } = this.#sidecar;
    let hasRun = false;
    await jobs.register(
      defineJob('new-job', () => {
        hasRun = true;
      }),
    );
    await this.#heard('a new job', () => jobs.schedule('new-job', { dueTime: '0s' }));
    for (const topic of SAMPLE.topics)
      await this.#heard('a new message', () => pubsub.publish(PUBSUB, topic, `new-${topic}`));
    await this.#heard('a new workflow', () => workflows.start('echo', 'new', { instanceId: 'new' }));
    const isDone = async (): Promise<boolean> =>
      (await workflows.get('new').catch(() => undefined))?.status === 'COMPLETED';
    const arrived = (): boolean => SAMPLE.topics.every((topic) => this.#hasNew(topic));
    await until(async () => hasRun && arrived() && (await isDone()), NEW_WORK_MS);
    if (!hasRun) this.#stuck.push('new job');
    if (!(await isDone())) this.#stuck.push('new workflow');
    for (const topic of SAMPLE.topics) if (!this.#hasNew(topic)) this.#stuck.push(`new message on ${topic}`);
  }

  #hasNew(topic: string): boolean {
    return this.#delivered.get(topic)?.has(`new-${topic}`) === true;
  }

  async #finished(id: string): Promise<unknown> {
    const { workflows } = this.#sidecar;
    const found = await workflows.get(id);
    if (found !== undefined) await workflows.history(id);
    return found;
  }

  async #wakened(id: string): Promise<unknown> {
    const { workflows } = this.#sidecar;
    if ((await workflows.get(id)) === undefined) return undefined;
    await workflows.raiseEvent(id, 'go', 1);
    const state = await workflows.run(id).ended({ timeout: 1_000 });
    if (state.status === 'FAILED') this.#told.push(`${id}: ${state.failure?.message}`);
    return state;
  }

  async #has(what: string, read: () => Promise<unknown>): Promise<void> {
    const before = this.#told.length;
    const found = await this.#heard(what, read);
    if (found === undefined && this.#told.length === before) this.#missing.push(what);
  }

  /** The result of a call; an error of it is kept. */
  async #heard<T>(what: string, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      this.#told.push(`${what}: ${String(error)}`);
      return undefined;
    }
  }
}

async function until(holds: () => boolean | Promise<boolean>, forMs: number): Promise<void> {
  const deadline = performance.now() + forMs;
  while (!(await holds()) && performance.now() < deadline) await later(2);
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
