import type { AppCall, AppReply } from '../../app/channel.ts';
import type { BindingDefinition, BindingResponse } from '../../components/binding.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { BlockDeps } from '../block-deps.ts';
import type { NamedStore } from '../stores.ts';
import type { BindingInvocation } from './parse-invocation.ts';

/** The part of the application's channel that bindings use. */
export interface BindingApp {
  call(call: AppCall): Promise<AppReply>;
}

/** The part of the application's monitor that bindings use. */
export interface BindingAppMonitor {
  readonly epoch: number;
  onChange(listener: (state: string) => unknown): Disposable;
}

/** The dependencies of a {@link BindingsService}. */
export interface BindingsServiceDeps
  extends Pick<
    BlockDeps,
    'appId' | 'clock' | 'logger' | 'events' | 'work' | 'random' | 'probe' | 'apart' | 'admit' | 'gracePeriodMs'
  > {
  readonly resiliency: Resiliency;
  /** The bindings that the application may use. */
  readonly definitions: readonly BindingDefinition[];
  /** The application that events are delivered to. */
  readonly app: BindingApp | undefined;
  readonly monitor: BindingAppMonitor | undefined;
  /** Whether the application is asked which bindings it wants. */
  readonly asksApp: boolean;
  /** Its time limit for an event, in milliseconds; 0 for no limit. */
  readonly timeLimitMs: number;
  /** Writes the `state` of the application's answer: a JSON array of items. */
  readonly saveState: (storeName: string, items: Buffer) => Promise<void>;
}

/** An open binding. */
export type NamedBinding = NamedStore<BindingDefinition>;

/** Calls an output binding for the application's answer. */
export type InvokeForAnswer = (name: string, invocation: BindingInvocation) => Promise<BindingResponse | undefined>;
