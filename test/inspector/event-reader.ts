import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { LiveFrame, LiveRecord } from '../../src/inspector/api/live.ts';
import { eventually } from '../../src/kit/collector.ts';
import { TOKEN } from './inspected.ts';

/** An event as it came. */
export interface ServerEvent {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: unknown;
}

/** Reads server-sent events over a real connection. */
export class EventReader implements AsyncDisposable {
  readonly events: ServerEvent[] = [];
  readonly headers: IncomingHttpHeaders;
  /** Whether the response has ended, whole or broken off. */
  hasEnded = false;
  readonly #request: ClientRequest;
  #rest = '';

  private constructor(req: ClientRequest, response: IncomingMessage) {
    this.#request = req;
    this.headers = response.headers;
    response.on('data', (chunk: Buffer) => this.#take(chunk));
    response.on('close', () => {
      this.hasEnded = true;
    });
    response.on('error', () => undefined);
  }

  static open(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
    return new Promise((resolve, reject) => {
      const all = { authorization: `Bearer ${TOKEN}`, accept: 'text/event-stream', ...headers };
      const req = request(url, { agent: false, headers: all }, (response) => {
        if (response.statusCode === 200) return resolve(new EventReader(req, response));
        response.resume();
        reject(new Error(`status ${response.statusCode}`));
      });
      req.on('error', reject);
      req.end();
    });
  }

  /** The events of one name. */
  named(name: string): readonly ServerEvent[] {
    return this.events.filter((event) => event.name === name);
  }

  get frames(): readonly LiveFrame[] {
    return this.named('records').map(({ data }) => data as LiveFrame);
  }

  /** The last version of every record that came. */
  get records(): readonly LiveRecord[] {
    return [...new Map(this.frames.flatMap(({ records }) => records.map((one) => [one.key, one] as const))).values()];
  }

  get lastId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id;
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    await eventually(what, holds);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#request.destroy();
  }

  #take(chunk: Buffer): void {
    const parts = (this.#rest + String(chunk)).split('\n\n');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) {
      const fields = new Map(part.split('\n').map((line) => splitAt(line, line.indexOf(':'))));
      const data = fields.get('data');
      if (data === undefined) continue;
      this.events.push({ name: fields.get('event') ?? 'message', id: fields.get('id'), data: JSON.parse(data) });
    }
  }
}

function splitAt(line: string, at: number): [string, string] {
  return [line.slice(0, at), line.slice(at + 2)];
}
