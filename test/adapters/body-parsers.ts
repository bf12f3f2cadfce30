import type { IncomingMessage, ServerResponse } from 'node:http';
import type express from 'express';
import type { BodyParser } from '../../src/kit/adapter-case.ts';

type Middleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

const ALL_JSON = ['application/json', 'application/*+json'];
const keepRaw = (req: IncomingMessage, _res: ServerResponse, raw: Buffer): void => {
  (req as { rawBody?: Buffer }).rawBody = raw;
};

/** The parsers that Express brings, of either release. */
export function expressParser(
  parser: BodyParser,
  from: Pick<typeof express, 'json' | 'raw' | 'text' | 'urlencoded'>,
): Middleware {
  switch (parser) {
    case 'bytes':
      return from.raw({ type: () => true });
    case 'text':
      return from.text({ type: () => true });
    case 'json':
      return from.json({ type: ALL_JSON });
    case 'json-and-raw':
      return from.json({ type: ALL_JSON, verify: keepRaw });
    case 'form':
      return from.urlencoded({ extended: true });
    case 'nothing':
      return (req, _res, next) => void req.resume().once('end', () => next());
  }
}
