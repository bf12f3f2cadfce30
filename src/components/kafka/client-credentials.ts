// Captured at load time, because tests replace the global functions with fake timers: a server's time is real time.
const { fetch } = globalThis;

const LIMIT_MS = 10_000;
/** A token is replaced when this share of its life is over. */
const USED_SHARE = 0.8;

/** How an OAuth 2.0 server knows this client, and what for. */
export interface ClientCredentials {
  readonly endpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
}

interface TokenReply {
  readonly access_token?: unknown;
  readonly expires_in?: unknown;
}

/** Returns a function that gets access tokens by the client-credentials grant, and keeps each for most of its life. */
export function tokensOf(credentials: ClientCredentials): () => Promise<string> {
  let kept: { readonly token: Promise<string>; readonly until: Promise<number> } | undefined;
  return async () => {
    if (kept !== undefined && (await kept.until) > performance.now()) return kept.token;
    const asked = performance.now();
    const reply = ask(credentials);
    const made = {
      token: reply.then(({ token }) => token),
      until: reply.then(
        ({ lifeMs }) => asked + lifeMs * USED_SHARE,
        () => 0,
      ),
    };
    kept = made;
    return made.token;
  };
}

async function ask(credentials: ClientCredentials): Promise<{ readonly token: string; readonly lifeMs: number }> {
  const { endpoint, clientId, clientSecret, scopes } = credentials;
  const login = [clientId, clientSecret].map(encodeURIComponent).join(':');
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope: scopes.join(' ') });
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}`, accept: 'application/json' },
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the server of access tokens answers ${response.status}`);
  const { access_token: token, expires_in: seconds } = repliedIn(text);
  if (typeof token !== 'string' || token === '') throw new Error('the server of access tokens answers without a token');
  return { token, lifeMs: typeof seconds === 'number' ? seconds * 1_000 : 0 };
}

function repliedIn(text: string): TokenReply {
  try {
    return Object(JSON.parse(text)) as TokenReply;
  } catch {
    return {};
  }
}
