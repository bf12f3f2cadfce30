import { type JsonSchema, optionsSchema } from '../../util/options-schema.ts';

/** How service invocation is offered. @public */
export interface InvocationOptions {
  /**
   * Whether a call may name a URL as its target: whoever may use the API then reaches what this process reaches. HTTP
   * endpoints can be called in any case. Default `true`.
   */
  readonly urls?: boolean;
}

/** The JSON schema of {@link InvocationOptions}. */
export const INVOCATION_OPTIONS_SCHEMA: JsonSchema = optionsSchema<InvocationOptions>({ urls: { type: 'boolean' } });
