import { readFileSync } from 'node:fs';
import { Certificates } from './certificates.ts';
import { freePort } from './http.ts';
import { redisCommand } from './redis-groups.ts';
import { type OwnServer, startRedis } from './servers.ts';

/** A Redis with TLS on a second port. Its user `app` has the rights that a document names, and the password `secret`. */
export class TlsRedis implements AsyncDisposable {
  readonly certificates: Certificates;
  readonly server: OwnServer;
  readonly tlsPort: number;
  /** The rights, as words of `ACL SETUSER`. */
  readonly rules: readonly string[];

  private constructor(parts: Pick<TlsRedis, 'certificates' | 'server' | 'tlsPort' | 'rules'>) {
    this.certificates = parts.certificates;
    this.server = parts.server;
    this.tlsPort = parts.tlsPort;
    this.rules = parts.rules;
  }

  /** `rules` finds the rights in the document, a file of `docs`. */
  static async start(document: string, rules: RegExp): Promise<TlsRedis> {
    const text = readFileSync(new URL(`../../docs/${document}`, import.meta.url), 'utf8');
    const words = rules.exec(text)?.[1]?.split(' ');
    if (words === undefined) throw new Error(`docs/${document} names no rights`);
    const [certificates, tlsPort] = [new Certificates(), await freePort()];
    const { cert, key, ca } = certificates;
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', ca];
    const server = await startRedis(['--tls-port', String(tlsPort), ...files, '--tls-auth-clients', 'no']);
    const made = new TlsRedis({ certificates, server, tlsPort, rules: words });
    await made.setUser('app', words);
    return made;
  }

  /** For the user `app`. */
  get url(): string {
    return `rediss://app:secret@127.0.0.1:${this.tlsPort}`;
  }

  /** Makes a user with the password `secret`. */
  async setUser(name: string, rules: readonly string[]): Promise<void> {
    await redisCommand(this.server.port, ['ACL', 'SETUSER', name, 'on', '>secret', ...rules]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    this.certificates[Symbol.dispose]();
  }
}
