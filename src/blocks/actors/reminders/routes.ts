import { readContent } from '../../../http/content.ts';
import { NO_CONTENT, type SidecarRequest, type SidecarResponse } from '../../../http/message.ts';
import { type Route, route } from '../../../http/router.ts';
import type { Wire } from '../../../wire.ts';
import { reminderNotFound } from './errors.ts';
import { TickParser } from './parse-tick.ts';
import type { TickName } from './reminder-name.ts';
import type { ReminderService } from './reminder-service.ts';
import { renderReminder } from './render-tick.ts';

/** The dependencies of {@link tickRoutes}. */
export interface TickRoutesDeps {
  readonly reminders: ReminderService;
  /** The timers of all actors of this application, wherever they are. */
  readonly timers: {
    /** `body` is the request's, which was checked. */
    set(name: TickName, body: Uint8Array): Promise<void>;
    delete(name: TickName): Promise<void>;
  };
  readonly wire: Wire;
  readonly bodyLimitBytes: number;
  /**
   * Checks whose reminders and timers may be asked for here.
   *
   * @throws SidecarError for names that are not, or a type that is not hosted by this application.
   */
  readonly check: (kind: 'reminder' | 'timer', name: TickName) => Promise<void>;
}

const SET = ['POST', 'PUT'];

/** The routes of reminders and timers. */
export function tickRoutes({ reminders, timers, wire, bodyLimitBytes, check }: TickRoutesDeps): Route[] {
  const parser = new TickParser(wire);
  const reminder = '/v1.0/actors/:actorType/:actorId/reminders/:name';
  const timer = '/v1.0/actors/:actorType/:actorId/timers/:name';
  type ByName = (request: SidecarRequest, name: TickName) => Promise<SidecarResponse>;
  const checked =
    (kind: 'reminder' | 'timer', handle: ByName): ByName =>
    async (request, name) => {
      await check(kind, name);
      return handle(request, name);
    };
  const setReminder: ByName = async (request, name) => {
    await reminders.set(name, parser.reminder(await readContent(request, bodyLimitBytes)));
    return NO_CONTENT;
  };
  const getReminder: ByName = async (_request, name) => {
    const found = await reminders.find(name);
    if (found === undefined) throw reminderNotFound(name);
    const body = renderReminder(found.job, found.data, wire, reminders.periods);
    return { status: 200, headers: { 'content-type': 'application/json' }, body };
  };
  const deleteReminder: ByName = async (_request, name) => {
    await reminders.delete(name);
    return NO_CONTENT;
  };
  const setTimer: ByName = async (request, name) => {
    const body = await readContent(request, bodyLimitBytes);
    parser.timer(body);
    await timers.set(name, body);
    return NO_CONTENT;
  };
  const deleteTimer: ByName = async (_request, name) => {
    await timers.delete(name);
    return NO_CONTENT;
  };
  // A turn that is under way while the sidecar stops may still ask.
  const options = { hasKeys: true, isServedToTheEnd: true };
  return [
    route('actors', SET, reminder, checked('reminder', setReminder), options),
    route('actors', ['GET'], reminder, checked('reminder', getReminder), options),
    route('actors', ['DELETE'], reminder, checked('reminder', deleteReminder), options),
    route('actors', SET, timer, checked('timer', setTimer), options),
    route('actors', ['DELETE'], timer, checked('timer', deleteTimer), options),
  ];
}
