import { EventEmitter } from 'eventemitter3';
import type { Logger } from './util/logger.ts';

/** What every event about a message tells. @public */
export interface MessageInfo {
  /** The pub/sub component. */
  readonly pubsubName: string;
  /** The topic. */
  readonly topic: string;
  /** The CloudEvent's `id`, or a UUID for a raw payload. */
  readonly messageId: string;
}

/** What every event about a delivery tells. @public */
export interface DeliveryInfo extends MessageInfo {
  /** The route of the application, or the name of the function that was called; empty when nothing was. */
  readonly route: string;
  /** How often the message has been handed out, this time included. */
  readonly attempt: number;
}

/** What every event about a run of a job tells. @public */
export interface JobRunInfo {
  /** The job. */
  readonly jobName: string;
  /** The instant for which the run was scheduled, in milliseconds since 1970. */
  readonly dueAt: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** The events of a sidecar, by name, with what their listeners get. @public */
export interface SidecarEvents {
  /** The component has the message. */
  published: [MessageInfo];
  /** The application has processed it. */
  delivered: [DeliveryInfo & { readonly durationMs: number }];
  /** It will be delivered again, in `delayMs` milliseconds. */
  retrying: [DeliveryInfo & { readonly delayMs: number; readonly reason: string }];
  /** It will not be delivered again and went nowhere. */
  dropped: [DeliveryInfo & { readonly reason: string }];
  /** It was published to the dead-letter topic. */
  deadLettered: [DeliveryInfo & { readonly deadLetterTopic: string; readonly reason: string }];
  /** A job was scheduled, or replaced another one; `dueAt` is its first run. */
  jobScheduled: [{ readonly jobName: string; readonly dueAt: number }];
  /** A run of a job begins. */
  jobTriggered: [JobRunInfo];
  /** A run has succeeded, and that is recorded. */
  jobDone: [JobRunInfo & { readonly durationMs: number }];
  /** An attempt has failed; the run will be tried again, in `delayMs` milliseconds. */
  jobRetrying: [JobRunInfo & { readonly delayMs: number; readonly reason: string }];
  /** A run has failed for good, its retries included; later runs go on. */
  jobFailed: [JobRunInfo & { readonly reason: string }];
  /** A run has failed and its policy is to drop it; later runs go on. */
  jobDropped: [JobRunInfo & { readonly reason: string }];
  /** A job is gone and its name is free. */
  jobGone: [{ readonly jobName: string; readonly reason: 'finished' | 'expired' | 'deleted' }];
  /** The application takes requests; its subscriptions are known. */
  appReady: [];
  /** A subscription receives messages. */
  subscribed: [{ readonly pubsubName: string; readonly topic: string }];
  /** A subscription was not started. */
  subscriptionRefused: [{ readonly pubsubName: string; readonly topic: string; readonly reason: string }];
}

/** Tells of everything that happens; costs nothing without a listener. @public */
export type SidecarEventEmitter = EventEmitter<SidecarEvents>;

/** A listener that throws is a fault of its own: what it was told of has happened all the same. */
class IsolatingEmitter extends EventEmitter<SidecarEvents> {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    super();
    this.#logger = logger;
  }

  override emit<Name extends keyof SidecarEvents>(
    name: Name,
    ...told: EventEmitter.EventArgs<SidecarEvents, Name>
  ): boolean {
    try {
      return super.emit(name, ...told);
    } catch (error) {
      this.#logger.error({ event: name, error }, 'a listener of sidecar.events failed');
      return true;
    }
  }
}

/** Makes the emitter of a sidecar. */
export function eventEmitter(logger: Logger): SidecarEventEmitter {
  return new IsolatingEmitter(logger);
}
