import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Where a server answers. */
interface Place extends AsyncDisposable {
  readonly port: number;
}

/**
 * A server of this machine, `delayMs` there and back away. What delays it is a process of its own: in the one that is
 * measured, it would take part of that one's time.
 */
export async function delayed(target: number, delayMs: number): Promise<Place> {
  if (delayMs === 0) return { port: target, [Symbol.asyncDispose]: async () => undefined };
  const file = fileURLToPath(new URL('./delay-worker.ts', import.meta.url));
  const child = fork(file, [String(target), String(delayMs)], { execArgv: ['--import', 'tsx'] });
  const [port] = (await once(child, 'message')) as [number];
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}
