/**
 * One figure of `bench/check.ts`: the first argument names it, the second is the URL of the directory whose build does the
 * work. A unit is begun when one of {@link AT_ONCE} others has ended, until the time is over.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobContext, Sidecar, SidecarOptions, WorkflowRun } from '../../src/index.ts';
import { type Embedded, type Insidecar, loadBuilt, loadEmbedded } from './built.ts';
import { serve } from './contender.ts';
import { PAYLOAD } from './payload.ts';

const [, , name = '', root = ''] = process.argv;
const AT_ONCE = 64;
const DATA = JSON.parse(PAYLOAD) as Record<string, unknown>;

// Builds until November 2026 have other names for some of what is called here.
const built = await loadBuilt(root);
const directory = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

async function startSidecar(options: Partial<SidecarOptions>): Promise<Sidecar> {
  const sidecar = new built.Sidecar({ appId: 'bench', ...options });
  await sidecar.start();
  return sidecar;
}

async function durableState(): Promise<Pick<SidecarOptions, 'state'>> {
  const { embeddedState, embedded } = (await loadEmbedded(root)) as Embedded & { readonly embedded?: never };
  return { state: (embeddedState ?? embedded)({ path: directory }) };
}

/** Units whose end is told from elsewhere than their beginning. */
class Open {
  readonly #ends = new Map<number, () => void>();
  #last = 0;

  async unit(begin: (id: number) => Promise<unknown>): Promise<void> {
    const id = ++this.#last;
    const ended = new Promise<void>((resolve) => this.#ends.set(id, resolve));
    await begin(id);
    await ended;
  }

  end(id: number): void {
    this.#ends.get(id)?.();
    this.#ends.delete(id);
  }
}

/** Serves a figure whose units are begun here. */
function working(unit: () => Promise<unknown>): void {
  serve({
    run: async (seconds) => {
      const deadline = performance.now() + seconds * 1_000;
      let count = 0;
      const caller = async (): Promise<void> => {
        for (; performance.now() < deadline; count++) await unit();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, caller));
      return count;
    },
  });
}

const open = new Open();
const figures: Readonly<Record<string, () => Promise<void>>> = {
  publish: async () => {
    const sidecar = await startSidecar({ components: [built.memoryPubSub('pubsub')] });
    const { nodeHandler, nodeListener } = built as Insidecar & { readonly nodeListener?: never };
    const server = createServer((nodeHandler ?? nodeListener)(sidecar));
    server.keepAliveTimeout = 0;
    server.listen(0, '127.0.0.1', () => serve({ port: (server.address() as AddressInfo).port }));
  },
  deliver: async () => {
    const { pubsub } = await startSidecar({ components: [built.memoryPubSub('pubsub')] });
    await pubsub.subscribe<{ id: number }>('pubsub', 'orders', ({ data }) => open.end(data?.id ?? 0));
    working(() => open.unit((id) => pubsub.publish('pubsub', 'orders', { ...DATA, id })));
  },
  durable: async () => {
    const { pubsub } = await startSidecar({ ...(await durableState()), components: [built.durablePubSub('pubsub')] });
    await pubsub.subscribe<{ id: number }>('pubsub', 'orders', ({ data }) => open.end(data?.id ?? 0), {
      concurrency: AT_ONCE,
    });
    working(() => open.unit((id) => pubsub.publish('pubsub', 'orders', { ...DATA, id })));
  },
  job: async () => {
    const sidecar = await startSidecar(await durableState());
    const { jobs } = sidecar;
    await runJobs(sidecar, (job) => open.end(Number(job.slice('job-'.length))));
    working(() => open.unit((id) => jobs.schedule(`job-${id}`, { dueTime: '0s', data: DATA })));
  },
  workflow: async () => {
    const { workflows } = await startSidecar(await durableState());
    const step = built.defineActivity('step', async (...given: unknown[]) => countIn(given) + 1);
    const three = built.defineWorkflow('three', async (ctx, count: number) => {
      for (let index = 0; index < 3; index++) count = await ctx.callActivity(step, count);
      return count;
    });
    workflows.register(step, three);
    working(async () => resultOf(workflows, await workflows.start('three', 0)));
  },
};

/** Builds until November 2026 attach a function for jobs by `handle`, and give it one object. */
async function runJobs({ jobs }: Sidecar, run: (name: string) => void): Promise<void> {
  const { handle } = jobs as { readonly handle?: (pattern: string, run: (context: JobContext) => void) => void };
  if (handle !== undefined) return handle.call(jobs, '*', ({ name }) => run(name));
  await jobs.register(built.defineJob('*', (_, { name }) => run(name)));
}

/** Builds until November 2026 give activities their context first. */
function countIn(given: readonly unknown[]): number {
  return given.find((one) => typeof one === 'number') ?? 0;
}

/** The start of a workflow answers its ID in those builds. */
function resultOf(workflows: Sidecar['workflows'], started: WorkflowRun | string): Promise<unknown> {
  if (typeof started !== 'string') return started.result();
  return (workflows as unknown as { waitForCompletion(id: string): Promise<unknown> }).waitForCompletion(started);
}

await figures[name]?.();
