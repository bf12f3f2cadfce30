import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Door, networkWarning, readDoor, readHolder } from '../../../src/components/embedded/directory.ts';
import { socketOf } from '../../../src/components/embedded/door.ts';
import { openEmbeddedStore } from '../../../src/components/embedded/embedded-store.ts';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import { isConflictError } from '../../../src/state/errors.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { context, openStore, put, temporaryDirectory } from '../../support/embedded-store.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { compareWithModel } from '../../support/store-model.ts';

const script = fileURLToPath(new URL('./store-child.mjs', import.meta.url));

async function open(path: string): Promise<StateStore> {
  const store = await embeddedState({ path }).open(context);
  onTestFinished(() => store.close());
  return store;
}

/** A process that opens or joins the store; resolves once it has it open. */
async function startProcess(mode: 'write' | 'hold', path: string) {
  const child = spawn(process.execPath, [script, mode, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  await vi.waitFor(() => expect(lines[0]).toBe('open'), 20_000);
  return { child, lines, ended: once(child, 'close') };
}

function doorOf(path: string): Door {
  const door = readDoor(path);
  if (door === undefined) throw new Error('nobody has the directory open for others');
  return door;
}

/** How long this machine takes to open a directory at present. */
async function timeOfOpening(): Promise<number> {
  const since = performance.now();
  await openStore(temporaryDirectory());
  return performance.now() - since;
}

/** Resolves once other processes can join. */
async function untilShared(path: string): Promise<void> {
  await vi.waitFor(() => doorOf(path), 5_000);
}

describe('a store that has joined the holder of a directory, as every store', () => {
  for (const { name, run } of stateStoreConformance) {
    test(name, async () => {
      const path = join(temporaryDirectory(), 'state');
      await open(path);
      await run(() => embeddedState({ path }).open(context));
    });
  }

  test('behaves like a sorted map in random histories', async () => {
    const path = join(temporaryDirectory(), 'state');
    await open(path);
    await compareWithModel(async () => {
      const store = await open(path);
      await store.commit({ delete: (await store.scan({ from: '' })).map((entry) => entry.key) });
      return store;
    }, 12);
  });
});

describe('the holder', () => {
  test('is exclusive until another one joins, and hands the directory over when it closes', async () => {
    const path = temporaryDirectory();
    const holder = await open(path);
    expect([holder.isExclusive, holder.hints]).toEqual([true, 'own']);
    const guest = await open(path);
    expect([holder.isExclusive, holder.hints]).toEqual([false, 'all']);
    expect(guest.isExclusive).toBe(false);
    await guest.commit({ put: [put('a')] });
    expect((await holder.get('a'))?.value).toEqual(put('a').value);
    await holder.close();
    await guest.commit({ put: [put('b')] });
    expect((await guest.get('a'))?.value).toEqual(put('a').value);
    const next = await open(path);
    expect((await next.get('b'))?.value).toEqual(put('b').value);
  });

  test('tells the others what it has changed, and is told what they have', async () => {
    const path = temporaryDirectory();
    const stores = [await open(path), await open(path), await open(path)] as const;
    const heard = stores.map(() => new Set<string>());
    for (const [index, store] of stores.entries())
      store.watch('', (keys) => keys.forEach((key) => void heard[index]?.add(key)));
    await Promise.all(stores.map((store, index) => store.commit({ put: [put(`of ${index}`)] })));
    await vi.waitFor(() => {
      for (const keys of heard) expect([...keys].sort()).toEqual(['of 0', 'of 1', 'of 2']);
    }, 5_000);
  });

  test('and the others lose no update of each other', async () => {
    const path = temporaryDirectory();
    const stores = [await open(path), await open(path), await open(path)];
    await Promise.all(
      stores.map(async (store) => {
        for (let done = 0; done < 40; ) {
          const found = await store.get('count');
          const count = found === undefined ? 0 : Number(Buffer.from(found.value).toString());
          const require = [{ key: 'count', version: found?.version ?? ('absent' as const) }];
          await store.commit({ require, put: [{ key: 'count', value: Buffer.from(String(count + 1)) }] }).then(
            () => done++,
            (error) => {
              if (!isConflictError(error)) throw error;
            },
          );
        }
      }),
    );
    for (const store of stores) expect(Buffer.from((await store.get('count'))?.value ?? []).toString()).toBe('120');
  });

  test('does commits of others that are refused for a full disk, and theirs alone', async () => {
    const path = temporaryDirectory();
    const holder = await openEmbeddedStore(path, context, { isShareable: true, maxPages: 700 });
    onTestFinished(() => holder.close());
    const guest = await open(path);
    await expect(guest.commit({ put: [put('large', 5_000_000)] })).rejects.toMatchObject({ kind: 'full' });
    expect(guest.failure).toMatchObject({ kind: 'full' });
    await holder.commit({ put: [put('small')] });
    await guest.commit({ put: [put('a')] });
    expect(guest.failure).toBeUndefined();
    expect((await guest.scan({ from: '' })).map(({ key }) => key)).toEqual(['a', 'small']);
  });
});

describe('the log of processes that have joined', () => {
  /** Guests that commit before and after `end`, which ends the holder; what each has warned of. */
  async function warningsAfter(path: string, end: () => Promise<unknown>): Promise<readonly string[][]> {
    const guests = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const logger = new RecordingLogger();
        const store = await embeddedState({ path }).open({ ...context, logger });
        onTestFinished(() => store.close());
        return { store, logger };
      }),
    );
    const commit = (key: string): Promise<unknown> =>
      Promise.all(guests.map(({ store }, index) => store.commit({ put: [put(`${key} ${index}`)] })));
    await commit('before');
    await Promise.all([end(), commit('meanwhile')]);
    await commit('after');
    return guests.map(({ logger }) => logger.at('warn').map(({ details }) => String(details['error'])));
  }

  test('has one warning for a holder that is killed, and none for one that stops', async () => {
    const path = temporaryDirectory();
    const { child, ended } = await startProcess('hold', path);
    const killed = await warningsAfter(path, () => {
      child.kill('SIGKILL');
      return ended;
    });
    const closed = `the state directory ${JSON.stringify(path)} has closed the connection`;
    expect(killed).toEqual([[closed], [closed], [closed]]);

    const other = temporaryDirectory();
    const holder = await open(other);
    const stopped = await warningsAfter(other, () => holder.close());
    // On a machine where it takes more than a second it is an outage all the same.
    expect(stopped.flat().filter((error) => !error.endsWith('was handed over, and is not back yet'))).toEqual([]);
  });
});

