/** The suite for bindings: those of this package that need no server pass it, and each mistake is found. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { smtpBinding } from '../../src/components/smtp/index.ts';
import { cronBinding, httpBinding, localStorageBinding } from '../../src/index.ts';
import {
  type Binding,
  type BindingDefinition,
  BindingError,
  type BindingParts,
  type DeliverBindingEvent,
  defineBinding,
} from '../../src/kit/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { bindingConforms, conformingBinding, failedCases } from '../support/binding-conformance.ts';
import { bindingsWorld } from '../support/bindings-world.ts';
import { type Listening, listen } from '../support/http.ts';
import { MailServer } from '../support/mail-server.ts';

describe('bindings.cron', () => {
  bindingConforms(
    () => {
      const clock = virtualClock();
      const definition = cronBinding('tick', { schedule: '@every 1s' });
      return conformingBinding({ definition, clock, emit: () => clock.advance('1s') });
    },
    'output',
    'redelivery',
  );
});

describe('bindings.http', () => {
  let target: Listening;
  beforeAll(async () => {
    target = await listen((req, res) => res.writeHead(req.url === '/no' ? 500 : 200, { 'x-id': '1' }).end('{}'));
  });
  afterAll(() => target[Symbol.asyncDispose]());
  bindingConforms(
    () =>
      conformingBinding({
        definition: httpBinding('web', { url: target.url }),
        call: { operation: 'post', data: { n: 1 } },
        refused: { operation: 'get', metadata: { path: 'no' } },
        secrets: [target.url, String(target.port)],
      }),
    'input',
  );
});

describe('bindings.localstorage', () => {
  let rootPath: string;
  beforeAll(async () => {
    rootPath = await mkdtemp(join(tmpdir(), 'insidecar-conformance-'));
  });
  afterAll(() => rm(rootPath, { recursive: true }));
  bindingConforms(
    () =>
      conformingBinding({
        definition: localStorageBinding('files', { rootPath }),
        call: { operation: 'create', data: 'text', metadata: { fileName: 'a' } },
        refused: { operation: 'get', metadata: { fileName: 'nothing' } },
        secrets: [rootPath],
      }),
    'input',
  );
});

describe('bindings.smtp', () => {
  let server: MailServer;
  beforeAll(async () => {
    const rcpt = (address: string) => (address.includes('nobody') ? '550 no' : undefined);
    server = await MailServer.start({ rcpt });
  });
  afterAll(() => server[Symbol.asyncDispose]());
  bindingConforms(() => {
    const metadata = { emailFrom: 'a@b.example', emailTo: 'c@d.example', subject: 'Hello' };
    return conformingBinding({
      definition: smtpBinding('mail', { host: '127.0.0.1', port: server.port }),
      call: { operation: 'create', data: 'text', metadata },
      refused: { operation: 'create', data: 'text', metadata: { ...metadata, emailTo: 'nobody@d.example' } },
      secrets: ['nobody@d.example', '127.0.0.1'],
    });
  }, 'input');
});

/** An outside in memory: what is sent comes in, again and again until it is accepted. */
class Line {
  readonly #waiting: Uint8Array[] = [];
  #wake: () => void = () => undefined;
  /** How it is wrong. */
  readonly #wrong: Partial<BindingParts> & { readonly drops?: boolean; readonly endsAtOnce?: boolean };

  constructor(wrong: Partial<BindingParts> & { readonly drops?: boolean; readonly endsAtOnce?: boolean } = {}) {
    this.#wrong = wrong;
  }

  send(data: Uint8Array): void {
    this.#waiting.push(data);
    this.#wake();
  }

