import { responses } from './channel-answer-cases.ts';
import type { ChannelCase } from './channel-case.ts';
import { concurrency } from './channel-concurrency-cases.ts';
import { goings } from './channel-ending-cases.ts';
import { requests } from './channel-request-cases.ts';

/** How the sidecar calls an application, whatever kind of application it is. */
export const channelSuite: readonly ChannelCase[] = [...requests, ...responses, ...goings, ...concurrency];
