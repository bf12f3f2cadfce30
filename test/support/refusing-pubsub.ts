import type { PubSubDefinition } from '../../src/kit/index.ts';

/** The component, which takes no message of a topic while it is told so. */
export function refusing(definition: PubSubDefinition, topic: string, isRefused = () => true): PubSubDefinition {
  return {
    ...definition,
    open: async (context) => {
      const component = await definition.open(context);
      return {
        publish: async (messages) => {
          if (isRefused() && messages.some((message) => message.topic === topic)) throw new Error('not now');
          return component.publish(messages);
        },
        subscribe: (options) => component.subscribe(options),
        close: () => component.close(),
      };
    },
  };
}
