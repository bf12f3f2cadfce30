import { SidecarError } from '../../errors.ts';
import { BrowserGuard, forbidden, isOfThisHost } from '../../http/browser-guard.ts';
import type { SidecarRequest } from '../../http/message.ts';
import { nameOfKind } from '../../util/known-fields.ts';
import type { Logger } from '../../util/logger.ts';
import type { Role } from '../api/apps.ts';
import type { InspectorGrant, InspectSettings } from '../options.ts';
import { TokenSessions } from './session.ts';

/** The callers that are let in, and their permissions. */
export interface InspectorCaller {
  readonly role: Role;
  readonly who: string | undefined;
}

const NO_ACCESS =
  'nobody has access to this inspector: set one of the options token, authorize and access of inspect(), such as inspect(sidecar, { token: process.env.INSPECTOR_TOKEN })';
const NO_TOKEN =
  'the token is missing or wrong: open the page with ?token=… once, or send the header authorization: Bearer …';

/** Decides who may use an inspector. */
export class Access {
  readonly #settings: InspectSettings;
  readonly #logger: Logger;
  readonly #sessions: TokenSessions | undefined;
  readonly #browserGuard: BrowserGuard;

  constructor(settings: InspectSettings, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
    this.#sessions = settings.token === undefined ? undefined : new TokenSessions(settings.token);
    this.#browserGuard = new BrowserGuard(settings);
  }

  /** Refuses requests that cannot be meant for this inspector, from any caller. @throws SidecarError of status 403. */
  checkPlace(request: SidecarRequest): void {
    const { token, authorize, access } = this.#settings;
    if (token === undefined && authorize === undefined && access === undefined) throw forbidden(NO_ACCESS);
    const isOpen = access === 'open';
    const { remoteAddress } = request;
    const isThisHost = remoteAddress === undefined ? isOpen : isOfThisHost(remoteAddress);
    // Elsewhere the inspector may have any name: the browser has no cookie for the name of a stranger.
    if (!isThisHost && !isOpen) return;
    const problem = this.#browserGuard.hostProblem(request, isThisHost);
    if (problem !== undefined)
      throw forbidden(`${problem}: expected localhost, an IP address or one of the option hosts`);
  }

  /**
   * The cookie for who has opened the page with a token; `undefined` if tokens are not asked for.
   *
   * @throws SidecarError of status 401 for a wrong token, 429 after too many.
   */
  cookieFor(token: string, request: SidecarRequest): string | undefined {
    if (this.#sessions === undefined) return undefined;
    if (!this.#sessions.isToken(token, request)) throw new SidecarError('ERR_UNAUTHORIZED', NO_TOKEN);
    // A request that claims this wrongly gets a cookie that is of less use to it.
    const isSecure = request.isEncrypted === true || request.headers['x-forwarded-proto'] === 'https';
    return this.#sessions.setCookie(request, isSecure);
  }

  /**
   * Whether somebody may have the files of the page: they tell nothing about the application. A link from another site
   * comes without the cookie, which is `SameSite=Strict`, so they are given without the token; the API is not.
   */
  async checkPage(request: SidecarRequest): Promise<void> {
    if (this.#sessions === undefined) await this.caller(request);
  }

  /** The caller. @throws SidecarError of status 401, 403 or 429. */
  async caller(request: SidecarRequest): Promise<InspectorCaller> {
    const { role, who } = await this.#granted(request);
    if (role === 'none') throw forbidden('you have no access to this inspector');
    return { role: this.#settings.readOnly ? 'read' : role, who };
  }

  async #granted(request: SidecarRequest): Promise<{ readonly role: 'none' | Role; readonly who: string | undefined }> {
    const { authorize } = this.#settings;
    if (this.#sessions !== undefined) {
      if (!this.#sessions.admits(request)) throw new SidecarError('ERR_UNAUTHORIZED', NO_TOKEN);
      return { role: 'write', who: undefined };
    }
    if (authorize === undefined) return { role: 'write', who: undefined };
    try {
      return checkedGrant(await authorize(request));
    } catch (error) {
      this.#logger.warn({ error }, 'inspector: authorize has failed, the request is refused');
      return { role: 'none', who: undefined };
    }
  }
}

function checkedGrant(grant: InspectorGrant): { readonly role: 'none' | Role; readonly who: string | undefined } {
  const { role, who } = typeof grant === 'object' && grant !== null ? grant : { role: grant, who: undefined };
  if (role !== 'none' && role !== 'read' && role !== 'write')
    throw new Error(`authorize has returned ${nameOfKind(grant)}: expected none, read, write or { role, who }`);
  return { role, who: who === undefined ? undefined : String(who).slice(0, 256) };
}
