import { forbidden, siteProblem } from '../../http/browser-guard.ts';
import { headerOf, type SidecarRequest } from '../../http/message.ts';

/** The header field of writes: no page of another origin can set it without asking. */
const WRITE_HEADER = 'insidecar-inspector';

/** Refuses calls of the API by pages of other origins, as far as the browser tells. */
export function checkOrigin({ headers }: SidecarRequest): void {
  const problem = siteProblem(headers);
  if (problem !== undefined) throw forbidden(`the API of the inspector is called by its own page only: ${problem}`);
}

/** Refuses a `POST` that the page of another origin could have sent without being asked whether it may. */
export function checkWrite({ headers }: SidecarRequest): void {
  if (headerOf(headers, WRITE_HEADER) !== '1') throw forbidden(`a POST needs the header ${WRITE_HEADER}: 1`);
  const type = headerOf(headers, 'content-type') ?? '';
  if (!/^application\/json\s*(?:;|$)/i.test(type))
    throw forbidden(`a POST needs the content type application/json: actual is ${JSON.stringify(type)}`);
}
