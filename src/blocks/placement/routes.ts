import type { SidecarResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import type { Placement, PlacementHost, PlacementTable } from './placement.ts';

/** The route of the placement table; it needs no API token. */
export function placementRoutes(placement: Placement): Route[] {
  const state = async (): Promise<SidecarResponse> => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(tableText(await placement.get())),
  });
  return [route('placement', ['GET'], '/placement/state', state, { open: true })];
}

/** A number of nanoseconds per millisecond: the text has nanoseconds. */
const NANOSECONDS = 1_000_000n;

/** Written by hand: the instants have more digits than a JavaScript number can hold. */
function tableText({ hostList, tableVersion }: PlacementTable): string {
  return `{"hostList":[${hostList.map(hostText).join(',')}],"tableVersion":${tableVersion}}`;
}

function hostText({ updatedAt, ...rest }: PlacementHost): string {
  return `${JSON.stringify(rest).slice(0, -1)},"updatedAt":${BigInt(updatedAt) * NANOSECONDS}}`;
}
