import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A mail that the server has taken. */
export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body, as they came. */
  readonly text: string;
}

export interface MailRules {
  /** The answer to a recipient. Default: it is taken. */
  readonly rcpt?: (address: string) => string | undefined;
  /** The answer to a login; without it, the server offers none. */
  readonly login?: string;
  /** Whether it says nothing at all. */
  readonly isSilent?: boolean;
}

/** A mail server that speaks as much of RFC 5321 as a client needs, and keeps what it gets. */
export class MailServer implements AsyncDisposable {
  readonly mails: TakenMail[] = [];
  readonly commands: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #rules: MailRules;
  port = 0;

  private constructor(rules: MailRules) {
    this.#rules = rules;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(rules: MailRules = {}): Promise<MailServer> {
    const server = new MailServer(rules);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    server.port = (server.#server.address() as AddressInfo).port;
    return server;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    if (this.#rules.isSilent) return;
    let [from, to, data, buffered]: [string, string[], string[] | undefined, string] = ['', [], undefined, ''];
    const say = (line: string): boolean => socket.write(`${line}\r\n`);
    const take = (line: string): void => {
      if (data !== undefined) {
        if (line !== '.') return void data.push(line);
        this.mails.push({ from, to, text: data.join('\n') });
        [to, data] = [[], undefined];
        return void say('250 taken');
      }
      this.commands.push(line);
      const [, address = ''] = /<(.*?)>/.exec(line) ?? [];
      switch (line.slice(0, 4).toUpperCase()) {
        case 'EHLO':
          return void say(this.#rules.login === undefined ? '250 test' : '250-test\r\n250 AUTH PLAIN');
        case 'AUTH':
          return void say(this.#rules.login ?? '502 no');
        case 'MAIL':
          from = address;
          return void say('250 ok');
        case 'RCPT': {
          const refusal = this.#rules.rcpt?.(address);
          if (refusal === undefined) to.push(address);
          return void say(refusal ?? '250 ok');
        }
        case 'DATA':
          data = [];
          return void say('354 go on');
        case 'QUIT':
          say('221 bye');
          return void socket.end();
        default:
          return void say('250 ok');
      }
    };
    socket.on('data', (chunk: Buffer) => {
      const lines = (buffered + chunk.toString()).split('\r\n');
      buffered = lines.pop() ?? '';
      for (const line of lines) take(line);
    });
    say('220 test');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
