import { expect, test } from 'vitest';
import { LineStream } from '../../../../src/blocks/workflow/forwarding/line-stream.ts';

/** A stream that reads chunks; answers its lines and the error of its end. */
async function readFrom(chunks: Iterable<Uint8Array>): Promise<{ lines: string[]; error: unknown }> {
  const lines: string[] = [];
  let ended: unknown;
  const stream = new LineStream({
    onLine: (line) => void lines.push(line),
    onEnd: (error) => {
      ended = error;
    },
  });
  async function* body(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  await stream.read(body());
  return { lines, error: ended };
}

test('lines come whole, wherever their bytes are cut', async () => {
  const lines = ['{"a":1}', 'ä€😀', 'x'.repeat(1_000)];
  const bytes = Buffer.from(`\n${lines.join('\n')}\n\n`);
  for (const size of [1, 2, 3, 7, 500, bytes.length]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    expect(await readFrom(chunks)).toEqual({ lines, error: undefined });
  }
});

test('a line without end is given up', async () => {
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  const { lines, error } = await readFrom(Array.from({ length: 65 }, () => chunk));
  expect(lines).toEqual([]);
  expect(String(error)).toContain('too long');
});

test('the lines of one turn of the event loop go together, and all go before the end', async () => {
  const stream = new LineStream({ onLine: () => undefined, onEnd: () => undefined });
  for (const line of ['one\n', 'two\n']) stream.send(line);
  await new Promise((resolve) => setImmediate(resolve));
  stream.send('three\n');
  stream.end();
  stream.send('four\n');
  const chunks: string[] = [];
  for await (const chunk of stream.outgoing) chunks.push(String(chunk));
  expect(chunks).toEqual(['one\ntwo\n', 'three\n']);
});
