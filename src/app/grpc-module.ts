import { SidecarError } from '../errors.ts';

/** Metadata of a call, as far as it is used. */
export interface GrpcMetadata {
  add(key: string, value: string): void;
  getMap(): Readonly<Record<string, string | Uint8Array>>;
}

/** A call under way. */
export interface GrpcCall {
  cancel(): void;
  on(event: 'metadata', listener: (metadata: GrpcMetadata) => void): unknown;
}

/** How a call failed: the status in numbers and in words. */
export interface GrpcError extends Error {
  readonly code: number;
  readonly details: string;
}

/** A connection to one server. */
export interface GrpcClient {
  makeUnaryRequest<Request, Response>(
    path: string,
    serialize: (value: Request) => Buffer,
    deserialize: (bytes: Buffer) => Response,
    argument: Request,
    metadata: GrpcMetadata,
    callback: (error: GrpcError | null, value?: Response) => void,
  ): GrpcCall;
  close(): void;
}

/** The part of `@grpc/grpc-js` that is used, by its shape: the package need not be installed. */
export interface GrpcModule {
  readonly Client: new (
    address: string,
    credentials: unknown,
    options: Readonly<Record<string, string | number>>,
  ) => GrpcClient;
  readonly Metadata: new () => GrpcMetadata;
  readonly credentials: { createInsecure(): unknown };
  readonly status: Readonly<Record<string, string | number>>;
}

/** In a variable, so that neither TypeScript nor a bundler resolves a module that need not be there. */
const GRPC: string = '@grpc/grpc-js';

/**
 * Loads the gRPC client.
 *
 * @throws SidecarError `ERR_CONFIGURATION` saying what to install.
 */
export async function loadGrpc(name: string = GRPC): Promise<GrpcModule> {
  let module: GrpcModule & { readonly default?: GrpcModule };
  try {
    module = (await import(name)) as typeof module;
  } catch (cause) {
    const message = `options.app.protocol "grpc" needs the package ${name}: run "npm install ${name}"`;
    throw new SidecarError('ERR_CONFIGURATION', message, { cause });
  }
  return module.default ?? module;
}
