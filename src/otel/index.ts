/**
 * Traces and metrics by OpenTelemetry.
 *
 * @packageDocumentation
 */

import { context, type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import type { ObservedSidecar, Probe, Telemetry } from '../probe.ts';
import { ANYTHING, BOOLEAN, checkOptions, type OptionFields } from '../util/option-fields.ts';
import type { Run } from '../util/outside.ts';
import { VERSION } from '../version.ts';
import { AttributeCache } from './attribute-cache.ts';
import { ATTRIBUTE } from './conventions.ts';
import { observeGauges } from './gauges.ts';
import { Instruments } from './metrics.ts';
import { OtelProbe } from './otel-probe.ts';
import { flagsOf } from './trace-context.ts';

/** Options of {@link openTelemetry}. @public */
export interface OpenTelemetryOptions {
  /** Makes the spans. Default: the global one when the sidecar is created. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Makes the metrics. Default: the global one when the sidecar is created. */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Whether the span that published a message is the parent of those that process it, and not only linked by them.
   * With `false`, each delivery is a trace of its own. Default `true`.
   */
  readonly messageParent?: boolean | undefined;
}

const FIELDS: OptionFields<OpenTelemetryOptions> = {
  tracerProvider: ANYTHING,
  meterProvider: ANYTHING,
  messageParent: BOOLEAN,
};
const SCOPE = 'insidecar';

/**
 * Traces and metrics of a sidecar, by the API of OpenTelemetry. It brings no SDK: without one, nothing is recorded.
 * Needs the package `@opentelemetry/api` 1.9 or later, the copy that the SDK uses; register the SDK, with its context
 * manager, before the sidecar is created.
 *
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', telemetry: openTelemetry() });
 * ```
 * @throws SidecarError `ERR_CONFIGURATION` for an unknown option.
 * @public
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  checkOptions('options of openTelemetry', options, FIELDS);
  return { type: 'opentelemetry', attach: (sidecar) => attach(sidecar, options), logFields, bound };
}

function attach(sidecar: ObservedSidecar, options: OpenTelemetryOptions): Probe {
  const { tracerProvider = trace.getTracerProvider(), meterProvider = metrics.getMeterProvider() } = options;
  const meter = meterProvider.getMeter(SCOPE, VERSION);
  const common = { [ATTRIBUTE.appId]: sidecar.appId };
  const instruments = new Instruments(meter, common);
  return new OtelProbe({
    tracer: tracerProvider.getTracer(SCOPE, VERSION),
    instruments,
    clock: sidecar.clock,
    rules: { messageParent: options.messageParent ?? true, common, cache: new AttributeCache() },
    close: observeGauges(meter, sidecar, { common, flush: () => instruments.flush() }),
  });
}

function bound(): Run {
  const now = context.active();
  return (work) => context.with(now, work);
}

/** As instrumented loggers name them. */
function logFields(): object | undefined {
  const of = trace.getSpanContext(context.active());
  return of && { trace_id: of.traceId, span_id: of.spanId, trace_flags: flagsOf(of.traceFlags) };
}
