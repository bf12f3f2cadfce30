import { type JsonSchema, optionsSchema } from '../../util/options-schema.ts';

/** Which secrets of one store the application may read. @public */
export interface SecretScope {
  /** The name of the secret store. */
  readonly storeName: string;
  /** Whether secrets may be read that neither list names: `allow` or `deny`, in letters of any case. Default: `allow`. */
  readonly defaultAccess?: string | undefined;
  /** If not empty: these secrets may be read, and no others. Default: none. */
  readonly allowedSecrets?: readonly string[] | undefined;
  /** These secrets may not be read; of no effect beside `allowedSecrets`. Default: none. */
  readonly deniedSecrets?: readonly string[] | undefined;
}

/** Options of secrets. @public */
export interface SecretsOptions {
  /**
   * Which secrets the application may read, at most one rule for each store. A store without a rule: all. What the
   * sidecar itself looks up for its components is not concerned. Default: none.
   */
  readonly scopes?: readonly SecretScope[] | undefined;
}

const names = { type: 'array', items: { type: 'string' } } as const;

/** The JSON schema of {@link SecretsOptions}. */
export const SECRETS_OPTIONS_SCHEMA: JsonSchema = optionsSchema<SecretsOptions>({
  scopes: {
    type: 'array',
    maxItems: 1_000,
    description: 'Which secrets of which stores the application may read.',
    items: optionsSchema<SecretScope>(
      {
        storeName: { type: 'string', minLength: 1 },
        defaultAccess: {
          type: 'string',
          pattern: '^(?:[aA][lL][lL][oO][wW]|[dD][eE][nN][yY]|)$',
          expects: 'allow or deny',
        },
        allowedSecrets: names,
        deniedSecrets: names,
      },
      ['storeName'],
    ),
  },
});
