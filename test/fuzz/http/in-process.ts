import fc from 'fast-check';
import { request } from '../../../src/http/message.ts';
import type { SidecarResponse } from '../../../src/kit/index.ts';
import { type Session, type Target, tryPortion } from '../portion.ts';
import { Steadiness } from '../steadiness.ts';
import { withDeadline } from '../with-deadline.ts';
import { bytesOf } from './bodies.ts';
import { FuzzedSidecar, KINDS } from './fuzzed-sidecar.ts';
import { requests, type Spec } from './grammar.ts';
import { problemOf, type Reply } from './judge.ts';

const RUNS = 250;
const MAX_AT_ONCE = 4;
/** Many times what the slowest disk needs: what takes longer hangs. */
const ANSWER_MS = 30_000;

/** Requests that are handed to the sidecar without a socket. */
export const inProcess: Target = {
  name: 'http',
  open: async () => {
    const sidecars: FuzzedSidecar[] = [];
    for (const kind of KINDS) sidecars.push(await FuzzedSidecar.open(kind));
    return new HttpSession(sidecars, portion);
  },
};

/** Tries a portion of requests on a sidecar; answers how many they were. */
export type Portion = (fuzzed: FuzzedSidecar, seed: number) => Promise<number>;

/** Portions for one sidecar after the other. */
export class HttpSession implements Session {
  readonly #sidecars: readonly FuzzedSidecar[];
  readonly #portion: Portion;
  readonly #steadiness = new Steadiness();
  #portions = 0;

  constructor(sidecars: readonly FuzzedSidecar[], portion: Portion) {
    this.#sidecars = sidecars;
    this.#portion = portion;
  }

  async try(seed: number): Promise<number> {
    const fuzzed = this.#sidecars[Math.abs(seed) % this.#sidecars.length];
    if (fuzzed === undefined) throw new Error('there is no sidecar');
    const count = await this.#portion(fuzzed, seed);
    await this.#lookAround(fuzzed);
    // Caches fill during the first portions.
    this.#portions++;
    if (this.#portions === 4 * this.#sidecars.length) await this.#steadiness.begin();
    return count;
  }

  async #lookAround(fuzzed: FuzzedSidecar): Promise<void> {
    await fuzzed.tidyUp();
    await fuzzed.publishSound();
    const problems = [...fuzzed.app.problems, ...fuzzed.logger.faults];
    if (problems.length > 0) throw new Error(problems.join('\n'));
  }

  async finish(): Promise<void> {
    for (const fuzzed of this.#sidecars) await this.#lookAround(fuzzed);
    await this.#steadiness.check();
  }

  notes(): readonly string[] {
    const ofSidecars = this.#sidecars.flatMap(({ kind, log, app, slowestMs }) => [
      `${kind.wire} on ${kind.store}: ${app.received} requests to the application, slowest answer ${Math.round(slowestMs)} ms`,
      ...[...log].map(([line, count]) => `  ${count} × ${line}`),
    ]);
    return [...this.#steadiness.notes(), ...ofSidecars];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const fuzzed of this.#sidecars) await fuzzed[Symbol.asyncDispose]();
  }
}

async function portion(fuzzed: FuzzedSidecar, seed: number): Promise<number> {
  let count = 0;
  const some = fc.array(requests(fuzzed.kind.wire), { minLength: 1, maxLength: MAX_AT_ONCE });
  const attempt = async (specs: readonly Spec[]): Promise<void> => {
    count += specs.length;
    if (fuzzed.isShuttingDown) await fuzzed.tidyUp();
    await Promise.all(specs.map((spec) => handleOne(fuzzed, spec)));
  };
  await tryPortion(some, attempt, { seed, numRuns: RUNS });
  return count;
}

async function handleOne(fuzzed: FuzzedSidecar, spec: Spec): Promise<void> {
  const { method, target, headers, body } = withUpstream(spec, fuzzed.upstream);
  const bytes = bytesOf(body);
  const sent = request(method, target, {
    headers: Object.fromEntries(headers),
    body: method === 'PUT' ? inPieces(bytes) : bytes,
  });
  const sentAt = performance.now();
  const reply = await withDeadline(ANSWER_MS, 'an answer', async () => replyOf(await fuzzed.sidecar.handle(sent)));
  fuzzed.slowestMs = Math.max(fuzzed.slowestMs, performance.now() - sentAt);
  const problem = problemOf(reply, spec, fuzzed);
  if (problem !== undefined) throw new Error(`${fuzzed.kind.wire}, ${fuzzed.kind.store}: ${problem}`);
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += 10_000) yield bytes.subarray(from, from + 10_000);
}

async function replyOf({ status, headers, body }: SidecarResponse): Promise<Reply> {
  const parts: Uint8Array[] = [];
  if (body instanceof Uint8Array) parts.push(body);
  else for await (const part of body) parts.push(part);
  return { status, headers, body: Buffer.concat(parts) };
}

/** The same request with the address of the service in place of its name. */
export function withUpstream(spec: Spec, upstream: string): Spec {
  const put = (text: string): string =>
    text.replaceAll('{upstream}', upstream).replaceAll('{upstream-escaped}', encodeURIComponent(upstream));
  return { ...spec, target: put(spec.target), headers: spec.headers.map(([name, value]) => [name, put(value)]) };
}
