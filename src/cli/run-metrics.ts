import type { Server } from 'node:http';
import type { MetricsSettings } from '../resources/index.ts';
import type { Clock } from '../util/clock.ts';
import {
  loadPackages,
  type Metering,
  type MetricsPackage,
  type PrometheusPackage,
  type ResourcePackage,
} from './otel-packages.ts';
import { resourceAttributes } from './otel-resource.ts';
import { closeServer, listenOn } from './process/listening.ts';
import type { RunTelemetryOptions } from './run-telemetry.ts';

/** Where the metrics of a run are served. */
export interface MetricsAddress {
  readonly port: number;
  readonly host: string;
}

/** Histograms that have the bounds of workflows, if there are any, and all others. */
const OF_WORKFLOWS = 'insidecar.workflow.*';
const OTHERS = ['messaging.*', 'http.*', 'insidecar.job.*', 'insidecar.state.*'];

/** Serves the metrics of all applications of a run to Prometheus. */
export class RunMetrics {
  readonly provider: Metering;
  readonly url: string;
  readonly #server: Server;
  readonly #clock: Clock;

  private constructor(provider: Metering, api: { server: Server; url: string }, clock: Clock) {
    this.provider = provider;
    this.url = api.url;
    this.#server = api.server;
    this.#clock = clock;
  }

  /** @throws Failure if packages are missing or the port cannot be used */
  static async open(
    { port, host }: MetricsAddress,
    settings: MetricsSettings | undefined,
    { clock, environment }: Pick<RunTelemetryOptions, 'clock' | 'environment'>,
  ): Promise<RunMetrics> {
    const [{ PrometheusExporter }, sdk] = await loadPackages<[PrometheusPackage, MetricsPackage, unknown]>(
      '--metrics-port',
      ['@opentelemetry/exporter-prometheus', '@opentelemetry/sdk-metrics', '@opentelemetry/api'],
    );
    const exporter = new PrometheusExporter({ preventServerStart: true });
    const provider = new sdk.MeterProvider({
      readers: [exporter],
      views: viewsOf(settings, sdk),
      ...(await resourceOf(environment)),
    });
    const { server, port: actual } = await listenOn({
      host,
      port,
      chosenBy: '--metrics-port',
      listener: (req, res) => {
        if (req.url === '/metrics') exporter.getMetricsRequestHandler(req, res);
        else res.writeHead(404).end();
      },
    });
    return new RunMetrics(provider, { server, url: `http://${host}:${actual}/metrics` }, clock);
  }

  async close(): Promise<void> {
    await closeServer(this.#server, this.#clock);
    await this.provider.shutdown().catch(() => undefined);
  }
}

/** The run's attributes from the environment, if it has any: they are in `target_info`. */
async function resourceOf(environment: NodeJS.ProcessEnv): Promise<{ readonly resource?: object }> {
  const attributes = resourceAttributes(environment);
  if (Object.keys(attributes).length === 0) return {};
  const [{ resourceFromAttributes }] = await loadPackages<[ResourcePackage]>('--metrics-port', [
    '@opentelemetry/resources',
  ]);
  return { resource: resourceFromAttributes(attributes) };
}

/** Bounds in a Configuration are milliseconds, those of metrics are seconds. */
function viewsOf(settings: MetricsSettings | undefined, sdk: MetricsPackage): object[] {
  const { bucketsMs, workflowBucketsMs = bucketsMs } = settings ?? {};
  const view = (instrumentName: string, bounds: readonly number[] | undefined): object[] =>
    bounds === undefined
      ? []
      : [
          {
            instrumentName,
            instrumentType: sdk.InstrumentType.HISTOGRAM,
            aggregation: {
              type: sdk.AggregationType.EXPLICIT_BUCKET_HISTOGRAM,
              options: { boundaries: bounds.map((ms) => ms / 1_000) },
            },
          },
        ];
  return [...OTHERS.flatMap((name) => view(name, bucketsMs)), ...view(OF_WORKFLOWS, workflowBucketsMs)];
}
