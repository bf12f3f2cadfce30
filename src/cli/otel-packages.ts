import type { Meter, TracerProvider } from '@opentelemetry/api';
import { installName, loadPackage } from '../util/load-package.ts';
import { CommandFailure } from './failure.ts';

/** The used parts of OpenTelemetry's SDK, by shape: its packages may be absent. */

type ConstructorOf<Made, Options extends readonly unknown[]> = new (...options: Options) => Made;

/** `@opentelemetry/api`. */
export interface ApiPackage {
  readonly ProxyTracerProvider: ConstructorOf<TracerProvider, []>;
  readonly createNoopMeter: () => Meter;
}

/** Made by `new NodeTracerProvider()`. */
export interface Tracing extends TracerProvider {
  register(): void;
  shutdown(): Promise<void>;
}

/** `@opentelemetry/sdk-trace-node`. */
export interface TracePackage {
  readonly NodeTracerProvider: ConstructorOf<Tracing, [object]>;
  readonly BatchSpanProcessor: ConstructorOf<object, [exporter: object]>;
  readonly SimpleSpanProcessor: ConstructorOf<object, [exporter: object]>;
  readonly ConsoleSpanExporter: ConstructorOf<object, []>;
  readonly ParentBasedSampler: ConstructorOf<object, [{ root: object }]>;
  readonly TraceIdRatioBasedSampler: ConstructorOf<object, [ratio: number]>;
}

/** `@opentelemetry/resources`. */
export interface ResourcePackage {
  readonly resourceFromAttributes: (attributes: Readonly<Record<string, string>>) => object;
}

/** `@opentelemetry/exporter-trace-otlp-proto` or `-grpc`. */
export interface CollectorPackage {
  readonly OTLPTraceExporter: ConstructorOf<object, [object]>;
}

/** `@grpc/grpc-js`. */
export interface GrpcPackage {
  readonly Metadata: ConstructorOf<{ set(name: string, value: string): void }, []>;
}

/** Made by `new MeterProvider()`. */
export interface Metering {
  getMeter(name: string, version?: string): Meter;
  shutdown(): Promise<void>;
}

/** `@opentelemetry/sdk-metrics`. */
export interface MetricsPackage {
  readonly MeterProvider: ConstructorOf<Metering, [object]>;
  readonly AggregationType: { readonly EXPLICIT_BUCKET_HISTOGRAM: number };
  readonly InstrumentType: { readonly HISTOGRAM: string };
}

/** `@opentelemetry/exporter-prometheus`. */
export interface PrometheusPackage {
  readonly PrometheusExporter: ConstructorOf<PrometheusExporter, [object]>;
}

/** Serves metrics. */
export interface PrometheusExporter {
  getMetricsRequestHandler(req: unknown, res: unknown): void;
}

/** The features that need a package, in words of the command. */
export type Need = '--metrics-port' | 'spec.tracing of a Configuration' | 'OTEL_EXPORTER_OTLP_ENDPOINT';

/** Packages of OpenTelemetry are not installed. */
export class MissingPackages extends CommandFailure {}

/** The lines of the packages that run on Node 20; newer ones need a newer API. */
const VERSIONS: Readonly<Record<string, string>> = {
  '@opentelemetry/api': '1.9',
  '@opentelemetry/sdk-trace-node': '2',
  '@opentelemetry/resources': '2',
  '@opentelemetry/sdk-metrics': '2',
  '@opentelemetry/exporter-prometheus': '0.223',
  '@opentelemetry/exporter-trace-otlp-proto': '0.223',
  '@opentelemetry/exporter-trace-otlp-grpc': '0.223',
  '@grpc/grpc-js': '1',
};

/**
 * Loads packages that are not installed with the command.
 *
 * @throws MissingPackages naming all that have to be installed
 */
export async function loadPackages<Packages extends readonly unknown[]>(
  need: Need,
  names: { readonly [At in keyof Packages]: string },
): Promise<Packages> {
  const missing = new Set<string>();
  const all = await Promise.all(
    names.map((name) =>
      loadPackage<unknown>({ name, neededBy: need }, (message, cause) => new Error(message, { cause })).catch(() => {
        missing.add(name);
      }),
    ),
  );
  if (missing.size > 0) {
    const versions = names
      .filter((name) => missing.has(name))
      .map((name) => installName({ name, version: VERSIONS[name] ?? 'latest' }))
      .join(' ');
    throw new MissingPackages(`${need} needs packages that are not installed: run "npm install ${versions}"`);
  }
  // The cast is safe as far as the packages are those of their names.
  return all as unknown as Packages;
}
