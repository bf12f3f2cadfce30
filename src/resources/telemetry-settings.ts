/** How the command traces: `spec.tracing` of a Configuration. @public */
export interface TracingSettings {
  /** The part of new traces that is recorded, 0 to 1; 0 for no tracing. */
  readonly samplingRatio: number;
  /** Whether spans are printed. */
  readonly prints: boolean;
  /** The collector that spans are sent to by OTLP. Default: none. */
  readonly collector?: {
    /** Its URL. */
    readonly url: string;
    /** How it is spoken to. */
    readonly protocol: 'grpc' | 'http';
    /** Fields of each request. */
    readonly headers: Readonly<Record<string, string>>;
    /** The time limit of a request, in milliseconds. */
    readonly timeoutMs: number;
  };
}

/** Settings of the command's metrics: `spec.metrics` of a Configuration. @public */
export interface MetricsSettings {
  /** Whether there are metrics. */
  readonly isEnabled: boolean;
  /** Bounds of histograms of durations, in milliseconds. Default: those of OpenTelemetry. */
  readonly bucketsMs?: readonly number[];
  /** The bounds for workflows and activities. Default: `bucketsMs`. */
  readonly workflowBucketsMs?: readonly number[];
}

/** The settings of a Configuration for traces and metrics. @public */
export interface TelemetrySettings {
  /** Absent without such a section. */
  readonly tracing?: TracingSettings;
  /** Absent without such a section. */
  readonly metrics?: MetricsSettings;
}
