import type { Logger } from '../../../util/logger.ts';

/** The logger of workflow code: silent while it is replayed. */
export function logOf(
  { logger, instanceId }: { readonly logger: Logger; readonly instanceId: string },
  isReplaying: () => boolean,
): Logger {
  const say =
    (level: keyof Logger) =>
    (details: object, message: string): void => {
      if (!isReplaying()) logger[level]({ instanceId, ...details }, message);
    };
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
}
