/** A policy has ended a call, or did not let it begin. Its message is our own words. */
export class PolicyError extends Error {
  override readonly name: string = 'PolicyError';
}
