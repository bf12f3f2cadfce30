import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { isConflictError, type StateError } from '../../../src/state/errors.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { put } from '../../support/embedded-store.ts';
import { freePort } from '../../support/http.ts';
import type { RecordingLogger } from '../../support/logger.ts';
import type { OwnServer } from '../../support/servers.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { BACK, LOST, outages } from './outages.ts';

/** A server of a test file that holds stores. */
export interface RemoteTestServer extends AsyncDisposable {
  readonly server: OwnServer;
  readonly logger: RecordingLogger;
  /** Names a store that nobody has. */
  newPlace(): string;
  /** Opens the store of a place, through a port that leads to the server. */
  openAt(place: string, port: number, timeouts?: Timeouts): Promise<StateStore>;
}

export interface Timeouts {
  readonly callTimeout?: number;
  readonly operationTimeout?: number;
}

/** Cuts the connections of a proxy at random times, each time after `progress` has grown. */
class RandomCutter implements Disposable {
  cuts = 0;
  readonly #proxy: TcpProxy;
  readonly #progress: () => number;
  #seen = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(proxy: TcpProxy, progress: () => number) {
    this.#proxy = proxy;
    this.#progress = progress;
    this.#next();
  }

  #next(): void {
    this.#timer = setTimeout(() => {
      if (this.#progress() > this.#seen) {
        this.#seen = this.#progress();
        this.#proxy.cut();
        this.cuts++;
      }
      this.#next();
    }, Math.random() * 300);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

const textOf = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString();

