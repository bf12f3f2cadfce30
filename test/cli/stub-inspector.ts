import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { listen } from '../support/http.ts';

/** What a command asks of the management API. */
interface StubCall {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The body of a `POST`. */
  readonly body: unknown;
}

/** An inspector that answers as a test says, until its end: an `Error` is a refusal. Answers its URL. */
export async function stubInspector(answer: (call: StubCall) => unknown): Promise<string> {
  const app = { key: 'shop', appId: 'shop', namespace: 'default', isReady: true };
  const server = await listen(async (req, res) => {
    const url = new URL(req.url ?? '', 'http://stub');
    const path = url.pathname.replace('/api/v1/', '');
    const body = req.method === 'POST' ? await json(req) : undefined;
    const reply = path === 'apps' ? { apps: [app], role: 'write' } : answer({ path, query: url.searchParams, body });
    const isRefused = reply instanceof Error;
    res.writeHead(isRefused ? 500 : 200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(isRefused ? { errorCode: 'ERR_TEST', message: reply.message } : reply));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return `${server.url}/`;
}
