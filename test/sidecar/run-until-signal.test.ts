import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { nodeHandler, runUntilSignal, Sidecar } from '../../src/index.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const listeners = (): number[] => SIGNALS.map((signal) => process.listenerCount(signal));

async function started(): Promise<Sidecar> {
  const sidecar = new Sidecar({ appId: 'shop' });
  await sidecar.start();
  return sidecar;
}

describe('runUntilSignal', () => {
  test('returns after a stop by other means, with the servers closed and no listener left', async () => {
    const before = listeners();
    const sidecar = await started();
    const server = createServer(nodeHandler(sidecar)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const fastifyLike = { close: vi.fn(async () => undefined) };
    const running = runUntilSignal(sidecar, server, fastifyLike);
    expect(listeners()).toEqual(before.map((count) => count + 1));
    await sidecar.stop();
    await running;
    expect([server.listening, fastifyLike.close.mock.calls.length, listeners()]).toEqual([false, 1, before]);
  });

  test('returns at once if the sidecar has stopped, also when a server is closed already', async () => {
    const sidecar = await started();
    await sidecar.stop();
    await runUntilSignal(sidecar, createServer());
  });

  test('closes all servers before it rejects with the error of one', async () => {
    const sidecar = await started();
    await sidecar.stop();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const broken = { close: () => Promise.reject(new Error('the server does not close')) };
    await expect(runUntilSignal(sidecar, broken, server)).rejects.toThrow('the server does not close');
    expect(server.listening).toBe(false);
  });
});

/** A process with a sidecar, whose message takes as long as `handle` says. */
function processWith(handle: string): ChildProcess {
  const program = `
    const { createServer } = require('node:http');
    const { memoryPubSub, nodeHandler, runUntilSignal, Sidecar } = require('./dist/index.cjs');
    (async () => {
      const sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
      const server = createServer(nodeHandler(sidecar)).listen(0, '127.0.0.1');
      await sidecar.start();
      await sidecar.pubsub.subscribe('pubsub', 'orders', async () => {
        console.log('handling');
        ${handle}
        console.log('handled');
      });
      const running = runUntilSignal(sidecar, server);
      await sidecar.pubsub.publish('pubsub', 'orders', 1);
      await running;
      console.log('ended');
    })();`;
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const child = spawn(process.execPath, ['-e', program], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Collects the lines of a process; calls `onLine` for each. */
async function linesOf(child: ChildProcess, onLine: (line: string) => void): Promise<string[]> {
  const lines: string[] = [];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.trim().split('\n')) {
      lines.push(line);
      onLine(line);
    }
  });
  await once(child, 'close');
  return lines;
}

test.each(SIGNALS)('a process that gets %s handles the message in flight and ends', async (signal) => {
  const child = processWith(
    `await new Promise((resolve) => process.once('${signal}', () => setTimeout(resolve, 50)));`,
  );
  expect(await linesOf(child, (line) => line === 'handling' && child.kill(signal))).toEqual([
    'handling',
    'handled',
    'ended',
  ]);
  expect([child.exitCode, child.signalCode]).toEqual([0, null]);
});

test('a second signal ends the process at once', async () => {
  const child = processWith("process.once('SIGTERM', () => console.log('first')); await new Promise(() => {});");
  const lines = await linesOf(child, (line) => {
    if (line === 'handling' || line === 'first') child.kill('SIGTERM');
  });
  expect(lines).toEqual(['handling', 'first']);
  expect(child.signalCode).toBe('SIGTERM');
});
