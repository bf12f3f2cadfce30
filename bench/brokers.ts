/**
 * Pub/sub components on brokers beside the driver used directly: publish with 64 messages in flight, consume and
 * acknowledge with a window of 64, and publish over HTTP. It starts servers of its own. See README.md.
 *
 * Usage: `npx tsx bench/brokers.ts [--quick] [--only redis] [--rounds n] [--seconds s] [--connections n]
 * [--profile directory]`
 */

import type { Message } from '../src/index.ts';
import type { ComponentContext, PubSubComponent } from '../src/kit/index.ts';
import { systemClock } from '../src/util/clock.ts';
import { standardErrorLogger } from '../src/util/logger.ts';
import { BROKERS, type Broker, defineBuilt, type RawClient, type RunningBroker } from './support/brokers.ts';
import { loadBuilt } from './support/built.ts';
import { startContender } from './support/contender.ts';
import { Load } from './support/load.ts';
import { type BenchOptions, readOptions } from './support/options.ts';
import { PAYLOAD, PUBLISH_PATH } from './support/payload.ts';
import { median, printTable, ratio, spread } from './support/stats.ts';

const WINDOW = 64;
const GROUP = 'bench';

const DATA = Buffer.from(PAYLOAD);
let messages = 0;

/** A message with an ID of its own: some brokers drop a second one with the same. */
function messageOf(topic: string): Message {
  return {
    id: `bench-${++messages}`,
    topic,
    data: DATA,
    contentType: 'application/cloudevents+json',
    raw: false,
    metadata: {},
  };
}

async function openComponent(broker: Broker, options: object): Promise<PubSubComponent> {
  const { memoryState } = await loadBuilt();
  const [clock, logger] = [systemClock, standardErrorLogger({ appId: 'bench' })];
  const state = await memoryState().open({ clock, logger });
  const context: ComponentContext = { appId: GROUP, clock, logger, state, track: () => () => {} };
  return (await defineBuilt(broker, options)).open(context);
}

/** Messages per second with 64 in flight. */
async function publishRate(publish: () => Promise<unknown>, seconds: number): Promise<number> {
  const startedAt = performance.now();
  let count = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1_000) {
      await publish();
      count++;
    }
  };
  await Promise.all(Array.from({ length: WINDOW }, caller));
  return (count * 1_000) / (performance.now() - startedAt);
}

/** Publishes messages that the next consumer finds. */
async function fill(raw: RawClient, topic: string, count: number): Promise<void> {
  const message = messageOf(topic);
  await raw.createGroup(topic, GROUP);
  for (let sent = 0; sent < count; sent += 500)
    await Promise.all(Array.from({ length: 500 }, () => raw.publish(topic, message)));
}

/** Messages per second that a consumer of the component takes and acknowledges. */
async function componentConsumes(component: PubSubComponent, topic: string, count: number): Promise<number> {
  const startedAt = performance.now();
  let taken = 0;
  await new Promise<void>((resolve, reject) => {
    const deliver: Parameters<PubSubComponent['subscribe']>[0]['deliver'] = (deliveries) => {
      for (const delivery of deliveries)
        delivery.ack().then(() => {
          if (++taken === count) resolve();
        }, reject);
    };
    component
      .subscribe({ topic, group: GROUP, maxInFlight: WINDOW, ordered: false, paused: false, deliver })
      .catch(reject);
  });
  return (count * 1_000) / (performance.now() - startedAt);
}

async function rawConsumes(raw: RawClient, topic: string, count: number): Promise<number> {
  const startedAt = performance.now();
  await raw.consume(topic, GROUP, count, WINDOW);
  return (count * 1_000) / (performance.now() - startedAt);
}

interface Rates {
  readonly component: number[];
  readonly raw: number[];
}

async function measure(broker: Broker, { raw, options }: RunningBroker, bench: BenchOptions): Promise<string[][]> {
  const component = await openComponent(broker, options);
  const publish: Rates = { component: [], raw: [] };
  const consume: Rates = { component: [], raw: [] };
  for (let round = -1; round < bench.rounds; round++) {
    const published = {
      component: await publishRate(() => component.publish([messageOf('published')]), bench.seconds),
      raw: await publishRate(() => raw.publish('published-raw', messageOf('published-raw')), bench.seconds),
    };
    const count = Math.ceil((bench.seconds * 20_000) / 500) * 500;
    await fill(raw, `consumed-${round}`, count);
    await fill(raw, `consumed-raw-${round}`, count);
    const consumed = {
      component: await componentConsumes(component, `consumed-${round}`, count),
      raw: await rawConsumes(raw, `consumed-raw-${round}`, count),
    };
    // The first round warms up.
    if (round < 0) continue;
    for (const kind of ['component', 'raw'] as const) {
      publish[kind].push(published[kind]);
      consume[kind].push(consumed[kind]);
    }
  }
  await component.close();
  return [rowOf(`${broker.name}: publish`, publish), rowOf(`${broker.name}: consume and acknowledge`, consume)];
}

function rowOf(label: string, { component, raw }: Rates): string[] {
  const [own, driver] = [component, raw].map((rates) => Math.round(median(rates)).toLocaleString('en'));
  return [label, own ?? '', driver ?? '', ratio(component, raw).toFixed(2)];
}

/** CPU of the process with the sidecar for each publish over HTTP. */
async function measureHttp(broker: Broker, { options }: RunningBroker, bench: BenchOptions): Promise<string[]> {
  const argument = JSON.stringify({ entry: broker.entry, factory: broker.factory, options });
  const contender = await startContender('./broker-server.ts', broker.name, { profile: bench.profile, argument });
  const { connections } = bench;
  const load = await Load.open({ port: contender.port, connections, path: PUBLISH_PATH, body: PAYLOAD });
  await load.run(bench.warmupSeconds);
  const rates: number[] = [];
  const cpuMicros: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const before = await contender.usage();
    const { requests, seconds } = await load.run(bench.seconds);
    const after = await contender.usage();
    rates.push(requests / seconds);
    cpuMicros.push((after.cpuMicros - before.cpuMicros) / requests);
  }
  load.close();
  await contender.stop();
  return [`${broker.name}: publish over HTTP`, Math.round(median(rates)).toLocaleString('en'), spread(cpuMicros, 1)];
}

const options = readOptions(BROKERS.map(({ name }) => name));
const rows: string[][] = [];
const httpRows: string[][] = [];
for (const broker of BROKERS) {
  if (options.only !== undefined && options.only !== broker.name) continue;
  await using running = await broker.start();
  rows.push(...(await measure(broker, running, options)));
  httpRows.push(await measureHttp(broker, running, options));
}
console.log(`${WINDOW} messages of ${PAYLOAD.length} bytes at a time; Node ${process.version}\n`);
printTable(['', 'component/s', 'driver/s', 'ratio'], rows);
console.log();
printTable(['', 'req/s', 'CPU µs/req'], httpRows);
process.exit(0);
