/**
 * The JSON of the management API, as the server writes it and the page and the command read it.
 *
 * Paths are below `api/v1/`. `GET` reads, `POST` acts; each takes `?app=`, the {@link AppInfo.key} of an application
 * (default: the first), but for `apps`. A response other than 2xx carries an {@link ApiError}. Times are in milliseconds
 * since 1970.
 */

/** A caller's permission. */
export type Role = 'read' | 'write';

/** The body of a response other than 2xx. */
export interface ApiError {
  readonly errorCode: string;
  readonly message: string;
}

/** `GET apps` */
export interface AppsReply {
  readonly apps: readonly AppInfo[];
  readonly role: Role;
  /** The caller's identity, if that is known. */
  readonly who?: string;
  /** Makes a link of a trace ID: `{traceId}` stands for it. */
  readonly traceUrl?: string;
  /** The version of insidecar. */
  readonly version: string;
}

/** An application of the inspector. */
export interface AppInfo {
  /** Names it in `?app=`: its app ID; followed by `~` and a number if there are several of that name. */
  readonly key: string;
  readonly appId: string;
  readonly namespace: string;
  readonly isReady: boolean;
}

/** Data for display. */
export interface PayloadView {
  /** The media type, if known. */
  readonly contentType?: string;
  /** Its size in bytes. */
  readonly bytes: number;
  /** How `value` is written; `hidden`: it is not shown, and `value` is empty. */
  readonly format: 'json' | 'text' | 'base64' | 'hidden';
  /** JSON text as it was sent (rewritten if something in it is masked); text; or base64. */
  readonly value: string;
  /** Whether `value` is only its beginning. */
  readonly isCut: boolean;
  /** Whether something in it is masked, so that it must not be sent back. */
  readonly isMasked: boolean;
}
