import type { Telemetry } from '../probe.ts';
import type { LoadedResources, MetricsSettings, TelemetrySettings } from '../resources/index.ts';
import { type Clock, sleep } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { type ApiPackage, loadPackages, MissingPackages } from './otel-packages.ts';
import { type MetricsAddress, RunMetrics } from './run-metrics.ts';
import { RunTracing } from './run-tracing.ts';

/** How long the end of a run waits for the last spans to be sent. */
const LAST_SPANS_MS = 2_000;

export interface RunTelemetryOptions {
  /** Where metrics are served. Default: nowhere. */
  readonly metrics: MetricsAddress | undefined;
  readonly appIds: readonly string[];
  readonly resources: ReadonlyMap<string, LoadedResources>;
  readonly environment: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Telemetry of the applications of a run. */
export class RunTelemetry {
  readonly #byApp = new Map<string, Telemetry>();
  readonly #tracing: RunTracing;
  readonly #metrics: RunMetrics | undefined;
  readonly #clock: Clock;

  private constructor(tracing: RunTracing, metrics: RunMetrics | undefined, clock: Clock) {
    this.#tracing = tracing;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** @throws Failure if packages for tracing are missing or the port of the metrics cannot be used */
  static async open(options: RunTelemetryOptions): Promise<RunTelemetry> {
    const { metrics, appIds, resources, environment, clock, log } = options;
    const settingsOf = (appId: string): TelemetrySettings | undefined => resources.get(appId)?.telemetry;
    const measured = appIds.filter((appId) => settingsOf(appId)?.metrics?.isEnabled !== false);
    const [withBounds] = measured.flatMap((appId) => settingsOf(appId)?.metrics ?? []);
    const isServed = metrics !== undefined && measured.length > 0;
    const served = isServed ? await openMetrics(metrics, withBounds, { clock, log, environment }) : undefined;
    const run = new RunTelemetry(new RunTracing(environment), served, clock);
    try {
      for (const appId of appIds) await run.#add(appId, settingsOf(appId), measured.includes(appId));
    } catch (error) {
      await run.close();
      throw error;
    }
    return run;
  }

  async #add(appId: string, settings: TelemetrySettings | undefined, isMeasured: boolean): Promise<void> {
    const tracerProvider = await this.#tracing.open(appId, settings?.tracing);
    const meterProvider = isMeasured ? this.#metrics?.provider : undefined;
    if (tracerProvider === undefined && meterProvider === undefined) return;
    const [{ ProxyTracerProvider, createNoopMeter }] = await loadPackages<[ApiPackage]>('--metrics-port', [
      '@opentelemetry/api',
    ]);
    const { openTelemetry } = await import('../otel/index.ts');
    // Not the global ones by default: those are of the application that is traced first.
    const telemetry = openTelemetry({
      tracerProvider: tracerProvider ?? new ProxyTracerProvider(),
      meterProvider: meterProvider ?? { getMeter: () => createNoopMeter() },
    });
    this.#byApp.set(appId, telemetry);
  }

  /** `undefined` for an application that is neither traced nor measured. */
  of(appId: string): Telemetry | undefined {
    return this.#byApp.get(appId);
  }

  /** The fields of a log line that name the present trace. */
  logFields(): object | undefined {
    const [telemetry] = this.#byApp.values();
    return telemetry?.logFields();
  }

  /** Sends the last spans, if the collector takes them in time, and serves no more metrics. */
  async close(): Promise<void> {
    await Promise.race([this.#tracing.close(), sleep(this.#clock, LAST_SPANS_MS)]);
    await this.#metrics?.close();
  }
}

/** Without its packages nothing is served: scripts made for daprd name the port, and few of them look at the metrics. */
async function openMetrics(
  address: MetricsAddress,
  settings: MetricsSettings | undefined,
  { clock, log, environment }: Pick<RunTelemetryOptions, 'clock' | 'log' | 'environment'>,
): Promise<RunMetrics | undefined> {
  try {
    const served = await RunMetrics.open(address, settings, { clock, environment });
    log.info({}, `metrics at ${served.url}`);
    return served;
  } catch (error) {
    if (!(error instanceof MissingPackages)) throw error;
    log.warn({}, `no metrics are served: ${error.message}`);
    return undefined;
  }
}