  async #read(deliver: DeliverBindingEvent, signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    while (!signal.aborted) {
      const [data] = this.#waiting;
      if (data === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      const delivered = deliver({ data, metadata: { at: 'line' } });
      if (this.#wrong.endsAtOnce) void delivered.catch(() => undefined);
      else
        await delivered.then(
          () => this.#waiting.shift(),
          () => this.#wrong.drops && this.#waiting.shift(),
        );
      if (this.#wrong.endsAtOnce) this.#waiting.shift();
    }
  }

  definition(): BindingDefinition {
    const { drops: _drops, endsAtOnce: _ends, ...parts } = this.#wrong;
    return defineBinding('line', {
      operations: {
        create: async ({ data }) => void this.send(data),
        refuse: async () => {
          throw new BindingError('the line refuses it', { code: '7' });
        },
      },
      read: (deliver, signal) => this.#read(deliver, signal),
      ...parts,
    });
  }

  underTest(definition: BindingDefinition = this.definition()) {
    return conformingBinding({
      definition,
      call: { operation: 'create', data: 1 },
      refused: { operation: 'refuse' },
      secrets: ['hunter2'],
      emit: async (mark) => this.send(Buffer.from(mark)),
    });
  }
}

describe('defineBinding', () => {
  bindingConforms(() => new Line().underTest());

  test('over HTTP, in both directions; it is closed once', async () => {
    let closed = 0;
    const line = new Line({ close: async () => void closed++ });
    const world = await bindingsWorld({
      components: [{ ...line.definition(), options: { direction: ['input', 'output'] } as const }],
    });
    expect((await world.invoke('line', { operation: 'create', data: { n: 1 } })).status).toBe(204);
    await expect.poll(() => world.delivered.map(({ body }) => body)).toEqual(['{"n":1}']);
    const refused = await world.invoke('line', { operation: 'refuse' });
    expect([refused.status, refused.headers['metadata.code']]).toEqual([500, '7']);
    expect((await world.invoke('line', { operation: 'toString' })).text).toContain('expected create, refuse');
    await world[Symbol.asyncDispose]();
    expect(closed).toBe(1);
  });

  test('directions follow the parts; failure is asked for', async () => {
    const read = async (): Promise<void> => undefined;
    expect(defineBinding('in', { read }).directions).toEqual(['input']);
    const out = defineBinding('out', { operations: { get: () => undefined }, failure: () => new Error('down') });
    expect([out.directions, out.operations]).toEqual([['output'], ['get']]);
    const { failure } = await conformingBinding({ definition: out }).open();
    expect(failure?.message).toBe('down');
  });

  test.each([
    ['', {}, 'the name of the binding is ""'],
    ['a', {}, 'expected operations, read or both'],
    ['a', { operations: {} }, 'operations'],
    ['a', { operations: { get: 1 } }, 'operations'],
    ['a', { read: 1 }, 'read'],
    ['a', { read: async (): Promise<void> => undefined, root: '/' }, 'unknown field "root"'],
    ['a', { read: async (): Promise<void> => undefined, route: 'x' }, 'route'],
  ])('refuses %o, %o', (name, parts, problem) => {
    expect(() => defineBinding(name, parts as never)).toThrow(problem);
  });
});

describe('a mistake is found', () => {
  const withOpen = (change: (open: Binding) => Partial<Binding>): BindingDefinition => {
    const definition = new Line().definition();
    return {
      ...definition,
      open: async (context) => {
        const open = await definition.open(context);
        return { ...open, close: () => open.close(), ...change(open) } as Binding;
      },
    };
  };
  const failing = (definition: BindingDefinition): Promise<readonly string[]> => {
    const line = new Line();
    return failedCases(line.underTest(definition), 'input', 'redelivery');
  };

  test('in the definition', async () => {
    expect(await failing({ ...new Line().definition(), operations: [] })).toContain(
      'the definition names its directions and operations',
    );
  });

  test.each([
    ['no invoke', { invoke: undefined }, 'open: it has invoke and read as its directions say'],
    ['an answer that is a text', { invoke: async () => ({ data: 'text' }) }, 'a call: nothing, or bytes and texts'],
    [
      'metadata that are numbers',
      { invoke: async () => ({ metadata: { n: 1 } }) },
      'a call: nothing, or bytes and texts',
    ],
    [
      'a secret in an error',
      { invoke: async () => Promise.reject(new Error('cannot log in with hunter2')) },
      'a refusal is an error that can be shown; the next call succeeds',
    ],
  ] as const)('%s', async (_what, change, name) => {
    expect(await failing(withOpen(() => change as never))).toContain(name);
  });

  test('a second close that fails', async () => {
    let closed = 0;
    const close = async () => {
      closed++;
      if (closed === 2) throw new Error('closed already');
    };
    expect(await failing(withOpen(() => ({ close })))).toContain('it can be closed twice, and opened again');
  });

  test('a reader that drops what was not accepted', async () => {
    expect(await failedCases(new Line({ drops: true }).underTest(), 'output', 'refusal')).toEqual([
      'an event that was not accepted comes again',
    ]);
  }, 30_000);

  test('a reader that does not wait for deliveries', async () => {
    expect(await failedCases(new Line({ endsAtOnce: true }).underTest(), 'output', 'redelivery')).toContain(
      'the end of reading waits for the delivery under way',
    );
  });
});
