import type { UnlockOutcome } from '../../components/lock-store.ts';
import { readContent } from '../../http/content.ts';
import { jsonResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import type { LockService } from './lock-service.ts';
import { parseLock, parseUnlock } from './parse-lock.ts';

/** The numbers of Dapr's enumeration. */
const STATUS: Readonly<Record<UnlockOutcome, number>> = { released: 0, missing: 1, foreign: 2 };

/** The routes of locks. */
export function lockRoutes(locks: LockService, bodyLimitBytes: number): Route[] {
  return [
    route('lock', ['POST'], '/v1.0-alpha1/lock/:store', async (request, { store }) => {
      const named = locks.find(store);
      const lock = parseLock(await readContent(request, bodyLimitBytes));
      return jsonResponse(200, { success: await locks.tryLock(named, lock) });
    }),
    route('unlock', ['POST'], '/v1.0-alpha1/unlock/:store', async (request, { store }) => {
      const named = locks.find(store);
      const lock = parseUnlock(await readContent(request, bodyLimitBytes));
      return jsonResponse(200, { status: STATUS[await locks.unlock(named, lock)] });
    }),
  ];
}
