import assert from 'node:assert/strict';
import { type BindingResponse, isUsedFor } from '../components/binding.ts';
import { type BindingCase, type BindingUnderTest, callOf, onBinding, Reading, requestOf } from './binding-case.ts';
import { eventually, later } from './collector.ts';

/** Long enough for an event that must not come. */
const QUIET_MS = 50;

function checkTexts(metadata: Readonly<Record<string, unknown>> | undefined, what: string): void {
  for (const [name, value] of Object.entries(metadata ?? {}))
    assert.equal(typeof value, 'string', `metadata ${name} of ${what} is no text`);
}

function checkAnswer(answer: BindingResponse | undefined): void {
  if (answer === undefined) return;
  assert.ok(answer.data === undefined || answer.data instanceof Uint8Array, 'the data of an answer are no bytes');
  checkTexts(answer.metadata, 'an answer');
}

function checkError(error: unknown, { secrets = [] }: BindingUnderTest): true {
  assert.ok(error instanceof Error, `an Error was expected, not ${String(error)}`);
  assert.ok(error.message !== '', 'the error has no message');
  for (const secret of secrets) assert.ok(!error.message.includes(secret), `the message shows ${secret}`);
  checkTexts((error as { readonly metadata?: Readonly<Record<string, unknown>> }).metadata, 'an error');
  return true;
}

const common: readonly BindingCase[] = [
  {
    name: 'the definition names its directions and operations',
    needs: [],
    run: async ({ definition }) => {
      const { block, name, type, directions, operations } = definition;
      assert.equal(block, 'bindings');
      assert.ok(name !== '' && type !== '', 'name or type is empty');
      assert.ok(directions.length > 0, 'it has no direction');
      assert.equal(new Set(directions).size, directions.length);
      assert.equal(new Set(operations).size, operations.length);
      assert.equal(operations.length > 0, directions.includes('output'), 'an output has operations, an input has none');
    },
  },
  onBinding('open: it has invoke and read as its directions say', [], async (open, { definition }) => {
    for (const [direction, method] of [
      ['output', open.invoke],
      ['input', open.read],
    ] as const)
      if (isUsedFor(definition, direction)) assert.equal(typeof method, 'function', `${direction} has no method`);
    assert.equal(open.failure, undefined);
  }),
  {
    name: 'it can be closed twice, and opened again',
    needs: [],
    run: async (under) => {
      for (let round = 0; round < 2; round++) {
        const open = await under.open();
        await open.close();
        await open.close();
      }
    },
  },
];

const outputs: readonly BindingCase[] = [
  onBinding('a call: nothing, or bytes and texts', ['output'], async (open, { call }) => {
    checkAnswer(await callOf(open, requestOf(call)));
  }),
  onBinding('calls side by side all end', ['output'], async (open, { call }) => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => callOf(open, requestOf(call))));
    for (const answer of answers) checkAnswer(answer);
  }),
  onBinding('metadata that it does not know do no harm', ['output'], async (open, { call }) => {
    const request = requestOf(call);
    for (const name of ['__proto__', 'constructor', 'toString', 'unknown', 'ünknown'])
      Object.defineProperty(request.metadata, name, { value: 'x', enumerable: true });
    checkAnswer(await callOf(open, request));
  }),
  onBinding('a call whose caller has gone ends', ['output'], async (open, { call }) => {
    const gone = new AbortController();
    gone.abort(new Error('the caller has gone'));
    let isOver = false;
    callOf(open, requestOf(call, { signal: gone.signal }))
      .catch(() => undefined)
      .finally(() => {
        isOver = true;
      });
    await eventually('the call ended', () => isOver);
  }),
  onBinding(
    'a refusal is an error that can be shown; the next call succeeds',
    ['output', 'refusal'],
    async (open, under) => {
      await assert.rejects(callOf(open, requestOf(under.refused)), (error) => checkError(error, under));
      checkAnswer(await callOf(open, requestOf(under.call)));
    },
  ),
  onBinding('a close lets a call under way end, or fail', ['output'], async (open, under) => {
    const [called] = await Promise.allSettled([callOf(open, requestOf(under.call)), open.close()]);
    if (called.status === 'rejected') checkError(called.reason, under);
  }),
];

const inputs: readonly BindingCase[] = [
  onBinding('an event: bytes and texts', ['input'], async (open, under) => {
    const reading = new Reading(open);
    await reading.receive(2, under);
    await reading.stop();
    for (const { data, metadata } of reading.events) {
      assert.ok(data instanceof Uint8Array, 'the data of an event are no bytes');
      checkTexts(metadata, 'an event');
    }
  }),
  onBinding('reading goes on after an event that was not accepted', ['input'], async (open, under) => {
    const reading = new Reading(open, async (nth) => {
      if (nth === 1) throw new Error('not accepted');
    });
    await reading.receive(3, under);
    await reading.stop();
  }),
  onBinding('an event that was not accepted comes again', ['input', 'redelivery'], async (open, under) => {
    const reading = new Reading(open, async (nth) => {
      if (nth === 1) throw new Error('not accepted');
    });
    await reading.receive(1, under);
    const [first] = reading.events;
    await eventually('the event came again', () =>
      reading.events.slice(1).some(({ data }) => isSame(data, first?.data)),
    );
    await reading.stop();
  }),
  onBinding('the end of reading waits for the delivery under way', ['input'], async (open, under) => {
    let finish: () => void = () => undefined;
    const handled = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const reading = new Reading(open, () => handled);
    await reading.receive(1, under);
    reading.abort();
    await later(QUIET_MS);
    assert.ok(!reading.isOver, 'read has ended during a delivery');
    finish();
    await reading.stop();
    assert.equal(reading.underWay, 0);
  }),
  onBinding('after the end of reading no event comes; it can be read again', ['input'], async (open, under) => {
    const first = new Reading(open);
    await first.receive(1, under);
    await first.stop();
    const count = first.events.length;
    const second = new Reading(open);
    await second.receive(1, under);
    await second.stop();
    assert.equal(first.events.length, count);
  }),
  onBinding('a signal that is aborted already: nothing is delivered', ['input'], async (open) => {
    let delivered = 0;
    const aborted = AbortSignal.abort(new Error('the sidecar is stopping'));
    await open.read?.(async () => void delivered++, aborted);
    assert.equal(delivered, 0);
  }),
];

function isSame(left: Uint8Array, right: Uint8Array | undefined): boolean {
  return right !== undefined && Buffer.compare(left, right) === 0;
}

/**
 * The contract of bindings, as plain data that any test runner can use. Leave out the cases with `needs` that a binding
 * does not meet.
 *
 * @example
 * ```ts
 * function checkOutput(mine: BindingUnderTest): void {
 *   for (const { name, needs, run } of bindingConformance) test.skipIf(needs.includes('input'))(name, () => run(mine));
 * }
 * ```
 * @public
 */
export const bindingConformance: readonly BindingCase[] = [...common, ...outputs, ...inputs];
