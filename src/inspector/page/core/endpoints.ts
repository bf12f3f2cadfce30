import type { ActorReply, ActorsReply, ReminderBody, ReminderReply, RemindersReply } from '../../api/actors.ts';
import type { AppsReply } from '../../api/apps.ts';
import type { JobBody, JobReply, JobsReply, ScheduleBody } from '../../api/jobs.ts';
import type { CallRecord, MessageDetail, MessageRecord, Overview, PublishBody, RecordsReply } from '../../api/live.ts';
import type {
  ChangedReply,
  CountReply,
  DeadLettersReply,
  DiscardBody,
  ExplainBody,
  ExplainReply,
  QueueBody,
  QueuedMessageReply,
  QueuedMessagesReply,
  QueuesReply,
  RedeliverBody,
  SubscriptionsReply,
} from '../../api/queues.ts';
import type { HostsReply, SettingsReply } from '../../api/settings.ts';
import type {
  ConfigurationSubscriptionsReply,
  LocksReply,
  StateKeysReply,
  StateValueReply,
  StoresReply,
} from '../../api/stores.ts';
import type {
  BulkBody,
  BulkReply,
  HistoryEventReply,
  InstanceBody,
  InstanceReply,
  RaiseEventBody,
  RerunBody,
  StartBody,
  WorkflowReply,
  WorkflowsReply,
} from '../../api/workflows.ts';

/** The answers of `GET`, by path. */
export interface Reads {
  apps: AppsReply;
  overview: Overview;
  messages: RecordsReply<MessageRecord>;
  'messages/one': MessageDetail;
  calls: RecordsReply<CallRecord>;
  queues: QueuesReply;
  'queues/messages': QueuedMessagesReply;
  'queues/messages/one': QueuedMessageReply;
  'dead-letters': DeadLettersReply;
  subscriptions: SubscriptionsReply;
  jobs: JobsReply;
  'jobs/one': JobReply;
  actors: ActorsReply;
  'actors/one': ActorReply;
  'actors/reminders': RemindersReply;
  'actors/reminders/one': ReminderReply;
  workflows: WorkflowsReply;
  'workflows/one': WorkflowReply;
  'workflows/event': HistoryEventReply;
  stores: StoresReply;
  'stores/keys': StateKeysReply;
  'stores/keys/one': StateValueReply;
  'stores/locks': LocksReply;
  'stores/subscriptions': ConfigurationSubscriptionsReply;
  hosts: HostsReply;
  settings: SettingsReply;
}

/** The bodies and answers of `POST`, by path. */
export interface Writes {
  messages: [PublishBody, unknown];
  'queues/redeliver': [RedeliverBody, CountReply];
  'queues/discard': [DiscardBody, CountReply];
  'queues/purge': [QueueBody, CountReply];
  'queues/pause': [QueueBody, ChangedReply];
  'queues/resume': [QueueBody, ChangedReply];
  'queues/add-group': [QueueBody, ChangedReply];
  'queues/remove-group': [QueueBody, ChangedReply];
  'subscriptions/explain': [ExplainBody, ExplainReply];
  jobs: [ScheduleBody, unknown];
  'jobs/run': [JobBody, ChangedReply];
  'jobs/pause': [JobBody, ChangedReply];
  'jobs/resume': [JobBody, ChangedReply];
  'jobs/delete': [JobBody, ChangedReply];
  'actors/reminders/run': [ReminderBody, ChangedReply];
  'actors/reminders/delete': [ReminderBody, ChangedReply];
  workflows: [StartBody, InstanceReply];
  'workflows/pause': [InstanceBody, unknown];
  'workflows/resume': [InstanceBody, unknown];
  'workflows/cancel': [InstanceBody, unknown];
  'workflows/purge': [InstanceBody, unknown];
  'workflows/terminate': [InstanceBody, unknown];
  'workflows/raise-event': [RaiseEventBody, unknown];
  'workflows/rerun': [RerunBody, InstanceReply];
  'workflows/terminate-all': [BulkBody, BulkReply];
  'workflows/purge-all': [BulkBody, BulkReply];
  'workflows/rerun-all': [BulkBody, BulkReply];
}
