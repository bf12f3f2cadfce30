import { SidecarError } from '../errors.ts';
import { type Clock, dualNow, msSince, type Timer } from '../util/clock.ts';
import type { Complete } from '../util/defined-only.ts';
import { type Duration, msOf } from '../util/duration.ts';
import { type JsonSchema, optionsSchema, POSITIVE, POSITIVE_DURATION } from '../util/options-schema.ts';
import type { Work } from '../util/work.ts';

/** How the application's health is checked. @public */
export interface AppHealthOptions {
  /** The path for GET; an answer of 200 to 299 means healthy. Default `/healthz`. */
  readonly path?: string | undefined;
  /** The time between two checks. Default `5s`. */
  readonly interval?: Duration | undefined;
  /** How long the answer may take; no longer than the interval. Default `500ms`. */
  readonly timeout?: Duration | undefined;
  /** The application is unhealthy after so many failures in a row. Default 3. */
  readonly threshold?: number | undefined;
}

/** The JSON schema of the option. */
export const APP_HEALTH_SCHEMA: JsonSchema = {
  ...optionsSchema<AppHealthOptions>({
    path: { type: 'string', pattern: '^[\\x21-\\x7e]*$', expects: 'visible ASCII characters without spaces' },
    interval: POSITIVE_DURATION,
    timeout: POSITIVE_DURATION,
    threshold: POSITIVE,
  }),
  type: ['boolean', 'object'],
};

/** Health checks, complete. */
export interface HealthSettings extends Complete<Omit<AppHealthOptions, 'interval' | 'timeout'>> {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/**
 * Fills in defaults; returns `undefined` for no health checks.
 *
 * @throws SidecarError `ERR_CONFIGURATION` when an answer may take longer than the interval.
 */
export function resolveHealth(options: boolean | AppHealthOptions | undefined): HealthSettings | undefined {
  if (options === undefined || options === false) return undefined;
  const { path = '/healthz', interval = 5_000, timeout = 500, threshold = 3 } = options === true ? {} : options;
  const [intervalMs, timeoutMs] = [msOf(interval), msOf(timeout)];
  if (timeoutMs > intervalMs)
    throw new SidecarError(
      'ERR_CONFIGURATION',
      `options.app.health.timeout is ${timeoutMs} ms: expected at most options.app.health.interval, ${intervalMs} ms`,
    );
  return { path: path.startsWith('/') ? path : `/${path}`, intervalMs, timeoutMs, threshold };
}

/** Dependencies of {@link AppHealth}. */
export interface AppHealthDeps {
  readonly clock: Clock;
  readonly work: Work;
  /** Checks once; returns the problem, if any. */
  readonly probe: (path: string, timeLimitMs: number) => Promise<string | undefined>;
  /** Called at every change, with the last problem. */
  readonly changed: (problem: string | undefined) => void;
}

/** Checks the application's health again and again. It is unhealthy before the first success. */
export class AppHealth {
  readonly #settings: HealthSettings;
  readonly #deps: AppHealthDeps;
  #isHealthy = false;
  #failures = 0;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(settings: HealthSettings, deps: AppHealthDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  /** Starts checking; resolves after the first check. */
  async start(): Promise<void> {
    const { clock, work, probe } = this.#deps;
    const { path, intervalMs, timeoutMs } = this.#settings;
    const startedAt = dualNow(clock);
    const done = work.begin('health check of the application');
    const problem = await probe(path, timeoutMs);
    if (!this.#stopped) {
      const restMs = intervalMs - msSince(startedAt, clock);
      this.#timer = clock.setTimeout(() => void this.start(), restMs);
      this.#count(problem);
    }
    done();
  }

  /** Stops checking. */
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
