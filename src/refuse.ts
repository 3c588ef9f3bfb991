import type { Request, Response } from 'express';
import type { DomainError } from './domain/errors.ts';
import { errorBody, statusOf } from './rest/errors.ts';

/** Answers a request that no protocol has seen yet, in the form its clients show: text to git, the usual body to all others. */
export function refuse(
  request: Request,
  response: Response,
  error: DomainError,
  headers: Record<string, string>,
): void {
  response.status(statusOf[error.code]).set(headers);
  if (request.originalUrl.startsWith('/git/')) return void response.type('text/plain').send(`${error.message}\n`);
  response.json(errorBody(error, String(response.getHeader('X-Request-Id'))));
}
