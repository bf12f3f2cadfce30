import express from 'express';
import { nodeListener } from '../../src/adapters/node.ts';
import { expressParser } from './body-parsers.ts';
import { behind, conforms, serve } from './serve.ts';

conforms(
  (handler, { bodyParser, ...options } = {}) => {
    const listener = nodeListener(handler, options);
    const parser = bodyParser === undefined ? undefined : expressParser(bodyParser, express);
    return serve((req, res) => {
      const answer = (): void => listener(req, res, () => behind(req, res));
      if (parser === undefined) answer();
      else parser(req, res, answer);
    });
  },
  ['mount-path'],
);
