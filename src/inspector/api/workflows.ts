import type { WorkflowFailure, WorkflowHistoryEvent, WorkflowInstanceInfo, WorkflowStatus } from '../../index.ts';
import type { PayloadView } from './apps.ts';

export type { WorkflowFailure } from '../../index.ts';

/** An instance without its input and output. */
export interface InstanceInfo extends Omit<WorkflowInstanceInfo, 'input' | 'customStatus'> {
  readonly status: WorkflowStatus;
  readonly failure?: WorkflowFailure | undefined;
  /** As text: JSON, unless it is a text. */
  readonly customStatus?: string;
}

/** The filter of `GET workflows` and the bulk actions. */
export interface WorkflowFilterBody {
  readonly status?: readonly WorkflowStatus[];
  readonly name?: string;
  readonly prefix?: string;
  readonly since?: number;
  readonly parentId?: string;
}

/** `GET workflows?status=&name=&prefix=&since=&parentId=&cursor=&limit=&reverse=` (`status` separated by commas) */
export interface WorkflowsReply {
  /** Without inputs and outputs. */
  readonly instances: readonly InstanceInfo[];
  readonly cursor?: string;
}

/** `GET workflows/one?instanceId=` */
export interface WorkflowReply {
  readonly instance: InstanceInfo;
  readonly input?: PayloadView;
  readonly output?: PayloadView;
  /** Its history without data, the earliest first: at most 10,000 events. */
  readonly history: readonly HistoryEventInfo[];
  readonly isHistoryCut: boolean;
  /** The instances that it has started, at most 100. */
  readonly children: readonly InstanceInfo[];
}

/** An event, with what events of its type have. */
export interface HistoryEventInfo {
  readonly type: WorkflowHistoryEvent['type'];
  readonly at: number;
  readonly sequence?: number;
  readonly name?: string;
  readonly attempt?: number;
  readonly activityId?: number;
  readonly durationMs?: number;
  readonly instanceId?: string;
  readonly dueAt?: number;
  readonly failure?: WorkflowFailure;
  /** The place in the history, from 0. */
  readonly index: number;
  /** At most 2 KiB of it; absent if there is none. */
  readonly data?: PayloadView;
}

/** `GET workflows/event?instanceId=&index=`: an event with up to 64 KiB of its data. */
export interface HistoryEventReply {
  readonly event: HistoryEventInfo;
}

/** `POST workflows`: starts one; answers an {@link InstanceReply}. `input` is JSON text. */
export interface StartBody {
  readonly name: string;
  readonly input?: string;
  readonly instanceId?: string;
}

export interface InstanceReply {
  readonly instanceId: string;
}

/** `POST workflows/pause`, `workflows/resume`, `workflows/cancel`, `workflows/purge`, `workflows/terminate` (with `output`, JSON text) */
export interface InstanceBody {
  readonly instanceId: string;
  readonly output?: string;
}

/** `POST workflows/raise-event`; `data` is JSON text. */
export interface RaiseEventBody {
  readonly instanceId: string;
  readonly name: string;
  readonly data?: string;
}

/** `POST workflows/rerun`: answers an {@link InstanceReply}; `input` is JSON text. */
export interface RerunBody {
  readonly instanceId: string;
  readonly newInstanceId?: string;
  readonly from?: 'start' | 'failure' | number;
  readonly input?: string;
}

/** `POST workflows/terminate-all`, `purge-all`, `rerun-all`: answers a {@link BulkReply}. */
export interface BulkBody {
  /** The instances with these IDs, at most 1,000; or those that the filter means. */
  readonly instanceIds?: readonly string[];
  readonly filter?: WorkflowFilterBody;
  /** Of `rerun-all`. */
  readonly from?: 'start' | 'failure';
}

export interface BulkReply {
  readonly done: number;
  /** At most 100. */
  readonly failed: readonly { readonly instanceId: string; readonly reason: string }[];
  readonly hasMore: boolean;
}
