import { randomUUID } from 'node:crypto';
import type { BrokerClient } from '../broker/broker-pubsub.ts';
import type { Deadline } from '../broker/deadlines.ts';
import type { LineOptions, LineReceiver } from '../broker/line.ts';
import type { ComponentContext } from '../component.ts';
import { OutageLog } from '../outage-log.ts';
import type { Message, PublishFailure } from '../pubsub.ts';
import type { MqttPacketModule } from './driver.ts';
import { type OutgoingPacket, outgoing, type Writing } from './messages.ts';
import type { MqttBroker } from './mqtt-connection.ts';
import { type MqttHandle, MqttLine } from './mqtt-line.ts';
import type { MqttLinkDeps } from './mqtt-link.ts';
import { MqttPublisher } from './mqtt-publisher.ts';
import { clientIdOf, filterProblem, isWildcard, sessionKey, sharedFilter } from './names.ts';

const TAKEN_OVER =
  'another process connects with the same client ID, and the two keep interrupting each other: processes of one consumer group need the option sharedSubscription, each with a stable ID of its own';

/** How sessions are made. */
export interface MqttSettings {
  readonly broker: MqttBroker;
  readonly consumerId: string | undefined;
  readonly clientIdPrefix: string | undefined;
  readonly cleanSession: boolean;
  readonly retain: boolean;
  /** Of this process, if several processes share the messages of their groups. */
  readonly instanceId: string | undefined;
  readonly receiveMaximum: number;
}

export interface MqttClientDeps {
  readonly packets: MqttPacketModule;
  readonly settings: MqttSettings;
  readonly context: ComponentContext;
}

/** A sidecar's access to an MQTT broker: one connection to publish, and one for each group and topic. */
export class MqttClient implements BrokerClient<MqttHandle> {
  readonly #deps: MqttClientDeps;
  readonly #writing: Writing;
  readonly #publisher: MqttPublisher;
  readonly #outages: OutageLog;

  constructor(deps: MqttClientDeps) {
    this.#deps = deps;
    const { settings, context } = deps;
    const { protocolVersion, name } = settings.broker;
    this.#outages = new OutageLog(context.logger, name);
    this.#writing = { protocolVersion, retain: settings.retain, now: () => context.clock.now() };
    // It receives no messages, so it may have another ID each time.
    const clientId = clientIdOf(this.#prefix, randomUUID());
    this.#publisher = new MqttPublisher(this.#linkDeps(clientId, { purpose: 'publish' }, { clean: true }));
  }

  get name(): string {
    return this.#deps.settings.broker.name;
  }

  get failure(): string | undefined {
    return this.#publisher.failure;
  }

  get #prefix(): string {
    const { settings, context } = this.#deps;
    return settings.clientIdPrefix ?? settings.consumerId ?? context.appId;
  }

  #linkDeps(
    clientId: string,
    purpose: object,
    { clean, receiveMaximum }: { readonly clean: boolean; readonly receiveMaximum?: number },
  ): MqttLinkDeps {
    const { packets, settings, context } = this.#deps;
    const session = { clientId, clean, receiveMaximum };
    const { broker } = settings;
    return {
      ...{
        packets,
        broker,
        session,
        logger: context.logger,
        outages: this.#outages,
        takenOver: TAKEN_OVER,
        random: Math.random,
      },
      purpose: { broker: broker.name, ...purpose },
    };
  }

  publish(messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    return this.#publisher.publish(
      messages.map((message) => this.#outgoing(message)),
      deadline,
    );
  }

  #outgoing(message: Message): OutgoingPacket | Error {
    try {
      return outgoing(message, this.#writing);
    } catch (error) {
      return error as Error;
    }
  }

  async openLine(options: LineOptions, receiver: LineReceiver<MqttHandle>): Promise<MqttLine> {
    const { topic, clock } = options;
    const problem = filterProblem(topic);
    if (problem !== undefined) throw new Error(problem);
    const { instanceId, cleanSession, receiveMaximum } = this.#deps.settings;
    const group = this.#groupOf(options.group);
    const filter = instanceId === undefined ? topic : sharedFilter(topic, group);
    const parts = instanceId === undefined ? [group, topic] : [group, topic, instanceId];
    const session = { clean: cleanSession, receiveMaximum };
    return MqttLine.open(
      {
        link: this.#linkDeps(clientIdOf(this.#prefix, sessionKey(parts)), { topic, group }, session),
        filter,
        reading: { now: () => clock.now(), newId: randomUUID, tellsTopic: isWildcard(topic) },
        receiveMaximum,
      },
      receiver,
    );
  }

  /** The group's name at the broker: `consumerId` stands for the app ID. */
  #groupOf(group: string): string {
    const { settings, context } = this.#deps;
    const { appId } = context;
    if (settings.consumerId === undefined || (group !== appId && !group.startsWith(`${appId}/`))) return group;
    return settings.consumerId + group.slice(appId.length);
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }
}
