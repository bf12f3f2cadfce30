/**
 * Resource files in Dapr's form, as options of a sidecar.
 *
 * @packageDocumentation
 */
export {
  type CheckedResources,
  type CheckOptions,
  checkResources,
  type LoadedResources,
  type LoadOptions,
  loadResources,
  type ResourceOptions,
  type ResourceSummary,
} from './load-resources.ts';
export {
  type LogDestination,
  loadMultiApp,
  type MultiApp,
  type MultiAppEntry,
  type MultiAppHealth,
  type MultiAppOptions,
} from './multi-app.ts';
export { formatFinding, type ResourceFinding } from './report.ts';
export type { MetricsSettings, TelemetrySettings, TracingSettings } from './telemetry-settings.ts';
