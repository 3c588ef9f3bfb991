import { DriverException, UniqueConstraintViolationException } from '@mikro-orm/core';
import { expect, test } from 'vitest';
import { codeOf } from '../../src/graphql/errors.ts';
import { refusalOf } from '../../src/graphql/server.ts';
import { DomainError, errorCodes } from '../../src/kernel/errors.ts';
import { asUnavailable, isAway } from '../../src/kernel/unavailable.ts';
import { errorHeaders, statusOf } from '../../src/rest/errors.ts';

const withCode = (code: string, message = code) => Object.assign(new Error(message), { code });
const ofDatabase = (code: string, message = code) => new DriverException(withCode(code, message));

test.each([
  ['a file system without blocks', withCode('ENOSPC')],
  ['a quota', withCode('EDQUOT')],
  ['a limit on the size of files', withCode('EFBIG')],
  ['PostgreSQL, by its SQLSTATE', ofDatabase('53100')],
  ['a file system that has become read-only', withCode('EROFS')],
  [
    'git on one',
    new DomainError('repository_unavailable', 'The branch could not be moved', {
      cause: new Error("fatal: Unable to create 'main.lock': Read-only file system"),
    }),
  ],
  ['the cause of another error', new Error('not written', { cause: withCode('ENOSPC') })],
  [
    'git, in the words of the C library',
    new DomainError('repository_unavailable', 'The repository could not be read', {
      cause: new Error('git repack ended with 128: fatal: write error: No space left on device'),
    }),
  ],
])('a disk that takes nothing is storage_full: %s', (_by, error) => {
  const known = asUnavailable(error) as DomainError;
  expect(known).toBeInstanceOf(DomainError);
  expect(known.code).toBe('storage_full');
  expect(isAway(error)).toBe(true);
  expect(statusOf[known.code]).toBe(503);
  expect(errorHeaders(known)).toEqual({ 'Retry-After': '30' });
  expect(codeOf[known.code]).toBe('UNAVAILABLE');
  expect(refusalOf(error, 'id')).toMatchObject({ status: 503, body: { code: 'storage_full' } });
});

test('a disk that is read-only is not said to be full', () => {
  const messageOf = (error: Error) => (asUnavailable(error) as DomainError).message;
  expect(messageOf(withCode('ENOSPC'))).toMatch(/^The disk of the server is full: nothing was stored/);
  const readOnly = /^The disk of the server is read-only: nothing was stored/;
  expect(messageOf(withCode('EROFS'))).toMatch(readOnly);
  expect(messageOf(new Error('not written', { cause: withCode('EROFS') }))).toMatch(readOnly);
  const git = new Error("fatal: Unable to create 'main.lock': Read-only file system");
  expect(messageOf(new DomainError('repository_unavailable', 'It could not be moved', { cause: git }))).toMatch(
    readOnly,
  );
});

test.each([
  ['another code', withCode('EACCES')],
  [
    'content that quotes the words',
    new UniqueConstraintViolationException(withCode('23505', 'No space left on device')),
  ],
  ['a refusal of what was asked for', new DomainError('not_found', 'gone', { cause: withCode('ENOSPC') })],
  ['what is no error', 'No space left on device'],
])('%s is not storage_full', (_what, error) => {
  expect(asUnavailable(error)).toBe(error);
  expect(isAway(error)).toBe(false);
});

test('a cause that leads back to itself ends the search', () => {
  const error = new Error('a');
  error.cause = error;
  expect(asUnavailable(error)).toBe(error);
});

test('every code has a status and a GraphQL code', () => {
  for (const code of errorCodes) expect([statusOf[code], codeOf[code]]).not.toContain(undefined);
});
