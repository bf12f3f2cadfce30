import { monitorEventLoopDelay } from 'node:perf_hooks';
import { memoryPubSub, nodeHandler, Sidecar } from '../../src/index.ts';
import { inspect } from '../../src/inspector/index.ts';
import { type Listening, listen } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';
import type { View } from './browser.ts';

export const MESSAGES_PER_SECOND = 10_000;

/** How a sidecar and a page have borne some seconds. Times in milliseconds. */
export interface Figures {
  /** How many messages were delivered in a second. */
  readonly perSecond: number;
  /** How late the event loop of the sidecar was. */
  readonly loopDelay: { readonly p50: number; readonly p99: number; readonly max: number };
  /** The CPU time of the process of the sidecar. */
  readonly cpuShare: number;
  /** The longest tasks of the page; those below 50 ms are not told. */
  readonly longTasks: readonly number[];
}

/** A sidecar that publishes and delivers messages in its process, with an inspector. */
export class Load implements AsyncDisposable {
  readonly #sidecar: Sidecar;
  readonly #server: Listening;
  #delivered = 0;

  private constructor(sidecar: Sidecar, server: Listening) {
    this.#sidecar = sidecar;
    this.#server = server;
  }

  static async open(): Promise<Load> {
    const components = [memoryPubSub('pubsub')];
    const sidecar = new Sidecar({ appId: 'shop', components, logger: new RecordingLogger(), stopTimeout: 100 });
    await sidecar.start();
    const server = await listen(nodeHandler(inspect(sidecar, { access: 'open' })));
    const load = new Load(sidecar, server);
    await sidecar.pubsub.subscribe('pubsub', 'orders', () => {
      load.#delivered++;
    });
    return load;
  }

  get url(): string {
    return `${this.#server.url}/#/messages`;
  }

  /** Publishes for some time, and measures meanwhile; `view` is the page that looks. */
  async run(seconds: number, view?: View): Promise<Figures> {
    await view?.page.evaluate(OBSERVE);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const cpu = process.cpuUsage();
    const before = this.#delivered;
    const startedAt = performance.now();
    delay.enable();
    await this.#publish(seconds);
    delay.disable();
    const { user, system } = process.cpuUsage(cpu);
    const elapsedMs = performance.now() - startedAt;
    const ms = (nanoseconds: number): number => nanoseconds / 1e6;
    return {
      perSecond: ((this.#delivered - before) / elapsedMs) * 1000,
      loopDelay: { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) },
      cpuShare: (user + system) / 1000 / elapsedMs,
      longTasks: (await view?.page.evaluate<number[]>('globalThis.longTasks')) ?? [],
    };
  }

  /** In small pieces, so that publishing itself holds up nothing. */
  async #publish(seconds: number): Promise<void> {
    const startedAt = performance.now();
    let published = 0;
    for (;;) {
      const elapsedMs = performance.now() - startedAt;
      const due = Math.min(elapsedMs, seconds * 1000) * (MESSAGES_PER_SECOND / 1000);
      const piece: Promise<unknown>[] = [];
      while (published < due && piece.length < 50)
        piece.push(this.#sidecar.pubsub.publish('pubsub', 'orders', { id: published++, price: 12.5, item: 'a lamp' }));
      await Promise.all(piece);
      if (elapsedMs >= seconds * 1000 && piece.length < 50) return;
      await (piece.length < 50 ? new Promise((resolve) => setTimeout(resolve, 1)) : new Promise(setImmediate));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sidecar.stop();
    await this.#server[Symbol.asyncDispose]();
  }
}

const OBSERVE = `globalThis.longTasks = [];
globalThis.observer ??= new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longTasks.push(duration);
});
observer.observe({ type: 'longtask' });`;