describe('when the holder is killed', () => {
  test('another process has the directory within a second, with all that was acknowledged', async () => {
    const path = temporaryDirectory();
    const acknowledged = new Set<string>();
    const openingMs = await timeOfOpening();
    const tookMs: number[] = [];
    for (let round = 0; round < 3; round++) {
      const holder = await startProcess('write', path);
      const guest = await startProcess('write', path);
      const store = await open(path);
      expect([readHolder(path)?.pid, holder.lines.at(-1)]).toEqual([
        holder.child.pid,
        expect.not.stringContaining(':'),
      ]);
      await vi.waitFor(() => {
        for (const { lines } of [holder, guest]) expect(lines.length).toBeGreaterThan(50);
      }, 20_000);
      const writing = Array.from({ length: 20 }, (_, index) => store.commit({ put: [put(`of ${round}-${index}`)] }));
      holder.child.kill('SIGKILL');
      const since = performance.now();
      await Promise.all(writing);
      await store.commit({ put: [put(`after ${round}`)] });
      tookMs.push(performance.now() - since);
      await holder.ended;
      const before = guest.lines.length;
      await vi.waitFor(() => expect(guest.lines.length).toBeGreaterThan(before + 20), 20_000);
      guest.child.kill('SIGKILL');
      await guest.ended;
      for (const line of [...holder.lines.slice(1), ...guest.lines.slice(1)]) acknowledged.add(`a!${line}`);
      for (let index = 0; index < 20; index++) acknowledged.add(`of ${round}-${index}`);
      const keys = new Set((await store.scan({ from: '' })).map(({ key }) => key));
      for (const key of acknowledged) expect(keys.has(key), `${key} is lost`).toBe(true);
      await store.close();
    }
    // A busy machine takes longer, for any opening of a directory.
    expect(Math.min(...tookMs)).toBeLessThan(Math.max(1_000, 6 * openingMs));
  }, 120_000);

  test('what it has left behind is no obstacle: the next one has the directory for itself', async () => {
    const path = temporaryDirectory();
    const { child, ended } = await startProcess('hold', path);
    await untilShared(path);
    child.kill('SIGKILL');
    await ended;
    expect(existsSync(join(path, 'holder.sock'))).toBe(process.platform !== 'win32');
    const store = await open(path);
    expect(store.isExclusive).toBe(true);
    await untilShared(path);
    expect((await open(path)).isExclusive).toBe(false);
  });
});

