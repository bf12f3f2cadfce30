/**
 * A page to look at sidecars and to operate them, served by the application itself.
 *
 * @packageDocumentation
 */

export { type Inspector, inspect } from './inspect.ts';
export type { InspectOptions, InspectorGrant, InspectorRole } from './options.ts';
export type { PayloadOption, PayloadPlace } from './payload.ts';
