import { messageOf } from '../errors.ts';
import { type RequestParts, request, type SidecarRequest } from '../http/message.ts';
import {
  ANYTHING,
  checkOptions,
  field,
  invalidArgument,
  isTexts,
  type OptionFields,
  SIGNAL,
} from '../util/option-fields.ts';
import { shown } from '../util/shown.ts';

const METHOD = /^[A-Z][A-Z-]*$/;
const FIELDS: OptionFields<RequestParts> = {
  headers: field(isHeaderMap, 'an object of texts, or of lists of texts'),
  body: ANYTHING,
  signal: SIGNAL,
};

/**
 * Makes a request for `sidecar.handle` and other handlers, without a socket.
 *
 * @param method - in capitals
 * @param url - the path, and the query if there is one
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a wrong argument, such as a body that JSON cannot carry.
 * @example
 * ```ts
 * const reply = await sidecar.handle(testRequest('POST', '/v1.0/publish/pubsub/orders', { body: { id: 1 } }));
 * ```
 * @public
 */
export function testRequest(method: string, url: string, options: RequestParts = {}): SidecarRequest {
  if (typeof method !== 'string' || !METHOD.test(method))
    throw invalidArgument(`method of testRequest is ${shown(method)}: expected one in capitals, such as GET`, 'method');
  if (typeof url !== 'string' || !url.startsWith('/'))
    throw invalidArgument(`url of testRequest is ${shown(url)}: expected a path, such as /v1.0/metadata`, 'url');
  checkOptions('options of testRequest', options, FIELDS, invalidArgument);
  try {
    return request(method, url, options);
  } catch (error) {
    throw invalidArgument(messageOf(error), 'options.body');
  }
}

/** One of the class `Headers` has no fields of its own: they would be lost. */
function isHeaderMap(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) return false;
  return Object.values(value).every((one) => one === undefined || typeof one === 'string' || isTexts(one));
}
