import { SidecarError } from '../errors.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { type JsonSchema, optionsSchema, POSITIVE } from '../util/options-schema.ts';
import type { Work } from '../util/work.ts';

/** How the application is asked whether it is well. @public */
export interface AppHealthOptions {
  /** The path that is asked with GET; an answer of 200 to 299 means well. Default `/healthz`. */
  readonly path?: string;
  /** How often it is asked, in milliseconds. Default 5,000. */
  readonly intervalMs?: number;
  /** How long the answer may take, in milliseconds; no longer than the interval. Default 500. */
  readonly timeoutMs?: number;
  /** After so many failures in a row it is taken for unhealthy. Default 3. */
  readonly threshold?: number;
}

/** The JSON schema of the option. */
export const APP_HEALTH_SCHEMA: JsonSchema = {
  ...optionsSchema<AppHealthOptions>({
    path: { type: 'string', pattern: '^[\\x21-\\x7e]*$' },
    intervalMs: POSITIVE,
    timeoutMs: POSITIVE,
    threshold: POSITIVE,
  }),
  type: ['boolean', 'object'],
};

/** Health checks, complete. */
export type HealthSettings = Required<AppHealthOptions>;

/**
 * Fills in defaults; `undefined` when the application is not to be asked.
 *
 * @throws SidecarError `ERR_CONFIGURATION` when an answer may take longer than the interval.
 */
export function resolveHealth(options: boolean | AppHealthOptions | undefined): HealthSettings | undefined {
  if (options === undefined || options === false) return undefined;
  const { path = '/healthz', intervalMs = 5_000, timeoutMs = 500, threshold = 3 } = options === true ? {} : options;
  if (timeoutMs > intervalMs)
    throw new SidecarError(
      'ERR_CONFIGURATION',
      `options.app.health.timeoutMs is ${timeoutMs} ms: expected at most options.app.health.intervalMs, ${intervalMs} ms`,
    );
  return { path: path.startsWith('/') ? path : `/${path}`, intervalMs, timeoutMs, threshold };
}

/** What health checks are made of. */
export interface HealthDeps {
  readonly clock: Clock;
  readonly work: Work;
  /** Asks the application once; what is wrong with it, if anything. */
  readonly probe: (path: string, timeLimitMs: number) => Promise<string | undefined>;
  /** Hears of every change, with what was wrong last. */
  readonly changed: (problem: string | undefined) => void;
}

/** Asks the application again and again whether it is well. It counts as unhealthy until it has said so. */
export class AppHealth {
  readonly #settings: HealthSettings;
  readonly #deps: HealthDeps;
  #isHealthy = false;
  #failures = 0;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(settings: HealthSettings, deps: HealthDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  /** Begins to ask; resolves after the first answer. */
  async start(): Promise<void> {
    const { clock, work, probe } = this.#deps;
    const { path, intervalMs, timeoutMs } = this.#settings;
    const startedAt = clock.now();
    const done = work.begin('health check of the application');
    const problem = await probe(path, timeoutMs);
    if (!this.#stopped) {
      const restMs = intervalMs - (clock.now() - startedAt);
      this.#timer = clock.setTimeout(() => void this.start(), restMs);
      this.#count(problem);
    }
    done();
  }

  /** Asks no more. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #count(problem: string | undefined): void {
    this.#failures = problem === undefined ? 0 : this.#failures + 1;
    const isHealthy = problem === undefined || (this.#isHealthy && this.#failures < this.#settings.threshold);
    if (isHealthy === this.#isHealthy) return;
    this.#isHealthy = isHealthy;
    this.#deps.changed(problem);
  }
}
