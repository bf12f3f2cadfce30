import type { Trace } from '../../../components/pubsub.ts';
import type { StartOperation } from '../../../probe.ts';
import type { ActionEvent, ChildStarted, HistoryEvent } from '../model/events.ts';
import { isFinished, type WorkflowStatus } from '../model/instance.ts';
import { retentionOf } from '../options.ts';
import type { Core } from '../replay/core.ts';
import type { Descendant } from '../storage/descendants.ts';
import type { InstanceRecord } from '../storage/record.ts';
import type { TurnResult } from '../storage/turn-plan.ts';
import type { EngineServices } from './engine-services.ts';
import type { TurnIntake } from './turn-intake.ts';

/** The incoming events and the actions of a turn. */
export interface EndedTurn {
  readonly core: Core;
  /** The instance before it. */
  readonly record: InstanceRecord;
  readonly intake: TurnIntake;
  readonly actions: readonly ActionEvent[];
  /** Descendants that are terminated with it. */
  readonly orphans: readonly Descendant[];
  /** Children that are canceled with it. */
  readonly canceled: readonly string[];
}

/** The result of a turn for its instance. */
export function endOfTurn(services: EngineServices, turn: EndedTurn): TurnResult {
  const { core, record, intake } = turn;
  const { now, isOrphan } = intake;
  const { outcome } = core;
  if (core.isNonDeterministic) core.dropOpen();
  const actions = keptActions(turn);
  const hasEnded = isFinished(record.status);
  const status = statusOf(core, record);
  const isNext = outcome?.kind === 'continued';
  const children = actions.some(isChild) ? actions.filter(isChild) : NONE;
  const starts = startsOf(services, record, { children, isNext });
  return {
    now,
    events: actions.length === 0 ? intake.events : [...intake.events, ...actions],
    outcome,
    status,
    customStatus: core.customStatus ?? record.customStatus,
    activityCount: isNext ? 0 : core.activityCount,
    nextAt: core.hasBegun || core.isSuspended ? core.nextTimerAt : record.startAt,
    nextExecutionId: isNext ? services.deps.newId() : '',
    nextEvents: isNext ? nextEvents(core, outcome.input) : NONE,
    children,
    childTraces: starts?.childTraces,
    nextTrace: starts?.nextTrace,
    orphans: turn.orphans,
    canceled: turn.canceled,
    retentionMs: retentionOf(services.deps, status),
    tellsParent: !hasEnded && !isOrphan,
  };
}

const NONE: readonly never[] = [];

/** Tells the probe of the runs that the turn starts, once: a commit may be planned again. */
function startsOf(
  { deps: { probe } }: EngineServices,
  { name, instanceId, trace }: InstanceRecord,
  { children, isNext }: { readonly children: readonly ChildStarted[]; readonly isNext: boolean },
): Pick<TurnResult, 'childTraces' | 'nextTrace'> | undefined {
  if (probe === undefined || (children.length === 0 && !isNext)) return undefined;
  const started = (operation: Pick<StartOperation, 'workflowName' | 'instanceId' | 'by'>): Trace | undefined => {
    const observation = probe.begin({ type: 'start', ...operation, trace });
    observation.end();
    return observation.trace;
  };
  return {
    childTraces: children.map((child) =>
      started({ workflowName: child.name, instanceId: child.instanceId, by: 'parent' }),
    ),
    nextTrace: isNext ? started({ workflowName: name, instanceId, by: 'previousRun' }) : undefined,
  };
}

/** Drops the actions of the turn that ends the run, unless the code has just returned or thrown. */
function keptActions({ core, actions }: EndedTurn): readonly ActionEvent[] {
  const kind = core.outcome?.kind;
  return kind === 'terminated' || kind === 'continued' || core.isNonDeterministic ? NONE : actions;
}

function isChild(action: ActionEvent): action is ChildStarted {
  return action.type === 'childStarted';
}

function nextEvents(core: Core, input: string | undefined): readonly HistoryEvent[] {
  const unread = core.takeUnread();
  return [
    { type: 'started', input },
    ...unread.map(({ name, data }) => ({ type: 'eventRaised', name, data }) as const),
  ];
}

function statusOf({ outcome, isSuspended, hasBegun }: Core, { status }: InstanceRecord): WorkflowStatus {
  switch (outcome?.kind) {
    case 'completed':
      return 'COMPLETED';
    case 'failed':
      return 'FAILED';
    case 'canceled':
      return 'CANCELED';
    case 'terminated':
      return 'TERMINATED';
    case 'continued':
      return 'RUNNING';
    default:
      if (isSuspended) return 'SUSPENDED';
      // A run before this one has continued as new.
      return hasBegun || status === 'RUNNING' ? 'RUNNING' : 'PENDING';
  }
}
