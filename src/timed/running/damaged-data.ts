import { messageOf } from '../../errors.ts';
import { StateError } from '../../state/errors.ts';

/** Throws if the data of a job are damaged: answers splice them in as they are stored. */
export function checkData(name: string, data: string): void {
  try {
    JSON.parse(data);
  } catch (error) {
    const problem = `the data of job ${JSON.stringify(name)} in the store are damaged (${messageOf(error)})`;
    throw new StateError('corrupt', problem, error);
  }
}

/** The error for a job whose data are not in the store. */
export function dataMissing(name: string): StateError {
  return new StateError('corrupt', `the data of job ${JSON.stringify(name)} are missing in the store`);
}
