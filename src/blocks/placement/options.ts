import type { Complete } from '../../util/defined-only.ts';
import { isSwitchedOn } from '../../util/environment-switch.ts';
import { type JsonSchema, optionsSchema } from '../../util/options-schema.ts';

/** Options of the placement table of hosts and their actor types. @public */
export interface PlacementOptions {
  /**
   * Whether `GET /placement/state` shows the table; it needs no API token. Default: environment variable
   * `SIDECAR_PLACEMENT_METADATA_ENABLED` (`DAPR_PLACEMENT_METADATA_ENABLED`), else false.
   */
  readonly enabled?: boolean | undefined;
  /** Actor types of the application, shown beside those of the workflow engine. At most 1,000. Default: none. */
  readonly actorTypes?: readonly string[] | undefined;
}

/** The JSON schema of {@link PlacementOptions}. */
export const PLACEMENT_SCHEMA: JsonSchema = optionsSchema<PlacementOptions>({
  enabled: { type: 'boolean' },
  actorTypes: {
    type: 'array',
    maxItems: 1_000,
    uniqueItems: true,
    items: { type: 'string', minLength: 1, maxLength: 256 },
  },
});

/** Options with defaults applied. */
export type PlacementSettings = Complete<PlacementOptions>;

/**
 * Adds defaults from the environment.
 *
 * @throws SidecarError `ERR_CONFIGURATION` for a variable that is neither true nor false.
 */
export function resolvePlacement(
  { enabled, actorTypes = [] }: PlacementOptions,
  environment: NodeJS.ProcessEnv,
  prefix: string,
): PlacementSettings {
  return { enabled: enabled ?? isSwitchedOn(environment, `${prefix}PLACEMENT_METADATA_ENABLED`), actorTypes };
}
