import { type JsonSchema, optionsSchema } from '../../util/options-schema.ts';

/** Options of service invocation. @public */
export interface InvocationOptions {
  /**
   * Whether the target of a call may be a URL: API users can then reach everything that this process can reach. HTTP
   * endpoints can always be called. Default: `true`.
   */
  readonly urls?: boolean | undefined;
}

/** The JSON schema of {@link InvocationOptions}. */
export const INVOCATION_OPTIONS_SCHEMA: JsonSchema = optionsSchema<InvocationOptions>({ urls: { type: 'boolean' } });
