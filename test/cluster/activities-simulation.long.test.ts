import { expect, test } from 'vitest';
import { defineActivity, defineWorkflow } from '../../src/index.ts';
import { randomOf } from '../crash/torture/random.ts';
import { Fleet, type Member } from '../support/fleet.ts';

/** `INSIDECAR_TEST_SEEDS=1,2,3`: those seeds. By default one, another each time. */
const SEEDS = (process.env['INSIDECAR_TEST_SEEDS'] ?? String(Date.now() % 1_000_000)).split(',').map(Number);
const STEPS = 15;

/** Hosts of workflows and of activities that come, stop, and stand still for good, on a store that fails at times. */
class Simulation {
  readonly fleet: Fleet = new Fleet();
  readonly ids: string[] = [];
  /** The runs of activities that were not at a host that then stood still or was stopped. */
  readonly runs: { readonly call: string; readonly at: Member; isEnded: boolean }[] = [];
  readonly lost = new Set<Member>();
  readonly webs: Member[] = [];
  readonly workers: Member[] = [];
  readonly #random: () => number;
  isCalm = false;

  constructor(seed: number) {
    this.#random = randomOf(seed);
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #of(members: readonly Member[]): Member {
    return members[Math.floor(this.#random() * members.length)] as Member;
  }

  async #join(members: Member[]): Promise<Member> {
    const member = await this.fleet.join({ isApart: true, workflows: { maxConcurrentActivities: 20 } });
    member.store.holdsUp = () =>
      !this.isCalm && this.#chance(0.02) ? Promise.reject(new Error('the store is away')) : undefined;
    members.push(member);
    return member;
  }

  async joinWeb(): Promise<void> {
    const { sidecar } = await this.#join(this.webs);
    sidecar.workflows.register(
      defineWorkflow('sums', async (ctx, n: number) => {
        const halves = await Promise.all([1, 2, 3].map((by) => ctx.callActivity<number>('times', { n, by })));
        await ctx.sleep('2s');
        return ctx.callActivity('sum', halves, { retry: { maxRetries: 5, delay: '1s' } });
      }),
    );
  }

  async joinWorker(): Promise<void> {
    const member = await this.#join(this.workers);
    const { clock, sidecar } = member;
    const takes = async (call: string): Promise<void> => {
      const run = { call, at: member, isEnded: false };
      this.runs.push(run);
      const ms = Math.floor(this.#random() * 3_000);
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, ms));
      run.isEnded = true;
    };
    sidecar.workflows.register(
      defineActivity('times', async ({ n, by }: { n: number; by: number }, { instanceId, activityId }) => {
        await takes(`${instanceId}/${activityId}`);
        return n * by;
      }),
      defineActivity('sum', async (all: readonly number[], { instanceId, activityId, attempt }) => {
        await takes(`${instanceId}/${activityId}/${attempt}`);
        if (attempt === 1) throw new Error('the first attempt fails');
        return all.reduce((sum, one) => sum + one, 0);
      }),
    );
  }

  /** Takes a host away: it is stopped, or stands still for good. */
  async #lose(members: Member[]): Promise<void> {
    const member = this.#of(members);
    members.splice(members.indexOf(member), 1);
    this.lost.add(member);
    this.fleet.members.splice(this.fleet.members.indexOf(member), 1);
    if (this.#chance(0.5)) return void member.store.pause();
    const stopped = member.stop();
    for (let second = 0; second < 30; second++) await member.clock.advance(1_000);
    await stopped;
  }

  async run(): Promise<void> {
    for (let count = 0; count < 2; count++) {
      await this.joinWeb();
      await this.joinWorker();
    }
    await this.fleet.pass(6);
    for (let step = 0; step < STEPS; step++) {
      for (let count = 0; count < 4; count++) {
        const n = this.ids.length;
        const instanceId = `sums-${n}`;
        const start = this.#of(this.webs).sidecar.workflows.start('sums', n, { instanceId, ifExists: 'keep' });
        if (
          await start.then(
            () => true,
            () => false,
          )
        )
          this.ids.push(instanceId);
      }
      if (this.#chance(0.15)) await this.joinWeb();
      if (this.#chance(0.2)) await this.joinWorker();
      if (this.webs.length > 1 && this.#chance(0.15)) await this.#lose(this.webs);
      if (this.workers.length > 1 && this.#chance(0.2)) await this.#lose(this.workers);
      await this.fleet.pass(1 + Math.floor(this.#random() * 4));
    }
    this.isCalm = true;
    await this.fleet.pass(90);
  }

  async outputs(): Promise<readonly unknown[]> {
    const [web] = this.webs;
    return Promise.all(this.ids.map(async (id) => (await web?.sidecar.workflows.get(id))?.output));
  }

  /** Calls that ended more than once at hosts that were there all the time. */
  get repeated(): readonly string[] {
    const ended = this.runs.filter(({ at, isEnded }) => isEnded && !this.lost.has(at)).map(({ call }) => call);
    return ended.filter((call, index) => ended.indexOf(call) !== index);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const member of this.lost) await member.stop();
    await this.fleet[Symbol.asyncDispose]();
  }
}

test.each(SEEDS)(
  'activities of other hosts end once while hosts come and go, seed %i',
  async (seed) => {
    await using simulation = new Simulation(seed);
    await simulation.run();
    const { ids, fleet } = simulation;
    expect(ids.length).toBeGreaterThan(30);
    expect([seed, await simulation.outputs()]).toEqual([seed, ids.map((id) => 6 * Number(id.slice(5)))]);
    expect([seed, simulation.repeated]).toEqual([seed, []]);
    const keys = (await fleet.memory.scan({ from: 'workflows!', to: 'workflows"' })).map(({ key }) => key);
    expect([seed, keys.filter((key) => /!(attempt|attempt-input|inbox|begun)!/.test(key))]).toEqual([seed, []]);
  },
  120_000,
);
