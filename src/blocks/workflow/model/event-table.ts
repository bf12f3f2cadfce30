import type { ActionEvent, HistoryEvent, ReplayRules } from './events.ts';
import type { WorkflowFailure } from './failure.ts';
import type { Payload } from './payload.ts';

/** A stored event: the code of its type, its fields, and last the length of its payload if its type has one. */
export type StoredEvent = readonly [code: string, ...fields: (string | number | WorkflowFailure)[]];

/** How events of one type are stored. */
interface Kind<Event extends HistoryEvent> {
  /** The type in stored values. It must never change. */
  readonly code: string;
  readonly payloadOf: Event extends HasPayload ? (event: Event) => Payload : undefined;
  /** Writes the fields as JSON, each after a comma. Handwritten: every turn calls it. */
  readonly write: (event: Event) => string;
  /** Reads the event whose fields `write` has written. */
  readonly read: (stored: never, payload: Payload) => Event;
}

/** How actions of one type are stored, and compared during a replay. */
interface ActionKind<Event extends ActionEvent> extends Kind<Event> {
  /** Describes the action: during a replay, the code must repeat it. */
  readonly describe: (action: Event) => string;
}

type HasPayload = { readonly input: Payload } | { readonly output: Payload } | { readonly data: Payload };
type KindOf<Event extends HistoryEvent> = Event extends ActionEvent ? ActionKind<Event> : Kind<Event>;
type KindTable = { readonly [Type in HistoryEvent['type']]: KindOf<Extract<HistoryEvent, { readonly type: Type }>> };

type OneField<Field> = readonly [code: string, field: Field];
type OfAction<Field = unknown> = readonly [code: string, sequence: number, field: Field];

const noFields = (): string => '';
const { stringify } = JSON;

/** Everything that depends on an event's type, except its effect in a replay, which is in `Core`. */
const KINDS: KindTable = {
  started: {
    code: 's',
    payloadOf: ({ input }) => input,
    write: noFields,
    read: (_stored, input) => ({ type: 'started', input }),
  },
  begun: {
    code: 'b',
    payloadOf: undefined,
    write: ({ rules }) => (rules === undefined ? '' : `,${rules}`),
    read: ([, rules]: readonly [string, ReplayRules?]) =>
      rules === undefined ? { type: 'begun' } : { type: 'begun', rules },
  },
  activityScheduled: {
    code: 'a',
    payloadOf: ({ input }) => input,
    write: ({ sequence, name, attempt, activityId }) => `,${sequence},${stringify(name)},${attempt},${activityId}`,
    read: ([, sequence, name, attempt, activityId]: readonly [string, number, string, number, number], input) => ({
      type: 'activityScheduled',
      sequence,
      name,
      input,
      attempt,
      activityId,
    }),
    describe: ({ name }) => `activity ${stringify(name)}`,
  },
  activityCompleted: {
    code: 'A',
    payloadOf: ({ output }) => output,
    write: ({ sequence }) => `,${sequence}`,
    read: ([, sequence]: OneField<number>, output) => ({ type: 'activityCompleted', sequence, output }),
  },
  activityFailed: {
    code: 'F',
    payloadOf: undefined,
    write: ({ sequence, failure }) => `,${sequence},${stringify(failure)}`,
    read: ([, sequence, failure]: OfAction<WorkflowFailure>) => ({ type: 'activityFailed', sequence, failure }),
  },
  timerCreated: {
    code: 't',
    payloadOf: undefined,
    write: ({ sequence, dueAt }) => `,${sequence},${dueAt}`,
    read: ([, sequence, dueAt]: OfAction<number>) => ({ type: 'timerCreated', sequence, dueAt }),
    describe: () => 'a timer',
  },
  timerFired: {
    code: 'T',
    payloadOf: undefined,
    write: ({ sequence }) => `,${sequence}`,
    read: ([, sequence]: OneField<number>) => ({ type: 'timerFired', sequence }),
  },
  childStarted: {
    code: 'c',
    payloadOf: ({ input }) => input,
    write: ({ sequence, name, instanceId }) => `,${sequence},${stringify(name)},${stringify(instanceId)}`,
    read: ([, sequence, name, instanceId]: readonly [string, number, string, string], input) => ({
      type: 'childStarted',
      sequence,
      name,
      instanceId,
      input,
    }),
    describe: ({ name, instanceId }) => `child workflow ${stringify(name)} with the ID ${stringify(instanceId)}`,
  },
  childCompleted: {
    code: 'C',
    payloadOf: ({ output }) => output,
    write: ({ sequence }) => `,${sequence}`,
    read: ([, sequence]: OneField<number>, output) => ({ type: 'childCompleted', sequence, output }),
  },
  childFailed: {
    code: 'E',
    payloadOf: undefined,
    write: ({ sequence, failure }) => `,${sequence},${stringify(failure)}`,
    read: ([, sequence, failure]: OfAction<WorkflowFailure>) => ({ type: 'childFailed', sequence, failure }),
  },
  eventRaised: {
    code: 'r',
    payloadOf: ({ data }) => data,
    write: ({ name }) => `,${stringify(name)}`,
    read: ([, name]: OneField<string>, data) => ({ type: 'eventRaised', name, data }),
  },
  patched: {
    code: 'p',
    payloadOf: undefined,
    write: ({ name }) => `,${stringify(name)}`,
    read: ([, name]: OneField<string>) => ({ type: 'patched', name }),
    describe: ({ name }) => `patch ${stringify(name)}`,
  },
  suspended: { code: 'z', payloadOf: undefined, write: noFields, read: () => ({ type: 'suspended' }) },
  resumed: { code: 'Z', payloadOf: undefined, write: noFields, read: () => ({ type: 'resumed' }) },
  cancelRequested: { code: 'X', payloadOf: undefined, write: noFields, read: () => ({ type: 'cancelRequested' }) },
  terminated: {
    code: 'x',
    payloadOf: ({ output }) => output,
    write: noFields,
    read: (_stored, output) => ({ type: 'terminated', output }),
  },
};

/** A kind whose event type is not known. */
export interface EventKind {
  readonly code: string;
  readonly payloadOf: ((event: HistoryEvent) => Payload) | undefined;
  readonly write: (event: HistoryEvent) => string;
  readonly read: (stored: StoredEvent, payload: Payload) => HistoryEvent;
  readonly describe?: (action: ActionEvent) => string;
}

/** Safe: each kind only gets events of its own type, and fields that it has written. */
const kinds = KINDS as unknown as Readonly<Record<HistoryEvent['type'], EventKind>>;
const byCode: ReadonlyMap<string, EventKind> = new Map(Object.values(kinds).map((kind) => [kind.code, kind]));

/** The kind of an event. */
export function kindOf(event: HistoryEvent): EventKind {
  return kinds[event.type];
}

/** The kind of a stored event; `undefined` for a type of a newer version. */
export function kindOfCode(code: string): EventKind | undefined {
  return byCode.get(code);
}

/** Whether the event is an action of the code. Actions follow the events that caused them. */
export function isAction(event: HistoryEvent): event is ActionEvent {
  return kinds[event.type].describe !== undefined;
}

/** Describes an action for messages. */
export function describeAction(action: ActionEvent): string {
  return kinds[action.type].describe?.(action) ?? action.type;
}
