import type { Request, RequestHandler } from 'express';
import { DomainError } from './domain/errors.ts';
import { refuse } from './refuse.ts';

const hasBody = ({ headers }: Request) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Refuses a body that has not come in whole after some milliseconds. Uploads take the time they need. */
export function limitBodyTime(milliseconds: number): RequestHandler {
  return (request, response, next) => {
    if (!hasBody(request) || request.is('multipart/*')) return next();
    const timer = setTimeout(() => {
      if (request.complete) return;
      // Answered already, and still sending: there is nothing to wait for.
      if (response.headersSent) return void request.destroy();
      response.once('finish', () => request.destroy());
      const problem = `body: did not come in within ${milliseconds / 1000} s`;
      refuse(request, response, new DomainError('request_timeout', problem), { Connection: 'close' });
    }, milliseconds);
    request.once('close', () => clearTimeout(timer));
    next();
  };
}
