import type { StoreBlock } from '../components/component.ts';
import { type ErrorCode, type ErrorDetails, SidecarError } from '../errors.ts';
import { didYouMean } from '../util/suggest.ts';

/** How the errors of a building block name its stores. */
interface StoreNames {
  /** A store, in words. */
  readonly what: string;
  readonly notConfigured: ErrorCode;
  readonly notFound: ErrorCode;
  /** In front of the reasons in `details`. Absent: the errors have no details. */
  readonly reason?: string;
}

const NAMES: Readonly<Record<StoreBlock, StoreNames>> = {
  state: {
    what: 'state store',
    notConfigured: 'ERR_STATE_STORE_NOT_CONFIGURED',
    notFound: 'ERR_STATE_STORE_NOT_FOUND',
    reason: 'STATE',
  },
  secrets: {
    what: 'secret store',
    notConfigured: 'ERR_SECRET_STORES_NOT_CONFIGURED',
    notFound: 'ERR_SECRET_STORE_NOT_FOUND',
  },
  configuration: {
    what: 'configuration store',
    notConfigured: 'ERR_CONFIGURATION_STORE_NOT_CONFIGURED',
    notFound: 'ERR_CONFIGURATION_STORE_NOT_FOUND',
  },
  lock: {
    what: 'lock store',
    notConfigured: 'ERR_LOCK_STORE_NOT_CONFIGURED',
    notFound: 'ERR_LOCK_STORE_NOT_FOUND',
  },
  bindings: {
    what: 'binding',
    notConfigured: 'ERR_INVOKE_OUTPUT_BINDING',
    notFound: 'ERR_INVOKE_OUTPUT_BINDING',
  },
};

/** A store of this building block, in words. */
export function storeInWords(block: StoreBlock): string {
  return NAMES[block].what;
}

/** The sidecar has no store of this block. */
export function storeNotConfigured(block: StoreBlock, name: string, appId: string): SidecarError {
  const { what, notConfigured, reason } = NAMES[block];
  const message = `${what} ${name} is not configured: there is no ${what}`;
  return new SidecarError(notConfigured, message, detailsOf(reason, 'NOT_CONFIGURED', appId));
}

/** The sidecar has stores of this block, but none of this name. */
export function storeNotFound(
  block: StoreBlock,
  name: string,
  { appId, known }: { readonly appId: string; readonly known: readonly string[] },
): SidecarError {
  const { what, notFound, reason } = NAMES[block];
  const expected = `expected ${known.join(', ')}${didYouMean(String(name), known)}`;
  const message = `${what} ${name} is not found: ${expected}`;
  return new SidecarError(notFound, message, detailsOf(reason, 'NOT_FOUND', appId));
}

function detailsOf(prefix: string | undefined, reason: string, appID: string): { readonly details?: ErrorDetails } {
  return prefix === undefined ? {} : { details: { reason: `${prefix}_${reason}`, metadata: { appID } } };
}
