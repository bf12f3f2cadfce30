import type { TracerProvider } from '@opentelemetry/api';
import type { TracingSettings } from '../resources/index.ts';
import {
  type CollectorPackage,
  type GrpcPackage,
  loadPackages,
  type Need,
  type ResourcePackage,
  type TracePackage,
  type Tracing,
} from './otel-packages.ts';
import { resourceAttributes } from './otel-resource.ts';

/** The variable that names a collector; the exporters read it, and those that belong to it, themselves. */
const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const PROTOCOL = 'OTEL_EXPORTER_OTLP_PROTOCOL';

/** Traces the applications of a run. */
export class RunTracing {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #providers: Tracing[] = [];

  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /**
   * The provider of an application; `undefined` if it is not traced.
   *
   * @throws Failure if packages are missing
   */
  async open(appId: string, settings: TracingSettings | undefined): Promise<TracerProvider | undefined> {
    const isByVariable = settings?.collector === undefined && Boolean(this.#environment[ENDPOINT]);
    const { samplingRatio, prints } = settings ?? { samplingRatio: 1, prints: false };
    if (samplingRatio === 0 || (!prints && !isByVariable && settings?.collector === undefined)) return undefined;
    const need: Need = settings === undefined ? ENDPOINT : 'spec.tracing of a Configuration';
    const [sdk, { resourceFromAttributes }] = await loadPackages<[TracePackage, ResourcePackage, unknown]>(need, [
      '@opentelemetry/sdk-trace-node',
      '@opentelemetry/resources',
      '@opentelemetry/api',
    ]);
    const spanProcessors: object[] = [];
    if (prints) spanProcessors.push(new sdk.SimpleSpanProcessor(new sdk.ConsoleSpanExporter()));
    const exporter = await this.#exporter(need, settings, isByVariable);
    if (exporter !== undefined) spanProcessors.push(new sdk.BatchSpanProcessor(exporter));
    const root = new sdk.TraceIdRatioBasedSampler(samplingRatio);
    const provider = new sdk.NodeTracerProvider({
      resource: resourceFromAttributes({ 'service.name': appId, ...resourceAttributes(this.#environment) }),
      sampler: new sdk.ParentBasedSampler({ root }),
      spanProcessors,
    });
    // One of them brings the context manager and the propagator, which are those of the process.
    if (this.#providers.length === 0) provider.register();
    this.#providers.push(provider);
    return provider;
  }

  async #exporter(
    need: Need,
    settings: TracingSettings | undefined,
    isByVariable: boolean,
  ): Promise<object | undefined> {
    const collector = settings?.collector;
    if (collector === undefined && !isByVariable) return undefined;
    const usesGrpc = collector?.protocol === 'grpc' || (isByVariable && this.#environment[PROTOCOL] === 'grpc');
    const name = usesGrpc ? '@opentelemetry/exporter-trace-otlp-grpc' : '@opentelemetry/exporter-trace-otlp-proto';
    const [{ OTLPTraceExporter }] = await loadPackages<[CollectorPackage]>(need, [name]);
    if (collector === undefined) return new OTLPTraceExporter({});
    const { url, headers, timeoutMs: timeoutMillis } = collector;
    if (!usesGrpc || Object.keys(headers).length === 0) return new OTLPTraceExporter({ url, headers, timeoutMillis });
    const [{ Metadata }] = await loadPackages<[GrpcPackage]>(need, ['@grpc/grpc-js']);
    const metadata = new Metadata();
    for (const [field, value] of Object.entries(headers)) metadata.set(field, value);
    return new OTLPTraceExporter({ url, metadata, timeoutMillis });
  }

  /** Sends what has not been sent. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#providers.map((provider) => provider.shutdown()));
  }
}
