import { SidecarError } from '../errors.ts';
import { isHeaderText } from '../util/header-text.ts';
import type { Logger } from '../util/logger.ts';

/** The tokens of an application; empty for none. */
export interface Tokens {
  readonly apiToken: string;
  readonly appToken: string;
}

/** Tokens as they are given in options. */
type GivenTokens = { readonly [Name in keyof Tokens]?: unknown };

/**
 * The tokens of the options, else of the environment (empty: none). An empty option is an error: it is most likely an
 * unreadable secret, and would open the API.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the option or the variable, without its value.
 */
export function resolveTokens(given: GivenTokens, environment: NodeJS.ProcessEnv, prefix: string): Tokens {
  const tokenOf = (name: keyof Tokens, variable: string): string => {
    const option = given[name];
    if (option !== undefined) return checked(option, `options.${name}`);
    const value = environment[variable];
    return value ? checked(value, `environment variable ${variable}`) : '';
  };
  return { apiToken: tokenOf('apiToken', `${prefix}API_TOKEN`), appToken: tokenOf('appToken', 'APP_API_TOKEN') };
}

/** Warns of an application token that also opens the API. */
export function warnOfEqualTokens({ apiToken, appToken, logger }: Tokens & { readonly logger: Logger }): void {
  if (apiToken !== '' && apiToken === appToken)
    logger.warn(
      {},
      'apiToken and appToken are equal: the token that the sidecar sends to the application also opens the API',
    );
}

function checked(token: unknown, what: string): string {
  if (isHeaderText(token)) return token;
  throw new SidecarError(
    'ERR_CONFIGURATION',
    `${what} ${token === '' ? 'is empty' : 'cannot be sent in a header'}: expected visible ASCII characters, spaces only between them`,
  );
}
