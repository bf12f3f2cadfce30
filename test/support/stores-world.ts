import type { WireName } from '../../src/index.ts';
import type { AnyComponentDefinition } from '../../src/kit/index.ts';
import type { Answer, Sent } from './http.ts';
import { openServers, ServedSidecar, type Servers, type TestApp } from './served.ts';
import type { TestSidecarOptions } from './sidecar.ts';

export const WIRES: readonly WireName[] = ['sidecar', 'dapr'];

/** A change of configuration that the application was told. */
export interface ToldChange {
  /** As it came, with its percent-escapes. */
  readonly path: string;
  readonly contentType: string | undefined;
  readonly body: { readonly id: string; readonly items: Readonly<Record<string, unknown>> };
}

/** An application that records what it is told. */
export class ToldApp implements TestApp {
  readonly changes: ToldChange[] = [];
  /** The status of its next answers; waits for a promise. */
  answer: (change: ToldChange) => number | Promise<number> = () => 200;

  readonly listener: TestApp['listener'] = (req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', async () => {
      if (req.method !== 'POST' || !req.url?.startsWith('/configuration/')) return res.writeHead(404).end();
      const body = JSON.parse(Buffer.concat(chunks).toString()) as ToldChange['body'];
      const change = { path: req.url, contentType: req.headers['content-type'], body };
      this.changes.push(change);
      return res.writeHead(await this.answer(change)).end();
    });
  };
}

/** A sidecar with stores behind a real HTTP server. */
export class StoresWorld extends ServedSidecar<ToldApp> {
  get changes(): readonly ToldChange[] {
    return this.app.changes;
  }

  async get(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  async post(path: string, body: unknown, sent: Omit<Sent, 'body'> = {}): Promise<Answer> {
    return this.send('POST', path, { ...sent, body });
  }

  /** Waits in real time for as many changes. */
  async told(count: number): Promise<readonly ToldChange[]> {
    await until(
      () => this.changes.length >= count,
      () => `${this.changes.length} changes: expected ${count}`,
    );
    return this.changes;
  }

  /** As {@link told}, while time passes for the sidecar: by its clock it repeats a read that an outage has cut off. */
  async toldInTime(count: number): Promise<readonly ToldChange[]> {
    await until(
      async () => {
        await this.pass('1s');
        return this.changes.length >= count;
      },
      () => `${this.changes.length} changes: expected ${count}`,
    );
    return this.changes;
  }
}

export interface StoresWorldOptions extends TestSidecarOptions {
  readonly components: readonly AnyComponentDefinition[];
  /** Default: it is in this process. */
  readonly hasApp?: boolean;
}

/** Makes a world whose sidecar runs. */
export async function storesWorld({ hasApp = true, ...options }: StoresWorldOptions): Promise<StoresWorld> {
  const app = new ToldApp();
  const { target, ...servers } = await openServers(app, 'process');
  const made = new StoresWorld(app, servers satisfies Servers, { ...options, ...(hasApp ? { app: target } : {}) });
  await made.start();
  return made;
}

/** Waits in real time until something holds. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: () => string,
  limitMs = 15_000,
): Promise<void> {
  const startedAt = performance.now();
  while (!(await holds())) {
    if (performance.now() - startedAt > limitMs) throw new Error(`not after ${limitMs} ms: ${what()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
