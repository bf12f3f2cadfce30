import type { AdapterCase } from './adapter-case.ts';
import { connectionCases } from './adapter-connection-cases.ts';
import { flowCases } from './adapter-flow-cases.ts';
import { requestCases } from './adapter-request-cases.ts';
import { responseCases } from './adapter-response-cases.ts';

/**
 * The behaviour required of every adapter, over real sockets.
 *
 * @example
 * ```ts
 * for (const { name, needs = [], run } of adapterConformance) {
 *   test.skipIf(needs.includes('body-parser'))(name, () => run(mountMyAdapter));
 * }
 * ```
 * @public
 */
export const adapterConformance: readonly AdapterCase[] = [
  ...requestCases,
  ...responseCases,
  ...flowCases,
  ...connectionCases,
];
