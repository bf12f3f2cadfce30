import { SidecarError } from '../../errors.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import { checkLimit } from '../../util/check-limit.ts';
import { optionsSchema } from '../../util/options-schema.ts';
import type { ActiveActorInfo, ActorReply, ActorsReply, ReminderBody, ReminderReply } from '../api/actors.ts';
import type { ChangedReply } from '../api/queues.ts';
import { isSecretKey } from '../mask.ts';
import { hiddenView, type PayloadViews } from '../payload.ts';
import type { Query } from '../query.ts';
import type { ApiRoute } from '../route.ts';
import { acts, given, NAME, reads } from './define.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
/** The most values of an actor's state in one answer. */
const MAX_VALUES = 100;
const REMINDER_BODY = optionsSchema<ReminderBody>({ type: NAME, id: NAME, name: NAME }, ['type', 'id', 'name']);

/** Actors: which are active, what they keep, and their reminders. */
export function actorRoutes(views: PayloadViews): readonly ApiRoute[] {
  const changes = ['run', 'delete'] as const;
  return [
    reads('actors', ['type', 'limit'], async (sidecar, query): Promise<ActorsReply> => listActors(sidecar, query)),
    reads('actors/one', ['type', 'id'], (sidecar, query) => readActor(sidecar, query, views)),
    reads('actors/reminders', ['type', 'id', 'cursor', 'limit'], ({ actors }, query) =>
      actors.reminders.listPage(
        given({
          ...{ type: query.text('type'), id: query.text('id') },
          ...{ cursor: query.text('cursor'), limit: query.number('limit') },
        }),
      ),
    ),
    reads('actors/reminders/one', ['type', 'id', 'name'], (sidecar, query) => readReminder(sidecar, query, views)),
    ...changes.map((change) =>
      acts<ReminderBody>(
        `actors/reminders/${change}`,
        REMINDER_BODY,
        async ({ actors: { reminders } }, { type, id, name }): Promise<ChangedReply> => ({
          changed: await reminders[change](type, id, name),
        }),
      ),
    ),
  ];
}

function listActors({ actors }: Sidecar, query: Query): ActorsReply {
  const [type, limit = DEFAULT_LIMIT] = [query.text('type'), query.number('limit')];
  checkLimit(limit, MAX_LIMIT);
  const all = actors.active();
  const counts = new Map(actors.types().map((name) => [name, 0]));
  for (const { actorType } of all) counts.set(actorType, (counts.get(actorType) ?? 0) + 1);
  const meant = type === undefined ? all : all.filter(({ actorType }) => actorType === type);
  const shown = busiest(meant, limit);
  const types = [...counts].map(([actorType, active]) => ({ actorType, active }));
  return { types, actors: shown, more: meant.length - shown.length };
}

/** Those with calls, the ones with the most waiting calls first; then idle ones. There may be very many of these. */
function busiest(actors: readonly ActiveActorInfo[], limit: number): readonly ActiveActorInfo[] {
  const busy = actors.filter(({ calls, waiting }) => calls + waiting > 0);
  const sorted = busy.toSorted((one, other) => other.waiting - one.waiting || other.calls - one.calls).slice(0, limit);
  for (const actor of actors) {
    if (sorted.length >= limit) break;
    if (actor.calls + actor.waiting === 0) sorted.push(actor);
  }
  return sorted;
}

async function readActor({ actors }: Sidecar, query: Query, views: PayloadViews): Promise<ActorReply> {
  const [type, id] = [query.needed('type'), query.needed('id')];
  const found = await actors.inspectState(type, id);
  const active = actors.active(type).find(({ actorId }) => actorId === id);
  const state = found.slice(0, MAX_VALUES).map(({ key, text: json, expiresAt }) => ({
    ...{ key, ...given({ expiresAt }) },
    value: isSecretKey(key)
      ? hiddenView(Buffer.byteLength(json))
      : views.long({ json }, { kind: 'actor', name: type, key }),
  }));
  const calls = active && { calls: active.calls, waiting: active.waiting };
  return { ...given({ active: calls }), state, more: found.length - state.length };
}

async function readReminder({ actors }: Sidecar, query: Query, views: PayloadViews): Promise<ReminderReply> {
  const [type, id, name] = [query.needed('type'), query.needed('id'), query.needed('name')];
  const found = await actors.reminders.inspect(type, id, name);
  if (found === undefined) {
    const actor = `actor ${JSON.stringify(id)} of type ${JSON.stringify(type)}`;
    throw new SidecarError('ERR_NOT_FOUND', `there is no reminder ${JSON.stringify(name)} of ${actor}`);
  }
  const { reminder, data: json } = found;
  const data = json === undefined ? undefined : views.long({ json }, { kind: 'reminder', name });
  return { reminder, ...given({ data }) };
}
