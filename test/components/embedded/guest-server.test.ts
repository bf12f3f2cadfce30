import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CommitQueue } from '../../../src/components/embedded/commit-queue.ts';
import { ensureDirectory, readDoor } from '../../../src/components/embedded/directory.ts';
import { socketOf } from '../../../src/components/embedded/door.ts';
import { loadSqlite } from '../../../src/components/embedded/driver.ts';
import { FramedSocket } from '../../../src/components/embedded/frames.ts';
import { helloOf, MAX_ANSWER_BYTES } from '../../../src/components/embedded/guest-protocol.ts';
import { GuestServer } from '../../../src/components/embedded/guest-server.ts';
import { closeDatabase, openDatabase } from '../../../src/components/embedded/schema.ts';
import { SqliteEngine } from '../../../src/components/embedded/sqlite-engine.ts';
import { temporaryDirectory } from '../../support/embedded-store.ts';

test('a guest that greets when the holder has closed is not admitted: it looks for the next holder', async () => {
  const path = temporaryDirectory();
  ensureDirectory(path);
  const database = openDatabase(await loadSqlite(), path, { isShareable: true });
  const engine = new SqliteEngine(database, { path });
  const commits = new CommitQueue(engine, () => undefined);
  const server = new GuestServer({ path, engine, commits, isTakeover: true, post: () => undefined });
  await server.open();
  const door = readDoor(path);
  if (door === undefined) throw new Error('there is no door');
  const socket = connect(socketOf(path, door));
  const frames: string[] = [];
  const ended = new Promise((resolve) => {
    const onFrame = (frame: Buffer): void => void frames.push(frame.toString());
    const framed = new FramedSocket(socket, MAX_ANSWER_BYTES, { onFrame, onEnd: resolve });
    socket.once('connect', async () => {
      // The server has accepted it by then.
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      server.close();
      closeDatabase(database, path);
      framed.send(Buffer.from(JSON.stringify(helloOf(door.key, false))));
    });
  });
  await once(socket, 'connect');
  const late = setTimeout(() => socket.destroy(), 2_000);
  await ended;
  clearTimeout(late);
  expect(frames).toEqual([]);
});