describe('a holder that stands still', () => {
  test('keeps the directory: calls of the others fail after their time, and work again when it goes on', async () => {
    const path = temporaryDirectory();
    const { child } = await startProcess('hold', path);
    const store = await open(path);
    await store.commit({ put: [put('a')] });
    child.kill('SIGSTOP');
    await expect(store.commit({ put: [put('b')] })).rejects.toMatchObject({ kind: 'failed' });
    expect(store.failure).toMatchObject({ kind: 'failed', message: expect.stringContaining(path) });
    // One that starts meanwhile does not fail; it is not healthy.
    const late = await open(path);
    expect(late.failure).toMatchObject({ kind: 'failed' });
    child.kill('SIGCONT');
    await vi.waitFor(() => late.commit({ put: [put('c')] }), 20_000);
    expect((await store.get('c'))?.value).toEqual(put('c').value);
    await store.commit({ put: [put('d')] });
    expect([store.failure, late.failure]).toEqual([undefined, undefined]);
  }, 60_000);
});

describe.skipIf(process.platform === 'win32')('the socket of a directory', () => {
  test('is for its user only', async () => {
    const path = join(temporaryDirectory(), 'state');
    await open(path);
    await untilShared(path);
    expect(statSync(join(path, 'holder.sock')).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, 'holder.json')).mode & 0o777).toBe(0o600);
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  test('lies elsewhere if the path of the directory is too long for one', async () => {
    const path = join(temporaryDirectory(), 'x'.repeat(120));
    const holder = await open(path);
    await untilShared(path);
    const { socket } = doorOf(path);
    expect(socket).toMatch(/insidecar-\w{6}\/holder\.sock$/);
    expect(statSync(join(socket, '..')).mode & 0o777).toBe(0o700);
    const guest = await open(path);
    await guest.commit({ put: [put('a')] });
    await holder.close();
    expect(existsSync(join(socket, '..'))).toBe(false);
    await guest.commit({ put: [put('b')] });
  });

  test.each<[string, Buffer]>([
    ['no hello', Buffer.from('\x0a\0\0\0GET / HTTP')],
    ['no object', Buffer.from('\x02\0\0\0[]')],
    ['a hello that is too long', Buffer.from('\xff\xff\xff\xffaaaa', 'latin1')],
    ['nothing that it can read', Buffer.alloc(100_000, 7)],
    ['part of a hello', Buffer.from('\x40\0\0\0{')],
  ])('answers %s by ending the connection, and goes on', async (_what, bytes) => {
    const path = temporaryDirectory();
    const holder = await open(path);
    await untilShared(path);
    const socket = connect(socketOf(path, doorOf(path))).resume();
    const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve));
    socket.end(bytes);
    await closed;
    const guest = await open(path);
    await guest.commit({ put: [put('a')] });
    expect(await holder.get('a')).toBeDefined();
  });

  test.each<[object, object]>([
    [{ protocol: 2 }, { kind: 'in-use', message: expect.stringContaining('version 2 (insidecar 9.9.9)') }],
    [{ schema: 1 }, { kind: 'newer-format', message: expect.stringContaining('schema version 1 (insidecar 9.9.9)') }],
    [{ schema: 99 }, { kind: 'in-use', message: expect.stringContaining('schema version 99 (insidecar 9.9.9)') }],
  ])('refuses another release by name: %j', async (different, refused) => {
    const path = temporaryDirectory();
    await open(path);
    await untilShared(path);
    const hello = { protocol: 1, schema: 2, release: '9.9.9', listens: false, proof: '', ...different };
    expect(await answerTo(path, hello)).toEqual({ refused });
  });

  test('does not let in who has not read the record of the holder', async () => {
    const path = temporaryDirectory();
    await open(path);
    await untilShared(path);
    const hello = { protocol: 1, schema: 2, release: '0.1.0', listens: false, proof: 'guessed' };
    expect(await answerTo(path, hello)).toBeUndefined();
  });

  test('is not trusted if something else than the holder answers on it', async () => {
    const path = temporaryDirectory();
    await open(path);
    await untilShared(path);
    const other = join(temporaryDirectory(), 'other.sock');
    const server = createServer((socket) => {
      const answer = Buffer.from(JSON.stringify({ serverId: 'other', proof: 'guessed' }));
      const header = Buffer.alloc(4);
      header.writeUInt32LE(answer.length);
      socket.write(Buffer.concat([header, answer]));
      socket.on('error', () => undefined);
    }).listen(other);
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const record = JSON.parse(readFileSync(join(path, 'holder.json'), 'utf8'));
    writeFileSync(join(path, 'holder.json'), JSON.stringify({ ...record, door: { ...record.door, socket: other } }));
    const store = await open(path);
    expect(store.failure).toMatchObject({ kind: 'failed' });
  });
});

