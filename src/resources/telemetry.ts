import { parseGoDuration } from '../util/duration.ts';
import type { Report } from './report.ts';
import type { Resource } from './resource.ts';
import { type MetricsSpec, type TracingSpec, UNUSED_TELEMETRY } from './schema/telemetry.ts';
import type { MetricsSettings, TelemetrySettings, TracingSettings } from './telemetry-settings.ts';

/** A section, and the resource that it is in. */
export interface TelemetrySection<Spec> {
  readonly name: string;
  readonly spec: Spec;
  readonly resource: Resource;
}

const DEFAULT_SAMPLING_RATIO = 0.0001;
const DEFAULT_TIMEOUT_MS = 10_000;

/** Reads the sections about telemetry. `isApplied` says whether the caller applies them; else they are noted. */
export function readTelemetry(
  {
    tracing,
    metrics,
  }: {
    readonly tracing: TelemetrySection<TracingSpec> | undefined;
    readonly metrics: TelemetrySection<MetricsSpec> | undefined;
  },
  isApplied: boolean,
  report: Report,
): TelemetrySettings | undefined {
  for (const section of [tracing, metrics]) if (section !== undefined) noteUnused(section, isApplied, report);
  const settings = {
    ...definedAs('tracing', tracing && tracingOf(tracing, report)),
    ...definedAs('metrics', metrics && metricsOf(metrics, report)),
  };
  return Object.keys(settings).length === 0 ? undefined : settings;
}

function noteUnused(
  { name, spec, resource: { document } }: TelemetrySection<object>,
  isApplied: boolean,
  report: Report,
): void {
  if (!isApplied)
    report.note(
      document.keyLocation(['spec'], name),
      `spec.${name} is applied by the command only: in code, pass openTelemetry() of insidecar/otel to the sidecar`,
    );
  for (const key of Object.keys(spec)) {
    const why = UNUSED_TELEMETRY[`${name === 'metric' ? 'metrics' : name}.${key}`];
    if (why !== undefined) report.note(document.keyLocation(['spec', name], key), `spec.${name}.${key} ${why}`);
  }
}

function tracingOf({ spec, resource }: TelemetrySection<TracingSpec>, report: Report): TracingSettings | undefined {
  const { samplingRate = '', stdout = false, otel } = spec;
  const samplingRatio = String(samplingRate).trim() === '' ? DEFAULT_SAMPLING_RATIO : Number(samplingRate);
  if (!(samplingRatio >= 0 && samplingRatio <= 1)) {
    const problem = `spec.tracing.samplingRate is ${JSON.stringify(samplingRate)}: expected a number from 0 to 1`;
    report.problem(resource.document.location(['spec', 'tracing', 'samplingRate']), problem);
    return undefined;
  }
  const collector = otel?.endpointAddress ? collectorOf(otel, otel.endpointAddress, resource, report) : undefined;
  return { samplingRatio, prints: stdout, ...definedAs('collector', collector) };
}

function collectorOf(
  { isSecure = true, protocol = 'grpc', headers = [], timeout = '' }: NonNullable<TracingSpec['otel']>,
  address: string,
  { document }: Resource,
  report: Report,
): NonNullable<TracingSettings['collector']> {
  const timeoutMs = timeout === '' ? DEFAULT_TIMEOUT_MS : (millisecondsOf(timeout) ?? Number.NaN);
  if (!(timeoutMs > 0)) {
    const problem = `spec.tracing.otel.timeout is ${JSON.stringify(timeout)}: expected a duration such as 10s, or milliseconds`;
    report.problem(document.location(['spec', 'tracing', 'otel', 'timeout']), problem);
  }
  const refuse = (problem: string): void =>
    report.problem(document.location(['spec', 'tracing', 'otel', 'headers']), problem);
  const base = /^https?:\/\//.test(address) ? address : `${isSecure ? 'https' : 'http'}://${address}`;
  const url = protocol === 'http' ? `${base.replace(/\/+$/, '')}/v1/traces` : base;
  return { url, protocol, headers: fieldsOf(headers, refuse), timeoutMs };
}

function millisecondsOf(time: string | number): number | undefined {
  return typeof time === 'number' || /^\d+$/.test(time) ? Number(time) : parseGoDuration(time);
}

/**
 * `name=value`, in a list or separated by commas. In a text, what has no name is left out; in a list, it is refused.
 * Messages must not repeat a value.
 */
function fieldsOf(headers: string | readonly string[], refuse: (problem: string) => void): Record<string, string> {
  const written = typeof headers === 'string' ? headers.split(',') : headers;
  const pairs = written.map((pair, index): [string, string] => {
    const at = pair.indexOf('=');
    const name = pair.slice(0, Math.max(at, 0)).trim().toLowerCase();
    if (name === '' && typeof headers !== 'string')
      refuse(`spec.tracing.otel.headers[${index}] has no name: expected name=value`);
    return [name, pair.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs.filter(([name]) => name !== ''));
}

function metricsOf({ name, spec, resource }: TelemetrySection<MetricsSpec>, report: Report): MetricsSettings {
  const { enabled = true, latencyDistributionBuckets: bucketsMs, workflow } = spec;
  const workflowBucketsMs = workflow?.latencyDistributionBuckets;
  for (const [path, buckets] of [
    [['latencyDistributionBuckets'], bucketsMs],
    [['workflow', 'latencyDistributionBuckets'], workflowBucketsMs],
  ] as const) {
    if (buckets?.every((bound, at) => at === 0 || bound > (buckets[at - 1] ?? 0)) !== false) continue;
    const where = ['spec', name, ...path];
    report.problem(resource.document.location(where), `${where.join('.')} must be ascending`);
  }
  return {
    isEnabled: enabled,
    ...definedAs('bucketsMs', bucketsMs),
    ...definedAs('workflowBucketsMs', workflowBucketsMs),
  };
}

function definedAs<Name extends string, Value>(name: Name, value: Value | undefined): { [N in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [N in Name]?: Value });
}
