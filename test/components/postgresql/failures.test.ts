import { expect, test } from 'vitest';
import { errorOf } from '../../../src/components/postgresql/failures.ts';
import { ConnectionLostError, RetryableError } from '../../../src/components/remote/connection.ts';
import { StateError } from '../../../src/state/errors.ts';

const socketError = (code: string): Error => Object.assign(new Error(`write ${code}`), { code, syscall: 'write' });
const reply = (code: string): Error => Object.assign(new Error('from the server'), { code, severity: 'ERROR' });

// EPIPE has five letters, as the codes of PostgreSQL have.
test.each(['EPIPE', 'ECONNRESET', 'ETIMEDOUT'])('%s of the socket means that the connection is lost', (code) => {
  expect(errorOf(socketError(code), 'PostgreSQL')).toBeInstanceOf(ConnectionLostError);
});

test.each<[code: string, type: new (...args: never[]) => Error]>([
  ['57P01', ConnectionLostError],
  ['25P03', ConnectionLostError],
  ['25P04', ConnectionLostError],
  ['40001', RetryableError],
  ['57014', RetryableError],
  ['23505', RetryableError],
  ['42710', RetryableError],
  ['42P07', RetryableError],
  ['53300', ConnectionLostError],
  ['42501', StateError],
  ['XX000', StateError],
])('the reply %s is what PostgreSQL means by it', (code, type) => {
  expect(errorOf(reply(code), 'PostgreSQL')).toBeInstanceOf(type);
});