/** What holds for every store on a server when the network or the server fails. */
export function remoteFaults(what: string, isThere: boolean, start: () => Promise<RemoteTestServer>): void {
  describe.runIf(isThere)(`${what}, when something goes wrong`, () => {
    let server: RemoteTestServer;
    let proxy: TcpProxy;
    let place: string;
    const openVia = (timeouts?: Timeouts): Promise<StateStore> => server.openAt(place, proxy.port, timeouts);
    const openDirectly = (timeouts?: Timeouts): Promise<StateStore> =>
      server.openAt(place, server.server.port, timeouts);

    beforeAll(async () => {
      server = await start();
    }, 60_000);
    afterAll(() => server[Symbol.asyncDispose]());
    beforeEach(async () => {
      proxy = await TcpProxy.start(server.server.port);
      place = server.newPlace();
    });
    afterEach(() => proxy[Symbol.asyncDispose]());

    test('connections that are cut at random: no commit is lost, doubled, or refused in error', async () => {
      const stores = await Promise.all([openVia(), openVia()]);
      await using watched = await openDirectly();
      let answered = 0;
      // A cut waits for an answer since the last one: on a busy machine, no connection lives long enough otherwise.
      using cutter = new RandomCutter(proxy, () => answered);
      let isOver = false;
      // Each caller counts in an entry of its own: a commit that was written twice, or not at all, is a conflict.
      const count = async (store: StateStore, name: string): Promise<number> => {
        let version: number | 'absent' = 'absent';
        let number = 0;
        while (!isOver) {
          const text = String(++number);
          version = await store.commit({
            require: [{ key: name, version }],
            put: [{ key: name, value: Buffer.from(text) }],
          });
          answered++;
        }
        return number;
      };
      const counting = stores.flatMap((store, at) => Array.from({ length: 8 }, (_, i) => count(store, `${at}/${i}`)));
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      isOver = true;
      const numbers = await Promise.all(counting);
      expect(cutter.cuts).toBeGreaterThan(3);
      const entries = await watched.scan({ from: '' });
      expect(entries.map(({ value }) => Number(textOf(value)))).toEqual(numbers);
      expect(new Set(entries.map(({ version }) => version)).size).toBe(16);
      expect(numbers.reduce((sum, number) => sum + number)).toBeGreaterThan(100);
      await Promise.all(stores.map((store) => store.close()));
    });

    test('a commit that was written and whose answer is lost resolves, and is not written again', async () => {
      await using store = await openVia();
      await store.commit({ put: [put('first')] });
      await using direct = await openDirectly();
      const before = await direct.commit({ put: [put('counter')] });
      // Requests get through, answers do not.
      proxy.answersLeft = 0;
      const commit = store.commit({ require: [{ key: 'counter', version: before }], put: [put('counter', 5)] });
      await expect.poll(async () => (await direct.get('counter'))?.version).not.toBe(before);
      proxy.answersLeft = Number.POSITIVE_INFINITY;
      proxy.cut();
      const version = await commit;
      expect(await direct.get('counter')).toEqual({ version, value: put('counter', 5).value });
    });

    test('a group whose answer is lost after a part of it was refused: each commit is told what became of it', async () => {
      await using store = await openVia();
      await using direct = await openDirectly();
      const version = await store.commit({ put: [put('counter')] });
      const counter = version + 1;
      // The message to other processes comes back first; soon after it, none goes with a commit.
      await new Promise((resolve) => setTimeout(resolve, 30));
      // The first answer names what does not hold; the next one would say that the rest is written.
      proxy.answersLeft = 1;
      const refused = store.commit({ require: [{ key: 'counter', version: counter }], put: [put('refused')] });
      const written = store.commit({ put: [put('written')] });
      await expect.poll(() => direct.get('written')).toBeDefined();
      proxy.answersLeft = Number.POSITIVE_INFINITY;
      proxy.cut();
      await expect(refused).rejects.toMatchObject({ kind: 'conflict', key: 'counter' });
      expect(await direct.get('written')).toMatchObject({ version: await written });
      expect(await direct.get('refused')).toBeUndefined();
    });

    test('a server that does not answer is noticed, named in failure, and used again when it does', async () => {
      await using store = await openVia({ callTimeout: 300, operationTimeout: 8_000 });
      await store.commit({ put: [put('a')] });
      proxy.isBlackHole = true;
      const commit = store.commit({ put: [put('b')] });
      const read = store.get('a');
      await expect.poll(() => store.failure?.message).toContain('did not answer within 300 ms');
      proxy.isBlackHole = false;
      proxy.cut();
      await commit;
      expect(await read).toBeDefined();
      await expect.poll(() => store.failure).toBeUndefined();
    });

    test('a server that is away: the log says once for each reason that it is lost, and once that it is back', async () => {
      await using store = await openVia({ operationTimeout: 30_000 });
      await store.commit({ put: [put('a')] });
      const { logger } = server;
      logger.lines.length = 0;
      proxy.target = await freePort();
      proxy.cut();
      await vi.waitFor(() => expect(outages(logger)).toContain(LOST), 10_000);
      await sleep(1_500);
      expect(outages(logger)).not.toContain(BACK);
      proxy.target = server.server.port;
      await store.commit({ put: [put('b')] });
      await vi.waitFor(() => expect(outages(logger)).toContain(BACK), 10_000);
      const lost = logger.lines.filter(({ message }) => message === LOST);
      const reasons = lost.map(({ details }) => details['error']);
      expect(new Set(reasons).size).toBe(reasons.length);
      expect(logger.lines.filter(({ message }) => message === BACK)).toMatchObject([
        { level: 'info', details: { server: expect.stringContaining(String(proxy.port)) } },
      ]);
      expect(outages(logger).filter((message) => message !== LOST)).toEqual([BACK]);
    }, 60_000);

    test('a commit that cannot be made in its time fails, and so does a read', async () => {
      await using store = await openVia({ callTimeout: 200, operationTimeout: 600 });
      proxy.isBlackHole = true;
      const told = await Promise.allSettled([
        store.commit({ put: [put('b')] }),
        store.get('a'),
        store.scan({ from: '' }),
      ]);
      for (const result of told)
        expect(result).toMatchObject({
          status: 'rejected',
          reason: { kind: 'failed', message: expect.stringContaining('did not answer') },
        });
      proxy.isBlackHole = false;
      proxy.cut();
      await expect.poll(() => store.commit({ put: [put('c')] })).toBeGreaterThan(0);
    });

    test('a commit waits for its whole time, although an older one gives up meanwhile', async () => {
      await using store = await openVia({ callTimeout: 200, operationTimeout: 3_000 });
      await store.commit({ put: [put('a')] });
      const outcome = (key: string): Promise<string> =>
        store.commit({ put: [put(key)] }).then(
          () => 'written',
          ({ kind }: StateError) => kind,
        );
      proxy.isBlackHole = true;
      const older = [outcome('b')];
      await sleep(20);
      older.push(outcome('c'));
      await sleep(2_600);
      const younger = outcome('d');
      expect(await Promise.all(older)).toEqual(['failed', 'failed']);
      proxy.isBlackHole = false;
      proxy.cut();
      expect(await younger).toBe('written');
    });

    test('kill -9 of the server: what was acknowledged is there, and the store goes on after the restart', async () => {
      await using store = await openDirectly({ operationTimeout: 30_000 });
      const told = new Map<string, 'written' | 'refused' | 'failed'>();
      let isOver = false;
      const write = async (name: string): Promise<void> => {
        for (let round = 0; !isOver; round++) {
          const key = `${name}/${round}`;
          await store.commit({ require: [{ key, version: 'absent' }], put: [put(key)] }).then(
            () => told.set(key, 'written'),
            (error) => told.set(key, isConflictError(error) ? 'refused' : 'failed'),
          );
        }
      };
      const writing = Array.from({ length: 16 }, (_, i) => write(String(i)));
      for (let kill = 0; kill < 3; kill++) {
        await new Promise((resolve) => setTimeout(resolve, 700));
        await server.server.kill();
        await server.server.restart();
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
      isOver = true;
      await Promise.all(writing);
      const present = new Set((await store.scan({ from: '' })).map(({ key }) => key));
      const kinds = new Set(told.values());
      expect([...kinds]).toEqual(['written']);
      expect([...told.keys()].filter((key) => !present.has(key))).toEqual([]);
      expect(told.size).toBeGreaterThan(100);
    }, 60_000);

    test('a server that is down at the start is an open store that does not work yet', async () => {
      const port = await freePort();
      const startedAt = performance.now();
      await using store = await server.openAt(place, port, { operationTimeout: 300 });
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      expect(store.failure?.message).toContain(`127.0.0.1:${port}`);
      await expect(store.get('a')).rejects.toMatchObject({ kind: 'failed' });
      await using late = await TcpProxy.start(server.server.port, port);
      expect(late.port).toBe(port);
      await vi.waitFor(async () => expect(await store.get('a')).toBeUndefined(), { timeout: 10_000 });
    });
  });
}
