import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type {
  Binding,
  BindingDefinition,
  BindingEvent,
  BindingRequest,
  BindingResponse,
} from '../components/binding.ts';
import { later } from './collector.ts';

const PATIENCE_MS = 20_000;
const EMIT_AGAIN_MS = 500;
const POLL_MS = 2;

/**
 * What not every binding can do. `output`: it can be called. `input`: it delivers events. `redelivery`: an event that was
 * not accepted comes again. `refusal`: there is a call that the outside refuses.
 *
 * @public
 */
export type BindingNeed = 'output' | 'input' | 'redelivery' | 'refusal';

/** A call of a binding under test. @public */
export interface BindingTestCall {
  /** One of the binding's operations. */
  readonly operation: string;
  /** Any JSON value. Default `null`. */
  readonly data?: unknown;
  /** By name. Default: none. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** A binding under test, with its outside. @public */
export interface BindingUnderTest {
  /** The definition, as a program passes it to a sidecar. */
  readonly definition: BindingDefinition;
  /** Opens it for a test. */
  open(): Promise<Binding>;
  /** A call that succeeds, again and again. Needed for `output`. */
  readonly call?: BindingTestCall | undefined;
  /** A call that fails. Needed for `refusal`. */
  readonly refused?: BindingTestCall | undefined;
  /** Texts that no error may show, such as the password and the address of the server. Default: none. */
  readonly secrets?: readonly string[] | undefined;
  /**
   * Makes something happen outside that is an event, with the mark somewhere in its data if events have data. Needed for
   * `input`.
   */
  emit?(mark: string): Promise<void>;
}

/** One behaviour of a binding. @public */
export interface BindingCase {
  /** A description of the behaviour. */
  readonly name: string;
  /** The capabilities that it needs. */
  readonly needs: readonly BindingNeed[];
  /** Rejects with an AssertionError if the binding behaves differently. The case closes what it opens. */
  run(binding: BindingUnderTest): Promise<void>;
}

/** A call as the block makes it: the metadata have no prototype. */
export function requestOf(call: BindingTestCall | undefined, more: Partial<BindingRequest> = {}): BindingRequest {
  assert.ok(call !== undefined, 'the binding under test has no such call');
  const { operation, data = null, metadata = {} } = call;
  return {
    operation,
    data: Buffer.from(JSON.stringify(data)),
    metadata: Object.assign(Object.create(null) as Record<string, string>, metadata),
    traceHeaders: {},
    signal: new AbortController().signal,
    ...more,
  };
}

/** Calls an open binding. */
export async function callOf(open: Binding, request: BindingRequest): Promise<BindingResponse | undefined> {
  assert.ok(open.invoke !== undefined, 'it has no invoke');
  return open.invoke(request);
}

/** A case on one open binding. */
export function onBinding(
  name: string,
  needs: readonly BindingNeed[],
  run: (open: Binding, under: BindingUnderTest) => Promise<void>,
): BindingCase {
  return {
    name,
    needs,
    async run(under) {
      const open = await under.open();
      try {
        await run(open, under);
      } finally {
        await open.close();
      }
    },
  };
}

/** Reads an input binding, and keeps its events. */
export class Reading {
  readonly events: BindingEvent[] = [];
  /** Deliveries that have not been answered. */
  underWay = 0;
  isOver = false;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  /** @param accept - resolves when the application has accepted an event, and rejects when not */
  constructor(open: Binding, accept: (nth: number) => Promise<void> = async () => undefined) {
    assert.ok(open.read !== undefined, 'it has no read');
    const deliver = async (event: BindingEvent): Promise<void> => {
      this.events.push(event);
      this.underWay++;
      try {
        await accept(this.events.length);
      } finally {
        this.underWay--;
      }
    };
    this.#ended = open.read(deliver, this.#stopping.signal).finally(() => {
      this.isOver = true;
    });
    // Waited for in `stop`.
    this.#ended.catch(() => undefined);
  }

  /** Makes events until as many have come: a reader that has just begun may miss the first. */
  async receive(count: number, { emit }: BindingUnderTest): Promise<void> {
    assert.ok(emit !== undefined, 'the binding under test has no emit');
    const deadline = performance.now() + PATIENCE_MS;
    while (this.events.length < count) {
      assert.ok(!this.isOver, 'read has ended although nobody asked it to');
      assert.ok(performance.now() < deadline, `timed out: ${this.events.length} of ${count} events came`);
      const before = this.events.length;
      await emit(randomUUID());
      for (let waitedMs = 0; this.events.length === before && waitedMs < EMIT_AGAIN_MS; waitedMs += POLL_MS)
        await later(POLL_MS);
    }
  }

  /** Aborts the signal. */
  abort(): void {
    this.#stopping.abort(new Error('the test stops reading'));
  }

  /** Aborts the signal, and resolves when the reader has ended. */
  async stop(): Promise<void> {
    this.abort();
    await this.#ended;
  }
}
