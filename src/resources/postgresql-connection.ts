import { withParts } from '../components/postgresql/connection-string.ts';
import { isSidecarError } from '../errors.ts';
import type { MetadataReader } from './metadata-reader.ts';

/** The metadata of a connection to PostgreSQL. */
export const POSTGRESQL_CONNECTION_NAMES: readonly string[] = [
  'connectionString',
  'host',
  'hostaddr',
  'port',
  'user',
  'password',
  'database',
  'sslRootCert',
  'useAzureAD',
  'useAWSIAM',
];

/** Reads the metadata of a connection to PostgreSQL as a connection string; `undefined` if there is a problem. */
export function postgresqlConnection(reader: MetadataReader, typeName: string): string | undefined {
  for (const [name, login] of [
    ['useAzureAD', 'of Azure AD'],
    ['useAWSIAM', 'of AWS IAM'],
  ] as const)
    if (reader.flag(name)) reader.problem(`metadata ${name}: insidecar gets no access tokens ${login}; use a password`);
  const text = reader.text('connectionString');
  const parts = reader.texts({
    host: 'host',
    hostaddr: 'hostaddr',
    port: 'port',
    user: 'user',
    password: 'password',
    database: 'database',
    sslrootcert: 'sslRootCert',
  });
  if ((text ?? parts.host ?? parts.hostaddr) === undefined)
    reader.problem(`${typeName} needs metadata connectionString`);
  reader.number('port', { min: 1, max: 65_535 });
  try {
    return withParts(text, parts);
  } catch (error) {
    if (!isSidecarError(error)) throw error;
    reader.problem(
      'metadata connectionString must be a URL (postgresql://user:password@host:5432/database) or pairs (host=… user=… password=… dbname=…)',
    );
    return undefined;
  }
}