/** What the holder answers to a greeting; `undefined` if it ends the connection. */
async function answerTo(path: string, hello: object): Promise<unknown> {
  const socket = connect(socketOf(path, doorOf(path)));
  socket.on('error', () => undefined);
  const body = Buffer.from(JSON.stringify(hello));
  const header = Buffer.alloc(4);
  header.writeUInt32LE(body.length);
  socket.write(Buffer.concat([header, body]));
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  const answer = Buffer.concat(chunks);
  return answer.length === 0 ? undefined : JSON.parse(answer.subarray(4).toString());
}

test('a directory on a network file system is warned about, and no other', () => {
  expect(networkWarning('/state', 0x6969)).toMatch(/"\/state" is on a network file system \(NFS\)/);
  expect(networkWarning(temporaryDirectory())).toBeUndefined();
});

describe('a directory that one process has for itself', () => {
  test('is refused to others, which say how it comes', async () => {
    const path = temporaryDirectory();
    const holder = await openStore(path);
    await expect(embeddedState({ path }).open(context)).rejects.toMatchObject({
      kind: 'in-use',
      message: expect.stringContaining('option "exclusive", or an earlier release of insidecar'),
    });
    await holder.close();
    await open(path);
    await expect(embeddedState({ path, exclusive: true }).open(context)).rejects.toMatchObject({ kind: 'in-use' });
  });

  test('is joined as soon as a holder that shares it has it', async () => {
    const path = temporaryDirectory();
    mkdirSync(path, { recursive: true });
    const holder = await openStore(path);
    const opening = open(path);
    await holder.close();
    const store = await opening;
    await store.commit({ put: [put('a')] });
  });
});
