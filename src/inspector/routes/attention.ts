import type { QueueInfo, SubscriptionInfo, WorkflowState } from '../../index.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import type { Attention } from '../api/live.ts';

/** How long findings from the store are answered again: reading the store takes longer than all other sources. */
const FRESH_MS = 5_000;
/** Failed workflows of the last day are counted, up to this. */
const WORKFLOWS = { sinceMs: 24 * 3_600_000, limit: 100 };
const JOBS_LIMIT = 1_000;

/** Finds what somebody should look at. */
export class AttentionFinder {
  readonly #sidecar: Sidecar;
  #stored: { readonly until: number; readonly found: Promise<readonly Attention[]> } | undefined;

  constructor(sidecar: Sidecar) {
    this.#sidecar = sidecar;
  }

  /** Errors first. Sources that cannot be read are listed as well. */
  async find(): Promise<readonly Attention[]> {
    const found = [...ofHealth(this.#sidecar), ...ofSubscriptions(this.#sidecar), ...(await this.#inStore())];
    return [
      ...found.filter(({ severity }) => severity === 'error'),
      ...found.filter(({ severity }) => severity !== 'error'),
    ];
  }

  #inStore(): Promise<readonly Attention[]> {
    const now = Date.now();
    if (this.#stored === undefined || now >= this.#stored.until)
      this.#stored = { until: now + FRESH_MS, found: this.#lookInStore() };
    return this.#stored.found;
  }

  async #lookInStore(): Promise<readonly Attention[]> {
    const parts = [ofQueues, ofJobs, ofWorkflows].map((part) => part(this.#sidecar));
    const settled = await Promise.allSettled(parts);
    const failed = settled.some(({ status }) => status === 'rejected');
    const found = settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    return failed ? [...found, error('The state store or a component cannot be read now', '#/settings')] : found;
  }
}

function error(text: string, href: string): Attention {
  return { severity: 'error', text, href };
}

function warning(text: string, href: string): Attention {
  return { severity: 'warning', text, href };
}

function link(page: string, query: Readonly<Record<string, string>>): string {
  return `#/${page}?${new URLSearchParams(query).toString()}`;
}

/** `1 dead letter`, `2 dead letters`, `10,000+ dead letters`. */
function amount(count: number, noun: string, isCapped = false): string {
  return `${count.toLocaleString('en')}${isCapped ? '+' : ''} ${noun}${count === 1 && !isCapped ? '' : 's'}`;
}

function ofHealth({ health }: Sidecar): readonly Attention[] {
  const parts = health
    .state()
    .checks.filter(({ isReady }) => !isReady)
    .map(({ name, reason }) => {
      const text = `${NOT_READY[name]}${reason === undefined ? '' : `: ${reason}`}`;
      return name === 'actors' ? warning(text, '#/settings') : error(text, '#/settings');
    });
  const open = health
    .breakers()
    .filter(({ state }) => state === 'open')
    .map(({ target, endpoint }) => error(`The circuit breaker of ${target} (${endpoint}) is open`, '#/settings'));
  return [...parts, ...open];
}

const NOT_READY = {
  components: 'The components are not open',
  state: 'The state store does not work',
  stores: 'Stores of components do not work',
  'app-channel': 'The application is not ready',
  actors: 'Actor types are missing at this host',
};

function ofSubscriptions(sidecar: Sidecar): readonly Attention[] {
  const subscriptions = sidecar.pubsub.subscriptions();
  const refused = subscriptions
    .filter(({ state }) => state === 'refused')
    .map(({ topic, problem }) => error(`A subscription to ${topic} was refused: ${problem ?? ''}`, '#/subscriptions'));
  return [...refused, ...ofUnhandled(sidecar, deadTopics(subscriptions))];
}

/** The topics of dead letters, with their components. */
function deadTopics(subscriptions: readonly SubscriptionInfo[]): ReadonlySet<string> {
  return new Set(
    subscriptions.flatMap(({ pubsubName, deadLetterTopic }) =>
      deadLetterTopic === undefined ? [] : [keyOf(pubsubName, deadLetterTopic)],
    ),
  );
}

function keyOf(pubsubName: string, topic: string): string {
  return JSON.stringify([pubsubName, topic]);
}

function ofUnhandled({ metadata }: Sidecar, dead: ReadonlySet<string>): readonly Attention[] {
  const { messages = [], groups = [], jobs = [] } = metadata.get().unhandled ?? {};
  const lost = messages.map(({ pubsubname, topic, count }) =>
    dead.has(keyOf(pubsubname, topic))
      ? error(`Topic ${topic} has no group: ${amount(count, 'dead letter')} got lost`, link('messages', { topic }))
      : warning(`Topic ${topic} has no group: ${amount(count, 'message')} got lost`, link('messages', { topic })),
  );
  const abandoned = groups.map(({ topic, group, count }) =>
    warning(
      `Nobody takes the messages of ${topic} for ${group}: ${amount(count, 'message')} waiting`,
      link('queues', { topic }),
    ),
  );
  const due = jobs.map(({ name }) =>
    warning(`Job ${name} is due, but nothing runs it`, link('jobs', { prefix: name })),
  );
  return [...lost, ...abandoned, ...due];
}

async function ofQueues({ pubsub }: Sidecar): Promise<readonly Attention[]> {
  const dead = deadTopics(pubsub.subscriptions());
  const queues = await pubsub.queues.list();
  const letters = queues
    .filter((queue) => isDead(queue, dead) && waiting(queue) > 0)
    .map((queue) => {
      const text = `${amount(waiting(queue), 'dead letter', queue.isCapped)} in ${queue.topic} for ${queue.group}`;
      return error(text, link('dead-letters', { topic: queue.topic }));
    });
  const paused = queues
    .filter(({ isPaused }) => isPaused)
    .map(({ topic, group }) => warning(`Queue ${topic} of ${group} is paused`, link('queues', { topic })));
  return [...letters, ...paused];
}

function isDead({ pubsubName, topic, keepsDeadLetters }: QueueInfo, dead: ReadonlySet<string>): boolean {
  return keepsDeadLetters || dead.has(keyOf(pubsubName, topic));
}

function waiting({ ready, delayed }: QueueInfo): number {
  return ready + delayed;
}

async function ofJobs({ jobs }: Sidecar): Promise<readonly Attention[]> {
  const { jobs: list } = await jobs.listPage({ limit: JOBS_LIMIT });
  return list.flatMap(({ name, lastRun: { outcome, reason = '' } = {} }) => {
    const href = link('jobs', { prefix: name });
    if (outcome === 'failed' || outcome === 'dropped')
      return [error(`The last run of job ${name} failed: ${reason}`, href)];
    return outcome === 'retrying' ? [warning(`Job ${name} has failed, and is tried again: ${reason}`, href)] : [];
  });
}

async function ofWorkflows({ workflows }: Sidecar): Promise<readonly Attention[]> {
  const { limit, sinceMs } = WORKFLOWS;
  const since = Date.now() - sinceMs;
  const { instances, cursor } = await workflows.listPage({ status: 'FAILED', since, reverse: true, limit });
  if (instances.length === 0) return [];
  return [error(`${failed(instances, cursor !== undefined)} within a day`, link('workflows', { status: 'FAILED' }))];
}

function failed(instances: readonly WorkflowState[], isCapped: boolean): string {
  return `${amount(instances.length, 'workflow', isCapped)} failed`;
}
