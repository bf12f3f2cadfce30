import { type JsonSchema, optionsSchema } from '../../util/options-schema.ts';

/** Options of service invocation. @public */
export interface InvocationOptions {
  /**
   * Whether a call may have a URL as its target: API users can then reach everything that this process can reach. HTTP
   * endpoints can be called in any case. Default: `true`.
   */
  readonly urls?: boolean;
}

/** The JSON schema of {@link InvocationOptions}. */
export const INVOCATION_OPTIONS_SCHEMA: JsonSchema = optionsSchema<InvocationOptions>({ urls: { type: 'boolean' } });
