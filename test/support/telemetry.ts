import { context, ProxyTracerProvider, propagation, SpanKind } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import type { Telemetry } from '../../src/index.ts';
import { type OpenTelemetryOptions, openTelemetry } from '../../src/otel/index.ts';

/** The SDK of OpenTelemetry, which keeps in memory what is recorded. Context manager and propagator are global. */
export class RecordedTelemetry implements AsyncDisposable {
  readonly tracerProvider: NodeTracerProvider;
  readonly meterProvider: MeterProvider;
  readonly #spans = new InMemorySpanExporter();
  readonly #metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly #reader: PeriodicExportingMetricReader;

  constructor(sampler?: Sampler) {
    const spanProcessors = [new SimpleSpanProcessor(this.#spans)];
    this.tracerProvider = new NodeTracerProvider({ spanProcessors, ...(sampler && { sampler }) });
    this.#reader = new PeriodicExportingMetricReader({ exporter: this.#metrics, exportIntervalMillis: 3_600_000 });
    this.meterProvider = new MeterProvider({ readers: [this.#reader] });
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  }

  /** What a sidecar records with it. */
  telemetry(options: OpenTelemetryOptions = {}): Telemetry {
    const { tracerProvider, meterProvider } = this;
    return openTelemetry({ tracerProvider, meterProvider, ...options });
  }

  /** All spans that have ended, in order. */
  get spans(): readonly ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  /** Those of a name. */
  named(name: string): readonly ReadableSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** The only one of a name. */
  one(name: string): ReadableSpan {
    const [span, ...others] = this.named(name);
    if (span === undefined || others.length > 0)
      throw new Error(`${others.length + (span ? 1 : 0)} spans ${name} among ${this.spans.map((one) => one.name)}`);
    return span;
  }

  /** The spans of a trace as a tree: each name after that of its parent, indented. */
  tree(traceId: string): readonly string[] {
    const spans = this.spans.filter((span) => span.spanContext().traceId === traceId);
    const ids = new Set(spans.map((span) => span.spanContext().spanId));
    const below = (parent: string | undefined, depth: number): string[] =>
      spans
        .filter(({ parentSpanContext }) =>
          parent === undefined ? !ids.has(parentSpanContext?.spanId ?? '') : parentSpanContext?.spanId === parent,
        )
        .flatMap((span) => [
          `${'  '.repeat(depth)}${SpanKind[span.kind]} ${span.name}`,
          ...below(span.spanContext().spanId, depth + 1),
        ]);
    return below(undefined, 0);
  }

  /** The points of a metric: attributes and value, the count of a histogram. */
  async points(name: string): Promise<readonly { readonly attributes: object; readonly value: number }[]> {
    this.#metrics.reset();
    await this.#reader.forceFlush();
    return this.#metrics
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ dataPoints }) =>
        dataPoints.map(({ attributes, value }) => ({
          attributes,
          value: typeof value === 'number' ? value : value.count,
        })),
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tracerProvider.shutdown();
    await this.meterProvider.shutdown();
    context.disable();
    propagation.disable();
  }
}

/** Telemetry where no SDK is registered. */
export function telemetryWithoutSdk(): Telemetry {
  return openTelemetry({ tracerProvider: new ProxyTracerProvider() });
}

/** The `traceparent` of a span. */
export function traceparentOf(span: ReadableSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags}`;
}

/** The IDs of the spans that a span is linked to. */
export function linked(span: ReadableSpan): readonly string[] {
  return span.links.map(({ context: { spanId } }) => spanId);
}
