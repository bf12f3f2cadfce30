import { SidecarError } from '../errors.ts';
import { loadPackage } from '../util/load-package.ts';

/** The used part of a call's metadata. */
export interface GrpcMetadata {
  add(key: string, value: string): void;
  getMap(): Readonly<Record<string, string | Uint8Array>>;
}

/** A call under way. */
export interface GrpcCall {
  cancel(): void;
  on(event: 'metadata', listener: (metadata: GrpcMetadata) => void): unknown;
}

/** The error of a failed call: status code and details. */
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

/** The used part of `@grpc/grpc-js`, as a structural type: the package may be absent. */
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

/**
 * Loads the gRPC client.
 *
 * @throws SidecarError `ERR_CONFIGURATION` saying what to install.
 */
export function loadGrpc(name = '@grpc/grpc-js'): Promise<GrpcModule> {
  const wanted = { name, version: '1', neededBy: 'options.app.protocol "grpc"' };
  return loadPackage(wanted, (message, cause) => new SidecarError('ERR_CONFIGURATION', message, { cause }));
}
